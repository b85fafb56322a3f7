/* SPDX-License-Identifier: MIT
 *
 * The firmware's view of the DMA engines' richer commands: atomics, padding, fills, the
 * bias table, img2col through the Cube. Bit-for-bit tests over all shapes are on the
 * host (tests/model/mte/copy_test.c, atomic_test.c, load3d_test.c).
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "kernels/lib/f16.h"
#include "tests/target/test.h"

enum { BUSY_LIMIT = 10000 };

static void run(enum pipe pipe, const union cmd *cmd)
{
    CHECK_OK(pipe_push(0, pipe, cmd));
    for (unsigned i = 0; !pipe_idle(0, pipe); i++) {
        CHECK(i < BUSY_LIMIT);
    }
}

TEST(mte, adds_to_gm)
{
    static float sum[8] __attribute__((aligned(32)));
    float *ub = chip_local(0, NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 8; i++) {
        sum[i] = (float)i;
        ub[i] = 0.5f;
    }
    mte_set_atomic(&cmd, ATOMIC_ADD, TYPE_F32);
    run(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, sum, 0, sizeof(sum));
    run(PIPE_MTE3, &cmd);
    run(PIPE_MTE3, &cmd);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(sum[i] == (float)i + 1);
    }
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    run(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, sum, 0, sizeof(sum));
    run(PIPE_MTE3, &cmd);
    CHECK(sum[7] == 0.5f);
}

TEST(mte, keeps_the_larger_of_l1_and_gm)
{
    static int16_t top[16] __attribute__((aligned(32)));
    int16_t *l1 = chip_local(0, NPU_MEM_L1, 0);
    union cmd cmd;

    for (int i = 0; i < 16; i++) {
        top[i] = (int16_t)(100 * i - 700);
        l1[i] = 50;
    }
    mte_set_atomic(&cmd, ATOMIC_MAX, TYPE_S16);
    run(PIPE_MTE3, &cmd);
    mte_l1_to_gm(&cmd, top, 0, sizeof(top));
    run(PIPE_MTE3, &cmd);
    for (int i = 0; i < 16; i++) {
        CHECK_EQ(top[i], 100 * i - 700 > 50 ? 100 * i - 700 : 50);
    }
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    run(PIPE_MTE3, &cmd);
}

TEST(mte, pads_on_both_sides)
{
    static uint16_t row[5] = {11, 12, 13, 14, 15};
    uint16_t *ub = memset(chip_local(0, NPU_MEM_UB, 0), 0xa5, 64);
    static const uint16_t value[16] = {7, 7, 11, 12, 13, 14, 15, 7,
                                       7, 7, 7,  7,  7,  7,  7,  7};
    static const uint16_t first[16] = {11, 11, 11, 12, 13, 14, 15, 11,
                                       11, 11, 11, 11, 11, 11, 11, 11};
    union cmd cmd;

    mte_set_pad(&cmd, PIPE_MTE2, 7);
    run(PIPE_MTE2, &cmd);
    mte_gm_to_ub_padded(&cmd, 0, row, TYPE_F16, sizeof(row), 2, 1, true);
    run(PIPE_MTE2, &cmd);
    CHECK_BYTES(ub, value, 32);
    CHECK_EQ(ub[16], 0xa5a5);
    mte_gm_to_ub_padded(&cmd, 0, row, TYPE_F16, sizeof(row), 2, 1, false);
    run(PIPE_MTE2, &cmd);
    CHECK_BYTES(ub, first, 32);
}

TEST(mte, between_l1_and_ub_and_to_the_bias_table)
{
    uint16_t *l1 = chip_local(0, NPU_MEM_L1, 0);
    uint16_t *ub = chip_local(0, NPU_MEM_UB, 0);
    float *bt = chip_local(0, NPU_MEM_BT, 64);
    union cmd cmd;

    mte_fill(&cmd, NPU_MEM_L1, 0, TYPE_F16, f32_to_f16(1.5f), 64);
    run(PIPE_MTE2, &cmd);
    mte_l1_to_ub(&cmd, 96, 32, 32);
    run(PIPE_MTE1, &cmd);
    CHECK_EQ(ub[48 + 15], f32_to_f16(1.5f));
    ub[48] = f32_to_f16(-2);
    mte_ub_to_l1(&cmd, 0, 96, 32);
    run(PIPE_MTE3, &cmd);
    CHECK_EQ(l1[0], f32_to_f16(-2));
    mte_l1_to_bt(&cmd, 64, 0, TYPE_F16, 16);
    run(PIPE_MTE1, &cmd);
    CHECK(bt[0] == -2 && bt[1] == 1.5f && bt[15] == 1.5f);
}

enum { H = 5, W = 6, C = 16 };

/* What the convolution below gives at (h, w): the channels' sum over a 3 x 3 window. */
static float window_sum(int h, int w)
{
    float sum = 0;

    for (int y = h - 1; y <= h + 1; y++) {
        for (int x = w - 1; x <= w + 1; x++) {
            bool inside = y >= 0 && y < H && x >= 0 && x < W;
            sum += inside ? (float)(C * (y * W + x)) : C;
        }
    }
    return sum;
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

/* Every pixel holds its number, the padding is 1; the map's byte `wrap` of L1 is byte 0.
 */
static void put_map(uint32_t at, uint32_t wrap)
{
    union cmd cmd;

    for (unsigned i = 0; i < H * W; i++) {
        uint16_t *l1 = chip_local(0, NPU_MEM_L1, (at + i * 2 * C) % wrap);
        for (unsigned c = 0; c < C; c++) {
            l1[c] = f32_to_f16((float)i);
        }
    }
    mte_fill(&cmd, NPU_MEM_L0A, 0, TYPE_F16, f32_to_f16(100), 18 * 512);
    run(PIPE_MTE1, &cmd);
    mte_set_pad(&cmd, PIPE_MTE1, f32_to_f16(1));
    run(PIPE_MTE1, &cmd);
}

/* What is in L0A times a filter of ones. */
static void check_convolution(void)
{
    static float out[H * W * 16];
    union cmd cmd;

    mte_fill(&cmd, NPU_MEM_L0B, 0, TYPE_F16, f32_to_f16(1), 9 * 512);
    run(PIPE_MTE1, &cmd);
    cube_mmad(&cmd, TYPE_F16, 0, 0, 0, H * W, 16, 9 * C, true);
    run(PIPE_M, &cmd);
    fixpipe_to_gm(&cmd, TYPE_F32, out, 0, H * W, 16, 16, 32, QUANT_NONE);
    run(PIPE_FIX, &cmd);
    for (int i = 0; i < H * W; i++) {
        CHECK(out[i * 16] == window_sum(i / W, i % W));
        CHECK(out[i * 16 + 15] == out[i * 16]);
    }
}

TEST(mte, convolves_by_img2col)
{
    union cmd cmd;

    put_map(0, 65536);
    mte_img2col_to_l0a(&cmd, 0, 0, TYPE_F16, &conv, 0, H * W, 0, 9 * C);
    run(PIPE_MTE1, &cmd);
    check_convolution();
}

/* 16 rows an iteration; the last 14 pixels of the map are at the beginning of L1. */
TEST(mte, convolves_by_img2col_that_repeats_and_goes_around)
{
    uint32_t at = 2048 - (H * W - 14) * 2 * C;
    union cmd cmd;

    put_map(at, 2048);
    mte_set_load3d_repeat(&cmd, 1, 2, LOAD3D_ALONG_M);
    run(PIPE_MTE1, &cmd);
    mte_set_load3d_boundary(&cmd, 2048);
    run(PIPE_MTE1, &cmd);
    mte_img2col_to_l0a(&cmd, 0, at, TYPE_F16, &conv, 0, 16, 0, 9 * C);
    run(PIPE_MTE1, &cmd);
    check_convolution();
    mte_set_load3d_repeat(&cmd, 0, 1, LOAD3D_ALONG_M);
    run(PIPE_MTE1, &cmd);
    mte_set_load3d_boundary(&cmd, 0);
    run(PIPE_MTE1, &cmd);
}
