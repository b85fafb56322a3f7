/* SPDX-License-Identifier: MIT
 *
 * What is rarely done with tasks and launches, and must be right or refused all the same:
 * grandchildren that nobody joins, launches within launches, waits for nothing or twice
 * for one semaphore, arguments out of range, several supervisors.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "tests/target/test.h"

enum { LONG = 4000000 }; /* cycles: what has not ended by then never will */

static int run(void (*fn)(void *arg), void *arg, struct sched_report *report)
{
    int err = task_create("one", 0, fn, arg);

    sched_limit("edge", LONG);
    return err ? err : sched_run(report);
}

static void check_run(void (*fn)(void *arg), void *arg)
{
    struct sched_report report;

    CHECK_OK(run(fn, arg, &report));
    CHECK_STR(report.text, "");
}

static void check_fails(void (*fn)(void *arg), int err, const char *text)
{
    struct sched_report report;

    CHECK_EQ(run(fn, NULL, &report), err);
    CHECK(strstr(report.text, text) != NULL);
}

static int launch_on(unsigned cores, unsigned blocks, void (*kernel)(void *arg),
                     void *arg, struct sched_report *report)
{
    return launch(&(struct launch){"edge", kernel, arg, cores, blocks, .limit = LONG},
                  report);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* --- children --- */

static unsigned alive;

static void grandchild(void *arg)
{
    (void)arg;
    alive++;
    task_sleep_until(chip_cycle() + 2000);
    alive--;
}

static void child(void *arg)
{
    task_spawn("grandchild", grandchild, arg);
    task_sleep_until(chip_cycle() + 100);
    task_spawn("grandchild", grandchild, arg);
}

static void leaves_grandchildren(void *arg)
{
    CHECK_EQ(alive, 0u); /* of the block before */
    task_spawn("short", nothing, NULL);
    task_spawn("child", child, arg);
}

TEST(sched_edge, block_ends_behind_its_grandchildren)
{
    struct sched_report report;

    alive = 0;
    CHECK_OK(launch_on(1, 3, leaves_grandchildren, NULL, &report));
    CHECK_EQ(alive, 0u);
}

static void spawns_and_forgets(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 2 * TASK_MAX; i++) {
        task_spawn("short", nothing, NULL);
        task_yield();
    }
}

TEST(sched_edge, ended_tasks_need_no_join)
{
    check_run(spawns_and_forgets, NULL);
}

/* --- runs within runs --- */

static void launches(void *arg)
{
    struct sched_report inner;

    CHECK_EQ(launch_on(1, 1, nothing, NULL, &inner), ERR_BUSY);
    CHECK(strstr(inner.text, "edge: ") != NULL);
    CHECK_EQ(sched_run(&inner), ERR_BUSY);
    CHECK_EQ(task_create("x", 0, nothing, NULL), ERR_BUSY);
    sched_drop();
    task_yield();
    ++*(unsigned *)arg;
}

TEST(sched_edge, launch_within_a_launch_is_refused)
{
    struct sched_report report;
    unsigned count = 0;

    CHECK_OK(launch_on(1, 2, launches, &count, &report));
    CHECK_EQ(count, 2u);
}

static void exits(void *arg)
{
    ++*(unsigned *)arg;
    task_exit();
}

TEST(sched_edge, exit_of_a_kernel_ends_its_block_only)
{
    struct sched_report report;
    unsigned count = 0;

    CHECK_OK(launch_on(1, 4, exits, &count, &report));
    CHECK_EQ(count, 4u);
}

static void changes_itself(void *arg)
{
    struct fault fault;

    (void)arg;
    if (task_block() == 0) {
        CHECK_EQ(task_wait_fault(&fault, chip_cycle() + 100), ERR_TIMEOUT);
    } else {
        union cmd cmd;
        cmd_nop(&cmd);
        task_issue(PIPE_V, &cmd);
        task_drain();
        mte_gm_to_ub(&cmd, 7, &cmd, 32);
        task_issue(PIPE_MTE2, &cmd); /* nobody supervises it */
    }
}

TEST(sched_edge, next_block_begins_as_the_first)
{
    struct sched_report report;

    CHECK_EQ(launch_on(1, 2, changes_itself, NULL, &report), ERR_FAULT);
}

TEST(sched_edge, limit_beyond_the_end_of_time)
{
    struct sched_report report;
    struct launch l = {"edge", nothing, NULL, .cores = 1, .limit = UINT64_MAX};

    CHECK_OK(launch(&l, &report));
}

