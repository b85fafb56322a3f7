/* SPDX-License-Identifier: MIT
 *
 * Quantised tensors.
 */
#include <string.h>

#include "tools/graph/product.h"
#include "tools/graph/small.h"
#include "tools/graph/window.h"

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
    int64_t wanted = node_int(n, "output_dtype", 0), precision = node_int(n, "precision", 0);
    enum elem type = zero ? zero->type : wanted ? graph_elem(wanted) : ELEM_U8;

    if (type != ELEM_U8 && type != ELEM_I8 && type != ELEM_I16 && type != ELEM_U16 &&
        !elem_is_small(type)) {
        node_die(g, n, "to %s", elem_text(type));
    }
    if (precision && graph_elem(precision) != ELEM_F32) {
        node_die(g, n, "by a quotient of %s", elem_text(graph_elem(precision)));
    }
    (void)node_in(g, n, 1);
    tensor_is(g, n, 0, type, &node_in(g, n, 0)->shape);
}

static const char *range_of(enum elem type, const char *expr)
{
    long long least = elem_least(type), most = least + elem_numbers(type) - 1;

    return graph_text("clip(%s, %lld, %lld)", expr, least, most);
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
    program_out(&p, b.y, program_axes, range_of(n->out[0]->type, x), false);
    p.group->alone |= b.any;
}

