/* SPDX-License-Identifier: MIT
 *
 * Loads of an object, recorded: operands to slots of L1, and what columns have each; see
 * record.h.
 */
#include "hal/mte.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "kernels/mm/room.h"
#include "kernels/mm/walk.h"

/* From that address in GM. */
static void push_load(struct mm *mm, struct mm_recording *r, uint64_t address,
                      enum mm_base base)
{
    r->cmds[0].nd2nz.src = address;
    mm_push(mm, PIPE_MTE2, r->cmds, 1, base);
}
_Static_assert(offsetof(union cmd, copy_in.src) == offsetof(union cmd, nd2nz.src) &&
                   offsetof(union cmd, copy_in.dst) == offsetof(union cmd, nd2nz.dst),
               "operands of both loads");

static uint64_t window_at(const struct mm_operand *o, const struct mm_window *w,
                          uint32_t product)
{
    unsigned bits = type_bits(o->type);
    uint64_t at = product * o->product;

    if (o->layout == MM_NZ) {
        at = at * bits / 8 + (uint64_t)w->c0 * bits / 8 * o->pitch + w->r0 * MTE_BLOCK;
    } else {
        at = (at + (uint64_t)w->r0 * o->pitch + w->c0) * bits / 8;
    }
    return (uintptr_t)o->gm + at;
}

/* A column block has as many rows in L1 as `block_rows` says. */
static void build_load(union cmd *cmd, const struct mm_operand *o,
                       const struct mm_window *w, uint32_t l1, uint32_t block_rows)
{
    uint32_t row = mm_bytes(o->type, w->cols);

    if (o->in_rows && o->pitch == w->cols && row % MTE_BLOCK == 0) {
        mte_gm_to_l1(cmd, l1, NULL, w->rows * row); /* short rows side by side are fast */
    } else if (o->in_rows) {
        mte_gm_to_l1_rows(
            cmd, l1, NULL,
            &(struct mte_rows){.n_rows = w->rows,
                               .row_bytes = row,
                               .gm_pitch_bytes = mm_bytes(o->type, o->pitch)});
    } else if (o->layout == MM_NZ) {
        mte_gm_to_l1_rows(
            cmd, l1, NULL,
            &(struct mte_rows){.n_rows = mm_count(w->cols, type_c0(o->type)),
                               .row_bytes = w->rows * MTE_BLOCK,
                               .gm_pitch_bytes = o->pitch * MTE_BLOCK,
                               .local_pitch_bytes = block_rows * MTE_BLOCK});
    } else {
        mte_gm_to_l1_nz(cmd, l1, NULL,
                        &(struct mte_nz){.type = o->type,
                                         .n_rows = w->rows,
                                         .n_cols = mm_even(o->type, w->cols),
                                         .gm_pitch_elems = o->pitch,
                                         .block_rows = block_rows});
    }
}

static struct mm_recording *record_load(struct mm *mm, const struct mm_key *key,
                                        const struct mm_operand *o,
                                        const struct mm_window *w, uint32_t block_rows)
{
    bool a = key->kind == MM_LOAD_A;
    uint32_t l1 = a ? mm->l1_a + key->a * mm->slot_a : mm->l1_b + key->b * mm->slot_b;
    struct mm_recording *r = mm_record(mm, key, PIPE_MTE2, 1, 0);
    const struct mm_recording *other = mm_like(mm, r);

    if (other) {
        r->cmds[0] = other->cmds[0];
        r->cmds[0].nd2nz.dst = l1;
        return r;
    }
    build_load(r->cmds, o, w, l1, block_rows);
    cmd_wait(r->cmds, mm->sem + (a ? MM_A_FREE : MM_B_FREE), 1);
    cmd_post(r->cmds, mm->sem + (a ? MM_A_FULL : MM_B_FULL), 1);
    return r;
}

