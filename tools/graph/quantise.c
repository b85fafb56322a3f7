/* SPDX-License-Identifier: MIT
 *
 * Quantised tensors.
 */
#include <string.h>

#include "tools/graph/emit.h"

/* Axes of a scale: one, or none. */
static const uint8_t *of_scale(const struct graph *g, const struct node *n)
{
    unsigned rank = n->in[0]->shape.n;

    return n->in[1]->shape.n == 0 || rank == 0
               ? program_axes
               : program_axes + node_axis(g, n, node_int(n, "axis", 1), rank);
}

static void quantise_shape(struct graph *g, struct node *n)
{
    const struct tensor *zero = node_maybe(n, 2);

    (void)node_in(g, n, 1);
    tensor_is(g, n, 0, zero ? zero->type : ELEM_U8, &node_in(g, n, 0)->shape);
}

static const char *range_of(enum elem type, const char *expr)
{
    return type == ELEM_I16  ? graph_text("clip(%s, -32768, 32767)", expr)
           : type == ELEM_I8 ? graph_text("clip(%s, -128, 127)", expr)
                             : graph_text("clip(%s, 0, 255)", expr);
}

static void quantise_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    struct tensor *zero = node_maybe(n, 2);

    program_exact(&p);
    x = graph_text("round(%s / %s)", x, program_in(&p, n->in[1], of_scale(e->g, n)));
    if (zero) {
        x = graph_text(zero->type == ELEM_I16 ? "%s + f32(%s)" : "%s + %s", x,
                       program_in(&p, zero, of_scale(e->g, n)));
    }
    program_out(&p, n->out[0], program_axes, range_of(n->out[0]->type, x), false);
}

static void dequantise_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, node_in(g, n, 1)->type, &node_in(g, n, 0)->shape);
}

static void dequantise_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    const char *scale = program_in(&p, n->in[1], of_scale(e->g, n));
    struct tensor *zero = node_maybe(n, 2);

    if (zero) {
        x = graph_text("(%s - %s)", x, program_in(&p, zero, of_scale(e->g, n)));
    }
    x = n->in[0]->type == ELEM_I32 ? graph_text("f32(%s)", x) : x;
    program_out(&p, n->out[0], program_axes, graph_text("%s * %s", x, scale), false);
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
    uint32_t all = (1u << n->in[0]->shape.n) - 1;
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    const char *low, *scale, *zero;

    program_exact(&p);
    low = program_line(&p, graph_text("min(%s, 0)", program_over(&p, "min", all, x)));
    scale = graph_text("max(%s, 0)", program_over(&p, "max", all, x));
    scale = program_line(&p, graph_text("(%s - %s) / 255", scale, low));
    zero = program_line(&p, graph_text("clip(round(-%s / %s), 0, 255)", low, scale));
    program_out(&p, n->out[0], program_axes,
                graph_text("clip(round(%s / %s) + %s, 0, 255)", x, scale, zero), false);
    program_out(&p, n->out[1], program_axes, scale, false);
    program_out(&p, n->out[2], program_axes, zero, false);
}

const struct rule rules_quantise[] = {
    {.op = "QuantizeLinear", .shape = quantise_shape, .emit = quantise_emit},
    {.op = "DequantizeLinear", .shape = dequantise_shape, .emit = dequantise_emit},
    {.op = "DynamicQuantizeLinear", .shape = dynamic_shape, .emit = dynamic_emit},
    {0},
};
