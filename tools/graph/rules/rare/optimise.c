/* SPDX-License-Identifier: MIT
 *
 * Steps of optimisers, of ONNX's domain for training: R, T, then all tensors, their gradients
 * and one or two states; a program for each tensor.
 */
#include <string.h>

#include "tools/graph/steps/steps.h"

/* Of a node: how many tensors, and operands and results of each. */
struct optimiser {
    unsigned states;
};
static const struct optimiser one_state = {1}, two_states = {2};

static unsigned tensors(const struct graph *g, const struct node *n)
{
    unsigned of_each = 2 + ((const struct optimiser *)n->rule->own)->states;

    if (n->n_in < 2 + of_each || (n->n_in - 2) % of_each) {
        node_die(g, n, "%u operands", n->n_in);
    }
    return (n->n_in - 2) / of_each;
}

static void shape_of(struct graph *g, struct node *n)
{
    unsigned count = tensors(g, n);

    for (unsigned i = 0; i < n->n_out; i++) { /* X, then states: behind the gradients */
        const struct tensor *x = node_in(g, n, 2 + i + (i >= count ? count : 0));
        tensor_is(g, n, i, x->type, &x->shape);
    }
}

/* Number k of the group at `place`: tensors, gradients, states. */
static const char *operand(struct program *p, unsigned place, unsigned k, unsigned count)
{
    return program_in(p, node_in(p->e->g, p->n, 2 + place * count + k), program_axes);
}

/* R or T. */
static const char *before_all(struct program *p, unsigned i)
{
    return program_in(p, node_in(p->e->g, p->n, i), program_axes);
}

static const char *number_of(const struct node *n, const char *name, double otherwise)
{
    return graph_text("%.9g", node_float(n, name, otherwise));
}

/* The gradient, with what keeps tensors small. */
static const char *gradient(struct program *p, const char *x, unsigned k, unsigned count)
{
    return program_line(p,
                        graph_text("%s * %s + %s", number_of(p->n, "norm_coefficient", 0),
                                   x, operand(p, 1, k, count)));
}

static void put(struct program *p, unsigned place, unsigned k, unsigned count,
                const char *expr)
{
    unsigned i = place * count + k;

    if (i < p->n->n_out && p->n->out[i]) {
        program_out(p, p->n->out[i], program_axes, expr, false);
    }
}

static void adagrad(struct emit *e, struct node *n)
{
    unsigned count = tensors(e->g, n);

    for (unsigned k = 0; k < count; k++) {
        struct program p = program_begin(e, n);
        const char *r = before_all(&p, 0);
        const char *t = before_all(&p, 1);
        const char *x = operand(&p, 0, k, count), *g = gradient(&p, x, k, count), *h;

        r = program_line(&p, graph_text("%s / (1 + f32(%s) * %s)", r, t,
                                        number_of(n, "decay_factor", 0)));
        h = program_line(&p, graph_text("%s + %s * %s", operand(&p, 2, k, count), g, g));
        put(&p, 0, k, count,
            graph_text("%s - %s * %s / (sqrt(%s) + %s)", x, r, g, h,
                       number_of(n, "epsilon", 1e-6)));
        put(&p, 1, k, count, h);
    }
}

static void adam(struct emit *e, struct node *n)
{
    unsigned count = tensors(e->g, n);
    const char *a = number_of(n, "alpha", 0.9), *b = number_of(n, "beta", 0.999);

    for (unsigned k = 0; k < count; k++) {
        struct program p = program_begin(e, n);
        const char *r = before_all(&p, 0), *v, *h;
        const char *t = before_all(&p, 1);
        const char *x = operand(&p, 0, k, count), *g = gradient(&p, x, k, count);

        t = program_line(&p, graph_text("f32(%s)", t));
        r = program_line(
            &p,
            graph_text("where(%s > 0, %s * sqrt(1 - exp(%s * log(%s))) / (1 - exp(%s * "
                       "log(%s))), %s)",
                       t, r, t, b, t, a, r));
        v = program_line(
            &p, graph_text("%s * %s + (1 - %s) * %s", a, operand(&p, 2, k, count), a, g));
        h = program_line(&p, graph_text("%s * %s + (1 - %s) * %s * %s", b,
                                        operand(&p, 3, k, count), b, g, g));
        put(&p, 0, k, count,
            graph_text("(%s - %s * %s / (sqrt(%s) + %s)) * (1 - %s)", x, r, v, h,
                       number_of(n, "epsilon", 1e-6),
                       number_of(n, "norm_coefficient_post", 0)));
        put(&p, 1, k, count, v);
        put(&p, 2, k, count, h);
    }
}

static void momentum(struct emit *e, struct node *n)
{
    unsigned count = tensors(e->g, n);
    const struct attr *mode = node_attr(n, "mode");
    bool nesterov = mode && mode->s && strcmp(mode->s, "nesterov") == 0;
    const char *a = number_of(n, "alpha", 0);

    for (unsigned k = 0; k < count; k++) {
        struct program p = program_begin(e, n);
        const char *r = before_all(&p, 0), *v;
        const char *t = before_all(&p, 1);
        const char *x = operand(&p, 0, k, count), *g = gradient(&p, x, k, count);

        v = graph_text("where(f32(%s) > 0, %s, 1.0)", t, number_of(n, "beta", 0));
        v = program_line(
            &p, graph_text("%s * %s + %s * %s", a, operand(&p, 2, k, count), v, g));
        put(&p, 0, k, count,
            nesterov ? graph_text("%s - %s * (%s + %s * %s)", x, r, g, a, v)
                     : graph_text("%s - %s * %s", x, r, v));
        put(&p, 1, k, count, v);
    }
}

const struct rule rules_optimise[] = {
    {.op = "Adagrad",
     .shape = shape_of,
     .emit = adagrad,
     .own = &one_state,
     .alone = true},
    {.op = "Adam", .shape = shape_of, .emit = adam, .own = &two_states, .alone = true},
    {.op = "Momentum",
     .shape = shape_of,
     .emit = momentum,
     .own = &one_state,
     .alone = true},
    {0},
};
