/* SPDX-License-Identifier: MIT
 *
 * A 4:2 sparse product from GM to GM: ND2NZ, LOAD2D_L0A, SPARSE_L1_L0B, MMAD_SPARSE and
 * the fixpipe, against the product with the whole b.
 */
#include <string.h>

#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "tests/target/engine.h"

enum {
    M = 21,
    N = 27,
    K = 100,
    ROWS = K / 2, /* that L0B holds */
    N16 = 32,
    FRACTALS = 2 * 2,
    A_L1 = 0,
    B_L1 = 16 << 10,
    INDEX_L1 = 24 << 10,
    L0A_AT = 1024,
    L0B_AT = 1536,
    L0C_AT = 2048,
};

static int8_t a[M * K], b[N * K]; /* b by columns, and so is what is left of it */
static int8_t dense[N * ROWS];
static uint8_t which[FRACTALS * SPARSE_INDEX_BYTES];
static int32_t out[M * N];

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

    mte_gm_to_l1_nz(&cmd, A_L1, a, TYPE_S8, M, K, K, M);
    run_on(PIPE_MTE2, &cmd);
    mte_gm_to_l1_nz(&cmd, B_L1, dense, TYPE_S8, N, ROWS, ROWS, N16);
    run_on(PIPE_MTE2, &cmd);
    mte_gm_to_ub(&cmd, INDEX_L1, which, sizeof(which));
    cmd.head.opcode = OP_COPY_GM_L1;
    run_on(PIPE_MTE2, &cmd);
    mte_l1_to_l0a(&cmd, L0A_AT, A_L1, TYPE_S8, M, K, M);
    run_on(PIPE_MTE1, &cmd);
    mte_l1_to_l0b_sparse(&cmd, L0B_AT, B_L1, INDEX_L1, FRACTALS);
    run_on(PIPE_MTE1, &cmd);
}

static void check_product(unsigned times)
{
    union cmd cmd;

    memset(out, 0x55, sizeof(out));
    fixpipe_to_gm(&cmd, TYPE_S32, out, L0C_AT, M, N, N, 32, QUANT_NONE);
    run_on(PIPE_FIX, &cmd);
    for (unsigned i = 0; i < M * N; i++) {
        int32_t sum = 0;

        for (unsigned x = 0; x < K; x++) {
            sum += a[i / N * K + x] * b[i % N * K + x];
        }
        CHECK_EQ(out[i], (int32_t)times * sum);
    }
}

/* The chip does not have the command, and says so. */
static void check_refused(enum pipe pipe, const union cmd *cmd)
{
    struct fault fault;

    CHECK_OK(pipe_push(core(), pipe, cmd));
    CHECK(core_fault(core(), &fault));
    CHECK_EQ(fault.code, NPU_ERR_CHIP);
    pipe_reset(core(), pipe);
}

TEST(sparse, multiplies_by_2_of_4_rows)
{
    union cmd cmd;

    if (!chip_has_sparse()) {
        mte_l1_to_l0b_sparse(&cmd, 0, 0, 0, 1);
        check_refused(PIPE_MTE1, &cmd);
        cube_mmad_sparse(&cmd, 0, 0, 0, 16, 16, 64, true);
        check_refused(PIPE_M, &cmd);
        return;
    }
    make_operands();
    load_operands();
    CHECK_BYTES(chip_local(core(), NPU_MEM_L0B_INDEX, L0B_AT / 4), which, sizeof(which));
    cube_mmad_sparse(&cmd, L0C_AT, L0A_AT, L0B_AT, M, N, K, true);
    run_on(PIPE_M, &cmd);
    check_product(1);
    cube_mmad_sparse(&cmd, L0C_AT, L0A_AT, L0B_AT, M, N, K, false);
    run_on(PIPE_M, &cmd);
    check_product(2);
}
