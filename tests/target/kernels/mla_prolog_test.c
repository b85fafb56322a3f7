/* SPDX-License-Identifier: MIT
 *
 * mla_prolog, fused and in three launches, against its definition in double precision:
 * every element of small results, whole rows of larger ones. What lies around out must
 * stay as it was. That no semaphore is left behind, the runner looks at after each test.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/lib/f16.h"
#include "kernels/mla_prolog/mla_prolog.h"
#include "tests/target/test.h"

enum { GUARD = 64, PATTERN = 0xa5 };

/* Of the reference, a case. */
#define PRODUCTS (test_long ? 600000 : 60000)

static struct mla_prolog p; /* what the cases below change */
static struct sched_report report;
static uint16_t *room[2]; /* of out, with GUARD bytes on both sides */

static uint16_t *f16_data(uint64_t n, uint32_t seed, float scale)
{
    uint16_t *data = malloc(n * 2);

    for (uint64_t i = 0; data && i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = f32_to_f16(((float)(seed >> 8) / (1 << 23) - 1) * scale);
    }
    return data;
}

static void begin(uint32_t m, uint32_t n, uint32_t k)
{
    size_t bytes = (size_t)m * n * 2 + 2 * GUARD;

    p = (struct mla_prolog){.m = m, .n = n, .k = k};
    p.a = f16_data((uint64_t)m * k, 1, 1);
    p.b = f16_data((uint64_t)k * n, 2, 1);
    p.bias = f16_data(n, 3, 2);
    p.x = malloc(mla_work_elements(&p) * 4);
    p.y = malloc(mla_work_elements(&p) * 4);
    for (unsigned i = 0; i < 2; i++) {
        room[i] = malloc(bytes);
        CHECK(room[i] != NULL);
        memset(room[i], PATTERN, bytes);
    }
    CHECK(p.a && p.b && p.bias && p.x && p.y);
    memset(p.x, 0xff, mla_work_elements(&p) * 4); /* NaN in rows that there are not */
    memset(p.y, 0xff, mla_work_elements(&p) * 4);
}

static void end(void)
{
    free((void *)p.a);
    free((void *)p.b);
    free((void *)p.bias);
    free(p.x);
    free(p.y);
    free(room[0]);
    free(room[1]);
}

static void run_both(void)
{
    p.out = room[0] + GUARD / 2;
    CHECK_OK(mla_fused(&p, &report));
    p.out = room[1] + GUARD / 2;
    CHECK_OK(mla_product(&p, &report));
    CHECK_OK(mla_layernorm(&p, &report));
    CHECK_OK(mla_gelu(&p, &report));
}

static void check_guards(void)
{
    size_t bytes = (size_t)p.m * p.n * 2;

    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *from = (const uint8_t *)room[i];
        for (size_t j = 0; j < GUARD; j++) {
            CHECK_EQ(from[j], PATTERN);
            CHECK_EQ(from[GUARD + bytes + j], PATTERN);
        }
    }
}

/* One of the two results against a row of the definition. */
static void check_row(const uint16_t *out, uint32_t row, const double *want,
                      const double *bound)
{
    for (uint32_t j = 0; j < p.n; j++) {
        double got = (double)f16_to_f32(out[(uint64_t)row * p.n + j]);
        if (!(fabs(got - want[j]) <= bound[j])) {
            CHECK_EQ(row, UINT32_MAX); /* says which */
            CHECK_EQ(j, UINT32_MAX);
        }
    }
}

/* Runs p and compares as many rows as are cheap, at least the first and the last. */
static void check_case(void)
{
    double *want = malloc((uint64_t)p.n * 2 * sizeof(*want));
    uint64_t rows = PRODUCTS / ((uint64_t)p.n * p.k) + 2;

    rows = rows < p.m ? rows : p.m;
    run_both();
    if (!test_failed()) {
        check_guards();
    }
    for (uint64_t i = 0; want && i < rows && !test_failed(); i++) {
        uint32_t row = rows == 1 ? 0 : (uint32_t)(i * (p.m - 1) / (rows - 1));
        mla_ref_row(&p, row, want, want + p.n);
        check_row(room[0] + GUARD / 2, row, want, want + p.n);
        check_row(room[1] + GUARD / 2, row, want, want + p.n);
    }
    free(want);
    CHECK(want != NULL);
}

static void check_shape(uint32_t m, uint32_t n, uint32_t k)
{
    begin(m, n, k);
    if (!test_failed()) {
        check_case();
    }
    end();
}

static void check_shapes(const uint32_t (*shapes)[3], unsigned n)
{
    for (unsigned i = 0; i < n && !test_failed(); i++) {
        check_shape(shapes[i][0], shapes[i][1], shapes[i][2]);
        if (test_failed()) {
            CHECK_EQ(shapes[i][0], 0u); /* says which */
            CHECK_EQ(shapes[i][1], 0u);
            CHECK_EQ(shapes[i][2], 0u);
        }
    }
}

/* Every size on either side of a fractal, a tile, a stripe and a block. */
TEST_SHAPES(mla_prolog, small_shapes)
{
    static const uint32_t shapes[][3] = {
        {1, 1, 1},     {1, 2, 300},   {2, 1, 15},    {3, 3, 16},     {15, 17, 31},
        {16, 16, 16},  {17, 15, 33},  {31, 33, 2},   {63, 127, 127}, {64, 128, 128},
        {65, 129, 40}, {128, 63, 17}, {129, 65, 20}, {130, 255, 9},  {70, 256, 129},
        {1, 257, 65},  {66, 384, 12}, {200, 385, 3}, {33, 400, 256},
    };

    check_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]));
}

