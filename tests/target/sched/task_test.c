/* SPDX-License-Identifier: MIT
 *
 * What tasks may do beyond waiting for one semaphore: spawn and join, sleep, priorities,
 * waits with a time-out and for several semaphores, faults, what commands owe; and the
 * mistakes that end a run by name.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "sched/launch.h"
#include "tests/target/say.h"
#include "tests/target/test.h"

/* Runs fn as the only task that is created from outside. */
static int run_one(void (*fn)(void *arg), void *arg, struct sched_report *report)
{
    int err = task_create("one", 0, fn, arg);

    log_text[0] = 0;
    return err ? err : sched_run(report);
}

static void check_run(void (*fn)(void *arg), void *arg)
{
    struct sched_report report;

    CHECK_OK(run_one(fn, arg, &report));
    CHECK_STR(report.text, "");
}

/* Runs fn, which must end the run with err and tell the text; then another run works. */
static void check_fails(void (*fn)(void *arg), int err, const char *text)
{
    struct sched_report report;

    CHECK_EQ(run_one(fn, NULL, &report), err);
    CHECK(strstr(report.text, text) != NULL);
    CHECK(strstr(report.text, "task one, core 0") != NULL);
}

/* --- spawn, join, exit, sleep, priorities --- */

static void child(void *arg)
{
    say(*(const char *)arg);
    task_yield();
    say(*(const char *)arg);
    task_exit();
    say('!');
}

static void parent(void *arg)
{
    int a = task_spawn("a", child, "a");

    (void)arg;
    task_spawn("b", child, "b");
    CHECK_EQ(task_core(), 0u);
    task_join(a);
    say('1');
    task_join_all();
    say('2');
    task_join(a); /* again: returns at once */
    say('3');
}

TEST(task, parent_waits_for_its_children)
{
    check_run(parent, NULL);
    CHECK(strchr(log_text, '1') > strrchr(log_text, 'a'));
    CHECK(strchr(log_text, '2') > strrchr(log_text, 'b'));
    CHECK_EQ(strlen(log_text), 7u);
}

static void nothing(void *arg)
{
    ++*(unsigned *)arg;
}

static void many(void *arg)
{
    for (unsigned i = 0; i < 3 * TASK_MAX; i++) {
        task_join(task_spawn("short", nothing, arg));
    }
}

TEST(task, slots_of_joined_tasks_are_used_again)
{
    unsigned count = 0;

    check_run(many, &count);
    CHECK_EQ(count, 3u * TASK_MAX);
}

static void too_many(void *arg)
{
    (void)arg;
    for (;;) {
        task_spawn("too many", too_many, NULL);
    }
}

TEST(task, too_many_tasks_are_refused_by_name)
{
    struct sched_report report;

    CHECK_EQ(run_one(too_many, NULL, &report), ERR_NOMEM);
    CHECK(strstr(report.text, "tasks can live at one time") != NULL);
    check_run(nothing, &(unsigned){0});
}

static void sleeper(void *arg)
{
    uint64_t cycle = chip_cycle() + 5000;

    task_sleep_until(cycle);
    *(uint64_t *)arg = chip_cycle() - cycle;
    task_sleep_until(10); /* the past */
}

TEST_CYCLES(task, sleeps_until_a_cycle)
{
    uint64_t late = 1 << 20;
    struct sched_stats stats;

    check_run(sleeper, &late);
    stats = sched_stats();
    CHECK(late < 1000);
    CHECK_EQ(stats.sleeps, 1u);
    CHECK_EQ(stats.in_vain, 0u);
}

static void low(void *arg)
{
    for (unsigned i = 0; i < 3; i++) {
        say(*(const char *)arg);
        task_yield();
    }
}

static void high(void *arg)
{
    task_priority(TASK_PRIORITIES - 1);
    low(arg);
}

static void both(void *arg)
{
    (void)arg;
    task_spawn("low", low, "l");
    task_spawn("high", high, "h");
}

TEST(task, higher_priority_runs_first)
{
    check_run(both, NULL);
    CHECK_STR(log_text, "lhhhll");
}

/* --- waiting --- */

static void timed_out(void *arg)
{
    struct want wants[] = {{20, 1}, {21, 2}};
    uint64_t begin = chip_cycle();

    CHECK_EQ(task_wait_until(20, 1, begin + 2000), ERR_TIMEOUT);
    CHECK(chip_cycle() - begin >= 2000);
    CHECK_EQ(task_wait_any(wants, 2, begin + 4000), ERR_TIMEOUT);
    task_post(20, 1);
    CHECK_EQ(task_wait_all(wants, 2, begin + 6000), ERR_TIMEOUT);
    CHECK_EQ(sem_value(0, 20), 1u); /* nothing was taken */
    CHECK_EQ(sem_armed(0, 20), 0u);
    CHECK_EQ(sem_armed(0, 21), 0u);
    CHECK_EQ(task_wait_until(20, 1, 0), 0); /* there is one: no time-out */
    CHECK(chip_cycle() - begin >= 6000);
    (void)arg;
}

TEST(task, waits_give_up_at_their_cycle)
{
    check_run(timed_out, NULL);
}

static void post_later(void *arg)
{
    union cmd cmd;

    (void)arg;
    for (unsigned sem = 22; sem >= 20; sem--) {
        cmd_nop(&cmd);
        cmd_post(&cmd, sem, 1);
        task_issue(PIPE_V, &cmd);
        task_sleep_until(chip_cycle() + 100000); /* no seed delays one so long */
    }
}