void mm_push_load_a(struct mm *mm, const struct mm_cursor *at)
{
    uint32_t k0 = at->k0 - mm_a_begin(mm, at), kt = mm_a_k(mm, at);
    const struct mm_window w = mm->a.transposed
                                   ? (struct mm_window){k0, kt, at->m0, at->mt}
                                   : (struct mm_window){at->m0, at->mt, k0, kt};
    const struct mm_key key = {.kind = MM_LOAD_A,
                               .a = (uint16_t)mm_a_slot(mm, at),
                               .mt = (uint16_t)at->mt,
                               .kt = (uint16_t)kt};
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = record_load(mm, &key, &mm->a, &w, mm_a_rows(mm, at));
    }
    push_load(mm, r, window_at(&mm->a, &w, at->product), MM_BASE_A);
}

void mm_push_load_b(struct mm *mm, const struct mm_cursor *at)
{
    if (mm->b.sparse) {
        mm_push_load_sparse(mm, at);
        return;
    }
    const struct mm_window w = mm->b.transposed
                                   ? (struct mm_window){at->n0, at->nt, at->k0, at->kt}
                                   : (struct mm_window){at->k0, at->kt, at->n0, at->nt};
    const struct mm_key key = {.kind = MM_LOAD_B,
                               .b = (uint16_t)((at->b + at->chunk) % mm->tiling.b_slots),
                               .nt = (uint16_t)at->nt,
                               .kt = (uint16_t)at->kt};
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = record_load(mm, &key, &mm->b, &w, mm_b_rows(mm, at));
    }
    push_load(mm, r, window_at(&mm->b, &w, at->product), MM_BASE_B);
}

/* What a tile's columns have each, where that lies in GM and in L1. */
struct small {
    enum mm_kind kind;
    enum mm_base base;
    uintptr_t gm;
    uint32_t size, l1;
    unsigned free, full; /* semaphores */
    uint64_t product;    /* bytes from one of a batch to the next */
};

/* To the slot of the tile's number. */
static void push_load_small(struct mm *mm, const struct mm_cursor *at,
                            const struct small *small)
{
    const struct mm_key key = {.kind = (uint8_t)small->kind,
                               .c = (uint8_t)mm_small_slot_of(mm, at),
                               .nt = (uint16_t)at->nt};
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = mm_record(mm, &key, PIPE_MTE2, 1, 0);
        mte_gm_to_l1(r->cmds, small->l1 + key.c * mm_small_slot(mm, small->size), NULL,
                     at->nt * small->size);
        cmd_wait(r->cmds, mm->sem + small->free, 1);
        cmd_post(r->cmds, mm->sem + small->full, 1);
    }
    push_load(mm, r,
              small->gm + at->product * small->product + (uint64_t)at->n0 * small->size,
              small->base);
}

void mm_push_load_bias(struct mm *mm, const struct mm_cursor *at)
{
    push_load_small(mm, at,
                    &(struct small){MM_LOAD_BIAS, MM_BASE_BIAS, (uintptr_t)mm->bias,
                                    MM_BIAS_BYTES, mm->l1_bias, MM_BIAS_FREE,
                                    MM_BIAS_FULL, mm->bias_product * MM_BIAS_BYTES});
}

void mm_push_load_scale(struct mm *mm, const struct mm_cursor *at)
{
    push_load_small(mm, at,
                    &(struct small){MM_LOAD_SCALE, MM_BASE_SCALE,
                                    (uintptr_t)mm->scale_words, MM_SCALE_BYTES,
                                    mm->l1_scale, MM_SCALE_FREE, MM_SCALE_FULL, 0});
}

void mm_push_load_slope(struct mm *mm, const struct mm_cursor *at)
{
    push_load_small(mm, at,
                    &(struct small){MM_LOAD_SLOPE, MM_BASE_SLOPE, (uintptr_t)mm->slopes,
                                    MM_SLOPE_BYTES, mm->l1_slope, MM_SCALE_FREE,
                                    MM_SCALE_FULL, 0});
}
