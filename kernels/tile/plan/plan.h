/* SPDX-License-Identifier: MIT
 *
 * A plan: stages that run one behind the other, each of one kind. A kind is two tables of
 * functions in a folder of its own, what can be asked of it and how it runs:
 *
 *     tiles/        tiles_kind, tiles_run      elements and reductions, tile by tile on the Vector
 *     gather/       gather_kind, gather_run    rows copied by their indices
 *     product/      product_kind, product_run  dot(), and what is computed of it
 *     convolution/  windows_kind, windows_run  conv(), and what is computed of it
 *     attention/    loop_kind, loop_run        loops over tiles with two products
 *     softmax/      rows_kind, rows_run        softmax of long rows, by way of L1 or GM
 *
 * stages/stages.c makes the stages, stages/run.c runs them; both go through these tables. A kind
 * extends struct tile_plan, which is the first member of its own structure.
 */
#ifndef KERNELS_TILE_PLAN_PLAN_H
#define KERNELS_TILE_PLAN_PLAN_H

#include <stdio.h>

#include "kernels/tile/cost/cost.h"
#include "kernels/tile/cut/cut.h"
#include "sched/sched.h"

enum { PLAN_STAGES = 32 };

/* Where the tensors lie, in the order of the kernel's parameters and results. Results may
 * be in the place of a parameter of the same type and dimensions, else nothing overlaps. */
struct tile_call {
    const void *in[TILE_PARAMS];
    void *out[TILE_RESULTS];
};

struct tile_plan;

/* What can be asked of stages of a kind, on the host of tools/graph as well. NULL: nothing. */
struct stage_kind {
    /* Cycles of the hart for its stage_run's prepare(), about. */
    uint64_t (*prepare_cycles)(const struct tile_plan *t);
    /* A tile of a result is stored more than once, or before all is read. */
    bool (*stores_again)(const struct tile_plan *t);
    /* What it is, in words. */
    void (*explain)(const struct tile_plan *t, FILE *to);
};

/* How stages of a kind run. NULL: there is nothing to do. */
struct stage_run {
    const struct stage_kind *kind;
    /* Takes the addresses of a call. 0, or an error with report->text filled in. */
    int (*bind)(const struct tile_plan *t, const struct tile_call *call,
                struct sched_report *report);
    /* On each core, the share of the task's block: looks at its commands, while those of the
     * stage before are running; issues them; waits for their end. */
    void (*prepare)(const struct tile_plan *t);
    void (*play)(const struct tile_plan *t);
    void (*finish)(const struct tile_plan *t);
};

/* A stage, and the whole plan as its first one. */
struct tile_plan {
    const struct stage_kind *kind;
    const struct tile_kernel *k; /* whose parameters and results are the stage's */
    const char *name;
    unsigned cores;
    struct tile_cycles predicted;
    uint64_t planning; /* instructions */
    const char *why;   /* of the first: why there are several; NULL: there are not */
    struct origin in[TILE_PARAMS], out[TILE_RESULTS];
    struct tile_plan *next; /* that runs behind it */
    struct tile_plan *operand; /* that computes an operand within this stage; or NULL */
    uint64_t scratch;          /* of the first: bytes that all share */
    const char *schedule;      /* of the first: leads to the same plan; NULL: too long */
    const char *whole;         /* the same with words of products */
};

/* plan.c: tensors are those of its own program, until it is a stage of another. */
void plan_begin(struct tile_plan *t);
/* From a stage to the next, about; what prepare() takes longer than the stage before (NULL:
 * there is none), whose commands run meanwhile. */
enum { PLAN_STEP_CYCLES = 1650 };
uint64_t plan_look_cycles(const struct tile_plan *before, const struct tile_plan *t);
/* What plans are made in: of the heap. If it had nothing since plan_fed() was last asked, that
 * is ERR_NOMEM. */
void *plan_heap(void *block);
int plan_fed(int err, struct tile_error *error);
/* For --explain: cycles of a stage; results that are added to what is there. */
void plan_explain_cycles(const struct tile_plan *t, FILE *to);
void plan_explain_added(const struct tile_kernel *k, FILE *to);

#endif
