/* SPDX-License-Identifier: MIT
 *
 * The chip and the core's own machinery as the drivers of hal/ show them: capabilities,
 * queues, semaphores. What the engines do: tests/target/hal/engine_test.c and vector_test.c; what
 * they refuse: fault_test.c; interrupts and counters: irq_test.c and pmu_test.c. Also
 * the check that every test leaves each core as it was before.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/ram.h"
#include "hal/sem.h"
#include "sched/sched.h"
#include "tests/target/test.h"

enum { HOLD = 9 /* semaphore that keeps a queue from moving */, SEM = 10 };

static const enum pipe pipes[] = {PIPE_V,    PIPE_MTE1, PIPE_MTE2,
                                  PIPE_MTE3, PIPE_M,    PIPE_FIX};
enum { N_PIPES = sizeof(pipes) / sizeof(pipes[0]) };

static uint8_t gm[4096] __attribute__((aligned(512)));

/* What a test has forgotten is named, and put away before the next one. */
int test_leak_check(char *buf, size_t n)
{
    unsigned found = 0;

    for (unsigned core = 0; core < chip_cores(); core++) {
        struct fault fault;
        char text[160];
        unsigned here = sched_leftovers(core, text, sizeof(text));

        if (core_fault(core, &fault)) {
            snprintf(text, sizeof(text), "core %u holds the fault %s", core,
                     npu_error_name(fault.code));
            here++;
        }
        if (here != 0) {
            if (found == 0) {
                snprintf(buf, n, "%s", text);
            }
            found += here;
            core_reset(core);
        }
    }
    if (found != 0) {
        chip_reset();
    }
    return (int)found;
}

static void wait_idle(unsigned core, enum pipe pipe)
{
    for (unsigned i = 0; !pipe_idle(core, pipe); i++) {
        CHECK(i < 100000);
    }
}

/* A command that waits for HOLD. */
static void held_nop(union cmd *cmd)
{
    cmd_nop(cmd);
    cmd_wait(cmd, HOLD, 1);
}

static void fill_queue(enum pipe pipe)
{
    union cmd cmd;

    held_nop(&cmd);
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        CHECK_OK(pipe_push(0, pipe, &cmd));
    }
}

/* --- chip --- */

TEST(chip, costs_are_those_of_its_profile)
{
    CHECK((unsigned)chip_profile() < PROFILE_COUNT);
    for (unsigned i = 0; i < COST_COUNT; i++) {
        CHECK_EQ(chip_cost((enum npu_cost)i),
                 npu_profile_cost(chip_profile(), chip_timing(), (enum npu_cost)i));
    }
}

TEST(chip, memories_have_the_profile_s_sizes)
{
    for (unsigned m = NPU_MEM_BT; m <= NPU_MEM_L1; m++) {
        CHECK_EQ(chip_mem((enum npu_mem)m),
                 npu_mem_size(chip_profile(), (enum npu_mem)m));
    }
}

TEST(chip, every_core_knows_its_number)
{
    CHECK(chip_cores() >= 1);
    CHECK(chip_cores() <= NPU_MAX_CORES);
    for (unsigned core = 0; core < chip_cores(); core++) {
        CHECK_EQ(read64(core_base(core) + CORE_ID), core);
    }
}

/* The heap could otherwise not reach what MEM= has given to the machine. */
TEST(chip, heap_may_use_all_dram)
{
    CHECK_EQ(ram_end,
             read64(NPU_CHIP_BASE + CHIP_GM_BASE) + read64(NPU_CHIP_BASE + CHIP_GM_SIZE));
}

/* 3000 instructions of the hart between the two reads, give or take the reads. */
TEST_CYCLES(chip, a_cycle_is_an_instruction_of_each_core)
{
    uint64_t begin = chip_cycle(), count = 1000, cycles;

    __asm__ volatile("1: addi %0, %0, -1\n\tnop\n\tbnez %0, 1b" : "+r"(count));
    cycles = chip_cycle() - begin;
    CHECK(cycles >= 3000 / chip_cores());
    CHECK(cycles <= 3000 / chip_cores() + 24);
}

