/* SPDX-License-Identifier: MIT
 *
 * What the kernels of embeddings share.
 */
#ifndef KERNELS_EMBEDDING_INSIDE_H
#define KERNELS_EMBEDDING_INSIDE_H

#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/embedding/embedding.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"

enum {
    EMBEDDING_SLOT = 32 << 10,        /* bytes of a buffer */
    EMBEDDING_BATCH = PIPE_DEPTH / 2, /* rows of one, at most */
    EMBEDDING_PIECE = 4096,           /* elements of a row at a time */
};

/* Indices of a gradient by tiles of rows of dw: those of tile i are token[start[i]] to
 * token[start[i + 1] - 1], ascending. */
struct embedding_tiles {
    uint32_t rows, n; /* of a tile; tiles */
    uint32_t *start, *token;
};

/* A launch, as its blocks see it. */
struct embedding_run {
    const struct embedding_grad *p;
    struct embedding_tiles tiles;
};

/* Rows of a tile of each form. */
uint32_t embedding_tile_rows(const struct embedding_grad *p, enum embedding_form form);

static inline uint32_t up32(uint32_t bytes)
{
    return (bytes + MTE_BLOCK - 1) / MTE_BLOCK * MTE_BLOCK;
}

/* Whether an index is out of range; the report then says which. */
bool embedding_wrong_told(const struct embedding_rows *r, struct sched_report *report);

/* Bags [bag, end) of the task's block, as far as that is faster than row by row and all of their
 * rows take part: up to which. */
uint32_t embedding_bags_by_table(const struct embedding_bag *p, uint32_t bag,
                                 uint32_t end);

void embedding_atomic(void *run);
void embedding_sorted(void *run);
void embedding_cube(void *run);

#endif
