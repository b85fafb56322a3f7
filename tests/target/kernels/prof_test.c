/* SPDX-License-Identifier: MIT
 *
 * Schedules of the profiler, what it records, and its statistics.
 */
#include "kernels/prof/prof.h"

#include "sched/launch.h"
#include "tests/target/test.h"

TEST(prof, phases_of_a_schedule)
{
    const struct prof_schedule s = {
        .skip_first = 1, .wait = 1, .warmup = 2, .active = 2, .repeat = 2};
    static const enum prof_phase want[] = {
        PROF_NONE, PROF_NONE, PROF_WARMUP, PROF_WARMUP, PROF_RECORD,
        PROF_SAVE, PROF_NONE, PROF_WARMUP, PROF_WARMUP, PROF_RECORD,
        PROF_SAVE, PROF_NONE, PROF_NONE,   PROF_NONE};

    for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        CHECK_EQ(prof_phase(&s, i), want[i]);
    }
    CHECK_EQ(prof_phase(&(struct prof_schedule){.active = 1}, 1000), PROF_SAVE);
    CHECK_EQ(prof_phase(&(struct prof_schedule){.wait = 1}, 0), PROF_NONE);
}

static void empty(void *arg)
{
    (void)arg;
}

struct notes {
    unsigned n, saved, step[8];
    uint64_t call[8];
};

static void record(void *arg, unsigned step, const struct launch_report *measured)
{
    struct notes *n = arg;

    n->step[n->n] = step;
    n->call[n->n++] = measured->launches == 1 ? measured->call : 0;
}

static void save(void *arg, unsigned step)
{
    struct notes *n = arg;

    n->saved = 10 * n->saved + step;
}

TEST_CYCLES(prof, records_what_the_schedule_says)
{
    static struct sched_report report;
    static struct notes notes;
    struct prof p = {.schedule = {.warmup = 2, .active = 2, .repeat = 2},
                     .recorded = record,
                     .saved = save,
                     .arg = &notes};
    const struct launch l = {.name = "empty", .kernel = empty, .cores = 1};
    struct launch_report alone;

    notes = (struct notes){0};
    measure_start();
    CHECK_EQ(launch(&l, &report), 0);
    measure_start();
    CHECK_EQ(launch(&l, &report), 0);
    measure_read(&alone);
    prof_begin(&p);
    for (unsigned i = 0; i < 8; i++) {
        CHECK_EQ(launch(&l, &report), 0);
        prof_step(&p);
    }
    CHECK_EQ(notes.n, 4);
    CHECK_EQ(notes.step[0], 2);
    CHECK_EQ(notes.step[3], 7);
    CHECK_EQ(notes.saved, 37);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(notes.call[i], alone.call); /* measuring costs a launch nothing */
    }
}

TEST(prof, statistics_leave_out_what_lies_apart)
{
    uint64_t values[] = {12, 1000, 10, 11, 13, 14, 10, 12, 0, 12};
    uint64_t one[] = {7};
    struct prof_stats s;

    /* Quartiles 10 and 13: from 5.5 to 17.5. */
    prof_stats(&s, values, 10);
    CHECK_EQ(s.n, 8);
    CHECK_EQ(s.dropped, 2);
    CHECK_EQ(s.least, 10);
    CHECK_EQ(s.most, 14);
    CHECK_EQ(s.p50, 12);
    CHECK_EQ(s.p90, 14);
    CHECK_EQ(s.p99, 14);
    CHECK_EQ((uint64_t)(1000 * s.mean), 11750);     /* 94 / 8 */
    CHECK_EQ((uint64_t)(1000 * s.deviation), 1388); /* root of 13.5 / 7 */
    prof_stats(&s, one, 1);
    CHECK_EQ(s.p50, 7);
    CHECK_EQ(s.p99, 7);
    CHECK(s.deviation == 0);
}
