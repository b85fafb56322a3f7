/* SPDX-License-Identifier: MIT
 *
 * Loads of several tiles by way of L1 (bulk.h): every element of every number of tiles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "kernels/tile/tiles/tiles.h"
#include "tests/target/test.h"

enum { ARENA_BYTES = 2 << 20, TILE = 512, MOST = 40 * TILE };

static struct sched_report report;
static int32_t x[MOST], y[MOST], z[MOST];

/* Plans z = x + y of so many elements, in tiles of TILE by a schedule, or as it likes. */
static int plan_sum(struct tile_arena *arena, const char *layout, uint32_t n,
                    unsigned cores, struct tile_plan **plan, struct tile_error *error)
{
    char text[160];
    struct tile_kernel *k;

    snprintf(text, sizeof(text),
             "kernel k(x: s32[n], y: s32[n]) -> z: s32[n]\n z = x + y\n%s%s\n",
             layout ? " schedule layout " : "", layout ? layout : "");
    arena->used = 0;
    k = tile_parse(arena, text, strlen(text), NULL, error);
    return k == NULL                ? ERR_FORMAT
           : tile_set_size(k, 0, n) ? ERR_SHAPE
                                    : tile_plan(plan, k, cores, arena, error);
}

static void check_sums(struct tile_arena *arena, const char *layout, uint32_t n,
                       unsigned cores)
{
    struct tile_error error;
    struct tile_plan *plan;
    unsigned wrong = 0;

    for (uint32_t i = 0; i < MOST; i++) {
        x[i] = (int32_t)(i * 40503u);
        y[i] = (int32_t)(i + n);
        z[i] = -1;
    }
    CHECK_OK(plan_sum(arena, layout, n, cores, &plan, &error));
    CHECK(tiles_of(plan)->way.bulk != 0);
    CHECK_OK(tile_run(plan, &(struct tile_call){{x, y}, {z}}, &report));
    for (uint32_t i = 0; i < MOST; i++) {
        wrong += z[i] != (i < n ? (int32_t)((uint32_t)x[i] + (uint32_t)y[i]) : -1);
    }
    CHECK_EQ(wrong, 0u);
}

/* Whole loads, the last one of fewer tiles, with and without a short one, on some cores. */
TEST(tile_bulk, every_number_of_tiles)
{
    static const char *const layout[] = {"r1c512p512n2fsleb", "r1c512p512n3fsldb",
                                         "r1c512p512n2fslgb"};
    static const uint32_t n[] = {TILE + 1, 4 * TILE, 13 * TILE - 500, 30 * TILE + 7};
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};

    for (unsigned l = 0; l < sizeof(layout) / sizeof(layout[0]); l++) {
        for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
            check_sums(&arena, layout[l], n[i], 1);
            check_sums(&arena, layout[l], n[i], chip_cores());
        }
    }
    free(arena.base);
}

/* What MTE2 limits is planned so; the prediction says by how much that is faster. */
TEST(tile_bulk, large_sums_are_loaded_so)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    struct tile_plan *plan;
    struct tile_error error;
    uint64_t span;

    CHECK_OK(plan_sum(&arena, NULL, 1 << 22, 1, &plan, &error));
    CHECK(tiles_of(plan)->way.bulk != 0);
    span = plan->predicted.span;
    CHECK_OK(plan_sum(&arena, "r1c16384p16384n2fsob", 1 << 22, 1, &plan, &error));
    CHECK(span * 9 < plan->predicted.span * 8);
    free(arena.base);
}

TEST(tile_bulk, more_than_l1_holds_is_refused)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    struct tile_plan *plan;
    struct tile_error error;

    CHECK_EQ(plan_sum(&arena, "r1c8192p8192n2fslmb", 1 << 22, 1, &plan, &error),
             ERR_ARG);
    CHECK(strstr(error.text, "L1 does not hold as many tiles twice") != NULL);
    CHECK_EQ(plan_sum(&arena, "r1c512p512n2fsljb", 1 << 22, 1, &plan, &error), ERR_ARG);
    free(arena.base);
}
