/* SPDX-License-Identifier: MIT
 *
 * See conv_lower.h.
 */
#include "tools/graph/rules/window/conv_lower.h"

#include <string.h>

#include "tools/graph/rules/product/product.h"

/* --- columns --- */

/* Axes of the product: batch, group, results of a group, elements of a window, windows. */
enum { B, G, M, K, P /* and behind it */ };

/* Of one group the result has the dimensions of the node's, so that what follows may join. The
 * Vector takes what has one result of a group, but for groups of several pictures: with tiles of
 * long rows these are more loops than a sequence of commands nests. */
void conv_lower_multiply(const struct conv_lowering *c, struct tensor *columns)
{
    struct node *n = c->n;
    struct tensor *weight = c->weight, *bias = c->bias;
    int64_t groups = c->groups, m = n->out[0]->shape.dim[1] / groups;
    uint8_t of_x[GRAPH_RANK] = {B, G, K}, of_y[GRAPH_RANK] = {B, G, M};
    static const uint8_t of_w[] = {G, M, K}, of_b[] = {G, M};
    unsigned rank = n->out[0]->shape.n - 2;
    int64_t k = tensor_count(weight) / groups / m;
    struct shape w = {.n = 3, .dim = {groups, m, k}}, b = {.n = 2, .dim = {groups, m}};
    struct shape x = {.n = 3 + rank, .dim = {columns->shape.dim[0], groups, k}}, y = x;
    struct program p = program_begin(c->e, n);
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

static bool columns_take(const struct conv_lowering *c)
{
    (void)c;
    return true;
}

static void columns_emit(const struct conv_lowering *c)
{
    struct tensor *columns = window_columns(c->e, c->n, &c->window, c->x, c->pad);

    if (c->multiply) {
        c->multiply(c, columns);
    } else {
        conv_lower_multiply(c, columns);
    }
}

/* --- variants --- */

static bool operator_takes(const struct conv_lowering *c)
{
    return c->channels_last;
}

/* Weights of a channel are an operand of its program, so they have to be known. */
static bool taps_take_it(const struct conv_lowering *c)
{
    return !c->multiply && c->groups == c->window.c &&
           c->weight->shape.dim[0] == c->window.c && c->weight->value &&
           taps_take(&c->window);
}

/* The first that takes a convolution writes it. */
static const struct variant {
    const char *name;
    bool (*takes)(const struct conv_lowering *c);
    void (*emit)(const struct conv_lowering *c);
} variants[] = {
    {"operator", operator_takes, conv_lower_operator},
    {"taps", taps_take_it, conv_lower_taps},
    {"columns", columns_take, columns_emit},
};

static const struct variant *variant_of(const struct conv_lowering *c)
{
    const struct variant *v = variants;

    while (!v->takes(c)) {
        v++;
    }
    return v;
}

void conv_lower(const struct conv_lowering *c)
{
    variant_of(c)->emit(c);
}
