/* SPDX-License-Identifier: MIT
 *
 * Commands of an object, recorded and pushed; see record.h.
 */
#include "kernels/mm/record.h"

#include "hal/cube.h"
#include "hal/mte_conv.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"
#include "kernels/mm/script.h"
#include "kernels/mm/walk.h"

/* Of PRODUCTS: what its first or its last command waits for or posts. */
enum {
    A_BEGIN = 1,
    A_END = 2,
    B_BEGIN = 4,
    B_END = 8,
    SUM_BEGIN = 16,
    SUM_END = 32,
    BIAS = 64,
    BIAS_BEGIN = 128,
    BIAS_END = 256
};

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

/* --- loads --- */

/* Rows r0 .. of an operand as it lies in GM, from column c0 on, to a slot of L1. */
struct window {
    uint32_t r0, rows, c0, cols;
};

static uint64_t window_at(const struct mm_operand *o, const struct window *w,
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
static void build_load(const struct mm *mm, union cmd *cmd, const struct mm_operand *o,
                       const struct window *w, uint32_t l1, uint32_t block_rows)
{
    uint32_t row = w->cols * type_bits(o->type) / 8;

    if (mm_in_rows(mm, o) && o->pitch == w->cols && row % MTE_BLOCK == 0) {
        mte_gm_to_l1(cmd, l1, NULL, w->rows * row); /* short rows side by side are fast */
    } else if (mm_in_rows(mm, o)) {
        mte_gm_to_l1_rows(
            cmd, l1, NULL,
            &(struct mte_rows){.n_rows = w->rows,
                               .row_bytes = row,
                               .gm_pitch_bytes = o->pitch * type_bits(o->type) / 8});
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
                                         .n_cols = w->cols,
                                         .gm_pitch_elems = o->pitch,
                                         .block_rows = block_rows});
    }
}

static struct mm_recording *record_load(struct mm *mm, const struct mm_key *key,
                                        const struct mm_operand *o,
                                        const struct window *w, uint32_t block_rows)
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
    build_load(mm, r->cmds, o, w, l1, block_rows);
    cmd_wait(r->cmds, mm->sem + (a ? MM_A_FREE : MM_B_FREE), 1);
    cmd_post(r->cmds, mm->sem + (a ? MM_A_FULL : MM_B_FULL), 1);
    return r;
}

void mm_push_load_a(struct mm *mm, const struct mm_cursor *at)
{
    uint32_t k0 = at->k0 - mm_a_begin(mm, at), kt = mm_a_k(mm, at);
    const struct window w = mm->a.transposed ? (struct window){k0, kt, at->m0, at->mt}
                                             : (struct window){at->m0, at->mt, k0, kt};
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
    const struct window w = mm->b.transposed
                                ? (struct window){at->n0, at->nt, at->k0, at->kt}
                                : (struct window){at->k0, at->kt, at->n0, at->nt};
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
};

/* To the slot of the tile's number. */
static void push_load_small(struct mm *mm, const struct mm_cursor *at,
                            const struct small *small)
{
    const struct mm_key key = {.kind = (uint8_t)small->kind,
                               .c = (uint8_t)(at->tile % MM_SMALL_SLOTS),
                               .nt = (uint16_t)at->nt};
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = mm_record(mm, &key, PIPE_MTE2, 1, 0);
        mte_gm_to_l1(r->cmds, small->l1 + key.c * mm_small_slot(mm, small->size), NULL,
                     at->nt * small->size);
        cmd_wait(r->cmds, mm->sem + small->free, 1);
        cmd_post(r->cmds, mm->sem + small->full, 1);
    }
    push_load(mm, r, small->gm + (uint64_t)at->n0 * small->size, small->base);
}

void mm_push_load_bias(struct mm *mm, const struct mm_cursor *at)
{
    push_load_small(mm, at,
                    &(struct small){MM_LOAD_BIAS, MM_BASE_BIAS, (uintptr_t)mm->bias,
                                    MM_BIAS_BYTES, mm->l1_bias, MM_BIAS_FREE,
                                    MM_BIAS_FULL});
}

void mm_push_load_scale(struct mm *mm, const struct mm_cursor *at)
{
    push_load_small(mm, at,
                    &(struct small){MM_LOAD_SCALE, MM_BASE_SCALE,
                                    (uintptr_t)mm->scale_words, MM_SCALE_BYTES,
                                    mm->l1_scale, MM_SCALE_FREE, MM_SCALE_FULL});
}

void mm_push_load_slope(struct mm *mm, const struct mm_cursor *at)
{
    push_load_small(mm, at,
                    &(struct small){MM_LOAD_SLOPE, MM_BASE_SLOPE, (uintptr_t)mm->slopes,
                                    MM_SLOPE_BYTES, mm->l1_slope, MM_SCALE_FREE,
                                    MM_SCALE_FULL});
}

