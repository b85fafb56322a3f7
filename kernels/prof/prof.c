/* SPDX-License-Identifier: MIT
 *
 * Schedules, metrics and statistics; see prof.h. Source: torch.profiler.schedule() for the
 * phases, msopprof for names.
 */
#include "kernels/prof/prof.h"

#include <math.h>
#include <stdlib.h>

#include "hal/chip.h"

enum prof_phase prof_phase(const struct prof_schedule *s, unsigned step)
{
    unsigned round = s->wait + s->warmup + s->active, at;

    if (step < s->skip_first || s->active == 0) {
        return PROF_NONE;
    }
    step -= s->skip_first;
    at = step % round;
    if ((s->repeat && step / round >= s->repeat) || at < s->wait) {
        return PROF_NONE;
    }
    return at < s->wait + s->warmup ? PROF_WARMUP
           : at + 1 < round         ? PROF_RECORD
                                    : PROF_SAVE;
}

void prof_begin(struct prof *p)
{
    p->step = 0;
    measure_start();
}

enum prof_phase prof_step(struct prof *p)
{
    enum prof_phase phase = prof_phase(&p->schedule, p->step);
    struct launch_report measured;

    if (phase >= PROF_RECORD) {
        measure_read(&measured);
        p->recorded(p->arg, p->step, &measured);
    }
    if (phase == PROF_SAVE && p->saved) {
        p->saved(p->arg, p->step);
    }
    measure_start();
    return prof_phase(&p->schedule, ++p->step);
}

/* --- metrics --- */

const char *prof_metric_name(enum prof_metric metric)
{
    static const char *const names[PROF_METRICS] = {
#define METRIC(id, name, value) [PROF_##id] = (name),
#include "kernels/prof/metrics.def"
#undef METRIC
    };

    return names[metric];
}

/* An engine's cycle is a thousandth of that many nanoseconds ... of the clock in kHz. */
static double us(uint64_t cycles)
{
    return 1e3 * (double)cycles / (double)chip_cost(COST_CLOCK_KHZ);
}

static double rate(uint64_t bytes, uint64_t cycles)
{
    return cycles ? (double)bytes / (double)cycles * chip_cost(COST_CLOCK_KHZ) * 1e-6 : 0;
}

static double percent(uint64_t part, uint64_t rest)
{
    return part + rest ? 100.0 * (double)part / (double)(part + rest) : 0;
}

double prof_metric_value(enum prof_metric metric, const struct launch_report *r)
{
#define P(pipe)       (r->chip[PIPE_##pipe])
#define ran(pipe)     (P(pipe).busy + P(pipe).bandwidth)
#define ratio(cycles) (all != 0 ? (double)(cycles) / all : 0)
    double all = (double)r->span * r->cores;

    switch (metric) {
#define METRIC(id, name, value)                                                          \
    case PROF_##id:                                                                      \
        return (value);
#include "kernels/prof/metrics.def"
#undef METRIC
    default:
        return 0;
    }
#undef P
#undef ran
#undef ratio
}

/* --- statistics --- */

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static uint64_t ranked(const uint64_t *sorted, unsigned n, unsigned percent_)
{
    return sorted[(n * percent_ + 99) / 100 - 1];
}

void prof_stats(struct prof_stats *s, uint64_t *values, unsigned n)
{
    double sum = 0, squares = 0, q1, q3, within;
    unsigned first = 0, last = n;

    qsort(values, n, sizeof(values[0]), ascending);
    q1 = (double)ranked(values, n, 25);
    q3 = (double)ranked(values, n, 75);
    within = 1.5 * (q3 - q1);
    while ((double)values[first] < q1 - within) {
        first++;
    }
    while ((double)values[last - 1] > q3 + within) {
        last--;
    }
    for (unsigned i = first; i < last; i++) {
        sum += (double)values[i];
    }
    *s = (struct prof_stats){.n = last - first,
                             .dropped = n - (last - first),
                             .p50 = ranked(values + first, last - first, 50),
                             .p90 = ranked(values + first, last - first, 90),
                             .p99 = ranked(values + first, last - first, 99),
                             .least = values[first],
                             .most = values[last - 1],
                             .mean = sum / (last - first)};
    for (unsigned i = first; i < last; i++) {
        squares += ((double)values[i] - s->mean) * ((double)values[i] - s->mean);
    }
    s->deviation = s->n > 1 ? sqrt(squares / (s->n - 1)) : 0;
}
