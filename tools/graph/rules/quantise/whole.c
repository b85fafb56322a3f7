/* SPDX-License-Identifier: MIT
 *
 * Products of whole numbers of 8 bits, which are exact.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/rules/product/product.h"
#include "tools/graph/rules/window/conv_lower.h"

/* A factor and its zero point: a number, or one for each row, column or filter. Its values are
 * `off` less than they were. */
struct factor {
    struct tensor *t, *zero;
    const uint8_t *axes, *zero_axes;
    int off;
};

/* What is to be added for a factor, less its zero point: an expression, or else a number. */
struct offset {
    const char *text;
    double number;
};

static bool all_alike(const struct tensor *t)
{
    for (int64_t i = 1; t->value && i < tensor_count(t); i++) {
        if (t->value[i] != t->value[0]) {
            return false;
        }
    }
    return t->value && tensor_count(t) > 0;
}

/* Numbers of 8 bits with a sign. */
static const char *centred(struct program *p, const struct factor *f, struct offset *off)
{
    int here = f->t->type == ELEM_U8 ? 128 : 0, middle = f->off + here;
    const struct tensor *z = f->zero;
    const char *x = program_in(p, f->t, f->axes);

    *off = (struct offset){.number = middle};
    if (z && all_alike(z)) {
        off->number -= z->value[0];
    } else if (z) {
        off->text = program_line(
            p, graph_text("s32(%d - %s)", middle, program_in(p, f->zero, f->zero_axes)));
    }
    return here ? program_line(p, graph_text("s8(%s - %d)", x, here)) : x;
}

static const char *ones(struct program *p, uint8_t k, int64_t size)
{
    struct shape s = {.n = 1, .dim = {size}};
    struct tensor *t = tensor_new(p->n, "ones", ELEM_I8, &s);

    tensor_values(t);
    for (int64_t i = 0; i < size; i++) {
        t->value[i] = 1;
    }
    return program_in(p, t, &k);
}

/* The sum over axis k of what centred() has made of a factor, of weights as a constant. */
static const char *summed(struct program *p, const struct factor *f, const char *centre,
                          uint8_t k, int64_t size)
{
    const struct tensor *t = f->t;
    struct shape to = t->shape;
    size_t inner = 1, count, row;
    struct tensor *sums;
    double *some;
    unsigned d = 0;

    while (f->axes[d] != k) {
        d++;
    }
    if (!t->value && size > 1 &&
        d + 1 < t->shape.n) { /* the Cube is faster across rows */
        return graph_text("dot(%s, %s, %s)", ones(p, k, size), centre,
                          program_index(p, k));
    }
    if (!t->value || size == 1) {
        centre = graph_text("f32(%s)", centre);
        return graph_text("s32(%s)",
                          size > 1 ? program_over(p, "sum", 1u << k, centre) : centre);
    }
    to.dim[d] = 1;
    sums = tensor_new(p->n, "sums of weights", ELEM_I32, &to);
    count = (size_t)tensor_count(sums);
    tensor_values(sums);
    for (unsigned i = d + 1; i < t->shape.n; i++) {
        inner *= (size_t)t->shape.dim[i];
    }
    row = inner * (size_t)size;
    some = graph_alloc(row, sizeof(*some));
    for (size_t i = 0; i < count; i += inner) {
        packed_read(t, i / inner * row, row, some);
        for (size_t j = 0; j < row; j++) {
            sums->value[i + j % inner] += some[j] - (t->type == ELEM_U8 ? 128 : 0);
        }
    }
    free(some);
    return program_in(p, sums, f->axes);
}