/* --- products --- */

/* An operand's chunk in L1 as an image: rows of pixels of 32 bytes. */
struct map {
    uint16_t rows, pixels;
};

/* Where MM_PRODUCTS writes its commands, the columns that it is at and their slice of k. */
struct tape {
    struct mm *mm;
    const struct mm_key *key;
    uint32_t h0, ht; /* columns of the tile */
    unsigned c;      /* their slot of L0C */
    unsigned flags;  /* those of the key that are for these columns */
    uint32_t at, kl; /* in the chunk */
    bool first, last;
    unsigned slot;                 /* of L0 */
    uint32_t a, b, step_a, step_b; /* where the slice lies in L1, from slice to slice; */
    struct map map_a, map_b;       /* in rows: where the chunk does */
    union cmd *feed, *work;
    const union cmd *common; /* what the slices have in common: load a, load b, mmad */
};

static void record_bias(struct tape *t)
{
    union cmd *cmd = t->feed++;

    mte_l1_to_bt(cmd, t->c * mm_bt_slot(),
                 t->mm->l1_bias + t->key->place * mm_small_slot(t->mm, MM_BIAS_BYTES) +
                     t->h0 * MM_BIAS_BYTES,
                 mm_sum_type(t->mm), mm_up(t->ht, 16));
    if (t->flags & BIAS_BEGIN) {
        cmd_wait(cmd, t->mm->sem + MM_BIAS_FULL, 1);
    }
    if (t->flags & BIAS_END) {
        cmd_post(cmd, t->mm->sem + MM_BIAS_FREE, 1);
    }
}

/* Part of an operand that lies in L1 in rows: rows x columns of what lies there. */
static void place_rows(union cmd *cmd, uint32_t l0, uint32_t l1, const struct map *map,
                       const struct window *w, uint32_t c0)
{
    cmd->load3d.dst = l0;
    cmd->load3d.src = l1;
    cmd->load3d.map_h = map->rows;
    cmd->load3d.map_w = cmd->load3d.filter_w = map->pixels;
    cmd->load3d.m_start = (uint16_t)w->r0;
    cmd->load3d.m_len = (uint16_t)w->rows;
    cmd->load3d.k_start = (uint16_t)w->c0;
    cmd->load3d.k_len = (uint16_t)mm_up(w->cols, c0);
}

static void place_a(const struct tape *t, union cmd *cmd)
{
    const struct mm *mm = t->mm;

    if (mm_in_rows(mm, &mm->a)) {
        uint32_t k = t->key->a_begin + t->at;
        const struct window w = mm->a.transposed
                                    ? (struct window){k, t->kl, 0, t->key->mt}
                                    : (struct window){0, t->key->mt, k, t->kl};
        place_rows(cmd, t->slot * mm->l0a_slot, t->a, &t->map_a, &w, mm->c0);
    } else {
        cmd->load2d.dst = t->slot * mm->l0a_slot;
        cmd->load2d.src = t->a;
        cmd->load2d.n_cols = (uint16_t)t->kl;
    }
}

static void place_b(const struct tape *t, union cmd *cmd)
{
    const struct mm *mm = t->mm;

    if (mm_in_rows(mm, &mm->b)) {
        const struct window w = mm->b.transposed
                                    ? (struct window){t->h0, t->ht, t->at, t->kl}
                                    : (struct window){t->at, t->kl, t->h0, t->ht};
        place_rows(cmd, t->slot * mm->l0b_slot, t->b, &t->map_b, &w, mm->c0);
    } else {
        cmd->load2d.dst = t->slot * mm->l0b_slot;
        cmd->load2d.src = t->b;
        cmd->load2d.n_rows = (uint16_t)t->kl;
    }
}

/* a and b of the slice to L0. */
static void record_loads(struct tape *t)
{
    const struct mm *mm = t->mm;
    unsigned flags = t->flags;
    union cmd *cmd = t->feed++;

    *cmd = t->common[0];
    place_a(t, cmd);
    if (t->first && (flags & A_BEGIN)) {
        cmd_wait(cmd, mm->sem + MM_A_FULL, 1);
    }
    if (t->last && (flags & A_END)) {
        cmd_post(cmd, mm->sem + MM_A_FREE, 1);
    }
    if (t->first && (flags & BIAS)) {
        record_bias(t); /* L0 is free, so is BT: M has used it two products ago */
    }
    cmd = t->feed++;
    *cmd = t->common[1];
    place_b(t, cmd);
    if (t->first && (flags & B_BEGIN)) {
        cmd_wait(cmd, mm->sem + MM_B_FULL, 1);
    }
    if (t->last && (flags & B_END)) {
        cmd_post(cmd, mm->sem + MM_B_FREE, 1);
    }
}

