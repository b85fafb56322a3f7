/* SPDX-License-Identifier: MIT
 *
 * Operands on their way through the Vector to L1, played; see prologue.h. What a chunk's
 * products need has been issued before them, and nothing waits for what is issued later: a
 * chunk goes to a slot that products which have been issued let go.
 */
#include "hal/mte.h"
#include "kernels/tile/product/prologue.h"

struct prologue_window prologue_window(const struct prologue *g, const struct mm *mm,
                                       const struct mm_cursor *at)
{
    const struct mm_operand *o = g->b ? &mm->b : &mm->a;
    bool along_k = g->b ? o->transposed : !o->transposed;
    uint32_t side = g->b ? at->n0 : at->m0, sides = g->b ? at->nt : at->mt;

    return along_k ? (struct prologue_window){side, sides, at->k0, at->kt}
                   : (struct prologue_window){at->k0, at->kt, side, sides};
}

static bool is_first(const struct prologue_at *y, const struct mm_cursor *at)
{
    return y->g->b ? at->b_first : at->a_first;
}

static bool is_last(const struct prologue_at *y, const struct mm_cursor *at)
{
    return y->g->b ? at->b_last : at->a_last;
}

static bool is_there(const struct prologue_at *y, const struct mm_cursor *at)
{
    return at->tile < y->walk.tile_end;
}

/* To the next chunk of the share. */
static void step(const struct prologue_at *y, struct mm_cursor *at)
{
    if (at->chunk + 1 == at->chunks && at->tile + y->walk.step >= y->walk.tile_end) {
        at->tile = y->walk.tile_end;
    } else {
        mm_step(&y->walk, at);
    }
}

/* The same, of those that are made. */
static void step_to_made(struct prologue_at *y)
{
    do {
        step(y, &y->make);
    } while (is_there(y, &y->make) && !is_first(y, &y->make));
}

/* Rows of UB to the slot: the first of a chunk waits for it, the last one fills it. */
static void to_l1(const struct prologue_at *y, const struct prologue_window *w,
                  uint32_t rows, unsigned position)
{
    const struct tiles_plan *t = y->g->t;
    const struct mm_given slot = mm_given_slot(&y->walk, &y->make);
    uint32_t esize = esize_of(y->walk.a.type);
    uint32_t row = (uint32_t)round_up(w->cols * esize, MTE_BLOCK);
    uint32_t ub = t->emit->at[t->order.store[0] - 1][position];
    union cmd cmd;

    mte_ub_to_l1_rows(&cmd, slot.l1 + y->row * row, ub,
                      &(struct mte_local_rows){.n_rows = rows,
                                               .row_bytes = row,
                                               .src_pitch_bytes = t->way.pitch * esize});
    plan_sync_transfer(&t->order, LANE_STORE, 0, &cmd);
    if (y->row == 0) {
        cmd_wait(&cmd, slot.free, 1);
    }
    if (y->row + rows == w->rows) {
        cmd_post(&cmd, slot.full, 1);
    }
    task_issue(PIPE_MTE3, &cmd);
}

static void make_piece(struct prologue_at *y)
{
    const struct prologue_window w = prologue_window(y->g, &y->walk, &y->make);
    unsigned position = y->number++ % y->g->t->way.ring;
    uint32_t left = w.rows - y->row, rows = left < y->g->rows ? left : y->g->rows;
    const struct mm_piece piece = {w.row + y->row, rows, w.col, w.cols, 0, 0};

    task_tag(y->g->line);
    if (y->make.chunk == 0 && y->row == 0 && y->walk.shape.batch > 1) {
        product_seek_batch(y->at.t->product, y->make.product, y->at.index);
        epilogue_seek(&y->at);
    }
    epilogue_load(&y->at, &piece, position);
    epilogue_vector(&y->at, &piece, position);
    to_l1(y, &w, rows, position);
    y->row += rows;
    if (y->row == w.rows) {
        y->row = 0;
        y->made++;
        y->free--;
        step_to_made(y);
    }
    task_tag(y->mm_line);
}

/* What the next products take. */
static void make_wanted(struct prologue_at *y)
{
    if (!is_there(y, &y->use) || !is_first(y, &y->use)) {
        return;
    }
    if (y->use.chunk == 0) {
        y->steps = y->ahead = 0;
    }
    y->wanted++;
    while (y->made < y->wanted) {
        make_piece(y);
    }
}

/* What is due of the next panel, when so much of this one has been multiplied. */
static void make_ahead(struct prologue_at *y)
{
    const struct mm_tiling *t = &y->walk.tiling;
    uint32_t tiles = y->g->b      ? t->b_stays ? y->walk.rows : 1
                     : t->a_stays ? y->walk.cols
                                  : 1;
    const struct prologue_window w = prologue_window(y->g, &y->walk, &y->use);
    uint32_t pieces = y->use.chunks * div_up(w.rows, y->g->rows);
    uint64_t due = (uint64_t)pieces * ++y->steps / (tiles * y->use.chunks);

    for (; y->ahead < due && y->free && is_there(y, &y->make); y->ahead++) {
        make_piece(y);
    }
}

static void between(void *arg)
{
    struct prologue_at *y = arg;

    if (y->wanted == 0) { /* before the first chunk */
        make_wanted(y);
        return;
    }
    y->free += is_last(y, &y->use);
    make_ahead(y);
    step(y, &y->use);
    make_wanted(y);
}

void prologue_begin(struct prologue_at *y, const struct tiles_plan *t)
{
    const struct prologue *g = t->product->prologue;

    *y = (struct prologue_at){.g = g, .mm_line = t->product->dot->line};
    epilogue_begin(&y->at, g->t, &g->t->product->epilogue->core[task_block()]);
}

void prologue_feed(struct prologue_at *y, struct mm *mm, const uint32_t *index)
{
    const struct mm_tiling *tiling = &mm->tiling;
    uint32_t first;

    for (unsigned i = 0; i < TILE_DIMS; i++) {
        y->at.index[i] = index[i];
    }
    epilogue_seek(&y->at);
    y->walk = *mm;
    first = mm_take_share(&y->walk);
    y->make = (struct mm_cursor){.tile = first};
    if (first < y->walk.tile_end) {
        mm_seek(&y->walk, &y->make, first, first);
    }
    y->use = y->make;
    y->row = y->made = y->wanted = y->steps = y->ahead = 0;
    y->free = y->g->b ? tiling->b_slots : tiling->a_slots;
    mm->between = between;
    mm->arg = y;
}

void prologue_end(const struct prologue_at *y)
{
    epilogue_end(&y->at);
}
