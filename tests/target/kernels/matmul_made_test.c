/* SPDX-License-Identifier: MIT
 *
 * Operands that the Vector makes for the Cube: three planes of F16 against double, within the
 * error that kernels/mm/planes.h says; U8 by the definition; what is refused.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/lib/f16.h"
#include "kernels/matmul/matmul.h"
#include "kernels/mm/made.h"
#include "kernels/mm/planes.h"
#include "sched/launch.h"
#include "tests/target/test.h"

enum { M = 33, N = 41, K = 150 };

static float a[M * K], b[K * N], c[M * N];
static uint16_t planes_of_a[MM_PLANES * M * K], planes_of_b[MM_PLANES * K * N];
static struct sched_report report;

/* Both signs, exponents from `least` to `most`. */
static void fill(float *to, unsigned n, int least, int most, uint32_t seed)
{
    for (unsigned i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = ldexpf((float)(int32_t)(seed | 1) * 0x1p-31f,
                       least + (int)(seed >> 8) % (most - least + 1));
    }
}

static void make(void *arg)
{
    const struct mm_planes operands[] = {{TYPE_F32, a, planes_of_a, M, K, false},
                                         {TYPE_F32, b, planes_of_b, 1, K * N, true}};

    (void)arg;
    mm_planes_make(operands, 2);
}

static void check_error(void)
{
    for (unsigned i = 0; i < M * N; i++) {
        double sum = 0, of = 0, each = 0;
        for (unsigned j = 0; j < K; j++) {
            double x = (double)a[i / N * K + j], y = (double)b[j * N + i % N];
            sum += x * y;
            of += fabs(x * y);
            each += fabs(x) + fabs(y);
        }
        CHECK(fabs((double)c[i] - sum) <=
              3 * 0x1p-22 * of + 3 * 0x1p-31 * each + K * 0x1p-43 + 3 * K * 0x1p-24 * of);
    }
}

TEST(matmul_made, three_products_of_halves_are_nearly_one_of_floats)
{
    static const int8_t ranges[][2] = {{-3, 0}, {10, 15}, {-7, 4}, {-20, -14}, {-14, 15}};
    struct matmul p = {.a = planes_of_a,
                       .b = planes_of_b,
                       .c = c,
                       .m = M,
                       .n = N,
                       .k = MM_PLANES * K,
                       .in = TYPE_F16,
                       .out = TYPE_F32};

    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        fill(a, M * K, ranges[i][0], ranges[i][1], i);
        fill(b, K * N, ranges[i][0], ranges[i][1], i + 7);
        CHECK_OK(launch(&(struct launch){"planes", make, NULL, .cores = 0}, &report));
        CHECK_OK(matmul(&p, &report));
        check_error();
    }
}

/* As users have it, where the Cube has no F32. */
TEST(matmul_made, floats_without_a_cube_of_floats)
{
    struct matmul p = {
        .a = a, .b = b, .c = c, .m = M, .n = N, .k = K, .in = TYPE_F32, .out = TYPE_F32};

    if (!mm_made_planes(p.in, p.hf32)) {
        CHECK_EQ(mm_made_bytes(matmul_asked(&p)), 0);
        test_skip("this chip's Cube has F32");
        return;
    }
    fill(a, M * K, -8, 8, 3);
    fill(b, K * N, -8, 8, 5);
    CHECK_EQ(matmul(&p, &report), ERR_TYPE);
    CHECK_STR(report.text, "no workspace for operands that are made");
    p.work = malloc(mm_made_bytes(matmul_asked(&p)));
    CHECK_OK(matmul(&p, &report));
    check_error();
    for (unsigned i = 0; i < M * N; i += 7) {
        uint32_t bits = matmul_ref(&p, i / N, i % N);
        CHECK_EQ(memcmp(&bits, &c[i], sizeof(bits)), 0);
    }
    p.hf32 = true;
    CHECK_EQ(matmul(&p, &report), ERR_TYPE);
    CHECK_STR(report.text, "this chip's Cube has no F32");
    free(p.work);
}

enum { WAYS = 3 * 8 };

/* Way `way` of operands of bytes: which have no sign, how they lie, with a bias or not. */
static void without_sign(struct matmul *p, unsigned way, const int32_t *bias)
{
    static const enum type types[][2] = {
        {TYPE_U8, TYPE_S8}, {TYPE_U8, TYPE_U8}, {TYPE_S8, TYPE_U8}};

    p->in = types[way / 8][0];
    p->in_b = types[way / 8][1];
    p->a_transposed = way & 1;
    p->b_transposed = way & 2;
    p->bias = way & 4 ? bias : NULL;
}

