/* SPDX-License-Identifier: MIT
 *
 * Machines that are broken on purpose: each defect does what it says, to what it names,
 * and nothing else.
 */
#include <string.h>

#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/machine/state/state.h"

enum { SEM = 5, OTHER = 6, BYTES = 4096 };

static void open_broken(struct rig *r, struct npu_defect d)
{
    rig_open(r, 2, PROFILE_a2);
    r->config.n_defects = 1;
    r->config.defect[0] = d;
    npu_init(&r->npu, &r->config);
}

static uint64_t ended(struct rig *r, unsigned core, enum pipe pipe)
{
    return r->npu.s->core[core].pipe[pipe].counter[PMU_INDEX_COMMANDS];
}

TEST(defect, dead_core)
{
    struct rig r;
    union cmd c = rig_nop(0, SEM);

    open_broken(&r, (struct npu_defect){.kind = NPU_DEAD, .core = 1});
    rig_push(&r, 0, PIPE_V, &c);
    rig_push(&r, 1, PIPE_V, &c);
    rig_to(&r, 100000);
    CHECK_EQ(ended(&r, 0, PIPE_V), 1u);
    CHECK_EQ(ended(&r, 1, PIPE_V), 0u);
    CHECK_EQ(r.npu.s->core[1].pipe[PIPE_V].state, PIPE_WAITING);
    CHECK_EQ(rig_sem(&r, 1, SEM), 0u);
    rig_close(&r);
}

TEST(defect, stuck_semaphore)
{
    struct rig r;
    union cmd c = rig_nop(0, SEM), other = rig_nop(0, OTHER), waits = rig_nop(SEM, 0);

    open_broken(&r, (struct npu_defect){.kind = NPU_STUCK, .what = SEM});
    rig_push(&r, 0, PIPE_V, &c);
    rig_push(&r, 0, PIPE_V, &other);
    rig_push(&r, 1, PIPE_V, &c);
    rig_push(&r, 0, PIPE_MTE2, &waits);
    rig_write(&r, 0, SEM_POST + 8 * SEM, 3);
    rig_to(&r, 100000);
    CHECK_EQ(rig_sem(&r, 0, SEM), 0u);
    CHECK_EQ(rig_sem(&r, 0, OTHER), 1u);
    CHECK_EQ(rig_sem(&r, 1, SEM), 1u);
    CHECK_EQ(ended(&r, 0, PIPE_MTE2), 0u);
    rig_close(&r);
}

/* By commands, of all cores or of one; what the hart does with it counts. */
TEST(defect, skipped_semaphore)
{
    struct rig r;
    union cmd c = rig_nop(SEM, OTHER), other = rig_nop(OTHER, SEM);

    open_broken(&r, (struct npu_defect){.kind = NPU_SKIP, .core = NPU_CHIP, .what = SEM});
    for (unsigned core = 0; core < 2; core++) {
        rig_push(&r, core, PIPE_V, &c);
        rig_push(&r, core, PIPE_MTE2, &other);
    }
    rig_write(&r, 0, SEM_POST + 8 * SEM, 3);
    rig_to(&r, 100000);
    CHECK_EQ(rig_sem(&r, 0, SEM), 3u);
    CHECK_EQ(rig_sem(&r, 1, SEM), 0u);
    CHECK_EQ(ended(&r, 1, PIPE_V), 1u);
    CHECK_EQ(ended(&r, 1, PIPE_MTE2), 1u);
    rig_close(&r);
    open_broken(&r, (struct npu_defect){.kind = NPU_SKIP, .core = 1, .what = SEM});
    rig_push(&r, 0, PIPE_V, &c);
    rig_push(&r, 1, PIPE_V, &c);
    rig_to(&r, 100000);
    CHECK_EQ(ended(&r, 0, PIPE_V), 0u);
    CHECK_EQ(ended(&r, 1, PIPE_V), 1u);
    rig_close(&r);
}

