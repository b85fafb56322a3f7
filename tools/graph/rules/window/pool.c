/* SPDX-License-Identifier: MIT
 *
 * Pools as reductions of windows.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/rules/window/window.h"

enum { PLACES = 1 << 24 /* that fp32 tells apart */ };

static void pool_shape(struct graph *g, struct node *n)
{
    struct window w = window_of(g, n, &node_in(g, n, 0)->shape, NULL);
    struct shape to = window_result(&w, w.c);

    if (n->n_out > 1 && n->out[1] &&
        (!elem_is_float(n->in[0]->type) || tensor_count(n->in[0]) > PLACES)) {
        node_die(g, n, "where the largest is of %s %s", elem_text(n->in[0]->type),
                 shape_text(&n->in[0]->shape));
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
    tensor_is(g, n, 1, ELEM_I64, &to);
}

/* How many of the numbers from, from + step, .., n of them, are below `end`. */
static int64_t below(int64_t from, int64_t step, int64_t n, int64_t end)
{
    int64_t count = end > from ? (end - from + step - 1) / step : 0;

    return count < n ? count : n;
}

/* One over the elements of x in each window, or in each with its pads. */
static struct tensor *shares(const struct node *n, const struct window *w, bool pads)
{
    struct shape s = {.n = w->rank};
    int64_t at[GRAPH_RANK] = {0}, i = 0;
    struct tensor *t;

    memcpy(s.dim, w->out, w->rank * sizeof(s.dim[0]));
    t = tensor_new(n, "shares", ELEM_F32, &s);
    tensor_values(t);
    do {
        double count = 1;
        for (unsigned d = 0; d < w->rank; d++) {
            int64_t x = at[d] * w->stride[d] - w->before[d], step = w->dilation[d];
            int64_t begin = pads ? -w->before[d] : 0;
            int64_t end = w->size[d] + (pads ? w->behind[d] : 0);
            count *= (double)(below(x, step, w->kernel[d], end) -
                              below(x, step, w->kernel[d], begin));
        }
        t->value[i++] = 1 / count;
    } while (shape_step(&s, at));
    return t;
}

/* Where element e of window p lies in its map, rows first or columns first; elsewhere 0. */
static struct tensor *places(const struct node *n, const struct window *w)
{
    struct shape s = {.n = 2, .dim = {window_elements(w), window_count(w)}};
    struct tensor *t = tensor_new(n, "places", ELEM_F32, &s);
    bool columns = node_int(n, "storage_order", 0) != 0;

    tensor_values(t);
    for (int64_t i = 0; i < s.dim[0] * s.dim[1]; i++) {
        int64_t e = i / s.dim[1], p = i % s.dim[1], at[WINDOW_RANK], place = 0;
        bool inside = true;
        for (unsigned d = w->rank; d-- > 0; e /= w->kernel[d], p /= w->out[d]) {
            at[d] = p % w->out[d] * w->stride[d] + e % w->kernel[d] * w->dilation[d] -
                    w->before[d];
            inside = inside && at[d] >= 0 && at[d] < w->size[d];
        }
        for (unsigned d = 0; d < w->rank; d++) {
            unsigned of = columns ? w->rank - 1 - d : d;
            place = place * w->size[of] + at[of];
        }
        t->value[i] = inside ? (double)place : 0;
    }
    return t;
}

/* Where each map begins. */
static struct tensor *maps(const struct node *n, const struct window *w)
{
    struct shape s = {.n = 2, .dim = {w->n, w->c}};
    struct tensor *t = tensor_new(n, "maps", ELEM_F32, &s);
    int64_t all = tensor_count(n->in[0]) / (w->n * w->c);

    tensor_values(t);
    for (int64_t i = 0; i < w->n * w->c; i++) {
        t->value[i] = (double)(i * all);
    }
    return t;
}

/* The largest of each window, and where it lies in x. */
static void indexed_pool_emit(struct emit *e, struct node *n, const struct window *w)
{
    enum { N, C, E, W };
    static const uint8_t of_x[] = {N, C, E, W}, of_y[] = {N, C, W}, of_place[] = {E, W};
    struct tensor *columns = window_columns(e, n, w, n->in[0], -INFINITY);
    struct shape y = {.n = 3, .dim = {w->n, w->c, window_count(w)}};
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, columns, of_x), *at, *place;

    program_exact(&p);
    place = program_in(&p, places(n, w), of_place);
    if (window_elements(w) > 1) {
        at = program_line(&p, program_over(&p, "argmax", 1u << E, x));
        place = program_over(
            &p, "sum", 1u << E,
            graph_text("where(%s == %s, %s, 0)", program_index(&p, E), at, place));
        x = program_over(&p, "max", 1u << E, x);
    }
    place = graph_text("s32(%s + %s)", place, program_in(&p, maps(n, w), of_y));
    program_out(&p, tensor_view(n->out[0], &y), of_y, x, false);
    program_out(&p, tensor_view(n->out[1], &y), of_y, place, false);
}

