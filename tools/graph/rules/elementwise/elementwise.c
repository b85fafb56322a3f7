/* SPDX-License-Identifier: MIT
 *
 * What is computed element by element; see elementwise.def. Max, Min, Sum and Mean take any
 * number of operands, Clip limits that may be left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/rules/elementwise/elementwise.h"

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
#include "tools/graph/rules/elementwise/elementwise.def"
#undef ELEMENTWISE

static const struct elementwise *own(const struct node *n)
{
    return n->rule->own;
}

bool elementwise_is_whole(const struct tensor *t)
{
    return !elem_is_float(t->type) && t->type != ELEM_BOOL;
}

/* --- shapes --- */

/* Before opset 7 the second one began at an axis of the first; PRelu's slopes were of the
 * channels. */
struct shape elementwise_operand(const struct graph *g, const struct node *n, unsigned i)
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

struct shape elementwise_shape(const struct graph *g, const struct node *n)
{
    struct shape shape = node_in(g, n, 0)->shape, next;

    for (unsigned i = 1; i < n->n_in; i++) {
        (void)node_in(g, n, i);
        next = elementwise_operand(g, n, i);
        shape = shape_broadcast(g, n, &shape, &next);
    }
    return shape;
}

const uint8_t *elementwise_axes(const struct graph *g, const struct node *n, unsigned i,
                            unsigned rank)
{
    return program_axes + (rank - elementwise_operand(g, n, i).n);
}

static void shape_of(struct graph *g, struct node *n)
{
    struct shape shape = elementwise_shape(g, n);
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
    bool product = strcmp(n->op, "Mul") == 0;

    attributes(n, a, text);
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        for (unsigned i = 0; i < n->n_in && i < OPERANDS; i++) {
            struct shape s = elementwise_operand(g, n, i);
            x[i] = n->in[i]->value[shape_at(&s, &n->out[0]->shape, at)];
        }
        to[e] = product ? elem_product(n->out[0]->type, x[0], x[1])
                        : own(n)->value(x[0], x[1], x[2], a[0], a[1]);
        e++;
    } while (shape_step(&n->out[0]->shape, at));
}

/* --- steps --- */

/* Of 8 bits: computed in 16, of which the lower ones are kept; of 16 in 32. */
static bool wraps(const struct node *n)
{
    static const char *const op[] = {"Add", "Sub", "Mul", "Neg", "Abs", "Sum"};
    bool does = false;

    for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
        does = does || strcmp(n->op, op[i]) == 0;
    }
    return does && (n->out[0]->type == ELEM_I8 || n->out[0]->type == ELEM_U8 ||
                    n->out[0]->type == ELEM_U16);
}

static const char *in_16(struct program *p, const char *x)
{
    return wraps(p->n) && p->n->out[0]->type != ELEM_U16
               ? program_line(p, graph_text("s16(%s)", x))
               : x;
}

/* A float may be off by one in how often 65536 is in it. */
const char *elementwise_lower_half(struct program *p, const char *x)
{
    const char *r;

    x = program_line(p, graph_text("s32(%s)", x));
    r = program_line(p, graph_text("s32(floor(f32(%s) / 65536))", x));
    r = program_line(p, graph_text("%s - %s * 65536", x, r));
    r = program_line(p, graph_text("where(%s < 0, %s + 65536, %s)", r, r, r));
    return program_line(p, graph_text("where(%s > 65535, %s - 65536, %s)", r, r, r));
}

static const char *in_8(struct program *p, const char *x)
{
    if (!wraps(p->n)) {
        return x;
    }
    switch (p->n->out[0]->type) {
    case ELEM_U16:
        return elementwise_lower_half(p, x);
    case ELEM_U8:
        return graph_text("u8(and(%s, s16(255)))", x);
    default:
        return graph_text("s8(and((%s) + s16(128), s16(255)) - s16(128))", x);
    }
}

