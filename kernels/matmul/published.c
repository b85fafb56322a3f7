/* SPDX-License-Identifier: MIT
 *
 * The product as pto-isa's published GEMM computes it (matmul.h, `published`), so that its
 * times on a card can be held against the model's: every core has a rectangle of c and walks
 * its tiles of 128 x 256 row by row; one task issues everything, in the order of the data.
 *
 *   L1   two slots of a (128 x 4 slices of k) and of b (4 slices x 256): an issue of four
 *   L0   two slices of a and of b, 128 and 256 wide, 64 of k in fp16
 *   L0C  one tile, so the Cube waits while the fixpipe drains it
 */
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "kernels/lib/share.h"
#include "kernels/matmul/published.h"
#include "sched/launch.h"

/* Of this tiling; FREE counts empty buffers, FULL filled ones. */
enum { A_FREE, A_FULL, B_FREE, B_FULL, L0_FREE, L0_FULL, C_FREE, C_FULL };

enum {
    TM = 128,       /* rows of a tile */
    TN = 256,       /* its columns */
    KL_BYTES = 128, /* of a row of a slice */
    STEPS = 4,      /* slices that a load from GM brings */
    L1_A = TM * KL_BYTES * STEPS,
    L1_B = TN * KL_BYTES * STEPS,
    L0_A = TM * KL_BYTES,
    L0_B = TN * KL_BYTES,
};

/* Where a core is: tile and its size, k and the size of the chunk, buffers counted up. */
struct walk {
    const struct matmul *p;
    uint32_t esize, kl;
    uint32_t m0, mt, n0, nt, k0, kt;
    unsigned l1, l0;
};

static const void *element(const void *base, uint64_t row, uint64_t pitch, uint64_t col,
                           uint32_t esize)
{
    return (const char *)base + (row * pitch + col) * esize;
}

static uint32_t l1_a(const struct walk *w)
{
    return w->l1 % 2 * L1_A;
}

static uint32_t l1_b(const struct walk *w)
{
    return 2 * L1_A + w->l1 % 2 * L1_B;
}

static void copy_in(const struct walk *w)
{
    const struct matmul *p = w->p;
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, l1_a(w), element(p->a, w->m0, p->k, w->k0, w->esize),
                    &(struct mte_nz){.type = p->in,
                                     .n_rows = w->mt,
                                     .n_cols = w->kt,
                                     .gm_pitch_elems = p->k,
                                     .block_rows = up16(w->mt)});
    cmd_wait(&cmd, A_FREE, 1);
    cmd_post(&cmd, A_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
    mte_gm_to_l1_nz(
        &cmd, l1_b(w), element(p->b, w->k0, p->n, w->n0, w->esize),
        &(struct mte_nz){
            .type = p->in, .n_rows = w->kt, .n_cols = w->nt, .gm_pitch_elems = p->n});
    cmd_wait(&cmd, B_FREE, 1);
    cmd_post(&cmd, B_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

/* The slice of the chunk that begins with row `at` of b, to L0. */
static void load(const struct walk *w, uint32_t at, uint32_t kl)
{
    uint32_t c0 = 32 / w->esize;
    bool first = at == 0, last = at + kl == w->kt;
    union cmd cmd;

    mte_l1_to_l0a(
        &cmd, w->l0 % 2 * L0_A, l1_a(w) + at / c0 * up16(w->mt) * 32,
        &(struct mte_window){
            .type = w->p->in, .n_rows = w->mt, .n_cols = kl, .block_rows = up16(w->mt)});
    cmd_wait(&cmd, L0_FREE, 1);
    if (first) {
        cmd_wait(&cmd, A_FULL, 1);
    }
    if (last) {
        cmd_post(&cmd, A_FREE, 1);
    }
    task_issue(PIPE_MTE1, &cmd);
    mte_l1_to_l0b(
        &cmd, w->l0 % 2 * L0_B, l1_b(w) + at * 32,
        &(struct mte_window){
            .type = w->p->in, .n_rows = kl, .n_cols = w->nt, .block_rows = w->kt});
    cmd_post(&cmd, L0_FULL, 1);
    if (first) {
        cmd_wait(&cmd, B_FULL, 1);
    }
    if (last) {
        cmd_post(&cmd, B_FREE, 1);
    }
    task_issue(PIPE_MTE1, &cmd);
}

static void multiply(const struct walk *w, uint32_t at, uint32_t kl)
{
    bool begins = w->k0 + at == 0, ends = w->k0 + at + kl == w->p->k;
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = w->p->in,
                                        .a = w->l0 % 2 * L0_A,
                                        .b = w->l0 % 2 * L0_B,
                                        .m = w->mt,
                                        .n = w->nt,
                                        .k = kl,
                                        .from = begins ? CUBE_FROM_ZERO : CUBE_FROM_C});
    cmd_wait(&cmd, L0_FULL, 1);
    cmd_post(&cmd, L0_FREE, 1);
    if (begins) {
        cmd_wait(&cmd, C_FREE, 1);
    }
    if (ends) {
        cmd_post(&cmd, C_FULL, 1);
    }
    task_issue(PIPE_M, &cmd);
}

