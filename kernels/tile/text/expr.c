/* SPDX-License-Identifier: MIT
 *
 * Expressions of tile programs; see text.h.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/lib/near.h"
#include "kernels/tile/text/lex.h"

enum { DEPTH = 32, ARGS = 4 };

/* One argument of a call: a value, and what else it may be. */
struct arg {
    struct token at;
    tile_value value;
    uint8_t dim;    /* a lone name of a dimension, else TILE_NO_DIM */
    uint8_t digits; /* a lone number that a dimension is called by, likewise */
    tile_dims axes; /* the word `axes`: dimensions, of which dim is one; else 0 */
    enum type type; /* a lone type, else TYPE_NONE */
};

/* Functions that are no operation of their own; want says what they are called with. */
enum builtin { DOT, GATHER, QUANTISE, DEQUANTISE, BUILTINS };
static const struct {
    const char *name, *want;
    unsigned args;
} builtins[BUILTINS] = {
    [DOT] = {"dot", "dot(x, y, dimension)", 3},
    [GATHER] = {"gather", "gather(x, index, dimension)", 3},
    [QUANTISE] = {"quantise", "quantise(x, scale, zero, s8 or u8)", 4},
    [DEQUANTISE] = {"dequantise", "dequantise(x, scale, zero)", 3},
};

/* --- nearest names --- */

static void consider(const char *name, const char *other, const char **best,
                     unsigned *least)
{
    unsigned d = near_distance(name, strlen(name), other);

    if (d < *least && d < strlen(name)) {
        *best = other;
        *least = d;
    }
}

const char *parse_nearest(const struct parser *p, const char *name, bool function,
                          char text[64])
{
    const struct tile_kernel *k = p->k;
    const char *best = NULL;
    unsigned least = 3;

    for (unsigned i = 0; !function && i < k->n_names; i++) {
        if (k->names[i].loop == 0 || k->names[i].loop == k->in_loop) {
            consider(name, k->names[i].text, &best, &least);
        }
    }
    for (unsigned i = 0; !function && i < k->n_dims; i++) {
        consider(name, k->dim[i].name, &best, &least);
    }
    for (unsigned i = 1; function && i < TILE_OP_COUNT; i++) {
        if (tile_op_info[i].name) {
            consider(name, tile_op_info[i].name, &best, &least);
        }
    }
    for (unsigned i = 0; function && i < BUILTINS; i++) {
        consider(name, builtins[i].name, &best, &least);
    }
    for (unsigned i = 0; function && i < tile_function_count; i++) {
        consider(name, tile_functions[i].name, &best, &least);
    }
    text[0] = '\0';
    if (best) {
        snprintf(text, 64, "; did you mean '%s'?", best);
    }
    return text;
}

/* --- calls --- */

static bool parse_arg(struct parser *p, struct arg *a)
{
    unsigned next = lex_peek(p);
    bool alone = next == ',' || next == ')';

    *a = (struct arg){.at = p->now, .dim = TILE_NO_DIM, .digits = TILE_NO_DIM};
    if (alone && p->now.kind == LEX_TYPE) {
        a->type = p->now.type;
        lex_next(p);
        return true;
    }
    if (alone && p->now.kind == LEX_NAME) {
        a->axes = parse_axes(p);
        a->dim =
            a->axes ? (uint8_t)__builtin_ctz(a->axes) : tile_find_dim(p->k, p->now.text);
    }
    if (alone && p->now.kind == LEX_INTEGER) {
        a->digits = tile_find_dim(p->k, p->now.text);
    }
    if (a->dim != TILE_NO_DIM) { /* its index, if nobody wants the dimension */
        lex_next(p);
        return true;
    }
    a->value = parse_expr(p);
    return !parse_failed(p);
}

/* The arguments up to the closing bracket; their number, or 0 on error. */
static unsigned parse_args(struct parser *p, struct arg *arg)
{
    unsigned n = 0;

    do {
        lex_next(p); /* ( or , */
        if (n == ARGS) {
            return parse_fail(p, &p->now, "more than %d arguments", ARGS);
        }
        if (!parse_arg(p, &arg[n++])) {
            return 0;
        }
    } while (p->now.kind == ',');
    return parse_take(p, ')', "',' or ')'") ? n : 0;
}

