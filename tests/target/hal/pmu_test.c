/* SPDX-License-Identifier: MIT
 *
 * The performance counters, against cycles worked out from the profile that runs: what a
 * command costs is fixed + work / rate (hal/contract/profile.def).
 */
#include "hal/pmu.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "tests/target/engine.h"

enum { SEM = 10 };

static uint8_t gm[8192] __attribute__((aligned(512)));

/* Runs one command from counters at 0. */
static void count(enum pipe pipe, const union cmd *cmd)
{
    pmu_start(core());
    run_on(pipe, cmd);
}

static uint64_t counted(enum pipe pipe, enum pmu_counter counter)
{
    return pmu_read(core(), pipe, counter);
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

TEST_CYCLES(pmu, nop_takes_a_cycle)
{
    union cmd cmd;

    cmd_nop(&cmd);
    count(PIPE_V, &cmd);
    CHECK_EQ(counted(PIPE_V, PMU_BUSY), 1u);
    CHECK_EQ(counted(PIPE_V, PMU_COMMANDS), 1u);
    CHECK_EQ(counted(PIPE_V, PMU_OPS), 0u);
    CHECK_EQ(pmu_span(core()), 1u);
}

TEST_CYCLES(pmu, copy_in_takes_fixed_plus_bytes_over_rate)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 8001);
    run_on(PIPE_MTE2, &cmd); /* then L2 has it */
    count(PIPE_MTE2, &cmd);
    CHECK_EQ(counted(PIPE_MTE2, PMU_BUSY),
             chip_cost(COST_GM_UB_FIXED) + div_up(8001, chip_cost(COST_GM_UB_RATE)));
    CHECK_EQ(pmu_span(core()), counted(PIPE_MTE2, PMU_BUSY));
    CHECK_EQ(counted(PIPE_MTE2, PMU_STALL_BW), 0u);
}

TEST_CYCLES(pmu, short_copy_in_takes_as_long_as_a_row)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 1);
    run_on(PIPE_MTE2, &cmd);
    count(PIPE_MTE2, &cmd);
    CHECK_EQ(counted(PIPE_MTE2, PMU_BUSY),
             chip_cost(COST_GM_UB_FIXED) +
                 div_up(chip_cost(COST_GM_ROW_BYTES), chip_cost(COST_GM_UB_RATE)));
}

TEST_CYCLES(pmu, copy_out_takes_fixed_plus_bytes_over_rate)
{
    union cmd cmd;

    mte_ub_to_gm(&cmd, gm, 0, 4001);
    count(PIPE_MTE3, &cmd);
    CHECK_EQ(counted(PIPE_MTE3, PMU_BUSY),
             chip_cost(COST_UB_GM_FIXED) + div_up(4001, chip_cost(COST_UB_GM_RATE)));
}

TEST(pmu, bytes_are_those_of_the_copy)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 77);
    count(PIPE_MTE2, &cmd);
    CHECK_EQ(counted(PIPE_MTE2, PMU_BYTES_READ), 77u);
    CHECK_EQ(counted(PIPE_MTE2, PMU_BYTES_WRITTEN), 77u);
    CHECK_EQ(counted(PIPE_MTE3, PMU_BYTES_READ), 0u);
}

TEST_CYCLES(pmu, multiply_adds_are_those_of_the_shape)
{
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_F16, .m = 17, .n = 33, .k = 5});
    count(PIPE_M, &cmd);
    CHECK_EQ(counted(PIPE_M, PMU_OPS), 17u * 33 * 5);
    CHECK_EQ(counted(PIPE_M, PMU_BUSY), chip_cost(COST_MMAD_FIRST) + 2 * 3 * 1);
}

TEST_CYCLES(pmu, elements_are_those_of_the_count)
{
    union cmd cmd;

    vector_count(&cmd, 65); /* two repeats of 64 */
    count(PIPE_V, &cmd);
    CHECK_EQ(counted(PIPE_V, PMU_BUSY), 1u);
    vector_add(&cmd, TYPE_F32, 65536, 0, 1024 + 256); /* without bank conflicts */
    count(PIPE_V, &cmd);
    CHECK_EQ(counted(PIPE_V, PMU_OPS), 65u);
    CHECK_EQ(counted(PIPE_V, PMU_BUSY),
             cmd_find(OP_VADD)->fixed + 2u * cmd_find(OP_VADD)->slope32);
}

