/* SPDX-License-Identifier: MIT
 *
 * What the Vector computes of a product while the Cube is at the next tile; see product.h.
 * It is planned as a program of the Vector is, for tiles that are pieces of the Matmul
 * object's: the fixpipe brings them to a ring in UB, as many as a tile has at one time.
 */
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/product/product.h"
#include "kernels/tile/tiles/search.h"

enum { CUTS = 4 /* of the largest tile: by 2, 4, 8 */, MORE_CHUNKS = 4 };

/* --- its program --- */

/* The sum that leaves L0C: the product, or with a row if nothing else wants it. */
static tile_value sum_of(struct product *p)
{
    const struct tile_kernel *k = p->k;
    tile_value dot = cut_first_product(k), user = 0;
    bool live[TILE_NODES + 1] = {false};
    unsigned users = 0;

    cut_live(k, live);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        for (unsigned i = 0; i < 3 && live[v]; i++) {
            users += k->node[v].operand[i] == dot;
            user = k->node[v].operand[i] == dot ? v : user;
        }
    }
    for (unsigned r = 0; r < k->n_results; r++) {
        users += k->result[r].value == dot;
    }
    return users == 1 && user && product_is_sum(p, k, user) ? user : dot;
}

tile_dims product_dims(const struct tile_kernel *to, const struct tile_kernel *from,
                       tile_dims dims)
{
    tile_dims in = 0;

    for (unsigned d = 0; d < from->n_dims; d++) {
        in |= dims >> d & 1 ? (tile_dims)(1u << tile_find_dim(to, from->dim[d].name)) : 0;
    }
    return in;
}

int epilogue_program(struct tiles_plan *t, struct tile_arena *arena,
                     struct tile_error *error)
{
    struct product *p = t->product;
    struct epilogue *e = p->epilogue;
    struct cut *cut = tile_alloc(arena, sizeof(*cut));
    const struct stage *s = cut ? &cut->stage[0] : NULL;

    if (s == NULL || !cut_behind(cut, p->k, sum_of(p), arena)) {
        return ERR_LOCAL;
    }
    for (unsigned i = 0; i < s->k->n_params; i++) {
        e->in[i] = s->in[i].index;
        if (s->in[i].of == OF_SCRATCH) {
            s->k->product = (uint8_t)(i + 1);
        }
    }
    s->k->rows = product_dims(s->k, p->k, p->rows);
    s->k->columns = product_dims(s->k, p->k, p->columns);
    for (unsigned i = 0; i < p->n_outer; i++) {
        e->outer[i] = tile_find_dim(s->k, p->k->dim[p->outer[i].dim].name);
    }
    return program_make(t->p, s->k, arena, error) ? ERR_LOCAL : 0;
}

/* --- the search --- */

struct fusing {
    struct search s;
    struct mm mm; /* that is tried */
    unsigned cores;
    struct mm_tiling tried[2 * CUTS];
    unsigned n_tried;
    struct candidate best;
    struct mm best_mm;
    uint64_t span, v, out;
    unsigned pieces;
    bool fits; /* what was tried as if there were no bias, with it: no other is better */
};

static uint32_t tiles_of_a_core(const struct mm *mm, unsigned cores)
{
    return div_up(mm->tiles, mm->tiles < cores ? mm->tiles : cores);
}

/* On average over the ring. */
uint64_t epilogue_cycles(const struct search *s)
{
    struct tile_costs costs;
    uint64_t cycles = 0;

    tile_costs_init(&costs);
    for (unsigned i = 0; i < s->e.body.n * s->e.w->ring; i++) {
        cycles += tile_cost(&costs, &s->body[i]);
    }
    return cycles / s->e.w->ring;
}

uint64_t epilogue_cycles_out(const struct search *s)
{
    const struct program *p = s->p;
    struct tile_costs costs;
    uint64_t cycles = 0;
    union cmd cmd;

    tile_costs_init(&costs);
    for (unsigned r = 0; r < p->k->n_results; r++) {
        loops_transfer(
            p, &(struct transfer){.tensor = &p->k->result[r].tensor, .store = true},
            s->e.w->rows, s->e.w->cols, s->e.w->pitch, &cmd);
        cycles += tile_cost(&costs, &cmd);
    }
    return cycles;
}