/* k beyond a chunk of b, a slot of a, a piece, and a no longer staying in L1. */
TEST_SHAPES(mla_prolog, any_k)
{
    static const uint32_t shapes[][3] = {
        {65, 130, 255}, {65, 130, 257},   {65, 257, 511},  {65, 130, 513},
        {9, 300, 640},  {70, 260, 1023},  {70, 260, 1024}, {70, 260, 1025},
        {65, 40, 1281}, {129, 130, 2100},
    };

    check_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]));
}

/* Blocks that just fit into L1, that do not, and whose x does not stay there for
 * layernorm either. */
TEST_SHAPES(mla_prolog, any_n)
{
    static const uint32_t shapes[][3] = {
        {130, 768, 20},   {193, 1000, 64}, {193, 1024, 20},
        {193, 1025, 20},  {130, 1152, 7},  {130, 1300, 65},
        {129, 1792, 130}, {129, 1793, 5},  {70, 2500, 3},
    };

    check_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]));
}

/* The bias no longer stays in L1; fused then needs x. */
TEST_SHAPES(mla_prolog, long_rows)
{
    check_shape(2, 8192, 1);
    check_shape(65, 8200, 17);
}

TEST_SHAPES(mla_prolog, many_blocks)
{
    check_shape(600, 520, 96);
    check_shape(450, 1024, 128);
}

TEST(mla_prolog, any_number_of_cores)
{
    begin(300, 300, 70);
    if (!test_failed()) {
        for (p.cores = 1; p.cores <= chip_cores() && p.cores <= 4; p.cores++) {
            check_case();
        }
    }
    end();
}

TEST(mla_prolog, operands_at_any_address)
{
    begin(67, 131, 45);
    for (unsigned shift = 1; !test_failed() && shift < 16; shift += 5) {
        p.m = 66;
        p.a += shift;
        p.b += shift;
        p.bias += shift;
        p.n = 131 - 16; /* so that shifted operands end where they did */
        p.k = 44;
        check_case();
        p.a -= shift;
        p.b -= shift;
        p.bias -= shift;
        memset(room[0], PATTERN, (size_t)67 * 131 * 2 + 2 * GUARD);
        memset(room[1], PATTERN, (size_t)67 * 131 * 2 + 2 * GUARD);
    }
    end();
}

/* --- values --- */

/* Rows whose mean is a thousand times their sigma: sums of squares alone would lose it.
 */
TEST(mla_prolog, mean_far_from_0)
{
    begin(40, 300, 32);
    if (!test_failed()) {
        for (uint32_t j = 0; j < p.n; j++) {
            ((uint16_t *)p.bias)[j] = f32_to_f16(2000);
        }
        check_case();
    }
    end();
}

/* One element that makes the variance, in every place that the shift may come from. */
TEST(mla_prolog, one_large_element)
{
    for (uint32_t at = 0; at < 300 && !test_failed(); at += 15) {
        begin(3, 300, 1);
        memset((void *)p.a, 0, 3 * 2);
        memset((void *)p.bias, 0, 300 * 2);
        ((uint16_t *)p.bias)[at] = f32_to_f16(1000);
        check_case();
        end();
    }
}

/* No variance: sigma is that of EPS alone and the result 0. */
TEST(mla_prolog, equal_elements)
{
    begin(70, 260, 16);
    if (!test_failed()) {
        memset((void *)p.a, 0, 70 * 16 * 2);
        for (uint32_t j = 0; j < p.n; j++) {
            ((uint16_t *)p.bias)[j] = f32_to_f16(3.25f);
        }
        check_case();
        for (uint32_t i = 0; i < p.m * p.n; i++) {
            CHECK_EQ(f16_to_f32(room[0][GUARD / 2 + i]), 0.0f);
        }
    }
    end();
}

/* NaN and infinity spoil their row and no other. */
TEST(mla_prolog, nan_stays_in_its_row)
{
    static const uint16_t bad[] = {0x7e00, 0x7c00, 0xfc00};

    for (unsigned i = 0; i < 3 && !test_failed(); i++) {
        begin(100, 200, 20);
        ((uint16_t *)p.a)[37 * 20 + 5] = bad[i];
        run_both();
        for (unsigned j = 0; j < 100 * 200 && !test_failed(); j++) {
            CHECK_EQ(isnan(f16_to_f32(room[0][GUARD / 2 + j])) != 0, j / 200 == 37);
            CHECK_EQ(isnan(f16_to_f32(room[1][GUARD / 2 + j])) != 0, j / 200 == 37);
        }
        end();
    }
}

/* Fused and separate give the same bits, but for results below 2^-14. */
TEST(mla_prolog, fused_equals_separate)
{
    begin(130, 700, 300);
    if (!test_failed()) {
        run_both();
        for (unsigned i = 0; i < p.m * p.n && !test_failed(); i++) {
            uint16_t one = room[0][GUARD / 2 + i], three = room[1][GUARD / 2 + i];
            if ((one & 0x7fff) >= 0x0400) {
                CHECK_EQ(one, three);
            }
        }
    }
    end();
}

/* --- errors --- */

TEST(mla_prolog, refuses_sizes_of_0)
{
    for (unsigned i = 0; i < 3; i++) {
        struct mla_prolog none = {.m = i != 0, .n = i != 1, .k = i != 2};
        CHECK_EQ(mla_fused(&none, &report), ERR_ARG);
    }
}

TEST(mla_prolog, refuses_to_go_without_a_workspace)
{
    struct mla_prolog none = {.m = 1, .n = 1025, .k = 1};

    CHECK(!mla_fits(&none));
    CHECK_EQ(mla_fused(&none, &report), ERR_ARG);
    CHECK_EQ(mla_product(&none, &report), ERR_ARG);
    CHECK_EQ(mla_layernorm(&none, &report), ERR_ARG);
    CHECK_EQ(mla_gelu(&none, &report), ERR_ARG);
}
