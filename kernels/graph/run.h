/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan on the machine. All are made ready first: programs planned, commands
 * recorded and looked at. Then those that can share a launch stay on the cores, one behind
 * the other; an operator of the firmware launches by itself, so a plan with such falls into
 * runs of launches.
 */
#ifndef KERNELS_GRAPH_RUN_H
#define KERNELS_GRAPH_RUN_H

#include "hal/host.h"
#include "kernels/graph/plan.h"
#include "kernels/tile/tile.h"
#include "sched/sched.h"

struct graph_run;

/* A step that is ready. */
struct graph_job {
    const struct plan_step *step;
    void (*kernel)(void *arg); /* of a launch that others share; or NULL: */
    /* launches by itself */
    int (*run)(void *arg, struct sched_report *report);
    void *arg;
    void (*free)(void *arg);      /* NULL: in memory of the run */
    const struct tile_plan *tile; /* of a tile program; for messages */
    uint64_t begin, cycles;       /* measured: when, and from there to the next */
};

/* A plan in memory, and memory for what it computes. */
struct graph_run {
    const char *path; /* for messages */
    struct plan plan;
    char *file, *arena;
    unsigned cores; /* 0: all of the chip */
    bool separate;  /* a launch for each step */
    bool cold;      /* each step finds L2 empty */
    /* Called behind each step that has a launch of its own, or NULL. */
    enum run_status (*ended)(const struct graph_run *run, const struct plan_step *s);
    struct graph_job *job;
    unsigned launches; /* that it took */
    uint64_t cycles;   /* of these, from call to return */
    char *scratch;     /* of tile programs, one at a time */
    uint64_t scratch_bytes;
    struct graph_room *room; /* where their plans are */
};

/* Makes all steps ready; RUN_OK, or after one line on stderr why not. */
MUST_CHECK enum run_status graph_prepare(struct graph_run *run);
/* Computes them, any number of times; the same. */
MUST_CHECK enum run_status graph_compute(struct graph_run *run);
void graph_free(struct graph_run *run);

/* --- for steps --- */

/* Where a tensor lies. */
void *graph_at(const struct graph_run *run, uint32_t tensor);
/* One line about a step. */
enum run_status graph_refuse(const struct graph_run *run, const struct plan_step *s,
                             const char *why);
/* program.c, copy.c, operator.c: makes a step of that kind ready, as graph_prepare(). */
MUST_CHECK enum run_status graph_program(struct graph_run *run, struct graph_job *job);
MUST_CHECK enum run_status graph_copy(struct graph_run *run, struct graph_job *job);
MUST_CHECK enum run_status graph_operator(struct graph_run *run, struct graph_job *job);
/* program.c: binds programs to the scratch that they share, when all are planned. */
MUST_CHECK enum run_status graph_bind(struct graph_run *run);
void graph_free_programs(struct graph_run *run);

#endif
