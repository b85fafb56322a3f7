/* SPDX-License-Identifier: MIT
 *
 * The softmax family and normalisations.
 */
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/steps/steps.h"

static void same_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &n->in[0]->shape);
}

/* Dimensions from .. to - 1. */
static uint32_t between(unsigned from, unsigned to)
{
    return from < to ? ((UINT32_C(1) << to) - 1) & ~((UINT32_C(1) << from) - 1) : 0;
}

/* x less its mean over some axes, the mean, and one over the root of the variance. */
static void normal(struct program *p, uint32_t axes, const char *x, double eps,
                   const char **less, const char **mean, const char **rec)
{
    *mean = program_line(p, program_over(p, "mean", axes, x));
    *less = program_line(p, graph_text("%s - %s", x, *mean));
    *rec = program_over(p, "mean", axes, graph_text("%s * %s", *less, *less));
    *rec = program_line(p, graph_text("rsqrt(%s + %.9g)", *rec, eps));
}

/* --- softmax --- */

/* Over one axis since opset 13, over all from one on before. Softmax_hidden, which Attention
 * becomes: 0 where all are -inf, which are so far below the least number that exp is 0. */
static void softmax(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    bool flat = e->g->opset < 13, is_log = strcmp(n->op, "LogSoftmax") == 0;
    bool hidden = strcmp(n->op, "Softmax_hidden") == 0;
    unsigned from = node_axis(e->g, n, node_int(n, "axis", flat ? 1 : -1), s->n);
    uint32_t axes = between(from, flat ? s->n : from + 1);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    const char *z = program_over(&p, "max", axes, x), *sum;

    z = program_line(&p, graph_text("%s - %s", x, hidden ? program_finite(z) : z));
    sum = program_over(&p, "sum", axes, graph_text("exp(%s)", z));
    sum = hidden ? program_positive(sum) : sum;
    program_out(&p, n->out[0], program_axes,
                is_log ? graph_text("%s - log(%s)", z, sum)
                       : graph_text("exp(%s) * rec(%s)", z, sum),
                false);
}

/* One at the first of the largest, zeros elsewhere. */
static void hardmax(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    bool flat = e->g->opset < 13;
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", flat ? 1 : -1), s->n);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *most;

    if (flat && axis + 1 != s->n) {
        node_die(e->g, n, "over several dimensions, as before opset 13");
    }
    most = program_over(&p, "argmax", 1u << axis, x);
    program_out(&p, n->out[0], program_axes,
                s->dim[axis] == 1 ? graph_text("where(%s == %s, 1, 1)", x, x)
                                  : graph_text("where(%s == %s, 1, 0)", most,
                                               program_index(&p, (uint8_t)axis)),
                false);
}

/* --- normalisations --- */

/* The axis of a tensor of one dimension, the channels of x. */
static const uint8_t channel[] = {1};

/* Operands from 1 to `last` have a number for each channel. */
static void per_channel(const struct graph *g, struct node *n, unsigned last)
{
    const struct tensor *x = node_in(g, n, 0);

    for (unsigned i = 1; i <= last; i++) {
        struct tensor *t = node_in(g, n, i);
        if (t->shape.n != 1 || x->shape.n < 2 || t->shape.dim[0] != x->shape.dim[1]) {
            node_die(g, n, "%s channels of %s", shape_text(&t->shape),
                     shape_text(&x->shape));
        }
    }
}

/* By what this batch has, which the running mean and variance learn of. */
static void batchnorm_training(struct graph *g, struct node *n)
{
    double keeps = node_float(n, "momentum", 0.9);
    const char *axes = "0", *one = "1, -1";
    struct lower l = lower_begin(g, n);

    for (unsigned d = 2; d < n->in[0]->shape.n; d++) {
        axes = graph_text("%s, %u", axes, d);
        one = graph_text("%s, 1", one);
    }
    lower_text(&l,
               "x = Cast($0; to=1)\nmean = ReduceMean(x; axes=[%s])\n"
               "d = Sub(x, mean)\nq = Mul(d, d)\nvar = ReduceMean(q; axes=[%s])\n"
               "e = Add(var, %.9g)\ns = Sqrt(e)\nz = Div(d, s)\n",
               axes, axes, node_float(n, "epsilon", 1e-5));
    lower_text(&l,
               "g = Cast($1; to=1)\ngs = Reshape(g, [%s])\nb = Cast($2; to=1)\n"
               "bs = Reshape(b, [%s])\nscaled = Mul(z, gs)\ny = Add(scaled, bs)\n"
               "@0 = CastLike(y, $0)\n",
               one, one);
    for (unsigned i = 1; i < n->n_out && i < 3; i++) {
        lower_text(&l,
                   "of%u = Reshape(%s, [-1])\nnew%u = Mul(of%u, %.9g)\n"
                   "was%u = Cast($%u; to=1)\nold%u = Mul(was%u, %.9g)\n"
                   "now%u = Add(new%u, old%u)\n@%u = CastLike(now%u, $%u)\n",
                   i, i == 1 ? "mean" : "var", i, i, 1 - keeps, i, 2 + i, i, i, keeps, i,
                   i, i, i, i, 2 + i);
    }
    lower_end(&l);
}

