/* SPDX-License-Identifier: MIT
 *
 * Plans of a kernel by its sizes, for an operator that is called again and again: the first
 * call of some sizes plans, those behind it find the plan.
 *
 *     static struct tile_cache cache = {.make = softmax};     builds the kernel, see ir.h
 *     err = tile_cache_plan(&cache, (const uint32_t[]){m, n}, cores, &plan, &error);
 *     err = err ? err : tile_run(plan, &call, &report);
 */
#ifndef KERNELS_TILE_STAGES_CACHE_H
#define KERNELS_TILE_STAGES_CACHE_H

#include "kernels/tile/tile.h"

enum { TILE_CACHE_PLANS = 8 };

struct tile_cached {
    uint32_t size[TILE_DIMS];
    unsigned cores;
    uint32_t used; /* when it was asked for last; 0: never */
    struct tile_arena arena;
    struct tile_plan *plan;
};

struct tile_cache {
    /* The kernel in the arena, without sizes, or NULL. */
    struct tile_kernel *(*make)(struct tile_arena *arena);
    struct tile_cached entry[TILE_CACHE_PLANS];
    uint32_t now;
    unsigned n_dims; /* of the kernel */
};

/* The plan for these sizes, in the order in which the kernel names its dimensions; what was
 * asked for longest ago makes room for it. Errors as tile_plan(). The plan is good until
 * TILE_CACHE_PLANS others were asked for. */
MUST_CHECK int tile_cache_plan(struct tile_cache *cache, const uint32_t *size,
                               unsigned cores, struct tile_plan **plan,
                               struct tile_error *error);
/* Gives the memory of all plans back. */
void tile_cache_clear(struct tile_cache *cache);

#endif
