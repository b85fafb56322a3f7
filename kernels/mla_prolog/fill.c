/* SPDX-License-Identifier: MIT
 *
 * MTE2 for product.c: a, b and the bias to L1, in the order in which they are wanted.
 */
#include "kernels/mla_prolog/tiles.h"

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

struct filling {
    unsigned a, b, bias; /* slots, counted up without end */
    struct reload reload;
    uint32_t columns; /* that the copies of whole chunks were built for */
    union cmd copy_b[PIECE];
};

static void build_copies(const struct share *s, struct filling *f, uint32_t columns)
{
    for (unsigned i = 0; i < PIECE && f->columns != columns; i++) {
        mte_gm_to_l1_padded(&f->copy_b[i], 0, NULL,
                            &(struct mte_padded){.type = TYPE_F16,
                                                 .n_rows = B_K,
                                                 .n_cols = columns,
                                                 .gm_pitch_elems = s->p->n});
        cmd_wait(&f->copy_b[i], B_FREE, 1);
        cmd_post(&f->copy_b[i], B_FULL, 1);
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

/* b from k0 to k1, and a in front of what needs it. */
static void copy_half(const struct share *s, struct filling *f, uint32_t m0, uint32_t n0,
                      uint32_t k0, uint32_t k1)
{
    bool with_a = n0 == 0 || !s->a_stays;

    while (k0 < k1) {
        uint32_t next = with_a ? min_u32(k1, (k0 / A_K + 1) * A_K) : k1;
        if (with_a && k0 % A_K == 0) {
            copy_a(s, f, m0, k0);
        }
        if (s->b_stays && m0 != s->m_begin) {
            hand_chunks(div_up_u32(next - k0, B_K));
        } else {
            copy_chunks(s, f, n0, k0, next);
        }
        k0 = next;
    }
}

/* All of k for one stripe. */
static void copy_stripe(const struct share *s, struct filling *f, uint32_t m0,
                        uint32_t n0)
{
    const struct mla_prolog *p = s->p;
    uint32_t columns = min_u32(STRIPE, p->n - n0);

    if (s->reload == PIPE_MTE2) {
        reload_until_half(&f->reload, PIPE_MTE2, 0);
    }
    if (!s->bias_stays) {
        copy_rows(bias_slot(s, f->bias++, n0), p->bias + n0, 1, columns, columns,
                  (struct slot){1, BIAS_FREE, BIAS_FULL});
    }
    build_copies(s, f, columns);
    copy_half(s, f, m0, n0, 0, middle(p->k));
    if (s->reload == PIPE_MTE2) {
        reload_until_half(&f->reload, PIPE_MTE2, 1);
    }
    copy_half(s, f, m0, n0, middle(p->k), p->k);
    f->reload.stripe++;
}

void product_fill(void *arg)
{
    const struct share *s = arg;
    struct filling f = {0};
    union cmd cmd;

    reload_begin(&f.reload, s);
    mte_fill(&cmd, NPU_MEM_L1, L1_ONES, TYPE_F16, F16_ONE, s->rows * 2);
    task_issue(PIPE_MTE2, &cmd);
    if (s->bias_stays) {
        copy_rows(L1_BIAS, s->p->bias, 1, s->p->n, s->p->n,
                  (struct slot){.full = BIAS_FULL});
    }
    for (uint32_t m0 = s->m_begin; m0 < s->m_end; m0 += s->rows) {
        for (uint32_t n0 = 0; n0 < s->p->n; n0 += STRIPE) {
            copy_stripe(s, &f, m0, n0);
        }
    }
    reload_rest(&f.reload, PIPE_MTE2);
}