static void batchnorm_shape(struct graph *g, struct node *n)
{
    if (n->n_in < 5 || (g->opset < 14 && n->n_out > 1 && !node_int(n, "is_test", 0))) {
        node_die(g, n, "in training, as before opset 14");
    }
    if (!node_int(n, "spatial", 1)) {
        node_die(g, n, "a mean of each element: spatial of opset 7");
    }
    per_channel(g, n, 4);
    if (node_int(n, "training_mode", 0)) {
        batchnorm_training(g, n);
        return;
    }
    same_shape(g, n);
}

static void instance_norm_shape(struct graph *g, struct node *n)
{
    per_channel(g, n, 2);
    same_shape(g, n);
}

static void batchnorm(struct emit *e, struct node *n)
{
    double eps = node_float(n, "epsilon", 1e-5);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *t[5];

    for (unsigned i = 1; i < 5; i++) {
        t[i] = program_in(&p, n->in[i], channel);
    }
    t[0] = program_line(&p, graph_text("%s * rsqrt(%s + %.9g)", t[1], t[4], eps));
    program_out(&p, n->out[0], program_axes,
                graph_text("(%s - %s) * %s + %s", x, t[3], t[0], t[2]), false);
}

static void instance_norm(struct emit *e, struct node *n)
{
    uint32_t axes = between(2, n->in[0]->shape.n);
    double eps = node_float(n, "epsilon", 1e-5);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *mean, *rec;
    const char *scale = program_in(&p, node_in(e->g, n, 1), channel);
    const char *bias = program_in(&p, node_in(e->g, n, 2), channel);

    normal(&p, axes, x, eps, &x, &mean, &rec);
    program_out(&p, n->out[0], program_axes,
                graph_text("%s * %s * %s + %s", x, rec, scale, bias), false);
}

/* Of channels in groups; scale and bias are of the groups before opset 21. */
static void group_norm(struct emit *e, struct node *n)
{
    enum { N, GROUP, CHANNEL, PIXEL };
    static const uint8_t of_x[] = {N, GROUP, CHANNEL, PIXEL},
                         of_scale[] = {GROUP, CHANNEL};
    const struct shape *s = &n->in[0]->shape;
    int64_t groups = node_int(n, "num_groups", 0), channels = s->n > 1 ? s->dim[1] : 0;
    int64_t scales = e->g->opset < 21 ? groups : channels;
    double eps = node_float(n, "epsilon", 1e-5);
    struct shape x = {.n = 4}, scale = {.n = e->g->opset < 21 ? 1 : 2};
    struct program p = program_begin(e, n);
    const char *value, *mean, *rec, *operand[3];

    if (groups < 1 || channels % groups || tensor_count(node_in(e->g, n, 1)) != scales ||
        tensor_count(node_in(e->g, n, 2)) != scales) {
        node_die(e->g, n, "%lld groups of %s", (long long)groups, shape_text(s));
    }
    scale.dim[0] = x.dim[1] = groups;
    scale.dim[1] = x.dim[2] = channels / groups;
    x.dim[0] = s->dim[0];
    x.dim[3] = shape_count(s) / (channels ? channels : 1) / (s->dim[0] ? s->dim[0] : 1);
    value = program_in(&p, tensor_view(n->in[0], &x), of_x);
    for (unsigned i = 1; i < 3; i++) {
        operand[i] = program_in(&p, tensor_view(n->in[i], &scale), of_scale);
    }
    normal(&p, 1u << CHANNEL | 1u << PIXEL, value, eps, &value, &mean, &rec);
    program_out(&p, tensor_view(n->out[0], &x), of_x,
                graph_text("%s * %s * %s + %s", value, rec, operand[1], operand[2]),
                false);
}

static void layernorm_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), x->shape.n);
    struct shape rows = x->shape;

    for (unsigned i = 1; i < n->n_in; i++) {
        const struct tensor *of = i == 1 ? node_in(g, n, i) : node_maybe(n, i);
        struct shape both = of ? shape_broadcast(g, n, &rows, &of->shape) : rows;
        if (!shape_equal(&both, &rows)) {
            node_die(g, n, "operand %u is %s, x %s", i, shape_text(&of->shape),
                     shape_text(&rows));
        }
    }
    same_shape(g, n);
    for (unsigned d = axis; d < rows.n; d++) {
        rows.dim[d] = 1;
    }
    tensor_is(g, n, 1, ELEM_F32, &rows);
    tensor_is(g, n, 2, ELEM_F32, &rows);
}

