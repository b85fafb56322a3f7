/* SPDX-License-Identifier: MIT
 *
 * Planning of a CONV; see windows.h.
 */
#include "kernels/tile/convolution/windows.h"

#include <stdio.h>
#include <stdlib.h>

#include "hal/fixpipe.h"
#include "kernels/tile/tiles/search.h"

enum { LEAST_ROWS = 8 };

/* --- what it is --- */

static struct conv conv_of(const struct product *p, unsigned cores)
{
    const struct tile_conv *c = &p->k->conv[p->dot->index];
    const struct tile_dim *dim = p->k->dim;

    return (struct conv){.n = dim[c->image].size,
                         .h = dim[c->map[0]].size,
                         .w = dim[c->map[1]].size,
                         .c = dim[c->channels].size,
                         .o = dim[c->out].size,
                         .kh = dim[c->filter[0]].size,
                         .kw = dim[c->filter[1]].size,
                         .stride_h = c->stride[0],
                         .stride_w = c->stride[1],
                         .dilation_h = c->dilation[0],
                         .dilation_w = c->dilation[1],
                         .groups = c->groups,
                         .pad_top = c->before[0],
                         .pad_left = c->before[1],
                         .pad_bottom = c->behind[0],
                         .pad_right = c->behind[1],
                         .in = (enum type)p->k->param[p->a].type,
                         .out = (enum type)p->dot->type,
                         .in_rows = true,
                         .cores = cores};
}

/* Whether a tensor has these dimensions side by side, the first one innermost. */
static bool lies_as(const struct product *p, const struct tile_tensor *t,
                    const uint8_t order[4])
{
    uint64_t step = 1;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t size = p->k->dim[order[i]].size;
        if (size > 1 && tile_dim_stride(p->k, t, order[i]) != step) {
            return false;
        }
        step *= size;
    }
    return true;
}

/* Whether pixels and channels lie as the fixpipe leaves them, and as windows want them. */
static bool lies_in_order(const struct product *p, const struct tile_tensor *t)
{
    const struct tile_conv *c = &p->k->conv[p->dot->index];
    const uint8_t of_y[] = {c->out, c->place[1], c->place[0], c->image};
    const uint8_t of_x[] = {c->channels, c->map[1], c->map[0], c->image};
    const uint8_t of_w[] = {c->inner, c->filter[1], c->filter[0], c->out};

    return lies_as(p, t, of_y) && lies_as(p, &p->k->param[p->a], of_x) &&
           lies_as(p, &p->k->param[p->b], of_w);
}

static tile_dims long_dim(const struct product *p, uint8_t dim)
{
    return (tile_dims)((p->k->dim[dim].size > 1) << dim);
}

static int set_operands(struct product *p, const struct tile_tensor *t,
                        struct tile_error *error)
{
    const struct tile_conv *c = &p->k->conv[p->dot->index];

    p->a = (uint8_t)p->k->node[p->dot->operand[0]].index;
    p->b = (uint8_t)p->k->node[p->dot->operand[1]].index;
    p->rows = (tile_dims)(long_dim(p, c->image) | long_dim(p, c->place[0]) |
                          long_dim(p, c->place[1]));
    p->columns = long_dim(p, c->out);
    return lies_in_order(p, t)
               ? 0
               : tile_error_set(
                     error, p->dot, ERR_SHAPE,
                     "conv: %s is not [%s, %s, %s, %s], as windows make it, or "
                     "what is computed for it lies otherwise",
                     t->name, p->k->dim[c->image].name, p->k->dim[c->place[0]].name,
                     p->k->dim[c->place[1]].name, p->k->dim[c->out].name);
}

/* --- by the fixpipe alone --- */

/* What is computed of the sums; false: more than the fixpipe can do. */
static bool by_fixpipe(struct product *p, struct conv *conv)
{
    if (!product_by_fixpipe(p, p->k) || p->mm.c_type == TYPE_BF16) {
        return false;
    }
    conv->out = p->mm.c_type;
    conv->act = p->mm.act.relu == FIX_RELU_PLAIN   ? CONV_RELU
                : p->mm.act.relu == FIX_RELU_LEAKY ? CONV_LEAKY
                                                   : CONV_LINEAR;
    conv->slope = p->mm.act.slope;
    return true;
}