static void any_and_all(void *arg)
{
    struct want wants[] = {{20, 1}, {21, 1}, {22, 1}};

    task_spawn("poster", post_later, NULL);
    CHECK_EQ(task_wait_any(wants, 3, SCHED_FOREVER), 2);
    task_post(22, 1);
    CHECK_EQ(task_wait_all(wants, 3, SCHED_FOREVER), 0);
    for (unsigned sem = 20; sem <= 22; sem++) {
        CHECK_EQ(sem_value(0, sem), 0u);
    }
    CHECK_EQ(task_wait_any(wants, 0, SCHED_FOREVER), ERR_ARG);
    CHECK_EQ(task_wait_any(wants, TASK_WANTS + 1, SCHED_FOREVER), ERR_ARG);
    (void)arg;
}

TEST(task, waits_for_any_and_for_all_of_several)
{
    check_run(any_and_all, NULL);
}

static void one_of_two(void *arg)
{
    const unsigned *count = arg;

    task_wait(23, *count);
    say((char)('0' + *count));
}

static void two_waiters(void *arg)
{
    static unsigned one = 1, two = 2;

    task_spawn("two", one_of_two, &two);
    task_spawn("one", one_of_two, &one);
    task_yield();
    task_post(23, 1);
    task_sleep_until(chip_cycle() + 1000);
    task_post(23, 2);
    (void)arg;
}

TEST(task, two_may_wait_for_one_semaphore)
{
    check_run(two_waiters, NULL);
    CHECK_STR(log_text, "12");
}

static void fill_and_wait(void *arg)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, 24, 1);
    task_issue(PIPE_V, &cmd);
    CHECK_EQ(task_wait_room(PIPE_V, PIPE_DEPTH, chip_cycle() + 1000), ERR_TIMEOUT);
    task_post(24, 1);
    CHECK_OK(task_wait_room(PIPE_V, PIPE_DEPTH, SCHED_FOREVER));
    CHECK(pipe_idle(0, PIPE_V));
    (void)arg;
}

TEST(task, waits_for_room_with_a_time_out)
{
    check_run(fill_and_wait, NULL);
}

static void supervised(void *arg)
{
    struct fault fault;
    union cmd cmd;

    (void)arg;
    CHECK_EQ(task_wait_fault(&fault, chip_cycle() + 500), ERR_TIMEOUT);
    for (unsigned i = 0; i < 2; i++) {
        mte_gm_to_ub(&cmd, 7, &cmd, 32); /* not a multiple of 32 */
        task_issue(PIPE_MTE2, &cmd);
        CHECK_OK(task_wait_fault(&fault, SCHED_FOREVER));
        CHECK_EQ(fault.pipe, (unsigned)PIPE_MTE2);
        task_sleep_until(chip_cycle() + 500); /* the fault that is known wakes nobody */
        pipe_reset(0, PIPE_MTE2);
        say('f');
    }
}

TEST(task, supervisor_gets_the_faults_of_its_core)
{
    check_run(supervised, NULL);
    CHECK_STR(log_text, "ff");
}

/* Without it the next fault ends the run again. */
static void bad_command(void *arg)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 7, &cmd, 32);
    task_issue(PIPE_MTE2, &cmd);
    (void)arg;
}

TEST(task, faults_end_the_run_again_after_a_supervisor)
{
    struct sched_report report;

    check_run(supervised, NULL);
    CHECK_EQ(run_one(bad_command, NULL, &report), ERR_FAULT);
    check_run(nothing, &(unsigned){0});
}

/* --- what commands owe --- */

static void owes(void *arg)
{
    union cmd cmd;

    (void)arg;
    task_owe_wait(PIPE_V, 25, 1);
    task_owe_wait(PIPE_V, 26, 1);
    task_owe_wait(PIPE_V, 27, 1);
    task_owe_wait(PIPE_V, 25, 1);
    cmd_nop(&cmd);
    cmd_wait(&cmd, 28, 1);
    cmd_post(&cmd, 29, 1);
    task_issue(PIPE_MTE3, &(union cmd){.head = {.opcode = OP_NOP}}); /* not this one */
    task_issue(PIPE_V, &cmd);
    CHECK_EQ(cmd.head.wait_n[1], 0u); /* the caller's copy is as it was */
    for (unsigned sem = 25; sem <= 28; sem++) {
        CHECK_EQ(task_wait_until(29, 1, chip_cycle() + 500), ERR_TIMEOUT);
        task_post(sem, sem == 25 ? 2 : 1);
    }
    task_wait(29, 1);
    for (unsigned sem = 25; sem <= 28; sem++) {
        CHECK_EQ(sem_value(0, sem), 0u);
    }
}

TEST(task, next_command_carries_the_waits_that_are_owed)
{
    check_run(owes, NULL);
}

/* --- mistakes --- */

static void post_too_much(void *arg)
{
    (void)arg;
    task_post(30, SEM_MAX);
    task_post(30, 1);
}

TEST(task, post_above_the_maximum_is_named)
{
    check_fails(post_too_much, ERR_SEM, "semaphore 30 holds 255, 1 more is above 255");
    check_run(nothing, &(unsigned){0});
}

TEST(task, report_names_the_source_line)
{
    check_fails(post_too_much, ERR_SEM, "tests/target/sched/task_test.c:");
}

static void joins_itself(void *arg)
{
    (void)arg;
    task_join(0);
}

TEST(task, deadlock_of_a_join_is_told)
{
    struct sched_report report;

    CHECK_EQ(run_one(joins_itself, NULL, &report), ERR_DEADLOCK);
    CHECK(strstr(report.text, "for task one") != NULL);
}