static void record_mmad(struct tape *t)
{
    const struct mm *mm = t->mm;
    union cmd *cmd = t->work++;

    *cmd = t->common[2];
    cmd->mmad.dst = t->c * mm->c1;
    cmd->mmad.a = t->slot * mm->l0a_slot;
    cmd->mmad.b = t->slot * mm->l0b_slot;
    cmd->mmad.k = (uint16_t)t->kl;
    if (t->first && (t->flags & SUM_BEGIN)) {
        bool bias = t->flags & BIAS;
        cube_set_from(cmd, bias ? CUBE_FROM_BIAS : CUBE_FROM_ZERO);
        cmd->mmad.bias = bias ? t->c * mm_bt_slot() : 0;
        cmd_wait(cmd, mm->sem + MM_C_FREE + t->c, 1);
    }
    if (t->last && (t->flags & SUM_END)) {
        cmd_post(cmd, mm->sem + MM_C_FULL + t->c, 1);
    }
}

/* What all slices of a size of tile have in common. */
static void build_common(const struct mm *mm, const struct mm_common *c, union cmd *cmd)
{
    static const struct mte_conv rows = {0};

    if (mm_in_rows(mm, &mm->a)) {
        mte_img2col_to_l0a(&cmd[0], 0, 0,
                           &(struct mte_img2col){.type = mm->a.type,
                                                 .conv = &rows,
                                                 .transpose = mm->a.transposed});
        cmd[0].load3d.channels = (uint16_t)mm->c0;
    } else {
        mte_l1_to_l0a(&cmd[0], 0, 0,
                      &(struct mte_window){.type = mm->a.type,
                                           .n_rows = c->mt,
                                           .block_rows = c->a_rows,
                                           .transpose = mm->a.transposed});
    }
    cmd_wait(&cmd[0], mm->sem + MM_L0_FREE, 1);
    if (mm_in_rows(mm, &mm->b)) {
        mte_img2col_to_l0b(&cmd[1], 0, 0,
                           &(struct mte_img2col){.type = mm->a.type,
                                                 .conv = &rows,
                                                 .transpose = mm->b.transposed});
        cmd[1].load3d.channels = (uint16_t)mm->c0;
    } else {
        mte_l1_to_l0b(&cmd[1], 0, 0,
                      &(struct mte_window){.type = mm->a.type,
                                           .n_cols = c->ht,
                                           .block_rows = c->b_rows,
                                           .transpose = mm->b.transposed});
    }
    cmd_post(&cmd[1], mm->sem + MM_L0_FULL, 1);
    cube_mmad(&cmd[2], &(struct cube_mmad){.type = mm->a.type,
                                           .m = c->mt,
                                           .n = c->ht,
                                           .from = CUBE_FROM_C,
                                           .flags = mm->cube_flags});
    cmd_wait(&cmd[2], mm->sem + MM_L0_FULL, 1);
    cmd_post(&cmd[2], mm->sem + MM_L0_FREE, 1);
}

/* The same, built once for those that follow. */
static const union cmd *common(const struct mm *mm, uint32_t mt, uint32_t ht,
                               uint32_t a_rows, uint32_t b_rows)
{
    struct mm_common *c = &mm->room->common[ht != mm->tiling.columns];

    if (c->mt != mt || c->ht != ht || c->a_rows != a_rows || c->b_rows != b_rows) {
        *c = (struct mm_common){mt, ht, a_rows, b_rows, {{{0}}}};
        build_common(mm, c, c->cmd);
    }
    return c->cmd;
}

static struct map map_of(const struct mm *mm, uint32_t rows, uint32_t columns)
{
    return (struct map){(uint16_t)rows, (uint16_t)mm_count(columns, mm->c0)};
}

