/* SPDX-License-Identifier: MIT
 *
 * What is computed element by element; see elementwise.def. Max, Min, Sum and Mean take any
 * number of operands, Clip limits that may be left out, Cast changes types; Div, Mod and Pow
 * of whole numbers take a few steps more.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/emit.h"

enum { ATTRS = 2, OPERANDS = 3 };

struct elementwise {
    unsigned operands;
    int result;        /* operand whose type the result has; RESULT_BOOL */
    const char *attrs; /* "alpha=1 beta=0" */
    const char *text;
    double (*value)(double x, double y, double z, double a, double b);
};
enum { RESULT_BOOL = -1 };

#define BOOL RESULT_BOOL
#define ELEMENTWISE(op, n, result, attrs, text, expr)                                    \
    static double value_##op(double x, double y, double z, double a, double b)           \
    {                                                                                    \
        (void)x, (void)y, (void)z, (void)a, (void)b;                                     \
        return (expr);                                                                   \
    }                                                                                    \
    static const struct elementwise own_##op = {n, result, attrs, text, value_##op};
#include "tools/graph/elementwise.def"
#undef ELEMENTWISE

static const struct elementwise *own(const struct node *n)
{
    return n->rule->own;
}

static bool whole(const struct tensor *t)
{
    return !elem_is_float(t->type) && t->type != ELEM_BOOL;
}

/* --- shapes --- */

/* Operand i as it is broadcast. Before opset 7 the second one began at an axis of the first;
 * PRelu's slopes were of the channels. */
static struct shape operand_shape(const struct graph *g, const struct node *n, unsigned i)
{
    const struct shape *first = &node_in(g, n, 0)->shape;
    struct shape s = n->in[i]->shape;
    bool prelu = strcmp(n->op, "PRelu") == 0;
    int64_t axis = node_int(n, "axis", prelu ? 1 : (int64_t)first->n - s.n);

    if (g->opset >= 7 || i != 1 || s.n == 0 || s.n >= first->n || n->n_in != 2 ||
        (prelu && s.n != 1)) {
        return s;
    }
    axis = node_axis(g, n, axis, first->n);
    while (s.n + axis < first->n) {
        s.dim[s.n++] = 1;
    }
    return s;
}

static struct shape broadcast(const struct graph *g, const struct node *n)
{
    struct shape shape = node_in(g, n, 0)->shape, next;

    for (unsigned i = 1; i < n->n_in; i++) {
        (void)node_in(g, n, i);
        next = operand_shape(g, n, i);
        shape = shape_broadcast(g, n, &shape, &next);
    }
    return shape;
}

static const uint8_t *dims_of(const struct graph *g, const struct node *n, unsigned i,
                              unsigned rank)
{
    return program_axes + (rank - operand_shape(g, n, i).n);
}

static void shape_of(struct graph *g, struct node *n)
{
    struct shape shape = broadcast(g, n);
    int result = own(n)->result;

    if (n->n_in != own(n)->operands) {
        node_die(g, n, "%u operands, want %u", n->n_in, own(n)->operands);
    }
    tensor_is(g, n, 0,
              result == RESULT_BOOL ? ELEM_BOOL : node_in(g, n, (unsigned)result)->type,
              &shape);
}

/* --- values --- */

/* The numbers of "alpha=1 beta=0", from the node or as they stand; their texts too. */
static void attributes(const struct node *n, double number[ATTRS],
                       const char *text[ATTRS])
{
    const char *at = own(n)->attrs;
    char name[32];
    double first;

    for (unsigned i = 0; i < ATTRS && sscanf(at, "%31[^=]=%lf", name, &first) == 2; i++) {
        number[i] = node_float(n, name, first);
        text[i] = graph_text("%.9g", number[i]);
        at += strcspn(at, " ");
        at += *at == ' ';
    }
}

static void values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]), a[ATTRS] = {0}, x[OPERANDS] = {0};
    const char *text[ATTRS];
    int64_t at[GRAPH_RANK] = {0}, e = 0;

    attributes(n, a, text);
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        for (unsigned i = 0; i < n->n_in && i < OPERANDS; i++) {
            struct shape s = operand_shape(g, n, i);
            x[i] = n->in[i]->value[shape_at(&s, &n->out[0]->shape, at)];
        }
        to[e] = own(n)->value(x[0], x[1], x[2], a[0], a[1]);
        e++;
    } while (shape_step(&n->out[0]->shape, at));
}

/* --- steps --- */

static void emit(struct emit *e, struct node *n)
{
    unsigned rank = n->out[0]->shape.n;
    struct program p = program_begin(e, n);
    const char *in[OPERANDS] = {0}, *attr[ATTRS] = {0}, *text = own(n)->text, *line;
    double number[ATTRS];

    attributes(n, number, attr);
    for (unsigned i = 0; i < n->n_in; i++) {
        in[i] = program_in(&p, n->in[i], dims_of(e->g, n, i, rank));
    }
    while ((line = strchr(text, '\n')) != NULL) {
        const char *one = graph_text("%.*s", (int)(line - text), text);
        p.group->body = graph_text("%s    %s\n", p.group->body, text_with(one, in, attr));
        text = line + 1;
    }
    program_out(&p, n->out[0], program_axes, text_with(text, in, attr),
                own(n)->result == RESULT_BOOL || n->out[0]->type == ELEM_BOOL);
}

