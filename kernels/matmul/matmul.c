/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication; see matmul.h.
 *
 * The output is cut into tiles of 128 x 256, walked row of tiles by row. A tile is made
 * of two halves of 128 x 128, each in its own half of L0C, which take turns on every
 * k-chunk: so while the Cube works on the last chunk of the right half, the fixpipe
 * drains the left one, and while the next tile's left half begins, the right one.
 *
 *   L1   two slots of a (128 x KA), two of b (KC x 256), 128 KiB each. If k fits into
 *        both slots of a, the panel of a is loaded once for a whole row of tiles.
 *   L0   two slices of a (128 x KL) and b (KL x 128), 32 KiB each.
 *
 * Rows in GM are then at least 512 bytes long, so DMA runs at full rate (fp16; int8 reads
 * b in rows of 256 bytes). Three tasks a core: copy_in fills L1, compute loads L0 and
 * multiplies, copy_out drains L0C. Each hands its buffers over by semaphores that the
 * engines post; FREE counts empty buffers, FULL filled ones.
 */
#include "kernels/matmul/matmul.h"

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "kernels/lib/share.h"
#include "kernels/matmul/tiles.h"
#include "sched/launch.h"

enum {
    TH = 128,            /* columns of a half */
    L1_SLOT = 128 << 10, /* bytes */
    L0_SLOT = 32 << 10,
    L0C_HALF = 64 << 10,
    BUFFERS = 2, /* of everything */
};

/* How c is cut into blocks. */
struct plan {
    const struct matmul *p;
    unsigned rows, columns;
};

/* What one core does. */
struct share {
    const struct matmul *p;
    uint32_t m_begin, m_end; /* rows of c */
    uint32_t n_begin, n_end; /* columns */
    uint32_t esize;          /* bytes of an element of a and b */
    uint32_t ka, kc, kl;     /* k of an L1 slot of a, of b, of an L0 slice */
    bool resident;           /* the panel of a stays for a row of tiles */
};

static uint32_t l1_a(unsigned slot)
{
    return slot % BUFFERS * L1_SLOT;
}

static uint32_t l1_b(unsigned slot)
{
    return (BUFFERS + slot % BUFFERS) * L1_SLOT;
}

/* --- copy-in: MTE2 --- */

