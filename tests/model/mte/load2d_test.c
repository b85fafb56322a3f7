/* SPDX-License-Identifier: MIT
 *
 * LOAD2D with and without TRANSPOSE, to L0A and L0B, of every size of an element, against
 * loops that place one element at a time by the layouts of hal/contract/mte.md: squares
 * of Ascend's LoadDataWithTranspose (64 x 64 of 4 bits, 32 x 32 of 8, 16 x 16 of 16 and
 * 32), many of them, and odd sizes. On every host path; single fractals of 4 bits.
 */
#include <string.h>

#include "tests/model/rig.h"
#include "tests/model/tap.h"
#include "tools/emu/model/arith/simd.h"

enum { AREA = 65536, AT = 32 * 3, TO = 1024, MORE = 2 };

static struct rig rig;
static uint8_t want[AREA];

static unsigned up(unsigned x, unsigned unit)
{
    return (x + unit - 1) / unit;
}

/* Element i behind `at`; of two in a byte the first is in bits 3:0. */
static uint32_t get(const uint8_t *at, size_t i, unsigned bits)
{
    uint32_t value = 0;

    if (bits == 4) {
        return at[i / 2] >> (i % 2 * 4) & 0xf;
    }
    memcpy(&value, at + i * (bits / 8), bits / 8);
    return value;
}

static void put(uint8_t *at, size_t i, unsigned bits, uint32_t value)
{
    if (bits == 4) {
        at[i / 2] = (uint8_t)((at[i / 2] & (i % 2 ? 0x0f : 0xf0)) | value << (i % 2 * 4));
    } else {
        memcpy(at + i * (bits / 8), &value, bits / 8);
    }
}

static bool same(enum npu_mem to, union cmd c)
{
    rig_push(&rig, 0, PIPE_MTE1, &c);
    rig_drain(&rig);
    for (unsigned i = 0; i < AREA; i++) {
        if (rig.npu.mem[0][to][i] != want[i]) {
            tap_note("%u x %u: byte %u is %02x, want %02x", c.load2d.n_rows,
                     c.load2d.n_cols, i, rig.npu.mem[0][to][i], want[i]);
            return false;
        }
    }
    return rig_error(&rig, 0, PIPE_MTE1) == 0;
}

/* x is m or n, k the other index of L0's matrix; L1 holds rows of k elements, or (side)
 * of x. */
static bool check(enum op op, enum type type, bool transpose, unsigned xs, unsigned ks)
{
    unsigned bits = type_bits(type), c0 = type_c0(type);
    bool l0b = op == OP_LOAD2D_L0B, side = l0b != transpose;
    unsigned xb = up(xs, 16), kb = up(ks, c0), rows = side ? ks : xs;
    const uint8_t *l1 = rig.npu.mem[0][NPU_MEM_L1] + AT;
    enum npu_mem to = l0b ? NPU_MEM_L0B : NPU_MEM_L0A;
    union cmd c = rig_command(op, type);

    npu_reset(&rig.npu, rig.now);
    memset(rig.npu.mem[0][to], 0xa5, AREA);
    memset(want, 0xa5, AREA);
    for (unsigned x = 0; x < xb * 16; x++) {
        for (unsigned k = 0; k < kb * c0; k++) {
            unsigned fractal = l0b ? k / c0 * xb + x / 16 : x / 16 * kb + k / c0;
            unsigned r = side ? k : x, col = side ? x : k;
            size_t from = (size_t)(col / c0 * (rows + MORE) + r) * c0 + col % c0;

            put(want + TO, fractal * 16ul * c0 + x % 16 * c0 + k % c0, bits,
                x < xs && k < ks ? get(l1, from, bits) : 0);
        }
    }
    c.head.flags = transpose ? LOAD2D_L0A_TRANSPOSE : 0;
    c.load2d.src = AT;
    c.load2d.dst = TO;
    c.load2d.n_rows = (uint16_t)(l0b ? ks : xs);
    c.load2d.n_cols = (uint16_t)(l0b ? xs : ks);
    c.load2d.src_c0_stride = (uint16_t)(rows + MORE);
    return same(to, c);
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

/* A fractal is 512 bytes whatever is in it. */
static void test_fractals(void)
{
    static const enum op ops[] = {OP_FRACTALS_L1_L0A, OP_FRACTALS_L1_L0B};
    static const enum npu_mem to[] = {NPU_MEM_L0A, NPU_MEM_L0B};

    for (unsigned i = 0; i < 2; i++) {
        union cmd c = rig_command(ops[i], TYPE_S4);
        const uint8_t *l1 = rig.npu.mem[0][NPU_MEM_L1];

        npu_reset(&rig.npu, rig.now);
        memset(rig.npu.mem[0][to[i]], 0xa5, AREA);
        memset(want, 0xa5, AREA);
        memcpy(want + 1024, l1 + 96 + 2 * 512, 512);
        memcpy(want + 1024 + 2 * 512, l1 + 96 + 5 * 512, 512);
        c.fractals.dst = 1024;
        c.fractals.src = 96;
        c.fractals.start = 2;
        c.fractals.src_stride = 3;
        c.fractals.dst_gap = 1;
        c.fractals.repeat = 2;
        ok(same(to[i], c), "load2d/fractals_of_4bit_to_%s", i ? "l0b" : "l0a");
        c.head.flags = FRACTALS_L1_L0A_TRANSPOSE;
        rig_push(&rig, 0, PIPE_MTE1, &c);
        rig_drain(&rig);
        ok(rig_error(&rig, 0, PIPE_MTE1) == NPU_ERR_TYPE &&
               memcmp(rig.npu.mem[0][to[i]], want, AREA) == 0,
           "load2d/refuses_transposed_fractals_of_4bit_to_%s", i ? "l0b" : "l0a");
    }
}

/* What Ascend has no 4 bits for. */
static void test_refused(void)
{
    static const enum op ops[] = {OP_INIT_L0A, OP_INIT_L0B, OP_INIT_L1, OP_COPY_PAD_GM_UB,
                                  OP_COPY_PAD_GM_L1};

    for (unsigned i = 0; i < 5; i++) {
        enum pipe pipe = (enum pipe)cmd_find(ops[i])->pipe;
        union cmd c = rig_command(ops[i], TYPE_S4);
        uint64_t error;

        npu_reset(&rig.npu, rig.now);
        rig_push(&rig, 0, pipe, &c);
        rig_drain(&rig);
        error = rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR));
        ok(field_get(PIPE_ERROR_CODE, error) == NPU_ERR_TYPE &&
               field_get(PIPE_ERROR_FIELD, error) == offsetof(struct cmd_head, type),
           "load2d/refuses_4bit_in_%s", cmd_find(ops[i])->name);
    }
}

int main(void)
{
    uint64_t x = 7;

    rig_open(&rig, 1, PROFILE_a2);
    for (unsigned i = 0; i < npu_mem_size(PROFILE_a2, NPU_MEM_L1); i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        rig.npu.mem[0][NPU_MEM_L1][i] = (uint8_t)(x >> 56);
    }
    simd_limit(SIMD_AVX2);
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        test_sizes(level);
    }
    test_fractals();
    test_refused();
    rig_close(&rig);
    return tap_done();
}
