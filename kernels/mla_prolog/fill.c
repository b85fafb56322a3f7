/* SPDX-License-Identifier: MIT
 *
 * MTE2 for product.c: a, b and the bias to L1, in the order in which they are wanted, some
 * pieces ahead of those that are multiplied.
 */
#include "kernels/mla_prolog/product.h"

/* The semaphores of a slot in L1: how many empty ones a copy takes, what it makes full. */
struct slot {
    uint8_t n_free, free, full;
};

static void copy_rows(uint32_t l1, const uint16_t *gm, uint32_t rows, uint32_t columns,
                      uint32_t pitch, struct slot slot)
{
    union cmd cmd;

    mte_gm_to_l1_padded(&cmd, l1, gm,
                        &(struct mte_padded){.type = TYPE_F16,
                                             .n_rows = rows,
                                             .n_cols = columns,
                                             .gm_pitch_elems = pitch});
    if (slot.n_free != 0) {
        cmd_wait(&cmd, slot.free, slot.n_free);
    }
    cmd_post(&cmd, slot.full, 1);
    task_issue(PIPE_MTE2, &cmd);
}

static void build_copies(const struct share *s, struct filling *f, uint32_t columns)
{
    if (f->columns == columns) {
        return;
    }
    mte_gm_to_l1_padded(&f->copy_b[0], 0, NULL,
                        &(struct mte_padded){.type = TYPE_F16,
                                             .n_rows = B_K,
                                             .n_cols = columns,
                                             .gm_pitch_elems = s->p->n});
    cmd_wait(&f->copy_b[0], B_FREE, 1);
    cmd_post(&f->copy_b[0], B_FULL, 1);
    for (unsigned i = 1; i < PIECE; i++) {
        f->copy_b[i] = f->copy_b[0];
    }
    f->columns = columns;
}

/* b from k0 to k1, many whole chunks at once. */
static void copy_chunks(const struct share *s, struct filling *f, uint32_t n0,
                        uint32_t k0, uint32_t k1)
{
    const uint16_t *from = s->p->b + (uint64_t)k0 * s->p->n + n0;
    uint32_t whole = (k1 - k0) / B_K;

    for (uint32_t n; whole != 0; whole -= n) {
        n = min_u32(whole, PIECE);
        for (uint32_t i = 0; i < n; i++, from += (uint64_t)B_K * s->p->n) {
            f->copy_b[i].copy_pad.src = (uintptr_t)from;
            f->copy_b[i].copy_pad.dst = b_slot(s, f->b++);
        }
        issue_many(PIPE_MTE2, f->copy_b, n);
    }
    if ((k1 - k0) % B_K != 0) {
        copy_rows(b_slot(s, f->b++), from, (k1 - k0) % B_K, f->columns, s->p->n,
                  (struct slot){1, B_FREE, B_FULL});
    }
}

static void copy_a(const struct share *s, struct filling *f, uint32_t m0, uint32_t k0)
{
    copy_rows(a_slot(s, f->a++), s->p->a + (uint64_t)m0 * s->p->k + k0, block_rows(s, m0),
              min_u32(A_K, s->p->k - k0), s->p->k, (struct slot){1, A_FREE, A_FULL});
}

/* The same, which the slots have from the first block on. */
static void hand_chunks(uint32_t chunks)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, B_FREE, 1);
    cmd_post(&cmd, B_FULL, 1);
    for (; chunks > 0; chunks--) {
        task_issue(PIPE_MTE2, &cmd);
    }
}

/* b up to k1, and a in front of what needs it. */
static void copy_pieces(const struct share *s, struct filling *f, uint32_t k1)
{
    bool with_a = f->n0 == 0 || !s->a_stays;
    uint32_t k0 = f->k0;

    while (k0 < k1) {
        uint32_t next = with_a ? min_u32(k1, (k0 / A_K + 1) * A_K) : k1;
        if (with_a && k0 % A_K == 0) {
            copy_a(s, f, f->m0, k0);
        }
        if (s->b_stays && f->m0 != s->m_begin) {
            hand_chunks(div_up_u32(next - k0, B_K));
        } else {
            copy_chunks(s, f, f->n0, k0, next);
        }
        k0 = next;
    }
}

/* In front of the chunks of a stripe. */
static void begin_stripe(const struct share *s, struct filling *f)
{
    const struct mla_prolog *p = s->p;
    uint32_t columns = min_u32(STRIPE, p->n - f->n0);

    if (s->reload == PIPE_MTE2) {
        reload_until_half(&f->reload, 0);
    }
    if (!s->bias_stays) {
        copy_rows(bias_slot(s, f->bias++, f->n0), p->bias + f->n0, 1, columns, columns,
                  (struct slot){1, BIAS_FREE, BIAS_FULL});
    }
    build_copies(s, f, columns);
}

static void end_stripe(const struct share *s, struct filling *f)
{
    f->reload.stripe++;
    f->k0 = 0;
    f->n0 += STRIPE;
    if (f->n0 >= s->p->n) {
        f->n0 = 0;
        f->m0 += s->rows;
    }
}

static void fill_piece(const struct share *s, struct filling *f)
{
    uint32_t k1 = piece_end(s, f->k0);

    if (f->k0 == 0) {
        begin_stripe(s, f);
    }
    if (f->k0 == middle(s->p->k) && s->reload == PIPE_MTE2) {
        reload_until_half(&f->reload, 1);
    }
    copy_pieces(s, f, k1);
    f->pieces++;
    f->k0 = k1;
    if (k1 == s->p->k) {
        end_stripe(s, f);
    }
}

void fill_begin(const struct share *s, struct filling *f)
{
    union cmd cmd;

    f->a = f->b = f->bias = f->columns = 0;
    f->m0 = s->m_begin;
    f->n0 = f->k0 = 0;
    f->pieces = 0;
    reload_begin(&f->reload, s);
    mte_fill(&cmd, NPU_MEM_L1, L1_ONES, TYPE_F16, F16_ONE, s->rows * 2);
    task_issue(PIPE_MTE2, &cmd);
    if (s->bias_stays) {
        copy_rows(L1_BIAS, s->p->bias, 1, s->p->n, s->p->n,
                  (struct slot){.full = BIAS_FULL});
    }
}

void fill_until(const struct share *s, struct filling *f, uint64_t pieces)
{
    while (f->pieces < pieces && f->m0 < s->m_end) {
        fill_piece(s, f);
    }
}
