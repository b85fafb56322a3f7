/* SPDX-License-Identifier: MIT
 *
 * Planning a product whose rows are reduced; see block.h. How the Vector works on a piece is
 * searched as for any program, by cycles for a row; then how the product is cut, by what all
 * pipes take. What changes bits is chosen as for one core.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "kernels/tile/product/block.h"
#include "kernels/tile/tiles/search.h"

enum { MORE_TILES = 4 };

/* A search: the best way of the Vector, then the best shape. */
struct blocking {
    struct search s;
    const struct product *p;
    struct candidate best;
    uint64_t v, out; /* cycles of its piece */
    uint32_t piece;  /* rows; 0: there is none */
    struct block_shape shape;
    uint64_t span; /* of the best shape; 0: there is none */
};

/* --- the Vector --- */

static void try_candidate(struct blocking *f, struct candidate *c, bool anew)
{
    uint64_t v;

    if (!emit_way(&f->s, c, anew) || f->s.order.product == 0) {
        return;
    }
    v = epilogue_cycles(&f->s);
    if (f->piece == 0 || v * f->piece < f->v * c->way.rows) {
        f->best = *c;
        f->v = v;
        f->out = epilogue_cycles_out(&f->s);
        f->piece = c->way.rows;
    }
}

/* Ways of so many rows. */
static void try_rows(struct blocking *f, uint32_t rows)
{
    const struct program *p = f->s.p;
    uint32_t block = search_block(p);

    for (unsigned i = 0; i < EPILOGUE_WAYS; i++) {
        struct candidate c = {.placing = {.banks = true},
                              .way = {.rows = rows,
                                      .cols = (uint32_t)p->cols,
                                      .pitch = (uint32_t)round_up(p->cols, block),
                                      .ring = 2}};
        if (epilogue_vary(&c.way, block, i)) {
            try_candidate(f, &c, true);
        }
    }
}

/* Where the large buffers lie, one after the other. */
static void try_places(struct blocking *f)
{
    unsigned large = 0;

    (void)emit_way(&f->s, &f->best, true);
    for (unsigned b = 0; b < f->s.e.n_buffers; b++) {
        large += f->s.e.buffer[b].full;
    }
    for (unsigned i = 1; i < 4; i++) {
        struct candidate c = f->best;
        c.placing.banks ^= i & 1;
        c.placing.behind ^= i >> 1;
        try_candidate(f, &c, false);
    }
    for (unsigned k = 0; k < large && k < PLACE_LARGE; k++) {
        for (uint8_t phase = 1; phase < PLACE_PHASES; phase++) {
            struct candidate c = f->best;
            c.placing.phase[k] = phase;
            try_candidate(f, &c, false);
        }
    }
}

static bool find_way(struct blocking *f)
{
    uint32_t all = (uint32_t)f->s.p->rows;

    for (uint32_t rows = VEC_BLOCKS; rows <= BLOCK_ROWS_MOST / 2 && rows <= all;
         rows *= 2) {
        try_rows(f, rows);
    }
    if (all < VEC_BLOCKS) {
        try_rows(f, all);
    }
    if (f->piece) {
        try_places(f);
    }
    return f->piece != 0;
}

/* --- the product --- */

/* Bytes of L1 behind the operands' slots; false: they do not fit. */
static bool lay_out(const struct blocking *f, struct block_shape *s)
{
    const struct product *p = f->p;
    uint32_t esize = esize_of(p->mm.a.type), l1 = chip_mem(NPU_MEM_L1);
    uint32_t bias = p->bias ? p->mm.shape.n * esize_of(p->block->bias_type) : 0;
    uint32_t chunk = (uint32_t)round_up(s->chunk, BLOCK_ROWS);
    uint64_t end;

    s->a_bytes = s->rows * chunk * esize;
    s->b_bytes = s->columns * chunk * esize;
    s->cell_rows = f->piece > BLOCK_ROWS ? f->piece : BLOCK_ROWS;
    s->cell_bytes = s->cell_rows * s->columns * BLOCK_SUM_BYTES;
    s->a_slots = s->a_stays ? s->chunks : s->b_slots;
    s->b_at = s->a_slots * s->a_bytes;
    s->bias_at = s->b_at + s->b_slots * s->b_bytes;
    end = s->bias_at + round_up(bias, 2 * BLOCK);
    s->cells_at = (uint32_t)end;
    s->cells = end < l1 ? (l1 - s->cells_at) / s->cell_bytes : 0;
    s->cells = s->cells < BLOCK_CELLS ? s->cells : BLOCK_CELLS;
    return s->a_slots <= UINT8_MAX && s->rows % s->cell_rows == 0 &&
           s->cells >= s->tiles * (s->rows / s->cell_rows);
}

