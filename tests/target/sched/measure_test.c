/* SPDX-License-Identifier: MIT
 *
 * What launches are measured to cost: their time from call to return, the chip's span,
 * pipes, the hart by task, and what is named as the limit.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "tests/target/test.h"

static uint8_t gm[32768] __attribute__((aligned(512)));

/* Keeps the hart busy for so many cycles. */
static void spin(uint64_t cycles)
{
    uint64_t end = chip_cycle() + cycles;

    while (chip_cycle() < end) {
    }
}

static void copy_in(uint32_t bytes)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, bytes);
    task_issue(PIPE_MTE2, &cmd);
}

static void nop(enum pipe pipe)
{
    union cmd cmd;

    cmd_nop(&cmd);
    task_issue(pipe, &cmd);
}

/* A launch on n cores, measured by itself. */
static void measure_on(unsigned n, void (*kernel)(void *arg), struct launch_report *r)
{
    struct sched_report report;

    measure_start();
    CHECK_OK(launch(&(struct launch){"measured", kernel, NULL, .cores = n}, &report));
    measure_read(r);
}

static uint64_t spent(const struct launch_report *r, const char *name)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->n_users; i++) {
        sum += strcmp(r->user[i].name, name) == 0 ? r->user[i].spent : 0;
    }
    return sum;
}

/* --- from call to return --- */

static void waits_then_copies(void *arg)
{
    (void)arg;
    spin(5000);
    copy_in(4096);
    copy_in(4096);
    task_drain();
    spin(3000);
}

TEST(measure, launch_is_told_from_call_to_return)
{
    struct launch_report r;

    measure_on(1, waits_then_copies, &r);
    CHECK_EQ(r.launches, 1u);
    CHECK_EQ(r.cores, 1u);
    CHECK(r.before >= 5000 && r.after >= 3000);
    CHECK_EQ(r.span, pmu_span(0));
    CHECK_EQ(r.call, r.before + r.span + r.after);
}

static void nothing(void *arg)
{
    (void)arg;
}

TEST(measure, launches_are_counted_until_the_counters_start_again)
{
    struct sched_report report;
    struct launch_report one, three, none;

    measure_on(1, waits_then_copies, &one);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_OK(launch(&(struct launch){"again", waits_then_copies, NULL, .cores = 1},
                        &report));
    }
    measure_read(&three);
    CHECK_EQ(three.launches, 3u);
    CHECK_EQ(three.number, one.number + 2);
    CHECK_EQ(three.before, one.before);
    CHECK_EQ(three.chip[PIPE_MTE2].commands, 6u);
    CHECK(three.call >= 3 * (5000 + 3000) &&
          three.call <= three.before + three.span + three.after);
    pmu_start(0);
    measure_read(&none);
    CHECK_EQ(none.launches, 0u);
    measure_on(1, nothing, &one);
    CHECK_EQ(one.launches, 1u);
    CHECK_EQ(one.number, three.number + 1);
    CHECK_EQ(one.cores, 0u);
    CHECK_EQ(one.limit, LIMIT_NOTHING);
}

/* --- the chip's span --- */

static void begins_late(void *arg)
{
    uint64_t begin = chip_cycle();

    (void)arg;
    task_sleep_until(begin + 20000 * task_block());
    while (chip_cycle() < begin + 25000) {
        for (unsigned i = 0; i < 4; i++) {
            copy_in(32768);
        }
        task_drain();
    }
}

TEST_CYCLES(measure, span_is_that_of_the_chip)
{
    struct launch_report r;
    struct core_use use;

    if (chip_cores() < 2) {
        test_skip("wants two cores");
        return;
    }
    measure_on(2, begins_late, &r);
    CHECK_EQ(r.cores, 2u);
    CHECK(r.span >= 24000 && r.span < 30000);
    CHECK_EQ(r.slowest.core, 0u);
    CHECK_EQ(r.fastest.core, 1u);
    CHECK(r.fastest.last - r.fastest.first < 7000);
    CHECK(measure_core(&r, 1, &use));
    CHECK(use.pipe[PIPE_MTE2].empty >= 20000);
    CHECK_EQ(r.chip[PIPE_MTE2].commands,
             r.slowest.pipe[PIPE_MTE2].commands + r.fastest.pipe[PIPE_MTE2].commands);
    CHECK_EQ(r.limit, LIMIT_START);
    CHECK(!measure_core(&r, chip_cores() - 1, &use) || chip_cores() == 2);
}

static void ends_by_its_number(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < (task_block() ? 1 : 20); i++) {
        copy_in(32768);
    }
}

TEST_CYCLES(measure, cores_that_end_apart_are_the_limit)
{
    struct launch_report r;

    if (chip_cores() < 2) {
        test_skip("wants two cores");
        return;
    }
    measure_on(2, ends_by_its_number, &r);
    CHECK_EQ(r.limit, LIMIT_SHARES);
}

/* --- pipes --- */

static void one_then_another(void *arg)
{
    (void)arg;
    nop(PIPE_MTE2);
    spin(4000);
    nop(PIPE_V);
    spin(1000);
    nop(PIPE_MTE2);
}

