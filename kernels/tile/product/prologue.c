/* SPDX-License-Identifier: MIT
 *
 * Planning an operand that the Vector computes on its way to L1; see prologue.h. Its program is
 * planned as one behind a product is, for pieces of the object's chunks.
 */
#include "kernels/tile/product/prologue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/tiles/search.h"

enum {
    CUTS = 4, /* of the largest tile: by 2, 4, 8 */
    LEAST_ROWS = 8,
    FLOW_SLOTS = 255,
    FLOW_PANELS = 8, /* of more panels, the others are like the last of these */
    START = 300,     /* cycles until the first load */
    EDGES = 64,      /* of an object's cycles, about, are what it begins and ends with */
    /* Instructions of the hart, about. */
    HART_PIECE = 530,
    HART_COMMAND = 8,
    HART_MOVE = 100,
    HART_TILE = 500,
    HART_CHUNK = 300,
    HART_PRODUCTS = 200,
    HART_RECORD = 350, /* of the first ones, each */
    RECORDED = 24
};

/* Of the Vector: cycles, and instructions of the hart. */
struct piece {
    uint64_t v, in, out, hart;
};

/* A search: for the object as it is cut, the best way. */
struct filling {
    struct search s;
    const struct mm *mm;
    struct prologue *g;
    unsigned cores;
    uint32_t rows, cols; /* of a chunk */
    struct candidate best;
    uint64_t span; /* 0: there is none */
    uint32_t rows_of_piece;
    struct piece piece;
    uint64_t pieces; /* of a core */
};

/* --- what a core takes --- */

/* A share of tiles while it is gone through, chunk by chunk. */
struct flow {
    uint32_t chunks, slots;    /* of a panel; of L1 */
    uint64_t make, use;        /* cycles of a chunk */
    uint64_t vector, cube;     /* when they are done */
    uint64_t free[FLOW_SLOTS]; /* slots, in turn */
    uint32_t made;
};

/* A panel, and the tiles that use it: the first as its chunks come, the others behind. */
static void panel(struct flow *w, uint32_t tiles)
{
    uint64_t last = tiles - 1, used;

    for (uint32_t i = 0; i < w->chunks; i++) {
        uint64_t *free = &w->free[(w->made + i) % w->slots];
        w->vector = later(w->vector, *free) + w->make;
        w->cube = later(w->cube, w->vector) + w->use;
        *free = w->cube;
    }
    w->cube += w->use * w->chunks * last;
    for (uint32_t i = 0; i < w->chunks; i++, w->made++) {
        used = w->cube - (w->chunks - 1 - i) * w->use;
        w->free[w->made % w->slots] = last ? used : w->free[w->made % w->slots];
    }
}

/* Cycles until all of a share's tiles have been multiplied, with pieces of so many rows and
 * cycles. */
static uint64_t span_of(const struct filling *f, const struct way *way,
                        const struct piece *piece, uint64_t *pieces_of_core)
{
    const struct mm *mm = f->mm;
    unsigned shares = mm->tiles < f->cores ? mm->tiles : f->cores;
    bool stays = f->g->b ? mm->tiling.b_stays : mm->tiling.a_stays;
    uint32_t tiles = div_up(mm->tiles, shares);
    uint32_t line = !stays ? 1 : f->g->b ? mm->rows : mm->cols;
    uint32_t panels =
        mm->tiles % (shares * line) == 0 ? tiles / line : (tiles + line - 2) / line + 1;
    uint32_t slots = f->g->b ? mm->tiling.b_slots : mm->tiling.a_slots;
    uint32_t sum = 0, first = panels < FLOW_PANELS ? panels : FLOW_PANELS;
    struct flow w = {.chunks = mm_count(mm->shape.k, mm->tiling.k)};
    uint64_t half = 0, pieces = (uint64_t)div_up(f->rows, way->rows) * w.chunks * panels;
    uint32_t halves = mm_count(mm->tiling.n, mm->tiling.columns);
    uint64_t hart = pieces * piece->hart + (uint64_t)tiles * HART_TILE +
                    (uint64_t)tiles * w.chunks * (HART_CHUNK + halves * HART_PRODUCTS) +
                    (halves + 1) * HART_RECORD * mm_min(tiles * w.chunks, RECORDED);

    *pieces_of_core = pieces;
    w.slots = slots < FLOW_SLOTS ? slots : FLOW_SLOTS;
    w.make = div_up(f->rows, way->rows) * later(piece->v, later(piece->in, piece->out));
    w.use = (mm->tiling.cycles - mm->tiling.cycles / EDGES) / tiles / w.chunks;
    w.vector = START + piece->in + piece->v;
    for (uint32_t i = 0; i < first; i++) {
        uint32_t end = (uint32_t)((uint64_t)tiles * (i + 1) / panels);
        half = i == FLOW_PANELS / 2 ? w.cube : half;
        panel(&w, end - sum);
        sum = end;
    }
    if (panels > first) {
        w.cube += (w.cube - half) * (panels - first) / (FLOW_PANELS / 2);
    }
    return later(w.cube, hart);
}

