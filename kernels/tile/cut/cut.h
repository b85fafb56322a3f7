/* SPDX-License-Identifier: MIT
 *
 * A program that no tile holds, as several that run one after the other: stages. Four cuts
 * lead there:
 *  - by reductions: those that depend on no other are a program of their own, the rest
 *    takes their values as parameters;
 *  - by gathers: rows that are found by index are copied together first;
 *  - by products: each is a stage of its own, with what is computed of it elementwise;
 *  - in pieces: a reduction over a dimension that is too long gives a partial result for
 *    each piece of it, a second program makes one of them, the rest is a third.
 * What a stage leaves for another lies in GM. Pieces follow from the sizes alone, so that
 * bytes are the same for any number of cores.
 *
 * Sums of exp(x - max(x, n)) over n are made beside the maximum: each piece by its own,
 * which is brought to the common one when they are put together. Variances are put together
 * from means and squares.
 */
#ifndef KERNELS_TILE_CUT_CUT_H
#define KERNELS_TILE_CUT_CUT_H

#include "kernels/tile/ir/ir.h"

/* What a stage's tensor is: one of the whole program's, or a place in its scratch. */
enum origin_of { OF_PARAM, OF_RESULT, OF_SCRATCH };
struct origin {
    uint8_t of, index;
    uint64_t bytes; /* from its first one */
};

struct stage {
    struct tile_kernel *k;
    bool gather;  /* its one result is a GATHER */
    bool product; /* of two parameters, and what is computed of it at once */
    bool whole;   /* is to be planned as it is, or in other pieces */
    struct origin in[TILE_PARAMS], out[TILE_RESULTS];
};

enum { CUT_STAGES = 12 };
struct cut {
    struct stage stage[CUT_STAGES];
    unsigned n;
    uint64_t scratch; /* bytes */
};

/* Nodes that some result needs. */
void cut_live(const struct tile_kernel *k, bool *live);
/* The dimensions that something is reduced over. */
tile_dims cut_reduced(const struct tile_kernel *k);
/* False: there is nothing to cut in this way, or a stage would have more tensors or
 * operations than a program may. */
bool cut_by_reductions(struct cut *c, const struct tile_kernel *k,
                       struct tile_arena *arena);
/* Each GATHER is a program of its own. */
bool cut_gathers(struct cut *c, const struct tile_kernel *k, struct tile_arena *arena);
/* The first product that some result needs; 0: there is none. */
tile_value cut_first_product(const struct tile_kernel *k);
/* Each product is a program of its own, with what can be computed of it at once: nothing, what
 * is computed element by element, or of whole rows as well. */
enum cut_fuse { FUSE_NOTHING, FUSE_ELEMENTS, FUSE_ROWS };
bool cut_products(struct cut *c, const struct tile_kernel *k, enum cut_fuse fuse,
                  struct tile_arena *arena);
/* One stage: all results, by a value that is there. */
bool cut_behind(struct cut *c, const struct tile_kernel *k, tile_value v,
                struct tile_arena *arena);
/* The same of a program that reduces over one dimension only; a piece has at most so many
 * elements of it. */
bool cut_in_pieces(struct cut *c, const struct tile_kernel *k, uint32_t most,
                   struct tile_arena *arena);
/* How many elements of the dimension that is reduced such a piece may have, to begin with. */
uint32_t cut_longest_piece(const struct tile_kernel *k, unsigned dim);

#endif
