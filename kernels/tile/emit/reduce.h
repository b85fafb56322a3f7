/* SPDX-License-Identifier: MIT
 *
 * Private to reduce.c and reduce_f16.c: a reduction along the rows of a tile.
 */
#ifndef KERNELS_TILE_EMIT_REDUCE_H
#define KERNELS_TILE_EMIT_REDUCE_H

#include "hal/vector_reduce.h"
#include "kernels/tile/emit/inside.h"

enum {
    ESIZE = 4,
    PER_BLOCK = BLOCK / ESIZE,
    PER_REPEAT = REPEAT_BYTES / ESIZE,
    EIGHT = VEC_BLOCKS, /* rows that a repeat takes together */
};

struct reduction {
    enum op group, pair, whole; /* of blocks to elements; of two elements; of repeats */
    uint8_t x, dst;
    uint32_t rows, cols, row; /* row: bytes from one to the next */
};

/* What the order of additions depends on, for the signature of a way. */
enum { BY_ROWS = 1, ROW_BY_ROW, BY_PAIRS, RUNNING, BY_BLOCKS };
void reduce_sign(struct emit *e, uint32_t how);
/* In F32, the fastest way; false: there is none. */
bool reduce_rows(struct emit *e, const struct reduction *r);
/* Of a node in F16. */
bool reduce_f16(struct emit *e, const struct reduction *r, uint16_t node);

#endif
