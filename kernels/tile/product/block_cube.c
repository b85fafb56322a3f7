/* SPDX-License-Identifier: MIT
 *
 * The commands around the Vector of a core's blocks: whole tiles, and those with fewer rows or
 * columns, even ones and odd ones; see block.h.
 */
#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "kernels/tile/product/block.h"

enum { BIAS_UNIT = 16 /* elements that go to BT at a time */ };

/* A tile while its commands are built. */
struct making {
    const struct product *p;
    const struct block_shape *s;
    struct block_tile *tile;
    struct tile_arena *arena;
    uint32_t m, n; /* its size */
    bool odd;
    bool failed;
};

/* A chunk of it: k, and slots of a and b in L1. */
struct chunk {
    uint32_t number, k, a, b;
    bool first, last; /* of a stretch */
};

static uint32_t up16(uint32_t n)
{
    return (uint32_t)round_up(n, BLOCK_ROWS);
}

/* Room for n commands. */
static void make_sequence(struct making *w, struct sequence *s, enum pipe pipe,
                          uint32_t n)
{
    *s = (struct sequence){.name = "product", .pipe = pipe, .n = (uint16_t)n};
    s->cmds = tile_alloc(w->arena, (n + 1) * sizeof(*s->cmds));
    w->failed = w->failed || s->cmds == NULL;
}

static void set_line(const struct making *w, struct sequence *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        s->cmds[i].head.tag = w->p->dot->line;
    }
}

/* How many of something an even tile before this one has used. */
static uint32_t used(const struct making *w, uint32_t each)
{
    return w->odd ? each : 0;
}

/* Rows of a column block in L1. */
static uint32_t block_of_a(const struct making *w, const struct chunk *c)
{
    return w->p->mm.a.transposed ? c->k : up16(w->m);
}

static uint32_t block_of_b(const struct making *w, const struct chunk *c)
{
    return w->p->mm.b.transposed ? up16(w->n) : c->k;
}

static void build_load(union cmd *cmd, const struct mm_operand *o, uint32_t l1,
                       uint32_t side, uint32_t k, uint32_t block)
{
    mte_gm_to_l1_nz(cmd, l1, NULL,
                    &(struct mte_nz){.type = o->type,
                                     .n_rows = o->transposed ? k : side,
                                     .n_cols = o->transposed ? side : k,
                                     .gm_pitch_elems = o->pitch,
                                     .block_rows = block});
}

static void build_loads(struct making *w, const struct block_stretch *of, uint32_t i,
                        const struct chunk *c)
{
    struct mm_operand b = w->p->mm.b;
    union cmd *both = &of->load_both.cmds[2 * i];

    b.transposed = !b.transposed; /* its side is columns */
    build_load(&both[0], &w->p->mm.a, c->a, w->m, c->k, block_of_a(w, c));
    cmd_wait(&both[0], BLOCK_A_FREE, 1);
    cmd_post(&both[0], BLOCK_A_FULL, 1);
    build_load(&both[1], &b, c->b, w->n, c->k, block_of_b(w, c));
    cmd_wait(&both[1], BLOCK_B_FREE, 1);
    cmd_post(&both[1], BLOCK_B_FULL, 1);
    of->load_b.cmds[i] = both[1];
}

/* Slice i of a chunk to L0: a, then b. */
static void build_to_l0(const struct making *w, union cmd *cmd, const struct chunk *c,
                        uint32_t i, uint32_t slot)
{
    const struct mm *mm = &w->p->mm;
    uint32_t at = i * w->s->slice, left = c->k - at;
    uint32_t k = left < w->s->slice ? left : w->s->slice;
    uint32_t columns = at / BLOCK_ROWS; /* blocks of them that lie before it */

    mte_l1_to_l0a(&cmd[0], slot * (chip_mem(NPU_MEM_L0A) / BLOCK_SLOTS),
                  c->a + (mm->a.transposed ? at : columns * block_of_a(w, c)) * MTE_BLOCK,
                  &(struct mte_window){.type = mm->a.type,
                                       .n_rows = w->m,
                                       .n_cols = k,
                                       .block_rows = block_of_a(w, c),
                                       .transpose = mm->a.transposed});
    if (c->number || i || w->p->bias == 0) {
        cmd_wait(&cmd[0], BLOCK_L0_FREE, 1);
    }
    mte_l1_to_l0b(&cmd[1], slot * (chip_mem(NPU_MEM_L0B) / BLOCK_SLOTS),
                  c->b + (mm->b.transposed ? columns * block_of_b(w, c) : at) * MTE_BLOCK,
                  &(struct mte_window){.type = mm->b.type,
                                       .n_rows = k,
                                       .n_cols = w->n,
                                       .block_rows = block_of_b(w, c),
                                       .transpose = mm->b.transposed});
    cmd_post(&cmd[1], BLOCK_L0_FULL, 1);
}

