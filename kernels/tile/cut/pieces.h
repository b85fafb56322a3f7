/* SPDX-License-Identifier: MIT
 *
 * Private to pieces.c and join.c: a program in pieces of the dimension that is reduced.
 */
#ifndef KERNELS_TILE_CUT_PIECES_H
#define KERNELS_TILE_CUT_PIECES_H

#include "kernels/tile/cut/draft.h"

enum { SEGMENTS = 2, PARTIALS = 16, SCALES = 4 };

/* How partial results are put together. */
enum joining { NOTHING, AS_SUM, AS_MOST, AS_LEAST, AS_PLACE, AS_SPREAD, AS_SCALED };

/* A reduction in pieces. */
struct partial {
    tile_value of;
    enum joining how;
    tile_value x, by; /* what is reduced; AS_SCALED: exp(x - by), by being the greatest */
    uint64_t bytes[SEGMENTS][2]; /* where its results lie in the scratch */
};

/* exp(x - by) / what is done: the parked value of a piece times this. */
struct scale {
    tile_value of;
    uint64_t bytes[SEGMENTS];
};

struct pieces {
    struct cutting c;
    struct segment segment[SEGMENTS];
    unsigned n_segments, n_partials, n_scales;
    struct partial partial[PARTIALS];
    struct scale scale[SCALES];
    bool set[TILE_NODES + 1];     /* reductions that are partial[] */
    bool done[TILE_NODES + 1];    /* once they are put together */
    bool local[TILE_NODES + 1];   /* greatest values that AS_SCALED uses */
    bool level[TILE_NODES + 1];   /* depends on a reduction */
    bool rest[TILE_NODES + 1];    /* what the last stage does not compute */
    const struct partial *parked; /* AS_SCALED whose exp(x - by) is kept; NULL: none is */
    unsigned park;                /* the result in whose place it lies until then */
};

static inline const struct tile_node *node_of(const struct pieces *p, tile_value v)
{
    return &p->c.from->node[v];
}
static inline const struct pieces *pieces_of(const struct draft *d)
{
    return d->arg;
}
/* The greatest of a piece, x where all are -inf: one that exp(x - it) is 0 for. */
tile_value pieces_guarded(struct draft *d, tile_value most);
/* join.c: what the last stage takes, and results that are made here. */
void pieces_join(struct pieces *p);

#endif
