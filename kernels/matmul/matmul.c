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

enum {
    TM = 128,            /* rows of a tile */
    TN = 256,            /* its columns */
    TH = 128,            /* columns of a half */
    L1_SLOT = 128 << 10, /* bytes */
    L0_SLOT = 32 << 10,
    L0C_HALF = 64 << 10,
    BUFFERS = 2, /* of everything */
};

enum {
    A_FREE = MATMUL_SEM_FIRST,
    A_FULL,
    B_FREE,
    B_FULL,
    L0_FREE,
    L0_FULL,
    C_FREE,
    C_FULL,
    DONE = MATMUL_SEM_LAST,
};

/* What one core does. */
struct share {
    const struct matmul *p;
    uint32_t m_begin, m_end; /* rows of c */
    uint32_t esize;          /* bytes of an element of a and b */
    uint32_t ka, kc, kl;     /* k of an L1 slot of a, of b, of an L0 slice */
    bool resident;           /* the panel of a stays for a row of tiles */
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t up16(uint32_t n)
{
    return (n + 15) & ~15u;
}

static uint32_t l1_a(unsigned slot)
{
    return slot % BUFFERS * L1_SLOT;
}

static uint32_t l1_b(unsigned slot)
{
    return (BUFFERS + slot % BUFFERS) * L1_SLOT;
}

static const void *element(const void *base, uint64_t row, uint64_t pitch, uint64_t col,
                           uint32_t esize)
{
    return (const char *)base + (row * pitch + col) * esize;
}

/* --- copy-in: MTE2 --- */

static void copy_in_a(const struct share *s, unsigned slot, uint32_t m0, uint32_t k0)
{
    const struct matmul *p = s->p;
    uint32_t rows = min_u32(TM, s->m_end - m0);
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, l1_a(slot), element(p->a, m0, p->k, k0, s->esize), p->in, rows,
                    min_u32(s->ka, p->k - k0), p->k, up16(rows));
    cmd_wait(&cmd, A_FREE, 1);
    cmd_post(&cmd, A_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

static void copy_in_b(const struct share *s, unsigned slot, uint32_t n0, uint32_t k0)
{
    const struct matmul *p = s->p;
    uint32_t rows = min_u32(s->kc, p->k - k0);
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, l1_b(slot), element(p->b, k0, p->n, n0, s->esize), p->in, rows,
                    min_u32(TN, p->n - n0), p->n, rows);
    cmd_wait(&cmd, B_FREE, 1);
    cmd_post(&cmd, B_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

static void copy_in(void *arg)
{
    const struct share *s = arg;
    unsigned a = 0, b = 0;

    for (uint32_t m0 = s->m_begin; m0 < s->m_end; m0 += TM) {
        for (uint32_t n0 = 0; n0 < s->p->n; n0 += TN) {
            for (uint32_t k0 = 0; k0 < s->p->k; k0 += s->kc) {
                if (k0 % s->ka == 0 && (n0 == 0 || !s->resident)) {
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
    uint32_t m0, n0, k0;  /* tile and chunk */
    uint32_t mt, nt, kt;  /* their sizes */
    uint32_t h0, ht;      /* half: first column in the tile, columns */
    unsigned a, b, l0, c; /* buffers, counted up without end */
};

/* One slice of k: load a and b, multiply. at: offset of the slice in the chunk. */
static void multiply(const struct share *s, const struct step *t, uint32_t at)
{
    const struct matmul *p = s->p;
    uint32_t kl = min_u32(s->kl, t->kt - at);
    uint32_t c0 = 32 / s->esize;
    uint32_t a_k = t->k0 % s->ka + at; /* k of the slice in the slot of a */
    bool first_use = t->h0 == 0 && at == 0;
    bool last_use = t->h0 + t->ht == t->nt && at + kl == t->kt;
    bool last_k = t->k0 + at + kl == p->k;
    uint32_t l0 = t->l0 % BUFFERS * L0_SLOT;
    union cmd cmd;

    mte_l1_to_l0a(&cmd, l0, l1_a(t->a) + a_k / c0 * up16(t->mt) * 32, p->in, t->mt, kl,
                  up16(t->mt));
    cmd_wait(&cmd, L0_FREE, 1);
    if (first_use && t->k0 % s->ka == 0 && (t->n0 == 0 || !s->resident)) {
        cmd_wait(&cmd, A_FULL, 1);
    }
    if (last_use && (last_k || (t->k0 + t->kt) % s->ka == 0) &&
        (t->n0 + t->nt == p->n || !s->resident)) {
        cmd_post(&cmd, A_FREE, 1);
    }
    task_issue(PIPE_MTE1, &cmd);

    mte_l1_to_l0b(&cmd, l0, l1_b(t->b) + t->h0 / c0 * t->kt * 32 + at * 32, p->in, kl,
                  t->ht, t->kt);
    if (first_use) {
        cmd_wait(&cmd, B_FULL, 1);
    }
    cmd_post(&cmd, L0_FULL, 1);
    if (last_use) {
        cmd_post(&cmd, B_FREE, 1);
    }
    task_issue(PIPE_MTE1, &cmd);

    cube_mmad(&cmd, p->in, t->c % BUFFERS * L0C_HALF, l0, l0, t->mt, t->ht, kl,
              t->k0 + at == 0);
    cmd_wait(&cmd, L0_FULL, 1);
    if (t->k0 + at == 0) {
        cmd_wait(&cmd, C_FREE, 1);
    }
    cmd_post(&cmd, L0_FREE, 1);
    if (last_k) {
        cmd_post(&cmd, C_FULL, 1);
    }
    task_issue(PIPE_M, &cmd);
}

/* Both halves of a tile over one chunk. */
static void multiply_chunk(const struct share *s, struct step *t)
{
    unsigned c = t->c;

    for (t->h0 = 0; t->h0 < t->nt; t->h0 += TH, t->c++) {
        t->ht = min_u32(TH, t->nt - t->h0);
        for (uint32_t at = 0; at < t->kt; at += s->kl) {
            multiply(s, t, at);
            t->l0++;
        }
    }
    t->c = c;
}

static void compute(void *arg)
{
    const struct share *s = arg;
    const struct matmul *p = s->p;
    struct step t = {0};
    unsigned panel = 0; /* slot of a in which the panel or chunk begins */

    for (t.m0 = s->m_begin; t.m0 < s->m_end; t.m0 += TM) {
        t.mt = min_u32(TM, s->m_end - t.m0);
        for (t.n0 = 0; t.n0 < p->n; t.n0 += TN) {
            t.nt = min_u32(TN, p->n - t.n0);
            for (t.k0 = 0; t.k0 < p->k; t.k0 += s->kc, t.b++) {
                t.kt = min_u32(s->kc, p->k - t.k0);
                t.a = panel + t.k0 / s->ka;
                multiply_chunk(s, &t);
            }
            t.c += t.nt > TH ? 2 : 1;
            panel += s->resident ? 0 : (p->k + s->ka - 1) / s->ka;
        }
        panel += s->resident ? (p->k + s->ka - 1) / s->ka : 0;
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
        for (uint32_t n0 = 0; n0 < p->n; n0 += TH, c++) {
            void *to = (char *)p->c + ((uint64_t)m0 * p->n + n0) * out_size;
            fixpipe_to_gm(&cmd, acc, to, c % BUFFERS * L0C_HALF, mt,
                          min_u32(TH, p->n - n0), p->n, up16(mt),
                          p->out == TYPE_F16 ? QUANT_F322F16 : QUANT_NONE);
            cmd_wait(&cmd, C_FULL, 1);
            cmd_post(&cmd, C_FREE, 1);
            if (m0 + mt == s->m_end && n0 + TH >= p->n) {
                cmd_post(&cmd, DONE, 1);
            }
            task_issue(PIPE_FIX, &cmd);
        }
    }
    task_wait(DONE, 1);
    task_wait(A_FREE, BUFFERS);
    task_wait(B_FREE, BUFFERS);
    task_wait(L0_FREE, BUFFERS);
    task_wait(C_FREE, BUFFERS);
}

/* --- launch --- */

static int start_share(struct share *s, unsigned core)
{
    int err;

    sem_post(core, A_FREE, BUFFERS);
    sem_post(core, B_FREE, BUFFERS);
    sem_post(core, L0_FREE, BUFFERS);
    sem_post(core, C_FREE, BUFFERS);
    err = task_create("matmul copy-in", core, copy_in, s);
    err = err ? err : task_create("matmul compute", core, compute, s);
    return err ? err : task_create("matmul copy-out", core, copy_out, s);
}

int matmul(const struct matmul *p, struct sched_report *report)
{
    static struct share shares[NPU_MAX_CORES];
    unsigned cores = p->cores ? p->cores : chip_cores();
    uint32_t esize = type_bits(p->in) / 8;
    uint32_t blocks = p->m / TM + (p->m % TM != 0);
    int err = 0;

    report->text[0] = 0;
    if (p->m == 0 || p->n == 0 || p->k == 0 || cores > chip_cores()) {
        return ERR_ARG;
    }
    if (!(p->in == TYPE_F16 && (p->out == TYPE_F32 || p->out == TYPE_F16)) &&
        !(p->in == TYPE_S8 && p->out == TYPE_S32)) {
        return ERR_TYPE;
    }
    for (unsigned i = 0; i < cores && !err; i++) {
        struct share *s = &shares[i];
        *s = (struct share){.p = p,
                            .m_begin = min_u32(p->m, blocks * i / cores * TM),
                            .m_end = min_u32(p->m, blocks * (i + 1) / cores * TM),
                            .esize = esize,
                            .ka = 1024 / esize,
                            .kc = 512 / esize,
                            .kl = 256 / esize};
        s->resident = p->k <= BUFFERS * s->ka;
        if (s->m_begin < s->m_end) {
            err = start_share(s, i);
        }
    }
    return err ? err : sched_run(report);
}