TEST_CYCLES(measure, empty_queues_are_counted_within_the_span)
{
    struct launch_report r;

    measure_on(1, one_then_another, &r);
    CHECK(r.span > 5000 && r.span < 6000);
    CHECK_EQ(r.chip[PIPE_MTE2].empty, r.span - 2);
    CHECK_EQ(r.chip[PIPE_V].empty, r.span - 1);
    CHECK_EQ(r.chip[PIPE_V].busy, 1u);
}

/* --- the hart --- */

static void spins_long(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        spin(10000);
        task_yield();
    }
}

static void spins_once(void *arg)
{
    (void)arg;
    spin(10000);
    task_sleep_until(chip_cycle() + 50000);
}

static void spins(void *arg)
{
    (void)arg;
    task_spawn("long", spins_long, NULL);
    task_spawn("once", spins_once, NULL);
    task_join_all();
    copy_in(32);
}

TEST_CYCLES(measure, hart_is_divided_among_tasks)
{
    struct launch_report r;
    uint64_t cycle, sum = 0;

    measure_on(1, spins, &r);
    cycle = r.shared;
    CHECK_EQ(cycle, chip_timing() == TIMING_v1 ? chip_cores() : 1);
    CHECK(spent(&r, "long") >= 30000 * cycle && spent(&r, "long") < 30000 * cycle + 2000);
    CHECK(spent(&r, "once") >= 10000 * cycle && spent(&r, "once") < 10000 * cycle + 2000);
    CHECK(r.asleep > 25000 * cycle && r.asleep < 51000 * cycle);
    CHECK(r.stats.sleeps >= 1);
    for (unsigned i = 0; i < r.n_users; i++) {
        sum += r.user[i].spent;
    }
    CHECK_EQ(sum, r.awake);
    CHECK(r.awake + r.asleep <= (r.call - r.price + 2) * cycle);
    CHECK(r.awake + r.asleep + 64 >= (r.call - r.price) * cycle);
}

static void spins_briefly(void *arg)
{
    (void)arg;
    spin(300);
}

static void spawns_many(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < TASK_MAX + 20; i++) {
        task_join(task_spawn("once", spins_briefly, NULL));
    }
}

/* A slot of the table of tasks that is used again does not lose what its owner took. */
TEST_CYCLES(measure, ended_tasks_keep_what_they_took)
{
    struct launch_report r;

    measure_on(1, spawns_many, &r);
    CHECK(spent(&r, "once") >= (TASK_MAX + 20) * 300ull * r.shared);
}

/* --- the limit --- */

static void copies(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 60; i++) {
        copy_in(32768);
    }
}

TEST_CYCLES(measure, pipe_that_works_all_the_time_is_the_limit)
{
    struct launch_report r;

    measure_on(1, copies, &r);
    CHECK_EQ(r.limit, LIMIT_PIPE);
    CHECK_EQ(r.limit_pipe, PIPE_MTE2);
}

static void copies_slowly(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 60; i++) {
        copy_in(32768);
        spin(1000);
    }
}

TEST_CYCLES(measure, hart_that_issues_too_slowly_is_the_limit)
{
    struct launch_report r;

    measure_on(1, copies_slowly, &r);
    CHECK_EQ(r.limit, LIMIT_HART);
    CHECK_EQ(r.limit_pipe, PIPE_MTE2);
    CHECK(r.chip[PIPE_MTE2].empty > r.span / 10);
    CHECK(r.awake_in_span > r.span * r.shared * 9 / 10);
}

static void copies_once(void *arg)
{
    (void)arg;
    spin(2000);
    nop(PIPE_V);
}

TEST_CYCLES(measure, hart_that_prepares_for_longer_is_the_limit)
{
    struct launch_report r;

    measure_on(1, copies_once, &r);
    CHECK_EQ(r.limit, LIMIT_SETUP);
}

enum { ROUNDS = 40 };

/* Copies in and out in turn, so that none of the two pipes works half of the time. */
static void takes_turns(void *arg)
{
    union cmd cmd;

    (void)arg;
    task_post(1, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        mte_gm_to_ub(&cmd, 0, gm, 32768);
        cmd_wait(&cmd, 1, 1);
        cmd_post(&cmd, 2, 1);
        task_issue(PIPE_MTE2, &cmd);
        mte_ub_to_gm(&cmd, gm, 0, 32768);
        cmd_wait(&cmd, 2, 1);
        cmd_post(&cmd, 1, 1);
        task_issue(PIPE_MTE3, &cmd);
    }
    task_wait(1, 1);
}

TEST_CYCLES(measure, pipes_that_wait_for_each_other_are_told)
{
    struct launch_report r;

    measure_on(1, takes_turns, &r);
    CHECK_EQ(r.limit, LIMIT_WAITS);
    CHECK(r.chip[r.limit_pipe].sem > r.span / 4);
}

static void streams(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 200; i++) {
        copy_in(32768);
    }
}

TEST_CYCLES(measure, path_that_cores_share_is_the_limit)
{
    struct launch_report r;

    if (chip_cores() * chip_cost(COST_GM_UB_RATE) < 2 * chip_cost(COST_L2_READ_RATE)) {
        test_skip("wants more cores");
        return;
    }
    measure_on(chip_cores(), streams, &r);
    CHECK_EQ(r.limit, LIMIT_RATE);
    CHECK_EQ(r.limit_pipe, PIPE_MTE2);
}
