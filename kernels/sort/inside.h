/* SPDX-License-Identifier: MIT
 *
 * What a core has while it sorts; see sort.h. Pairs are a value and where it lies in its line,
 * 8 bytes, as VSORT32 makes them, largest first. What is wanted smallest first is brought
 * backwards, sorted largest first, and taken backwards again, so that equal ones keep their
 * order.
 */
#ifndef KERNELS_SORT_INSIDE_H
#define KERNELS_SORT_INSIDE_H

#include "kernels/sort/sort.h"
#include "sched/tque.h"

enum {
    SORT_PAIR = 8,
    SORT_GROUP = 32, /* that VSORT32 sorts */
    SORT_LISTS = 4,  /* that VMRGSORT merges */
    SORT_BLOCK = 32,
};

struct sort_room {
    const struct sort *s;
    uint32_t esize;
    struct tque *in, *values,
        *index;      /* of SORT_CHUNK elements; `in` has a pad behind them */
    uint32_t count;  /* 0, 1, 2, ..: whole numbers of 4 bytes, as are those below */
    uint32_t from;   /* offsets from which keys are gathered */
    uint32_t number; /* their numbers in the line */
    uint32_t to;     /* offsets from which results are gathered */
    uint32_t keys;
    uint32_t pairs[2]; /* SORT_CHUNK of them */
    uint32_t best[2];  /* SORT_CHUNK + SORT_BEST of them */
};

/* to[0 .. n) = first + step * (0, 1, ..) */
void sort_numbers(const struct sort_room *r, uint32_t to, uint32_t n, int32_t first,
                  int32_t step);
/* Sorts n keys, whole groups, each run of `line` of them by itself: where the pairs are. */
uint32_t sort_keys(const struct sort_room *r, uint32_t n, uint32_t line);
/* m elements of a line, from its element `first` on, or backwards from its element n - 1 -
 * first: where their sorted pairs are. */
uint32_t sort_part(const struct sort_room *r, uint64_t line, uint32_t first, uint32_t m);
/* Results `first` to first + n - 1 of a line, from pairs that lie in that order, or
 * backwards. */
void sort_give(const struct sort_room *r, uint64_t line, uint32_t first, uint32_t n,
               uint32_t pairs);

/* runs.c: all of a line by runs in GM. */
void sort_by_runs(const struct sort_room *r, uint64_t line);

#endif