/* Slices of a chunk, as large as L0 allows and alike. */
static bool cut_chunk(const struct blocking *f, struct block_shape *s)
{
    uint32_t esize = esize_of(f->p->mm.a.type);
    uint32_t l0a = chip_mem(NPU_MEM_L0A) / BLOCK_SLOTS / (s->rows * esize);
    uint32_t l0b = chip_mem(NPU_MEM_L0B) / BLOCK_SLOTS / (s->columns * esize);
    uint32_t most = (l0a < l0b ? l0a : l0b) / BLOCK_ROWS * BLOCK_ROWS, slices;

    if (most == 0) {
        return false;
    }
    slices = div_up(s->chunk, most);
    s->slice = (uint32_t)round_up(div_up(s->chunk, slices), BLOCK_ROWS);
    s->slices = div_up(s->chunk, s->slice);
    if (s->slices > BLOCK_SLICES || s->slices * s->chunks > BLOCK_SLICES_MOST) {
        return false;
    }
    most = BLOCK_SLICES / s->slices;
    if (f->s.order.n_loads > 1 && most > s->b_slots) {
        most = s->b_slots; /* or others' loads wait behind what has not been let go */
    }
    s->stretches = div_up(s->chunks, most);
    s->of_stretch = div_up(s->chunks, s->stretches);
    s->stretches = div_up(s->chunks, s->of_stretch);
    return true;
}

/* One bias in BT is enough if the Cube has done two slices since; see block_cube.c. */
static bool bias_fits(const struct blocking *f, const struct block_shape *s)
{
    uint32_t bytes = s->columns * BLOCK_SUM_BYTES, bt = chip_mem(NPU_MEM_BT);

    return !f->p->bias || bytes <= bt / 2 || (bytes <= bt && s->chunks * s->slices > 1);
}

static struct block_flow flow_of(const struct blocking *f, const struct block_shape *s,
                                 unsigned cores)
{
    uint64_t blocks = (uint64_t)div_up(f->p->mm.shape.m, s->rows) * product_times(f->p);

    return (struct block_flow){.p = f->p,
                               .s = s,
                               .piece = f->piece,
                               .v = f->v,
                               .out = f->out,
                               .blocks = div_up(blocks, cores)};
}

static void try_shape(struct blocking *f, struct block_shape *s, unsigned cores)
{
    struct block_flow flow;
    uint64_t span;

    if (!cut_chunk(f, s) || !bias_fits(f, s) || !lay_out(f, s)) {
        return;
    }
    flow = flow_of(f, s, cores);
    span = block_span(&flow);
    if (f->span == 0 || span < f->span) {
        f->shape = *s;
        f->span = span;
    }
}

static void try_chunks(struct blocking *f, struct block_shape *s, unsigned cores)
{
    static const uint16_t chunks[] = {256, 192, 160, 128, 112, 96, 80, 64, 48, 32, 16};

    for (unsigned i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        uint32_t k = (uint32_t)round_up(f->p->mm.shape.k, BLOCK_ROWS);
        s->chunk = chunks[i] < k ? chunks[i] : k;
        s->chunks = div_up(k, s->chunk);
        for (unsigned n = 0; n < 2 * (BLOCK_B_SLOTS - 1); n++) {
            s->a_stays = n % 2;
            s->b_slots = BLOCK_SLOTS + n / 2;
            if (2 * s->chunks % s->b_slots == 0) { /* alike in each second tile */
                try_shape(f, s, cores);
            }
        }
    }
}