/* --- the Vector --- */

static void try_way(struct filling *f, const struct way *way, const struct placing *how)
{
    struct candidate c = {.way = *way, .placing = *how};
    struct piece piece;
    uint64_t span, pieces;

    if (!emit_way(&f->s, &c, true) || f->s.order.n_stores != 1) {
        return;
    }
    piece.v = epilogue_cycles(&f->s);
    piece.in = epilogue_cycles_in(&f->s);
    piece.out = chip_cost(COST_L1_L0_FIXED) + (uint64_t)way->rows * way->cols *
                                                  esize_of(f->mm->a.type) /
                                                  chip_cost(COST_L1_UB_RATE);
    piece.hart = HART_PIECE + (uint64_t)HART_COMMAND * f->s.e.body.n +
                 HART_MOVE * f->s.order.n_loads;
    span = span_of(f, way, &piece, &pieces);
    if (f->span == 0 || span < f->span) {
        f->best = c;
        f->span = span;
        f->rows_of_piece = way->rows;
        f->piece = piece;
        f->pieces = pieces;
    }
}

/* The other ways of the best size, and places. */
static void try_others(struct filling *f)
{
    struct candidate best = f->best;

    for (unsigned i = 1; i < epilogue_ways(&f->s); i++) {
        struct way w = best.way;
        if (epilogue_vary(&w, search_block(f->s.p), i)) {
            try_way(f, &w, &best.placing);
        }
    }
    best = f->best;
    for (unsigned i = 1; i < 4; i++) {
        struct placing how = best.placing;
        how.banks ^= i & 1;
        how.behind ^= i >> 1;
        try_way(f, &best.way, &how);
    }
}

/* Pieces of so many rows, two or three at one time. */
static void search_way(struct filling *f)
{
    const struct program *p = f->s.p;
    struct way w = {.cols = f->cols, .spread = true, .far = true};
    uint32_t rows = f->rows, ub = p->ub_bytes ? p->ub_bytes : chip_mem(NPU_MEM_UB);

    w.pitch = (uint32_t)round_up(w.cols, search_block(p));
    for (;;) {
        w.rows = rows;
        for (w.ring = 2; w.ring < PLAN_RING; w.ring++) {
            if ((uint64_t)rows * w.pitch * w.ring * esize_of(f->mm->a.type) <= ub) {
                try_way(f, &w, &(struct placing){.banks = true});
            }
        }
        if (rows <= LEAST_ROWS) {
            break;
        }
        rows = (uint32_t)round_up(div_up(rows, 2), LEAST_ROWS);
    }
}

/* The best for an object that is planned: its span; 0: there is none. */
static uint64_t choose(struct filling *f, const struct mm *mm)
{
    const struct mm_cursor most = {.mt = mm_min(mm->tiling.m, mm->shape.m),
                                   .nt = mm_min(mm->tiling.n, mm->shape.n),
                                   .kt = mm_min(mm->tiling.k, mm->shape.k)};
    const struct prologue_window w = prologue_window(f->g, mm, &most);

    f->mm = mm;
    f->rows = w.rows;
    f->cols = w.cols;
    f->span = 0;
    search_way(f);
    return f->span;
}

/* Whether a tiling was not tried yet. */
static bool is_new(struct mm_tiling *tried, unsigned *n, const struct mm *mm)
{
    for (unsigned i = 0; i < *n; i++) {
        if (memcmp(&tried[i], &mm->tiling, sizeof(*tried)) == 0) {
            return false;
        }
    }
    tried[(*n)++] = mm->tiling;
    return true;
}

/* Tiles of the object, from large ones to small ones, and one panel in L1 or two, with the best
 * way of the Vector. */
static int search_tilings(struct filling *f, struct product *p, char why[MM_TEXT])
{
    struct mm_tiling tried[2 * CUTS];
    struct mm mm, best_mm;
    uint64_t span = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < 2 * CUTS; i++) {
        mm = p->mm;
        mm.tile_bytes = chip_mem(NPU_MEM_L0C) >> i / 2;
        mm_give(&mm, f->g->b, 1 + i % 2);
        if (mm_plan(&mm, f->cores, MM_GENERAL, why) == 0 && mm_check(&mm, why) == 0 &&
            (span == 0 || mm.tiling.cycles < span) && is_new(tried, &n, &mm) &&
            choose(f, &mm) && (span == 0 || f->span < span)) {
            best_mm = mm;
            span = f->span;
        }
    }
    if (span == 0) {
        return ERR_LOCAL;
    }
    p->mm = best_mm;
    return 0;
}

/* For the object as it is planned now. */
static int keep(struct filling *f, struct product *p, unsigned cores,
                struct tile_arena *arena)
{
    struct prologue *g = f->g;

    if (choose(f, &p->mm) == 0) {
        return ERR_LOCAL;
    }
    try_others(f);
    g->rows = f->rows_of_piece;
    return epilogue_keep(g->t, &f->s, &f->best, cores, arena);
}