/* sum + offset * the sum of `other`. */
static const char *with_offset(const char *sum, const struct offset *offset,
                               const char *other)
{
    return offset->text ? graph_text("%s + %s * %s", sum, offset->text, other)
                        : graph_text("%s + %s * %.0f", sum, other, offset->number);
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
    if (of_a.text || of_a.number != 0) {
        sum = with_offset(sum, &of_a, summed(p, b, y, k, size));
    }
    if (of_b.text || of_b.number != 0) {
        sum = with_offset(sum, &of_b, summed(p, a, x, k, size));
    }
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
    sums = tensor_new(n, "sums", ELEM_I32, &to->shape);
    program_out(p, sums, axes, sum, false);
    q = program_begin(p->e, n);
    program_exact(&q);
    x = program_in(&q, sums, axes);
    by = graph_text("%s * %s / %s", program_in(&q, n->in[linear.a_scale], axes),
                    program_in(&q, b_scale, of_b),
                    program_in(&q, n->in[linear.y_scale], axes));
    x = graph_text("round(f32(%s) * (%s)) + %s", x, by,
                   program_in(&q, n->in[linear.y_zero], axes));
    program_out(&q, to, axes, program_range(to->type, x), false);
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
    struct shape to = product_result_shape(g, n, n->in[at->a], n->in[at->b]);

    tensor_is(g, n, 0, type, &to);
}

