/* SPDX-License-Identifier: MIT
 *
 * A 4:2 sparse product from GM to GM: ND2NZ, LOAD2D_L0A, SPARSE_L1_L0B, MMAD_SPARSE and
 * the fixpipe, against the product with the whole b.
 */
#include <string.h>

#include "tests/target/engine.h"

enum {
    M = 21,
    N = 27,
    K = 100,
    ROWS = K / 2, /* that L0B holds */
    N16 = 32,
    FRACTALS = 2 * 2,
    INDEX_L1 = 48 << 10,
};

static int8_t a[M * K], b[N * K]; /* b by columns, and so is what is left of it */
static int8_t dense[N * ROWS];
static uint8_t which[FRACTALS * SPARSE_INDEX_BYTES];
static int32_t out[M * N];
static struct product p = {.type = TYPE_S8,
                           .a = a,
                           .m = M,
                           .n = N,
                           .k = K,
                           .a_at = 1024,
                           .b_at = 1536,
                           .c_at = 2048};

/* Number x of column c of the dense b. */
static void keep(unsigned c, unsigned x, int8_t value, unsigned position)
{
    unsigned fractal = x / 32 * (N16 / 16) + c / 16;
    unsigned byte = fractal * 512 + c % 16 * 32 + x % 32; /* of L0B */

    dense[c * ROWS + x] = value;
    which[byte / 4] |= (uint8_t)(position << byte % 4 * 2);
}

/* b has 0, 1 or 2 numbers other than 0 in each 4 of a column. */
static void make_operands(void)
{
    memset(which, 0, sizeof(which));
    memset(b, 0, sizeof(b));
    for (unsigned i = 0; i < M * K; i++) {
        a[i] = (int8_t)(i * 2654435761u >> 24);
    }
    for (unsigned i = 0; i < N * K / 4; i++) {
        uint32_t bits = (i + 1) * 2654435761u;
        unsigned c = i / (K / 4), x = i % (K / 4) * 2;
        unsigned first = bits >> 8 & 3, second = bits >> 10 & 3;
        int8_t *four = b + 4 * i, low = (int8_t)(bits >> 16 | 1),
               high = (int8_t)(bits | 1);

        if (first < second) {
            four[first] = low;
            four[second] = high;
            keep(c, x, low, first);
            keep(c, x + 1, high, second - 1);
        } else if (first > second && first < 3) {
            four[first] = low;
            keep(c, x, low, first);
            keep(c, x + 1, 0, 0);
        } else if (first > second) {
            four[3] = high;
            keep(c, x, 0, 0);
            keep(c, x + 1, high, 2);
        } else {
            keep(c, x, 0, 0);
            keep(c, x + 1, 0, 0);
        }
    }
}

static void load_operands(void)
{
    union cmd cmd;

    run_load_a(&p);
    mte_gm_to_l1_nz(&cmd, PRODUCT_B_L1, dense,
                    &(struct mte_nz){
                        .type = TYPE_S8, .n_rows = N, .n_cols = ROWS, .block_rows = N16});
    run_on(PIPE_MTE2, &cmd);
    mte_gm_to_l1(&cmd, INDEX_L1, which, sizeof(which));
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0b_sparse(&cmd, p.b_at, PRODUCT_B_L1, INDEX_L1, FRACTALS);
    run_on(PIPE_MTE1, &cmd);
}

static void check_product(unsigned times)
{
    memset(out, 0x55, sizeof(out));
    run_fetch(&p, out, QUANT_NONE);
    for (unsigned i = 0; i < M * N; i++) {
        int32_t sum = 0;

        for (unsigned x = 0; x < K; x++) {
            sum += a[i / N * K + x] * b[i % N * K + x];
        }
        CHECK_EQ(out[i], (int32_t)times * sum);
    }
}

static void run_sparse(enum cube_from from)
{
    struct cube_mmad mmad;
    union cmd cmd;

    p.from = from;
    mmad = product_mmad(&p);
    cube_mmad_sparse(&cmd, &mmad);
    run_on(PIPE_M, &cmd);
}

TEST(sparse, multiplies_by_2_of_4_rows)
{
    union cmd cmd;

    if (!chip_has_sparse()) {
        mte_l1_to_l0b_sparse(&cmd, 0, 0, 0, 1);
        check_refused(PIPE_MTE1, &cmd);
        cube_mmad_sparse(&cmd,
                         &(struct cube_mmad){.type = TYPE_S8, .m = 16, .n = 16, .k = 64});
        check_refused(PIPE_M, &cmd);
        test_skip("this chip's Cube refuses a sparse b");
        return;
    }
    make_operands();
    load_operands();
    CHECK_BYTES(chip_local(core(), NPU_MEM_L0B_INDEX, p.b_at / 4), which, sizeof(which));
    run_sparse(CUBE_FROM_ZERO);
    check_product(1);
    run_sparse(CUBE_FROM_C);
    check_product(2);
}
