/* SPDX-License-Identifier: MIT
 *
 * BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot: the Vector has them of 16 bits. Numbers of 32 are
 * two of these, one of 8 becomes one.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/steps/steps.h"

static void bits_shape(struct graph *g, struct node *n)
{
    bool is_not = strcmp(n->op, "BitwiseNot") == 0;
    const struct tensor *x = node_in(g, n, 0);
    const struct tensor *y = is_not ? x : node_in(g, n, 1);
    struct shape to = shape_broadcast(g, n, &x->shape, &y->shape);

    if (n->n_in != (is_not ? 1 : 2)) {
        node_die(g, n, "%u operands", n->n_in);
    }
    if (elem_is_float(x->type) || x->type == ELEM_BOOL || x->type >= ELEM_TEXT ||
        x->type != y->type || to.n == GRAPH_RANK) {
        node_die(g, n, "of %s %s", elem_text(x->type), shape_text(&to));
    }
    if (is_not && x->type == ELEM_U16) { /* 32 bits on the machine */
        struct lower l = lower_begin(g, n);
        lower_text(&l, "all = CastLike(65535i, $0)\n@0 = Sub(all, $0)\n");
        lower_end(&l);
        return;
    }
    tensor_is(g, n, 0, x->type, &to);
}

/* And, or, xor of x and y, not of x. */
static int64_t computed(const struct node *n, int64_t x, int64_t y)
{
    if (strcmp(n->op, "BitwiseAnd") == 0) {
        return x & y;
    }
    if (strcmp(n->op, "BitwiseOr") == 0) {
        return x | y;
    }
    return n->n_in > 1 ? x ^ y : ~x;
}

/* The same as expressions of 16 bits, of which a byte is the lower half. */
static const char *expression(const struct node *n, enum elem type, const char *x,
                              const char *y)
{
    if (strcmp(n->op, "BitwiseAnd") == 0) {
        return graph_text("and(%s, %s)", x, y);
    }
    if (strcmp(n->op, "BitwiseOr") == 0) {
        return graph_text("or(%s, %s)", x, y);
    }
    if (n->n_in > 1) {
        return graph_text("or(and(%s, not(%s)), and(not(%s), %s))", x, y, x, y);
    }
    return type == ELEM_U8 ? graph_text("and(not(%s), s16(255))", x)
                           : graph_text("not(%s)", x);
}

static void bits_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    int64_t at[GRAPH_RANK] = {0}, x, y = 0;

    (void)g;
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        const struct shape *s = &n->out[0]->shape;
        x = elem_whole(n->in[0]->value[shape_at(&n->in[0]->shape, s, at)]);
        if (n->n_in > 1) {
            y = elem_whole(n->in[1]->value[shape_at(&n->in[1]->shape, s, at)]);
        }
        *to++ = (double)computed(n, x, y);
    } while (shape_step(&n->out[0]->shape, at));
}

/* A tensor of 32 bits as one of halves, the lower one first. */
static struct tensor *halves(const struct graph *g, const struct node *n,
                             struct tensor *t)
{
    struct shape s = t->shape;
    struct tensor *to;

    s.dim[s.n++] = 2;
    if (!t->value) {
        to = tensor_view(t, &s);
        to->type = ELEM_I16;
        return to;
    }
    tensor_fits(g, t);
    to = tensor_new(n, "halves", ELEM_I16, &s);
    tensor_values(to);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        to->value[2 * i] = elem_round(ELEM_I16, t->value[i]);
        to->value[2 * i + 1] = floor(t->value[i] / 65536);
    }
    return to;
}

static void bits_emit(struct emit *e, struct node *n)
{
    struct tensor *y = elem_is_wide(n->out[0]->type) ? halves(e->g, n, n->out[0])
                                                     : n->out[0],
                  *t;
    struct program p = program_begin(e, n);
    const char *x[2] = {"", ""}, *type = program_type(n->out[0]), *text;

    program_exact(&p);
    for (unsigned i = 0; i < n->n_in && i < 2; i++) {
        t = elem_is_wide(n->in[i]->type) ? halves(e->g, n, n->in[i]) : n->in[i];
        x[i] = program_in(&p, t, program_axes_of(t, y->shape.n));
        x[i] = t->type == ELEM_I16 ? x[i] : program_line(&p, graph_text("s16(%s)", x[i]));
    }
    text = expression(n, y->type, x[0], x[1]);
    program_out(&p, y, program_axes,
                y->type == ELEM_I16 ? text : graph_text("%s(%s)", type, text), false);
    p.group->alone |= y != n->out[0];
}

#define BITS(name)                                                                       \
    {                                                                                    \
        .op = name, .shape = bits_shape, .value = bits_values, .emit = bits_emit         \
    }
const struct rule rules_bits[] = {
    BITS("BitwiseAnd"), BITS("BitwiseOr"), BITS("BitwiseXor"), BITS("BitwiseNot"), {0},
};