uint64_t epilogue_cycles_in(const struct search *s)
{
    const struct order *o = &s->order;
    struct tile_costs costs;
    uint64_t cycles = 0;
    union cmd cmd;

    tile_costs_init(&costs);
    for (unsigned l = 0; l < o->n_loads; l++) {
        unsigned param = s->e.buffer[o->load[l] - 1].load - 1u;
        if (l + 1 != o->product) {
            loops_transfer(s->p, &(struct transfer){.tensor = &s->p->k->param[param]},
                           s->e.w->rows, s->e.w->cols, s->e.w->pitch, &cmd);
            cycles += tile_cost(&costs, &cmd);
        }
    }
    return cycles;
}

unsigned epilogue_ways(struct search *s)
{
    return search_mixes(s) ? EPILOGUE_WAYS : EPILOGUE_WAYS / 2;
}

bool epilogue_vary(struct way *w, uint32_t block, unsigned i)
{
    uint32_t dense = w->pitch;

    while (i & 1 && w->pitch / 8 % 4 != 2 && w->pitch < dense + 4 * LANES) {
        w->pitch += block; /* 8 rows are in even groups */
    }
    w->apart = i & 2;
    w->spread = w->far = !(i & 4);
    return !(i & 1) || w->pitch != dense;
}

/* The whole of a core's share: pieces are of so many rows. */
static uint64_t span_of(const struct fusing *f, unsigned pieces, uint32_t rows,
                        uint64_t v, uint64_t out)
{
    const struct order *o = &f->s.order;
    const struct emit *e = &f->s.e;

    return epilogue_span(
        &(struct epilogue_flow){.mm = &f->mm,
                                .pieces = pieces,
                                .ring = e->w->ring,
                                .rows = rows,
                                .v = v,
                                .out = out,
                                .commands = e->body.n,
                                .moves = o->n_loads + o->n_stores - 1,
                                .in_place = e->buffer[o->load[o->product - 1] - 1].store},
        tiles_of_a_core(&f->mm, f->cores));
}

static struct mm_ring ring_of(const struct emit *e, const struct order *o, uint32_t rows)
{
    uint8_t b = o->load[o->product - 1];

    return (struct mm_ring){.begin = e->at[b - 1][0],
                            .bytes = e->buffer[b - 1].bytes,
                            .slots = e->w->ring,
                            .rows = rows,
                            .pitch_bytes = e->w->pitch * esize_of(TYPE_F32),
                            .free = o->load_free[o->product - 1],
                            .full = o->load_full[o->product - 1]};
}

/* Rows of a piece as the object cuts them, not as many as there are. */
static void try_candidate(struct fusing *f, struct candidate *c, uint32_t rows,
                          unsigned pieces, bool anew)
{
    uint64_t v, out, span;
    struct mm mm = f->mm;
    char why[MM_TEXT];

    if (!emit_way(&f->s, c, anew) || f->s.order.product == 0) {
        return;
    }
    mm_set_ring(&mm, &(struct mm_ring){0});
    v = epilogue_cycles(&f->s);
    out = epilogue_cycles_out(&f->s);
    span = span_of(f, pieces, rows, v, out);
    if (f->span && span >= f->span) {
        return;
    }
    mm.ring = ring_of(&f->s.e, &f->s.order, rows);
    mm.in_order = f->mm.in_order || f->s.order.n_loads > 1;
    if (mm_check(&mm, why) != 0) {
        return;
    }
    f->best = *c;
    f->best_mm = mm;
    f->span = span;
    f->v = v;
    f->out = out;
    f->pieces = pieces;
}

/* Ways of a size. */
static void try_ways(struct fusing *f, const struct way *size, uint32_t rows,
                     unsigned pieces)
{
    uint32_t block = search_block(f->s.p), columns = f->mm.tiling.columns;

    for (unsigned i = 0; i < epilogue_ways(&f->s); i++) {
        struct candidate c = {.way = *size, .placing = {.banks = true}};
        c.way.pitch = (uint32_t)round_up(columns, block);
        if (epilogue_vary(&c.way, block, i) &&
            (uint64_t)way_rows(size) * c.way.pitch * size->ring * esize_of(TYPE_F32) <=
                chip_mem(NPU_MEM_UB)) {
            try_candidate(f, &c, rows, pieces, true);
        }
    }
}

