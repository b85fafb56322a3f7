/* SPDX-License-Identifier: MIT
 *
 * The fixpipe's ways to UB and L1 and its quantisations, as a kernel uses them: operands
 * from the Cube, words and slopes from L1, results where the next engine takes them.
 * Numbers in all their corners: tests/model/fixpipe/convert_test.c.
 */
#include <string.h>

#include "hal/vector.h"
#include "kernels/lib/f16.h"
#include "tests/target/engine.h"

enum { SIDE = 16, K8 = 32, GUARD = 0xa5, AT = 1 << 16 };

static int8_t a8[SIDE * K8], b8[K8 * SIDE];
static uint16_t a16[SIDE * SIDE], b16[SIDE * SIDE];
static uint8_t out[4096] __attribute__((aligned(64)));

static const struct product integers = {
    .type = TYPE_S8, .a = a8, .b = b8, .m = SIDE, .n = SIDE, .k = K8};
static const struct product halves = {
    .type = TYPE_F16, .a = a16, .b = b16, .m = SIDE, .n = SIDE, .k = SIDE};

/* L0C becomes 100 * v(i), v from -8 to 119. */
static int integer(unsigned i)
{
    return (int)(i * 7 % 128) - 8;
}

static void make_integers(void)
{
    memset(a8, 0, sizeof(a8));
    for (unsigned i = 0; i < SIDE; i++) {
        a8[i * K8 + i] = 100;
        for (unsigned j = 0; j < SIDE; j++) {
            b8[i * SIDE + j] = (int8_t)integer(i * SIDE + j);
        }
    }
    run_product(&integers);
}

/* L0C becomes (i - 100) / 4. */
static void make_halves(void)
{
    memset(a16, 0, sizeof(a16));
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        a16[i] = i / SIDE == i % SIDE ? f32_to_f16(1) : 0;
        b16[i] = f32_to_f16(((float)i - 100) / 4);
    }
    run_product(&halves);
}

static int8_t saturate(int v)
{
    return (int8_t)(v < -128 ? -128 : v > 127 ? 127 : v);
}

TEST(fixpipe, takes_results_to_ub)
{
    float *ub = chip_local(core(), NPU_MEM_UB, AT);
    union cmd cmd;

    make_halves();
    memset(ub, GUARD, 4096);
    fixpipe_to_ub(
        &cmd, AT, 0,
        &(struct fixpipe_tile){
            .type = TYPE_F32, .m = SIDE, .n = SIDE - 3, .pitch_elems = SIDE + 8});
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * (SIDE + 8); i++) {
        unsigned row = i / (SIDE + 8), col = i % (SIDE + 8);
        uint32_t bits;
        if (col < SIDE - 3) {
            CHECK_EQ(ub[i], ((float)(row * SIDE + col) - 100) / 4);
        } else {
            memcpy(&bits, &ub[i], 4);
            CHECK_EQ(bits, 0xa5a5a5a5u);
        }
    }
}

/* Cube, fixpipe and Vector in one core: relu(c) + relu(c), never in GM. */
TEST(fixpipe, feeds_the_vector)
{
    uint16_t *ub = chip_local(core(), NPU_MEM_UB, AT);
    struct fixpipe_tile tile = product_tile(&halves, QUANT_F322F16);
    union cmd cmd;

    make_halves();
    tile.relu = FIX_RELU_PLAIN;
    fixpipe_to_ub(&cmd, AT, 0, &tile);
    run_on(PIPE_FIX, &cmd);
    vector_count(&cmd, SIDE * SIDE);
    run_on(PIPE_V, &cmd);
    vector_add(&cmd, TYPE_F16, AT, AT, AT);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        CHECK_EQ(f16_to_f32(ub[i]), i < 100 ? 0 : ((float)i - 100) / 2);
    }
}

/* No semaphore: the marks alone make the fixpipe wait for the Cube, and the Cube for it.
 */
TEST(fixpipe, follows_the_cube_by_unit_flags)
{
    struct cube_mmad mmad = product_mmad(&halves);
    struct fixpipe_tile tile = product_tile(&halves, QUANT_F322F16);
    union cmd cmd;

    make_halves();
    tile.unit = UNIT_PASS;
    for (unsigned t = 0; t < 4; t++) { /* t + 1 times the product, all in one tile */
        for (unsigned i = 0; i <= t; i++) {
            mmad.from = i == 0 ? CUBE_FROM_ZERO : CUBE_FROM_C;
            mmad.unit = i == t ? UNIT_PASS : UNIT_KEEP;
            cube_mmad(&cmd, &mmad);
            CHECK_OK(pipe_push(core(), PIPE_M, &cmd));
        }
        fixpipe_to_gm(&cmd, out + t * 512, 0, &tile);
        CHECK_OK(pipe_push(core(), PIPE_FIX, &cmd));
    }
    wait_for(PIPE_FIX);
    for (unsigned i = 0; i < 4 * SIDE * SIDE; i++) {
        float once = ((float)(i % (SIDE * SIDE)) - 100) / 4;
        uint16_t bits;
        memcpy(&bits, out + 2 * i, 2);
        CHECK_EQ(f16_to_f32(bits), once * (float)(i / (SIDE * SIDE) + 1));
    }
}

