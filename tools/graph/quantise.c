/* SPDX-License-Identifier: MIT
 *
 * Quantised tensors.
 */
#include <string.h>

#include "tools/graph/emit.h"

/* Dimension names of a scale: of the axis, or none. */
static const char *const *of_scale(const struct graph *g, const struct node *n)
{
    unsigned rank = n->in[0]->shape.n;

    return n->in[1]->shape.n == 0 || rank == 0
               ? program_dims
               : program_dims + node_axis(g, n, node_int(n, "axis", 1), rank);
}

static void quantise_shape(struct graph *g, struct node *n)
{
    const struct tensor *zero = node_maybe(n, 2);

    (void)node_in(g, n, 1);
    tensor_is(g, n, 0, zero ? zero->type : ELEM_U8, &node_in(g, n, 0)->shape);
}

static const char *range_of(enum elem type, const char *expr)
{
    return type == ELEM_I8 ? graph_text("clip(%s, -128, 127)", expr)
                           : graph_text("clip(%s, 0, 255)", expr);
}

static void quantise_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_dims);
    struct tensor *zero = node_maybe(n, 2);

    p.exact = true;
    x = graph_text("round(%s / %s)", x, program_in(&p, n->in[1], of_scale(e->g, n)));
    if (zero) {
        x = graph_text("%s + %s", x, program_in(&p, zero, of_scale(e->g, n)));
    }
    program_out(&p, n->out[0], program_dims, range_of(n->out[0]->type, x), false);
    program_end(&p);
}

static void dequantise_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, node_in(g, n, 1)->type, &node_in(g, n, 0)->shape);
}

static void dequantise_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_dims);
    const char *scale = program_in(&p, n->in[1], of_scale(e->g, n));
    struct tensor *zero = node_maybe(n, 2);

    if (zero) {
        x = graph_text("(%s - %s)", x, program_in(&p, zero, of_scale(e->g, n)));
    }
    x = n->in[0]->type == ELEM_I32 ? graph_text("f32(%s)", x) : x;
    program_out(&p, n->out[0], program_dims, graph_text("%s * %s", x, scale), false);
    program_end(&p);
}

/* Scale and zero point from the range of x, which 0 is in. */
static void dynamic_shape(struct graph *g, struct node *n)
{
    struct shape none = {0};

    tensor_is(g, n, 0, ELEM_U8, &node_in(g, n, 0)->shape);
    tensor_is(g, n, 1, ELEM_F32, &none);
    tensor_is(g, n, 2, ELEM_U8, &none);
}

static void dynamic_emit(struct emit *e, struct node *n)
{
    struct shape row = {.n = 1, .dim = {tensor_count(n->in[0])}};
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, tensor_view(n->in[0], &row), program_dims);
    const char *low, *scale, *zero;

    p.exact = true;
    low = program_line(&p, row.dim[0] == 1 ? graph_text("min(%s, 0)", x)
                                           : graph_text("min(min(%s, d0), 0)", x));
    scale = row.dim[0] == 1 ? graph_text("max(%s, 0)", x)
                            : graph_text("max(max(%s, d0), 0)", x);
    scale = program_line(&p, graph_text("(%s - %s) / 255", scale, low));
    zero = program_line(&p, graph_text("clip(round(-%s / %s), 0, 255)", low, scale));
    program_out(&p, tensor_view(n->out[0], &row), program_dims,
                graph_text("clip(round(%s / %s) + %s, 0, 255)", x, scale, zero), false);
    program_out(&p, n->out[1], program_dims, scale, false);
    program_out(&p, n->out[2], program_dims, zero, false);
    program_end(&p);
}

const struct rule rules_quantise[] = {
    {.op = "QuantizeLinear", .shape = quantise_shape, .emit = quantise_emit},
    {.op = "DequantizeLinear", .shape = dequantise_shape, .emit = dequantise_emit},
    {.op = "DynamicQuantizeLinear", .shape = dynamic_shape, .emit = dynamic_emit},
    {0},
};
