/* SPDX-License-Identifier: MIT
 *
 * S4 through the DMA: rows in GM, two elements a byte, to L1, L0A and L0B and through
 * MMAD, against plain loops; layouts as mte.md has them, over the whole memory; rules.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rules/rule.h"
#include "tests/test.h"

enum {
    A_GM = 3, /* any byte */
    B_GM = 65536 + 1,
    B_L1 = 65536,
    BYTES = 65536,
    ROWS = 3 /* more in a block of L1 than the matrix has */
};
static uint8_t want[BYTES];

/* A fresh chip with noise in GM and L1; L0A and L0B are known. */
static void start(void)
{
    fresh();
    noise(rig.gm, 2 * BYTES);
    noise(mem(NPU_MEM_L1), 2 * BYTES);
    memset(mem(NPU_MEM_L0A), 0xa5, BYTES);
    memset(mem(NPU_MEM_L0B), 0xa5, BYTES);
    memset(want, 0xa5, BYTES);
}

static int number(const uint8_t *at, size_t i)
{
    return (int)(element_get(at, i, 4) ^ 8) - 8;
}

/* --- commands --- */

static union cmd nd2nz(uint32_t l1, uint32_t gm, unsigned rows, unsigned cols,
                       unsigned pitch)
{
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_S4);

    c.nd2nz.src = RIG_GM_BASE + gm;
    c.nd2nz.dst = l1;
    c.nd2nz.src_pitch = pitch;
    c.nd2nz.n_rows = (uint16_t)rows;
    c.nd2nz.n_cols = (uint16_t)cols;
    c.nd2nz.n_mats = 1;
    c.nd2nz.dst_c0_stride = (uint16_t)(rows + ROWS);
    c.nd2nz.dst_row_stride = 1;
    return c;
}

/* rows x k of L1, blocks block_rows apart: the rows are m of a, or n of b. */
static union cmd load(enum op op, uint32_t l1, unsigned rows, unsigned k,
                      unsigned block_rows)
{
    union cmd c = rig_command(op, TYPE_S4);

    c.head.flags = op == OP_LOAD2D_L0B ? LOAD2D_L0B_TRANSPOSE : 0;
    c.load2d.src = l1;
    c.load2d.n_rows = (uint16_t)(op == OP_LOAD2D_L0B ? k : rows);
    c.load2d.n_cols = (uint16_t)(op == OP_LOAD2D_L0B ? rows : k);
    c.load2d.src_c0_stride = (uint16_t)block_rows;
    return c;
}

/* --- a product --- */

/* c = a x b; a is m x k in GM, b lies there transposed, n x k; rows of both `pitch`
 * elements apart. */
static bool product(unsigned m, unsigned n, unsigned k, unsigned pitch)
{
    union cmd c = rig_command(OP_MMAD, TYPE_S4);
    unsigned bad = 0;

    start();
    bad |= run(nd2nz(0, A_GM, m, k, pitch));
    bad |= run(nd2nz(B_L1, B_GM, n, k, pitch));
    bad |= run(load(OP_LOAD2D_L0A, 0, m, k, m + ROWS));
    bad |= run(load(OP_LOAD2D_L0B, B_L1, n, k, n + ROWS));
    c.head.flags = MMAD_INIT;
    c.mmad.m = (uint16_t)m;
    c.mmad.n = (uint16_t)n;
    c.mmad.k = (uint16_t)k;
    bad |= run(c);
    for (unsigned i = 0; i < m; i++) {
        for (unsigned j = 0; j < n; j++) {
            int32_t sum = 0, got;
            for (unsigned x = 0; x < k; x++) {
                sum += number(rig.gm + A_GM, (size_t)i * pitch + x) *
                       number(rig.gm + B_GM, (size_t)j * pitch + x);
            }
            memcpy(&got,
                   mem(NPU_MEM_L0C) + (j / 16 * up(m, 16) * 16 + i) * 64 + j % 16 * 4, 4);
            if (got != sum) {
                test_note("c(%u, %u) is %d, want %d", i, j, (int)got, (int)sum);
                return false;
            }
        }
    }
    return bad == 0;
}

TEST(int4, products)
{
    static const unsigned ks[] = {64, 96, 2, 190};

    for (unsigned i = 0; i < 4; i++) {
        unsigned k = ks[i];
        ok(product(16, 16, k, k), "int4/product_16_16_%u", k);
        ok(product(16, 20, k, k + 6), "int4/product_16_20_%u", k);
        ok(product(20, 16, k, k + 6), "int4/product_20_16_%u", k);
        ok(product(20, 20, k, k + 34), "int4/product_20_20_%u", k);
        ok(product(1, 17, k, k), "int4/product_1_17_%u", k);
    }
}