static void pool_emit(struct emit *e, struct node *n)
{
    enum { N, C, E, W };
    static const uint8_t of_x[] = {N, C, E, W}, of_y[] = {N, C, W}, of_s[] = {W};
    bool is_max = strcmp(n->op, "MaxPool") == 0;
    struct window w = window_of(e->g, n, &n->in[0]->shape, NULL);
    double lowest = n->in[0]->type == ELEM_U8   ? 0
                    : n->in[0]->type == ELEM_I8 ? -128
                                                : -INFINITY;
    struct tensor *share =
        is_max ? NULL : shares(n, &w, node_int(n, "count_include_pad", 0) != 0);
    struct shape y = {.n = 3, .dim = {w.n, w.c, window_count(&w)}};
    struct shape s = {.n = 1, .dim = {y.dim[2]}};
    struct tensor *columns;
    struct program p;
    const char *x;

    if (n->n_out > 1 && n->out[1]) {
        indexed_pool_emit(e, n, &w);
        return;
    }
    if (taps_take(&w)) {
        taps_pool(e, n, &w, is_max ? lowest : 0, share);
        return;
    }
    columns = window_columns(e, n, &w, n->in[0], is_max ? lowest : 0);
    p = program_begin(e, n);
    x = program_over(&p, is_max ? "max" : "sum", 1u << E, program_in(&p, columns, of_x));
    if (share) {
        x = graph_text("%s * %s", x, program_in(&p, tensor_view(share, &s), of_s));
    }
    program_out(&p, tensor_view(n->out[0], &y), of_y, x, false);
}

/* (sum |x|^p)^(1/p) */
static const char *norm(struct program *to, const struct node *n, uint32_t axes,
                        const char *x)
{
    int64_t p = node_int(n, "p", 2);
    const char *sum;

    if (p <= 2) {
        sum =
            program_over(to, "sum", axes,
                         p == 1 ? graph_text("abs(%s)", x) : graph_text("%s * %s", x, x));
        return p == 1 ? sum : graph_text("sqrt(%s)", sum);
    }
    sum =
        program_over(to, "sum", axes, graph_text("pow(abs(%s), %lld)", x, (long long)p));
    return graph_text("pow(%s, %.9g)", sum, 1.0 / (double)p);
}

static void lp_pool_emit(struct emit *e, struct node *n)
{
    enum { N, C, E, W };
    static const uint8_t of_x[] = {N, C, E, W}, of_y[] = {N, C, W};
    struct window w = window_of(e->g, n, &n->in[0]->shape, NULL);
    struct tensor *columns = window_columns(e, n, &w, n->in[0], 0);
    struct shape y = {.n = 3, .dim = {w.n, w.c, window_count(&w)}};
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, columns, of_x);

    program_out(&p, tensor_view(n->out[0], &y), of_y, norm(&p, n, 1u << E, x), false);
}

const struct rule rules_pool[] = {
    {.op = "MaxPool", .shape = pool_shape, .emit = pool_emit, .alone = true},
    {.op = "LpPool", .shape = pool_shape, .emit = lp_pool_emit, .alone = true},
    {.op = "AveragePool", .shape = pool_shape, .emit = pool_emit, .alone = true},
    {0},
};
