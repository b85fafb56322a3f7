/* SPDX-License-Identifier: MIT
 *
 * Div, Mod and Pow: of floats, or of whole numbers, which take a few steps more.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/rules/elementwise/elementwise.h"

/* --- shapes and values --- */

/* x to the y; of what wraps the bits that are left. */
static double power_of(enum elem type, double x, double y)
{
    double exact = pow(x, y), to = 1;

    if ((type != ELEM_I32 && type != ELEM_U32) || y != floor(y) ||
        fabs(exact) <= 0x1p53) {
        return exact;
    }
    for (int64_t e = elem_whole(y); e; e /= 2) {
        to = e % 2 ? elem_product(type, to, x) : to;
        x = elem_product(type, x, x);
    }
    return to;
}

static double divide(const struct node *n, double x, double y)
{
    if (strcmp(n->op, "Pow") == 0) {
        return power_of(n->out[0]->type, x, y);
    }
    if (strcmp(n->op, "Div") == 0) {
        return elementwise_is_whole(n->out[0]) ? (y ? trunc(x / y) : 0) : x / y;
    }
    return node_int(n, "fmod", 0) ? fmod(x, y) : y ? x - y * floor(x / y) : 0;
}

static void divide_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    int64_t at[GRAPH_RANK] = {0}, e = 0;

    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        struct shape s = elementwise_operand(g, n, 1);
        double x = n->in[0]->value[shape_at(&n->in[0]->shape, &n->out[0]->shape, at)];
        to[e++] = divide(n, x, n->in[1]->value[shape_at(&s, &n->out[0]->shape, at)]);
    } while (shape_step(&n->out[0]->shape, at));
}

static void divide_shape(struct graph *g, struct node *n)
{
    struct shape shape = elementwise_shape(g, n);

    (void)node_in(g, n, 1);
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &shape);
}

/* --- steps --- */

/* x / y of 32 bits, towards 0, by floats: the quotient of what the first one leaves is exact,
 * but for one, which the rest tells. */
static const char *whole_quotient(struct program *p, const char *x, const char *y)
{
    const char *q, *r, *more, *toward;

    q = program_line(p, graph_text("s32(trunc(f32(%s) / f32(%s)))", x, y));
    r = program_line(p, graph_text("%s - %s * %s", x, q, y));
    more = program_line(p, graph_text("s32(trunc(f32(%s) / f32(%s)))", r, y));
    q = program_line(p, graph_text("%s + %s", q, more));
    r = program_line(p, graph_text("%s - %s * %s", x, q, y));
    /* A rest of another sign than x, or as large as y: one more or less. */
    toward = program_line(p, graph_text("s32(where(xor(%s < 0, %s < 0), -1, 1))", x, y));
    q = program_line(p,
                     graph_text("where(and(%s != 0, xor(%s < 0, %s < 0)), %s - %s, %s)",
                                r, r, x, q, toward, q));
    r = program_line(p, graph_text("%s - %s * %s", x, q, y));
    return graph_text("where(min(%s, -%s) <= min(%s, -%s), %s + %s, %s)", r, r, y, y, q,
                      toward, q);
}

/* A product of two numbers of 24 bits as two: each is a number of 12 bits and the rest. */
static const char *product_rest(struct program *p, const char *x, const char *y,
                                const char *product)
{
    const char *part[2], *rest[2], *of[] = {x, y};

    for (unsigned i = 0; i < 2; i++) {
        const char *c = program_line(p, graph_text("%s * 4097.0", of[i]));
        part[i] = program_line(p, graph_text("%s - %s", c, of[i]));
        part[i] = program_line(p, graph_text("%s - %s", c, part[i]));
        rest[i] = program_line(p, graph_text("%s - %s", of[i], part[i]));
    }
    x = program_line(p, graph_text("%s * %s - %s", part[0], part[1], product));
    x = program_line(p, graph_text("%s + %s * %s", x, part[0], rest[1]));
    x = program_line(p, graph_text("%s + %s * %s", x, rest[0], part[1]));
    return program_line(p, graph_text("%s + %s * %s", x, rest[0], rest[1]));
}

/* A rest of x / y with the sign of y. */
static const char *of_divisor(const char *rest, const char *y)
{
    return graph_text("where(and(%s != 0, xor(%s < 0, %s < 0)), %s + %s, %s)", rest, rest,
                      y, rest, y, rest);
}

