/* SPDX-License-Identifier: MIT
 *
 * What registers tell, and what the model tells its host, on one core.
 */
#include <string.h>

#include "tests/model/rig.h"
#include "tests/test.h"

enum { BYTES = 256, UB_AT = 64, GM_AT = 4096 };

static const struct npu_host *plain; /* the rig's */
static struct npu_host host;         /* the same with what a test adds */
static unsigned maps_left, drained;
static struct {
    unsigned core, off, len, times;
} dirty[NPU_MEM_COUNT];

static void own_host(void)
{
    plain = rig.npu.host;
    host = *plain;
    rig.npu.host = &host;
    memset(dirty, 0, sizeof(dirty));
}

static void *map_some(void *ctx, uint64_t addr, uint64_t len, bool write)
{
    return maps_left && maps_left-- ? plain->gm_map(ctx, addr, len, write) : NULL;
}

static void note_dirty(void *ctx, unsigned core, enum npu_mem m, uint32_t off,
                       uint32_t len)
{
    (void)ctx;
    dirty[m].core = core;
    dirty[m].off = off;
    dirty[m].len = len;
    dirty[m].times++;
}

static void note_drained(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    drained += e->what == NPU_DRAINED && e->core == NPU_CHIP;
}

static uint64_t count_of(unsigned event)
{
    rig_write(&rig, 0, PMU_SELECT, event);
    return rig_read(&rig, 0, PMU_COUNT);
}

static union cmd copy_out(uint64_t gm)
{
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);

    c.copy_out.dst = RIG_GM_BASE + gm;
    c.copy_out.src = UB_AT;
    c.copy_out.len_bytes = BYTES;
    c.copy_out.n_blocks = 1;
    return c;
}

TEST(regs, clocks_and_memory)
{
    rig_to(&rig, 1234);
    CHECK_EQ(rig_read(&rig, 0, CORE_CYCLE), 1234u);
    CHECK_EQ(rig_read(&rig, NPU_CHIP, CHIP_CYCLE), 1234u);
    CHECK_EQ(rig_read(&rig, NPU_CHIP, CHIP_GM_BASE), RIG_GM_BASE);
    CHECK_EQ(rig_read(&rig, NPU_CHIP, CHIP_GM_SIZE), RIG_GM_BYTES);
}

/* Events are other names of counters. */
TEST(regs, counters_and_events)
{
    union cmd c = rig_copy_in(UB_AT, GM_AT, BYTES);

    CHECK_EQ(run(c), 0u);
    CHECK_EQ(rig_read(&rig, 0, rig_pipe(PIPE_MTE2, PMU_BYTES_READ)), BYTES);
    CHECK_EQ(rig_read(&rig, 0, rig_pipe(PIPE_MTE2, PMU_BYTES_WRITTEN)), BYTES);
    CHECK_EQ(rig_read(&rig, 0, rig_pipe(PIPE_MTE2, PMU_COMMANDS)), 1u);
    CHECK_EQ(rig_read(&rig, 0, rig_pipe(PIPE_MTE3, PMU_COMMANDS)), 0u);
    CHECK_EQ(count_of(5), 1u);
    CHECK_EQ(count_of(2), 0u);
    CHECK(count_of(12) > 0);
#define EVENT(name, number, pipe_name, counter_name, text)                               \
    CHECK_EQ(count_of(number),                                                           \
             rig_read(&rig, 0, rig_pipe(PIPE_##pipe_name, PMU_##counter_name)));
#include "hal/contract/all.h"
}

TEST(regs, a_chip_that_is_done_is_announced)
{
    own_host();
    host.event = note_drained;
    drained = 0;
    CHECK_EQ(rig_read(&rig, NPU_CHIP, CHIP_BUSY), 0u);
    CHECK_EQ(drained, 1u);
}

TEST(regs, a_reset_of_the_machine_lowers_interrupts)
{
    rig_write(&rig, 0, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_IDLE);
    CHECK(rig.irq[0]);
    npu_reset(&rig.npu, rig.now);
    CHECK(!rig.irq[0]);
}

TEST(host, is_told_what_changes)
{
    own_host();
    host.mem_dirty = note_dirty;
    CHECK_EQ(run(rig_copy_in(UB_AT, GM_AT, BYTES)), 0u);
    CHECK_EQ(dirty[NPU_MEM_UB].off, UB_AT);
    CHECK_EQ(dirty[NPU_MEM_UB].len, BYTES);
    CHECK_EQ(dirty[NPU_MEM_UB].times, 1u);
    CHECK_EQ(dirty[NPU_MEM_STAGE_MTE2].len, BYTES);
    CHECK_EQ(dirty[NPU_MEM_L1].times, 0u);
}

TEST(host, is_told_what_a_defect_changes)
{
    struct npu_config config = rig.config;

    own_host();
    host.mem_dirty = note_dirty;
    config.n_defects = 1;
    config.defect[0] =
        (struct npu_defect){.kind = NPU_FLIP, .what = NPU_MEM_L1, .at = 10, .bit = 83};
    npu_init(&rig.npu, &config);
    rig_to(&rig, 20);
    CHECK_EQ(mem(NPU_MEM_L1)[10], 8u);
    CHECK_EQ(dirty[NPU_MEM_L1].off, 10u);
    CHECK_EQ(dirty[NPU_MEM_L1].len, 1u);
}

/* A host may lose memory that it has had: the push is read, and no more. */
TEST(host, memory_that_is_gone_stops_a_copy_in)
{
    union cmd c = rig_copy_in(UB_AT, GM_AT, BYTES);

    own_host();
    host.gm_map = map_some;
    maps_left = 1;
    rig_push(&rig, 0, PIPE_MTE2, &c);
    rig_drain(&rig);
    CHECK_EQ(maps_left, 0u);
    CHECK_EQ(rig_error(&rig, 0, PIPE_MTE2), NPU_ERR_GM);
    CHECK_EQ(rig_read(&rig, 0, rig_pipe(PIPE_MTE2, PIPE_ERROR_ADDR)),
             RIG_GM_BASE + GM_AT);
    CHECK_EQ(rig.maps, 0u);
}

TEST(host, memory_that_is_gone_stops_a_copy_out)
{
    union cmd c = copy_out(GM_AT);

    own_host();
    host.gm_map = map_some;
    maps_left = 1;
    rig_push(&rig, 0, PIPE_MTE3, &c);
    CHECK_EQ(rig_error(&rig, 0, PIPE_MTE3), 0u);
    rig_drain(&rig);
    CHECK_EQ(rig_error(&rig, 0, PIPE_MTE3), NPU_ERR_GM);
    CHECK_EQ(rig_read(&rig, 0, rig_pipe(PIPE_MTE3, PIPE_ERROR_ADDR)),
             RIG_GM_BASE + GM_AT);
    CHECK_EQ(rig.maps, 0u);
}
