/* SPDX-License-Identifier: MIT
 *
 * MMAD of every type, from zero, from c and from the bias table, and as GEMV. The hart
 * lays the operands out in L0A, L0B and BT itself and reads L0C.
 */
#include <math.h>
#include <string.h>

#include "tests/target/engine.h"

enum { M = 18, N = 20, K = 70, BIAS_AT = 64 };

static uint8_t *l0a, *l0b;
static float x_of[M * K], y_of[K * N], start[N];

/* m rows of what lay_out() has put there. */
static void multiply(enum type type, unsigned m, enum cube_from from, uint8_t flags)
{
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = type,
                                        .m = m,
                                        .n = N,
                                        .k = K,
                                        .from = from,
                                        .bias = from == CUBE_FROM_BIAS ? BIAS_AT : 0,
                                        .flags = flags});
    run_on(PIPE_M, &cmd);
}

/* False on a chip without the type, which then refuses it: the rest is skipped. */
static bool has(enum type type)
{
    union cmd cmd;

    if (chip_has_type(PIPE_M, type)) {
        return true;
    }
    cube_mmad(&cmd, &(struct cube_mmad){.type = type, .m = 1, .n = 1, .k = 1});
    check_refused(PIPE_M, &cmd);
    test_skip("this chip's Cube refuses the type");
    return false;
}

/* Element `at` of a memory: an integer, or fp32 whose low bits the type has not. */
static void put(uint8_t *mem, enum type type, unsigned at, float value)
{
    int i = (int)value;

    switch (type) {
    case TYPE_S4:
        mem[at / 2] = (uint8_t)(at % 2 ? (mem[at / 2] & 15) | i << 4
                                       : (mem[at / 2] & 0xf0) | (i & 15));
        return;
    case TYPE_S8:
        mem[at] = (uint8_t)i;
        return;
    case TYPE_BF16:
        memcpy(mem + at * 2, (uint8_t *)&value + 2, 2);
        return;
    default:
        memcpy(mem + at * 4, &value, 4);
    }
}

/* keep: bits of an fp32 that the type has; 0: integers from -8 to 7. */
static float element(unsigned i, uint32_t keep)
{
    uint32_t bits = i * 2654435761u;
    float value;

    if (keep == 0) {
        return (float)(int)(bits >> 28) - 8;
    }
    bits = ((bits & 0x807fffff) | (120 + i % 13) << 23) & keep;
    memcpy(&value, &bits, 4);
    return value;
}

/* Operands of m rows. Fractals are 16 rows of 32 bytes; gemv: a is a plain row. */
static void lay_out(enum type type, uint32_t keep, unsigned m, bool gemv)
{
    unsigned c0 = type_c0(type), kb = (K + c0 - 1) / c0, nb = (N + 15) / 16;

    l0a = chip_local(core(), NPU_MEM_L0A, 0);
    l0b = chip_local(core(), NPU_MEM_L0B, 0);
    for (unsigned k = 0; k < K; k++) {
        for (unsigned r = 0; r < m; r++) {
            unsigned at = (r / 16 * kb + k / c0) * 16 * c0 + r % 16 * c0 + k % c0;

            x_of[r * K + k] = element(r * K + k, keep);
            put(l0a, type, gemv ? k : at, x_of[r * K + k]);
        }
        for (unsigned c = 0; c < N; c++) {
            unsigned at = (k / c0 * nb + c / 16) * 16 * c0 + c % 16 * c0 + k % c0;

            y_of[k * N + c] = element(5000 + k * N + c, keep);
            put(l0b, type, at, y_of[k * N + c]);
        }
    }
}

static void check_floats(unsigned m, const float *bias, unsigned times)
{
    const float *l0c = chip_local(core(), NPU_MEM_L0C, 0);

    for (unsigned r = 0; r < m; r++) {
        for (unsigned c = 0; c < N; c++) {
            unsigned at =
                (c / 16 * ((m + 15) / 16) + r / 16) * 256 + r % 16 * 16 + c % 16;
            float sum = bias ? bias[c] : 0;

            for (unsigned k = 0; k < K * times; k++) {
                sum = fmaf(x_of[r * K + k % K], y_of[k % K * N + c], sum);
            }
            CHECK_BYTES(&l0c[at], &sum, 4);
        }
    }
}

static void check_integers(unsigned m)
{
    const int32_t *l0c = chip_local(core(), NPU_MEM_L0C, 0);

    for (unsigned r = 0; r < m; r++) {
        for (unsigned c = 0; c < N; c++) {
            unsigned at =
                (c / 16 * ((m + 15) / 16) + r / 16) * 256 + r % 16 * 16 + c % 16;
            int sum = 0;

            for (unsigned k = 0; k < K; k++) {
                sum += (int)x_of[r * K + k] * (int)y_of[k * N + c];
            }
            CHECK_EQ(l0c[at], sum);
        }
    }
}

TEST(cube, multiplies_bfloats)
{
    if (!has(TYPE_BF16)) {
        return;
    }
    lay_out(TYPE_BF16, 0xffff0000, M, false);
    multiply(TYPE_BF16, M, CUBE_FROM_ZERO, 0);
    check_floats(M, NULL, 1);
}

TEST(cube, multiplies_floats_and_adds)
{
    if (!has(TYPE_F32)) {
        return;
    }
    lay_out(TYPE_F32, 0xffffffff, M, false);
    multiply(TYPE_F32, M, CUBE_FROM_ZERO, 0);
    check_floats(M, NULL, 1);
    multiply(TYPE_F32, M, CUBE_FROM_C, 0);
    check_floats(M, NULL, 2);
}

/* Operands a little above and below a number of 11 bits are taken for it. */
TEST(cube, hf32_rounds_its_operands)
{
    if (!has(TYPE_F32)) {
        return;
    }
    lay_out(TYPE_F32, 0xfffff000, M, false);
    for (unsigned i = 0; i < 512; i += 4) {
        int32_t bits;

        memcpy(&bits, l0a + i, 4);
        bits += i % 8 ? 0x7ff : -0x7ff;
        memcpy(l0a + i, &bits, 4);
    }
    multiply(TYPE_F32, M, CUBE_FROM_ZERO, MMAD_HF32);
    check_floats(M, NULL, 1);
}

TEST(cube, multiplies_nibbles)
{
    if (!has(TYPE_S4)) {
        return;
    }
    lay_out(TYPE_S4, 0, M, false);
    multiply(TYPE_S4, M, CUBE_FROM_ZERO, 0);
    check_integers(M);
}

TEST(cube, begins_with_the_bias)
{
    float *bt = chip_local(core(), NPU_MEM_BT, BIAS_AT);

    if (!has(TYPE_BF16)) {
        return;
    }
    for (unsigned c = 0; c < N; c++) {
        start[c] = bt[c] = element(c, 0xffffffff);
    }
    lay_out(TYPE_BF16, 0xffff0000, M, false);
    multiply(TYPE_BF16, M, CUBE_FROM_BIAS, 0);
    check_floats(M, start, 1);
}

TEST(cube, gemv_takes_a_plain_row)
{
    if (!has(TYPE_F32)) {
        return;
    }
    lay_out(TYPE_F32, 0xffffffff, 1, true);
    multiply(TYPE_F32, 1, CUBE_FROM_ZERO, MMAD_GEMV);
    check_floats(1, NULL, 1);
    lay_out(TYPE_S8, 0, 1, true);
    multiply(TYPE_S8, 1, CUBE_FROM_ZERO, MMAD_GEMV);
    check_integers(1);
}
