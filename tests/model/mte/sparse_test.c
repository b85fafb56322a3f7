/* SPDX-License-Identifier: MIT
 *
 * SPARSE_L1_L0B: a dense b and its index, from L1 to the two memories that hold them.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { L0 = 65536, INDEX = 16384, NOISE = 0x5a };

/* A fresh chip with noise in its memories. */
static void start(void)
{
    fresh();
    noise(mem(NPU_MEM_L1), 2 * L0);
    noise(mem(NPU_MEM_L0B), L0);
    noise(mem(NPU_MEM_L0B_INDEX), INDEX);
}

static union cmd load(uint32_t dst, uint32_t src, uint32_t index, unsigned first,
                      unsigned repeat)
{
    union cmd c = rig_command(OP_SPARSE_L1_L0B, TYPE_S8);

    c.sparse.dst = dst;
    c.sparse.src = src;
    c.sparse.index = index;
    c.sparse.start = (uint16_t)first;
    c.sparse.repeat = (uint8_t)repeat;
    return c;
}

/* All of L0B and of its index. */
static bool loads(uint32_t dst, uint32_t src, uint32_t index, unsigned first,
                  unsigned repeat)
{
    static uint8_t b[L0], which[INDEX];

    start();
    memcpy(b, mem(NPU_MEM_L0B), L0);
    memcpy(which, mem(NPU_MEM_L0B_INDEX), INDEX);
    for (unsigned i = 0; i < repeat; i++) {
        memcpy(b + dst + i * 512, mem(NPU_MEM_L1) + src + (first + i) * 512, 512);
        memcpy(which + dst / 4 + i * 128, mem(NPU_MEM_L1) + index + (first + i) * 128,
               128);
    }
    return run(load(dst, src, index, first, repeat)) == 0 &&
           memcmp(b, mem(NPU_MEM_L0B), L0) == 0 &&
           memcmp(which, mem(NPU_MEM_L0B_INDEX), INDEX) == 0;
}

TEST(sparse, load)
{
    union cmd c = rig_command(OP_FRACTALS_L1_L0B, TYPE_S8);
    uint64_t now;

    rig_prices(TIMING_v1);
    ok(loads(0, 0, L0, 0, 1), "sparse/load_of_a_fractal");
    ok(loads(1536, 32, L0 + 96, 3, 40), "sparse/load_from_a_fractal_on");
    ok(loads(0, 0, L0, 0, 128), "sparse/load_of_all_of_l0b");
    ok(loads(512, 0, L0, 5, 0), "sparse/load_of_nothing");
    start();
    memset(mem(NPU_MEM_L0B_INDEX), NOISE, INDEX);
    c.fractals.repeat = 4;
    c.fractals.src_stride = 1;
    run(c);
    ok(memcmp(mem(NPU_MEM_L0B), mem(NPU_MEM_L1), 2048) == 0 &&
           mem(NPU_MEM_L0B_INDEX)[0] == NOISE && mem(NPU_MEM_L0B_INDEX)[511] == NOISE,
       "sparse/other_loads_leave_the_index");
    now = rig.now;
    run(load(0, 0, L0, 0, 3)); /* 23 + 3 * (512 + 128) / 128 */
    ok(rig.now - now == 38, "sparse/load_costs_the_bytes_of_both");
    ok(rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PMU_BYTES_READ)) == 2048 + 1920 &&
           rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PMU_BYTES_WRITTEN)) == 2048 + 1920,
       "sparse/load_counts_the_bytes_of_both");
}

/* --- what a command says to a trace or a debugger --- */

static struct access seen[2];
static uint64_t seen_bytes;

static void note(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (e->what == NPU_ENDS && e->dst && e->also) {
        seen[0] = *e->dst;
        seen[1] = *e->also;
        seen_bytes = e->bytes_written;
    }
}

TEST(sparse, event)
{
    struct npu_host host;

    start();
    host = *rig.npu.host;
    host.event = note;
    rig.npu.host = &host;
    run(load(1024, 0, L0, 0, 2));
    ok(npu_touches(&seen[0], NPU_MEM_L0B, 2047, 1) &&
           !npu_touches(&seen[0], NPU_MEM_L0B, 2048, 1) &&
           npu_touches(&seen[1], NPU_MEM_L0B_INDEX, 256, 1) &&
           npu_touches(&seen[1], NPU_MEM_L0B_INDEX, 511, 1) &&
           !npu_touches(&seen[1], NPU_MEM_L0B_INDEX, 512, 1) && seen_bytes == 1280,
       "sparse/load_tells_both_destinations");
}

TEST(sparse, snapshot)
{
    struct rig b;
    union cmd c = load(512, 64, L0, 2, 20);

    start();
    rig_push(&rig, 0, PIPE_MTE1, &c);
    rig_to(&rig, 50);
    rig_open(&b, 1, PROFILE_a2);
    memcpy(b.npu.s, rig.npu.s, npu_state_size());
    memcpy(b.npu.l2, rig.npu.l2, npu_l2_bytes(PROFILE_a2));
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        memcpy(b.npu.mem[0][m], mem((enum npu_mem)m),
               npu_mem_size(PROFILE_a2, (enum npu_mem)m));
    }
    b.now = rig.now;
    ok(npu_restored(&b.npu, &b.config, b.now) &&
           memcmp(mem(NPU_MEM_L0B_INDEX) + 128, mem(NPU_MEM_L1) + L0 + 256, 2560) != 0,
       "sparse/snapshot_of_a_running_load");
    memset(b.npu.mem[0][NPU_MEM_L1], 0, L0); /* has been read */

    rig_drain(&b);
    ok(memcmp(b.npu.mem[0][NPU_MEM_L0B] + 512, mem(NPU_MEM_L1) + 64 + 1024, 10240) == 0 &&
           memcmp(b.npu.mem[0][NPU_MEM_L0B_INDEX] + 128, mem(NPU_MEM_L1) + L0 + 256,
                  2560) == 0,
       "sparse/snapshot_goes_on_with_both_destinations");
    rig_write(&b, 0, CORE_CTRL, CORE_CTRL_RESET);
    ok(memcmp(b.npu.mem[0][NPU_MEM_L0B_INDEX] + 128, mem(NPU_MEM_L1) + L0 + 256, 2560) ==
           0,
       "sparse/reset_leaves_the_index");
    rig_close(&b);
}