/* The largest sums, the most columns: each of all operands' ways to lie. */
TEST(matmul_made, bytes_without_a_sign)
{
    static uint8_t x[M * K];
    static int8_t y[K * N];
    static int32_t bias[N], z[M * N];
    struct matmul p = {.a = x, .b = y, .c = z, .m = M, .n = N, .k = K, .out = TYPE_S32};

    for (unsigned i = 0; i < M * K; i++) {
        x[i] = (uint8_t)(i % 5 ? 255 - i % 3 : i * 7);
    }
    for (unsigned i = 0; i < K * N; i++) {
        y[i] = (int8_t)(i % 2 ? 128 : i * 29 % 256);
    }
    for (unsigned i = 0; i < N; i++) {
        bias[i] = INT32_MAX - (int32_t)i;
    }
    for (unsigned way = 0; way < WAYS; way++) {
        without_sign(&p, way, bias);
        memset(z, 0x55, sizeof(z));
        p.work = NULL;
        CHECK_EQ(matmul(&p, &report), ERR_TYPE);
        CHECK_STR(report.text, "no workspace for operands that are made");
        p.work = malloc(mm_made_bytes(matmul_asked(&p)));
        CHECK_OK(matmul(&p, &report));
        for (unsigned i = way % 3; i < M * N; i += 3) {
            CHECK_EQ((uint32_t)z[i], matmul_ref(&p, i / N, i % N));
        }
        free(p.work);
    }
}

/* Each of a batch has sums of its own, of columns and of rows, on any number of cores. */
TEST(matmul_made, bytes_without_a_sign_of_a_batch)
{
    enum { BATCH = 5, ROWS = 20, COLUMNS = 70, INNER = 33 };
    static uint8_t x[BATCH * ROWS * INNER], y[BATCH * INNER * COLUMNS];
    static int32_t bias[COLUMNS], z[BATCH * ROWS * COLUMNS];
    struct matmul p = {
        .c = z, .m = ROWS, .n = COLUMNS, .k = INNER, .batch = BATCH, .out = TYPE_S32};

    for (unsigned i = 0; i < sizeof(x); i++) {
        x[i] = (uint8_t)(i * 37 + i / 256);
    }
    for (unsigned i = 0; i < sizeof(y); i++) {
        y[i] = (uint8_t)(i * 101 + i / 128);
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        bias[i] = (int32_t)(i * 1000003u);
    }
    for (unsigned way = 0; way < WAYS; way++) {
        without_sign(&p, way, bias);
        p.a = x;
        p.b = y;
        memset(z, 0x55, sizeof(z));
        p.work = malloc(mm_made_bytes(matmul_asked(&p)));
        CHECK_OK(matmul(&p, &report));
        for (unsigned i = 0; i < BATCH * ROWS * COLUMNS; i += 3) {
            unsigned product = i / (ROWS * COLUMNS), at = i % (ROWS * COLUMNS);
            p.a = x + product * ROWS * INNER;
            p.b = y + product * INNER * COLUMNS;
            CHECK_EQ((uint32_t)z[i], matmul_ref(&p, at / COLUMNS, at % COLUMNS));
        }
        free(p.work);
    }
}

/* Each product of a batch is a c of its own to the Vector, too. */
TEST(matmul_made, scales_of_a_batch)
{
    enum { BATCH = 3, ROWS = 20, COLUMNS = 40, INNER = 24 };
    static int8_t x[BATCH * ROWS * INNER], y[BATCH * INNER * COLUMNS];
    static int8_t z[BATCH * ROWS * COLUMNS];
    static float scales[COLUMNS];
    struct matmul p = {.a = x,
                       .b = y,
                       .c = z,
                       .scales = scales,
                       .m = ROWS,
                       .n = COLUMNS,
                       .k = INNER,
                       .batch = BATCH,
                       .in = TYPE_S8,
                       .out = TYPE_S8};

    for (unsigned i = 0; i < sizeof(x); i++) {
        x[i] = (int8_t)(i * 37);
    }
    for (unsigned i = 0; i < sizeof(y); i++) {
        y[i] = (int8_t)(i * 29);
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        scales[i] = 1e-3f * (float)(1 + i);
    }
    CHECK_OK(matmul(&p, &report));
    for (unsigned i = 0; i < sizeof(z); i++) {
        unsigned of = i / (ROWS * COLUMNS), at = i % (ROWS * COLUMNS);
        struct matmul one = p;
        one.a = x + of * ROWS * INNER;
        one.b = y + of * INNER * COLUMNS;
        CHECK_EQ((uint8_t)z[i], matmul_ref(&one, at / COLUMNS, at % COLUMNS));
    }
}
