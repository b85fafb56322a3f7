/* SPDX-License-Identifier: MIT
 *
 * What launches cost: the chip's counters, what passed from their call to their return,
 * and who had the hart. A measurement begins with measure_start(), or with pmu_start() of
 * any core, and goes on over every launch until the next; it is always made, and reading
 * it changes nothing. Nothing here prints.
 *
 * The span is the chip's: from the first command of any core to the end of the last one
 * of any core. A core that begins late or ends early has empty queues meanwhile.
 */
#ifndef SCHED_MEASURE_H
#define SCHED_MEASURE_H

#include "hal/pmu.h"
#include "sched/sched.h"

enum measure_users {
    MEASURE_USERS = 16
}; /* names among which the hart's time is divided */

/* Cycles of a pipe within the span, or of the same pipe of several cores, added up. */
struct pipe_use {
    uint64_t busy;      /* a command ran */
    uint64_t sem;       /* the head of the queue waited for a semaphore or for marks */
    uint64_t bandwidth; /* lost to others on a shared path */
    uint64_t empty;     /* nothing was queued */
    uint64_t commands, bytes_read, bytes_written, ops;
    uint64_t hits, misses; /* lines of GM that were in L2, that were not */
};

struct core_use {
    unsigned core;
    uint64_t first, last; /* cycles: its first command began, its last one ended */
    struct pipe_use pipe[NPU_PIPES];
};

/* What limits a launch. */
enum limit {
    LIMIT_NOTHING, /* there was no command */
    LIMIT_PIPE,    /* `pipe` works nearly all the time */
    LIMIT_RATE,    /* `pipe` would, but for a path that it shares */
    LIMIT_HART,    /* the hart is awake nearly all the time, `pipe` lacks commands */
    LIMIT_SETUP,   /* the hart, which needs longer to begin than the engines for all */
    LIMIT_START,   /* the hart, which begins the cores one after another */
    LIMIT_SHARES,  /* cores end at different times */
    LIMIT_WAITS,   /* none of these: `pipe` works most, the pipes wait for each other */
};

struct hart_use {
    const char *name; /* of tasks, or what the hart did besides */
    uint64_t spent;   /* instructions */
};

struct launch_report {
    unsigned launches, number; /* how many; which since power-on the last one was */
    unsigned cores;            /* that had commands */
    unsigned shared;           /* the hart, of the last launch: chip_shared() */
    /* Cycles: from call to return, all launches added up; of the first one until the
     * first command, the span, and of the last one from the last command on. */
    uint64_t call, before, span, after;
    uint64_t price; /* of a launch (COST_LAUNCH), which is in `before` and `call` */
    struct core_use slowest, fastest; /* of these cores, by their own first to last */
    struct pipe_use chip[NPU_PIPES];  /* sum of all cores */
    /* The hart, in instructions (hart_clock): not asleep from call to return, of this
     * within the span, asleep; the first of these divided among its users. */
    uint64_t awake, awake_in_span, asleep;
    unsigned n_users;
    struct hart_use user[MEASURE_USERS];
    struct sched_stats stats; /* of all launches */
    enum limit limit;
    enum pipe limit_pipe;
};

/* Sets the counters of all cores to 0. Outside of launches. */
void measure_start(void);
/* What has been measured since. */
void measure_read(struct launch_report *report);
/* The same of one core; false: it had no command. */
bool measure_core(const struct launch_report *report, unsigned core,
                  struct core_use *use);

#endif
