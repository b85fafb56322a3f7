/* SPDX-License-Identifier: MIT
 *
 * Planning of a stage in tiles; see tiles.h. A candidate is one tiling of a program. Each is
 * emitted, its buffers are placed, and its pipes are simulated (search.c). The fastest is kept;
 * --explain lists those that lost.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/tile/tiles/script.h"
#include "kernels/tile/tiles/search.h"

static int no_plan(const struct search *s, struct tile_error *error)
{
    const struct candidate *c = &s->none;
    const struct tile_choice *by = tile_chosen(s->p->k, TILE_CHOICE_TILE, TILE_NO_DIM);
    uint32_t ub = chip_mem(NPU_MEM_UB);

    if (c->err != ERR_LOCAL) {
        snprintf(error->text, sizeof(error->text), "%s", c->why);
        return c->err ? c->err : ERR_ARG;
    }
    snprintf(error->text, sizeof(error->text),
             "%s does not fit: %lu rows of %lu want %lu KiB more", s->p->k->name,
             (unsigned long)c->way.rows, (unsigned long)c->way.cols,
             (unsigned long)(c->most - ub + 1023) / 1024);
    if (by) { /* it would, were it not for the schedule */
        error->line = by->line;
        error->column = by->column;
    }
    return ERR_LOCAL;
}

int plan_keep_commands(struct search *s, struct tile_arena *arena, struct tiles_plan *t)
{
    const struct emit *e = &s->e;
    unsigned n = order_body(&s->order, NULL, e->body.n, NULL, 0, NULL);

    t->n_body = n;
    t->body = tile_alloc(arena, n * e->w->ring * sizeof(*t->body));
    t->pre = tile_alloc(arena, (e->pre.n + 1) * sizeof(*t->pre));
    t->moved = tile_alloc(arena, (e->body.n + 1) * sizeof(*t->moved));
    t->emit = tile_alloc(arena, sizeof(*e));
    if (!t->body || !t->pre || !t->moved || !t->emit) {
        return ERR_NOMEM;
    }
    for (unsigned i = 0; i < e->w->ring; i++) {
        order_body(&s->order, s->body + i * e->body.n, e->body.n, t->body + i * n, n,
                   t->moved);
    }
    memcpy(t->pre, s->pre, e->pre.n * sizeof(*t->pre));
    *t->emit = *e;
    t->emit->w = &t->way;
    return 0;
}

static int make_plan(struct search *s, struct tile_arena *arena, struct tiles_plan *t)
{
    struct candidate *best = &s->best[0];
    int err;

    evaluate(s, best, true);
    t->stage.kind = &tiles_kind;
    t->stage.k = s->p->k;
    t->stage.name = s->p->k->name;
    t->way = best->way;
    t->placing = best->placing;
    t->loops = s->loops;
    t->loops.w = &t->way;
    t->stage.predicted = best->cycles;
    t->order = s->order;
    t->p = s->p;
    t->stage.cores = s->cores;
    plan_begin(&t->stage);
    for (unsigned i = 1; i < s->n_best; i++) {
        tell_lost(s, &s->best[i]);
    }
    memcpy(t->lost, s->lost, sizeof(t->lost));
    t->n_lost = s->n_lost;
    memcpy(t->unfit, s->unfit, sizeof(t->unfit));
    t->n_unfit = s->n_unfit;
    t->n_tried = s->n_tried;
    err = plan_keep_commands(s, arena, t);
    return err ? err : plan_parts(t, arena);
}

__attribute__((format(printf, 3, 4))) static int
refuse(struct tile_error *error, const struct tile_choice *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    error->line = c->line;
    error->column = c->column;
    return ERR_ARG;
}

/* `tile DIM NUMBER`: of rows, or of columns where a tile need not have them all. */
static int choose_tile(struct search *s, const struct tile_choice *c,
                       struct tile_error *error)
{
    const struct program *p = s->p;
    const char *name = p->k->dim[c->dim].name;
    tile_dims dim = (tile_dims)(1u << c->dim);
    unsigned g = 0;

    while (g < p->n_groups && !(p->group[g].dims & dim)) {
        g++;
    }
    if (g == p->n_groups || p->group[g].dims != dim) {
        return refuse(error, c, "tile %s: it is no loop of its own", name);
    }
    if (c->number == 0 || c->number > p->group[g].size) {
        return refuse(error, c, "tile %s %lu: it has %llu", name,
                      (unsigned long)c->number, (unsigned long long)p->group[g].size);
    }
    if (g == p->row && (!p->reduces_rows || c->number == p->group[g].size)) {
        s->wanted.rows = c->number;
    } else if (g == p->col && (!p->reduces || c->number == p->group[g].size)) {
        s->wanted.cols = c->number;
    } else if (g == p->col || g == p->row) {
        return refuse(error, c, "tile %s: it is reduced, so a tile has all of it", name);
    } else if (c->number != 1) {
        return refuse(error, c, "tile %s: tiles are of the last two loops", name);
    }
    return 0;
}

static bool has_type(const struct tile_kernel *k, enum type type)
{
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (k->node[v].type == type) {
            return true;
        }
    }
    return false;
}

/* `keep NAME in l1`, `in gm`: what a product's operand is computed to. */
static bool may_keep(const struct tile_kernel *k, const struct tile_choice *c)
{
    bool is = false;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        is = is || (n->op == TILE_DOT &&
                    (n->operand[0] == c->value || n->operand[1] == c->value));
    }
    return is && c->place != TILE_IN_UB && k->node[c->value].op != TILE_INPUT;
}

