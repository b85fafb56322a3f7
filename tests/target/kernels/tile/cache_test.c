/* SPDX-License-Identifier: MIT
 *
 * Plans that are kept by their sizes, of a kernel that is built in C.
 */
#include <stdlib.h>

#include "hal/pmu.h"
#include "kernels/tile/stages/cache.h"
#include "tests/target/test.h"

static struct tile_kernel *softmax(struct tile_arena *arena)
{
    struct tile_kernel *k = tile_begin(arena, "softmax");
    tile_value x = tile_input(k, "x", TYPE_F32, "m n");
    uint8_t n = tile_dim(k, "n");

    tile_result(k, "y", TYPE_F32, "m n", false);
    x = tile_map2(k, TILE_SUB, x, tile_reduce(k, TILE_MOST, x, n));
    x = tile_map1(k, TILE_EXP, x);
    tile_assign(k, "y", tile_map2(k, TILE_DIV, x, tile_reduce(k, TILE_SUM, x, n)));
    return tile_end(k) == 0 ? k : NULL;
}

TEST(tile_cache, a_shape_is_planned_once)
{
    static struct tile_cache cache = {.make = softmax};
    struct tile_plan *first, *plan;
    struct tile_error error;
    uint64_t took;

    CHECK_OK(tile_cache_plan(&cache, (const uint32_t[]){40, 64}, 1, &first, &error));
    took = hart_clock();
    CHECK_OK(tile_cache_plan(&cache, (const uint32_t[]){40, 64}, 1, &plan, &error));
    took = hart_clock() - took;
    CHECK(plan == first);
    CHECK(took < 2000);
    CHECK_OK(tile_cache_plan(&cache, (const uint32_t[]){64, 40}, 1, &plan, &error));
    CHECK(plan != first);
    for (uint32_t m = 1; m < TILE_CACHE_PLANS; m++) { /* the first makes room */
        CHECK_OK(tile_cache_plan(&cache, (const uint32_t[]){m, 9}, 1, &plan, &error));
    }
    took = hart_clock();
    CHECK_OK(tile_cache_plan(&cache, (const uint32_t[]){40, 64}, 1, &plan, &error));
    CHECK(hart_clock() - took > 100000);
    CHECK_EQ(tile_cache_plan(&cache, (const uint32_t[]){40, 0}, 1, &plan, &error),
             ERR_SHAPE);
    tile_cache_clear(&cache);
}
