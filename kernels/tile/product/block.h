/* SPDX-License-Identifier: MIT
 *
 * Private to block_*.c: a product whose rows are reduced, such as a layer norm of it. A block
 * of rows stays in L1 until the last of its columns has come out of L0C; then the Vector takes
 * whole rows, as a program over rows and columns does, while the Cube is at the next block:
 *
 *     MTE2   chunks of a and b to L1, once for each tile: all rows of a block, some columns
 *     MTE1   slices of them to L0; pieces, which are whole rows, to UB
 *     M, FIX a tile; to L1, cell by cell
 *     V      a piece; MTE3 its results
 *
 * A cell holds as many rows of a tile as a piece has, or BLOCK_ROWS where these are fewer.
 * Cells become free piece by piece and are filled tile by tile, in that order, whatever block
 * they are of: so two blocks share L1 that has room for little more than one.
 */
#ifndef KERNELS_TILE_PRODUCT_BLOCK_H
#define KERNELS_TILE_PRODUCT_BLOCK_H

#include "kernels/tile/product/product.h"

enum {
    BLOCK_ROWS = 16, /* L0C has rows in fractals */
    BLOCK_ROWS_MOST = 128,
    BLOCK_TILES = 16, /* of a block; cells of a piece */
    BLOCK_CELLS = 64,
    BLOCK_GROUPS = BLOCK_ROWS_MOST / BLOCK_ROWS,
    BLOCK_SLICES = 8,       /* of a stretch */
    BLOCK_SLICES_MOST = 64, /* of a tile */
    BLOCK_SLOTS = 2,        /* of L0, of L0C; in L1 as many at the least */
    BLOCK_B_SLOTS = 4,      /* in L1, at most */
    BLOCK_SUM_BYTES = 4     /* of an element in L0C, L1 and UB */
};

/* Semaphores, behind those of the Vector's part. FREE counts empty buffers, FULL filled ones. */
enum {
    BLOCK_A_FREE = PLAN_SEMS,
    BLOCK_A_FULL,
    BLOCK_B_FREE,
    BLOCK_B_FULL,
    BLOCK_L0_FREE,
    BLOCK_L0_FULL,
    BLOCK_C_FREE,
    BLOCK_C_FULL,
    BLOCK_X_FREE, /* cells */
    BLOCK_X_FULL, /* whole blocks */
    BLOCK_BIAS_FULL,
    BLOCK_SEMS_END
};

/* How a product is cut, in elements, and where that lies in L1. */
struct block_shape {
    uint32_t rows, columns; /* of a tile */
    uint32_t chunk, slice;  /* of k in L1, in L0 */
    bool a_stays;           /* a block's rows, all of k */
    uint32_t tiles, chunks; /* of a block; of a tile */
    uint32_t slices, of_stretch,
        stretches; /* of a chunk; chunks of a stretch; of a tile */
    uint32_t cell_rows, cells, cell_bytes;
    uint32_t a_slots, b_slots, a_bytes, b_bytes;
    uint32_t b_at, bias_at, cells_at;
};

/* Chunks whose commands are pushed together: at most half of what MTE1's queue holds. Slots
 * follow from whether the tile is an even one, so only addresses in GM change. */
struct block_stretch {
    struct sequence load_both, load_b, to_l0, mmad; /* both: a and b by turns */
    bool waits, frees; /* slots of a: as the commands are now */
};

/* Commands of a tile; n of `out` 0: there is none such. */
struct block_tile {
    struct block_stretch *stretch;
    struct sequence bias, out;
};

/* What a core has of its own. */
struct block_core {
    uint32_t begin, end;             /* blocks, of all products */
    struct block_tile tile[2][2][2]; /* with fewer rows; with fewer columns; odd */
    struct sequence cells;
};

struct block {
    struct block_shape s;
    uint32_t blocks;     /* of one product */
    uint32_t piece;      /* rows */
    enum type bias_type; /* in GM and L1 */
    struct block_core *core;
};

/* Chunks of a stretch; rows of a block, which is the n-th of a product; columns of a tile; k of
 * a chunk. */
static inline uint32_t block_chunks(const struct block_shape *s, uint32_t stretch)
{
    uint32_t left = s->chunks - stretch * s->of_stretch;

    return left < s->of_stretch ? left : s->of_stretch;
}

static inline uint32_t block_rows(const struct product *p, uint32_t n)
{
    uint32_t rows = p->block->s.rows, left = p->mm.shape.m - n * rows;

    return left < rows ? left : rows;
}

static inline uint32_t block_columns(const struct product *p, uint32_t tile)
{
    uint32_t columns = p->block->s.columns, left = p->mm.shape.n - tile * columns;

    return left < columns ? left : columns;
}

static inline uint32_t block_k(const struct product *p, uint32_t chunk)
{
    uint32_t k = p->block->s.chunk, left = p->mm.shape.k - chunk * k;

    return left < k ? left : k;
}

/* block_cost.c: what a piece of the Vector's takes, and all of a core's blocks with that. */
struct block_flow {
    const struct product *p;
    const struct block_shape *s;
    uint32_t piece, ring;
    uint64_t v, out; /* cycles of a piece */
    uint64_t blocks; /* of a core */
};
uint64_t block_span(const struct block_flow *f);
/* What it would take at the least if the product went to GM and came back. */
uint64_t block_spilled(const struct block_flow *f);

/* block_cube.c: commands of each core. */
int block_commands(const struct tiles_plan *t, struct block_core *core,
                   struct tile_arena *arena);
/* block_play.c: the share of the task's block. */
void block_play(const struct tiles_plan *t);

#endif