static void dequantise_shape(struct graph *g, struct node *n)
{
    enum elem type = node_in(g, n, 1)->type;
    int64_t wanted = node_int(n, "output_dtype", 0);

    if (wanted && graph_elem(wanted) != type) {
        node_die(g, n, "to %s, of a scale of %s", elem_text(graph_elem(wanted)),
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

/* --- products of whole numbers, exact --- */

/* A factor and its zero point: a number, or one for each row, column or filter. */
struct factor {
    struct tensor *t, *zero;
    const uint8_t *axes, *zero_axes;
};

/* What is to be added for a factor, less its zero point: an expression, or else a number. */
struct offset {
    const char *text;
    double number;
};

/* Numbers of 8 bits with a sign. */
static const char *centred(struct program *p, const struct factor *f, struct offset *off)
{
    int middle = f->t->type == ELEM_U8 ? 128 : 0;
    const struct tensor *z = f->zero;
    const char *x = program_in(p, f->t, f->axes);

    *off = (struct offset){.number = middle};
    if (z && z->value && tensor_count(z) == 1) {
        off->number -= z->value[0];
    } else if (z) {
        off->text = program_line(
            p, graph_text("s32(%d - %s)", middle, program_in(p, f->zero, f->zero_axes)));
    }
    return middle ? program_line(p, graph_text("s8(%s - %d)", x, middle)) : x;
}

/* sum + offset * the sum of `other` over axis k. */
static const char *with_offset(struct program *p, const char *sum,
                               const struct offset *offset, const char *other, uint8_t k,
                               int64_t size)
{
    const char *all = graph_text("f32(%s)", other);

    all = size > 1 ? program_over(p, "sum", 1u << k, all) : all;
    return offset->text ? graph_text("%s + %s * s32(%s)", sum, offset->text, all)
           : offset->number != 0
               ? graph_text("%s + s32(%s) * %.0f", sum, all, offset->number)
               : sum;
}

/* Over axis k: (a + p) (b + q) = a b + p b + q a + p q, in 32 bits. */
static const char *whole_product(struct program *p, const struct factor *a,
                                 const struct factor *b, uint8_t k, int64_t size)
{
    struct offset of_a, of_b;
    const char *x = centred(p, a, &of_a), *y = centred(p, b, &of_b), *sum, *both;

    if (size > 1 << 17) {
        node_die(p->e->g, p->n, "%lld products in a sum", (long long)size);
    }
    sum = size > 1 ? graph_text("dot(%s, %s, %s)", x, y, program_index(p, k))
                   : graph_text("s32(%s) * s32(%s)", x, y);
    sum = with_offset(p, sum, &of_a, y, k, size);
    sum = with_offset(p, sum, &of_b, x, k, size);
    both = of_a.text && of_b.text ? graph_text("%s * %s", of_a.text, of_b.text)
           : of_a.text            ? of_a.text
                                  : of_b.text;
    if (both) {
        double times = (of_a.text ? 1 : of_a.number) * (of_b.text ? 1 : of_b.number);
        sum = graph_text("%s + %s * %.0f", sum, both, times * (double)size);
    } else if (of_a.number * of_b.number != 0) {
        sum = graph_text("%s + %.0f", sum, of_a.number * of_b.number * (double)size);
    }
    return program_line(p, sum);
}

static void bytes(const struct graph *g, const struct node *n, unsigned i)
{
    const struct tensor *t = node_in(g, n, i);

    if (t->type != ELEM_I8 && t->type != ELEM_U8) {
        node_die(g, n, "'%s' is %s", t->name, elem_text(t->type));
    }
}

/* Places of operands: values, their scales and zero points, those of the result. */
struct places {
    unsigned a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};
static const struct places linear = {0, 1, 2, 3, 4, 5, 6, 7, 8},
                           integer = {.b = 1, .a_zero = 2, .b_zero = 3};

static const struct places *places_of(const struct node *n)
{
    return n->op[0] == 'Q' ? &linear : &integer;
}

/* 32 bits as they are, or in a program of its own of another scale, the product's by b's. */
static void whole_out(struct program *p, struct tensor *to, const uint8_t *axes,
                      const char *sum, struct tensor *b_scale, const uint8_t *of_b)
{
    struct node *n = p->n;
    struct tensor *sums;
    struct program q;
    const char *x, *by;

    if (places_of(n) == &integer) {
        program_out(p, to, axes, sum, false);
        return;
    }
    sums = copy_tensor(n, "sums", ELEM_I32, &to->shape);
    program_out(p, sums, axes, sum, false);
    q = program_begin(p->e, n);
    program_exact(&q);
    x = program_in(&q, sums, axes);
    by = graph_text("%s * %s / %s", program_in(&q, n->in[linear.a_scale], axes),
                    program_in(&q, b_scale, of_b),
                    program_in(&q, n->in[linear.y_scale], axes));
    x = graph_text("round(f32(%s) * (%s)) + %s", x, by,
                   program_in(&q, n->in[linear.y_zero], axes));
    program_out(&q, to, axes, range_of(to->type, x), false);
}

static enum elem whole_type(const struct graph *g, const struct node *n)
{
    const struct places *at = places_of(n);

    bytes(g, n, at->a);
    bytes(g, n, at->b);
    if (at == &linear) {
        bytes(g, n, at->y_zero);
        (void)node_in(g, n, at->a_scale);
        (void)node_in(g, n, at->b_scale);
        (void)node_in(g, n, at->y_scale);
    }
    return at == &linear ? n->in[at->y_zero]->type : ELEM_I32;
}

/* --- MatMulInteger, QLinearMatMul --- */

static void whole_matmul_shape(struct graph *g, struct node *n)
{
    const struct places *at = places_of(n);
    enum elem type = whole_type(g, n);
    struct shape to = matrix_shape(g, n, n->in[at->a], n->in[at->b]);

    tensor_is(g, n, 0, type, &to);
}

static void whole_matmul_emit(struct emit *e, struct node *n)
{
    const struct places *at = places_of(n);
    struct tensor *a = n->in[at->a], *b = n->in[at->b];
    struct matrix_axes axes = matrix_axes(a, b, n->out[0]->shape.n);
    const struct factor x = {a, node_maybe(n, at->a_zero), axes.a, &axes.m};
    const struct factor y = {b, node_maybe(n, at->b_zero), axes.b, &axes.n};
    struct program p = program_begin(e, n);

    program_exact(&p);
    whole_out(&p, n->out[0], axes.c,
              whole_product(&p, &x, &y, axes.k, a->shape.dim[a->shape.n - 1]),
              at->b_scale ? n->in[at->b_scale] : NULL, &axes.n);
}

/* --- ConvInteger, QLinearConv: products with what windows hold --- */

static struct window whole_window(const struct graph *g, const struct node *n)
{
    const struct places *at = places_of(n);
    const struct shape *x = &node_in(g, n, at->a)->shape,
                       *w = &node_in(g, n, at->b)->shape;
    int64_t groups = node_int(n, "group", 1);

    if (w->n != x->n || x->n < 3 || groups < 1 || w->dim[1] * groups != x->dim[1] ||
        w->dim[0] % groups) {
        node_die(g, n, "weights of %s for %s", shape_text(w), shape_text(x));
    }
    return window_of(g, n, x, w->dim + 2);
}

static void whole_conv_shape(struct graph *g, struct node *n)
{
    const struct places *at = places_of(n);
    enum elem type = whole_type(g, n);
    struct window w = whole_window(g, n);
    struct shape to = window_result(&w, n->in[at->b]->shape.dim[0]);
    const struct tensor *zero = node_maybe(n, at->a_zero);

    if (zero && tensor_count(zero) != 1) {
        node_die(g, n, "a zero point of %s", shape_text(&zero->shape));
    }
    tensor_is(g, n, 0, type, &to);
}

/* One a filter, or one. */
static struct tensor *of_filters(struct tensor *t, int64_t groups)
{
    struct shape s = {.n = 2, .dim = {groups, t ? tensor_count(t) / groups : 0}};

    return t && tensor_count(t) > 1 ? tensor_view(t, &s) : t;
}

static void whole_conv_emit(struct emit *e, struct node *n)
{
    enum { B, G, M, K, P };
    static const uint8_t of_w[] = {G, M, K}, of_x[] = {B, G, K, P}, of_m[] = {G, M},
                         of_y[] = {B, G, M, P};
    const struct places *at = places_of(n);
    struct window window = whole_window(e->g, n);
    struct tensor *weight = n->in[at->b], *bias;
    struct tensor *columns = window_columns(e, n, &window, n->in[at->a],
                                            node_number_or(e->g, n, at->a_zero, NULL, 0));
    int64_t groups = node_int(n, "group", 1), m = weight->shape.dim[0] / groups;
    int64_t k = tensor_count(weight) / groups / m;
    struct shape w = {.n = 3, .dim = {groups, m, k}};
    struct shape x = {.n = 4, .dim = {window.n, groups, k, window_count(&window)}}, y = x;
    const struct factor a = {tensor_view(weight, &w),
                             of_filters(node_maybe(n, at->b_zero), groups), of_w, of_m};
    const struct factor b = {tensor_view(columns, &x), node_maybe(n, at->a_zero), of_x,
                             of_y};
    struct program p = program_begin(e, n);
    const char *sum;

    program_exact(&p);
    sum = whole_product(&p, &a, &b, K, k);
    bias = at->bias ? of_filters(node_maybe(n, at->bias), groups) : NULL;
    if (bias) {
        sum = program_line(&p, graph_text("%s + %s", sum, program_in(&p, bias, of_m)));
    }
    y.dim[2] = m;
    whole_out(&p, tensor_view(n->out[0], &y), of_y, sum,
              at->b_scale ? of_filters(n->in[at->b_scale], groups) : NULL, of_m);
}

const struct rule rules_quantise[] = {
    {.op = "QuantizeLinear", .shape = quantise_shape, .emit = quantise_emit},
    {.op = "DequantizeLinear", .shape = dequantise_shape, .emit = dequantise_emit},
    {.op = "DynamicQuantizeLinear", .shape = dynamic_shape, .emit = dynamic_emit},
    {.op = "MatMulInteger", .shape = whole_matmul_shape, .emit = whole_matmul_emit},
    {.op = "QLinearMatMul",
     .shape = whole_matmul_shape,
     .emit = whole_matmul_emit,
     .alone = true},
    {.op = "ConvInteger", /* pads hold the zero point */
     .shape = whole_conv_shape,
     .emit = whole_conv_emit,
     .wants = 1 << 2,
     .alone = true},
    {.op = "QLinearConv",
     .shape = whole_conv_shape,
     .emit = whole_conv_emit,
     .wants = 1 << 2,
     .alone = true},
    {0},
};
