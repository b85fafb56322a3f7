/* SPDX-License-Identifier: MIT
 *
 * Plans by sizes; see cache.h.
 */
#include "kernels/tile/stages/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/hint.h"

static int make_plan(struct tile_cache *cache, struct tile_cached *e,
                     const uint32_t *size, unsigned cores, struct tile_error *error)
{
    struct tile_kernel *k = cache->make(&e->arena);

    if (k == NULL) {
        snprintf(error->text, sizeof(error->text), "no kernel");
        return ERR_NOMEM;
    }
    for (unsigned d = 0; d < k->n_dims; d++) {
        if (tile_set_size(k, (uint8_t)d, size[d]) != 0) {
            *error = k->error;
            return ERR_SHAPE;
        }
        e->size[d] = size[d];
    }
    cache->n_dims = k->n_dims;
    e->cores = cores;
    return tile_plan(&e->plan, k, cores, &e->arena, error);
}

int tile_cache_plan(struct tile_cache *cache, const uint32_t *size, unsigned cores,
                    struct tile_plan **plan, struct tile_error *error)
{
    struct tile_cached *oldest = &cache->entry[0];
    int err = ERR_NOMEM;

    *error = (struct tile_error){0};
    for (unsigned i = 0; i < TILE_CACHE_PLANS; i++) {
        struct tile_cached *e = &cache->entry[i];
        if (e->used && e->cores == cores &&
            memcmp(e->size, size, cache->n_dims * sizeof(*size)) == 0) {
            e->used = ++cache->now;
            *plan = e->plan;
            return 0;
        }
        oldest = e->used < oldest->used ? e : oldest;
    }
    oldest->used = 0;
    free(oldest->arena.base);
    oldest->arena = (struct tile_arena){malloc(TILE_ARENA_BYTES), TILE_ARENA_BYTES, 0};
    if (oldest->arena.base) {
        hint_kept(oldest->arena.base, TILE_ARENA_BYTES);
        err = make_plan(cache, oldest, size, cores, error);
    }
    oldest->used = err ? 0 : ++cache->now;
    *plan = oldest->plan;
    return err;
}

void tile_cache_clear(struct tile_cache *cache)
{
    for (unsigned i = 0; i < TILE_CACHE_PLANS; i++) {
        free(cache->entry[i].arena.base);
        cache->entry[i] = (struct tile_cached){0};
    }
}
