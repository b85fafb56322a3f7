/* SPDX-License-Identifier: MIT
 *
 * Commands of an object, recorded and pushed; see record.h.
 */
#include "kernels/mm/record.h"

#include "hal/cube.h"
#include "hal/mte_conv.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"
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
    uint32_t at, kl; /* in the chunk, */
    uint32_t loaded; /* its k in L0: of S4 whole bytes */
    bool first, last;
    unsigned slot;                 /* of L0 */
    uint32_t a, b, step_a, step_b; /* where the slice lies in L1, for each unit of k; */
    struct map map_a, map_b;       /* in rows: where the chunk does */
    union cmd *feed, *work;
    const union cmd *common; /* what the slices have in common: load a, load b, mmad */
};

/* Where the bias of these columns lies in BT: what is in L0 goes by turns, and their first
 * product is what reads it. */
static uint32_t bt_of(const struct tape *t)
{
    return mm_begin(t->mm, NPU_MEM_BT) + t->slot * mm_bt_slot(t->mm);
}

/* The slice's slot of L0A, of L0B. */
static uint32_t l0a_of(const struct tape *t)
{
    return t->mm->l0a + t->slot * t->mm->l0a_slot;
}

static uint32_t l0b_of(const struct tape *t)
{
    return t->mm->l0b + t->slot * t->mm->l0b_slot;
}

static void record_bias(struct tape *t)
{
    union cmd *cmd = t->feed++;

    mte_l1_to_bt(cmd, bt_of(t),
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
                       const struct mm_window *w, uint32_t c0)
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

    if (mm->a.in_rows) {
        uint32_t k = t->key->a_begin + t->at;
        const struct mm_window w = mm->a.transposed
                                       ? (struct mm_window){k, t->kl, 0, t->key->mt}
                                       : (struct mm_window){0, t->key->mt, k, t->kl};
        place_rows(cmd, l0a_of(t), t->a, &t->map_a, &w, mm->c0);
    } else {
        cmd->load2d.dst = l0a_of(t);
        cmd->load2d.src = t->a;
        cmd->load2d.n_cols = (uint16_t)t->loaded;
    }
}

static void place_b(const struct tape *t, union cmd *cmd)
{
    const struct mm *mm = t->mm;

    if (mm->b.sparse) {
        mm_sparse_place(mm, cmd, t->key, t->at, t->kl);
        cmd->sparse.dst = l0b_of(t);
    } else if (mm->b.in_rows) {
        const struct mm_window w = mm->b.transposed
                                       ? (struct mm_window){t->h0, t->ht, t->at, t->kl}
                                       : (struct mm_window){t->at, t->kl, t->h0, t->ht};
        place_rows(cmd, l0b_of(t), t->b, &t->map_b, &w, mm->c0);
    } else {
        cmd->load2d.dst = l0b_of(t);
        cmd->load2d.src = t->b;
        cmd->load2d.n_rows = (uint16_t)t->loaded;
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
    cmd->mmad.dst = mm->l0c + t->c * mm->c1;
    cmd->mmad.a = l0a_of(t);
    cmd->mmad.b = l0b_of(t);
    cmd->mmad.k = (uint16_t)t->kl;
    if (t->first && (t->flags & SUM_BEGIN)) {
        bool bias = t->flags & BIAS;
        cube_set_from(cmd, bias ? CUBE_FROM_BIAS : CUBE_FROM_ZERO);
        cmd->mmad.bias = bias ? bt_of(t) : 0;
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

    if (mm->a.in_rows) {
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
    if (mm->b.sparse) {
        mte_l1_to_l0b_sparse(&cmd[1], 0, 0, 0, 1);
    } else if (mm->b.in_rows) {
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
    (mm->b.sparse ? cube_mmad_sparse
                  : cube_mmad)(&cmd[2], &(struct cube_mmad){.type = mm->a.type,
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
    unsigned begins = i == key->first ? 0 : A_BEGIN | B_BEGIN | BIAS_BEGIN;
    unsigned ends = i == key->first + key->pieces - 1u ? 0 : A_END | B_END | BIAS_END;

    t->h0 = mm_column(mm, key->nt, i, pieces);
    t->ht = mm_column(mm, key->nt, i + 1, pieces) - t->h0;
    t->c = (key->c + i - key->first) % MM_C_SLOTS;
    t->flags = key->flags & ~(begins | ends);
    t->at = 0;
    t->a = mm->l1_a + key->a * mm->slot_a;
    t->step_a = (mm->a.transposed ? mm->unit_k : mm->unit_k / c0 * a_rows) * MTE_BLOCK;
    t->b = mm->l1_b + key->b * mm->slot_b +
           (mm->b.transposed ? t->h0 : t->h0 / c0 * b_rows) * MTE_BLOCK;
    t->step_b = (mm->b.transposed ? mm->unit_k / c0 * b_rows : mm->unit_k) * MTE_BLOCK;
    if (mm->a.in_rows) {
        t->map_a = map_of(mm, mm->a.transposed ? key->a_k : key->mt,
                          mm->a.transposed ? key->mt : key->a_k);
        t->step_a = 0;
    }
    if (mm->b.in_rows) {
        t->map_b = map_of(mm, mm->b.transposed ? at->nt : at->kt,
                          mm->b.transposed ? at->kt : at->nt);
        t->b = mm->l1_b + key->b * mm->slot_b;
        t->step_b = 0;
    }
    t->common = common(mm, key->mt, t->ht, a_rows, b_rows);
}

/* Slices are alike to a unit: what is fed while a short one is multiplied would be late. */
static void record_columns(struct tape *t, uint32_t kt, uint32_t slices)
{
    for (uint32_t i = 0, all = mm_count(kt, t->mm->unit_k); i < slices; i++) {
        uint32_t units = mm_slice_at(all, i + 1, slices) - mm_slice_at(all, i, slices);
        t->kl = mm_min(units * t->mm->unit_k, kt - t->at);
        t->loaded = mm_even(t->mm->a.type, t->kl);
        t->first = i == 0;
        t->last = i == slices - 1;
        record_loads(t);
        record_mmad(t);
        t->slot = (t->slot + 1) % MM_L0_SLOTS;
        t->at += t->kl;
        t->a += units * t->step_a;
        t->b += units * t->step_b;
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
                               .place = mm->bias ? (uint8_t)mm_small_slot_of(mm, at) : 0};
    struct mm_recording *r = mm_recorded(mm, &key);

    if (r == NULL) {
        r = record_products(mm, at, &key);
    }
    mm->l0 += r->more;
    mm_push(mm, PIPE_MTE1, r->cmds, r->n, MM_NO_BASE);
    mm_push(mm, PIPE_M, r->cmds + r->n, r->more, MM_NO_BASE);
}
