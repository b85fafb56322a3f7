/* SPDX-License-Identifier: MIT
 *
 * Stacks of tasks: who has overflowed one, and what else has written over its guard.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "sched/sched.h"
#include "tests/target/test.h"

enum { GUARD = 512 }; /* bytes below a stack, sched/stack.c */

static int run_one(void (*fn)(void *arg), void *arg, struct sched_report *report)
{
    int err = task_create("one", 0, fn, arg);

    return err ? err : sched_run(report);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void check_next_run_works(void)
{
    struct sched_report report;

    CHECK_OK(run_one(nothing, NULL, &report));
    CHECK_STR(report.text, "");
}

/* Uses all but the given number of bytes of the stack, roughly. */
static void use_stack(void *arg)
{
    unsigned n = TASK_STACK_BYTES - *(unsigned *)arg;
    volatile char bytes[n];

    for (unsigned i = 0; i < 256; i++) {
        bytes[i] = 1;
    }
    task_yield();
    CHECK_EQ(bytes[0], 1);
}

TEST(stack, overflow_is_named)
{
    struct sched_report report;

    CHECK_OK(run_one(use_stack, &(unsigned){4096}, &report));
    CHECK(sched_stack_used(0) > TASK_STACK_BYTES / 2);
    CHECK(sched_stack_used(0) < TASK_STACK_BYTES);
    CHECK_EQ(run_one(use_stack, &(unsigned){64}, &report), ERR_STACK);
    CHECK(strstr(report.text, "task one, core 0: a task has overflowed") != NULL);
    check_next_run_works();
}

/* Reaches over the guard without touching it. */
static void leaps(void *arg)
{
    volatile char bytes[TASK_STACK_BYTES + 600];

    bytes[sizeof(bytes) - 64] = 1;
    task_yield();
    CHECK_EQ(bytes[sizeof(bytes) - 64], 1);
    (void)arg;
}

static void does_not_know(void *arg)
{
    (void)arg;
    task_sleep_until(chip_cycle() + 1000);
}

TEST(stack, leap_over_the_guard_is_named)
{
    struct sched_report report;

    CHECK_OK(task_create("below", 0, does_not_know, NULL));
    CHECK_OK(task_create("leaps", 0, leaps, NULL));
    CHECK_EQ(sched_run(&report), ERR_STACK);
    CHECK(strstr(report.text, "task leaps, core 0") != NULL);
    check_next_run_works();
}

/* Comes back from below its stack before anybody looks. */
__attribute__((noinline)) static void dips(unsigned bytes)
{
    volatile char local[bytes];

    for (unsigned i = 0; i < 256; i++) {
        local[i] = 1;
    }
    (void)local[0];
}

static void returns_in_time(void *arg)
{
    (void)arg;
    dips(TASK_STACK_BYTES + 100);
    task_yield();
}

TEST(stack, overflow_that_is_over_is_named)
{
    struct sched_report report;

    CHECK_EQ(run_one(returns_in_time, NULL, &report), ERR_STACK);
    CHECK(strstr(report.text, "task one, core 0: a task has overflowed its stack") !=
          NULL);
    check_next_run_works();
}

/* --- what others write there --- */

static void sleeps(void *arg)
{
    (void)arg;
    task_sleep_until(chip_cycle() + 20000);
}

/* As a row too much of an array that lies before the victim's stack. */
static void stores_too_far(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_ub_to_gm(&cmd, sched_stack(0) - GUARD, 0, 128);
    task_issue(PIPE_MTE3, &cmd);
    task_drain();
}

static int run_two(void (*fn)(void *arg), struct sched_report *report)
{
    int err = task_create("victim", 0, sleeps, NULL);

    err = err ? err : task_create("culprit", 0, fn, NULL);
    return err ? err : sched_run(report);
}

TEST(stack, transfer_over_a_guard_is_named)
{
    struct sched_report report;

    check_next_run_works();
    *(volatile uint64_t *)chip_local(0, NPU_MEM_UB, 0) = 1;
    CHECK_EQ(run_two(stores_too_far, &report), ERR_GUARD);
    CHECK(strstr(report.text, "task victim, core 0: memory before a task's stack was") !=
          NULL);
    CHECK(strstr(report.text, "COPY_UB_GM of task culprit, core 0, pc 0x") != NULL);
    CHECK(strstr(report.text, "before it lies ") != NULL);
    check_next_run_works();
}

/* All of the guard, so that both of its ends are changed. */
static void stores_over_all(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_ub_to_gm(&cmd, sched_stack(0) - GUARD, 0, GUARD);
    task_issue(PIPE_MTE3, &cmd);
    task_drain();
}

TEST(stack, transfer_over_all_of_a_guard_is_no_overflow)
{
    struct sched_report report;

    check_next_run_works();
    CHECK_EQ(run_two(stores_over_all, &report), ERR_GUARD);
    CHECK(strstr(report.text, "COPY_UB_GM of task culprit, core 0, pc 0x") != NULL);
    check_next_run_works();
}

static void hart_stores(void *arg)
{
    (void)arg;
    memset(sched_stack(0) - GUARD, 3, 8);
}

TEST(stack, store_of_the_hart_over_a_guard_is_told)
{
    struct sched_report report;

    check_next_run_works();
    CHECK_EQ(run_two(hart_stores, &report), ERR_GUARD);
    CHECK(strstr(report.text, "no command that the pipes still know writes there") !=
          NULL);
    check_next_run_works();
}
