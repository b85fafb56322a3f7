/* SPDX-License-Identifier: MIT
 *
 * Conv and ConvTranspose, which is a convolution of its operand with zeros between the elements;
 * conv_lower.h says how they become steps.
 */
#include <string.h>

#include "tools/graph/rules/window/conv_lower.h"

static int64_t groups_of(const struct graph *g, const struct node *n, int64_t channels)
{
    int64_t groups = node_int(n, "group", 1);

    if (groups < 1 || channels % groups) {
        node_die(g, n, "%lld groups of %lld channels", (long long)groups,
                 (long long)channels);
    }
    return groups;
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

    conv_lower(&(struct conv_lowering){.e = e,
                                       .n = n,
                                       .window = w,
                                       .x = n->in[0],
                                       .weight = n->in[1],
                                       .bias = node_maybe(n, 2),
                                       .groups = groups_of(e->g, n, w.c)});
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
static struct tensor *turned(const struct conv_lowering *of)
{
    const struct tensor *w = of->weight;
    int64_t groups = of->groups, c = w->shape.dim[0] / groups, m = w->shape.dim[1];
    struct tensor *t = tensor_new(of->n, "turned", w->type, &w->shape);
    int64_t stride[GRAPH_RANK];
    int64_t window, first = 0;
    struct copy copy;

    shape_strides(&w->shape, stride);
    window = stride[1];
    copy_begin(&copy, of->e, of->n, t);
    copy_dim(&copy, groups, c * stride[0], m * c * window);
    copy_dim(&copy, m, stride[1], c * window);
    copy_dim(&copy, c, stride[0], window);
    for (unsigned d = 2; d < w->shape.n; d++) {
        copy_dim(&copy, w->shape.dim[d], -stride[d], stride[d]);
        first += (w->shape.dim[d] - 1) * stride[d];
    }
    copy_add(&copy, of->weight, first, 0);
    return t;
}

static void multiply_turned(const struct conv_lowering *c, struct tensor *columns)
{
    struct conv_lowering of = *c;

    of.weight = turned(c);
    conv_lower_multiply(&of, columns);
}

static void convt_emit(struct emit *e, struct node *n)
{
    int64_t between[WINDOW_RANK], groups = groups_of(e->g, n, n->in[0]->shape.dim[1]);
    struct window w = transposed(e->g, n, between), dense = w;
    struct tensor *x = window_padded(e, n, &w, n->in[0], 0, between);

    for (unsigned d = 0; d < w.rank; d++) {
        dense.size[d] = x->shape.dim[d + 2];
        dense.before[d] = dense.behind[d] = 0;
    }
    conv_lower(&(struct conv_lowering){.e = e,
                                       .n = n,
                                       .window = dense,
                                       .x = x,
                                       .weight = n->in[1],
                                       .bias = node_maybe(n, 2),
                                       .groups = groups,
                                       .multiply = multiply_turned});
}

const struct rule rules_conv[] = {
    {.op = "Conv", .shape = conv_shape, .emit = conv_emit},
    {.op = "ConvTranspose", .shape = convt_shape, .emit = convt_emit},
    {0},
};