/* The rest of x / y, which the quotient's rounding may have made one y too large or small: exact
 * up to quotients of 2^24. Of the sign of x, or of y. Of numbers so large or small that a product
 * of them overflows or loses digits, times a power of two; x itself where y is larger, which may
 * be infinite. */
static const char *rest_of(struct program *p, const char *x, const char *y, bool of_x)
{
    const char *given[] = {x, y}, *by, *q, *product, *r, *size;

    by = graph_text("where(abs(%s) < %.9g, %.9g, 1.0)", x, 0x1p-60, 0x1p60);
    by = program_line(
        p, graph_text("where(abs(%s) > %.9g, %.9g, %s)", x, 0x1p100, 0x1p-24, by));
    x = program_line(p, graph_text("%s * %s", x, by));
    y = program_line(p, graph_text("%s * %s", y, by));
    q = program_line(p, graph_text("trunc(%s / %s)", x, y));
    size = program_line(p, graph_text("abs(%s)", y));
    product = program_line(p, graph_text("%s * %s", q, y));
    r = product_rest(p, q, y, product);
    r = program_line(p, graph_text("(%s - %s) - %s", x, product, r));
    x = program_line(p, graph_text("where(%s < 0, -1.0, 1.0)", x));
    r = program_line(p, graph_text("%s * %s", r, x)); /* from -y to 2 y */
    r = program_line(p, graph_text("where(%s >= %s, %s - %s, %s)", r, size, r, size, r));
    r = program_line(p, graph_text("where(%s < 0, %s + %s, %s)", r, r, size, r));
    r = program_line(p, graph_text("%s * %s / %s", r, x, by));
    x = given[0];
    y = given[1];
    r = program_line(p, graph_text("where(abs(%s) < abs(%s), %s, %s)", x, y, x, r));
    return of_x ? r : of_divisor(r, y);
}

static void divide_emit(struct emit *e, struct node *n)
{
    unsigned rank = n->out[0]->shape.n;
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], elementwise_axes(e->g, n, 0, rank));
    const char *y = program_in(&p, n->in[1], elementwise_axes(e->g, n, 1, rank)), *q;
    bool mod = strcmp(n->op, "Mod") == 0;
    bool c = node_int(n, "fmod", 0) != 0, ints = elementwise_is_whole(n->out[0]);

    if (ints) {
        program_exact(&p);
    }
    if (elem_is_wide(n->out[0]->type)) { /* a number has no type of its own */
        x = program_line(&p, graph_text("s32(%s)", x));
        y = program_line(&p, graph_text("s32(%s)", y));
    }
    x = n->in[0]->type == ELEM_I16 ? graph_text("f32(%s)", x) : x;
    y = n->in[1]->type == ELEM_I16 ? graph_text("f32(%s)", y) : y;
    if (elem_is_wide(n->out[0]->type)) {
        q = program_line(&p, whole_quotient(&p, x, y));
        if (mod) {
            x = program_line(&p, graph_text("%s - %s * %s", x, q, y));
            q = c ? x : of_divisor(x, y);
        }
        x = q;
    } else if (mod && !ints) {
        program_exact(&p);
        x = program_line(&p, graph_text("f32(%s)", x));
        y = program_line(&p, graph_text("f32(%s)", y));
        x = rest_of(&p, x, y, c);
    } else {
        q = !ints && !mod ? graph_text("%s / %s", x, y)
            : c || !mod   ? graph_text("trunc(%s / %s)", x, y)
                          : graph_text("floor(%s / %s)", x, y);
        x = mod ? graph_text("%s - %s * %s", x, y, q) : q;
    }
    program_out(&p, n->out[0], program_axes, x, false);
}

/* --- Pow --- */

/* Of any numbers: 1 to the power 0, and below 0 of whole powers alone, but for -infinity; the odd
 * ones have the sign, that of -0 too. */
