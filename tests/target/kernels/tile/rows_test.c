/* SPDX-License-Identifier: MIT
 *
 * Softmax along long rows, which on a2 goes through L1: kernels/tile/softmax/rows.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/data.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

#define SOFTMAX                                                                          \
    "kernel softmax(x: f32[m, n]) -> y: f32[m, n]\n"                                     \
    " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n"

enum {
    ARENA_BYTES = 4 << 20,
    ROWS = 67,
    COLUMNS = 8192,
    BYTES = ROWS * COLUMNS * 4,
    FAR_ROWS = 8,
    FAR_COLUMNS = 77328, /* whose last chunk has a piece that is no whole unit */
    FAR_BYTES = FAR_ROWS * FAR_COLUMNS * 4,
};

TEST_LONG(tile_rows, softmax)
{
    CHECK_ALL(SOFTMAX, {0, 66, 8192, 0}, {0, 32, 15360, 0}, {0, 13, 40960, 0},
              {0, 8, 65536, 0}, {0, 1, 1000000, 0}, {0, 7, 99856, 0});
}

static void run(void *y, const void *x, uint32_t rows, uint32_t columns, unsigned cores)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    static struct sched_report report;
    struct tile_error error;
    struct tile_plan *plan;
    struct tile_kernel *k = tile_parse(&arena, SOFTMAX, strlen(SOFTMAX), NULL, &error);

    CHECK_OK(tile_set_size(k, 0, rows));
    CHECK_OK(tile_set_size(k, 1, columns));
    CHECK_OK(tile_plan(&plan, k, cores, &arena, &error));
    CHECK_OK(tile_run(plan, &(struct tile_call){.in = {x}, .out = {y}}, &report));
    free(arena.base);
}

/* A row against libm. */
static bool is_right(const float *y, const float *x, unsigned columns)
{
    double most = x[0], sum = 0;
    bool right = true;

    for (unsigned i = 0; i < columns; i++) {
        most = x[i] > most ? x[i] : most;
    }
    for (unsigned i = 0; i < columns; i++) {
        sum += exp(x[i] - most);
    }
    for (unsigned i = 0; i < columns; i++) {
        double want = exp(x[i] - most) / sum;
        right = right && fabs(y[i] - want) <= 1e-6 * want;
    }
    return right;
}

/* The same bytes by any of n numbers of cores, as far as there are so many. */
static bool is_same_by(const unsigned *cores, unsigned n, const float *one,
                       const float *x, uint32_t rows, uint32_t columns)
{
    size_t bytes = (size_t)rows * columns * sizeof(*one);
    float *some = malloc(bytes);
    bool same = true;

    for (unsigned i = 0; i < n && same; i++) {
        if (cores[i] <= chip_cores()) {
            run(some, x, rows, columns, cores[i]);
            same = memcmp(one, some, bytes) == 0;
        }
    }
    free(some);
    return same;
}

/* Rows without a number that is the greatest, or whose greatest is infinite, come to NaN, and
 * no other row does; all with the same bytes whoever computes them. Rows are chunks, and the
 * last group has fewer. */
TEST(tile_rows, any_number_of_cores)
{
    static const unsigned cores[] = {2, 7, 12, 32}; /* groups of 4, 2, 1 */
    float *x = data_make("test", TYPE_F32, ROWS * COLUMNS, 1);
    float *one = malloc(BYTES);

    x[3 * COLUMNS + 17] = NAN;
    x[5 * COLUMNS + 8000] = INFINITY;
    for (unsigned i = 0; i < COLUMNS; i++) {
        x[66 * COLUMNS + i] = -INFINITY;
        x[7 * COLUMNS + i] = i % 2 ? -INFINITY : 3e38F;
    }
    run(one, x, ROWS, COLUMNS, 1);
    for (unsigned r = 0; r < ROWS; r++) {
        bool nan = r == 3 || r == 5 || r == 66;
        CHECK(isnan(one[r * COLUMNS]) == nan && isnan(one[r * COLUMNS + 8191]) == nan);
    }
    CHECK_EQ(one[7 * COLUMNS] == 1.0F / (COLUMNS / 2) && one[7 * COLUMNS + 1] == 0, 1);
    CHECK(is_right(one, x, COLUMNS) &&
          is_right(one + 65 * COLUMNS, x + 65 * COLUMNS, COLUMNS));
    CHECK(is_same_by(cores, sizeof(cores) / sizeof(cores[0]), one, x, ROWS, COLUMNS));
    free(x);
    free(one);
}

/* Rows that L1 does not hold. In some of them what has no number, what is infinite or what is
 * nothing beside the others is all of a chunk, or in one. */
TEST(tile_rows, longer_than_l1)
{
    static const unsigned cores[] = {7, 32};
    float *x = data_make("test", TYPE_F32, FAR_ROWS * FAR_COLUMNS, 1);
    float *one = malloc(FAR_BYTES);

    x[1 * FAR_COLUMNS + 17] = NAN;
    x[2 * FAR_COLUMNS + 70000] = INFINITY;
    for (unsigned i = 0; i < FAR_COLUMNS; i++) {
        x[3 * FAR_COLUMNS + i] = -INFINITY;
        x[4 * FAR_COLUMNS + i] = i < 40000 ? -INFINITY : i % 2 ? -INFINITY : 3e38F;
        x[5 * FAR_COLUMNS + i] -= i < 40000 ? 60 : 0;
    }
    run(one, x, FAR_ROWS, FAR_COLUMNS, 1);
    for (unsigned r = 0; r < FAR_ROWS; r++) {
        const float *y = one + r * FAR_COLUMNS;
        bool nan = r >= 1 && r <= 3;
        CHECK(isnan(y[0]) == nan && isnan(y[FAR_COLUMNS - 1]) == nan);
    }
    CHECK(one[4 * FAR_COLUMNS] == 0 && one[4 * FAR_COLUMNS + 40001] == 0);
    CHECK(one[4 * FAR_COLUMNS + 40000] == 1.0F / ((FAR_COLUMNS - 40000) / 2));
    CHECK(is_right(one, x, FAR_COLUMNS));
    CHECK(is_right(one + 5 * FAR_COLUMNS, x + 5 * FAR_COLUMNS, FAR_COLUMNS));
    CHECK(is_same_by(cores, sizeof(cores) / sizeof(cores[0]), one, x, FAR_ROWS,
                     FAR_COLUMNS));
    free(x);
    free(one);
}