TEST_CYCLES(chip, cores_share_one_clock)
{
    uint64_t first = chip_cycle(), second = read64(core_base(0) + CORE_CYCLE);

    CHECK(second >= first);
    CHECK(second - first <= 24);
}

/* --- pipe --- */

TEST(pipe, is_full_at_exactly_32)
{
    union cmd cmd;

    held_nop(&cmd);
    for (unsigned p = 0; p < N_PIPES; p++) {
        for (unsigned i = 0; i < PIPE_DEPTH; i++) {
            CHECK_EQ(pipe_free(0, pipes[p]), PIPE_DEPTH - i);
            CHECK_OK(pipe_push(0, pipes[p], &cmd));
        }
        CHECK_EQ(pipe_free(0, pipes[p]), 0u);
        CHECK_EQ(pipe_push(0, pipes[p], &cmd), ERR_BUSY);
        pipe_reset(0, pipes[p]);
    }
}

TEST(pipe, goes_on_after_it_was_full)
{
    union cmd cmd;

    fill_queue(PIPE_V);
    held_nop(&cmd);
    CHECK_EQ(pipe_push(0, PIPE_V, &cmd), ERR_BUSY);
    sem_post(0, HOLD, 1);
    for (unsigned i = 0; pipe_free(0, PIPE_V) == 0; i++) {
        CHECK(i < 10000);
    }
    CHECK_EQ(pipe_free(0, PIPE_V), 1u);
    CHECK_OK(pipe_push(0, PIPE_V, &cmd));
    sem_post(0, HOLD, PIPE_DEPTH);
    wait_idle(0, PIPE_V);
}

TEST(pipe, takes_many_or_none)
{
    static union cmd cmds[PIPE_DEPTH];

    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        held_nop(&cmds[i]);
    }
    CHECK_OK(pipe_push_many(0, PIPE_M, cmds, PIPE_DEPTH - 1));
    CHECK_EQ(pipe_free(0, PIPE_M), 1u);
    CHECK_EQ(pipe_push_many(0, PIPE_M, cmds, 2), ERR_BUSY);
    CHECK_EQ(pipe_free(0, PIPE_M), 1u);
    CHECK_OK(pipe_push_many(0, PIPE_M, cmds, 1));
    pipe_reset(0, PIPE_M);
    CHECK_OK(pipe_push_many(0, PIPE_M, cmds, PIPE_DEPTH));
    CHECK_EQ(pipe_free(0, PIPE_M), 0u);
    pipe_reset(0, PIPE_M);
}

TEST(pipe, copies_the_command_at_once)
{
    union cmd cmd;

    for (unsigned i = 1; i <= 8; i++) {
        held_nop(&cmd);
        cmd_post(&cmd, SEM + i, i);
        CHECK_OK(pipe_push(0, PIPE_FIX, &cmd));
        memset(&cmd, 0xff, sizeof(cmd));
    }
    sem_post(0, HOLD, 8);
    wait_idle(0, PIPE_FIX);
    for (unsigned i = 1; i <= 8; i++) {
        CHECK_EQ(sem_value(0, SEM + i), i);
        CHECK_OK(sem_try_take(0, SEM + i, i));
    }
}

TEST_CYCLES(pipe, reset_drops_what_waits_and_what_runs)
{
    uint8_t *ub = chip_local(0, NPU_MEM_UB, 0);
    union cmd cmd;

    memset(ub, 0x11, 64);
    memset(gm, 0x22, 64);
    mte_gm_to_ub(&cmd, 0, gm, 64);
    cmd_post(&cmd, SEM, 1);
    CHECK_OK(pipe_push(0, PIPE_MTE2, &cmd));
    CHECK_OK(pipe_push(0, PIPE_MTE2, &cmd));
    pipe_reset(0, PIPE_MTE2);
    CHECK(pipe_idle(0, PIPE_MTE2));
    CHECK_EQ(pipe_free(0, PIPE_MTE2), PIPE_DEPTH);
    for (uint64_t until = chip_cycle() + 1000; chip_cycle() < until;) {
    } /* both would have ended */
    CHECK_EQ(ub[0], 0x11);
    CHECK_EQ(sem_value(0, SEM), 0u);
}