static const char *float_power(struct program *p, const char *x, const char *y)
{
    const char *size, *part, *odd, *below;

    x = program_line(p, graph_text("f32(%s)", x));
    y = program_line(p, graph_text("f32(%s)", y));
    size = graph_text("exp(log(abs(%s)) * %s)", x, y); /* 0 times infinity is no number */
    size = program_line(p, graph_text("where(abs(%s) == 1, 1.0, %s)", x, size));
    odd = program_line(p, graph_text("%s - 2 * floor(%s / 2)", y, y));
    below = graph_text("or(%s < 0, 1 / %s < 0)", x, x);
    odd = graph_text("and(%s == 1, %s)", odd, below);
    size = program_line(p, graph_text("where(%s, -%s, %s)", odd, size, size));
    part = graph_text("and(%s < 0, and(%s != -inf, %s != floor(%s)))", x, x, y, y);
    size =
        program_line(p, graph_text("where(%s, sqrt(-1.0 - abs(%s)), %s)", part, y, size));
    return graph_text("where(%s == 0, 1.0, %s)", y, size);
}

/* Of a power that is known, and not whole: below 0 there is none, but of -infinity. */
static const char *known_power(struct program *p, const char *x, double power)
{
    const char *size;

    x = program_line(p, graph_text("f32(%s)", x));
    size = power == 0.5 ? graph_text("sqrt(%s)", x)
                        : graph_text("exp(log(%s) * %.9g)", x, power);
    return graph_text("where(%s == -inf, %s, %s)", x, power > 0 ? "inf" : "0.0", size);
}

/* By squares, of 32 bits each; powers up to 63, of 0, 1 and -1 all, which are as 62 or 63. Below 0
 * a fraction, of which nothing is left. */
static const char *whole_power(struct program *p, const char *base, const char *y)
{
    const char *x, *to, *half, *bit, *below;

    base = x = program_line(p, graph_text("s32(%s)", base));
    y = program_line(p, graph_text("f32(%s)", y));
    below = program_line(p, graph_text("%s < 0", y));
    half = program_line(p, graph_text("%s - 2 * floor(%s / 2)", y, y));
    y = program_line(p, graph_text("where(%s > 63, 62 + %s, %s)", y, half, y));
    to = program_line(p, graph_text("s32(where(%s == %s, 1, 1))", x, x));
    for (unsigned i = 0; i < 6; i++) {
        half = program_line(p, graph_text("floor(%s / 2)", y));
        bit = program_line(p, graph_text("%s - 2 * %s", y, half));
        to = program_line(p, graph_text("where(%s == 1, %s * %s, %s)", bit, to, x, to));
        x = i < 5 ? program_line(p, graph_text("%s * %s", x, x)) : x;
        y = half;
    }
    return program_line(p, graph_text("where(and(%s, not(or(%s == 1, %s == -1))), 0, %s)",
                                      below, base, base, to));
}

/* Of whole numbers to a power that is none, towards 0; a result beside a whole one is that. */
static const char *root(struct program *p, const char *x, const char *y)
{
    const char *most = whole_power(p, x, graph_text("floor(%s)", y));

    y = program_line(p, graph_text("f32(%s)", y));
    x = program_line(p, float_power(p, x, y));
    return graph_text("where(%s == floor(%s), %s, s32(trunc(%s * 1.0000005)))", y, y,
                      most, x);
}

static void power_emit(struct emit *e, struct node *n)
{
    enum { FEW = 16 }; /* powers that the planner takes apart into products */
    unsigned rank = n->out[0]->shape.n;
    const struct tensor *by = n->in[1];
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], elementwise_axes(e->g, n, 0, rank));
    const char *y = program_in(&p, n->in[1], elementwise_axes(e->g, n, 1, rank));
    bool one = by->value && tensor_count(by) == 1, ints = elementwise_is_whole(n->out[0]);
    double power = one ? by->value[0] : 0;
    bool few = one && fabs(power) <= FEW && power == floor(power);

    if (ints) {
        program_exact(&p);
        x = elem_is_float(by->type) && !(one && power == floor(power))
                ? root(&p, x, y)
                : whole_power(&p, x, y);
    } else if (few) {
        x = graph_text("pow(%s, %.9g)", x, power);
    } else if (one && power != floor(power)) { /* NaN is none */
        x = isnan(power) ? float_power(&p, x, y) : known_power(&p, x, power);
    } else {
        x = float_power(&p, x, y);
    }
    program_out(&p, n->out[0], program_axes, x, false);
}

#define DIVIDE(name)                                                                     \
    {                                                                                    \
        .op = name, .shape = divide_shape, .value = divide_values, .emit = divide_emit   \
    }
const struct rule rules_divide[] = {
    DIVIDE("Div"),
    DIVIDE("Mod"),
    {.op = "Pow", .shape = divide_shape, .value = divide_values, .emit = power_emit},
    {0}};