/* Arguments from the first on as values; false if one is a type. */
static bool values(struct parser *p, struct arg *arg, unsigned n, tile_value *v)
{
    for (unsigned i = 0; i < n; i++) {
        if (arg[i].type != TYPE_NONE) {
            parse_fail(p, &arg[i].at, "expected a value, got type %s", arg[i].at.text);
            return false;
        }
        if (arg[i].dim != TILE_NO_DIM) {
            parse_here(p, &arg[i].at);
            arg[i].value = tile_index(p->k, arg[i].dim);
        }
        v[i] = arg[i].value;
    }
    return true;
}

/* The operation of that name and number of arguments, the last of which may be a
 * dimension. */
static enum tile_op find_op(const char *name, unsigned n, bool dim, bool *known)
{
    *known = false;
    for (unsigned op = 1; op < TILE_OP_COUNT; op++) {
        const struct tile_op_info *info = &tile_op_info[op];
        bool reduces = info->kind == KIND_REDUCE, over = op == TILE_MAX || op == TILE_MIN;
        if (info->name == NULL || strcmp(info->name, name) != 0) {
            continue;
        }
        *known = true;
        if (reduces ? dim && n == 2 : n == info->operands && !(dim && over)) {
            return (enum tile_op)op;
        }
    }
    return TILE_NONE;
}

/* What an operation is called with, for messages: `sum(x, dimension)`. */
static tile_value refuse_call(struct parser *p, const struct token *name, unsigned n)
{
    for (unsigned op = 1; op < TILE_OP_COUNT; op++) {
        const struct tile_op_info *info = &tile_op_info[op];
        if (info->name == NULL || strcmp(info->name, name->text) != 0) {
            continue;
        }
        if (info->kind == KIND_REDUCE) {
            return parse_fail(p, name, "expected %s(value, dimension)", name->text);
        }
        if (op != TILE_MAX && op != TILE_MIN) {
            return parse_fail(p, name, "%s takes %u argument%s, not %u", name->text,
                              info->operands, info->operands == 1 ? "" : "s", n);
        }
    }
    return parse_fail(p, name, "expected %s(value, value or dimension)", name->text);
}

static tile_value call_builtin(struct parser *p, enum builtin b, const struct token *name,
                               struct arg *arg, unsigned n)
{
    const char *want = builtins[b].want;
    struct arg *last = &arg[n - 1];
    bool along = b == DOT || b == GATHER;
    tile_value v[ARGS];

    if (along && last->dim == TILE_NO_DIM) {
        last->dim = last->digits;
    }
    if (n != builtins[b].args || (along && last->dim == TILE_NO_DIM) ||
        (b == QUANTISE && last->type == TYPE_NONE)) {
        return parse_fail(p, name, "expected %s", want);
    }
    if (!values(p, arg, n - (along || b == QUANTISE), v)) {
        return 0;
    }
    parse_here(p, name);
    switch (b) {
    case DOT:
        return tile_dot(p->k, v[0], v[1], last->dim);
    case GATHER:
        return tile_gather(p->k, v[0], v[1], last->dim);
    case QUANTISE:
        return tile_quantise(p->k, v[0], v[1], v[2], last->type);
    default:
        return tile_dequantise(p->k, v[0], v[1], v[2]);
    }
}

/* One that is made of operations. */
static tile_value call_function(struct parser *p, const struct tile_function *f,
                                const struct token *name, struct arg *arg, unsigned n)
{
    struct arg *last = &arg[n - 1];
    tile_value v[ARGS];

    if (f->over && last->dim == TILE_NO_DIM) {
        last->dim = last->digits;
    }
    if (n != f->args || (f->over && last->dim == TILE_NO_DIM) ||
        (last->axes & (last->axes - 1)) != 0) {
        return parse_fail(p, name, "expected %s", f->want);
    }
    if (!values(p, arg, n - f->over, v)) {
        return 0;
    }
    parse_here(p, name);
    return f->make(p->k, v, last->dim);
}

