/* SPDX-License-Identifier: MIT
 *
 * The softmax family and normalisations.
 */
#include <string.h>

#include "tools/graph/emit.h"

static void same_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &n->in[0]->shape);
}

/* What is computed over some dimensions of x and repeated for the others: with neighbours made
 * one, and names for these. */
struct rows {
    struct shape shape;
    uint32_t axes;
};

static struct rows rows_of(const struct tensor *x, uint32_t axes)
{
    struct rows r = {.axes = axes};

    r.shape = shape_merge(&x->shape, &r.axes);
    return r;
}

/* Dimensions from .. to - 1. */
static uint32_t between(unsigned from, unsigned to)
{
    return from < to ? ((UINT32_C(1) << to) - 1) & ~((UINT32_C(1) << from) - 1) : 0;
}

/* `how(expr, dimension)` over them. */
static const char *over(const struct rows *r, const char *how, const char *expr)
{
    for (unsigned d = r->shape.n; d-- > 0;) {
        if (r->axes >> d & 1) {
            expr = graph_text("%s(%s, %s)", how, expr, program_dims[d]);
        }
    }
    return expr;
}

/* x less its mean, and one over the root of its variance. */
static void normal(struct program *p, const struct rows *r, const char *x, double eps,
                   const char **less, const char **mean, const char **rec)
{
    *mean = program_line(p, over(r, "mean", x));
    *less = program_line(p, graph_text("%s - %s", x, *mean));
    *rec = over(r, "mean", graph_text("%s * %s", *less, *less));
    *rec = program_line(p, graph_text("rsqrt(%s + %.9g)", *rec, eps));
}

/* --- softmax --- */

/* Over one axis since opset 13, over all from one on before. */
static void softmax(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    bool flat = e->g->opset < 13, is_log = strcmp(n->op, "LogSoftmax") == 0;
    unsigned from = node_axis(e->g, n, node_int(n, "axis", flat ? 1 : -1), s->n);
    struct rows r = rows_of(n->in[0], between(from, flat ? s->n : from + 1));
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, tensor_view(n->in[0], &r.shape), program_dims);
    const char *z, *sum;

    z = program_line(&p, graph_text("%s - %s", x, over(&r, "max", x)));
    sum = over(&r, "sum", graph_text("exp(%s)", z));
    program_out(&p, tensor_view(n->out[0], &r.shape), program_dims,
                is_log ? graph_text("%s - log(%s)", z, sum)
                       : graph_text("exp(%s) / %s", z, sum),
                false);
    program_end(&p);
}

/* One at the first of the largest, zeros elsewhere. */
static void hardmax(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    bool flat = e->g->opset < 13;
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", flat ? 1 : -1), s->n);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_dims), *d = program_dims[axis];

    if (flat && axis + 1 != s->n) {
        node_die(e->g, n, "over several dimensions, as before opset 13");
    }
    program_out(&p, n->out[0], program_dims,
                s->dim[axis] == 1
                    ? graph_text("where(%s == %s, 1, 1)", x, x)
                    : graph_text("where(argmax(%s, %s) == %s, 1, 0)", x, d, d),
                false);
    program_end(&p);
}

/* --- normalisations --- */

/* Names of the dimensions of a tensor of one dimension, the channels of x. */
static const char *const channel[] = {"d1"};

static void batchnorm_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);

    if (node_int(n, "training_mode", 0) || n->n_in < 5) {
        node_die(g, n, "in training");
    }
    for (unsigned i = 1; i < 5; i++) {
        struct tensor *t = node_in(g, n, i);
        if (t->shape.n != 1 || x->shape.n < 2 || t->shape.dim[0] != x->shape.dim[1]) {
            node_die(g, n, "%s channels of %s", shape_text(&t->shape),
                     shape_text(&x->shape));
        }
    }
    same_shape(g, n);
}

static void batchnorm(struct emit *e, struct node *n)
{
    double eps = node_float(n, "epsilon", 1e-5);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_dims), *t[5];

    for (unsigned i = 1; i < 5; i++) {
        t[i] = program_in(&p, n->in[i], channel);
    }
    t[0] = program_line(&p, graph_text("%s * rsqrt(%s + %.9g)", t[1], t[4], eps));
    program_out(&p, n->out[0], program_dims,
                graph_text("(%s - %s) * %s + %s", x, t[3], t[0], t[2]), false);
    program_end(&p);
}

static void instance_norm(struct emit *e, struct node *n)
{
    struct shape s = n->in[0]->shape;
    double eps = node_float(n, "epsilon", 1e-5);
    struct program p = program_begin(e, n);
    const char *x, *mean, *rec, *scale, *bias;
    struct rows r = {.axes = 1 << 2};

    for (unsigned d = 3; d < s.n; d++) { /* all behind the channels are one dimension */
        s.dim[2] *= s.dim[d];
    }
    s.n = s.n > 3 ? 3 : s.n;
    r.shape = s;
    r.axes = s.n == 3 && s.dim[2] != 1 ? r.axes : 0;
    x = program_in(&p, tensor_view(n->in[0], &s), program_dims);
    scale = program_in(&p, node_in(e->g, n, 1), channel);
    bias = program_in(&p, node_in(e->g, n, 2), channel);
    normal(&p, &r, x, eps, &x, &mean, &rec);
    program_out(&p, tensor_view(n->out[0], &s), program_dims,
                graph_text("%s * %s * %s + %s", x, rec, scale, bias), false);
    program_end(&p);
}