/* Each channel by itself, of f16, by diagonals: alone, or, behind which the Vector goes on, in
 * groups of a whole block. */
static int plan_apart(struct product *p, struct conv *conv)
{
    struct windows *w = p->windows;

    conv->in_rows = false;
    w->whole = *conv;
    w->whole.sums = false;
    w->apart = !conv->sums;
    if (w->apart) {
        return depthwise_plan(&w->whole, &w->each);
    }
    conv->groups = conv->c / DEPTHWISE_BLOCK;
    return conv->c % DEPTHWISE_BLOCK ? ERR_LOCAL : conv_make_plan(conv, &w->plan);
}

static int make_plan(struct product *p, struct conv *conv, struct tile_error *error)
{
    char why[CONV_TEXT];
    struct conv alone = *conv;
    int err;

    conv->bias = alone.bias = p->bias ? p : NULL; /* never read: whether there is one */
    alone.sums = false;
    err = conv_check(&alone, why);
    if (!err && conv_is_depthwise(&alone)) {
        return plan_apart(p, conv);
    }
    if (!err) {
        err = conv_make_plan(conv, &p->windows->plan);
        /* Some channels of each filter are short rows, and come for each set of pieces. */
        conv->in_rows = p->windows->plan.p.in_rows = p->windows->plan.chunks == 1;
        p->windows->whole = p->windows->plan.p;
        snprintf(why, sizeof(why), "no tile holds the filter");
    }
    return err ? tile_error_set(error, p->dot, err, "conv: %s", why) : 0;
}

/* --- with the Vector --- */

struct fusing {
    struct search s;
    const struct conv_plan *plan;
    unsigned cores;
    struct candidate best;
    uint32_t rows;
    uint64_t span, v, out;
};

static void try_way(struct fusing *f, const struct way *way)
{
    struct candidate c = {.way = *way, .placing = {.banks = true}};
    struct windows_flow flow = {
        .plan = f->plan, .cores = f->cores, .ring = way->ring, .rows = way->rows};
    const struct order *o = &f->s.order;
    uint64_t span;

    if (!emit_way(&f->s, &c, true) || o->product == 0) {
        return;
    }
    flow.v = epilogue_cycles(&f->s);
    flow.in = epilogue_cycles_in(&f->s);
    flow.out = epilogue_cycles_out(&f->s);
    flow.commands = f->s.e.body.n;
    flow.in_place = f->s.e.buffer[o->load[o->product - 1] - 1].store;
    span = windows_span(&flow);
    if (f->span == 0 || span < f->span) {
        f->best = c;
        f->rows = way->rows;
        f->span = span;
        f->v = flow.v;
        f->out = flow.out;
    }
}

/* Parts of so many rows, in as many slots; of a group's columns at most, or what is the same for
 * all rows would be thought to be there for all groups. */
static struct way way_of(const struct fusing *f, uint32_t rows, uint8_t ring)
{
    uint32_t block = search_block(f->s.p), columns = min_u32(f->plan->nt, f->plan->out);
    const struct program *p = f->s.p;

    return (struct way){.rows = rows < p->rows ? rows : (uint32_t)p->rows,
                        .cols = columns < p->cols ? columns : (uint32_t)p->cols,
                        .pitch = (uint32_t)round_up(columns, block),
                        .ring = ring,
                        .spread = true,
                        .far = true};
}

/* The other ways of the best size. */
static void try_others(struct fusing *f)
{
    struct way best = f->best.way;

    for (unsigned i = 1; i < EPILOGUE_WAYS; i++) {
        struct way w = best;
        if (epilogue_vary(&w, search_block(f->s.p), i)) {
            try_way(f, &w);
        }
    }
}

