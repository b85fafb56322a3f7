/* SPDX-License-Identifier: MIT
 *
 * Numbers of 4 bits through the whole chip: rows in GM, fractals in L1, L0A and L0B, the
 * Cube, the fixpipe and GM again, against loops over single elements. Layouts bit for
 * bit: tests/model/mte/load2d_test.c, load3d_test.c, int4_test.c.
 */
#include <string.h>

#include "tests/target/engine.h"

enum { M = 30, N = 34, K = 144 };

static uint8_t a[M * K / 2], b[K * N / 2];
static int32_t out[M * N];

static void fill(uint8_t *to, unsigned bytes, uint32_t seed)
{
    for (unsigned i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (uint8_t)(seed >> 24);
    }
}

/* Element i, the first of two in bits 3:0. */
static int element(const uint8_t *from, unsigned i)
{
    return (int)((from[i / 2] >> i % 2 * 4 & 15u) ^ 8u) - 8;
}

/* a and b of other numbers; false on a chip without the type. */
static bool begin(uint32_t seed)
{
    fill(a, sizeof(a), seed);
    fill(b, sizeof(b), seed + 1);
    if (!chip_has_type(PIPE_M, TYPE_S4)) {
        test_skip("no S4 in this chip's Cube");
        return false;
    }
    return true;
}

/* L0A is x, which has the elements of `a` in some order: L0A x b. */
static void check_product(const struct product *p, int (*x)(unsigned m, unsigned k))
{
    run_load_b(p);
    run_mmad(p);
    run_fetch(p, out, QUANT_NONE);
    for (unsigned i = 0; i < p->m; i++) {
        for (unsigned j = 0; j < N; j++) {
            int sum = 0;
            for (unsigned c = 0; c < p->k; c++) {
                sum += x(i, c) * element(b, c * N + j);
            }
            CHECK_EQ(out[i * N + j], sum);
        }
    }
}

static int rows_of_a(unsigned m, unsigned k)
{
    return element(a, m * K + k);
}

static int columns_of_a(unsigned m, unsigned k)
{
    return element(a, k * M + m);
}

TEST(nibble, product_of_rows)
{
    const struct product p = {.type = TYPE_S4, .a = a, .b = b, .m = M, .n = N, .k = K};

    if (begin(1)) {
        run_load_a(&p);
        check_product(&p, rows_of_a);
    }
}

TEST(nibble, product_of_columns)
{
    const struct product p = {
        .type = TYPE_S4, .a = a, .b = b, .m = M, .n = N, .k = K, .a_by_columns = true};

    if (begin(3)) {
        run_load_a(&p);
        check_product(&p, columns_of_a);
    }
}

/* A map of 5 x 6 pixels of 16 channels in `a`, padded with 3 by one pixel around. */
enum { H = 5, W = 6, C = 16, PAD = 3 };

static int window(unsigned m, unsigned k)
{
    int h = (int)(m / W + k / C / 3) - 1, w = (int)(m % W + k / C % 3) - 1;

    return h < 0 || w < 0 || h >= H || w >= W
               ? PAD
               : element(a, (unsigned)(h * W + w) * C + k % C);
}

TEST(nibble, convolution)
{
    const struct mte_conv conv = conv_3x3(H, W, C);
    const struct product p = {.type = TYPE_S4, .b = b, .m = H * W, .n = N, .k = 9 * C};
    union cmd cmd;

    if (!begin(5)) {
        return;
    }
    mte_gm_to_l1(&cmd, 0, a, H * W * C / 2);
    run_on(PIPE_MTE2, &cmd);
    mte_set_pad(&cmd, PIPE_MTE1, PAD);
    run_on(PIPE_MTE1, &cmd);
    mte_img2col_to_l0a(&cmd, 0, 0,
                       &(struct mte_img2col){
                           .type = TYPE_S4, .conv = &conv, .m_len = p.m, .k_len = p.k});
    run_on(PIPE_MTE1, &cmd);
    check_product(&p, window);
}
