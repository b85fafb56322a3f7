/* SPDX-License-Identifier: MIT
 *
 * What product.c and fill.c go on with: a core's commands for pieces of the product, and how
 * far they are. Too much for a task's stack.
 */
#ifndef KERNELS_MLA_PROLOG_PRODUCT_H
#define KERNELS_MLA_PROLOG_PRODUCT_H

#include "kernels/mla_prolog/tiles.h"

/* Brings a, b and the bias to L1, from the task that multiplies them: what is behind `k0`,
 * after so many pieces. */
struct filling {
    unsigned a, b, bias; /* slots, counted up without end */
    uint32_t m0, n0, k0;
    uint64_t pieces;
    struct reload reload;
    uint32_t columns; /* that the copies of whole chunks were built for */
    union cmd copy_b[PIECE];
};

/* Chunks that are issued together: the loads and the Mmads of each, in the order of their
 * pipes. Built for one size of stripe and chunk, then only addresses change, and what
 * the first and the last chunk hand over. */
struct piece {
    struct shape { /* that it was built for: rows of the block, columns of the stripe, */
        _Alignas(8) uint16_t mt; /* k of a chunk */
        uint16_t nt, kl;
        /* Bias and first chunk are a pair; the place of the last chunk, if it and the one
         * before are a pair, or 0. */
        uint8_t first_pair, last_pair;
    } shape;
    uint64_t placed; /* place_key() that its addresses are for */
    unsigned ends;   /* of hand_over_a() */
    uint8_t load_b[1 + PIECE][2],
        mmad_at[1 + PIECE][2]; /* of a place's tiles: lay_out() */
    union cmd load[(1 + PIECE) * 3], mmad[(1 + PIECE) * 2];
};

enum { FILL_AHEAD = 2 };

struct step {
    uint32_t m0, n0;
    uint32_t mt, nt;       /* rows of the block, columns of the stripe */
    unsigned tiles;        /* of the stripe: 1 or 2 */
    unsigned a, b, bias;   /* slots, counted up without end */
    unsigned l0a, l0b, c;  /* likewise */
    struct piece whole[4]; /* the bias and PIECE chunks of B_K; see piece_for() */
    struct piece tail[2];  /* likewise, of a stripe that is not whole */
    struct piece rest;     /* the bias and a chunk that is shorter */
    struct filling fill;
    struct reload reload;
    bool half;               /* the second half of the stripe is next */
    uint64_t pieces, halves; /* that were multiplied */
};

/* fill.c */
void fill_begin(const struct share *s, struct filling *f);
/* Until it has brought so many, or all. */
void fill_until(const struct share *s, struct filling *f, uint64_t pieces);

#endif