static void copy_out(const struct walk *w)
{
    const struct matmul *p = w->p;
    void *to = (char *)p->c + ((uint64_t)w->m0 * p->n + w->n0) * type_bits(p->out) / 8;
    union cmd cmd;

    fixpipe_to_gm(&cmd, to, 0,
                  &(struct fixpipe_tile){
                      .type = p->in == TYPE_S8 ? TYPE_S32 : TYPE_F32,
                      .m = w->mt,
                      .n = w->nt,
                      .pitch_elems = p->n,
                      .quant = p->out == TYPE_F16 ? QUANT_F322F16 : QUANT_NONE,
                  });
    cmd_wait(&cmd, C_FULL, 1);
    cmd_post(&cmd, C_FREE, 1);
    task_issue(PIPE_FIX, &cmd);
}

static void tile(struct walk *w)
{
    uint32_t chunk = STEPS * w->kl;

    for (w->k0 = 0; w->k0 < w->p->k; w->k0 += chunk, w->l1++) {
        w->kt = min_u32(chunk, w->p->k - w->k0);
        copy_in(w);
        for (uint32_t at = 0; at < w->kt; at += w->kl, w->l0++) {
            uint32_t kl = min_u32(w->kl, w->kt - at);
            load(w, at, kl);
            multiply(w, at, kl);
        }
    }
    copy_out(w);
}

void matmul_published(void *arg)
{
    const struct published *plan = arg;
    const struct matmul *p = plan->p;
    unsigned row = task_block() / plan->columns, column = task_block() % plan->columns;
    uint32_t m_end = (uint32_t)share_begin(p->m, TM, row + 1, plan->rows);
    uint32_t n_begin = (uint32_t)share_begin(p->n, TN, column, plan->columns);
    uint32_t n_end = (uint32_t)share_begin(p->n, TN, column + 1, plan->columns);
    struct walk w = {.p = p, .esize = type_bits(p->in) / 8};

    w.kl = KL_BYTES / w.esize;
    task_post(A_FREE, 2);
    task_post(B_FREE, 2);
    task_post(L0_FREE, 2);
    task_post(C_FREE, 1);
    for (w.m0 = (uint32_t)share_begin(p->m, TM, row, plan->rows); w.m0 < m_end;
         w.m0 += TM) {
        w.mt = min_u32(TM, m_end - w.m0);
        for (w.n0 = n_begin; w.n0 < n_end; w.n0 += TN) {
            w.nt = min_u32(TN, n_end - w.n0);
            tile(&w);
        }
    }
    task_drain();
    task_wait(A_FREE, 2);
    task_wait(B_FREE, 2);
    task_wait(L0_FREE, 2);
    task_wait(C_FREE, 1);
}

/* Rows of the grid, which is as square as the cores allow: 4 x 6 of 24. */
static unsigned grid_rows(unsigned cores)
{
    unsigned rows = 1;

    for (unsigned r = 1; r * r <= cores; r++) {
        rows = cores % r == 0 ? r : rows;
    }
    return rows;
}

unsigned matmul_plan_published(struct published *plan, const struct matmul *p,
                               unsigned cores)
{
    plan->p = p;
    plan->rows = min_u32((p->m - 1) / TM + 1, grid_rows(cores));
    plan->columns = min_u32((p->n - 1) / TN + 1, cores / plan->rows);
    return plan->rows * plan->columns;
}