int plan_check_schedule(const struct tile_kernel *k, struct tile_error *error)
{
    for (unsigned i = 0; i < k->n_choices; i++) {
        const struct tile_choice *c = &k->choice[i];
        if (c->kind == TILE_CHOICE_CORES &&
            (c->number == 0 || c->number > chip_cores())) {
            return refuse(error, c, "cores %lu: the chip has %u",
                          (unsigned long)c->number, chip_cores());
        }
        if (c->kind == TILE_CHOICE_KEEP && cut_first_product(k)) {
            if (!may_keep(k, c)) {
                return refuse(
                    error, c,
                    "keep: in l1 or gm, of what a product's operand is computed to");
            }
        } else if (c->kind == TILE_CHOICE_LANES || c->kind == TILE_CHOICE_KEEP ||
                   c->kind == TILE_CHOICE_STRATEGY) {
            return refuse(error, c,
                          cut_first_product(k)
                              ? "the planner chooses that of products"
                              : "a program without products has no such choice");
        }
        if ((c->kind == TILE_CHOICE_TILE || c->kind == TILE_CHOICE_BUFFERS) &&
            cut_first_product(k)) {
            return refuse(error, c, "the planner chooses that of products");
        }
        if (c->kind == TILE_CHOICE_ARITH && !has_type(k, TYPE_F16)) {
            return refuse(error, c, "arith f16: nothing is f16");
        }
    }
    return 0;
}

/* What the schedule says of tiles. */
static int choose(struct search *s, struct tile_error *error)
{
    const struct tile_kernel *k = s->p->k;
    bool layout = tile_chosen(k, TILE_CHOICE_LAYOUT, TILE_NO_DIM);
    int err = 0;

    for (unsigned i = 0; i < k->n_choices && !err; i++) {
        const struct tile_choice *c = &k->choice[i];
        if (layout && (c->kind == TILE_CHOICE_TILE || c->kind == TILE_CHOICE_BUFFERS)) {
            err = refuse(error, c, "the layouts of this schedule say that already");
        } else if (c->kind == TILE_CHOICE_TILE) {
            err = choose_tile(s, c, error);
        } else if (c->kind == TILE_CHOICE_BUFFERS) {
            s->wanted.ring = (uint8_t)c->number;
            err = c->number == 0 || c->number > PLAN_RING
                      ? refuse(error, c, "buffers are 1 to %d", PLAN_RING)
                      : 0;
        }
    }
    return err;
}

/* A way that a schedule names has to be one that the search could have found. */
static bool way_is_right(const struct search *s, const struct way *w)
{
    const struct program *p = s->p;
    uint32_t least = search_block(p);

    return w->rows <= p->rows && w->cols <= p->cols &&
           (!p->reduces_rows || w->rows == p->rows) &&
           (!p->reduces || w->cols == p->cols) && w->pitch >= w->cols &&
           w->pitch % least == 0 && (w->cols == p->cols || w->cols % LANES == 0) &&
           (uint64_t)w->rows * w->pitch <= chip_mem(NPU_MEM_UB);
}

/* The one way of a schedule. */
static int follow(struct search *s, const struct tile_choice *c, struct tile_error *error)
{
    struct candidate *best = &s->best[0];

    *best = (struct candidate){0};
    if (!script_read_way(c->word, &best->way, &best->placing) ||
        !way_is_right(s, &best->way)) {
        return refuse(error, c, "layout %s is none of this program", c->word);
    }
    if (!evaluate(s, best, true)) {
        return refuse(error, c, "layout %s: %s", c->word, best->why);
    }
    s->n_best = 1;
    return 0;
}

static int find_way(struct search *s, const struct tile_choice *by,
                    struct tile_error *error)
{
    int err = choose(s, error);

    if (!err && by) {
        return follow(s, by, error);
    }
    if (!err) {
        search_for_cores(s);
        err = s->n_best ? 0 : no_plan(s, error);
    }
    return err;
}

void tell_lost(struct search *s, const struct candidate *c)
{
    if (s->n_lost < PLAN_LOST) {
        s->lost[s->n_lost++] = *c;
    }
}

bool search_begin(struct search *s, struct program *p, unsigned cores)
{
    s->p = p;
    s->e.p = p;
    s->cores = cores;
    s->body = plan_heap(malloc(PLAN_COMMANDS * PLAN_RING * sizeof(union cmd)));
    s->pre = plan_heap(malloc(PRE_COMMANDS * sizeof(union cmd)));
    if (s->body == NULL || s->pre == NULL) {
        search_end(s);
        return false;
    }
    return true;
}

void search_end(struct search *s)
{
    free(s->body);
    free(s->pre);
}

int plan_tiles(struct tile_plan **plan, const struct tile_kernel *k,
               const struct planning *how, struct tile_arena *arena,
               struct tile_error *error, uint32_t *wanted)
{
    uint64_t began = hart_clock();
    struct tiles_plan *t = tile_alloc(arena, sizeof(*t));
    struct program *p = tile_alloc(arena, sizeof(*p));
    struct search *s = plan_heap(calloc(1, sizeof(*s)));
    int err = ERR_NOMEM;

    *error = (struct tile_error){0};
    if (t && p && s && search_begin(s, p, how->cores)) {
        s->quick = how->quick;
        err = program_make(p, k, arena, error);
        err = err ? err : find_way(s, how->by, error);
        if (wanted && err == ERR_LOCAL) {
            *wanted = s->none.most;
        }
        err = err ? err : make_plan(s, arena, t);
        search_end(s);
    }
    free(s);
    if (err == ERR_NOMEM && error->text[0] == '\0') {
        snprintf(error->text, sizeof(error->text), "no memory for a plan");
    }
    if (t) {
        t->stage.planning = hart_clock() - began;
    }
    *plan = t ? &t->stage : NULL;
    return err;
}