/* Every cycle is busy, waiting or empty. */
TEST_CYCLES(pmu, cycles_add_up)
{
    uint64_t begin, end, sum;
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, SEM, 1);
    begin = chip_cycle();
    pmu_start(core());
    CHECK_OK(pipe_push(core(), PIPE_V, &cmd));
    for (uint64_t until = chip_cycle() + 500; chip_cycle() < until;) {
    }
    sem_post(core(), SEM, 1);
    wait_for(PIPE_V);
    sum = counted(PIPE_V, PMU_BUSY) + counted(PIPE_V, PMU_STALL_SEM) +
          counted(PIPE_V, PMU_STALL_EMPTY);
    end = chip_cycle();
    CHECK(counted(PIPE_V, PMU_STALL_SEM) >= 500);
    CHECK(sum <= end - begin);
    CHECK(sum + 100 >= end - begin);
}

TEST(pmu, start_sets_all_to_0)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 32);
    count(PIPE_MTE2, &cmd);
    pmu_start(core());
    CHECK_EQ(counted(PIPE_MTE2, PMU_BUSY), 0u);
    CHECK_EQ(counted(PIPE_MTE2, PMU_COMMANDS), 0u);
    CHECK_EQ(counted(PIPE_MTE2, PMU_BYTES_READ), 0u);
    CHECK_EQ(pmu_span(core()), 0u);
}

/* Each pipe has run a different number of commands, so no event shows another's. */
TEST(pmu, events_show_the_counters_they_name)
{
    union cmd cmd;

    pmu_start(core());
    cmd_nop(&cmd);
    for (unsigned pipe = 0; pipe < NPU_PIPES; pipe++) {
        for (unsigned i = 0; pipe_name(pipe)[0] != '?' && i <= pipe; i++) {
            CHECK_OK(pipe_push(core(), (enum pipe)pipe, &cmd));
        }
    }
    for (unsigned i = 0; core_busy(core()); i++) {
        CHECK(i < 1000000);
    }
#define EVENT(name, number, pipe, counter, text)                                         \
    CHECK_EQ(pmu_event(core(), (number) % 8, EVENT_##name),                              \
             counted(PIPE_##pipe, PMU_##counter));
#include "hal/contract/all.h"
    CHECK_EQ(pmu_event(core(), 7, EVENT_CUBE_INSTR), PIPE_M + 1u);
    CHECK_EQ(pmu_event(core(), 0, EVENT_VEC_INSTR), PIPE_V + 1u);
}

TEST(pmu, unknown_event_counts_nothing)
{
    union cmd cmd;

    cmd_nop(&cmd);
    count(PIPE_M, &cmd);
    CHECK_EQ(pmu_event(core(), 0, EVENT_CUBE_INSTR), 1u);
    CHECK_EQ(pmu_event(core(), 0, (enum pmu_event)2), 0u);
}

/* Lines that a copy from GM finds in L2 and not. */
static void finds(const union cmd *cmd, uint64_t hits, uint64_t misses)
{
    count(PIPE_MTE2, cmd);
    CHECK_EQ(pmu_event(core(), 0, EVENT_L2_READ_HIT), hits);
    CHECK_EQ(pmu_event(core(), 1, EVENT_L2_READ_MISS), misses);
}

TEST(pmu, l2_is_empty_until_something_is_read)
{
    union cmd cmd, past;

    if (chip_timing() == TIMING_v1) {
        test_skip("prices of before L2");
        return;
    }
    mte_gm_to_ub(&cmd, 0, gm, 4096);
    past = cmd;
    if (chip_cost(COST_L2_HINTS)) {
        mte_past_l2(&past);
    }
    chip_l2_empty();
    finds(&past, 0, 8);
    if (chip_cost(COST_L2_HINTS)) {
        finds(&past, 0, 8);
        finds(&cmd, 0, 8);
    }
    finds(&cmd, 8, 0);
    finds(&past, 8, 0);
}
