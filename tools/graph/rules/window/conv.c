/* SPDX-License-Identifier: MIT
 *
 * Convolutions as products with what their windows hold, transposed ones as convolutions of
 * their operand with zeros between its elements; pools as reductions of windows.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/rules/product/product.h"
#include "tools/graph/rules/window/window.h"

/* Axes of the product: batch, group, results of a group, elements of a window, windows. */
enum { B, G, M, K, P /* and behind it */ };

static int64_t groups_of(const struct graph *g, const struct node *n, int64_t channels)
{
    int64_t groups = node_int(n, "group", 1);

    if (groups < 1 || channels % groups) {
        node_die(g, n, "%lld groups of %lld channels", (long long)groups,
                 (long long)channels);
    }
    return groups;
}

/* What multiplies: weight (group, m, k) by columns (n, group, k, windows..), and a bias. Of one
 * group the result has the dimensions of the node's, so that what follows may join. The Vector
 * takes what has one result of a group, but for groups of several pictures: with tiles of long
 * rows these are more loops than a sequence of commands nests. */
static void multiply(struct emit *e, struct node *n, struct tensor *weight,
                     struct tensor *columns, struct tensor *bias, int64_t groups,
                     int64_t m)
{
    uint8_t of_x[GRAPH_RANK] = {B, G, K}, of_y[GRAPH_RANK] = {B, G, M};
    static const uint8_t of_w[] = {G, M, K}, of_b[] = {G, M};
    unsigned rank = n->out[0]->shape.n - 2;
    int64_t k = tensor_count(weight) / groups / m;
    struct shape w = {.n = 3, .dim = {groups, m, k}}, b = {.n = 2, .dim = {groups, m}};
    struct shape x = {.n = 3 + rank, .dim = {columns->shape.dim[0], groups, k}}, y = x;
    struct program p = program_begin(e, n);
    const char *expr, *a;

    for (unsigned d = 0; d < rank; d++) {
        of_x[3 + d] = of_y[3 + d] = (uint8_t)(P + d);
        x.dim[3 + d] = n->out[0]->shape.dim[2 + d];
    }
    y = x;
    y.dim[2] = m;
    if (k == 1 || (m == 1 && (groups == 1 || x.dim[0] == 1))) {
        a = program_in(&p, tensor_view(weight, &w), of_w);
        expr = graph_text("%s * %s", a, program_in(&p, tensor_view(columns, &x), of_x));
        expr = program_over(&p, "sum", 1u << K, expr);
    } else {
        struct product_operand f = product_in(&p, tensor_view(weight, &w), of_w);
        expr = product_text(&p, f, product_in(&p, tensor_view(columns, &x), of_x), K);
    }
    if (bias) {
        expr = graph_text("%s + %s", expr, program_in(&p, tensor_view(bias, &b), of_b));
    }
    if (groups == 1) {
        memmove(of_y + 1, of_y + 2, rank + 1);
        program_out(&p, n->out[0], of_y, expr, false);
    } else {
        program_out(&p, tensor_view(n->out[0], &y), of_y, expr, false);
        p.group->alone = true;
    }
}

static struct window conv_window(const struct graph *g, const struct node *n)
{
    const struct tensor *x = node_in(g, n, 0), *w = node_in(g, n, 1);

    if (w->shape.n != x->shape.n || x->shape.n < 3) {
        node_die(g, n, "weights of %s for %s", shape_text(&w->shape),
                 shape_text(&x->shape));
    }
    return window_of(g, n, &x->shape, w->shape.dim + 2);
}