static void layernorm(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    uint32_t axes = between(node_axis(e->g, n, node_int(n, "axis", -1), s->n), s->n);
    double eps = node_float(n, "epsilon", 1e-5);
    struct tensor *scale = node_in(e->g, n, 1), *bias = node_maybe(n, 2);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *value[3];

    normal(&p, axes, x, eps, &value[0], &value[1], &value[2]);
    value[0] = graph_text("%s * %s * %s", value[0], value[2],
                          program_in(&p, scale, program_axes_of(scale, s->n)));
    if (bias) {
        value[0] = graph_text("%s + %s", value[0],
                              program_in(&p, bias, program_axes_of(bias, s->n)));
    }
    for (unsigned i = 0; i < 3 && i < n->n_out; i++) {
        if (n->out[i]) {
            program_out(&p, n->out[i], program_axes, value[i], false);
        }
    }
}

static void mean_variance(struct emit *e, struct node *n)
{
    const struct attr *axes = node_attr(n, "axes");
    uint32_t of = axes ? 0 : 1 << 0 | 1 << 2 | 1 << 3;
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *y, *v;

    for (size_t i = 0; axes && i < axes->n_ints; i++) {
        of |= 1u << node_axis(e->g, n, axes->ints[i], n->in[0]->shape.n);
    }
    y = program_line(&p, graph_text("%s - %s", x, program_over(&p, "mean", of, x)));
    v = program_over(&p, "mean", of, graph_text("%s * %s", y, y));
    program_out(&p, n->out[0], program_axes, graph_text("%s * rec(sqrt(%s) + 1e-9)", y, v),
                false);
}

/* x / (bias + alpha / size * the squares of `size` channels around)^beta: which channels these
 * are is a matrix of ones and zeros. */
static void lrn(struct emit *e, struct node *n)
{
    enum { CHANNEL = 1, NEAR = GRAPH_RANK };
    static const uint8_t of_near[GRAPH_RANK] = {0, NEAR, 2, 3, 4, 5, 6, 7},
                         of_band[] = {CHANNEL, NEAR};
    int64_t size = node_int(n, "size", 1),
            c = n->in[0]->shape.n > 1 ? n->in[0]->shape.dim[1] : 0;
    struct tensor *band = tensor_new(n, "near", ELEM_F32, &(struct shape){2, {c, c}});
    struct program p = program_begin(e, n);
    const char *x, *near, *sum;

    if (c < 1 || size < 1 || c > 65536) {
        node_die(e->g, n, "%lld channels of %s", (long long)size,
                 shape_text(&n->in[0]->shape));
    }
    tensor_values(band);
    for (int64_t i = 0; i < c * c; i++) {
        int64_t away = i % c - i / c;
        band->value[i] = away >= -((size - 1) / 2) && away <= size / 2;
    }
    x = program_in(&p, n->in[0], program_axes);
    near = program_in(&p, n->in[0], of_near);
    sum = graph_text("%s * %s * %s", near, near, program_in(&p, band, of_band));
    sum = program_over(&p, "sum", 1u << NEAR, sum);
    program_out(&p, n->out[0], program_axes,
                graph_text("%s * exp(%.9g * log(%.9g + %.9g * %s))", x,
                           -node_float(n, "beta", 0.75), node_float(n, "bias", 1),
                           node_float(n, "alpha", 0.0001) / (double)size, sum),
                false);
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
    bool is_max = strcmp(n->op, "GlobalMaxPool") == 0;
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);

    x = program_over(&p, is_max ? "max" : "mean", between(2, n->in[0]->shape.n), x);
    program_out(&p, n->out[0], program_axes, x, false);
}

static void global_lp_pool(struct graph *g, struct node *n)
{
    int64_t p = node_int(n, "p", 2);
    struct lower l = lower_begin(g, n);
    const char *axes = "";

    if (p != 1 && p != 2) {
        node_die(g, n, "p is %lld: 1 or 2", (long long)p);
    }
    for (unsigned d = 2; d < node_in(g, n, 0)->shape.n; d++) {
        axes = graph_text("%s%s%u", axes, d > 2 ? ", " : "", d);
    }
    lower_text(&l, "@0 = ReduceL%lld($0; axes=[%s])\n", (long long)p, axes);
    lower_end(&l);
}

const struct rule rules_norm[] = {
    {"Softmax", same_shape, .emit = softmax},
    {"LogSoftmax", same_shape, .emit = softmax},
    {"Softmax_hidden", same_shape, .emit = softmax},
    {"Hardmax", same_shape, .emit = hardmax},
    {"BatchNormalization", batchnorm_shape, .emit = batchnorm},
    {"InstanceNormalization", instance_norm_shape, .emit = instance_norm},
    {.op = "GroupNormalization", .shape = same_shape, .emit = group_norm, .alone = true},
    {"LayerNormalization", layernorm_shape, .emit = layernorm},
    {"MeanVarianceNormalization", same_shape, .emit = mean_variance},
    {.op = "LRN", .shape = same_shape, .emit = lrn},
    {"GlobalAveragePool", global_shape, .emit = global_pool},
    {"GlobalMaxPool", global_shape, .emit = global_pool},
    {.op = "GlobalLpPool", .shape = global_lp_pool},
    {0},
};