/* --- layouts --- */

/* Two matrices of 5 x 70: blocks of 64, the second is filled up with zeros. */
static bool check_nd2nz(void)
{
    enum { M = 5, N = 70, PITCH = 74, SRC = 500, DST = 64 * 30, DST_AT = 64 };
    union cmd c = nd2nz(DST_AT, A_GM, M, N, PITCH);

    start();
    c.nd2nz.n_mats = 2;
    c.nd2nz.src_nd_stride = SRC;
    c.nd2nz.dst_nd_stride = DST;
    memcpy(want, mem(NPU_MEM_L1), BYTES);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned r = 0; r < M; r++) {
            for (unsigned x = 0; x < 128; x++) {
                element_put(
                    want + DST_AT,
                    (size_t)i * DST + x / 64 * (M + ROWS) * 64 + r * 64 + x % 64, 4,
                    x < N ? element_get(rig.gm + A_GM, (size_t)i * SRC + r * PITCH + x, 4)
                          : 0);
            }
        }
    }
    return run(c) == 0 && same(mem(NPU_MEM_L1), want, BYTES);
}

/* A window that begins at a row and a block inside L1's matrix. */
static bool check_load(enum op op, unsigned rows, unsigned k)
{
    enum { AT = 32 * (40 + 7), BLOCK_ROWS = 40, TO = 1024 };
    enum npu_mem to = op == OP_LOAD2D_L0A ? NPU_MEM_L0A : NPU_MEM_L0B;
    union cmd c = load(op, AT, rows, k, BLOCK_ROWS);
    unsigned down = up(rows, 16), across = up(k, 64);

    start();
    c.load2d.dst = TO;
    for (unsigned r = 0; r < down * 16; r++) {
        for (unsigned x = 0; x < across * 64; x++) {
            unsigned fractal =
                op == OP_LOAD2D_L0A ? r / 16 * across + x / 64 : x / 64 * down + r / 16;
            element_put(want + TO, fractal * 1024 + r % 16 * 64 + x % 64, 4,
                        r < rows && x < k
                            ? element_get(mem(NPU_MEM_L1) + AT,
                                          x / 64 * BLOCK_ROWS * 64 + r * 64 + x % 64, 4)
                            : 0);
        }
    }
    return run(c) == 0 && same(mem(to), want, BYTES);
}

TEST(int4, layouts)
{
    ok(check_nd2nz(), "int4/nd2nz_of_two_matrices");
    ok(check_load(OP_LOAD2D_L0A, 20, 96) && check_load(OP_LOAD2D_L0A, 33, 64) &&
           check_load(OP_LOAD2D_L0A, 1, 130),
       "int4/load2d_l0a");
    ok(check_load(OP_LOAD2D_L0B, 20, 96) && check_load(OP_LOAD2D_L0B, 33, 64) &&
           check_load(OP_LOAD2D_L0B, 1, 130),
       "int4/load2d_l0b");
}

/* --- rules --- */

/* clang-format off */
static const struct rule rules[] = {
    {"odd_columns", OP_ND2NZ_GM_L1, WRONG(nd2nz, n_cols, 95, ALIGN)},
    {"an_odd_pitch", OP_ND2NZ_GM_L1, WRONG(nd2nz, src_pitch, 97, ALIGN)},
    {"an_odd_distance_in_gm", OP_ND2NZ_GM_L1, WRONG(nd2nz, src_nd_stride, 4001, ALIGN)},
    {"half_a_block_in_l1", OP_ND2NZ_GM_L1, WRONG(nd2nz, dst_nd_stride, 6400 + 32, ALIGN)},
    {"a_block_and_a_nibble_in_l1", OP_ND2NZ_GM_L1, WRONG(nd2nz, dst_nd_stride, 6400 + 1, ALIGN)},
    {"odd_k_in_l0a", OP_LOAD2D_L0A, WRONG(load2d, n_cols, 95, ALIGN)},
    {"odd_k_in_l0b", OP_LOAD2D_L0B, WRONG(load2d, n_rows, 95, ALIGN)},
};
/* clang-format on */

static union cmd good(const struct rule *rule)
{
    union cmd c;

    if (rule->op != OP_ND2NZ_GM_L1) {
        return load(rule->op, 0, 21, 96, 40); /* odd rows are fine */
    }
    c = nd2nz(0, A_GM, 20, 96, 98);
    c.nd2nz.n_mats = 2;
    c.nd2nz.src_nd_stride = 4000;
    c.nd2nz.dst_nd_stride = 6400;
    return c;
}

TEST(int4, rules)
{
    check_rules("int4/refuses_", rules, LENGTH(rules), good, NULL);
}