static void emit(struct emit *e, struct node *n)
{
    unsigned rank = n->out[0]->shape.n;
    struct program p = program_begin(e, n);
    const char *in[OPERANDS] = {0}, *attr[ATTRS] = {0}, *text = own(n)->text, *line;
    double number[ATTRS];

    attributes(n, number, attr);
    for (unsigned i = 0; i < n->n_in; i++) {
        in[i] = in_16(&p, program_in(&p, n->in[i], elementwise_axes(e->g, n, i, rank)));
    }
    if (n->n_in > 1 && n->in[1]->type == ELEM_BOOL) {
        text = strcmp(n->op, "Equal") == 0   ? "not(xor($0, $1))"
               : strcmp(n->op, "Where") == 0 ? "or(and($0, $1), and(not($0), $2))"
                                             : text;
    }
    while ((line = strchr(text, '\n')) != NULL) {
        const char *one = graph_text("%.*s", (int)(line - text), text);
        p.group->body = graph_text("%s    %s\n", p.group->body, program_text_with(one, in, attr));
        text = line + 1;
    }
    program_out(&p, n->out[0], program_axes, in_8(&p, program_text_with(text, in, attr)),
                own(n)->result == RESULT_BOOL || n->out[0]->type == ELEM_BOOL);
}

/* --- any number of operands --- */

/* More than a program may read: one after the other. */
static void many_by_two(struct graph *g, struct node *n)
{
    bool mean = strcmp(n->op, "Mean") == 0;
    struct lower l = lower_begin(g, n);

    for (unsigned i = 1; i < n->n_in; i++) {
        lower_text(&l, "a%u = %s(%s, $%u)\n", i, mean ? "Sum" : n->op,
                   i > 1 ? graph_text("a%u", i - 1) : "$0", i);
    }
    if (mean) {
        lower_text(&l, "n = CastLike(%ui, $0)\n@0 = Div(a%u, n)\n", n->n_in, n->n_in - 1);
    } else {
        lower_text(&l, "@0 = Identity(a%u)\n", n->n_in - 1);
    }
    lower_end(&l);
}

static void many_shape(struct graph *g, struct node *n)
{
    struct shape shape = elementwise_shape(g, n);

    if (n->n_in > PLAN_IN) {
        many_by_two(g, n);
        return;
    }
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &shape);
}

static double join(const char *op, double x, double y)
{
    return strcmp(op, "Max") == 0   ? elem_max(x, y)
           : strcmp(op, "Min") == 0 ? elem_min(x, y)
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
        const char *x =
            in_16(&p, program_in(&p, n->in[i], program_axes_of(n->in[i], rank)));
        if (!sum) {
            sum = x;
        } else if (strcmp(n->op, "Max") == 0) {
            sum = graph_text("max(%s, %s)", sum, x);
        } else if (strcmp(n->op, "Min") == 0) {
            sum = graph_text("min(%s, %s)", sum, x);
        } else {
            sum = graph_text("%s + %s", sum, x);
        }
    }
    if (strcmp(n->op, "Mean") == 0) {
        sum = graph_text("(%s) / %u", sum, n->n_in);
    }
    program_out(&p, n->out[0], program_axes, in_8(&p, sum), false);
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
        to[i] = elem_clip(n->in[0]->value[i], low, high);
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

    if (up == down) {
        x = up ? graph_text("isinf(%s)", x)
               : graph_text("and(%s == inf, %s == -inf)", x, x);
    } else {
        x = graph_text("%s == %s", x, up ? "inf" : "-inf");
    }
    program_out(&p, n->out[0], program_axes, x, true);
}

#define ELEMENTWISE(name, n, result, attrs, text, expr)                                  \
    {.op = #name, .shape = shape_of, .value = values, .emit = emit, .own = &own_##name},
const struct rule rules_elementwise[] = {
#include "tools/graph/rules/elementwise/elementwise.def"
    {.op = "Max", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Min", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Sum", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "Mean", .shape = many_shape, .value = many_values, .emit = many_emit},
    {.op = "IsInf", .shape = isinf_shape, .emit = isinf_emit},
    {.op = "Gelu", .shape = clip_shape, .value = gelu_values, .emit = gelu_emit},
    {.op = "Clip", .shape = clip_shape, .value = clip_values, .emit = clip_emit},
    {0},
};