static void conv_shape(struct graph *g, struct node *n)
{
    struct window w = conv_window(g, n);
    int64_t groups = groups_of(g, n, w.c), results = n->in[1]->shape.dim[0];
    struct shape to = window_result(&w, results);

    if (n->in[1]->shape.dim[1] * groups != w.c || results % groups) {
        node_die(g, n, "weights of %s for %s", shape_text(&n->in[1]->shape),
                 shape_text(&n->in[0]->shape));
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void conv_emit(struct emit *e, struct node *n)
{
    struct window w = conv_window(e->g, n);
    int64_t groups = groups_of(e->g, n, w.c);

    if (groups == w.c && n->in[1]->shape.dim[0] == w.c && n->in[1]->value &&
        taps_take(&w)) {
        taps_conv(e, n, &w);
        return;
    }
    multiply(e, n, n->in[1], window_columns(e, n, &w, n->in[0], 0), node_maybe(n, 2),
             groups, n->in[1]->shape.dim[0] / groups);
}

/* --- ConvTranspose --- */

/* The convolution that it is: of its operand with zeros between, in steps of one. */
static struct window transposed(const struct graph *g, const struct node *n,
                                int64_t between[WINDOW_RANK])
{
    const struct attr *more = node_attr(n, "output_padding"),
                      *out = node_attr(n, "output_shape");
    struct window w = conv_window(g, n), t = w;
    const struct attr *pad = node_attr(n, "auto_pad");

    if (out && out->n_ints < w.rank) {
        node_die(g, n, "an output_shape of %zu sizes", out->n_ints);
    }
    for (unsigned d = 0; d < w.rank; d++) {
        int64_t extent = (w.kernel[d] - 1) * w.dilation[d], extra = 0, total;
        bool same = pad && pad->s && strncmp(pad->s, "SAME", 4) == 0;
        extra = more && d < more->n_ints ? more->ints[d] : 0;
        between[d] = w.stride[d];
        t.stride[d] = 1;
        if (out || same) {
            int64_t want =
                out ? out->ints[out->n_ints - w.rank + d] : w.size[d] * w.stride[d];
            total = w.stride[d] * (w.size[d] - 1) + extra + extent + 1 - want;
            w.before[d] = total < 0 ? 0
                          : pad && pad->s && strcmp(pad->s, "SAME_UPPER") == 0
                              ? total / 2
                              : total - total / 2;
            w.behind[d] = total - w.before[d];
        }
        t.before[d] = extent - w.before[d];
        t.behind[d] = extent - w.behind[d] + extra;
        t.out[d] = (w.size[d] - 1) * w.stride[d] + 1 + t.before[d] + t.behind[d] - extent;
        if (t.out[d] < 1) {
            node_die(g, n, "pads beyond what there is");
        }
    }
    return t;
}

static void convt_shape(struct graph *g, struct node *n)
{
    int64_t between[WINDOW_RANK],
        groups = groups_of(g, n, node_in(g, n, 0)->shape.dim[1]);
    struct window w = transposed(g, n, between);
    struct shape to = window_result(&w, n->in[1]->shape.dim[1] * groups);

    if (n->in[1]->shape.dim[0] != w.c) {
        node_die(g, n, "weights of %s for %s", shape_text(&n->in[1]->shape),
                 shape_text(&n->in[0]->shape));
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* Weights (c, m, k...) as (group, m, c of the group, k... from behind). */
static struct tensor *turned(struct emit *e, struct node *n, int64_t groups)
{
    const struct tensor *w = n->in[1];
    int64_t c = w->shape.dim[0] / groups, m = w->shape.dim[1], stride[GRAPH_RANK];
    struct tensor *t = tensor_new(n, "turned", w->type, &w->shape);
    int64_t window, first = 0;
    struct copy copy;

    shape_strides(&w->shape, stride);
    window = stride[1];
    copy_begin(&copy, e, n, t);
    copy_dim(&copy, groups, c * stride[0], m * c * window);
    copy_dim(&copy, m, stride[1], c * window);
    copy_dim(&copy, c, stride[0], window);
    for (unsigned d = 2; d < w->shape.n; d++) {
        copy_dim(&copy, w->shape.dim[d], -stride[d], stride[d]);
        first += (w->shape.dim[d] - 1) * stride[d];
    }
    copy_add(&copy, n->in[1], first, 0);
    return t;
}

static void convt_emit(struct emit *e, struct node *n)
{
    int64_t between[WINDOW_RANK], groups = groups_of(e->g, n, n->in[0]->shape.dim[1]);
    struct window w = transposed(e->g, n, between);
    struct tensor *x = window_padded(e, n, &w, n->in[0], 0, between);
    struct window dense = w;

    for (unsigned d = 0; d < w.rank; d++) {
        dense.size[d] = x->shape.dim[d + 2];
        dense.before[d] = dense.behind[d] = 0;
    }
    multiply(e, n, turned(e, n, groups), window_columns(e, n, &dense, x, 0),
             node_maybe(n, 2), groups, n->in[1]->shape.dim[1]);
}

/* --- pools --- */

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

const struct rule rules_conv[] = {
    {.op = "Conv", .shape = conv_shape, .emit = conv_emit},
    {.op = "ConvTranspose", .shape = convt_shape, .emit = convt_emit},
    {.op = "MaxPool", .shape = pool_shape, .emit = pool_emit, .alone = true},
    {.op = "LpPool", .shape = pool_shape, .emit = lp_pool_emit, .alone = true},
    {.op = "AveragePool", .shape = pool_shape, .emit = pool_emit, .alone = true},
    {0},
};
