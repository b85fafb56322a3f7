/* SPDX-License-Identifier: MIT
 *
 * A profiler in the firmware, as torch_npu.profiler has it: a schedule says which steps of a
 * program are measured, and prof_step() stands at the end of each.
 *
 *     struct prof p = {.schedule = {.warmup = 10, .active = 100, .repeat = 1},
 *                      .recorded = note, .arg = &notes};
 *     prof_begin(&p);
 *     for (unsigned i = 0; i < 110; i++) {
 *         err = launch(...);
 *         prof_step(&p);
 *     }
 *
 * What is measured is always counted (hal/pmu.h), so a step that is recorded takes the same
 * cycles as one that is not: counters are read and cleared between launches.
 */
#ifndef KERNELS_PROF_PROF_H
#define KERNELS_PROF_PROF_H

#include "sched/measure.h"

/* Steps: `skip_first` once, then rounds of these; `repeat` of them, 0: without end. */
struct prof_schedule {
    unsigned skip_first, wait, warmup, active, repeat;
};

/* What is done with a step. PROF_SAVE: the last that is recorded of its round. */
enum prof_phase { PROF_NONE, PROF_WARMUP, PROF_RECORD, PROF_SAVE };

struct prof {
    struct prof_schedule schedule;
    unsigned step; /* the one that goes on */
    void (*recorded)(void *arg, unsigned step, const struct launch_report *measured);
    void (*saved)(void *arg, unsigned step); /* behind the last of a round; or NULL */
    void *arg;
};

enum prof_phase prof_phase(const struct prof_schedule *s, unsigned step);
/* Outside of launches, both. */
void prof_begin(struct prof *p);
/* A step has ended; returns the phase of the next. */
enum prof_phase prof_step(struct prof *p);

/* What counters say, under the names that msopprof has for it; of all cores that worked. */
enum prof_metric {
#define METRIC(id, name, value) PROF_##id,
#include "kernels/prof/metrics.def"
#undef METRIC
    PROF_METRICS
};
const char *prof_metric_name(enum prof_metric metric);
double prof_metric_value(enum prof_metric metric, const struct launch_report *r);

/* Of n > 0 values, which it sorts, those within 1.5 times the distance of the quartiles from
 * them: percentiles are by nearest rank. */
struct prof_stats {
    unsigned n, dropped;
    uint64_t p50, p90, p99, least, most;
    double mean, deviation;
};
void prof_stats(struct prof_stats *s, uint64_t *values, unsigned n);

#endif