int prologue_finish(struct tiles_plan *t, bool alone, unsigned cores,
                    struct tile_arena *arena)
{
    struct product *p = t->product;
    struct filling *f = plan_heap(calloc(1, sizeof(*f)));
    char why[MM_TEXT];
    int err = ERR_NOMEM;

    if (f && search_begin(&f->s, p->prologue->t->p, cores)) {
        f->g = p->prologue;
        f->cores = cores;
        err = alone ? search_tilings(f, p, why) : 0;
        cores = cores < p->mm.tiles ? cores : p->mm.tiles;
        err = err ? err : keep(f, p, cores, arena);
        if (!err) {
            t->stage.cores = cores;
            t->stage.predicted.span = later(t->stage.predicted.span, f->span * product_times(p));
            t->stage.predicted.v += f->pieces * f->piece.v * product_times(p);
            t->stage.predicted.mte3 += f->pieces * f->piece.out * product_times(p);
        }
        search_end(&f->s);
    }
    free(f);
    return err;
}

/* --- its program --- */

/* Rows and columns as the operand would lie in GM. */
static void set_directions(const struct product *p, const struct prologue *g,
                           struct tile_kernel *k)
{
    const struct mm_operand *o = g->b ? &p->mm.b : &p->mm.a;
    tile_dims side = product_dims(k, p->k, g->b ? p->columns : p->rows);
    tile_dims along = product_dims(k, p->k, (tile_dims)(1u << p->dot->dim));
    bool along_k = g->b ? o->transposed : !o->transposed;

    k->rows = along_k ? side : along;
    k->columns = along_k ? along : side;
}

static int operand_bind(const struct tile_plan *t, const struct tile_call *call,
                        struct sched_report *report)
{
    (void)report;
    memcpy(tiles_of(t)->product->in, call->in, sizeof(call->in));
    return 0;
}

/* What is played of it is played within the product's stage. */
static const struct stage_kind operand_kind;
const struct stage_run operand_run = {.kind = &operand_kind, .bind = operand_bind};

static int make_program(struct product *p, const struct tile_kernel *operand,
                        struct tile_arena *arena, struct tile_error *error)
{
    struct prologue *g = p->prologue;
    struct tile_kernel *k = tile_alloc(arena, sizeof(*k));
    struct tiles_plan *t;
    struct product *own;

    if (k == NULL) {
        return ERR_NOMEM;
    }
    *k = *operand;
    t = product_stage(&operand_kind, k, arena);
    if (t == NULL || (t->product->epilogue =
                          tile_alloc(arena, sizeof(*t->product->epilogue))) == NULL) {
        return ERR_NOMEM;
    }
    g->t = t;
    own = t->product;
    set_directions(p, g, k);
    own->n_outer = p->n_outer;
    own->n_batch = p->n_batch;
    for (unsigned i = 0; i < k->n_params; i++) {
        own->epilogue->in[i] = (uint8_t)i;
    }
    for (unsigned i = 0; i < p->n_outer; i++) {
        own->outer[i] = p->outer[i];
        own->epilogue->outer[i] = tile_find_dim(k, p->k->dim[p->outer[i].dim].name);
    }
    t->p->sems = PLAN_SEMS + MM_SEMS;
    if (k->columns == 0) { /* a column, whose elements would be rows */
        return ERR_LOCAL;
    }
    return program_make(t->p, k, arena, error) ? ERR_LOCAL : 0;
}

int prologue_make(struct product *p, const struct tile_kernel *operand, uint8_t param,
                  struct tile_arena *arena, struct tile_error *error)
{
    struct prologue *g = tile_alloc(arena, sizeof(*g));
    const struct mm_operand *o;

    if (g == NULL) {
        return ERR_NOMEM;
    }
    g->operand = param;
    g->b = p->b == param;
    g->line = operand->node[operand->result[0].value].line;
    p->prologue = g;
    o = g->b ? &p->mm.b : &p->mm.a;
    if (p->a == p->b || p->dot->op != TILE_DOT) {
        return ERR_LOCAL;
    }
    mm_give(&p->mm, g->b, 1);
    return mm_may_be_rows(&p->mm, o) ? make_program(p, operand, arena, error) : ERR_LOCAL;
}

void prologue_explain(const struct product *p, FILE *to)
{
    const struct prologue *g = p->prologue;
    const struct tiles_plan *t = g->t;
    const struct mm_tiling *m = &p->mm.tiling;

    fprintf(
        to,
        "operand  %s: computed on its way to L1, once for each %s of tiles, in pieces "
        "of %lu rows x %lu; %u slots for the %lu chunks of k\n",
        p->k->param[g->operand].name, g->b ? "column" : "row", (unsigned long)g->rows,
        (unsigned long)t->way.cols, g->b ? m->b_slots : m->a_slots,
        (unsigned long)mm_count(p->mm.shape.k, m->k));
    plan_explain_memory(t, to);
}
