/* SPDX-License-Identifier: MIT
 *
 * Semaphores that a kernel leaves behind, or posts above their maximum: who has posted
 * and taken them last, as far as the pipes still know.
 */
#include <string.h>

#include "hal/mte.h"
#include "hal/sem.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "tests/target/nop.h"
#include "tests/target/test.h"

static struct sched_report report;

static void check_fails(void (*kernel)(void *arg), int err, const char *text)
{
    struct launch l = {.name = "leaves", .kernel = kernel, .cores = 1};

    CHECK_EQ(launch(&l, &report), err);
    CHECK(strstr(report.text, text) != NULL);
}

static bool tells(const char *text)
{
    return strstr(report.text, text) != NULL;
}

static void poster(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 23; i++) {
        issue_nop(PIPE_V, 0, 55);
    }
}

static void posts_more_than_it_takes(void *arg)
{
    (void)arg;
    task_spawn("poster", poster, NULL);
    issue_nop(PIPE_MTE3, 55, 0);
}

TEST(left, semaphore_names_its_last_poster_and_taker)
{
    check_fails(posts_more_than_it_takes, ERR_LEFT, "semaphore 55 of core 0 is 22\n");
    CHECK(tells("last posted by NOP of task poster in V of core 0, pc 0x"));
    CHECK(tells("last taken by NOP of task leaves in MTE3 of core 0, pc 0x"));
}

static void hart_posts(void *arg)
{
    (void)arg;
    task_post(7, 2);
    task_wait(7, 1);
}

TEST(left, semaphore_names_the_line_that_posted_it)
{
    check_fails(hart_posts, ERR_LEFT, "semaphore 7 of core 0 is 1\n");
    CHECK(tells("last posted by the hart at tests/target/sched/left_test.c:"));
}

static void posts_for_the_chip(void *arg)
{
    (void)arg;
    issue_nop(PIPE_MTE2, 0, SEM_CORE + 9);
}

TEST(left, semaphore_of_the_chip_names_its_poster)
{
    check_fails(posts_for_the_chip, ERR_LEFT, "semaphore 73 of core 0 is 1\n");
    CHECK(tells("last posted by NOP of task leaves in MTE2 of core 0, pc 0x"));
}

static void is_named(void *arg)
{
    (void)arg;
    sched_label(0, 9, "ready", "");
    issue_nop(PIPE_V, 0, 9);
}

TEST(left, semaphore_tells_where_it_was_named)
{
    check_fails(is_named, ERR_LEFT, "semaphore 9 (ready ) of core 0 is 1\n");
    CHECK(tells("named at tests/target/sched/left_test.c:"));
    sched_label(0, 9, NULL, NULL);
}

/* The hart posts FULL once too often: each of the verbs was used as often as the others,
 * so the queue itself has nothing to say. */
static void fills_twice(void *arg)
{
    struct tque *q = tque_init(tpipe_open(), "x", VECIN, PIPE_MTE2, PIPE_V, 2, 64);
    uint32_t x = tque_alloc(q);
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd_post(&cmd, q->full_sem, 1);
    tque_enque(q, x, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    cmd_nop(&cmd);
    tque_free(q, tque_deque(q), &cmd);
    task_issue(PIPE_V, &cmd);
}

TEST(left, semaphore_of_a_queue_names_the_line_of_the_queue)
{
    check_fails(fills_twice, ERR_LEFT, "(x FULL) of core 0 is 1\n");
    CHECK(tells("named at tests/target/sched/left_test.c:"));
    CHECK(tells("last posted by NOP of task leaves in MTE2 of core 0"));
    CHECK(tells("last taken by NOP of task leaves in V of core 0"));
}

static void command_posts_too_much(void *arg)
{
    (void)arg;
    task_post(8, SEM_MAX);
    issue_nop(PIPE_V, 0, 8);
}

TEST(left, overflow_of_a_command_tells_who_else_posts)
{
    check_fails(command_posts_too_much, ERR_FAULT, "NOP.post_sem[0] = 8");
    CHECK(tells("last posted by the hart at tests/target/sched/left_test.c:"));
    CHECK(!tells("taken by"));
}

static void hart_posts_too_much(void *arg)
{
    (void)arg;
    issue_nop(PIPE_V, 0, 8);
    task_drain();
    task_post(8, SEM_MAX);
}

TEST(left, overflow_of_the_hart_tells_who_else_posts)
{
    check_fails(hart_posts_too_much, ERR_SEM,
                "semaphore 8 holds 1, 255 more is above 255");
    CHECK(tells("last posted by NOP of task leaves in V of core 0, pc 0x"));
}

/* What was posted in a launch before is not told of the next. */
TEST(left, next_launch_knows_nothing_of_it)
{
    check_fails(hart_posts, ERR_LEFT, "semaphore 7 of core 0 is 1\n");
    check_fails(is_named, ERR_LEFT, "semaphore 9 (ready ) of core 0 is 1\n");
    CHECK(!tells("by the hart"));
    sched_label(0, 9, NULL, NULL);
}