TEST(defect, lost_post)
{
    struct rig r;
    union cmd c = rig_nop(0, SEM);

    open_broken(&r, (struct npu_defect){.kind = NPU_DROP, .at = 2});
    for (unsigned i = 0; i < 3; i++) {
        rig_push(&r, 0, PIPE_V, &c);
        rig_to(&r, 1000 * (i + 1));
        CHECK_EQ(rig_sem(&r, 0, SEM), i == 0 ? 1u : i);
    }
    rig_write(&r, 0, SEM_POST + 8 * SEM, 1); /* the hart's are never lost */
    CHECK_EQ(rig_sem(&r, 0, SEM), 3u);
    rig_close(&r);
}

static uint64_t cycles_to_copy(struct rig *r, unsigned core)
{
    union cmd c = rig_copy_in(0, 0, BYTES);
    uint64_t begin = r->now;

    rig_push(r, core, PIPE_MTE2, &c);
    rig_drain(r);
    return r->npu.s->core[core].pipe[PIPE_MTE2].end - begin;
}

TEST(defect, slow_pipe)
{
    struct rig r;
    uint64_t sound, slow;

    rig_prices(TIMING_v1);
    open_broken(&r,
                (struct npu_defect){.kind = NPU_SLOW, .what = PIPE_MTE2, .times = 10});
    slow = cycles_to_copy(&r, 0);
    sound = cycles_to_copy(&r, 1);
    CHECK_EQ(slow, 10 * sound);
    CHECK_BYTES(r.npu.mem[0][NPU_MEM_UB], r.gm, BYTES);
    rig_close(&r);
}

/* What is in a memory after its bit has flipped, the rest of it as it was. */
static void flipped(unsigned mem, uint64_t bit)
{
    struct rig r;
    uint8_t was[64], *at;

    open_broken(
        &r,
        (struct npu_defect){
            .kind = NPU_FLIP, .core = 1, .what = (uint8_t)mem, .at = 500, .bit = bit});
    at = mem == NPU_MEM_GM ? r.gm : r.npu.mem[1][mem];
    memcpy(was, at, sizeof(was));
    rig_to(&r, 499);
    CHECK_BYTES(at, was, sizeof(was));
    CHECK_EQ(npu_next(&r.npu), 500u);
    rig_to(&r, 1000);
    was[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_BYTES(at, was, sizeof(was));
    rig_to(&r, 100000);
    CHECK_BYTES(at, was, sizeof(was));
    rig_close(&r);
}

TEST(defect, bit_flips)
{
    flipped(NPU_MEM_UB, 3);
    flipped(NPU_MEM_L1, 63 * 8 + 7);
    flipped(NPU_MEM_BT, 17);
    flipped(NPU_MEM_GM, 100);
}

/* A launch is begun by software, and only the first one counts. */
TEST(defect, bit_flips_in_a_launch)
{
    uint64_t begins = CHIP_SHARE_LAUNCH, at;
    uint8_t was, *ub;
    struct rig r;

    open_broken(&r, (struct npu_defect){
                        .kind = NPU_FLIP, .what = NPU_MEM_UB, .at = 500, .times = 1});
    ub = r.npu.mem[0][NPU_MEM_UB];
    was = *ub;
    rig_to(&r, 700);
    CHECK_EQ(*ub, was);
    rig_write(&r, NPU_CHIP, CHIP_SHARE, begins);
    at = npu_next(&r.npu);
    CHECK_EQ(at, 1200u);
    rig_to(&r, at);
    CHECK_EQ(*ub, was ^ 1u);
    rig_write(&r, NPU_CHIP, CHIP_SHARE, begins);
    rig_to(&r, at + 100000);
    CHECK_EQ(*ub, was ^ 1u);
    rig_close(&r);
}

/* A sound machine is another configuration. */
TEST(defect, snapshot_of_a_broken_machine)
{
    struct rig r;

    open_broken(&r, (struct npu_defect){.kind = NPU_DROP, .at = 2});
    CHECK(npu_restored(&r.npu, &r.config, r.now));
    r.config.defect[0].at = 3;
    CHECK(!npu_restored(&r.npu, &r.config, r.now));
    r.config.n_defects = 0;
    CHECK(!npu_restored(&r.npu, &r.config, r.now));
    rig_close(&r);
}
