/* SPDX-License-Identifier: MIT
 *
 * Rows by index (places.h), r over all places:
 *
 *   gather:   y[r] = x[at(r)]
 *   scatter:  y = base; then, r ascending, y[at(r)] = y[at(r)] op x[r]
 *
 * What gather, gather_elements, gather_nd, scatter_elements and scatter_nd are made of.
 *
 * Types    gather, and scatter with ROWS_SET: any, bits are moved. ROWS_ADD, _MAX, _MIN: F32,
 *          F16, S32, S16, S8; ROWS_MUL: F32, F16, S32, S16.
 * Numbers  one rounding to nearest even an operation, integers wrap around; of two equal places
 *          the later row comes later, whatever the number of cores. _MAX, _MIN: NaN if one
 *          is, -0 below +0.
 * Ranges   rows of 1 byte and more, scatter: that are whole elements and lie at multiples of
 *          their size; indices in range: places_wrong().
 * Buffers  no alignment wanted (512 bytes is fastest); y must not overlap x, base, indices.
 * Uses     UB, queues of each core.
 * Speed    The hart reads indices and computes places. A gathered row costs a command of
 *          MTE2, a scattered one of MTE3: on a2 192 and 127 cycles besides its bytes. ROWS_MUL
 *          waits for each row to be stored before the next one, about 1000 cycles. Each
 *          core of a scatter has its part of y and looks at all indices.
 * Errors   ERR_ARG: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 */
#ifndef KERNELS_INDEX_ROWS_H
#define KERNELS_INDEX_ROWS_H

#include "kernels/index/places.h"
#include "sched/sched.h"

enum rows_op { ROWS_SET, ROWS_ADD, ROWS_MUL, ROWS_MAX, ROWS_MIN };

struct rows {
    const void *x;
    void *y;
    uint64_t row_bytes;
    struct places places;
    unsigned cores; /* 0: all of the chip */
    /* Of a scatter: */
    const void *base; /* y_rows of them, as y */
    uint64_t y_rows;
    enum rows_op op;
    enum type type;
};

/* Whether elements of a type can be scattered so. */
bool rows_can(enum rows_op op, enum type type);
MUST_CHECK int rows_gather(const char *name, const struct rows *r,
                           struct sched_report *report);
MUST_CHECK int rows_scatter(const char *name, const struct rows *r,
                            struct sched_report *report);

#endif
