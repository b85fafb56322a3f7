/* SPDX-License-Identifier: MIT
 *
 * The firmware's view of the DMA engines' richer commands: atomics, padding, fills, the
 * bias table, img2col through the Cube. Bit-for-bit tests over all shapes are on the
 * host (tests/model/mte/copy_test.c, atomic_test.c, load3d_test.c).
 */
#include <string.h>

#include "kernels/lib/f16.h"
#include "tests/target/engine.h"

TEST(mte, adds_to_gm)
{
    static float sum[8] __attribute__((aligned(32)));
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 8; i++) {
        sum[i] = (float)i;
        ub[i] = 0.5f;
    }
    mte_set_atomic(&cmd, ATOMIC_ADD, TYPE_F32);
    run_on(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, sum, 0, sizeof(sum));
    run_on(PIPE_MTE3, &cmd);
    run_on(PIPE_MTE3, &cmd);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(sum[i] == (float)i + 1);
    }
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    run_on(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, sum, 0, sizeof(sum));
    run_on(PIPE_MTE3, &cmd);
    CHECK(sum[7] == 0.5f);
}

TEST(mte, keeps_the_larger_of_l1_and_gm)
{
    static int16_t top[16] __attribute__((aligned(32)));
    int16_t *l1 = chip_local(core(), NPU_MEM_L1, 0);
    union cmd cmd;

    for (int i = 0; i < 16; i++) {
        top[i] = (int16_t)(100 * i - 700);
        l1[i] = 50;
    }
    mte_set_atomic(&cmd, ATOMIC_MAX, TYPE_S16);
    run_on(PIPE_MTE3, &cmd);
    mte_l1_to_gm(&cmd, top, 0, sizeof(top));
    run_on(PIPE_MTE3, &cmd);
    for (int i = 0; i < 16; i++) {
        CHECK_EQ(top[i], 100 * i - 700 > 50 ? 100 * i - 700 : 50);
    }
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    run_on(PIPE_MTE3, &cmd);
}

/* Two rows of 40 bytes, in GM 50, in UB and L1 96 bytes apart, all the way round. */
TEST(mte, rows_keep_their_pitch)
{
    static uint8_t in[128], out[128];
    const struct mte_rows rows = {
        .n_rows = 2, .row_bytes = 40, .gm_pitch_bytes = 50, .local_pitch_bytes = 96};
    const struct mte_rows dense = {.n_rows = 2, .row_bytes = 40};
    const uint8_t *l1 = memset(chip_local(core(), NPU_MEM_L1, 0), 0xa5, 256);
    union cmd cmd;

    for (unsigned i = 0; i < sizeof(in); i++) {
        in[i] = (uint8_t)i;
    }
    mte_gm_to_l1_rows(&cmd, 0, in, &rows);
    run_on(PIPE_MTE2, &cmd);
    CHECK_BYTES(l1, in, 40);
    CHECK_BYTES(l1 + 96, in + 50, 40);
    CHECK_EQ(l1[64], 0xa5);
    memset(out, 0xa5, sizeof(out));
    mte_l1_to_gm_rows(&cmd, out, 0, &rows);
    run_on(PIPE_MTE3, &cmd);
    CHECK_BYTES(out, in, 40);
    CHECK_BYTES(out + 50, in + 50, 40);
    CHECK_EQ(out[45], 0xa5);
    mte_l1_to_ub(&cmd, 0, 0, 64);
    run_on(PIPE_MTE1, &cmd);
    mte_l1_to_ub(&cmd, 64, 96, 64);
    run_on(PIPE_MTE1, &cmd);
    mte_ub_to_gm_rows(&cmd, out, 0, &dense); /* 64 bytes apart in UB */
    run_on(PIPE_MTE3, &cmd);
    CHECK_BYTES(out, in, 40);
    CHECK_BYTES(out + 40, in + 50, 40);
}

/* Rows of 3 halves, 5 apart, to blocks of 32 bytes. */
TEST(mte, pads_rows_to_l1)
{
    static const uint16_t in[10] = {1, 2, 3, 0, 0, 4, 5, 6, 0, 0};
    const uint16_t *l1 = chip_local(core(), NPU_MEM_L1, 0);
    union cmd cmd;

    mte_gm_to_l1_padded(
        &cmd, 0, in,
        &(struct mte_padded){
            .type = TYPE_F16, .n_rows = 2, .n_cols = 3, .gm_pitch_elems = 5});
    run_on(PIPE_MTE2, &cmd);
    for (unsigned i = 0; i < 32; i++) {
        unsigned column = i % 16;
        CHECK_EQ(l1[i], (column < 3 ? column + 1 : 1) + i / 16 * 3);
    }
}