static void whole_matmul_emit(struct emit *e, struct node *n)
{
    const struct places *at = places_of(n);
    struct tensor *a = n->in[at->a], *b = n->in[at->b];
    struct matrix_axes axes = product_axes(a, b, n->out[0]->shape.n);
    const struct factor x = {a, node_maybe(n, at->a_zero), axes.a, &axes.m, 0};
    const struct factor y = {b, node_maybe(n, at->b_zero), axes.b, &axes.n, 0};
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

static const char *numbers(const int64_t *of, unsigned n)
{
    const char *text = "";

    for (unsigned i = 0; i < n; i++) {
        text = graph_text("%s%s%lld", text, i ? ", " : "", (long long)of[i]);
    }
    return text;
}

/* Pads hold the zero point. Of one that only a run knows they are put there beforehand. */
static void whole_conv_padded(struct graph *g, struct node *n, const struct window *w)
{
    struct lower l = lower_begin(g, n);
    struct shape all = {.n = w->rank + 2, .dim = {1, 1}};
    const char *operands = "";
    int64_t at[GRAPH_RANK] = {0};
    double *outside;

    for (unsigned d = 0; d < w->rank; d++) {
        all.dim[d + 2] = w->before[d] + w->size[d] + w->behind[d];
    }
    outside = lower_value(&l, "outside", ELEM_BOOL, &all);
    do {
        for (unsigned d = 0; d < w->rank; d++) {
            int64_t in = at[d + 2] - w->before[d];
            *outside = in < 0 || in >= w->size[d] ? 1 : *outside;
        }
        outside++;
    } while (shape_step(&all, at));
    for (unsigned i = 1; i < n->n_in; i++) {
        operands = graph_text("%s, $%u", operands, i);
    }
    lower_text(&l,
               "p = Pad($0, [0, 0, %s, 0, 0, %s])\nx = Where(outside, $%u, p)\n"
               "@0 = %s(x%s; group=%lld, strides=[%s], dilations=[%s])\n",
               numbers(w->before, w->rank), numbers(w->behind, w->rank),
               places_of(n)->a_zero, n->op, operands, (long long)node_int(n, "group", 1),
               numbers(w->stride, w->rank), numbers(w->dilation, w->rank));
    lower_end(&l);
}

static void whole_conv_shape(struct graph *g, struct node *n)
{
    const struct places *at = places_of(n);
    enum elem type = whole_type(g, n);
    struct window w = whole_window(g, n);
    struct shape to = window_result(&w, n->in[at->b]->shape.dim[0]);
    const struct tensor *zero = node_maybe(n, at->a_zero);
    bool pads = false;

    if (zero && tensor_count(zero) != 1) {
        node_die(g, n, "a zero point of %s", shape_text(&zero->shape));
    }
    for (unsigned d = 0; d < w.rank; d++) {
        pads = pads || w.before[d] || w.behind[d];
    }
    if (pads && zero && !zero->value) {
        whole_conv_padded(g, n, &w);
        return;
    }
    tensor_is(g, n, 0, type, &to);
}

/* One a filter, or one. */
static struct tensor *of_filters(struct tensor *t, int64_t groups)
{
    struct shape s = {.n = 2, .dim = {groups, t ? tensor_count(t) / groups : 0}};

    return t && tensor_count(t) > 1 ? tensor_view(t, &s) : t;
}

/* x less `off`, of 8 bits with a sign: before windows have each of it several times. */
static struct tensor *with_sign(struct emit *e, struct node *n, struct tensor *x, int off)
{
    struct tensor *y;
    struct program p;

    if (off == 0) {
        return x;
    }
    y = tensor_new(n, "with a sign", ELEM_I8, &x->shape);
    p = program_begin(e, n);
    program_exact(&p);
    program_out(&p, y, program_axes,
                graph_text("%s - %d", program_in(&p, x, program_axes), off), false);
    return y;
}

/* What bytes without a sign are less by; the product's sums have it back. */
static int sign_offset(const struct node *n)
{
    return n->in[places_of(n)->a]->type == ELEM_U8 ? 128 : 0;
}

/* The program of the product; see conv_lower.h. */
static void whole_conv_multiply(const struct conv_lowering *c, struct tensor *columns)
{
    enum { B, G, M, K, P };
    static const uint8_t of_w[] = {G, M, K}, of_x[] = {B, G, K, P}, of_m[] = {G, M},
                         of_y[] = {B, G, M, P};
    struct node *n = c->n;
    const struct places *at = places_of(n);
    int64_t groups = c->groups, m = c->weight->shape.dim[0] / groups;
    int64_t k = tensor_count(c->weight) / groups / m;
    struct shape w = {.n = 3, .dim = {groups, m, k}};
    struct shape x = {.n = 4, .dim = {c->window.n, groups, k, window_count(&c->window)}},
                 y = x;
    const struct factor a = {tensor_view(c->weight, &w),
                             of_filters(node_maybe(n, at->b_zero), groups), of_w, of_m,
                             0};
    const struct factor b = {tensor_view(columns, &x), node_maybe(n, at->a_zero), of_x,
                             of_y, sign_offset(n)};
    struct program p = program_begin(c->e, n);
    const char *sum;

    program_exact(&p);
    sum = whole_product(&p, &a, &b, K, k);
    if (c->bias) {
        sum = program_line(&p, graph_text("%s + %s", sum, program_in(&p, c->bias, of_m)));
    }
    y.dim[2] = m;
    whole_out(&p, tensor_view(n->out[0], &y), of_y, sum,
              at->b_scale ? of_filters(n->in[at->b_scale], groups) : NULL, of_m);
}

static void whole_conv_emit(struct emit *e, struct node *n)
{
    const struct places *at = places_of(n);
    const struct tensor *zero = node_maybe(n, at->a_zero);
    int off = sign_offset(n);
    int64_t groups = node_int(n, "group", 1);

    conv_lower(&(struct conv_lowering){
        .e = e,
        .n = n,
        .window = whole_window(e->g, n),
        .x = with_sign(e, n, n->in[at->a], off),
        .weight = n->in[at->b],
        .bias = at->bias ? of_filters(node_maybe(n, at->bias), groups) : NULL,
        .groups = groups,
        .pad = (zero && zero->value ? zero->value[0] : 0) - off,
        .multiply = whole_conv_multiply});
}

const struct rule rules_whole[] = {
    {.op = "MatMulInteger", .shape = whole_matmul_shape, .emit = whole_matmul_emit},
    {.op = "QLinearMatMul",
     .shape = whole_matmul_shape,
     .emit = whole_matmul_emit,
     .alone = true},
    {.op = "ConvInteger",
     .shape = whole_conv_shape,
     .emit = whole_conv_emit,
     .alone = true},
    {.op = "QLinearConv",
     .shape = whole_conv_shape,
     .emit = whole_conv_emit,
     .alone = true},
    {0},
};
