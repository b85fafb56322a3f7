/* SPDX-License-Identifier: MIT
 *
 * Measurements of launches; see measure.h. The counters of the pipes go on after a launch
 * and begin before it, so a pipe's empty cycles are what the span leaves of it. The hart
 * is charged at every switch (charge in sched.c), which is all that a measurement
 * costs while a launch runs.
 */
#include "sched/measure.h"

#include <string.h>

#include "hal/chip.h"
#include "sched/task.h"

/* Shares in percent: of a resource that is used to the full; that are worth a word. */
#define FULL 85
#define SOME 10
/* What is left of the users for tasks. */
#define NAMES (MEASURE_USERS - HART_IDLE)

uint64_t hart_parts[HART_PARTS];

static struct {
    unsigned starts; /* pmu_starts() when it began */
    unsigned launches, number, shared;
    uint64_t price, called, entered, returned, inside; /* entered: by the one that runs */
    bool running;
    struct sched_stats stats;
    struct hart_use task[NAMES];
} now;

void measure_start(void)
{
    for (unsigned core = 0; core < chip_cores(); core++) {
        pmu_start(core);
    }
}

/* What the hart has done until here is nobody's. */
static void skip(void)
{
    uint64_t before = 0;

    sched_charge(&before);
}

void measure_call(void)
{
    if (now.launches == 0 || now.starts != pmu_starts()) {
        memset(&now.stats, 0, sizeof(now.stats));
        memset(now.task, 0, sizeof(now.task));
        memset(hart_parts, 0, sizeof(hart_parts));
        now.starts = pmu_starts();
        now.launches = 0;
        now.inside = 0;
        now.price = chip_cost(COST_LAUNCH); /* goes by before measure_enter */
    }
}

void measure_enter(void)
{
    now.entered = chip_cycle();
    skip();
    now.running = true;
    if (now.launches == 0) {
        now.called = now.entered;
    }
}

void measure_return(void)
{
    struct sched_stats stats = sched_stats();

    now.running = false;
    now.launches++;
    now.number++;
    now.stats.switches += stats.switches;
    now.stats.sleeps += stats.sleeps;
    now.stats.in_vain += stats.in_vain;
    sched_charge(&hart_parts[HART_LAUNCH]);
    now.returned = chip_cycle();
    now.shared = chip_shared();
    now.inside += now.price + now.returned - now.entered;
}

void measure_run(void)
{
    if (!now.running) {
        skip();
        chip_share(chip_cores(), false);
    }
}

void measure_task(const char *name, uint64_t spent)
{
    unsigned i = 0;

    while (i < NAMES - 1 && now.task[i].name && now.task[i].name != name) {
        i++;
    }
    now.task[i].name = i < NAMES - 1 ? name : "other tasks";
    now.task[i].spent += spent;
}

/* --- reading --- */

static void read_pipe(unsigned core, enum pipe pipe, uint64_t span, struct pipe_use *use)
{
    uint64_t known;

    *use = (struct pipe_use){
        .busy = pmu_read(core, pipe, PMU_BUSY),
        .sem = pmu_read(core, pipe, PMU_STALL_SEM),
        .bandwidth = pmu_read(core, pipe, PMU_STALL_BW),
        .commands = pmu_read(core, pipe, PMU_COMMANDS),
        .bytes_read = pmu_read(core, pipe, PMU_BYTES_READ),
        .bytes_written = pmu_read(core, pipe, PMU_BYTES_WRITTEN),
        .ops = pmu_read(core, pipe, PMU_OPS),
        .hits = pmu_read(core, pipe, PMU_L2_HIT),
        .misses = pmu_read(core, pipe, PMU_L2_MISS),
    };
    known = use->busy + use->sem + use->bandwidth;
    use->empty = known < span ? span - known : 0;
}

bool measure_core(const struct launch_report *report, unsigned core, struct core_use *use)
{
    *use = (struct core_use){core, pmu_first(core), pmu_last(core), {{0}}};
    for (unsigned p = 0; p < NPU_PIPES && use->last; p++) {
        if (pipe_name(p)[0] != '?') {
            read_pipe(core, (enum pipe)p, report->span, &use->pipe[p]);
        }
    }
    return use->last != 0;
}

static void add(struct pipe_use *sum, const struct pipe_use *use)
{
    sum->busy += use->busy;
    sum->sem += use->sem;
    sum->bandwidth += use->bandwidth;
    sum->empty += use->empty;
    sum->commands += use->commands;
    sum->bytes_read += use->bytes_read;
    sum->bytes_written += use->bytes_written;
    sum->hits += use->hits;
    sum->misses += use->misses;
    sum->ops += use->ops;
}

static uint64_t own_span(const struct core_use *use)
{
    return use->last - use->first;
}