static int search(struct fusing *f)
{
    uint32_t rows = f->plan->piece;

    if (f->plan->cols != f->plan->ow && f->plan->cols < rows) {
        rows = (uint32_t)round_up(f->plan->cols, LEAST_ROWS); /* of a row of pixels */
    }
    for (; rows >= LEAST_ROWS;
         rows = rows > LEAST_ROWS ? (uint32_t)round_up(rows / 2, LEAST_ROWS) : 0) {
        for (uint8_t ring = 2; ring <= PLAN_RING; ring = (uint8_t)(2 * ring)) {
            struct way w = way_of(f, rows, ring);
            try_way(f, &w);
        }
    }
    if (f->span) {
        try_others(f);
    }
    return f->span ? 0 : ERR_LOCAL;
}

static int plan_with_vector(struct tiles_plan *t, struct conv *conv, unsigned cores,
                            struct tile_arena *arena, struct tile_error *error)
{
    struct product *p = t->product;
    struct fusing *f = plan_heap(calloc(1, sizeof(*f)));
    int err = ERR_NOMEM;

    p->epilogue = tile_alloc(arena, sizeof(*p->epilogue));
    if (f && p->epilogue && search_begin(&f->s, t->p, cores)) {
        err = epilogue_program(t, arena, error);
        conv->sums = true;
        err = err ? err : make_plan(p, conv, error);
        f->plan = &p->windows->plan;
        f->cores = cores < f->plan->units ? cores : f->plan->units;
        err = err ? err : search(f);
        if (!err) {
            p->windows->rows = f->rows;
            t->stage.predicted = (struct tile_cycles){.span = f->span};
            err = epilogue_keep(t, &f->s, &f->best, f->cores, arena);
        }
        search_end(&f->s);
    }
    free(f);
    return err;
}

/* --- filters in chunks --- */

/* Behind the scratch that they lie in then. */
static int plan_packing(struct tile_plan **plan, struct tiles_plan *behind, unsigned cores,
                        struct tile_arena *arena)
{
    const struct product *of = behind->product;
    struct tile_kernel *k = tile_begin(arena, of->k->name);
    struct tiles_plan *t = k ? product_stage(&windows_kind, k, arena) : NULL;
    struct product *p = t ? t->product : NULL;

    if (t == NULL || (p->windows = tile_alloc(arena, sizeof(*p->windows))) == NULL) {
        return ERR_NOMEM;
    }
    k->file = of->k->file;
    k->n_params = k->n_results = 1;
    k->param[0] = k->result[0].tensor = of->k->param[of->b];
    t->p->k = k;
    t->stage.in[0].index = of->b;
    t->stage.out[0] = behind->stage.in[of->b] = (struct origin){OF_SCRATCH, 0, 0};
    t->stage.scratch = conv_packed_bytes(&of->windows->whole);
    t->stage.cores = cores;
    t->stage.predicted.span = windows_span_of_packing(&of->windows->whole, cores);
    t->stage.next = &behind->stage;
    p->dot = of->dot;
    p->windows->packs = true;
    p->windows->whole = of->windows->whole;
    *plan = &t->stage;
    return 0;
}

/* --- the whole --- */