TEST(mte, pads_on_both_sides)
{
    static uint16_t row[5] = {11, 12, 13, 14, 15};
    uint16_t *ub = memset(chip_local(core(), NPU_MEM_UB, 0), 0xa5, 64);
    static const uint16_t value[16] = {7, 7, 11, 12, 13, 14, 15, 7,
                                       7, 7, 7,  7,  7,  7,  7,  7};
    static const uint16_t first[16] = {11, 11, 11, 12, 13, 14, 15, 11,
                                       11, 11, 11, 11, 11, 11, 11, 11};
    struct mte_padded pad = {.type = TYPE_F16,
                             .n_rows = 1,
                             .n_cols = 5,
                             .left = 2,
                             .right = 1,
                             .by_value = true};
    union cmd cmd;

    mte_set_pad(&cmd, PIPE_MTE2, 7);
    run_on(PIPE_MTE2, &cmd);
    mte_gm_to_ub_padded(&cmd, 0, row, &pad);
    run_on(PIPE_MTE2, &cmd);
    CHECK_BYTES(ub, value, 32);
    CHECK_EQ(ub[16], 0xa5a5);
    pad.by_value = false;
    mte_gm_to_ub_padded(&cmd, 0, row, &pad);
    run_on(PIPE_MTE2, &cmd);
    CHECK_BYTES(ub, first, 32);
}

TEST(mte, between_l1_and_ub_and_to_the_bias_table)
{
    uint16_t *l1 = chip_local(core(), NPU_MEM_L1, 0);
    uint16_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    float *bt = chip_local(core(), NPU_MEM_BT, 64);
    union cmd cmd;

    mte_fill(&cmd, NPU_MEM_L1, 0, TYPE_F16, f32_to_f16(1.5f), 64);
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_ub(&cmd, 96, 32, 32);
    run_on(PIPE_MTE1, &cmd);
    CHECK_EQ(ub[48 + 15], f32_to_f16(1.5f));
    ub[48] = f32_to_f16(-2);
    mte_ub_to_l1(&cmd, 0, 96, 32);
    run_on(PIPE_MTE3, &cmd);
    CHECK_EQ(l1[0], f32_to_f16(-2));
    mte_l1_to_bt(&cmd, 64, 0, TYPE_F16, 16);
    run_on(PIPE_MTE1, &cmd);
    CHECK(bt[0] == -2 && bt[1] == 1.5f && bt[15] == 1.5f);
}

static int run_code(const void *code)
{
    __asm__ volatile("fence.i" ::: "memory");
    return ((int (*)(void))(uintptr_t)code)();
}

/* What the hart has run from a memory and an engine writes over is no longer run. */
TEST(mte, writes_over_code)
{
    static uint32_t code[8] __attribute__((aligned(32))) = {0, 0x00008067 /* ret */};
    static uint32_t copy[8] __attribute__((aligned(32)));
    union cmd cmd;

    for (uint32_t i = 1; i <= 3; i++) {
        code[0] = i << 20 | 0x00000513; /* li a0, i */
        mte_gm_to_ub(&cmd, 0, code, sizeof(code));
        run_on(PIPE_MTE2, &cmd);
        CHECK_EQ(run_code(chip_local(core(), NPU_MEM_UB, 0)), i);
        mte_ub_to_gm(&cmd, copy, 0, sizeof(copy));
        run_on(PIPE_MTE3, &cmd);
        CHECK_EQ(run_code(copy), i);
    }
}

/* Two rows of 64 bytes, in L1 96, in UB 160 bytes apart, there and back. */
TEST(mte, local_rows_keep_their_pitch)
{
    uint8_t *l1 = chip_local(core(), NPU_MEM_L1, 0);
    uint8_t *ub = memset(chip_local(core(), NPU_MEM_UB, 0), 0xa5, 512);
    struct mte_local_rows rows = {
        .n_rows = 2, .row_bytes = 64, .src_pitch_bytes = 96, .dst_pitch_bytes = 160};
    union cmd cmd;

    for (unsigned i = 0; i < 160; i++) {
        l1[i] = (uint8_t)i;
    }
    mte_l1_to_ub_rows(&cmd, 32, 0, &rows);
    run_on(PIPE_MTE1, &cmd);
    CHECK_BYTES(ub + 32, l1, 64);
    CHECK_BYTES(ub + 32 + 160, l1 + 96, 64);
    CHECK_EQ(ub[31] + ub[96] + ub[191] + ub[256], 4 * 0xa5);
    rows.src_pitch_bytes = 160;
    rows.dst_pitch_bytes = 0;
    mte_ub_to_l1_rows(&cmd, 512, 32, &rows);
    run_on(PIPE_MTE3, &cmd);
    CHECK_BYTES(l1 + 512, l1, 64);
    CHECK_BYTES(l1 + 512 + 64, l1 + 96, 64);
}

/* From L1 or, past it, from GM: fractals 1, 3 and 5 to the places 0, 2 and 4 of L0. No
 * hart sees L0 but by the window that the tests have of it. */