/* --- any number of operands --- */

static void many_shape(struct graph *g, struct node *n)
{
    struct shape shape = broadcast(g, n);

    tensor_is(g, n, 0, node_in(g, n, 0)->type, &shape);
}

static double join(const char *op, double x, double y)
{
    return strcmp(op, "Max") == 0   ? fmax(x, y)
           : strcmp(op, "Min") == 0 ? fmin(x, y)
                                    : x + y;
}

static void many_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]), x;
    int64_t at[GRAPH_RANK] = {0}, e = 0;

    (void)g;
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        for (unsigned i = 0; i < n->n_in; i++) {
            x = n->in[i]->value[shape_at(&n->in[i]->shape, &n->out[0]->shape, at)];
            to[e] = i ? join(n->op, to[e], x) : x;
        }
        to[e] /= strcmp(n->op, "Mean") == 0 ? n->n_in : 1;
        e++;
    } while (shape_step(&n->out[0]->shape, at));
}

static void many_emit(struct emit *e, struct node *n)
{
    unsigned rank = n->out[0]->shape.n;
    struct program p = program_begin(e, n);
    const char *sum = NULL;

    for (unsigned i = 0; i < n->n_in; i++) {
        const char *x = program_in(&p, n->in[i], program_axes_of(n->in[i], rank));
        sum = !sum                        ? x
              : strcmp(n->op, "Max") == 0 ? graph_text("max(%s, %s)", sum, x)
              : strcmp(n->op, "Min") == 0 ? graph_text("min(%s, %s)", sum, x)
                                          : graph_text("%s + %s", sum, x);
    }
    if (strcmp(n->op, "Mean") == 0) {
        sum = graph_text("(%s) / %u", sum, n->n_in);
    }
    program_out(&p, n->out[0], program_axes, sum, false);
}

/* --- Clip --- */

static void clip_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &n->in[0]->shape);
}

static void clip_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    double low = node_number_or(g, n, 1, "min", -INFINITY);
    double high = node_number_or(g, n, 2, "max", INFINITY);

    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        to[i] = fmin(high, fmax(low, n->in[0]->value[i]));
    }
}

static void clip_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    static const char *const which[] = {"max", "min"};

    for (unsigned i = 0; i < 2; i++) {
        const char *name = i ? "max" : "min";
        struct tensor *t = node_maybe(n, 1 + i);
        if (t) {
            x = graph_text("%s(%s, %s)", which[i], x, program_in(&p, t, program_axes));
        } else if (node_attr(n, name)) {
            x = graph_text("%s(%s, %.9g)", which[i], x, node_float(n, name, 0));
        }
    }
    program_out(&p, n->out[0], program_axes, x, false);
}

/* --- Gelu --- */

static bool by_tanh(const struct graph *g, const struct node *n)
{
    const struct attr *how = node_attr(n, "approximate");
    bool tanh = how && how->s && strcmp(how->s, "tanh") == 0;

    if (how && !tanh && !(how->s && strcmp(how->s, "none") == 0)) {
        node_die(g, n, "approximate is none or tanh");
    }
    return tanh;
}

static void gelu_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    bool approximate = by_tanh(g, n);

    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        double x = n->in[0]->value[i];
        to[i] = x / 2 *
                (1 + (approximate ? tanh(0.7978845608 * (x + 0.044715 * x * x * x))
                                  : erf(x / sqrt(2))));
    }
}

static void gelu_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);

    program_out(&p, n->out[0], program_axes,
                graph_text("%s(%s)", by_tanh(e->g, n) ? "gelu_tanh" : "gelu",
                           program_in(&p, n->in[0], program_axes)),
                false);
}

/* --- Cast, CastLike --- */

static void cast_shape(struct graph *g, struct node *n)
{
    enum elem to = strcmp(n->op, "CastLike") == 0 ? node_in(g, n, 1)->type
                                                  : graph_elem(node_int(n, "to", 0));

    tensor_is(g, n, 0, to, &node_in(g, n, 0)->shape);
}

static void cast_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);

    (void)g;
    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        to[i] = n->in[0]->value[i]; /* rounded to the type behind this */
    }
}

static void cast_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    bool mask = n->in[0]->type == ELEM_BOOL, to_mask = n->out[0]->type == ELEM_BOOL;
    enum elem from = n->in[0]->type;

    x = mask && !to_mask   ? graph_text("where(%s, 1, 0)", x)
        : to_mask && !mask ? graph_text("%s != 0", x)
        : from == ELEM_I64 || from == ELEM_I32 || from == ELEM_I16
            ? (n->out[0]->type == ELEM_F32 ? graph_text("f32(%s)", x) : x)
        : elem_is_float(n->in[0]->type) && whole(n->out[0]) ? graph_text("trunc(%s)", x)
                                                            : x;
    program_out(&p, n->out[0], program_axes, x, to_mask);
}

