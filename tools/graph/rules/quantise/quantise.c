/* SPDX-License-Identifier: MIT
 *
 * Quantised tensors.
 */
#include <string.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/rules/elementwise/small.h"

/* Axes of a scale: one, or none. */
static const uint8_t *of_scale(const struct graph *g, const struct node *n)
{
    unsigned rank = n->in[0]->shape.n;
    int64_t axis = node_int(n, "axis", 1);

    return n->in[1]->shape.n == 0 || rank == 0
               ? program_axes
               : program_axes + node_axis(g, n, axis, rank);
}

/* Operand and result with the axis of blocks in two, of which a scale has the first one. Without
 * blocks they are as they were. */
struct blocks {
    struct tensor *x, *y;
    uint8_t of_scale[GRAPH_RANK];
    bool any;
};

static struct blocks blocks_of(const struct graph *g, const struct node *n)
{
    struct blocks b = {.x = n->in[0], .y = n->out[0]};
    const struct shape *scale = &n->in[1]->shape;
    int64_t size = node_int(n, "block_size", 0);
    unsigned axis;
    struct shape s = {0};

    (void)node_int(n, "saturate", 1);
    if (size < 1 || scale->n != b.x->shape.n || scale->n == 0) {
        memcpy(b.of_scale, of_scale(g, n), sizeof(b.of_scale));
        return b;
    }
    axis = node_axis(g, n, node_int(n, "axis", 1), scale->n);
    if (scale->n == GRAPH_RANK || scale->dim[axis] * size != b.x->shape.dim[axis]) {
        node_die(g, n, "blocks of %lld of %s with scales of %s", (long long)size,
                 shape_text(&b.x->shape), shape_text(scale));
    }
    for (unsigned d = 0; d < scale->n; d++) {
        b.of_scale[d] = (uint8_t)s.n;
        s.dim[s.n++] = scale->dim[d];
        if (d == axis) {
            s.dim[s.n++] = size;
        }
    }
    b.x = tensor_view(b.x, &s);
    b.y = tensor_view(b.y, &s);
    b.any = true;
    return b;
}

static void quantise_shape(struct graph *g, struct node *n)
{
    const struct tensor *zero = node_maybe(n, 2);
    int64_t wanted = node_int(n, "output_dtype", 0),
            precision = node_int(n, "precision", 0);
    enum elem type = zero ? zero->type : wanted ? dtype_of(wanted) : ELEM_U8;

    if (type != ELEM_U8 && type != ELEM_I8 && type != ELEM_I16 && type != ELEM_U16 &&
        !elem_is_small(type)) {
        node_die(g, n, "to %s", elem_text(type));
    }
    if (precision && dtype_of(precision) != ELEM_F32) {
        node_die(g, n, "by a quotient of %s", elem_text(dtype_of(precision)));
    }
    (void)node_in(g, n, 1);
    tensor_is(g, n, 0, type, &node_in(g, n, 0)->shape);
}

static void quantise_emit(struct emit *e, struct node *n)
{
    struct blocks b = blocks_of(e->g, n);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, b.x, program_axes);
    struct tensor *zero = node_maybe(n, 2);

    program_exact(&p);
    x = graph_text("%s / %s", x, program_in(&p, n->in[1], b.of_scale));
    if (elem_is_bits(n->out[0]->type)) { /* a zero point that is +0 */
        x = program_line(&p, x);
        x = graph_text("where(%s == 0, 0.0, %s)", x, x);
        x = small_encode(&p, n->out[0]->type, x, node_int(n, "saturate", 1) != 0);
        program_out(&p, b.y, program_axes, x, false);
        p.group->alone |= b.any;
        return;
    }
    x = graph_text("round(%s)", x);
    if (zero) {
        x = graph_text(zero->type == ELEM_I16 || zero->type == ELEM_U16 ? "%s + f32(%s)"
                                                                        : "%s + %s",
                       x, program_in(&p, zero, b.of_scale));
    }
    program_out(&p, b.y, program_axes, program_range(n->out[0]->type, x), false);
    p.group->alone |= b.any;
}

static void dequantise_shape(struct graph *g, struct node *n)
{
    enum elem type = node_in(g, n, 1)->type;
    int64_t wanted = node_int(n, "output_dtype", 0);

    if (wanted && dtype_of(wanted) != type) {
        node_die(g, n, "to %s, of a scale of %s", elem_text(dtype_of(wanted)),
                 elem_text(type));
    }
    tensor_is(g, n, 0, type, &node_in(g, n, 0)->shape);
}

static void dequantise_emit(struct emit *e, struct node *n)
{
    struct blocks b = blocks_of(e->g, n);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, b.x, program_axes);
    const char *scale = program_in(&p, n->in[1], b.of_scale);
    struct tensor *zero = node_maybe(n, 2);
    bool small = n->in[0]->type == ELEM_I16 || n->in[0]->type == ELEM_U16;

    x = elem_is_bits(n->in[0]->type) ? small_decode(&p, n->in[0]->type, x)
        : small                      ? graph_text("f32(%s)", x)
                                     : x;
    if (zero && elem_is_bits(zero->type)) {
        x = graph_text("(%s - %s)", x,
                       small_decode(&p, zero->type, program_in(&p, zero, b.of_scale)));
    } else if (zero) {
        x = graph_text(small ? "(%s - f32(%s))" : "(%s - %s)", x,
                       program_in(&p, zero, b.of_scale));
    }
    x = n->in[0]->type == ELEM_I32 ? graph_text("f32(%s)", x) : x;
    program_out(&p, b.y, program_axes, graph_text("%s * %s", x, scale), false);
    p.group->alone |= b.any;
}

/* Scale and zero point from the range of x, which 0 is in. */
static void dynamic_shape(struct graph *g, struct node *n)
{
    struct shape none = {0};

    tensor_is(g, n, 0, ELEM_U8, &node_in(g, n, 0)->shape);
    tensor_is(g, n, 1, ELEM_F32, &none);
    tensor_is(g, n, 2, ELEM_U8, &none);
    if (n->n_out != 3 || !n->out[1] || !n->out[2]) {
        node_die(g, n, "a scale or a zero point that nobody is given");
    }
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
