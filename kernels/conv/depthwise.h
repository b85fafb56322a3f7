/* SPDX-License-Identifier: MIT
 *
 * Convolutions of each channel by itself, which conv2d() hands on to here where they fit.
 */
#ifndef KERNELS_CONV_DEPTHWISE_H
#define KERNELS_CONV_DEPTHWISE_H

#include "kernels/conv/conv.h"

enum {
    DEPTHWISE_BLOCK = 16,  /* channels; rows of a fractal, too */
    DEPTHWISE_BATCH = 8,   /* blocks whose commands are issued at once */
    DEPTHWISE_C_SLOTS = 8, /* tiles of blocks in L0C */
};

struct depthwise_plan {
    const struct conv *p;
    uint32_t oh, ow;           /* of y */
    uint32_t kh, shifts;       /* filter rows of a window, and of y that it serves */
    uint32_t reach;            /* rows of windows behind the first of a tile */
    uint32_t group, groups;    /* blocks of channels of a unit */
    uint32_t wide, cols;       /* columns of a tile in L0, and of y */
    uint32_t rows, tiles;      /* of a tile; one above the other of a patch */
    uint32_t across, down;     /* patches of an image */
    uint32_t a_bytes, c_bytes; /* of a slot of L0A, of L0C */
    uint32_t bytes;            /* of a patch in L1 */
    uint32_t units;
};

/* Bytes of a block's weights: a fractal for each tap. */
uint32_t depthwise_diagonals(const struct conv *p);
/* 0, or ERR_LOCAL: no tile holds the filter. */
MUST_CHECK int depthwise_plan(const struct conv *p, struct depthwise_plan *plan);

/* Weights (c, kh, kw) as diagonals. */
MUST_CHECK int depthwise_pack(const struct conv *p, const void *weight, void *packed,
                              struct sched_report *report);
/* The share of the task's block of so many, in a launch of others. */
void depthwise_block(const struct depthwise_plan *plan, unsigned shares);
void depthwise_pack_block(const struct conv *p, const void *weight, void *packed,
                          unsigned shares);

#endif