/* --- Div, Mod, Pow: of floats, or of whole numbers --- */

static double divide(const struct node *n, double x, double y)
{
    if (strcmp(n->op, "Pow") == 0) {
        return pow(x, y);
    }
    if (strcmp(n->op, "Div") == 0) {
        return whole(n->out[0]) ? (y ? trunc(x / y) : 0) : x / y;
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
        struct shape s = operand_shape(g, n, 1);
        double x = n->in[0]->value[shape_at(&n->in[0]->shape, &n->out[0]->shape, at)];
        to[e++] = divide(n, x, n->in[1]->value[shape_at(&s, &n->out[0]->shape, at)]);
    } while (shape_step(&n->out[0]->shape, at));
}

static void divide_shape(struct graph *g, struct node *n)
{
    struct shape shape = broadcast(g, n);

    (void)node_in(g, n, 1);
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &shape);
}

static bool wide(const struct tensor *t)
{
    return t->type == ELEM_I64 || t->type == ELEM_I32;
}

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

static void divide_emit(struct emit *e, struct node *n)
{
    unsigned rank = n->out[0]->shape.n;
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], dims_of(e->g, n, 0, rank));
    const char *y = program_in(&p, n->in[1], dims_of(e->g, n, 1, rank)), *q;
    bool pow = strcmp(n->op, "Pow") == 0, mod = strcmp(n->op, "Mod") == 0;
    bool c = node_int(n, "fmod", 0) != 0, ints = whole(n->out[0]);

    if (ints) {
        program_exact(&p);
    }
    if (wide(n->out[0]) && !pow) { /* a number has no type of its own */
        x = program_line(&p, graph_text("s32(%s)", x));
        y = program_line(&p, graph_text("s32(%s)", y));
    }
    x = n->in[0]->type == ELEM_I16 ? graph_text("f32(%s)", x) : x;
    y = n->in[1]->type == ELEM_I16 ? graph_text("f32(%s)", y) : y;
    if (pow) {
        x = wide(n->in[0]) ? graph_text("f32(%s)", x) : x;
        y = wide(n->in[1]) ? graph_text("f32(%s)", y) : y;
        x = graph_text(ints ? "round(pow(%s, %s))" : "pow(%s, %s)", x, y);
    } else if (wide(n->out[0])) {
        q = program_line(&p, whole_quotient(&p, x, y));
        if (mod) {
            x = program_line(&p, graph_text("%s - %s * %s", x, q, y));
            q = c ? x
                  : graph_text("where(and(%s != 0, xor(%s < 0, %s < 0)), %s + %s, %s)", x,
                               x, y, x, y, x);
        }
        x = q;
    } else {
        q = !ints && !mod ? graph_text("%s / %s", x, y)
            : c || !mod   ? graph_text("trunc(%s / %s)", x, y)
                          : graph_text("floor(%s / %s)", x, y);
        x = mod ? graph_text("%s - %s * %s", x, y, q) : q;
    }
    program_out(&p, n->out[0], program_axes, x, false);
}

/* --- IsInf --- */

static void isinf_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, ELEM_BOOL, &node_in(g, n, 0)->shape);
}

static void isinf_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    bool up = node_int(n, "detect_positive", 1) != 0;
    bool down = node_int(n, "detect_negative", 1) != 0;

    program_out(&p, n->out[0], program_axes,
                up && down ? graph_text("isinf(%s)", x)
                : up       ? graph_text("%s == inf", x)
                : down     ? graph_text("%s == -inf", x)
                           : graph_text("and(%s == inf, %s == -inf)", x, x),
                true);
}

#define ELEMENTWISE(name, n, result, attrs, text, expr)                                  \
    {.op = #name, .shape = shape_of, .value = values, .emit = emit, .own = &own_##name},
const struct rule rules_elementwise[] = {
#include "tools/graph/elementwise.def"
    {.op = "Max", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Min", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Sum", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Mean", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Div", .shape = divide_shape, .value = divide_values, .emit = divide_emit},
    {.op = "Mod", .shape = divide_shape, .value = divide_values, .emit = divide_emit},
    {.op = "Pow", .shape = divide_shape, .value = divide_values, .emit = divide_emit},
    {.op = "IsInf", .shape = isinf_shape, .emit = isinf_emit},
    {.op = "Gelu", .shape = clip_shape, .value = gelu_values, .emit = gelu_emit},
    {.op = "Clip", .shape = clip_shape, .value = clip_values, .emit = clip_emit},
    {.op = "Cast", .shape = cast_shape, .value = cast_values, .emit = cast_emit},
    {.op = "CastLike", .shape = cast_shape, .value = cast_values, .emit = cast_emit},
    {0},
};