/* Dimensions that all arguments behind the first are, or 0. */
static tile_dims several(const struct arg *arg, unsigned n)
{
    tile_dims set = 0;

    for (unsigned i = 1; i < n; i++) {
        if (arg[i].dim == TILE_NO_DIM) {
            return 0;
        }
        set = (tile_dims)(set | arg[i].axes | 1u << arg[i].dim);
    }
    return set;
}

static tile_value call(struct parser *p)
{
    struct token name = p->now;
    const struct tile_function *function;
    struct arg arg[ARGS];
    tile_value v[ARGS];
    enum tile_op op;
    unsigned n;
    char near[64];
    bool known;

    lex_next(p);
    if (strcmp(name.text, tile_op_info[TILE_CONV].name) == 0) {
        return parse_conv(p, &name);
    }
    n = parse_args(p, arg);
    if (n == 0) {
        return 0;
    }
    for (unsigned b = 0; b < BUILTINS; b++) {
        if (strcmp(builtins[b].name, name.text) == 0) {
            return call_builtin(p, (enum builtin)b, &name, arg, n);
        }
    }
    function = tile_find_function(name.text);
    if (function) {
        return call_function(p, function, &name, arg, n);
    }
    op = find_op(name.text, n, arg[n - 1].dim != TILE_NO_DIM, &known);
    if (op == TILE_NONE && arg[n - 1].digits != TILE_NO_DIM) {
        arg[n - 1].dim = arg[n - 1].digits;
        op = find_op(name.text, n, true, &known);
    }
    if (op == TILE_NONE && n > 2 && several(arg, n) != 0) {
        op = find_op(name.text, 2, true, &known);
    }
    if (!known) {
        return parse_fail(p, &name, "no function '%s'%s", name.text,
                          parse_nearest(p, name.text, true, near));
    }
    if (op == TILE_NONE) {
        return refuse_call(p, &name, n);
    }
    if (!values(p, arg, tile_op_info[op].operands, v)) {
        return 0;
    }
    parse_here(p, &name);
    if (tile_op_info[op].kind == KIND_REDUCE) {
        return tile_reduce_all(p->k, op, v[0], several(arg, n));
    }
    return n == 1   ? tile_map1(p->k, op, v[0])
           : n == 2 ? tile_map2(p->k, op, v[0], v[1])
                    : tile_map3(p->k, op, v[0], v[1], v[2]);
}

static tile_value cast(struct parser *p)
{
    struct token type = p->now;
    struct arg arg[ARGS];
    tile_value v;
    unsigned n;

    lex_next(p);
    if (p->now.kind != '(') {
        return parse_expected(p, "'(' and what is cast");
    }
    n = parse_args(p, arg);
    if (n > 1) {
        return parse_fail(p, &type, "%s casts one value, not %u", type.text, n);
    }
    if (n == 0 || !values(p, arg, 1, &v)) {
        return 0;
    }
    parse_here(p, &type);
    if (type.boolean && v != 0) { /* whether it is not 0 */
        return p->k->node[v].type == TILE_MASK
                   ? v
                   : tile_map2(p->k, TILE_NE, v, tile_number(p->k, 0));
    }
    return tile_cast(p->k, v, type.type);
}

/* --- expressions --- */

static tile_value name(struct parser *p)
{
    struct token t = p->now;
    uint8_t dim = tile_find_dim(p->k, t.text);
    tile_value v = tile_named(p->k, t.text);
    char near[64];

    lex_next(p);
    parse_here(p, &t);
    v = v == 0 && dim == TILE_NO_DIM ? parse_place(p, t.text) : v;
    if (v == 0 && dim == TILE_NO_DIM) {
        return parse_fail(p, &t, "no value or dimension '%s'%s", t.text,
                          parse_nearest(p, t.text, false, near));
    }
    return v ? v : tile_index(p->k, dim);
}