static void meets(void *arg)
{
    (void)arg;
    task_barrier();
}

TEST(sched_edge, barrier_without_a_launch_is_refused)
{
    struct sched_report report;

    CHECK_OK(launch_on(1, 1, meets, NULL, &report));
    check_fails(meets, ERR_BARRIER, "refusal_test.c:");
}

static void opens_twice(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        struct tque *q = tque_init(tpipe_open(), "q", VECIN, PIPE_MTE2, TQUE_HART, 2, 64);
        CHECK_EQ(sem_value(0, q->free_sem), 2u);
        for (unsigned n = 0; n < 3; n++) {
            union cmd cmd;
            uint32_t x = tque_alloc(q);
            cmd_nop(&cmd);
            tque_enque(q, x, &cmd);
            task_issue(PIPE_MTE2, &cmd);
            tque_free(q, tque_deque(q), NULL);
        }
    }
}

TEST(sched_edge, local_memory_may_be_opened_again)
{
    struct sched_report report;

    CHECK_OK(launch_on(1, 2, opens_twice, NULL, &report));
}

static void forgets_a_buffer(void *arg)
{
    struct tque *q = tque_init(tpipe_open(), "q", VECIN, TQUE_HART, TQUE_HART, 2, 64);

    (void)arg;
    tque_alloc(q);
    tpipe_open();
}

TEST(sched_edge, buffers_of_before_are_named)
{
    check_fails(forgets_a_buffer, ERR_LEFT,
                "queue q: 1 allocated but not enqueued, 0 enqueued");
    check_run(opens_twice, NULL);
}

/* --- waits --- */

static void waits_for_nothing(void *arg)
{
    struct want none[] = {{20, 0}}, zeros[] = {{20, 0}, {21, 0}},
                mixed[] = {{20, 0}, {21, 1}};
    uint64_t until = chip_cycle() + 1000000;

    (void)arg;
    task_wait(20, 0);
    CHECK_OK(task_wait_until(20, 0, until));
    CHECK_EQ(task_wait_any(none, 1, until), 0);
    CHECK_OK(task_wait_all(zeros, 2, until));
    CHECK_EQ(task_wait_all(mixed, 2, chip_cycle() + 500), ERR_TIMEOUT);
    task_post(21, 1);
    CHECK_OK(task_wait_all(mixed, 2, until));
    CHECK_EQ(sem_value(0, 21), 0u);
    CHECK_OK(task_wait_room(PIPE_V, 0, until));
    CHECK(chip_cycle() < until);
}

TEST(sched_edge, wait_for_nothing_is_over_at_once)
{
    check_run(waits_for_nothing, NULL);
}

static void takes_any(void *arg)
{
    struct want any[] = {{22, 9}, {22, 1}};

    CHECK_EQ(task_wait_any(any, 2, SCHED_FOREVER), 1);
    ++*(unsigned *)arg;
}

static void disturbs(void *arg)
{
    task_spawn("waiter", takes_any, arg);
    task_yield();
    CHECK_EQ(task_wait_until(22, 5, chip_cycle() + 500), ERR_TIMEOUT);
    CHECK_EQ(sem_armed(0, 22), 1u);
    task_post(22, 1);
    task_join_all();
    CHECK_EQ(sem_armed(0, 22), 0u);
}

TEST(sched_edge, others_keep_their_wake_up)
{
    unsigned count = 0;

    check_run(disturbs, &count);
    CHECK_EQ(count, 1u);
}

static void posts_24(void *arg)
{
    for (unsigned i = 0; i < 3; i++) {
        task_sleep_until(chip_cycle() + 300);
        task_post(24, 1);
    }
    (void)arg;
}

static void names_it_twice(void *arg)
{
    struct want twice[] = {{24, 1}, {24, 2}}, far[] = {{SEM_COUNT, 1}};

    (void)arg;
    CHECK_EQ(task_wait_all(far, 1, chip_cycle() + 500), ERR_ARG);
    task_spawn("poster", posts_24, NULL);
    CHECK_OK(task_wait_all(twice, 2, SCHED_FOREVER));
    CHECK_EQ(sem_value(0, 24), 0u);
    task_join_all();
    task_post(24, 2);
    CHECK_EQ(task_wait_all(twice, 2, chip_cycle() + 500), ERR_TIMEOUT);
    CHECK_EQ(task_wait_any(twice, 2, SCHED_FOREVER), 0);
    CHECK_EQ(sem_value(0, 24), 1u);
    task_wait(24, 1);
}

