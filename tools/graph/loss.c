/* SPDX-License-Identifier: MIT
 *
 * Losses over classes, and the steps of optimisers.
 */
#include <string.h>

#include "tools/graph/emit.h"

/* x is (n, c, d...), target (n, d...): as (n, c, d). */
static const char *const of_x[] = {"n", "c", "d"}, *const of_target[] = {"n", "d"},
                         *const of_weight[] = {"c"};

static bool softmax_first(const struct node *n)
{
    return strcmp(n->op, "SoftmaxCrossEntropyLoss") == 0;
}

static const char *reduction(const struct node *n)
{
    const struct attr *a = node_attr(n, "reduction");

    return a && a->s ? a->s : "mean";
}

static void loss_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0), *t = node_in(g, n, 1);
    struct shape none = {0}, want = x->shape;

    want.n = x->shape.n - (x->shape.n > 1);
    for (unsigned d = 1; d < want.n; d++) {
        want.dim[d] = x->shape.dim[d + 1];
    }
    if (x->shape.n < 2 || !shape_equal(&t->shape, &want)) {
        node_die(g, n, "classes of %s for %s", shape_text(&t->shape),
                 shape_text(&x->shape));
    }
    tensor_is(g, n, 0, x->type, strcmp(reduction(n), "none") == 0 ? &t->shape : &none);
    if (softmax_first(n)) {
        tensor_is(g, n, 1, x->type, &x->shape);
    }
}

/* The sum of an expression over all samples. */
static const char *sum_of(const struct shape *rows, const char *expr)
{
    for (unsigned d = 2; d-- > 0;) {
        if (rows->dim[d] != 1) {
            expr = graph_text("sum(%s, %s)", expr, of_target[d]);
        }
    }
    return expr;
}

static void loss_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0], *weight = node_maybe(n, 2);
    int64_t samples = x->shape.dim[0], classes = x->shape.dim[1];
    struct shape all = {.n = 3, .dim = {samples, classes, 1}};
    struct shape rows = {.n = 2, .dim = {samples, 1}}, none = {0};
    const struct attr *ignore = node_attr(n, "ignore_index");
    const char *how = reduction(n), *v, *t, *w = "1", *loss;
    struct program p = program_begin(e, n);

    all.dim[2] = rows.dim[1] =
        samples && classes ? tensor_count(x) / samples / classes : 0;
    v = program_in(&p, tensor_view(x, &all), of_x);
    t = program_in(&p, tensor_view(n->in[1], &rows), of_target);
    if (softmax_first(n)) {
        v = program_line(&p, classes == 1 ? graph_text("%s - %s", v, v)
                                          : graph_text("%s - max(%s, c)", v, v));
        v = program_line(
            &p, classes == 1 ? v : graph_text("%s - log(sum(exp(%s), c))", v, v));
    }
    loss = classes == 1 ? graph_text("-%s", v)
                        : graph_text("sum(where(c == %s, -%s, 0), c)", t, v);
    if (weight) {
        w = program_in(&p, weight, of_weight);
        w = program_line(
            &p, classes == 1 ? w : graph_text("sum(where(c == %s, %s, 0), c)", t, w));
        loss = graph_text("(%s) * %s", loss, w);
    }
    if (ignore) {
        loss = graph_text("where(%s == %lld, 0, %s)", t, (long long)ignore->i, loss);
        w = program_line(
            &p, graph_text("where(%s == %lld, 0.0, %s)", t, (long long)ignore->i, w));
    }
    loss = program_line(&p, loss);
    if (strcmp(how, "none") == 0) {
        program_out(&p, tensor_view(n->out[0], &rows), of_target, loss, false);
    } else if (strcmp(how, "sum") == 0) {
        program_out(&p, tensor_view(n->out[0], &none), of_target, sum_of(&rows, loss),
                    false);
    } else {
        const char *by = weight || ignore
                             ? sum_of(&rows, w)
                             : graph_text("%lld", (long long)tensor_count(n->in[1]));
        program_out(&p, tensor_view(n->out[0], &none), of_target,
                    graph_text("%s / %s", sum_of(&rows, loss), by), false);
    }
    if (n->n_out > 1 && n->out[1]) {
        program_out(&p, tensor_view(n->out[1], &all), of_x, v, false);
    }
    program_end(&p);
}

const struct rule rules_loss[] = {
    {"NegativeLogLikelihoodLoss", loss_shape, .emit = loss_emit},
    {"SoftmaxCrossEntropyLoss", loss_shape, .emit = loss_emit},
    {0},
};