/* Tiles of the object, in pieces of their rows. */
static void try_pieces(struct fusing *f)
{
    const struct mm_tiling *t = &f->mm.tiling;
    unsigned halves = div_up(t->n, t->columns);

    for (unsigned cuts = 1; cuts * halves <= PLAN_RING; cuts *= 2) {
        uint32_t rows = (uint32_t)round_up(div_up(t->m, (uint32_t)cuts), 16);
        unsigned pieces = halves * div_up(t->m, rows);
        struct way w = {.rows = rows < f->s.p->rows ? rows : (uint32_t)f->s.p->rows,
                        .cols = t->columns < f->s.p->cols ? t->columns
                                                          : (uint32_t)f->s.p->cols};
        for (w.ring = (uint8_t)pieces; w.ring <= PLAN_RING;
             w.ring = (uint8_t)(w.ring * 2)) {
            try_ways(f, &w, rows, pieces);
        }
    }
}

/* Smaller chunks leave L1 room for a bias. */
static int make_room(struct mm *mm, char why[MM_TEXT])
{
    struct mm_tiling *t = &mm->tiling;
    uint32_t chunks = div_up(mm->shape.k, t->k), slice = t->slice;
    int err = mm_check(mm, why);

    for (unsigned i = 1; i <= MORE_CHUNKS && err == ERR_LOCAL; i++) {
        t->k = (uint32_t)round_up(div_up(mm->shape.k, chunks + i), mm->unit_k);
        t->slice = (uint32_t)round_up(div_up(t->k, div_up(t->k, slice)), mm->unit_k);
        t->a_slots = (uint16_t)(t->a_stays ? div_up(mm->shape.k, t->k) : t->a_slots);
        t->b_slots = (uint16_t)(t->b_stays ? div_up(mm->shape.k, t->k) : t->b_slots);
        err = mm_check(mm, why);
    }
    return err;
}

static bool is_tried(const struct fusing *f)
{
    unsigned i = 0;

    while (i < f->n_tried &&
           memcmp(&f->tried[i], &f->mm.tiling, sizeof(f->mm.tiling)) != 0) {
        i++;
    }
    return i < f->n_tried;
}

/* The product alone takes as long as the best with all behind it does. */
static bool is_hopeless(const struct fusing *f)
{
    return f->span && f->mm.tiling.cycles >= f->span;
}

/* The best tiles of so many bytes at most, as if there were no bias, or with it. */
static int try_tiling(struct fusing *f, const struct mm *mm, uint32_t most, bool bias,
                      char why[MM_TEXT])
{
    struct mm_tiling was;
    int err;

    f->mm = *mm;
    f->mm.tile_bytes = most;
    f->mm.sem = PLAN_SEMS;
    f->mm.bias = bias ? mm->bias : NULL;
    err = mm_check(&f->mm, why);
    err = err ? err : mm_plan(&f->mm, f->cores, MM_GENERAL, why);
    f->mm.bias = mm->bias;
    was = f->mm.tiling;
    err = err ? err : make_room(&f->mm, why);
    f->fits = !err && memcmp(&was, &f->mm.tiling, sizeof(was)) == 0;
    if (!err && !is_tried(f) && !is_hopeless(f)) {
        f->tried[f->n_tried++] = f->mm.tiling;
        try_pieces(f);
    }
    return err;
}

/* The one of a schedule; if there is no way, it might be that of the product alone. */
static int try_said(struct fusing *f, const struct product *p, char why[MM_TEXT])
{
    int err;

    f->mm = p->mm;
    f->mm.sem = PLAN_SEMS;
    err = mm_plan_as(&f->mm, p->said, f->cores, why);
    if (!err && f->mm.parts == 1) {
        try_pieces(f);
    }
    return f->span ? 0 : ERR_LOCAL;
}

/* From large ones to small ones, of which none is faster than the larger. */
static int search_tilings(struct fusing *f, const struct mm *mm, char why[MM_TEXT])
{
    uint32_t most = chip_mem(NPU_MEM_L0C);
    int err = 0;

    for (unsigned i = 0; i < CUTS && !err && !is_hopeless(f); i++, most /= 2) {
        f->fits = false;
        if (mm->bias) {
            (void)try_tiling(f, mm, most, false, why);
        }
        if (!f->fits && !is_hopeless(f)) {
            err = try_tiling(f, mm, most, true, why);
        }
    }
    return f->span ? 0 : err ? err : ERR_LOCAL;
}