static tile_value atom(struct parser *p)
{
    struct token t = p->now;
    tile_value v;

    switch (t.kind) {
    case LEX_INTEGER:
    case LEX_FLOAT:
    case LEX_INF:
        lex_next(p);
        parse_here(p, &t);
        return tile_number(p->k, t.number);
    case LEX_NAME:
        return lex_peek(p) == '(' ? call(p) : name(p);
    case LEX_TYPE:
        return cast(p);
    case '(':
        lex_next(p);
        v = parse_expr(p);
        return !parse_failed(p) && parse_take(p, ')', "an operator or ')'") ? v : 0;
    default:
        return parse_expected(p, "a value");
    }
}

static tile_value factor(struct parser *p)
{
    struct token t = p->now;
    tile_value v;

    if (t.kind != '-') {
        return atom(p);
    }
    lex_next(p);
    v = atom(p);
    if (v == 0 || parse_failed(p)) {
        return 0;
    }
    parse_here(p, &t);
    return p->k->node[v].op == TILE_NUMBER && p->k->node[v].dim == TILE_NO_DIM
               ? tile_number(p->k, -p->k->node[v].number)
               : tile_map1(p->k, TILE_NEG, v);
}

/* The product over the one dimension that both have. */
static tile_value product(struct parser *p, const struct token *at, tile_value x,
                          tile_value y)
{
    tile_dims both = p->k->node[x].dims & p->k->node[y].dims;

    if (both == 0 || (both & (both - 1)) != 0) {
        return parse_fail(p, at, "the operands of @ have %s dimension in common: %s",
                          both ? "more than one" : "no",
                          both ? "dot(x, y, dimension) names it" : "see their shapes");
    }
    return tile_dot(p->k, x, y, (uint8_t)__builtin_ctz(both));
}

static tile_value binary(struct parser *p, const struct token *at, tile_value x,
                         tile_value y)
{
    static const struct {
        unsigned kind;
        enum tile_op op;
    } ops[] = {{'+', TILE_ADD},   {'-', TILE_SUB},  {'*', TILE_MUL},   {'/', TILE_DIV},
               {'<', TILE_LT},    {'>', TILE_GT},   {LEX_LE, TILE_LE}, {LEX_GE, TILE_GE},
               {LEX_EQ, TILE_EQ}, {LEX_NE, TILE_NE}};

    if (parse_failed(p)) {
        return 0;
    }
    parse_here(p, at);
    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (ops[i].kind == at->kind) {
            return tile_map2(p->k, ops[i].op, x, y);
        }
    }
    return product(p, at, x, y);
}

static tile_value term(struct parser *p)
{
    tile_value v = factor(p);

    while (!parse_failed(p) &&
           (p->now.kind == '*' || p->now.kind == '/' || p->now.kind == '@')) {
        struct token at = p->now;
        lex_next(p);
        v = binary(p, &at, v, factor(p));
    }
    return v;
}

static tile_value sum(struct parser *p)
{
    tile_value v = term(p);

    while (!parse_failed(p) && (p->now.kind == '+' || p->now.kind == '-')) {
        struct token at = p->now;
        lex_next(p);
        v = binary(p, &at, v, term(p));
    }
    return v;
}

tile_value parse_expr(struct parser *p)
{
    tile_value v;

    if (++p->depth > DEPTH) {
        return parse_fail(p, &p->now, "nested deeper than %d", DEPTH);
    }
    v = sum(p);
    if (!parse_failed(p) && (p->now.kind == '<' || p->now.kind == '>' ||
                             (p->now.kind >= LEX_LE && p->now.kind <= LEX_NE))) {
        struct token at = p->now;
        lex_next(p);
        v = binary(p, &at, v, sum(p));
    }
    p->depth--;
    return parse_failed(p) ? 0 : v;
}

bool parse_number(struct parser *p, double *number)
{
    double sign = 1;

    for (; p->now.kind == '-'; lex_next(p)) {
        sign = -sign;
    }
    if (p->now.kind != LEX_INTEGER && p->now.kind != LEX_FLOAT &&
        p->now.kind != LEX_INF) {
        parse_expected(p, "a number");
        return false;
    }
    *number = sign * p->now.number;
    lex_next(p);
    return true;
}