/* One bias at a time in BT, or one for each slot of L0C if these are small. */
static uint32_t bias_slot(const struct making *w)
{
    uint32_t half = chip_mem(NPU_MEM_BT) / 2;

    return w->odd && w->s->columns * BLOCK_SUM_BYTES <= half ? half : 0;
}

static void build_mmad(const struct making *w, union cmd *cmd, uint32_t k, uint32_t slot,
                       bool begins, bool ends)
{
    bool bias = begins && w->p->bias;

    cube_mmad(cmd,
              &(struct cube_mmad){.type = w->p->mm.a.type,
                                  .c = w->odd ? chip_mem(NPU_MEM_L0C) / BLOCK_SLOTS : 0,
                                  .a = slot * (chip_mem(NPU_MEM_L0A) / BLOCK_SLOTS),
                                  .b = slot * (chip_mem(NPU_MEM_L0B) / BLOCK_SLOTS),
                                  .m = w->m,
                                  .n = w->n,
                                  .k = k,
                                  .from = bias     ? CUBE_FROM_BIAS
                                          : begins ? CUBE_FROM_ZERO
                                                   : CUBE_FROM_C,
                                  .bias = bias ? bias_slot(w) : 0});
    cmd_wait(cmd, BLOCK_L0_FULL, 1);
    cmd_post(cmd, BLOCK_L0_FREE, 1);
    if (begins) {
        cmd_wait(cmd, BLOCK_C_FREE, 1);
    }
    if (ends) {
        cmd_post(cmd, BLOCK_C_FULL, 1);
    }
}

/* A chunk's slices, from slice `from` of the stretch on; how many there are. */
static uint32_t build_slices(struct making *w, const struct block_stretch *of,
                             uint32_t from, const struct chunk *c)
{
    const struct block_shape *s = w->s;
    uint32_t slices = div_up(c->k, s->slice), i;
    union cmd *to_l0 = &of->to_l0.cmds[2 * from];

    for (i = 0; i < slices; i++) {
        uint32_t number = c->number * s->slices + i, left = c->k - i * s->slice;
        uint32_t all = (s->chunks - 1) * s->slices +
                       div_up(w->p->mm.shape.k - (s->chunks - 1) * s->chunk, s->slice);
        uint32_t slot = (used(w, all) + number) % BLOCK_SLOTS;
        build_to_l0(w, &to_l0[2 * i], c, i, slot);
        build_mmad(w, &of->mmad.cmds[from + i], left < s->slice ? left : s->slice, slot,
                   number == 0, number == all - 1);
    }
    cmd_wait(&to_l0[1], BLOCK_B_FULL, 1);
    cmd_post(&to_l0[2 * slices - 1], BLOCK_B_FREE, 1);
    return slices;
}

static void make_stretch(struct making *w, uint32_t number)
{
    const struct block_shape *s = w->s;
    struct block_stretch *of = &w->tile->stretch[number];
    uint32_t chunks = block_chunks(s, number), slices = 0;

    make_sequence(w, &of->load_both, PIPE_MTE2, 2 * chunks);
    make_sequence(w, &of->load_b, PIPE_MTE2, chunks);
    make_sequence(w, &of->to_l0, PIPE_MTE1, 2 * chunks * s->slices);
    make_sequence(w, &of->mmad, PIPE_M, chunks * s->slices);
    for (uint32_t i = 0; i < chunks && !w->failed; i++) {
        uint32_t n = number * s->of_stretch + i, of_all = used(w, s->chunks) + n;
        struct chunk c = {.number = n, .k = block_k(w->p, n)};
        c.a = (s->a_stays ? n : of_all % s->a_slots) * s->a_bytes;
        c.b = s->b_at + of_all % s->b_slots * s->b_bytes;
        build_loads(w, of, i, &c);
        slices += build_slices(w, of, slices, &c);
    }
    of->to_l0.n = (uint16_t)(2 * slices);
    of->mmad.n = (uint16_t)slices;
    set_line(w, &of->load_both);
    set_line(w, &of->load_b);
    set_line(w, &of->to_l0);
    set_line(w, &of->mmad);
}

