/* SPDX-License-Identifier: MIT
 *
 * Many tasks that take at random from two pools and give back through random engines, in
 * every way to wait, with time-outs, priorities, children and numbers in floating-point
 * registers. Whoever waits for several takes them at once, so nobody can block for ever:
 * a lost wake-up shows as a deadlock, a wait left armed or a number lost at the end.
 */
#include "hal/chip.h"
#include "hal/sem.h"
#include "sched/launch.h"
#include "tests/target/test.h"

enum { POOL_A = 1, POOL_B, HELD = 5, TASKS = 11, ROUNDS = 40, LIMIT = 20 << 20 };

struct worker {
    uint32_t random;
    bool done;
};

static unsigned draw(struct worker *w, unsigned n)
{
    w->random = w->random * 1664525 + 1013904223;
    return (w->random >> 16) % n;
}

static void give(struct worker *w, unsigned sem, unsigned count)
{
    static const enum pipe pipes[] = {PIPE_V, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_M};
    unsigned way = draw(w, 6);
    union cmd cmd;

    if (count && way == 5) {
        task_post(sem, count);
    } else if (count) {
        cmd_nop(&cmd);
        cmd_post(&cmd, sem, count);
        task_issue(pipes[way], &cmd);
    }
}

/* An engine takes and gives back, too, so that tasks may lose what they have just seen.
 */
static void churn(void)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, POOL_B, 1);
    cmd_post(&cmd, POOL_B, 1);
    task_issue(PIPE_FIX, &cmd);
}

/* Takes a of one pool, b of the other, in one of the ways; false: it gave up. */
static bool take(struct worker *w, unsigned *a, unsigned *b)
{
    struct want all[] = {{POOL_A, (uint16_t)*a}, {POOL_B, (uint16_t)*b}};
    uint64_t cycle = draw(w, 2) ? SCHED_FOREVER : chip_cycle() + draw(w, 1500);
    int got;

    switch (draw(w, 4)) {
    case 0:
        *b = 0;
        task_wait(POOL_A, *a);
        return true;
    case 1:
        *a = 0;
        return task_wait_until(POOL_B, *b, cycle) == 0;
    case 2:
        return task_wait_all(all, 2, cycle) == 0;
    default:
        got = task_wait_any(all, 2, cycle);
        *a = got == 0 ? *a : 0;
        *b = got == 1 ? *b : 0;
        return got >= 0;
    }
}

static void child(void *arg)
{
    *(bool *)arg = true;
}

static void work(void *arg)
{
    struct worker *w = arg;
    double x = w->random, y = x / 3, z = x * y;
    const double x0 = x, y0 = y;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned a = 1 + draw(w, HELD), b = 1 + draw(w, HELD);
        if (take(w, &a, &b)) {
            x += a;
            if (draw(w, 2)) {
                task_sleep_until(chip_cycle() + draw(w, 800));
            }
            y += b;
            give(w, POOL_A, a);
            give(w, POOL_B, b);
            x -= a;
            y -= b;
        }
        churn();
        if (draw(w, 8) == 0) {
            bool done = false;
            int task = task_spawn("child", child, &done);
            task_join(task);
            CHECK(done);
        }
        if (draw(w, 8) == 0) {
            task_priority(draw(w, TASK_PRIORITIES));
        }
    }
    CHECK_EQ(x, x0);
    CHECK(y - y0 < 1e-3 && y0 - y < 1e-3);
    CHECK_EQ(z, x0 * y0);
    w->done = true;
}

static void pools(void *arg)
{
    struct worker w[TASKS];

    task_post(POOL_A, HELD);
    task_post(POOL_B, HELD);
    for (unsigned i = 0; i < TASKS; i++) {
        w[i] = (struct worker){.random = *(uint32_t *)arg + 7919 * i + 31 * task_block()};
        task_spawn("worker", work, &w[i]);
    }
    task_join_all();
    task_drain();
    for (unsigned i = 0; i < TASKS; i++) {
        CHECK(w[i].done);
    }
    for (unsigned sem = POOL_A; sem <= POOL_B; sem++) {
        CHECK_EQ(sem_armed(task_core(), sem), 0u);
        CHECK_EQ(sem_value(task_core(), sem), (unsigned)HELD);
        task_wait(sem, HELD);
    }
}

TEST(sched_stress, nobody_waits_for_ever_and_nothing_is_lost)
{
    unsigned cores = chip_cores() < 4 ? chip_cores() : 4;

    for (uint32_t seed = 1; seed * cores <= 8 && !test_failed(); seed++) {
        struct sched_report report;
        CHECK_OK(launch(&(struct launch){"pools", pools, &seed, cores, cores + 1, .limit = LIMIT},
                        &report));
        CHECK_STR(report.text, "");
    }
}