TEST(pipe, reset_leaves_semaphores)
{
    sem_post(0, SEM, 5);
    pipe_reset(0, PIPE_V);
    CHECK_EQ(sem_value(0, SEM), 5u);
    core_reset(0);
    CHECK_EQ(sem_value(0, SEM), 0u);
}

TEST(pipe, pipes_do_not_wait_for_each_other)
{
    union cmd cmd;

    fill_queue(PIPE_V);
    cmd_nop(&cmd);
    cmd_post(&cmd, SEM, 1);
    CHECK_OK(pipe_push(0, PIPE_M, &cmd));
    wait_idle(0, PIPE_M);
    CHECK_OK(sem_try_take(0, SEM, 1));
    CHECK(!pipe_idle(0, PIPE_V));
    pipe_reset(0, PIPE_V);
}

/* --- semaphores --- */

TEST(sem, holds_what_is_posted)
{
    sem_post(0, 0, 1);
    sem_post(0, 63, 200);
    CHECK_EQ(sem_value(0, 0), 1u);
    CHECK_EQ(sem_value(0, 63), 200u);
    CHECK_EQ(sem_value(0, 63), 200u); /* reading takes nothing */
    CHECK_OK(sem_try_take(0, 0, 1));
    CHECK_OK(sem_try_take(0, 63, 200));
}

TEST(sem, take_is_all_or_nothing)
{
    sem_post(0, SEM, 3);
    CHECK_EQ(sem_try_take(0, SEM, 4), ERR_BUSY);
    CHECK_EQ(sem_try_take(0, SEM, SEM_MAX + 1), ERR_ARG);
    CHECK_EQ(sem_value(0, SEM), 3u);
    CHECK_OK(sem_try_take(0, SEM, 2));
    CHECK_EQ(sem_value(0, SEM), 1u);
    CHECK_OK(sem_try_take(0, SEM, 1));
    CHECK_EQ(sem_try_take(0, SEM, 1), ERR_BUSY);
}

TEST(sem, engines_take_and_post_counts)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, SEM, 3);
    cmd_wait(&cmd, SEM + 1, 2);
    cmd_post(&cmd, SEM + 2, 255);
    cmd_post(&cmd, SEM + 3, 7);
    CHECK_OK(pipe_push(0, PIPE_MTE1, &cmd));
    sem_post(0, SEM, 4);
    sem_post(0, SEM + 1, 1);
    CHECK(!pipe_idle(0, PIPE_MTE1));
    CHECK_EQ(sem_value(0, SEM), 4u); /* one of two is not enough: none is taken */
    sem_post(0, SEM + 1, 1);
    wait_idle(0, PIPE_MTE1);
    CHECK_OK(sem_try_take(0, SEM, 1));
    CHECK_OK(sem_try_take(0, SEM + 2, 255));
    CHECK_OK(sem_try_take(0, SEM + 3, 7));
}

TEST(sem, two_waits_for_one_add_up)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, SEM, 2);
    cmd_wait(&cmd, SEM, 1);
    sem_post(0, SEM, 2);
    CHECK_OK(pipe_push(0, PIPE_M, &cmd));
    CHECK(!pipe_idle(0, PIPE_M));
    sem_post(0, SEM, 1);
    wait_idle(0, PIPE_M);
    CHECK_EQ(sem_value(0, SEM), 0u);
}

TEST(sem, cores_have_their_own_and_share_the_chip_s)
{
    unsigned last = chip_cores() - 1;

    if (last == 0) {
        test_skip("one core");
        return;
    }
    sem_post(last, SEM, 1);
    CHECK_EQ(sem_value(0, SEM), 0u);
    CHECK_OK(sem_try_take(last, SEM, 1));
    sem_post(last, SEM_CORE, 2);
    CHECK_EQ(sem_value(0, SEM_CORE), 2u);
    CHECK_OK(sem_try_take(0, SEM_CORE, 2));
    CHECK_EQ(sem_value(last, SEM_CORE), 0u);
}