static void layernorm_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), x->shape.n);
    struct shape rows = x->shape;

    same_shape(g, n);
    for (unsigned d = axis; d < rows.n; d++) {
        rows.dim[d] = 1;
    }
    tensor_is(g, n, 1, ELEM_F32, &rows);
    tensor_is(g, n, 2, ELEM_F32, &rows);
}

/* A tensor of the last dimensions, in one. */
static const char *of_row(struct program *p, const struct rows *r, struct tensor *t)
{
    struct shape one = {.n = 1, .dim = {tensor_count(t)}};

    return program_in(p, tensor_view(t, &one), program_dims + r->shape.n - 1);
}

static void layernorm(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", -1), s->n);
    struct rows r = rows_of(n->in[0], between(axis, s->n));
    double eps = node_float(n, "epsilon", 1e-5);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, tensor_view(n->in[0], &r.shape), program_dims);
    const char *y, *mean, *rec, *value[3];
    struct tensor *scale = node_in(e->g, n, 1), *bias = node_maybe(n, 2);
    struct shape rows = {.n = r.shape.n && r.axes == 2, .dim = {r.shape.dim[0]}};

    if (tensor_count(scale) * (rows.n ? rows.dim[0] : 1) != tensor_count(n->in[0])) {
        node_die(e->g, n, "a scale of %s", shape_text(&scale->shape));
    }
    normal(&p, &r, x, eps, &y, &mean, &rec);
    value[0] = graph_text("%s * %s * %s", y, rec, of_row(&p, &r, scale));
    if (bias) {
        value[0] = graph_text("%s + %s", value[0], of_row(&p, &r, bias));
    }
    value[1] = mean;
    value[2] = rec;
    for (unsigned i = 0; i < 3 && i < n->n_out; i++) {
        if (n->out[i]) {
            program_out(&p, tensor_view(n->out[i], i ? &rows : &r.shape), program_dims,
                        value[i], false);
        }
    }
    program_end(&p);
}

static void mean_variance(struct emit *e, struct node *n)
{
    const struct attr *axes = node_attr(n, "axes");
    uint32_t over_axes = axes ? 0 : 1 << 0 | 1 << 2 | 1 << 3;
    struct program p = program_begin(e, n);
    const char *x, *y, *v;
    struct rows r;

    for (size_t i = 0; axes && i < axes->n_ints; i++) {
        over_axes |= 1u << node_axis(e->g, n, axes->ints[i], n->in[0]->shape.n);
    }
    r = rows_of(n->in[0], over_axes);
    x = program_in(&p, tensor_view(n->in[0], &r.shape), program_dims);
    y = program_line(&p, graph_text("%s - %s", x, over(&r, "mean", x)));
    v = over(&r, "mean", graph_text("%s * %s", y, y));
    program_out(&p, tensor_view(n->out[0], &r.shape), program_dims,
                graph_text("%s / (sqrt(%s) + 1e-9)", y, v), false);
    program_end(&p);
}

/* The mean, or the largest, of each channel. */
static void global_shape(struct graph *g, struct node *n)
{
    struct shape to = node_in(g, n, 0)->shape;

    for (unsigned d = 2; d < to.n; d++) {
        to.dim[d] = 1;
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void global_pool(struct emit *e, struct node *n)
{
    struct rows r = rows_of(n->in[0], between(2, n->in[0]->shape.n));
    struct shape rest = {.n = r.shape.n && (r.shape.n > 1 || r.axes == 0),
                         .dim = {r.shape.dim[0]}};
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, tensor_view(n->in[0], &r.shape), program_dims);
    bool is_max = strcmp(n->op, "GlobalMaxPool") == 0;

    program_out(&p, tensor_view(n->out[0], &rest), program_dims,
                over(&r, is_max ? "max" : "mean", x), false);
    program_end(&p);
}

const struct rule rules_norm[] = {
    {"Softmax", same_shape, .emit = softmax},
    {"LogSoftmax", same_shape, .emit = softmax},
    {"Hardmax", same_shape, .emit = hardmax},
    {"BatchNormalization", batchnorm_shape, .emit = batchnorm},
    {"InstanceNormalization", same_shape, .emit = instance_norm},
    {"LayerNormalization", layernorm_shape, .emit = layernorm},
    {"MeanVarianceNormalization", same_shape, .emit = mean_variance},
    {"GlobalAveragePool", global_shape, .emit = global_pool},
    {"GlobalMaxPool", global_shape, .emit = global_pool},
    {0},
};
