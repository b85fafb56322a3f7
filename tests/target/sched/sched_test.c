/* SPDX-License-Identifier: MIT
 *
 * The scheduler: order, what survives a switch, waiting for semaphores and for room,
 * sleeping, cores side by side. Its faults and deadlocks: tests/target/sched/fault_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/irq.h"
#include "hal/mte.h"
#include "hal/pmu.h"
#include "hal/sem.h"
#include "sched/sched.h"
#include "tests/target/say.h"
#include "tests/target/test.h"

enum { SEM = 10 };

static void run_all(void)
{
    struct sched_report report;

    CHECK_OK(sched_run(&report));
    CHECK_STR(report.text, "");
}

/* --- order --- */

static void speaker(void *arg)
{
    for (int i = 0; i < 3; i++) {
        say(*(const char *)arg);
        task_yield();
    }
}

TEST(sched, tasks_take_turns_in_order)
{
    log_text[0] = 0;
    CHECK_OK(task_create("a", 0, speaker, "a"));
    CHECK_OK(task_create("b", 0, speaker, "b"));
    CHECK_OK(task_create("c", 0, speaker, "c"));
    CHECK_STR(log_text, ""); /* nothing runs before sched_run */
    run_all();
    CHECK_STR(log_text, "abcabcabc");
}

static void whoami(void *arg)
{
    const char **names = arg;

    names[0] = task_name();
    task_yield();
    names[1] = task_name();
    CHECK_EQ(task_core(), chip_cores() - 1);
}

TEST(sched, task_knows_its_name_and_core)
{
    const char *one[2], *two[2];

    CHECK_OK(task_create("one", chip_cores() - 1, whoami, one));
    CHECK_OK(task_create("two", chip_cores() - 1, whoami, two));
    run_all();
    CHECK_STR(one[0], "one");
    CHECK_STR(one[1], "one");
    CHECK_STR(two[1], "two");
}

TEST(sched, core_that_is_not_there_is_refused)
{
    CHECK_EQ(task_create("nowhere", chip_cores(), speaker, "x"), ERR_ARG);
    CHECK_EQ(task_create("nowhere", UINT32_MAX, speaker, "x"), ERR_ARG);
    log_text[0] = 0;
    run_all();
    CHECK_STR(log_text, ""); /* and was not kept */
}

/* --- what survives a switch --- */

/* More values than a function can keep without saved registers, of both kinds. */
static void counter(void *arg)
{
    unsigned seed = *(unsigned *)arg, seen = 0;
    uint64_t i[10];
    double d[10];

    for (unsigned k = 0; k < 10; k++) {
        i[k] = 1000 * seed + k;
        d[k] = seed + k / 16.0;
    }
    for (unsigned round = 1; round <= 20; round++) {
        task_yield();
        for (unsigned k = 0; k < 10; k++) {
            i[k] += 3;
            d[k] *= 2;
        }
        seen++;
    }
    for (unsigned k = 0; k < 10; k++) {
        CHECK_EQ(i[k], 1000 * seed + k + 60u);
        CHECK_EQ(d[k], (seed + k / 16.0) * 0x1p20);
    }
    CHECK_EQ(seen, 20u);
    *(unsigned *)arg = 0;
}

TEST(sched, locals_survive_switches)
{
    unsigned seeds[5] = {1, 2, 3, 4, 5};

    for (unsigned k = 0; k < 5; k++) {
        CHECK_OK(task_create("counter", 0, counter, &seeds[k]));
    }
    run_all();
    for (unsigned k = 0; k < 5; k++) {
        CHECK_EQ(seeds[k], 0u); /* each got to its end */
    }
}

/* Saved registers, each with a value of its own, across one yield. */
#define SAVED "s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11"

