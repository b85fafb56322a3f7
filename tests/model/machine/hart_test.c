/* SPDX-License-Identifier: MIT
 *
 * One hart as the scalar units of all cores: cycles out of its clock, and that no core gets
 * more than an instruction a cycle of its own.
 */
#include <string.h>

#include "tests/model/rig.h"
#include "tests/test.h"

static struct npu_host host;
static uint64_t hart; /* its clock */

static uint64_t clock_of(void *ctx)
{
    (void)ctx;
    return hart;
}

static void chip(struct rig *r, unsigned cores, enum npu_timing timing)
{
    hart = 0;
    rig_open(r, cores, PROFILE_a2);
    host = *r->npu.host;
    host.clock = clock_of;
    r->npu.host = &host;
    r->config.timing = timing;
    npu_init(&r->npu, &r->config);
}

/* The hart retires so many instructions. */
static void retire(struct rig *r, uint64_t instructions)
{
    hart += instructions;
    rig_to(r, npu_cycle(&r->npu, hart));
}

static void work_for(struct rig *r, unsigned of)
{
    rig_write(r, NPU_CHIP, CHIP_TRACE, field_put(CHIP_TRACE_CORE, of));
}

static uint64_t began(struct rig *r, unsigned core)
{
    return rig_read(r, core, rig_pipe(PIPE_V, PIPE_SINCE));
}

/* Pushes a command that takes some cycles and goes on to when it runs. */
static uint64_t push(struct rig *r, unsigned core)
{
    union cmd c = rig_command(OP_VABS, TYPE_F32);

    c.vec1.repeat = 100;
    c.vec1.dst_blk = c.vec1.src_blk = 1;
    c.vec1.dst_rep = c.vec1.src_rep = 8;
    rig_push(r, core, PIPE_V, &c);
    while (field_get(PIPE_STATUS_STATE,
                     rig_read(r, core, rig_pipe(PIPE_V, PIPE_STATUS))) == PIPE_WAITING &&
           npu_next(&r->npu) != NPU_NEVER) {
        rig_to(r, npu_next(&r->npu));
    }
    return began(r, core);
}

TEST(hart, all_cores_share_it_at_power_on)
{
    struct rig r;

    chip(&r, 8, TIMING_v2);
    retire(&r, 800);
    CHECK_EQ(r.now, 100u);
    CHECK_EQ(rig_read(&r, NPU_CHIP, CHIP_SHARE), 8u);
    rig_close(&r);
}

TEST(hart, share_of_one_makes_an_instruction_a_cycle)
{
    struct rig r;

    chip(&r, 8, TIMING_v2);
    retire(&r, 803);
    rig_write(&r, NPU_CHIP, CHIP_SHARE, 1);
    retire(&r, 50);
    CHECK_EQ(r.now, 150u);
    CHECK_EQ(npu_clock(&r.npu, 151), hart + 1);
    rig_write(&r, NPU_CHIP, CHIP_SHARE, 9); /* than there are: all */
    CHECK_EQ(rig_read(&r, NPU_CHIP, CHIP_SHARE), 8u);
    retire(&r, 8);
    CHECK_EQ(r.now, 151u);
    rig_close(&r);
}

TEST(hart, of_v1_is_shared_by_all_for_ever)
{
    struct rig r;

    chip(&r, 8, TIMING_v1);
    rig_write(&r, NPU_CHIP, CHIP_SHARE, 1);
    CHECK_EQ(rig_read(&r, NPU_CHIP, CHIP_SHARE), 8u);
    work_for(&r, 1);
    retire(&r, 800);
    CHECK_EQ(push(&r, 0), 100u);
    rig_close(&r);
}

TEST(hart, command_begins_no_sooner_than_its_scalar_unit)
{
    struct rig r;

    chip(&r, 8, TIMING_v2);
    work_for(&r, 1);
    retire(&r, 800); /* 100 cycles, but 800 of core 0 */
    CHECK_EQ(push(&r, 0), 800u);
    rig_close(&r);
}

TEST(hart, and_what_it_does_for_others_counts_for_nobody_else)
{
    struct rig r;

    chip(&r, 8, TIMING_v2);
    for (unsigned core = 0; core < 8; core++) {
        work_for(&r, core + 1);
        retire(&r, 400);
    }
    work_for(&r, 1); /* each has had 400 of the 400 cycles */
    CHECK_EQ(r.now, 400u);
    CHECK_EQ(push(&r, 0), 400u);
    work_for(&r, 0);
    retire(&r, 800);
    work_for(&r, 2);
    CHECK_EQ(push(&r, 1), r.now);
    rig_close(&r);
}

TEST(hart, unit_that_has_slept_goes_on_when_it_is_woken)
{
    struct rig r;

    chip(&r, 8, TIMING_v2);
    work_for(&r, 0);
    rig_write(&r, 0, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_SEM);
    rig_write(&r, 0, SEM_ARM, 1);
    retire(&r, 8000);
    rig_write(&r, 0, SEM_POST, 1); /* in cycle 1000 */
    retire(&r, 800);               /* for others */
    work_for(&r, 1);
    retire(&r, 300);
    CHECK_EQ(push(&r, 0), 1300u);
    rig_close(&r);
}

TEST(hart, launch_lets_all_begin_together_at_its_price)
{
    struct rig r;
    uint64_t price = npu_profile_cost(PROFILE_a2, TIMING_v2, COST_LAUNCH);

    chip(&r, 2, TIMING_v2);
    rig_write(&r, NPU_CHIP, CHIP_SHARE, 2 | CHIP_SHARE_LAUNCH);
    work_for(&r, 1);
    retire(&r, 100);
    CHECK_EQ(push(&r, 0), price + 100);
    rig_close(&r);
}

TEST(hart, clock_of_a_damaged_snapshot_divides_by_nothing)
{
    struct rig r;

    chip(&r, 2, TIMING_v2);
    CHECK(npu_restored(&r.npu, &r.config, 0));
    memset((uint8_t *)r.npu.s, 0, npu_state_size());
    CHECK_EQ(npu_cycle(&r.npu, 5), 5u);
    CHECK(!npu_restored(&r.npu, &r.config, 5));
    rig_close(&r);
}