/* A tile's way to its cells. */
static void make_out(struct making *w)
{
    const struct block_shape *s = w->s;
    struct sequence *out = &w->tile->out;
    uint32_t cells = div_up(w->m, s->cell_rows);
    uint32_t l0c = w->odd ? chip_mem(NPU_MEM_L0C) / BLOCK_SLOTS : 0;

    make_sequence(w, out, PIPE_FIX, cells);
    for (uint32_t i = 0; i < cells && !w->failed; i++) {
        uint32_t row = i * s->cell_rows, left = w->m - row;
        fixpipe_to_l1(
            &out->cmds[i], 0, l0c + row * BLOCK_ROWS * BLOCK_SUM_BYTES,
            &(struct fixpipe_tile){.type = TYPE_F32,
                                   .m = left < s->cell_rows ? left : s->cell_rows,
                                   .n = up16(w->n),
                                   .block_rows = up16(w->m),
                                   .pitch_elems = s->columns});
        cmd_wait(&out->cmds[i], BLOCK_X_FREE, 1);
    }
    if (!w->failed) {
        cmd_wait(&out->cmds[0], BLOCK_C_FULL, 1);
        cmd_post(&out->cmds[cells - 1], BLOCK_C_FREE, 1);
        set_line(w, out);
    }
}

/* To BT, in front of the first slice, whose empty slot of L0 it takes: then the product two
 * before has been done. */
static void make_bias(struct making *w)
{
    struct sequence *bias = &w->tile->bias;

    make_sequence(w, bias, PIPE_MTE1, 1);
    if (!w->failed) {
        mte_l1_to_bt(bias->cmds, bias_slot(w), 0, w->p->block->bias_type,
                     (uint32_t)round_up(w->n, BIAS_UNIT));
        cmd_wait(bias->cmds, BLOCK_L0_FREE, 1);
        set_line(w, bias);
    }
}

static void make_tile(struct making *w)
{
    w->tile->stretch = tile_alloc(w->arena, w->s->stretches * sizeof(*w->tile->stretch));
    w->failed = w->failed || w->tile->stretch == NULL;
    for (uint32_t i = 0; i < w->s->stretches && !w->failed; i++) {
        make_stretch(w, i);
    }
    make_out(w);
    if (w->p->bias) {
        make_bias(w);
    }
}

/* A piece's way to UB, cell by cell. */
static void make_cells(struct making *w, const struct tiles_plan *t,
                       struct sequence *cells)
{
    const struct block_shape *s = w->s;
    const struct order *o = &t->order;

    make_sequence(w, cells, PIPE_MTE1, s->tiles);
    for (uint32_t i = 0; i < s->tiles && !w->failed; i++) {
        uint32_t bytes = block_columns(w->p, i) * BLOCK_SUM_BYTES;
        mte_l1_to_ub_rows(
            &cells->cmds[i], 0, 0,
            &(struct mte_local_rows){.n_rows = w->p->block->piece,
                                     .row_bytes = (uint32_t)round_up(bytes, MTE_BLOCK),
                                     .src_pitch_bytes = s->columns * BLOCK_SUM_BYTES,
                                     .dst_pitch_bytes = t->way.pitch * BLOCK_SUM_BYTES});
    }
    if (!w->failed) {
        cmd_wait(&cells->cmds[0], o->load_free[o->product - 1], 1);
        set_line(w, cells);
    }
}

/* Some are the last ones, with less, and some are whole. */
static bool is_there(uint32_t all, uint32_t each, bool less)
{
    return less ? all % each : all >= each;
}

int block_commands(const struct tiles_plan *t, struct block_core *core,
                   struct tile_arena *arena)
{
    const struct product *p = t->product;
    const struct block_shape *s = &p->block->s;
    struct making w = {.p = p, .s = s, .arena = arena};

    make_cells(&w, t, &core->cells);
    for (unsigned i = 0; i < 8 && !w.failed; i++) {
        bool rows = i & 4, columns = i & 2;
        w.odd = i & 1;
        w.m = rows ? p->mm.shape.m % s->rows : s->rows;
        w.n = columns ? p->mm.shape.n % s->columns : s->columns;
        w.tile = &core->tile[rows][columns][w.odd];
        if (is_there(p->mm.shape.m, s->rows, rows) &&
            is_there(p->mm.shape.n, s->columns, columns)) {
            make_tile(&w);
        }
    }
    return w.failed ? ERR_NOMEM : 0;
}
