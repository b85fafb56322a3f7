/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan on the machine.
 */
#ifndef KERNELS_GRAPH_RUN_H
#define KERNELS_GRAPH_RUN_H

#include "hal/host.h"
#include "kernels/graph/plan.h"
#include "sched/sched.h"

/* A plan in memory, and memory for what it computes. */
struct graph_run {
    const char *path; /* for messages */
    struct plan plan;
    char *file, *arena;
    unsigned cores; /* 0: all of the chip */
};

/* Where a tensor lies. */
void *graph_at(const struct graph_run *run, uint32_t tensor);
/* Computes a step, in a launch of its own; RUN_OK, or after one line on stderr why not. */
MUST_CHECK enum run_status graph_step(struct graph_run *run, uint32_t step);

/* copy.c: a step of copies. As launch(); ERR_FORMAT: its text, ERR_NOMEM. */
MUST_CHECK int graph_copy(const struct graph_run *run, const struct plan_step *s,
                          struct sched_report *report);

#endif