/* Shapes of tiles; sums take at most half of L0C. */
static bool find_shape(struct blocking *f, unsigned cores)
{
    uint32_t n = f->p->mm.shape.n, m = (uint32_t)round_up(f->p->mm.shape.m, BLOCK_ROWS);
    uint32_t half = chip_mem(NPU_MEM_L0C) / BLOCK_SLOTS / BLOCK_SUM_BYTES;
    struct block_shape s = {0};

    f->span = 0;
    for (s.rows = BLOCK_ROWS; s.rows <= BLOCK_ROWS_MOST && s.rows < m + BLOCK_ROWS;
         s.rows += BLOCK_ROWS) {
        uint32_t least = div_up((uint64_t)round_up(n, BLOCK_ROWS) * s.rows, half);
        for (s.tiles = least; s.tiles < least + MORE_TILES; s.tiles++) {
            s.columns = (uint32_t)round_up(div_up(n, s.tiles), BLOCK_ROWS);
            if (s.tiles <= BLOCK_TILES && s.columns * s.rows <= half &&
                div_up(n, s.columns) == s.tiles) {
                try_chunks(f, &s, cores);
            }
        }
    }
    return f->span != 0;
}

/* --- the plan --- */

/* Products that the commands of block_cube.c can make, and rows that are whole in a tile. */
static bool is_block(const struct product *p, const struct program *v)
{
    const struct mm *mm = &p->mm;
    bool halves = mm->a.type == TYPE_F16 || mm->a.type == TYPE_BF16;

    return halves && chip_has_type(PIPE_M, mm->a.type) && v->reduces &&
           !v->reduces_rows && v->row < v->n_groups && v->cols == mm->shape.n &&
           v->rows == mm->shape.m;
}

/* Batches are products one after the other. */
static void no_batch(struct product *p)
{
    p->n_batch = 0;
    p->mm.shape.batch = 1;
}

static int make_cores(struct tiles_plan *t, struct tile_arena *arena)
{
    struct block *b = t->product->block;
    uint64_t all = (uint64_t)b->blocks * product_times(t->product);
    int err = 0;

    b->core = tile_alloc(arena, t->stage.cores * sizeof(*b->core));
    for (unsigned c = 0; b->core && c < t->stage.cores && !err; c++) {
        b->core[c].begin = (uint32_t)(all * c / t->stage.cores);
        b->core[c].end = (uint32_t)(all * (c + 1) / t->stage.cores);
        err = block_commands(t, &b->core[c], arena);
    }
    return b->core ? err : ERR_NOMEM;
}

static int keep(struct blocking *f, struct tiles_plan *t, unsigned cores,
                struct tile_arena *arena)
{
    struct block *b = t->product->block;
    struct block_flow flow = flow_of(f, &f->shape, cores);
    uint64_t all, pieces = div_up(f->shape.rows, f->piece) * flow.blocks;
    int err;

    b->s = f->shape;
    b->piece = f->piece;
    b->blocks = div_up(f->p->mm.shape.m, b->s.rows);
    all = (uint64_t)b->blocks * product_times(f->p);
    t->stage.predicted = (struct tile_cycles){
        .span = f->span, .v = pieces * f->v, .mte3 = pieces * f->out};
    err = all > UINT32_MAX / BLOCK_TILES
              ? ERR_LOCAL
              : epilogue_keep(t, &f->s, &f->best, cores < all ? cores : (unsigned)all,
                              arena);
    return err ? err : make_cores(t, arena);
}

static int plan(struct blocking *f, struct tiles_plan *t, unsigned cores,
                struct tile_arena *arena)
{
    struct block_flow flow;

    if (!is_block(f->p, t->p) || !find_way(f) || !find_shape(f, 1)) {
        return ERR_LOCAL;
    }
    flow = flow_of(f, &f->shape, 1);
    if (f->span > block_spilled(&flow) || (cores > 1 && !find_shape(f, cores))) {
        return ERR_LOCAL;
    }
    return keep(f, t, cores, arena);
}

int block_plan(struct tiles_plan *t, unsigned cores, struct tile_arena *arena,
               struct tile_error *error)
{
    struct product *p = t->product;
    struct blocking *f = plan_heap(calloc(1, sizeof(*f)));
    int err = ERR_NOMEM;

    p->epilogue = tile_alloc(arena, sizeof(*p->epilogue));
    p->block = tile_alloc(arena, sizeof(*p->block));
    if (f && p->epilogue && p->block && search_begin(&f->s, t->p, cores)) {
        no_batch(p);
        f->p = p;
        err = epilogue_program(t, arena, error);
        p->block->bias_type =
            p->bias ? (enum type)p->k->param[p->bias - 1].type : TYPE_NONE;
        err = err ? err : plan(f, t, cores, arena);
        search_end(&f->s);
    }
    free(f);
    return err;
}