/* First and last command of the chip. */
static void read_span(struct launch_report *r, uint64_t *first, uint64_t *last)
{
    bool launched = now.launches && now.starts == pmu_starts();

    *first = UINT64_MAX;
    *last = 0;
    for (unsigned core = 0; core < chip_cores(); core++) {
        if (pmu_last(core)) {
            *first = pmu_first(core) < *first ? pmu_first(core) : *first;
            *last = pmu_last(core) > *last ? pmu_last(core) : *last;
            r->cores++;
        }
    }
    r->price = launched ? now.price : 0;
    if (r->cores) {
        r->span = *last - *first;
        r->before = launched && *first > now.called ? r->price + *first - now.called : 0;
        r->after = launched && now.returned > *last ? now.returned - *last : 0;
    }
}

/* Cycles by which the cores, on the whole, begin behind the first and end before the
 * last. */
struct spread {
    uint64_t late, early;
};

static void read_cores(struct launch_report *r, uint64_t first, uint64_t last,
                       struct spread *spread)
{
    struct core_use use;

    for (unsigned core = 0; core < chip_cores(); core++) {
        if (!measure_core(r, core, &use)) {
            continue;
        }
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            add(&r->chip[p], &use.pipe[p]);
        }
        if (r->slowest.last == 0 || own_span(&use) > own_span(&r->slowest)) {
            r->slowest = use;
        }
        if (r->fastest.last == 0 || own_span(&use) < own_span(&r->fastest)) {
            r->fastest = use;
        }
        spread->late += use.first - first;
        spread->early += last - use.last;
    }
}

static void read_hart(struct launch_report *r)
{
    static const char *const names[HART_PARTS] = {
        [HART_LAUNCH] = "launching",
        [HART_SCHEDULER] = "scheduler",
    };
    uint64_t outside = (r->before - r->price + r->after) * r->shared;

    for (unsigned i = 0; i < NAMES && now.task[i].name; i++) {
        r->user[r->n_users++] = now.task[i];
        r->awake += now.task[i].spent;
    }
    for (unsigned i = 0; i < HART_IDLE; i++) {
        if (hart_parts[i]) {
            r->user[r->n_users++] = (struct hart_use){names[i], hart_parts[i]};
            r->awake += hart_parts[i];
        }
    }
    r->asleep = hart_parts[HART_IDLE];
    r->awake_in_span = r->awake > outside ? r->awake - outside : 0;
}

/* --- what limits --- */

static const enum pipe flow[] = {PIPE_MTE2, PIPE_MTE1, PIPE_M,
                                 PIPE_V,    PIPE_FIX,  PIPE_MTE3};
enum { FLOW = sizeof(flow) / sizeof(flow[0]) };

static bool at_least(uint64_t cycles, unsigned percent, uint64_t of)
{
    return 100 * cycles >= percent * of;
}

static uint64_t used(const struct pipe_use *use)
{
    return use->busy + use->bandwidth;
}

/* The pipe that lacks commands: the one that works most, or the first in the flow. */
static enum pipe starved(const struct launch_report *r, enum pipe most, uint64_t all)
{
    if (at_least(r->chip[most].empty, SOME, all)) {
        return most;
    }
    for (unsigned i = 0; i < FLOW; i++) {
        const struct pipe_use *use = &r->chip[flow[i]];
        if (use->commands && at_least(use->empty, SOME, all)) {
            return flow[i];
        }
    }
    return most;
}

static void judge(struct launch_report *r, const struct spread *spread)
{
    uint64_t all = r->span * r->cores;
    uint64_t prices = r->launches ? (r->launches - 1) * r->price : 0; /* within the span */
    enum pipe most = flow[0];

    for (unsigned i = 1; i < FLOW; i++) {
        most = used(&r->chip[flow[i]]) > used(&r->chip[most]) ? flow[i] : most;
    }
    r->limit_pipe = most;
    if (r->cores == 0) {
        r->limit = LIMIT_NOTHING;
    } else if (r->launches && r->before - r->price > r->span) {
        r->limit = LIMIT_SETUP;
    } else if (at_least(used(&r->chip[most]), FULL, all)) {
        bool shared = at_least(r->chip[most].bandwidth, 100 - FULL, all);
        r->limit = shared ? LIMIT_RATE : LIMIT_PIPE;
    } else if (at_least(r->awake_in_span, FULL, (r->span - prices) * r->shared)) {
        r->limit = LIMIT_HART;
        r->limit_pipe = starved(r, most, all);
    } else if (at_least(spread->late + spread->early, SOME, all)) {
        r->limit = spread->late > spread->early ? LIMIT_START : LIMIT_SHARES;
    } else {
        bool shared = at_least(r->chip[most].bandwidth, 100 - FULL, all);
        r->limit = shared ? LIMIT_RATE : LIMIT_WAITS;
    }
}

void measure_read(struct launch_report *r)
{
    struct spread spread = {0, 0};
    uint64_t first, last;

    memset(r, 0, sizeof(*r));
    r->shared = chip_shared();
    read_span(r, &first, &last);
    if (now.starts == pmu_starts()) {
        r->launches = now.launches;
        r->number = now.number;
        r->shared = now.shared;
        r->call = now.inside;
        r->stats = now.stats;
        read_hart(r);
    }
    read_cores(r, first, last, &spread);
    judge(r, &spread);
}