int windows_plan(struct tile_plan **plan, const struct tile_kernel *k, bool said,
                 unsigned cores, struct tile_arena *arena, struct tile_error *error)
{
    struct tiles_plan *t = product_stage(&windows_kind, k, arena);
    const struct tile_tensor *c;
    struct product *p;
    struct conv conv;
    uint32_t units;
    int err;

    if (t == NULL) {
        return ERR_NOMEM;
    }
    *plan = &t->stage;
    p = t->product;
    p->dot = &k->node[cut_first_product(k)];
    c = product_whole_result(p);
    if (said || c == NULL) {
        return said ? tile_error_set(error, p->dot, ERR_ARG,
                                     "product: it has no such layout")
                    : ERR_LOCAL;
    }
    p->windows = tile_alloc(arena, sizeof(*p->windows));
    if (p->windows == NULL) {
        return ERR_NOMEM;
    }
    err = set_operands(p, c, error);
    if (err || cut_reduced(p->k)) {
        return err ? err : ERR_LOCAL;
    }
    conv = conv_of(p, cores);
    if (by_fixpipe(p, &conv)) {
        const struct conv_plan *l = &p->windows->plan;
        err = make_plan(p, &conv, error);
        product_lines(t->p, p->k);
        units = p->windows->apart ? p->windows->each.units : l->units;
        t->stage.cores = cores < units ? cores : units;
        t->stage.predicted.span =
            err ? 0
            : p->windows->apart
                ? windows_span_apart(&p->windows->each, t->stage.cores)
                : windows_span(&(struct windows_flow){.plan = l, .cores = t->stage.cores});
    } else {
        err = plan_with_vector(t, &conv, cores, arena, error);
    }
    if (!err) {
        p->windows->room = tile_alloc(arena, t->stage.cores * sizeof(*p->windows->room));
        err = p->windows->room ? 0 : ERR_NOMEM;
    }
    return err || conv.in_rows ? err : plan_packing(plan, t, cores, arena);
}

static void tell_apart(const struct tiles_plan *t, FILE *to)
{
    const struct product *p = t->product;
    const struct depthwise_plan *l = &p->windows->each;

    fprintf(
        to,
        "cube     windows of %lu x %lu of each channel of %s by itself, by diagonals of "
        "%s\ncube     %lu patches, %lu blocks of 16 channels in each; tiles of %lu x "
        "%lu\n"
        "predicted %llu cycles\n",
        (unsigned long)l->p->kh, (unsigned long)l->p->kw, p->k->param[p->a].name,
        p->k->param[p->b].name, (unsigned long)l->units, (unsigned long)l->group,
        (unsigned long)l->rows, (unsigned long)l->cols,
        (unsigned long long)t->stage.predicted.span);
}

static void tell_cube(const struct tiles_plan *t, FILE *to)
{
    const struct product *p = t->product;
    const struct conv_plan *l = &p->windows->plan;

    if (p->windows->packs) {
        fprintf(to, "packs    %s, %s\n", p->k->param[0].name,
                conv_is_depthwise(&p->windows->whole)
                    ? "a diagonal of each tap for 16 channels"
                    : "of which the next stage wants some channels at a time");
        return;
    }
    if (p->windows->apart) {
        tell_apart(t, to);
        return;
    }
    fprintf(
        to,
        "cube     windows of %lu x %lu of %s by %s: %lu images of %lu x %lu, %lu of %lu "
        "channels\n",
        (unsigned long)l->p.kh, (unsigned long)l->p.kw, p->k->param[p->a].name,
        p->k->param[p->b].name, (unsigned long)l->p.n, (unsigned long)l->oh,
        (unsigned long)l->ow, (unsigned long)l->p.groups, (unsigned long)l->out);
    fprintf(
        to,
        "cube     %lu patches of %lu x %lu, pieces of %lu pixels x %lu channels, k by "
        "%lu in L0; filters %s\n",
        (unsigned long)l->units, (unsigned long)l->rows, (unsigned long)l->cols,
        (unsigned long)l->piece, (unsigned long)l->nt, (unsigned long)(l->slice * l->c0),
        l->b_stays       ? "stay in L0B"
        : l->chunks == 1 ? "stay in L1"
                         : "come again for each set of pieces");
    if (p->epilogue) {
        fprintf(to, "pieces   of %lu rows in UB\n", (unsigned long)p->windows->rows);
    } else {
        fprintf(to, "predicted %llu cycles\n", (unsigned long long)t->stage.predicted.span);
    }
}

static void windows_explain(const struct tile_plan *plan, FILE *to)
{
    const struct tiles_plan *t = tiles_of(plan);

    fprintf(to, "%s on %u core%s\n", plan->name, plan->cores, plan->cores == 1 ? "" : "s");
    tell_cube(t, to);
    if (!t->product->windows->packs) {
        product_explain_sums(t, to);
    }
}

const struct stage_kind windows_kind = {.stores_again = product_stores_again,
                                        .explain = windows_explain};
