/* SPDX-License-Identifier: MIT
 *
 * Losses over classes, and the steps of optimisers.
 */
#include <string.h>

#include "tools/graph/steps/steps.h"

/* x is (n, c, d...), the target (n, d...). */
enum { CLASSES = 1 };
static const uint8_t of_target[GRAPH_RANK] = {0, 2, 3, 4, 5, 6, 7},
                     of_weight[] = {CLASSES};

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
    const struct tensor *weight = node_maybe(n, 2);
    struct shape none = {0}, want = x->shape;

    want.n = x->shape.n - (x->shape.n > 1);
    for (unsigned d = 1; d < want.n; d++) {
        want.dim[d] = x->shape.dim[d + 1];
    }
    if (x->shape.n < 2 || !shape_equal(&t->shape, &want)) {
        node_die(g, n, "classes of %s for %s", shape_text(&t->shape),
                 shape_text(&x->shape));
    }
    if (weight && (weight->shape.n != 1 || weight->shape.dim[0] != x->shape.dim[CLASSES])) {
        node_die(g, n, "weights of %s for %s", shape_text(&weight->shape),
                 shape_text(&x->shape));
    }
    tensor_is(g, n, 0, x->type, strcmp(reduction(n), "none") == 0 ? &t->shape : &none);
    if (softmax_first(n)) {
        tensor_is(g, n, 1, x->type, &x->shape);
    }
}

/* The element of the target's class. */
static const char *of_class(struct program *p, const char *target, const char *v)
{
    v = graph_text("where(%s == %s, %s, 0)", program_index(p, CLASSES), target, v);
    return program_over(p, "sum", 1u << CLASSES, v);
}

static void loss_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0], *weight = node_maybe(n, 2);
    uint32_t samples = ((1u << x->shape.n) - 1) & ~(1u << CLASSES),
             classes = 1u << CLASSES;
    const struct attr *ignore = node_attr(n, "ignore_index");
    const char *how = reduction(n), *v, *t, *w = "1.0", *loss, *by;
    struct program p = program_begin(e, n);

    v = program_in(&p, x, program_axes);
    t = program_in(&p, n->in[1], of_target);
    if (softmax_first(n)) {
        v = program_line(&p,
                         graph_text("%s - %s", v, program_over(&p, "max", classes, v)));
        loss = program_over(&p, "sum", classes, graph_text("exp(%s)", v));
        v = program_line(&p, graph_text("%s - log(%s)", v, loss));
    }
    loss = of_class(&p, t, graph_text("-%s", v));
    if (weight) {
        w = program_line(&p, of_class(&p, t, program_in(&p, weight, of_weight)));
        loss = graph_text("(%s) * %s", loss, w);
    }
    if (ignore) {
        long long index = (long long)ignore->i;
        loss = graph_text("where(%s == %lld, 0, %s)", t, index, loss);
        w = program_line(&p, graph_text("where(%s == %lld, 0.0, %s)", t, index, w));
    }
    loss = program_line(&p, loss);
    if (strcmp(how, "none") == 0) {
        program_out(&p, n->out[0], of_target, loss, false);
    } else {
        loss = program_over(&p, "sum", samples, loss);
        by = weight || ignore ? program_over(&p, "sum", samples, w)
                              : graph_text("%lld", (long long)tensor_count(n->in[1]));
        program_out(&p, n->out[0], program_axes,
                    strcmp(how, "sum") == 0 ? loss : graph_text("%s / %s", loss, by),
                    false);
    }
    if (n->n_out > 1 && n->out[1]) {
        program_out(&p, n->out[1], program_axes, v, false);
    }
}

const struct rule rules_loss[] = {
    {"NegativeLogLikelihoodLoss", loss_shape, .emit = loss_emit},
    {"SoftmaxCrossEntropyLoss", loss_shape, .emit = loss_emit},
    {0},
};
