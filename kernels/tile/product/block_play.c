/* SPDX-License-Identifier: MIT
 *
 * A core's blocks, played; see block.h. One task issues everything. Between the chunks of a
 * block it issues the pieces of the block before, evenly, and the way of a piece to UB when the
 * Vector's commands of the piece before are in their queue: MTE1 has what that waits for behind
 * it. Nothing waits for what is issued later.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "kernels/tile/product/block.h"

/* A stretch of a tile, and how many tiles there were before it. */
struct cursor {
    uint32_t block, tile, stretch; /* block: of all products */
    uint32_t tiles;
};

/* A block that the Vector is at. */
struct eaten {
    uint32_t block, m0, rows, pieces;
    uint32_t loaded, computed; /* pieces */
};

struct blocks {
    const struct tiles_plan *t;
    const struct product *p;
    const struct block *b;
    struct block_core *core;
    struct epilogue_at at;
    struct cursor load, now;
    struct eaten eaten;
    uint32_t pieces;  /* that were issued */
    uint32_t product; /* whose operands these are, + 1 */
    struct mm_operand a, b_operand;
    uint64_t gm_a, gm_b; /* where the tile's chunks that are loaded begin */
    uint64_t step_a, step_b;
    uint8_t free[BLOCK_CELLS]; /* cells, in the order in which they become so */
    uint32_t freed, taken;
    uint8_t cell[2][BLOCK_GROUPS][BLOCK_TILES]; /* of a block; of the next */
};

/* --- where a core is --- */

static void step(const struct block_shape *s, struct cursor *c)
{
    if (++c->stretch < s->stretches) {
        return;
    }
    c->stretch = 0;
    c->tiles++;
    if (++c->tile == s->tiles) {
        c->tile = 0;
        c->block++;
    }
}

static uint32_t rows_at(const struct blocks *y, uint32_t block)
{
    return block_rows(y->p, block % y->b->blocks);
}

static struct block_tile *tile_of(const struct blocks *y, const struct cursor *c)
{
    const struct block_shape *s = &y->b->s;

    return &y->core->tile[rows_at(y, c->block) < s->rows]
                         [block_columns(y->p, c->tile) < s->columns][c->tiles % 2];
}

/* --- loads --- */

/* Where row or column `side` of an operand begins, and bytes from a chunk of it to the next. */
static uint64_t side_at(const struct mm_operand *o, bool along, uint32_t side,
                        uint32_t chunk, uint64_t *next)
{
    uint64_t pitch = (uint64_t)o->pitch * esize_of(o->type), element = esize_of(o->type);

    *next = chunk * (along ? element : pitch);
    return (uintptr_t)o->gm + side * (along ? pitch : element);
}

static void begin_product(struct blocks *y, uint32_t product)
{
    uint32_t index[TILE_DIMS];
    struct mm mm;

    product_object(y->t, product, &mm, index);
    y->a = mm.a;
    y->b_operand = mm.b;
    y->product = product + 1;
}

/* To the first chunk of a tile. */
static void seek_loads(struct blocks *y)
{
    const struct block_shape *s = &y->b->s;
    const struct cursor *c = &y->load;
    uint32_t product = c->block / y->b->blocks;

    if (y->product != product + 1) {
        begin_product(y, product);
    }
    y->gm_a = side_at(&y->a, !y->a.transposed, c->block % y->b->blocks * s->rows,
                      s->chunk, &y->step_a);
    y->gm_b = side_at(&y->b_operand, y->b_operand.transposed, c->tile * s->columns,
                      s->chunk, &y->step_b);
}

static void load_next(struct blocks *y)
{
    const struct block_shape *s = &y->b->s;
    struct block_stretch *of;
    struct sequence *load;
    bool both;

    if (y->load.block == y->core->end) {
        return;
    }
    if (y->load.stretch == 0) {
        seek_loads(y);
    }
    both = !s->a_stays || y->load.tile == 0;
    of = &tile_of(y, &y->load)->stretch[y->load.stretch];
    load = both ? &of->load_both : &of->load_b;
    for (unsigned i = 0; i < load->n;) {
        if (both) {
            load->cmds[i++].nd2nz.src = y->gm_a;
            y->gm_a += y->step_a;
        }
        load->cmds[i++].nd2nz.src = y->gm_b;
        y->gm_b += y->step_b;
    }
    sequence_push(load, 0);
    step(s, &y->load);
}