TEST(sched_edge, one_semaphore_wanted_twice_adds_up)
{
    check_run(names_it_twice, NULL);
}

static void waits_for_300(void *arg)
{
    (void)arg;
    task_post(25, 44); /* 300 % 256 */
    task_wait(25, 300);
}

TEST(sched_edge, wait_above_the_maximum_is_named)
{
    check_fails(waits_for_300, ERR_ARG, "wait for 300 of semaphore 25");
}

static volatile unsigned number = 200;

static void waits_far(void *arg)
{
    (void)arg;
    task_wait(number, 1);
}

static void posts_far(void *arg)
{
    (void)arg;
    task_post(number, 1);
}

TEST(sched_edge, semaphores_that_are_not_there_are_named)
{
    check_fails(waits_far, ERR_ARG, "semaphore 200");
    check_fails(posts_far, ERR_ARG, "semaphore 200");
}

static void no_such_room(void *arg)
{
    (void)arg;
    CHECK_EQ(task_wait_room(PIPE_V, PIPE_DEPTH + 1, chip_cycle() + 500), ERR_ARG);
    CHECK_EQ(task_wait_room((enum pipe)6, 1, chip_cycle() + 500), ERR_ARG);
}

TEST(sched_edge, room_that_there_never_is)
{
    check_run(no_such_room, NULL);
}

static char order[8];

static void takes_26(void *arg)
{
    unsigned priority = (unsigned)(uintptr_t)arg;

    task_priority(priority);
    task_wait(26, 1);
    order[strlen(order)] = (char)('0' + priority);
}

static void posts_26(void *arg)
{
    (void)arg;
    memset(order, 0, sizeof(order));
    task_spawn("a", takes_26, (void *)1);
    task_spawn("b", takes_26, (void *)3);
    task_spawn("c", takes_26, (void *)2);
    task_sleep_until(chip_cycle() + 500);
    for (unsigned i = 0; i < 3; i++) {
        task_post(26, 1);
        task_sleep_until(chip_cycle() + 500);
    }
}

TEST(sched_edge, higher_priority_takes_first)
{
    check_run(posts_26, NULL);
    CHECK_STR(order, "321");
}

/* --- supervisors --- */

static bool gave_up;

static void gives_up(void *arg)
{
    struct fault fault;

    CHECK_EQ(task_wait_fault(&fault, chip_cycle() + 300), ERR_TIMEOUT);
    gave_up = true;
    task_sleep_until(chip_cycle() + 100000);
    CHECK_EQ(*(unsigned *)arg, 1u);
}

static void clears(void *arg)
{
    struct fault fault;

    CHECK_OK(task_wait_fault(&fault, SCHED_FOREVER));
    pipe_reset(0, PIPE_MTE2);
    ++*(unsigned *)arg;
}

static void two_supervisors(void *arg)
{
    union cmd cmd;

    gave_up = false;
    task_spawn("gives up", gives_up, arg);
    task_spawn("clears", clears, arg);
    while (!gave_up) {
        task_sleep_until(chip_cycle() + 500);
    }
    mte_gm_to_ub(&cmd, 7, &cmd, 32);
    task_issue(PIPE_MTE2, &cmd);
}

TEST(sched_edge, second_supervisor_keeps_its_wake_up)
{
    unsigned count = 0;

    check_run(two_supervisors, &count);
    CHECK_EQ(count, 1u);
}

/* --- what commands owe --- */

static void owes_much(void *arg)
{
    union cmd cmd;

    (void)arg;
    task_owe_wait(PIPE_V, 27, 200);
    task_owe_wait(PIPE_V, 27, 200);
    cmd_nop(&cmd);
    cmd_wait(&cmd, 5, 0); /* for nothing */
    cmd_post(&cmd, 28, 1);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQ(task_wait_until(28, 1, chip_cycle() + 500), ERR_TIMEOUT);
        task_post(27, 200);
        while (sem_value(0, 27) > 0) { /* for a second post may go above the maximum */
            task_sleep_until(chip_cycle() + 500);
        }
    }
    task_wait(28, 1);
    CHECK_EQ(sem_value(0, 27), 0u);
}

TEST(sched_edge, owed_waits_add_up_beyond_the_maximum)
{
    check_run(owes_much, NULL);
}

static void sleeps_for_ever(void *arg)
{
    (void)arg;
    task_sleep_until(SCHED_FOREVER);
}

TEST(sched_edge, deadlock_of_a_sleeper_names_it)
{
    check_fails(sleeps_for_ever, ERR_DEADLOCK, "task one sleeps since cycle");
}