static void copy_in_a(const struct share *s, unsigned slot, uint32_t m0, uint32_t k0)
{
    const struct matmul *p = s->p;
    uint32_t rows = min_u32(TM, s->m_end - m0);
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, l1_a(slot), element(p->a, m0, p->k, k0, s->esize),
                    &(struct mte_nz){.type = p->in,
                                     .n_rows = rows,
                                     .n_cols = min_u32(s->ka, p->k - k0),
                                     .gm_pitch_elems = p->k,
                                     .block_rows = up16(rows)});
    cmd_wait(&cmd, A_FREE, 1);
    cmd_post(&cmd, A_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

static void copy_in_b(const struct share *s, unsigned slot, uint32_t n0, uint32_t k0)
{
    const struct matmul *p = s->p;
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, l1_b(slot), element(p->b, k0, p->n, n0, s->esize),
                    &(struct mte_nz){.type = p->in,
                                     .n_rows = min_u32(s->kc, p->k - k0),
                                     .n_cols = min_u32(TN, s->n_end - n0),
                                     .gm_pitch_elems = p->n});
    cmd_wait(&cmd, B_FREE, 1);
    cmd_post(&cmd, B_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

static void copy_in(void *arg)
{
    const struct share *s = arg;
    unsigned a = 0, b = 0;

    for (uint32_t m0 = s->m_begin; m0 < s->m_end; m0 += TM) {
        for (uint32_t n0 = s->n_begin; n0 < s->n_end; n0 += TN) {
            for (uint32_t k0 = 0; k0 < s->p->k; k0 += s->kc) {
                if (k0 % s->ka == 0 && (n0 == s->n_begin || !s->resident)) {
                    copy_in_a(s, a++, m0, k0);
                }
                copy_in_b(s, b++, n0, k0);
            }
        }
    }
}

/* --- compute: MTE1 and M --- */

/* Where the compute task is. */
struct step {
    uint32_t m0, n0, k0;   /* tile and chunk */
    uint32_t mt, nt, kt;   /* their sizes */
    uint32_t h0, ht;       /* half: first column in the tile, columns */
    unsigned a, b, l0, c;  /* buffers, counted up without end */
    bool a_begins, a_ends; /* the chunk is the first, the last, to use its slot of a */
    /* Built once a half; only addresses, k and semaphores change from slice to slice. */
    union cmd load_a, load_b, mmad;
};

static void prepare_half(const struct share *s, struct step *t)
{
    const struct matmul *p = s->p;

    t->ht = min_u32(TH, t->nt - t->h0);
    mte_l1_to_l0a(
        &t->load_a, 0, 0,
        &(struct mte_window){.type = p->in, .n_rows = t->mt, .block_rows = up16(t->mt)});
    mte_l1_to_l0b(
        &t->load_b, 0, 0,
        &(struct mte_window){.type = p->in, .n_cols = t->ht, .block_rows = t->kt});
    cube_mmad(&t->mmad,
              &(struct cube_mmad){.type = p->in,
                                  .c = t->c % BUFFERS * L0C_HALF,
                                  .m = t->mt,
                                  .n = t->ht,
                                  .from = t->k0 ? CUBE_FROM_C : CUBE_FROM_ZERO});
}

/* One slice of k: load a and b, multiply. at: offset of the slice in the chunk; src_a,
 * src_b: where it begins in L1. */
static void multiply(const struct share *s, struct step *t, uint32_t at, uint32_t src_a,
                     uint32_t src_b)
{
    uint32_t kl = min_u32(s->kl, t->kt - at);
    bool first_use = t->h0 == 0 && at == 0;
    bool last_use = t->h0 + t->ht == t->nt && at + kl == t->kt;
    uint32_t l0 = t->l0++ % BUFFERS * L0_SLOT;

    t->load_a.load2d.dst = l0;
    t->load_a.load2d.src = src_a;
    t->load_a.load2d.n_cols = (uint16_t)kl;
    cmd_no_sync(&t->load_a);
    cmd_wait(&t->load_a, L0_FREE, 1);
    if (first_use && t->a_begins) {
        cmd_wait(&t->load_a, A_FULL, 1);
    }
    if (last_use && t->a_ends) {
        cmd_post(&t->load_a, A_FREE, 1);
    }
    task_issue(PIPE_MTE1, &t->load_a);

    t->load_b.load2d.dst = l0;
    t->load_b.load2d.src = src_b;
    t->load_b.load2d.n_rows = (uint16_t)kl;
    cmd_no_sync(&t->load_b);
    cmd_post(&t->load_b, L0_FULL, 1);
    if (first_use) {
        cmd_wait(&t->load_b, B_FULL, 1);
    }
    if (last_use) {
        cmd_post(&t->load_b, B_FREE, 1);
    }
    task_issue(PIPE_MTE1, &t->load_b);

    t->mmad.mmad.a = l0;
    t->mmad.mmad.b = l0;
    t->mmad.mmad.k = (uint16_t)kl;
    cmd_no_sync(&t->mmad);
    cmd_wait(&t->mmad, L0_FULL, 1);
    cmd_post(&t->mmad, L0_FREE, 1);
    if (t->k0 + at == 0) {
        cmd_wait(&t->mmad, C_FREE, 1);
    }
    if (t->k0 + at + kl == s->p->k) {
        cmd_post(&t->mmad, C_FULL, 1);
    }
    task_issue(PIPE_M, &t->mmad);
    cube_set_from(&t->mmad, CUBE_FROM_C);
}

/* Both halves of a tile over one chunk. */
static void multiply_chunk(const struct share *s, struct step *t)
{
    uint32_t c0 = 32 / s->esize;
    uint32_t step_a = s->kl / c0 * up16(t->mt) * 32; /* bytes of a slice in L1 */
    uint32_t first_a = l1_a(t->a) + t->k0 % s->ka / c0 * up16(t->mt) * 32;
    bool all_k = t->k0 + t->kt == s->p->k || (t->k0 + t->kt) % s->ka == 0;
    unsigned c = t->c;

    t->a_begins = t->k0 % s->ka == 0 && (t->n0 == s->n_begin || !s->resident);
    t->a_ends = all_k && (t->n0 + t->nt == s->n_end || !s->resident);
    for (t->h0 = 0; t->h0 < t->nt; t->h0 += TH, t->c++) {
        uint32_t src_a = first_a, src_b = l1_b(t->b) + t->h0 / c0 * t->kt * 32;
        prepare_half(s, t);
        for (uint32_t at = 0; at < t->kt; at += s->kl) {
            multiply(s, t, at, src_a, src_b);
            src_a += step_a;
            src_b += s->kl * 32;
        }
    }
    t->c = c;
}

static void compute(void *arg)
{
    const struct share *s = arg;
    const struct matmul *p = s->p;
    uint32_t slots = (p->k + s->ka - 1) / s->ka; /* of a that a panel takes */
    struct step t = {0};
    unsigned panel = 0; /* slot of a in which it begins */
    for (t.m0 = s->m_begin; t.m0 < s->m_end; t.m0 += TM) {
        t.mt = min_u32(TM, s->m_end - t.m0);
        for (t.n0 = s->n_begin; t.n0 < s->n_end; t.n0 += TN) {
            t.nt = min_u32(TN, s->n_end - t.n0);
            for (t.k0 = 0; t.k0 < p->k; t.k0 += s->kc, t.b++) {
                t.kt = min_u32(s->kc, p->k - t.k0);
                t.a = panel + t.k0 / s->ka;
                multiply_chunk(s, &t);
            }
            t.c += t.nt > TH ? 2 : 1;
            panel += s->resident ? 0 : slots;
        }
        panel += s->resident ? slots : 0;
    }
}

/* --- copy-out: FIX --- */

static void copy_out(void *arg)
{
    const struct share *s = arg;
    const struct matmul *p = s->p;
    enum type acc = p->in == TYPE_S8 ? TYPE_S32 : TYPE_F32;
    uint32_t out_size = type_bits(p->out) / 8;
    unsigned c = 0;
    union cmd cmd;

    for (uint32_t m0 = s->m_begin; m0 < s->m_end; m0 += TM) {
        uint32_t mt = min_u32(TM, s->m_end - m0);
        for (uint32_t n0 = s->n_begin; n0 < s->n_end; n0 += TH, c++) {
            void *to = (char *)p->c + ((uint64_t)m0 * p->n + n0) * out_size;
            fixpipe_to_gm(&cmd, to, c % BUFFERS * L0C_HALF,
                          &(struct fixpipe_tile){
                              .type = acc,
                              .m = mt,
                              .n = min_u32(TH, s->n_end - n0),
                              .pitch_elems = p->n,
                              .quant = p->out == TYPE_F16 ? QUANT_F322F16 : QUANT_NONE,
                          });
            cmd_wait(&cmd, C_FULL, 1);
            cmd_post(&cmd, C_FREE, 1);
            task_issue(PIPE_FIX, &cmd);
        }
    }
}

/* --- launch --- */

/* A block's share: rows of tiles are dealt out first, then columns of tiles. */
static void kernel(void *arg)
{
    const struct plan *plan = arg;
    const struct matmul *p = plan->p;
    unsigned row = task_block() / plan->columns, column = task_block() % plan->columns;
    uint32_t esize = type_bits(p->in) / 8;
    struct share s = {.p = p,
                      .m_begin = (uint32_t)share_begin(p->m, TM, row, plan->rows),
                      .m_end = (uint32_t)share_begin(p->m, TM, row + 1, plan->rows),
                      .n_begin = (uint32_t)share_begin(p->n, TN, column, plan->columns),
                      .n_end = (uint32_t)share_begin(p->n, TN, column + 1, plan->columns),
                      .esize = esize,
                      .ka = 1024 / esize,
                      .kc = 512 / esize,
                      .kl = 256 / esize};

    if (p->tiling == MATMUL_PUBLISHED) {
        matmul_published(p,
                         &(struct matmul_part){s.m_begin, s.m_end, s.n_begin, s.n_end});
        return;
    }
    s.resident = p->k <= BUFFERS * s.ka;
    task_post(A_FREE, BUFFERS);
    task_post(B_FREE, BUFFERS);
    task_post(L0_FREE, BUFFERS);
    task_post(C_FREE, BUFFERS);
    if (s.m_end - s.m_begin <= TM && s.n_end - s.n_begin <= TN && p->k <= s.kc) {
        copy_in(&s); /* one tile: the queues hold all of its commands */
        compute(&s);
        copy_out(&s);
    } else {
        task_spawn("matmul copy-in", copy_in, &s);
        task_spawn("matmul compute", compute, &s);
        task_spawn("matmul copy-out", copy_out, &s);
        task_join_all();
    }
    task_drain(); /* or the waits would take what the loops need */
    task_wait(A_FREE, BUFFERS);
    task_wait(B_FREE, BUFFERS);
    task_wait(L0_FREE, BUFFERS);
    task_wait(C_FREE, BUFFERS);
}

/* Rows of the published grid, which is as square as the cores allow: 4 x 6 of 24. */
static unsigned grid_rows(unsigned cores)
{
    unsigned rows = 1;

    for (unsigned r = 1; r * r <= cores; r++) {
        rows = cores % r == 0 ? r : rows;
    }
    return rows;
}

int matmul(const struct matmul *p, struct sched_report *report)
{
    unsigned cores = p->cores ? p->cores : chip_cores();
    struct plan plan = {.p = p};
    struct launch l = {"matmul", kernel, &plan, .cores = p->cores};

    report->text[0] = 0;
    if (p->m == 0 || p->n == 0 || p->k == 0) {
        return ERR_ARG;
    }
    if (!(p->in == TYPE_F16 && (p->out == TYPE_F32 || p->out == TYPE_F16)) &&
        !(p->in == TYPE_S8 && p->out == TYPE_S32)) {
        return ERR_TYPE;
    }
    plan.rows = min_u32((p->m - 1) / TM + 1,
                        p->tiling == MATMUL_PUBLISHED ? grid_rows(cores) : cores);
    plan.columns = min_u32((p->n - 1) / TN + 1, cores / plan.rows);
    l.blocks = plan.rows * plan.columns;
    return launch(&l, report);
}