/* Where the large buffers lie besides the ring. */
static void search_places(struct fusing *f)
{
    struct candidate c = f->best;

    f->mm = f->best_mm;
    for (unsigned i = 1; i < 3; i++) {
        c.placing.banks = f->best.placing.banks ^ (i & 1);
        c.placing.behind = f->best.placing.behind ^ (i >> 1);
        try_candidate(f, &c, f->best_mm.ring.rows, f->pieces, i == 1);
    }
}

/* --- the plan --- */

/* The Vector's commands of a core, and what indices in them begin with. */
static int make_core(const struct tiles_plan *t, struct epilogue_core *core,
                     struct tile_arena *arena)
{
    unsigned parts = epilogue_parts(t), n_index = t->emit->n_index;

    core->part = tile_alloc(arena, t->way.ring * parts * sizeof(*core->part));
    for (unsigned i = 0; core->part && i < t->way.ring * parts; i++) {
        struct sequence *s = &core->part[i];
        unsigned first = i % parts * EPILOGUE_PART, left = t->n_body - first;
        *s = (struct sequence){
            .name = "epilogue",
            .pipe = PIPE_V,
            .cmds = t->body + i / parts * t->n_body + first,
            .n = (uint16_t)(left < EPILOGUE_PART ? left : EPILOGUE_PART)};
        s->patches = tile_alloc(arena, (n_index + 1) * sizeof(*s->patches));
        if (s->patches == NULL) {
            return ERR_NOMEM;
        }
        for (unsigned x = 0; x < n_index; x++) {
            unsigned at = t->moved[t->emit->index[x].command];
            if (at / EPILOGUE_PART == i % parts) {
                s->patches[s->n_patches++] =
                    (struct seq_patch){.cmd = (uint16_t)(at % EPILOGUE_PART),
                                       .field = SEQ_FIELD(vec_fill.value)};
            }
        }
    }
    return core->part ? 0 : ERR_NOMEM;
}

int epilogue_keep(struct tiles_plan *t, struct search *s, struct candidate *best,
                  unsigned cores, struct tile_arena *arena)
{
    struct epilogue *e = t->product->epilogue;
    int err;

    (void)emit_way(s, best, true);
    t->way = best->way;
    t->placing = best->placing;
    t->order = s->order;
    t->stage.cores = cores;
    t->n_tried = s->n_tried;
    err = plan_keep_commands(s, arena, t);
    e->core = tile_alloc(arena, t->stage.cores * sizeof(*e->core));
    err = e->core == NULL ? ERR_NOMEM : err;
    for (unsigned c = 0; c < t->stage.cores && !err; c++) {
        err = make_core(t, &e->core[c], arena);
    }
    return err;
}

static int keep_plan(struct fusing *f, struct tiles_plan *t, struct tile_arena *arena)
{
    uint32_t tiles = tiles_of_a_core(&f->best_mm, f->cores);

    t->product->mm = f->best_mm;
    t->stage.predicted = (struct tile_cycles){.span = f->span * product_times(t->product),
                                        .v = f->v * f->pieces * tiles,
                                        .mte3 = f->out * f->pieces * tiles};
    return epilogue_keep(t, &f->s, &f->best,
                         f->cores < f->best_mm.tiles ? f->cores : f->best_mm.tiles,
                         arena);
}

int epilogue_plan(struct tiles_plan *t, unsigned cores, struct tile_arena *arena,
                  struct tile_error *error)
{
    struct product *p = t->product;
    struct fusing *f = plan_heap(calloc(1, sizeof(*f)));
    char why[MM_TEXT] = "";
    int err = ERR_NOMEM;

    p->epilogue = tile_alloc(arena, sizeof(*p->epilogue));
    if (f && p->epilogue && search_begin(&f->s, t->p, cores)) {
        f->cores = cores;
        err = epilogue_program(t, arena, error);
        mm_set_bias(&p->mm, p->bias ? p : NULL);
        err = err ? err : p->said ? try_said(f, p, why) : search_tilings(f, &p->mm, why);
        if (!err) {
            search_places(f);
            err = keep_plan(f, t, arena);
        } else if (why[0]) {
            tile_error_set(error, p->dot, err, "product: %s", why);
        }
        search_end(&f->s);
    }
    free(f);
    return err;
}