static void check_fractals(bool a, bool from_gm, bool transpose)
{
    static uint16_t gm[6 * 256];
    uint16_t *l1 = chip_local(core(), NPU_MEM_L1, 64);
    const uint16_t *l0 = memset(chip_local(core(), a ? NPU_MEM_L0A : NPU_MEM_L0B, 1024),
                                0xa5, 5 * MTE_FRACTAL);
    const struct mte_fractals f = {.type = from_gm ? TYPE_NONE : TYPE_F16,
                                   .n_fractals = 3,
                                   .first = 1,
                                   .src_pitch = 2,
                                   .dst_pitch = 2,
                                   .transpose = transpose};
    union cmd cmd;

    for (unsigned i = 0; i < 6 * 256; i++) {
        gm[i] = l1[i] = (uint16_t)i;
    }
    if (from_gm) {
        (a ? mte_gm_to_l0a_fractals : mte_gm_to_l0b_fractals)(&cmd, 1024, gm, &f);
    } else {
        (a ? mte_l1_to_l0a_fractals : mte_l1_to_l0b_fractals)(&cmd, 1024, 64, &f);
    }
    run_on(from_gm ? PIPE_MTE2 : PIPE_MTE1, &cmd);
    for (unsigned i = 0; i < 5 * 256; i++) {
        unsigned e = transpose ? i % 16 * 16 + i % 256 / 16 : i % 256;
        CHECK_EQ(l0[i], i / 256 % 2 ? 0xa5a5 : (i / 256 + 1) * 256 + e);
    }
}

TEST(mte, single_fractals)
{
    for (unsigned i = 0; i < 4; i++) {
        check_fractals(i % 2, i / 2, false);
    }
    check_fractals(true, false, true);
    check_fractals(false, false, true);
}

/* Without a distance in the source it is the same one; without one in L0 side by side. */
TEST(mte, one_fractal_again_and_again)
{
    const uint8_t *l0b = chip_local(core(), NPU_MEM_L0B, 0);
    uint8_t *l1 = memset(chip_local(core(), NPU_MEM_L1, 0), 7, 2 * MTE_FRACTAL);
    union cmd cmd;

    memset(l1 + MTE_FRACTAL, 9, MTE_FRACTAL);
    mte_l1_to_l0b_fractals(
        &cmd, 0, 0, &(struct mte_fractals){.type = TYPE_S8, .n_fractals = 2, .first = 1});
    run_on(PIPE_MTE1, &cmd);
    CHECK_EQ(l0b[0] + l0b[MTE_FRACTAL] + l0b[2 * MTE_FRACTAL - 1], 27);
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

/* Every pixel holds its number, the padding is 1; the map's byte `wrap` of L1 is byte 0.
 */
static void put_map(uint32_t at, uint32_t wrap)
{
    union cmd cmd;

    for (unsigned i = 0; i < H * W; i++) {
        uint16_t *l1 = chip_local(core(), NPU_MEM_L1, (at + i * 2 * C) % wrap);
        for (unsigned c = 0; c < C; c++) {
            l1[c] = f32_to_f16((float)i);
        }
    }
    mte_fill(&cmd, NPU_MEM_L0A, 0, TYPE_F16, f32_to_f16(100), 18 * 512);
    run_on(PIPE_MTE1, &cmd);
    mte_set_pad(&cmd, PIPE_MTE1, f32_to_f16(1));
    run_on(PIPE_MTE1, &cmd);
}

/* m rows of the convolution's matrix to L0A. */
static void load_windows(uint32_t at, uint32_t m)
{
    struct mte_conv conv = conv_3x3(H, W, C);
    union cmd cmd;

    mte_img2col_to_l0a(&cmd, 0, at,
                       &(struct mte_img2col){
                           .type = TYPE_F16, .conv = &conv, .m_len = m, .k_len = 9 * C});
    run_on(PIPE_MTE1, &cmd);
}

/* What is in L0A times a filter of ones. */
static void check_convolution(void)
{
    static float out[H * W * 16];
    const struct product p = {.type = TYPE_F16, .m = H * W, .n = 16, .k = 9 * C};
    union cmd cmd;

    mte_fill(&cmd, NPU_MEM_L0B, 0, TYPE_F16, f32_to_f16(1), 9 * 512);
    run_on(PIPE_MTE1, &cmd);
    run_mmad(&p);
    run_fetch(&p, out, QUANT_NONE);
    for (int i = 0; i < H * W; i++) {
        CHECK(out[i * 16] == window_sum(i / W, i % W));
        CHECK(out[i * 16 + 15] == out[i * 16]);
    }
}

TEST(mte, convolves_by_img2col)
{
    put_map(0, 65536);
    load_windows(0, H * W);
    check_convolution();
}

/* 16 rows an iteration; the last 14 pixels of the map are at the beginning of L1. */
TEST(mte, convolves_by_img2col_that_repeats_and_goes_around)
{
    uint32_t at = 2048 - (H * W - 14) * 2 * C;
    union cmd cmd;

    put_map(at, 2048);
    mte_set_load3d_repeat(&cmd, 1, 2, LOAD3D_ALONG_M);
    run_on(PIPE_MTE1, &cmd);
    mte_set_load3d_boundary(&cmd, 2048);
    run_on(PIPE_MTE1, &cmd);
    load_windows(at, 16);
    check_convolution();
    mte_set_load3d_repeat(&cmd, 0, 1, LOAD3D_ALONG_M);
    run_on(PIPE_MTE1, &cmd);
    mte_set_load3d_boundary(&cmd, 0);
    run_on(PIPE_MTE1, &cmd);
}
