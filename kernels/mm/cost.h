/* SPDX-License-Identifier: MIT
 *
 * What a way to cut a product takes, by the rates of the chip that runs
 * (hal/contract/profile.md).
 */
#ifndef KERNELS_MM_COST_H
#define KERNELS_MM_COST_H

#include "kernels/mm/mm.h"

/* What the chip costs. */
struct mm_rates {
    uint32_t floor, floor_rate, fixed, rate, next, row, l0a, l0b, feed, mmad, out, least,
        l2, copy_fixed, copy_rate, l1_bytes, l0c_bytes;
};

/* A search: what is planned for, on how many cores, and the best so far. */
struct mm_search {
    const struct mm *mm;
    struct mm_rates r;
    unsigned cores;
    enum mm_strategy strategy;
    uint32_t parts, k; /* of a part */
    bool found;
    uint64_t best;
    struct mm_tiling tiling;
};

/* A candidate: its largest tile and how many there are. */
struct mm_candidate {
    struct mm_tiling t;
    uint32_t rows, cols, tiles, rounds, chunks;
    uint32_t mt, nt;
    uint64_t product, feed, out,
        half_out; /* cycles of a chunk on M, MTE1; of a tile, of its last piece on FIX */
    uint64_t a_bytes, b_bytes;                 /* of a chunk */
    uint64_t a_work, b_work;                   /* its cycles, without a start: */
    uint64_t a_start, b_start, a_next, b_next; /* of one waited for, behind another */
    uint64_t first;                            /* until the Cube begins */
};

struct mm_rates mm_rates_of_the_chip(void);
/* Cycles of the candidate from the first load to the last tile's way out; works out all that
 * it has from `product` on. */
uint64_t mm_cost(const struct mm_search *s, struct mm_candidate *c);

#endif
