/* SPDX-License-Identifier: MIT
 *
 * Whom the hart's time is charged to: the scalar unit of the core whose task runs, the
 * scheduler's to nobody. By the chip (CHIP_TRACE, hal/contract/chip.md), read from when
 * commands begin, and by the counters of measurements.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "sched/task.h"
#include "tests/target/test.h"

/* YIELDS: of 33 one returns by the scheduler's own stack, so a multiple of that. */
enum { STOP = 12, YIELDS = 66, WORK = 200, NAP = 2000 };

static struct {
    uint64_t first, last; /* instructions of the task when it pushed its two commands */
    unsigned others;      /* tasks that wait on each other core */
} now;

static uint64_t own_instructions(void)
{
    sched_charge(&running->context.spent);
    return running->context.spent;
}

static void push_nop(void)
{
    union cmd cmd;

    cmd_nop(&cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* So many instructions, and some. */
static void work(unsigned instructions)
{
    for (unsigned i = 0; i < instructions; i += 2) {
        __asm__ volatile("nop");
    }
}

static void waits(void *arg)
{
    (void)arg;
    task_wait(STOP, 1);
}

static void yields_between_commands(void *arg)
{
    (void)arg;
    work(10 * WORK); /* the hart has not been this core's alone until here */
    now.first = own_instructions();
    push_nop();
    for (unsigned i = 0; i < YIELDS; i++) {
        work(WORK);
        task_yield();
    }
    now.last = own_instructions();
    push_nop();
    task_drain();
    for (unsigned core = 1; core < chip_cores(); core++) {
        sem_post(core, STOP, now.others);
    }
}

/* Cycles from core 0's first command to its last, while tasks of other cores wait. */
static uint64_t span_beside(unsigned others)
{
    struct sched_report report;

    now.others = others;
    measure_start();
    if (task_create("works", 0, yields_between_commands, NULL) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < others * (chip_cores() - 1); i++) {
        if (task_create("waits", 1 + i / others, waits, NULL) != 0) {
            return 0;
        }
    }
    return sched_run(&report) == 0 ? pmu_last(0) - pmu_first(0) : 0;
}

TEST_CYCLES(charge, core_pays_for_its_tasks_only)
{
    uint64_t span = span_beside(3), own = now.last - now.first;

    CHECK(span != 0);
    if (chip_cores() > 1 && chip_timing() != TIMING_v1) {
        /* An instruction a cycle; between the two counters lie some of a switch. */
        CHECK(span >= own && span <= own + 6 * YIELDS);
    }
}

TEST_CYCLES(charge, tasks_that_wait_elsewhere_cost_a_core_nothing)
{
    uint64_t few = span_beside(1);

    CHECK(few != 0);
    for (unsigned others = 2; others <= 4; others++) {
        if (chip_cores() > 1 && chip_timing() != TIMING_v1) {
            CHECK_EQ(span_beside(others), few);
        }
    }
}

/* The end of a time brings a core's scalar unit forward as a semaphore does, on every core. */
static void naps(void *arg)
{
    (void)arg;
    push_nop();
    task_sleep_until(chip_cycle() + NAP);
    work(WORK);
    push_nop();
}

TEST_CYCLES(charge, core_that_has_slept_pays_from_when_it_wakes)
{
    struct sched_report report;

    for (unsigned core = 0; core < chip_cores() && chip_timing() != TIMING_v1; core++) {
        measure_start();
        CHECK_OK(task_create("naps", core, naps, NULL));
        CHECK_OK(sched_run(&report));
        CHECK(pmu_last(core) - pmu_first(core) >= NAP + WORK);
    }
}

/* --- the sum --- */

static void child(void *arg)
{
    (void)arg;
    work(WORK);
    task_yield();
    task_post(STOP, 1);
}

static void does_all_of_it(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 4; i++) {
        (void)!task_wait_until(STOP, 1, chip_cycle() + 100);
        task_spawn("child", child, NULL);
        task_spawn("child", child, NULL);
        task_wait(STOP, 2);
        push_nop();
        task_join_all();
        task_barrier();
        task_drain();
        work(WORK * task_block());
    }
}

static uint64_t spent_by_all(const struct launch_report *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->n_users; i++) {
        sum += r->user[i].spent;
    }
    return sum;
}

TEST_CYCLES(charge, all_that_the_hart_retires_is_charged_once)
{
    struct launch l = {"all of it", does_all_of_it, NULL, .cores = 0};
    struct sched_report report;
    struct launch_report r;
    uint64_t retired;

    measure_start();
    CHECK_OK(launch(&l, &report));
    measure_read(&r);
    retired = (r.call - r.price) * r.shared;
    CHECK_EQ(spent_by_all(&r), r.awake);
    CHECK(r.awake + r.asleep <= retired + 2 * r.shared);
    CHECK(r.awake + r.asleep + 64 + 2 * r.shared >= retired);
}
