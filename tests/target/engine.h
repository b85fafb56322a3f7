/* SPDX-License-Identifier: MIT
 *
 * Tests of single engines run them on the chip's last core, one command after another.
 * Those that need numbers in L0C make them by a product from GM.
 */
#ifndef TESTS_TARGET_ENGINE_H
#define TESTS_TARGET_ENGINE_H

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/mte_conv.h"
#include "hal/vector.h"
#include "tests/target/test.h"

static inline unsigned core(void)
{
    return chip_cores() - 1;
}

/* Waits until the pipe is empty. */
static inline void wait_for(enum pipe pipe)
{
    for (unsigned i = 0; !pipe_idle(core(), pipe); i++) {
        CHECK(i < 10000);
    }
}

/* Pushes a command and waits until it has ended. */
static inline void run_on(enum pipe pipe, const union cmd *cmd)
{
    CHECK_OK(pipe_push(core(), pipe, cmd));
    wait_for(pipe);
}

/* The commands of the Vector that follow work on n elements. */
static inline void run_count(uint32_t n)
{
    union cmd cmd;

    vector_count(&cmd, n);
    run_on(PIPE_V, &cmd);
}

/* The chip does not have what the command wants, and says so. */
static inline void check_refused(enum pipe pipe, const union cmd *cmd)
{
    struct fault fault;

    CHECK_OK(pipe_push(core(), pipe, cmd));
    CHECK(core_fault(core(), &fault));
    CHECK_EQ(fault.code, NPU_ERR_CHIP);
    pipe_reset(core(), pipe);
}

/* c (m x n) = a (m x k) x b (k x n): a and b lie in rows in GM. */
struct product {
    enum type type;
    const void *a, *b;
    uint32_t m, n, k;
    bool a_by_columns; /* as k x m */
    uint32_t a_at;     /* in L0A */
    uint32_t b_at;     /* in L0B */
    uint32_t c_at;     /* in L0C */
    enum cube_from from;
};

enum { PRODUCT_A_L1 = 0, PRODUCT_B_L1 = 32 << 10 };

/* Rows in GM to fractals in L1, column blocks of n_rows rows. */
static inline void run_nz(uint32_t l1, const void *gm, enum type type, uint32_t n_rows,
                          uint32_t n_cols)
{
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, l1, gm,
                    &(struct mte_nz){.type = type, .n_rows = n_rows, .n_cols = n_cols});
    run_on(PIPE_MTE2, &cmd);
}

static inline void run_load_a(const struct product *p)
{
    uint32_t n_rows = p->a_by_columns ? p->k : p->m;
    union cmd cmd;

    run_nz(PRODUCT_A_L1, p->a, p->type, n_rows, p->a_by_columns ? p->m : p->k);
    mte_l1_to_l0a(&cmd, p->a_at, PRODUCT_A_L1,
                  &(struct mte_window){.type = p->type,
                                       .n_rows = p->m,
                                       .n_cols = p->k,
                                       .block_rows = n_rows,
                                       .transpose = p->a_by_columns});
    run_on(PIPE_MTE1, &cmd);
}

static inline void run_load_b(const struct product *p)
{
    union cmd cmd;

    run_nz(PRODUCT_B_L1, p->b, p->type, p->k, p->n);
    mte_l1_to_l0b(
        &cmd, p->b_at, PRODUCT_B_L1,
        &(struct mte_window){
            .type = p->type, .n_rows = p->k, .n_cols = p->n, .block_rows = p->k});
    run_on(PIPE_MTE1, &cmd);
}

static inline struct cube_mmad product_mmad(const struct product *p)
{
    return (struct cube_mmad){.type = p->type,
                              .c = p->c_at,
                              .a = p->a_at,
                              .b = p->b_at,
                              .m = p->m,
                              .n = p->n,
                              .k = p->k,
                              .from = p->from};
}

static inline void run_mmad(const struct product *p)
{
    struct cube_mmad mmad = product_mmad(p);
    union cmd cmd;

    cube_mmad(&cmd, &mmad);
    run_on(PIPE_M, &cmd);
}

/* All of it: c is in L0C then. */
static inline void run_product(const struct product *p)
{
    run_load_a(p);
    run_load_b(p);
    run_mmad(p);
}

/* The tile that c is. */
static inline struct fixpipe_tile product_tile(const struct product *p, enum quant quant)
{
    bool integer = p->type == TYPE_S8 || p->type == TYPE_S4;

    return (struct fixpipe_tile){
        .type = integer ? TYPE_S32 : TYPE_F32, .m = p->m, .n = p->n, .quant = quant};
}

/* c to rows in GM. */
static inline void run_fetch(const struct product *p, void *gm, enum quant quant)
{
    struct fixpipe_tile tile = product_tile(p, quant);
    union cmd cmd;

    fixpipe_to_gm(&cmd, gm, p->c_at, &tile);
    run_on(PIPE_FIX, &cmd);
}

/* A convolution of 3 x 3 whose results are as many as the pixels of its map. */
static inline struct mte_conv conv_3x3(uint16_t h, uint16_t w, uint16_t channels)
{
    return (struct mte_conv){.map_h = h,
                             .map_w = w,
                             .channels = channels,
                             .filter_h = 3,
                             .filter_w = 3,
                             .pad_left = 1,
                             .pad_right = 1,
                             .pad_top = 1,
                             .pad_bottom = 1};
}

#endif
