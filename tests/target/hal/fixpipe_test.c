/* SPDX-License-Identifier: MIT
 *
 * The fixpipe's ways to UB and L1 and its quantisations, as a kernel uses them: operands
 * from the Cube, words and slopes from L1, results where the next engine takes them.
 * Numbers in all their corners: tests/model/fixpipe/convert_test.c.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/lib/f16.h"
#include "tests/target/engine.h"
#include "tests/target/test.h"

enum { SIDE = 16, K8 = 32, GUARD = 0xa5, AT = 1 << 16 };

static int8_t a8[SIDE * K8], b8[K8 * SIDE];
static uint16_t a16[SIDE * SIDE], b16[SIDE * SIDE];
static uint8_t out[4096] __attribute__((aligned(64)));

static void multiply(enum type type, const void *a, const void *b, unsigned k)
{
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, 0, a, type, SIDE, k, k, SIDE);
    run_on(PIPE_MTE2, &cmd);
    mte_gm_to_l1_nz(&cmd, 4096, b, type, k, SIDE, SIDE, k);
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0a(&cmd, 0, 0, type, SIDE, k, SIDE);
    run_on(PIPE_MTE1, &cmd);
    mte_l1_to_l0b(&cmd, 0, 4096, type, k, SIDE, k);
    run_on(PIPE_MTE1, &cmd);
    cube_mmad(&cmd, type, 0, 0, 0, SIDE, SIDE, k, true);
    run_on(PIPE_M, &cmd);
}

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
    multiply(TYPE_S8, a8, b8, K8);
}

/* L0C becomes (i - 100) / 4. */
static void make_halves(void)
{
    memset(a16, 0, sizeof(a16));
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        a16[i] = i / SIDE == i % SIDE ? f32_to_f16(1) : 0;
        b16[i] = f32_to_f16(((float)i - 100) / 4);
    }
    multiply(TYPE_F16, a16, b16, SIDE);
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
    fixpipe_to_ub(&cmd, TYPE_F32, AT, 0, SIDE, SIDE - 3, SIDE + 8, SIDE, QUANT_NONE);
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
    union cmd cmd;

    make_halves();
    fixpipe_to_ub(&cmd, TYPE_F32, AT, 0, SIDE, SIDE, SIDE, SIDE, QUANT_F322F16);
    fixpipe_relu(&cmd, FIX_RELU_PLAIN, 0);
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
    union cmd cmd;

    make_halves();
    for (unsigned t = 0; t < 4; t++) { /* t + 1 times the product, all in one tile */
        for (unsigned i = 0; i <= t; i++) {
            cube_mmad(&cmd, TYPE_F16, 0, 0, 0, SIDE, SIDE, SIDE, i == 0);
            cube_unit(&cmd, i == t ? UNIT_PASS : UNIT_KEEP);
            CHECK_OK(pipe_push(core(), PIPE_M, &cmd));
        }
        fixpipe_to_gm(&cmd, TYPE_F32, out + t * 512, 0, SIDE, SIDE, SIDE, SIDE,
                      QUANT_F322F16);
        fixpipe_unit(&cmd, UNIT_PASS);
        CHECK_OK(pipe_push(core(), PIPE_FIX, &cmd));
    }
    for (unsigned i = 0; !pipe_idle(core(), PIPE_FIX); i++) {
        CHECK(i < 10000);
    }
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
    union cmd cmd;

    make_halves();
    fixpipe_to_l1(&cmd, TYPE_F32, AT, 0, SIDE, SIDE, 0, SIDE, QUANT_F322F16);
    fixpipe_nz(&cmd, SIDE);
    run_on(PIPE_FIX, &cmd);
    mte_l1_to_l0a(&cmd, 0, AT, TYPE_F16, SIDE, SIDE, SIDE);
    run_on(PIPE_MTE1, &cmd);
    mte_gm_to_l1_nz(&cmd, 0, a16, TYPE_F16, SIDE, SIDE, SIDE, SIDE); /* the identity */
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0b(&cmd, 0, 0, TYPE_F16, SIDE, SIDE, SIDE);
    run_on(PIPE_MTE1, &cmd);
    cube_mmad(&cmd, TYPE_F16, 2048, 0, 0, SIDE, SIDE, SIDE, true);
    run_on(PIPE_M, &cmd);
    fixpipe_to_gm(&cmd, TYPE_F32, out, 2048, SIDE, SIDE, SIDE, SIDE, QUANT_F322F16);
    run_on(PIPE_FIX, &cmd);
    CHECK_BYTES(out, b16, sizeof(b16));
}

/* round(100 v / 64) + 3, saturated. */
TEST(fixpipe, quantises_with_one_word)
{
    int8_t *ub = chip_local(core(), NPU_MEM_UB, AT);
    union cmd cmd;

    make_integers();
    fixpipe_set_quant(&cmd, fixpipe_word(1.0f / 64, 3, true));
    run_on(PIPE_FIX, &cmd);
    fixpipe_to_ub(&cmd, TYPE_S32, AT, 0, SIDE, SIDE, 32, SIDE, QUANT_REQ8);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        int v = 100 * integer(i), floor = v >> 6, rest = v - floor * 64;
        floor += 3;
        floor += rest > 32 || (rest == 32 && floor % 2 != 0);
        CHECK_EQ(ub[i / SIDE * 32 + i % SIDE], saturate(floor));
    }
}

/* A column has its own word and slope, which the FIX pipe fetches from L1. */
TEST(fixpipe, quantises_each_column)
{
    uint64_t *words = chip_local(core(), NPU_MEM_L1, AT);
    float *slopes = chip_local(core(), NPU_MEM_L1, AT + 128);
    int8_t *gm = (int8_t *)out;
    union cmd cmd;

    make_integers();
    for (unsigned i = 0; i < SIDE; i++) {
        words[i] = fixpipe_word(i % 2 ? 0.25f : 0.5f, (int)i - 8, i != 5);
        slopes[i] = -(float)i;
    }
    fixpipe_l1_to_fb(&cmd, 64, AT, 192);
    run_on(PIPE_FIX, &cmd);
    fixpipe_to_gm(&cmd, TYPE_S32, gm, 0, SIDE, SIDE, SIDE, SIDE, QUANT_VREQ8);
    fixpipe_relu(&cmd, FIX_RELU_CHANNEL, 192);
    cmd.fix_gm.fb_quant = 64;
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        int c = (int)(i % SIDE), v = 100 * integer(i) / (c % 2 ? 4 : 2) + c - 8;
        v = v < 0 ? v * -c : v;
        CHECK_EQ(c == 5 ? (int)(uint8_t)gm[i] : gm[i],
                 c == 5 ? (v > 255 ? 255 : v) : saturate(v));
    }
}
