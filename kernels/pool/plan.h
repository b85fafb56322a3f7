/* SPDX-License-Identifier: MIT
 *
 * How a pooling is cut; see pool.c. A unit is a row of y, or a part of it: columns of windows
 * that UB holds the pixels of, and as many channels as make a row of x a buffer.
 */
#ifndef KERNELS_POOL_PLAN_H
#define KERNELS_POOL_PLAN_H

#include "kernels/pool/pool.h"

enum {
    POOL_BLOCK = 32,
    POOL_ROW = 16 << 10, /* bytes of a row of x */
    POOL_SLACK = 8,      /* blocks, or more, behind a row that commands may touch */
    POOL_REPEATS = 255,  /* of a command */
};
_Static_assert((POOL_PIXELS + POOL_SLACK) * POOL_BLOCK <= POOL_ROW,
               "a block of each pixel");

struct pool_plan {
    const struct pool *p;
    uint32_t oh, ow, esize;
    uint32_t cols, across;     /* of y in a unit; units beside each other */
    uint32_t blocks, channels; /* of a pixel, in blocks of x's type */
    uint32_t chunks;           /* of channels */
    uint32_t wide;             /* pixels of a row in UB */
    uint32_t sum_blocks;       /* of a pixel where it is summed */
    enum type sum;             /* type of that */
    uint64_t units;
};
struct pool_plan pool_plan(const struct pool *p);

struct pool_unit {
    uint32_t image, channel, channels, col, cols, row;
    uint32_t h, rows;        /* the first row of x that is there, and how many */
    uint32_t from, w, count; /* pixel of the buffer, of x, and how many are there */
};
struct pool_unit pool_unit(const struct pool_plan *l, uint64_t number);

/* How many commands the hart issues for the largest of windows, which mostly limits it. */
uint64_t pool_commands(const struct pool_plan *l);

#endif