static void saved_registers(void *arg)
{
    uint64_t base = *(uint64_t *)arg, sum;
    double fsum;

    __asm__ volatile(
        ".set n, 1\n\t"
        ".irp r, " SAVED "\n\tslli \\r, %2, 4\n\taddi \\r, \\r, n\n\t"
        "fcvt.d.l f\\r, \\r\n\t.set n, n + 1\n\t.endr\n\t"
        "call task_yield\n\t"
        "li t0, 0\n\tfcvt.d.l ft0, t0\n\t"
        ".set n, 1\n\t"
        ".irp r, " SAVED "\n\tli t1, n\n\tmul t2, \\r, t1\n\tadd t0, t0, t2\n\t"
        "fcvt.d.l ft1, t1\n\tfmadd.d ft0, f\\r, ft1, ft0\n\t.set n, n + 1\n\t.endr\n\t"
        "mv %0, t0\n\tfmv.d %1, ft0"
        : "=r"(sum), "=f"(fsum)
        : "r"(base)
        : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4",
          "a5", "a6", "a7", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10",
          "s11", "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9",
          "ft10", "ft11", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs1",
          "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11",
          "memory");
    /* sum over n of n * (16 * base + n), n from 1 to 11 */
    CHECK_EQ(sum, 16 * base * 66 + 506);
    CHECK_EQ(fsum, (double)(16 * base * 66 + 506));
    *(uint64_t *)arg = 0;
}

TEST(sched, saved_registers_survive_switches)
{
    uint64_t one = 5, two = 900;

    CHECK_OK(task_create("one", 0, saved_registers, &one));
    CHECK_OK(task_create("two", 0, saved_registers, &two));
    run_all();
    CHECK_EQ(one + two, 0u);
}

/* --- waiting --- */

/* Item i goes from a to b to c; each stage may run ahead by two. */
enum { A_FREE = 0, A_FULL, B_FREE, B_FULL, ITEMS = 50 };

static unsigned stage_a[2], stage_b[2], results;

static void producer(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ITEMS; i++) {
        task_wait(A_FREE, 1);
        stage_a[i % 2] = i;
        sem_post(0, A_FULL, 1);
    }
}

static void middle(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ITEMS; i++) {
        task_wait(A_FULL, 1);
        task_wait(B_FREE, 1);
        stage_b[i % 2] = 3 * stage_a[i % 2];
        sem_post(0, A_FREE, 1);
        sem_post(0, B_FULL, 1);
    }
}

static void consumer(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ITEMS; i++) {
        task_wait(B_FULL, 1);
        CHECK_EQ(stage_b[i % 2], 3 * i);
        sem_post(0, B_FREE, 1);
        results++;
    }
    task_wait(A_FREE, 2);
    task_wait(B_FREE, 2);
}

TEST(sched, pipeline_of_three_keeps_its_order)
{
    results = 0;
    sem_post(0, A_FREE, 2);
    sem_post(0, B_FREE, 2);
    CHECK_OK(task_create("consumer", 0, consumer, NULL)); /* in the worst order */
    CHECK_OK(task_create("middle", 0, middle, NULL));
    CHECK_OK(task_create("producer", 0, producer, NULL));
    run_all();
    CHECK_EQ(results, (unsigned)ITEMS);
}

static void flood(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, 0, log_text, 64); /* slower than the hart */
    cmd_post(&cmd, SEM, 1);
    for (unsigned i = 0; i < 200; i++) {
        task_issue(PIPE_MTE2, &cmd);
    }
    task_wait(SEM, 200);
}

TEST(sched, issue_waits_while_the_queue_is_full)
{
    uint64_t sleeps = irq_sleeps();

    pmu_start(0);
    CHECK_OK(task_create("flood", 0, flood, NULL));
    run_all();
    CHECK(irq_sleeps() > sleeps);
    CHECK_EQ(pmu_read(0, PIPE_MTE2, PMU_COMMANDS), 200u);
}

static void waiter(void *arg)
{
    task_wait(SEM, *(unsigned *)arg);
    results++;
}

static void posts_six(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, 0, log_text, 64); /* so that all sleep before it ends */
    cmd_post(&cmd, SEM, 1);
    for (unsigned i = 0; i < 6; i++) {
        task_issue(PIPE_MTE2, &cmd);
    }
}