/* To piece i of the tile, which is cut into so many. */
static void begin_piece(struct tape *t, const struct mm_cursor *at, uint32_t i,
                        uint32_t pieces)
{
    const struct mm *mm = t->mm;
    const struct mm_key *key = t->key;
    uint32_t a_rows = mm_a_rows(mm, at), b_rows = mm_b_rows(mm, at), c0 = mm->c0;
    uint32_t slice = mm->tiling.slice;
    unsigned begins = i == key->first ? 0 : A_BEGIN | B_BEGIN | BIAS_BEGIN;
    unsigned ends = i == key->first + key->pieces - 1u ? 0 : A_END | B_END | BIAS_END;

    t->h0 = mm_column(mm, key->nt, i, pieces);
    t->ht = mm_column(mm, key->nt, i + 1, pieces) - t->h0;
    t->c = (key->c + i - key->first) % MM_C_SLOTS;
    t->flags = key->flags & ~(begins | ends);
    t->at = 0;
    t->a = mm->l1_a + key->a * mm->slot_a;
    t->step_a = (mm->a.transposed ? slice : slice / c0 * a_rows) * MTE_BLOCK;
    t->b = mm->l1_b + key->b * mm->slot_b +
           (mm->b.transposed ? t->h0 : t->h0 / c0 * b_rows) * MTE_BLOCK;
    t->step_b = (mm->b.transposed ? slice / c0 * b_rows : slice) * MTE_BLOCK;
    if (mm_in_rows(mm, &mm->a)) {
        t->map_a = map_of(mm, mm->a.transposed ? key->a_k : key->mt,
                          mm->a.transposed ? key->mt : key->a_k);
        t->step_a = 0;
    }
    if (mm_in_rows(mm, &mm->b)) {
        t->map_b = map_of(mm, mm->b.transposed ? at->nt : at->kt,
                          mm->b.transposed ? at->kt : at->nt);
        t->b = mm->l1_b + key->b * mm->slot_b;
        t->step_b = 0;
    }
    t->common = common(mm, key->mt, t->ht, a_rows, b_rows);
}

static void record_columns(struct tape *t, uint32_t kt, uint32_t slices)
{
    for (uint32_t i = 0; i < slices; i++) {
        t->kl = mm_min(t->mm->tiling.slice, kt - t->at);
        t->first = i == 0;
        t->last = i == slices - 1;
        record_loads(t);
        record_mmad(t);
        t->slot = (t->slot + 1) % MM_L0_SLOTS;
        t->at += t->mm->tiling.slice;
        t->a += t->step_a;
        t->b += t->step_b;
    }
}

static struct mm_recording *record_products(struct mm *mm, const struct mm_cursor *at,
                                            const struct mm_key *key)
{
    uint32_t slices = mm_count(at->kt, mm->tiling.slice), all = mm_columns(mm, at->nt);
    unsigned feeds = key->pieces * (2 * slices + (key->flags & BIAS ? 1 : 0));
    struct mm_recording *r = mm_record(mm, key, PIPE_MTE1, feeds, key->pieces * slices);
    struct tape t = {
        .mm = mm, .key = key, .slot = key->l0, .feed = r->cmds, .work = r->cmds + feeds};

    for (uint32_t i = 0; i < key->pieces; i++) {
        begin_piece(&t, at, key->first + i, all);
        record_columns(&t, at->kt, slices);
    }
    return r;
}

static uint16_t product_flags(const struct mm *mm, const struct mm_cursor *at, bool left,
                              bool right)
{
    bool begins = at->chunk == 0;
    unsigned flags =
        (begins ? SUM_BEGIN : 0) | (at->chunk + 1 == at->chunks ? SUM_END : 0) |
        (left && mm_a_first(mm, at) ? A_BEGIN : 0) | (left && at->b_first ? B_BEGIN : 0) |
        (right && mm_a_last(mm, at) ? A_END : 0) | (right && at->b_last ? B_END : 0);

    if (mm->bias && begins && at->part == 0) {
        flags |= BIAS | (left ? BIAS_BEGIN : 0) | (right ? BIAS_END : 0);
    }
    return (uint16_t)flags;
}

void mm_push_products(struct mm *mm, const struct mm_cursor *at, uint32_t first,
                      uint32_t n, unsigned c)
{
    bool right = first + n == mm_columns(mm, at->nt);
    const struct mm_key key = {.kind = MM_PRODUCTS,
                               .flags = product_flags(mm, at, first == 0, right),
                               .a = (uint16_t)mm_a_slot(mm, at),
                               .b = (uint16_t)((at->b + at->chunk) % mm->tiling.b_slots),
                               .c = (uint8_t)c,
                               .l0 = (uint8_t)(mm->l0 % MM_L0_SLOTS),
                               .mt = (uint16_t)at->mt,
                               .nt = (uint16_t)at->nt,
                               .kt = (uint16_t)at->kt,
                               .a_begin = (uint16_t)mm_a_begin(mm, at),
                               .a_k = (uint16_t)mm_a_k(mm, at),
                               .first = (uint16_t)first,
                               .pieces = (uint16_t)n,
                               .place = mm->bias ? at->tile % MM_SMALL_SLOTS : 0};
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = record_products(mm, at, &key);
    }
    mm->l0 += r->more;
    mm_push(mm, PIPE_MTE1, r->cmds, r->n, MM_NO_BASE);
    mm_push(mm, PIPE_M, r->cmds + r->n, r->more, MM_NO_BASE);
}