/* c in L1 as fractals is the next product's left operand. */
TEST(fixpipe, feeds_the_cube_through_l1)
{
    struct fixpipe_tile tile = product_tile(&halves, QUANT_F322F16);
    struct product again = halves;
    union cmd cmd;

    make_halves();
    tile.nz_rows = SIDE;
    fixpipe_to_l1(&cmd, AT, 0, &tile);
    run_on(PIPE_FIX, &cmd);
    mte_l1_to_l0a(
        &cmd, 0, AT,
        &(struct mte_window){
            .type = TYPE_F16, .n_rows = SIDE, .n_cols = SIDE, .block_rows = SIDE});
    run_on(PIPE_MTE1, &cmd);
    again.b = a16; /* the identity */
    again.c_at = 2048;
    run_load_b(&again);
    run_mmad(&again);
    run_fetch(&again, out, QUANT_F322F16);
    CHECK_BYTES(out, b16, sizeof(b16));
}

/* (i - 100) / 4, below 0 an eighth of it, no more than 20, added to 1. */
TEST(fixpipe, activates_and_adds_to_gm)
{
    struct fixpipe_tile tile = product_tile(&halves, QUANT_NONE);
    float *gm = (float *)out;
    union cmd cmd;

    make_halves();
    fixpipe_set_relu(&cmd, 0.125f, 20);
    run_on(PIPE_FIX, &cmd);
    fixpipe_set_atomic(&cmd, ATOMIC_ADD, TYPE_F32);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        gm[i] = 1;
    }
    tile.relu = FIX_RELU_LEAKY;
    tile.flags = FIX_L0C_GM_CLIP;
    fixpipe_to_gm(&cmd, gm, 0, &tile);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        float x = ((float)i - 100) / 4;
        CHECK_EQ(gm[i], 1 + (x < 0 ? x / 8 : x < 20 ? x : 20));
    }
    fixpipe_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    run_on(PIPE_FIX, &cmd);
}

/* round(100 v / 64) + 3, saturated. */
TEST(fixpipe, quantises_with_one_word)
{
    int8_t *ub = chip_local(core(), NPU_MEM_UB, AT);
    struct fixpipe_tile tile = product_tile(&integers, QUANT_REQ8);
    union cmd cmd;

    make_integers();
    fixpipe_set_quant(&cmd, fixpipe_word(1.0f / 64, 3, true));
    run_on(PIPE_FIX, &cmd);
    tile.pitch_elems = 32;
    fixpipe_to_ub(&cmd, AT, 0, &tile);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        int v = 100 * integer(i), floor = v >> 6, rest = v - floor * 64;
        floor += 3;
        floor += rest > 32 || (rest == 32 && floor % 2 != 0);
        CHECK_EQ(ub[i / SIDE * 32 + i % SIDE], saturate(floor));
    }
}

/* float(1,8,10): an fp32 number goes to the nearest, a tie to the even one. */
TEST(fixpipe, scale_is_rounded_to_its_bits)
{
    static const struct {
        uint32_t scale, word;
    } cases[] = {
        {0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000},
        {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x3fffffff, 0x40000000},
        {0xbf801fff, 0xbf802000}, {0x00001001, 0x00002000}, {0x7f7fffff, 0x7f800000},
        {0x7f800000, 0x7f800000}, {0xff800001, 0xffc00000}, {0x7fffffff, 0x7fffe000},
    };
    struct fixpipe_tile tile = product_tile(&integers, QUANT_DEQS16);
    const int16_t *gm = (int16_t *)out;
    union cmd cmd;
    float scale;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memcpy(&scale, &cases[i].scale, 4);
        CHECK_EQ(fixpipe_word(scale, 0, false), cases[i].word);
    }
    make_integers();
    fixpipe_set_quant(&cmd, fixpipe_word(1.9999f, 0, true));
    run_on(PIPE_FIX, &cmd);
    fixpipe_to_gm(&cmd, out, 0, &tile);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        CHECK_EQ(gm[i], 200 * integer(i));
    }
}

/* A column has its own word and slope, which the FIX pipe fetches from L1. */
TEST(fixpipe, quantises_each_column)
{
    uint64_t *words = chip_local(core(), NPU_MEM_L1, AT);
    float *slopes = chip_local(core(), NPU_MEM_L1, AT + 128);
    int8_t *gm = (int8_t *)out;
    struct fixpipe_tile tile = product_tile(&integers, QUANT_VREQ8);
    union cmd cmd;

    make_integers();
    for (unsigned i = 0; i < SIDE; i++) {
        words[i] = fixpipe_word(i % 2 ? 0.25f : 0.5f, (int)i - 8, i != 5);
        slopes[i] = -(float)i;
    }
    fixpipe_l1_to_fb(&cmd, 64, AT, 192);
    run_on(PIPE_FIX, &cmd);
    tile.fb_quant = 64;
    tile.relu = FIX_RELU_CHANNEL;
    tile.fb_relu = 192;
    fixpipe_to_gm(&cmd, gm, 0, &tile);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        int c = (int)(i % SIDE), v = 100 * integer(i) / (c % 2 ? 4 : 2);
        v = (v < 0 ? v * -c : v) + c - 8;
        CHECK_EQ(c == 5 ? (int)(uint8_t)gm[i] : gm[i],
                 c == 5 ? (v > 255 ? 255 : v) : saturate(v));
    }
}