TEST(sched, several_wait_for_one_semaphore)
{
    unsigned counts[3] = {3, 2, 1};

    results = 0;
    for (unsigned i = 0; i < 3; i++) {
        CHECK_OK(task_create("waiter", 0, waiter, &counts[i]));
    }
    CHECK_OK(task_create("poster", 0, posts_six, NULL));
    run_all();
    CHECK_EQ(results, 3u);
    CHECK_EQ(sem_value(0, SEM), 0u);
}

static void many(void *arg)
{
    unsigned n = *(unsigned *)arg;
    union cmd cmd;

    for (unsigned i = 0; i < 5; i++) {
        cmd_nop(&cmd);
        cmd_post(&cmd, n, 2);
        task_issue(PIPE_V, &cmd);
        task_wait(n, 2);
    }
    results++;
}

TEST(sched, runs_many_tasks)
{
    unsigned n[32];

    results = 0;
    for (unsigned i = 0; i < 32; i++) {
        n[i] = i;
        CHECK_OK(task_create("many", i % chip_cores(), many, &n[i]));
    }
    run_all();
    CHECK_EQ(results, 32u);
}

TEST(sched, has_room_for_so_many_tasks)
{
    unsigned none = 0;

    results = 0;
    for (unsigned i = 0; i < TASK_MAX; i++) {
        CHECK_OK(task_create("one of all", 0, waiter, &none));
    }
    CHECK_EQ(task_create("one more", 0, waiter, &none), ERR_NOMEM);
    run_all();
    CHECK_EQ(results, (unsigned)TASK_MAX);
}

/* --- sleeping, cores, leftovers --- */

static uint8_t big[65536];

static void long_copy(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, 0, big, sizeof(big));
    cmd_post(&cmd, SEM, 1);
    task_issue(PIPE_MTE2, &cmd);
    task_wait(SEM, 1);
}

TEST_CYCLES(sched, hart_sleeps_while_engines_work)
{
    uint64_t sleeps = irq_sleeps(), begin = chip_cycle(), cycles;

    pmu_start(0);
    CHECK_OK(task_create("long", 0, long_copy, NULL));
    run_all();
    cycles = chip_cycle() - begin;
    CHECK(irq_sleeps() > sleeps);
    CHECK(irq_sleeps() <= sleeps + 2); /* an old request may end the first */
    CHECK(pmu_span(0) > chip_cost(COST_GM_UB_FIXED) + 500);
    CHECK(cycles < pmu_span(0) + 3000 / chip_cores() + 1000);
}

TEST_CYCLES(sched, cores_work_side_by_side)
{
    unsigned last = chip_cores() - 1;
    uint64_t begin, both;

    if (last == 0) {
        test_skip("one core");
        return;
    }
    pmu_start(0);
    pmu_start(last);
    CHECK_OK(task_create("first", 0, long_copy, NULL));
    CHECK_OK(task_create("last", last, long_copy, NULL));
    run_all();
    begin = read64(core_base(0) + PMU_FIRST);
    both = read64(core_base(last) + PMU_LAST) - begin;
    CHECK_EQ(pmu_read(last, PIPE_MTE2, PMU_COMMANDS), 1u);
    CHECK(both < pmu_span(0) + pmu_span(last)); /* not one after the other */
}

TEST(sched, leftover_semaphore_is_named)
{
    unsigned last = chip_cores() - 1;
    char text[160], want[64];

    CHECK_EQ(sched_leftovers(last, text, sizeof(text)), 0u);
    CHECK_STR(text, "");
    sem_post(last, 17, 3);
    CHECK_EQ(sched_leftovers(last, text, sizeof(text)), 1u);
    snprintf(want, sizeof(want), "semaphore 17 of core %u is 3", last);
    CHECK_STR(text, want);
    CHECK_OK(sem_try_take(last, 17, 3));
}

TEST(sched, leftover_command_is_named)
{
    char text[160];
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, 1, 1);
    CHECK_OK(pipe_push(0, PIPE_FIX, &cmd));
    CHECK_EQ(sched_leftovers(0, text, sizeof(text)), 1u);
    CHECK_STR(text, "pipe FIX of core 0 is not empty");
    pipe_reset(0, PIPE_FIX);
}
