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
    uint32_t floor, floor_rate, fixed, rate, next, row, l0a, l0b, feed, mmad, anew, out,
        least, l2, copy_fixed, copy_rate, l1_bytes, l0c_bytes;
};

/* A search: what is planned for, on how many cores, and the best so far. */
struct mm_search {
    const struct mm *mm;
    struct mm_rates r;
    unsigned cores;
    enum mm_strategy strategy;
    uint32_t bits, c0;               /* of the operands' type */
    uint32_t unit_m, unit_n, unit_k; /* in which c and k are cut */
    uint32_t parts, k;               /* of a part */
    uint32_t k_fractals;             /* cycles of the Cube for a fractal of c */
    bool any, found; /* the first one that is found is enough; there is one */
    uint64_t best, first; /* with that: mm_first_of() */
    struct mm_tiling tiling;
};

/* A way to cut a side of c: units and elements of the largest tile, how many there are, and
 * what its panel, all of k, takes at the least to load, in rows or not, and to feed. */
struct mm_side {
    uint32_t units, most, size, n, fractals;
    uint64_t work, in_rows, bytes, feed;
};

/* A candidate: its largest tile and how many there are. */
struct mm_candidate {
    struct mm_tiling t;
    const struct mm_side *a, *b;
    uint32_t rows, cols, tiles, rounds, chunks;
    uint32_t mt, nt, pieces, slices; /* of columns; of all of k */
};

/* A load of a chunk: until it begins if it was waited for, behind another one; cycles of its
 * bytes alone, by the rate of L2 that all have, by both. */
struct mm_load {
    uint32_t start, next;
    uint64_t alone, l2, shared;
};

struct mm_rates mm_rates_of(const struct mm *mm);
/* What the Cube takes for a fractal of each operand. */
uint32_t mm_cube_cycles(const struct mm *mm);
/* That side of c which a, or b, has. */
struct mm_side mm_side_of(const struct mm_search *s, const struct mm_operand *o,
                          uint32_t units);
/* Of a chunk of k, the load of an operand while so many cores load. */
struct mm_load mm_load_of(const struct mm_search *s, const struct mm_candidate *c,
                          const struct mm_operand *o, uint32_t kt, uint32_t sharers);
/* Cycles of a chunk of k in front of one of `next`, 0: of none; *behind: those that are left
 * when the first piece of columns is ready. Until the first of them begins. */
uint64_t mm_products_of(const struct mm_search *s, const struct mm_candidate *c,
                        uint32_t kt, uint32_t next, uint64_t *behind);
uint64_t mm_first_feed(const struct mm_search *s, const struct mm_candidate *c);
/* Of a tile's way out, and of its last piece's. */
uint64_t mm_outs_of(const struct mm_search *s, const struct mm_candidate *c,
                    uint64_t *last);
/* What all that have a tile wait for besides: core.c. */
uint64_t mm_begin_of(const struct mm_search *s, const struct mm_candidate *c,
                     bool script);
uint64_t mm_chain_of(const struct mm_search *s, const struct mm_candidate *c);
uint64_t mm_as_measured(const struct mm_search *s, const struct mm_candidate *c,
                        uint64_t cycles);
/* Cycles of the candidate from the first load to the last tile's way out. */
uint64_t mm_cost(const struct mm_search *s, struct mm_candidate *c);
/* What each of some runs has of the first one, besides: commands are recorded, and loads come from
 * HBM. Of two ways that take as long the one with less of that is taken. The latter alone. */
uint64_t mm_first_of(const struct mm_candidate *c);
uint64_t mm_first_loads(const struct mm_candidate *c);
/* A candidate takes at least so much, with mm_first_of(), whose panels are a and b: what is worse
 * than another is not looked at closer. What is not decided yet is best: chunks of k if there are
 * 0, pieces and slices if they are 1, what stays if both do, rows. */
uint64_t mm_cost_least(const struct mm_search *s, const struct mm_candidate *c);

/* Gives the slots what L1 has; false: too little. */
bool mm_share_l1(const struct mm_search *s, struct mm_candidate *c);
/* Leaves two slots to what streams; false: no less is recorded for that. */
bool mm_fewer_slots(struct mm_candidate *c);
/* Products of chunks that are recorded, each by itself, for their slots and place in a tile. */
uint32_t mm_keys_of(const struct mm_candidate *c);

enum { MM_RUNS = 32 /* of what is planned, the first one with them: some */ };
enum { MM_SPLIT_CORES = 24 /* of the chip that k is cut for */ };

enum mm_wanted {
    MM_CHEAPEST,
    MM_ANY, /* the first one that is found */
};

/* The cheapest tiling of those that take less than `limit`, or any of them. */
struct mm_search mm_search_for(const struct mm *mm, unsigned cores,
                               enum mm_strategy strategy, uint32_t parts, uint64_t limit,
                               enum mm_wanted wanted);
/* Whether k may be cut into parts; into how many, and in *best how on a chip of
 * MM_SPLIT_CORES; *s, for so many cores, becomes one for fewer if they take as long. */
bool mm_may_split(const struct mm *mm);
uint32_t mm_best_parts(const struct mm *mm, struct mm_search *best);
void mm_try_fewer(const struct mm *mm, unsigned cores, struct mm_search *s);
/* Whether what mm_best_parts() found is as good on so many cores, of which *s then says how many
 * are to have a share: more than k was cut for gain nothing from few parts. */
bool mm_fits_more(const struct mm *mm, unsigned cores, struct mm_search *s);

#endif
