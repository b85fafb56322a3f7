/* SPDX-License-Identifier: MIT
 *
 * What a program takes that runs once, as a step of a plan does.
 */
#ifndef GRAPH_COLD_H
#define GRAPH_COLD_H

#include <stdint.h>

struct tile_plan;

/* What the planner does not know of: bytes that are not in L2 yet, and cycles of tensors that begin
 * between two of its lines. */
struct cold_misses {
    uint64_t bytes, unaligned;
};

/* What the hart has kept of products. */
struct cold_kept {
    uint64_t of;   /* the one whose commands are still there, 0: none */
    uint64_t room; /* cycles more where no memory for them is there yet */
};

/* Cycles of a step of cores that stay, from the end of the step before, with such misses.
 * kept->of: what is there before it; then *kept is what is there behind it. */
uint64_t cold_cycles(const struct tile_plan *plan, unsigned cores,
                     const struct cold_misses *misses, struct cold_kept *kept);

/* The pipe that has most to do, for so many cycles. */
const char *cold_busiest(const struct tile_plan *plan, uint64_t *cycles);

/* Sizes of a product. */
struct cold_product {
    uint32_t m, n, k;
};
/* Sizes of its products that have words in a schedule, in order, up to `most`: how many. */
unsigned cold_products(const struct tile_plan *plan, struct cold_product *shape,
                       unsigned most);

#endif