/* All of the bias, once. */
static void load_bias(const struct blocks *y)
{
    const struct product *p = y->p;
    union cmd cmd;

    if (p->bias) {
        mte_gm_to_l1(&cmd, y->b->s.bias_at, p->in[p->bias - 1],
                     p->mm.shape.n * esize_of(y->b->bias_type));
        cmd_post(&cmd, BLOCK_BIAS_FULL, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
}

/* --- products --- */

/* Besides what it waits for and posts anyway; a count of 0: nothing. */
static void wait_also(union cmd *cmd, unsigned slot, unsigned sem, bool is)
{
    cmd->head.wait_sem[slot] = is ? (uint8_t)sem : 0;
    cmd->head.wait_n[slot] = is;
}

static void post_also(union cmd *cmd, unsigned slot, unsigned sem, bool is)
{
    cmd->head.post_sem[slot] = is ? (uint8_t)sem : 0;
    cmd->head.post_n[slot] = is;
}

static void push_bias(struct blocks *y, struct block_tile *tile)
{
    tile->bias.cmds->copy_bt.src =
        y->b->s.bias_at + y->now.tile * y->b->s.columns * esize_of(y->b->bias_type);
    wait_also(tile->bias.cmds, 1, BLOCK_BIAS_FULL, y->now.tiles == 0);
    sequence_push(&tile->bias, 0);
}

/* The first user of a slot of a waits for it, the last one lets it go. */
static void set_slots(const struct blocks *y, struct block_stretch *of)
{
    const struct block_shape *s = &y->b->s;
    bool waits = !s->a_stays || y->now.tile == 0;
    bool frees = !s->a_stays || y->now.tile == s->tiles - 1;

    for (unsigned i = 0; i < of->load_b.n && (waits != of->waits || frees != of->frees);
         i++) {
        union cmd *cmd = &of->to_l0.cmds[2 * i * s->slices];
        unsigned left = of->to_l0.n / 2 - i * s->slices;
        unsigned slices = left < s->slices ? left : s->slices;
        wait_also(cmd, 1, BLOCK_A_FULL, waits);
        post_also(cmd + 2 * (slices - 1), 0, BLOCK_A_FREE, frees);
    }
    of->waits = waits;
    of->frees = frees;
}

static void push_products(struct blocks *y)
{
    struct block_tile *tile = tile_of(y, &y->now);
    struct block_stretch *of = &tile->stretch[y->now.stretch];

    if (y->now.stretch == 0 && y->p->bias) {
        push_bias(y, tile);
    }
    set_slots(y, of);
    sequence_push(&of->to_l0, 0);
    sequence_push(&of->mmad, 0);
}

/* --- the way through L1 --- */

static uint32_t cell_at(const struct block_shape *s, unsigned cell)
{
    return s->cells_at + cell * s->cell_bytes;
}

/* A tile out of L0C, to the cells that are free next. */
static void push_out(struct blocks *y)
{
    const struct block_shape *s = &y->b->s;
    const struct cursor *c = &y->now;
    struct sequence *out = &tile_of(y, c)->out;

    for (unsigned i = 0; i < out->n; i++) {
        uint8_t cell = y->free[y->taken++ % s->cells];
        y->cell[c->block % 2][i][c->tile] = cell;
        out->cmds[i].fix_gm.dst = cell_at(s, cell);
    }
    post_also(&out->cmds[out->n - 1], 1, BLOCK_X_FULL, c->tile == s->tiles - 1);
    sequence_push(out, 0);
}

static struct mm_piece piece_of(const struct blocks *y, uint32_t i)
{
    uint32_t left = y->eaten.rows - i * y->b->piece;

    return (struct mm_piece){.m0 = y->eaten.m0 + i * y->b->piece,
                             .mt = left < y->b->piece ? left : y->b->piece,
                             .nt = y->p->mm.shape.n};
}

static void push_cells(struct blocks *y, uint32_t i, uint32_t ub)
{
    const struct block_shape *s = &y->b->s;
    const struct order *o = &y->t->order;
    const struct mm_piece piece = piece_of(y, i);
    uint32_t row = i * y->b->piece, group = row / s->cell_rows;
    uint32_t in_cell = row % s->cell_rows * s->columns * BLOCK_SUM_BYTES;
    bool done = i + 1 == y->eaten.pieces || (row + y->b->piece) % s->cell_rows == 0;
    union cmd *cmd = y->core->cells.cmds;

    for (uint32_t t = 0; t < s->tiles; t++) {
        uint8_t cell = y->cell[y->eaten.block % 2][group][t];
        cmd[t].copy_local.src = cell_at(s, cell) + in_cell;
        cmd[t].copy_local.dst = ub + t * s->columns * BLOCK_SUM_BYTES;
        CMD_SET(cmd[t].copy_local.n_blocks, piece.mt);
        post_also(&cmd[t], 0, BLOCK_X_FREE, done);
        if (done) {
            y->free[y->freed++ % s->cells] = cell;
        }
    }
    wait_also(&cmd[0], 1, BLOCK_X_FULL, i == 0);
    post_also(&cmd[s->tiles - 1], 1, o->load_full[o->product - 1], true);
    sequence_push(&y->core->cells, 0);
}

/* --- the Vector --- */

/* The next piece to UB, with what meets it there. */
static void load_piece(struct blocks *y)
{
    const struct order *o = &y->t->order;
    uint8_t b = o->load[o->product - 1];
    uint32_t i = y->eaten.loaded++;
    unsigned position = (y->pieces + i - y->eaten.computed) % y->t->way.ring;
    const struct mm_piece piece = piece_of(y, i);

    push_cells(y, i, y->t->emit->at[b - 1][position]);
    epilogue_load(&y->at, &piece, position);
}

static void compute_piece(struct blocks *y)
{
    const struct mm_piece piece = piece_of(y, y->eaten.computed++);

    epilogue_compute(&y->at, &piece, y->pieces++ % y->t->way.ring);
    if (y->eaten.loaded < y->eaten.pieces) {
        load_piece(y);
    }
}

/* Pieces that are due when so much of a block's chunks have been issued. */
static void compute_due(struct blocks *y, uint32_t done, uint32_t all)
{
    while (y->eaten.computed < (uint64_t)y->eaten.pieces * done / all) {
        compute_piece(y);
    }
}

/* As many cells as tiles up to this one took become free. */
static void free_cells(struct blocks *y, uint32_t tiles)
{
    const struct block_shape *s = &y->b->s;
    uint32_t groups = div_up(y->eaten.rows, s->cell_rows);
    uint32_t due = div_up((uint64_t)tiles * groups, s->tiles) * s->cell_rows;

    due = div_up(due, y->b->piece);
    due = due < y->eaten.pieces ? due : y->eaten.pieces;
    while (y->eaten.loaded < due) {
        compute_piece(y);
    }
}

/* The block that has just come whole. */
static void begin_eating(struct blocks *y, uint32_t block)
{
    uint32_t product = block / y->b->blocks;
    struct mm mm;

    if (block == y->core->begin || block % y->b->blocks == 0) {
        product_object(y->t, product, &mm, y->at.index);
        epilogue_seek(&y->at);
    }
    y->eaten = (struct eaten){.block = block,
                              .m0 = block % y->b->blocks * y->b->s.rows,
                              .rows = rows_at(y, block)};
    y->eaten.pieces = div_up(y->eaten.rows, y->b->piece);
    load_piece(y);
}

/* --- all --- */

static const struct {
    uint8_t sem, units; /* 0: so many as the shape says */
} empty[] = {{BLOCK_A_FREE, 0},
             {BLOCK_B_FREE, 0},
             {BLOCK_L0_FREE, BLOCK_SLOTS},
             {BLOCK_C_FREE, BLOCK_SLOTS},
             {BLOCK_X_FREE, 0}};

static unsigned units_of(const struct block_shape *s, unsigned i)
{
    return empty[i].units                 ? empty[i].units
           : empty[i].sem == BLOCK_A_FREE ? s->a_slots
           : empty[i].sem == BLOCK_B_FREE ? s->b_slots
                                          : s->cells;
}

static void label_sems(void)
{
    static const char *const names[] = {"a", "b", "slice", "sums", "rows", "bias"};

    for (unsigned sem = BLOCK_A_FREE; sem < BLOCK_BIAS_FULL; sem++) {
        sched_label(task_core(), sem, names[(sem - BLOCK_A_FREE) / 2],
                    (sem - BLOCK_A_FREE) % 2 ? "FULL" : "FREE");
    }
    sched_label(task_core(), BLOCK_BIAS_FULL, names[5], "FULL");
}

static void play_block(struct blocks *y)
{
    const struct block_shape *s = &y->b->s;
    uint32_t block = y->now.block, all = s->tiles * s->stretches;

    for (uint32_t done = 1; done <= all; done++) {
        struct cursor next = y->now;
        step(s, &next);
        push_products(y);
        load_next(y);
        compute_due(y, done, all);
        if (next.stretch == 0) {
            free_cells(y, y->now.tile + 1);
            push_out(y);
        }
        y->now = next;
    }
    begin_eating(y, block);
}

void block_play(const struct tiles_plan *t)
{
    const struct product *p = t->product;
    const struct block_shape *s = &p->block->s;
    struct blocks y = {
        .t = t, .p = p, .b = p->block, .core = &p->block->core[task_block()]};

    label_sems();
    for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        task_post(empty[i].sem, units_of(s, i));
    }
    for (y.freed = 0; y.freed < s->cells; y.freed++) {
        y.free[y.freed] = (uint8_t)y.freed;
    }
    y.load.block = y.now.block = y.core->begin;
    load_bias(&y);
    load_next(&y);
    epilogue_begin(&y.at, t, &p->epilogue->core[task_block()]);
    while (y.now.block < y.core->end) {
        play_block(&y);
    }
    compute_due(&y, 1, 1);
    task_drain();
    epilogue_end(&y.at);
    for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        task_wait(empty[i].sem, units_of(s, i));
    }
}
