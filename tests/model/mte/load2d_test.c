/* SPDX-License-Identifier: MIT
 *
 * LOAD2D with and without TRANSPOSE, to L0A and L0B, of every size of an element, against
 * loops that place one element at a time by the layouts of hal/contract/mte.md: squares
 * of Ascend's LoadDataWithTranspose (64 x 64 of 4 bits, 32 x 32 of 8, 16 x 16 of 16 and
 * 32), many of them, and odd sizes. On every host path; single fractals of 4 bits.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/arith/simd.h"

enum { AREA = 65536, AT = 32 * 3, TO = 1024, MORE = 2 };

static uint8_t want[AREA];

static bool loads(enum npu_mem to, union cmd c)
{
    unsigned error = run(c);

    if (error == 0 && same(mem(to), want, AREA)) {
        return true;
    }
    test_note("%u x %u: %s", c.load2d.n_rows, c.load2d.n_cols, npu_error_name(error));
    return false;
}

/* x is m or n, k the other index of L0's matrix; L1 holds rows of k elements, or (side)
 * of x. */
static bool check(enum op op, enum type type, bool transpose, unsigned xs, unsigned ks)
{
    unsigned bits = type_bits(type), c0 = type_c0(type);
    bool l0b = op == OP_LOAD2D_L0B, side = l0b != transpose;
    unsigned xb = up(xs, 16), kb = up(ks, c0), rows = side ? ks : xs;
    const uint8_t *l1 = mem(NPU_MEM_L1) + AT;
    enum npu_mem to = l0b ? NPU_MEM_L0B : NPU_MEM_L0A;
    union cmd c = rig_command(op, type);

    npu_reset(&rig.npu, rig.now);
    memset(mem(to), 0xa5, AREA);
    memset(want, 0xa5, AREA);
    for (unsigned x = 0; x < xb * 16; x++) {
        for (unsigned k = 0; k < kb * c0; k++) {
            unsigned fractal = l0b ? k / c0 * xb + x / 16 : x / 16 * kb + k / c0;
            unsigned r = side ? k : x, col = side ? x : k;
            size_t from = (size_t)(col / c0 * (rows + MORE) + r) * c0 + col % c0;

            element_put(want + TO, fractal * 16ul * c0 + x % 16 * c0 + k % c0, bits,
                        x < xs && k < ks ? element_get(l1, from, bits) : 0);
        }
    }
    c.head.flags = transpose ? LOAD2D_L0A_TRANSPOSE : 0;
    c.load2d.src = AT;
    c.load2d.dst = TO;
    c.load2d.n_rows = (uint16_t)(l0b ? ks : xs);
    c.load2d.n_cols = (uint16_t)(l0b ? xs : ks);
    c.load2d.src_c0_stride = (uint16_t)(rows + MORE);
    return loads(to, c);
}

static void test_sizes(enum simd level)
{
    static const enum type types[] = {TYPE_S4, TYPE_U8, TYPE_F16, TYPE_S32};
    static const unsigned sizes[] = {1, 2, 15, 16, 30, 32, 63, 64, 66, 95, 97, 112};

    for (unsigned t = 0; t < 4; t++) {
        for (unsigned i = 0; i < 4; i++) {
            enum op op = i < 2 ? OP_LOAD2D_L0A : OP_LOAD2D_L0B;
            unsigned square = types[t] == TYPE_S32 ? 16 : type_c0(types[t]);
            bool good = check(op, types[t], i % 2, square, square);

            ok(good, "load2d/square_%s%s_%ubit_%s", i < 2 ? "l0a" : "l0b",
               i % 2 ? "_t" : "", 4u << t, simd_name(level));
            for (unsigned n = 0; n < 144; n++) {
                unsigned k = sizes[n % 12];
                good = check(op, types[t], i % 2, sizes[n / 12], t ? k : 2 * k) && good;
            }
            ok(good, "load2d/%s%s_%ubit_%s", i < 2 ? "l0a" : "l0b", i % 2 ? "_t" : "",
               4u << t, simd_name(level));
        }
    }
}

static void start(void)
{
    fresh();
    noise(mem(NPU_MEM_L1), npu_mem_size(PROFILE_a2, NPU_MEM_L1));
}

TEST(load2d, sizes)
{
    start();
    simd_limit(SIMD_AVX2); /* there is no path above it */
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        test_sizes(level);
    }
}

/* A fractal is 512 bytes whatever is in it. */
TEST(load2d, fractals)
{
    static const enum op ops[] = {OP_FRACTALS_L1_L0A, OP_FRACTALS_L1_L0B};
    static const enum npu_mem to[] = {NPU_MEM_L0A, NPU_MEM_L0B};

    start();
    for (unsigned i = 0; i < 2; i++) {
        union cmd c = rig_command(ops[i], TYPE_S4);
        const uint8_t *l1 = mem(NPU_MEM_L1);

        npu_reset(&rig.npu, rig.now);
        memset(mem(to[i]), 0xa5, AREA);
        memset(want, 0xa5, AREA);
        memcpy(want + 1024, l1 + 96 + 2 * 512, 512);
        memcpy(want + 1024 + 2 * 512, l1 + 96 + 5 * 512, 512);
        c.fractals.dst = 1024;
        c.fractals.src = 96;
        c.fractals.start = 2;
        c.fractals.src_stride = 3;
        c.fractals.dst_gap = 1;
        c.fractals.repeat = 2;
        ok(loads(to[i], c), "load2d/fractals_of_4bit_to_%s", i ? "l0b" : "l0a");
        c.head.flags = FRACTALS_L1_L0A_TRANSPOSE;
        ok(run(c) == NPU_ERR_TYPE && memcmp(mem(to[i]), want, AREA) == 0,
           "load2d/refuses_transposed_fractals_of_4bit_to_%s", i ? "l0b" : "l0a");
    }
}

/* What Ascend has no 4 bits for. */
TEST(load2d, refused)
{
    static const enum op ops[] = {OP_INIT_L0A, OP_INIT_L0B, OP_INIT_L1, OP_COPY_PAD_GM_UB,
                                  OP_COPY_PAD_GM_L1};

    for (unsigned i = 0; i < 5; i++) {
        npu_reset(&rig.npu, rig.now);
        ok(refused(rig_command(ops[i], TYPE_S4), NPU_ERR_TYPE,
                   offsetof(struct cmd_head, type)),
           "load2d/refuses_4bit_in_%s", cmd_find(ops[i])->name);
    }
}
