/* SPDX-License-Identifier: MIT
 *
 * Numbers of 4 bits through the whole chip: rows in GM, fractals in L1, L0A and L0B, the
 * Cube, the fixpipe and GM again, against loops over single elements. Layouts bit for
 * bit: tests/model/mte/load2d_test.c, load3d_test.c, mte_s4_test.c.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "tests/target/engine.h"
#include "tests/target/test.h"

enum { M = 30, N = 34, K = 144, B_L1 = 16384 };

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

/* b, K x N, to L0B; then L0A x L0B to `out`. */
static void multiply_by_b(unsigned m, unsigned k)
{
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, B_L1, b, TYPE_S4, k, N, N, k);
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0b(&cmd, 0, B_L1, TYPE_S4, k, N, k);
    run_on(PIPE_MTE1, &cmd);
    cube_mmad(&cmd, TYPE_S4, 0, 0, 0, m, N, k, true);
    run_on(PIPE_M, &cmd);
    fixpipe_to_gm(&cmd, TYPE_S32, out, 0, m, N, N, (m + 15) / 16 * 16, QUANT_NONE);
    run_on(PIPE_FIX, &cmd);
}

/* out = x (m x k) x b, where x has the elements of `a` in some order. */
static void check_product(int (*x)(unsigned m, unsigned k), unsigned m, unsigned k)
{
    for (unsigned i = 0; i < m; i++) {
        for (unsigned j = 0; j < N; j++) {
            int sum = 0;
            for (unsigned c = 0; c < k; c++) {
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
    union cmd cmd;

    if (!chip_has_type(PIPE_M, TYPE_S4)) {
        return;
    }
    fill(a, sizeof(a), 1);
    fill(b, sizeof(b), 2);
    mte_gm_to_l1_nz(&cmd, 0, a, TYPE_S4, M, K, K, M);
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0a(&cmd, 0, 0, TYPE_S4, M, K, M);
    run_on(PIPE_MTE1, &cmd);
    multiply_by_b(M, K);
    check_product(rows_of_a, M, K);
}

TEST(nibble, product_of_columns)
{
    union cmd cmd;

    if (!chip_has_type(PIPE_M, TYPE_S4)) {
        return;
    }
    fill(a, sizeof(a), 3);
    fill(b, sizeof(b), 4);
    mte_gm_to_l1_nz(&cmd, 0, a, TYPE_S4, K, M, M, K);
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0a(&cmd, 0, 0, TYPE_S4, M, K, K);
    cmd.head.flags = LOAD2D_L0A_TRANSPOSE;
    run_on(PIPE_MTE1, &cmd);
    multiply_by_b(M, K);
    check_product(columns_of_a, M, K);
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

static const struct mte_conv conv = {.map_h = H,
                                     .map_w = W,
                                     .channels = C,
                                     .filter_h = 3,
                                     .filter_w = 3,
                                     .stride_h = 1,
                                     .stride_w = 1,
                                     .dilation_h = 1,
                                     .dilation_w = 1,
                                     .pad_left = 1,
                                     .pad_right = 1,
                                     .pad_top = 1,
                                     .pad_bottom = 1};

TEST(nibble, convolution)
{
    union cmd cmd;

    if (!chip_has_type(PIPE_M, TYPE_S4)) {
        return;
    }
    fill(a, sizeof(a), 5);
    fill(b, sizeof(b), 6);
    mte_gm_to_ub(&cmd, 0, a, H * W * C / 2);
    cmd.head.opcode = OP_COPY_GM_L1;
    run_on(PIPE_MTE2, &cmd);
    mte_set_pad(&cmd, PIPE_MTE1, PAD);
    run_on(PIPE_MTE1, &cmd);
    mte_img2col_to_l0a(&cmd, 0, 0, TYPE_S4, &conv, 0, H * W, 0, 9 * C);
    run_on(PIPE_MTE1, &cmd);
    multiply_by_b(H * W, 9 * C);
    check_product(window, H * W, 9 * C);
}
