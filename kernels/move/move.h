/* SPDX-License-Identifier: MIT
 *
 * y = x, element by element, each array with its own order:
 *
 *   for all i: y[sum of i[d] * y_step[d]] = x[sum of i[d] * x_step[d]],  i[d] < size[d]
 *
 * What transpose, slice, concat, pad, tile, depth_to_space and space_to_depth are made of.
 *
 * Types    any of 1, 2, 4 or 8 bytes: bits are moved.
 * Ranges   all sizes from 1 up; y_step such that no element of y is written twice, x_step
 *          any (0: the same again).
 * Buffers  no alignment wanted (512 bytes is fastest); y must not overlap x.
 * Uses     UB, two queues of each core.
 * Speed    MTE3 stores at its rate where both have runs of 32 bytes and more in common, or
 *          where the Vector can transpose (1, 2, 4 bytes): else a run takes 32 bytes of UB.
 * Errors   ERR_ARG: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 */
#ifndef KERNELS_MOVE_MOVE_H
#define KERNELS_MOVE_MOVE_H

#include "sched/sched.h"

enum { MOVE_DIMS = 17 };

/* Steps in elements, from the first dimension of y to its last. */
struct move_dim {
    uint64_t size, x_step, y_step;
};

struct move {
    const void *x; /* NULL: y is filled with `value` */
    void *y;
    uint32_t esize, ndim;
    struct move_dim dim[MOVE_DIMS];
    uint64_t value;
};

/* n of them, of elements of one size, in one launch on so many cores (0: all of the chip).
 * They write apart and are in no order; what fills has the value of the first that does. */
MUST_CHECK int move(const char *name, const struct move *moves, unsigned n,
                    unsigned cores, struct sched_report *report);

/* The same as one of the steps of a launch (sched/launch.h) on so many cores: a step's kernel
 * is move_kernel(), its argument *of. ERR_ARG, ERR_NOMEM: there is nothing to end. */
struct move_step;
MUST_CHECK int move_begin(struct move_step **of, const struct move *moves, unsigned n,
                          unsigned cores);
void move_kernel(void *of);
void move_end(struct move_step *of);

#endif
