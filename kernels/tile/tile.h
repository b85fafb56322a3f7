/* SPDX-License-Identifier: MIT
 *
 * Tile programs on the machine: a kernel in the intermediate form (ir.h) is planned for
 * its sizes, and the plan is run. kernels/tile/op/tile_op.c makes an operator of a program
 * that is given as text; an operator written in C calls these two itself.
 */
#ifndef KERNELS_TILE_TILE_H
#define KERNELS_TILE_TILE_H

#include <stdio.h>
#include "kernels/tile/plan/plan.h"

/* Of an arena that holds a program, its plan and what the interpreter keeps: a program that
 * wants more is refused, wherever it is planned. */
enum { TILE_ARENA_BYTES = 4 << 20 };

/*
 * Plans a kernel whose sizes are known and whose scalars are given for so many cores (0:
 * what its schedule says, else all of the chip). *plan lives in the arena and keeps what it
 * needs of *k, which must live as long. 0; ERR_ARG, ERR_TYPE, ERR_SHAPE: what the planner
 * cannot do, or a schedule that cannot be done, ERR_LOCAL: no memory of the core holds it,
 * ERR_NOMEM: the arena is full; then *error says why, and where in the source.
 */
MUST_CHECK int tile_plan(struct tile_plan **plan, const struct tile_kernel *k,
                         unsigned cores, struct tile_arena *arena,
                         struct tile_error *error);
/* Runs it; returns as launch() does. A plan may be run any number of times. */
MUST_CHECK int tile_run(const struct tile_plan *plan, const struct tile_call *call,
                        struct sched_report *report);
/* The same as one of the steps of a launch (sched/launch.h) on tile_cores() or more: a step's
 * kernel is tile_kernel(), its argument a tile_step, in memory of the arena (NULL: it is full)
 * and bound as tile_run() binds a call. `scratch` has tile_scratch() bytes, which no other step
 * needs meanwhile. */
struct tile_step;
struct tile_step *tile_step(const struct tile_plan *plan, struct tile_arena *arena);
MUST_CHECK int tile_step_bind(struct tile_step *step, const struct tile_call *call,
                              void *scratch, struct sched_report *report);
void tile_kernel(void *step);
unsigned tile_cores(const struct tile_plan *plan);
uint64_t tile_scratch(const struct tile_plan *plan);
/* Says in the report of a fault which line of the plan's program it was. */
void tile_tell_line(const struct tile_plan *plan, struct sched_report *report);
/* Loops, layout, memory, semaphores, limits, what lost and why: `tile --explain`. */
void tile_explain(const struct tile_plan *plan, FILE *to);
/* `layout ..`, words of a schedule that lead to the same plan without a search, but for products;
 * or of these too, for as many cores; NULL: there are too many. */
const char *tile_schedule(const struct tile_plan *plan, bool products);
/* What the plan takes, as it is predicted. */
struct tile_cycles tile_predicted(const struct tile_plan *plan);

#endif
