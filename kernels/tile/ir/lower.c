/* SPDX-License-Identifier: MIT
 *
 * A kernel in operations that the Vector has; see tile_lower() in ir.h. What is taken
 * apart here keeps its bits only in so far as its definition in ops.def leaves none open:
 * gelu of something is the machine's sequence of commands for it.
 */
#include <math.h>
#include <string.h>

#include "kernels/tile/ir/build.h"
#include "kernels/tile/ir/fold.h"

/* --- numbers --- */

static tile_value number(struct tile_kernel *k, double x, enum type type)
{
    return tile_add(k, (struct tile_node){.op = TILE_NUMBER,
                                          .type = (uint8_t)type,
                                          .dim = TILE_NO_DIM,
                                          .number = fold_round(x, type)});
}

static bool is_number(const struct tile_kernel *k, tile_value v, double *x)
{
    *x = k->node[v].number;
    return k->node[v].op == TILE_NUMBER;
}

/* x / y for a y that is a number: the same bits as x times the number's reciprocal. */
static bool power_of_two(double y)
{
    int exponent;

    return fabs(frexp(y, &exponent)) == 0.5 && exponent > -13 && exponent < 15;
}

/* --- elementwise --- */

static bool is_integer(enum type type)
{
    return type == TYPE_S32 || type == TYPE_S16;
}

static tile_value map1(struct tile_kernel *k, enum tile_op op, tile_value x)
{
    enum type type = (enum type)k->node[x].type;
    double a;

    if (is_number(k, x, &a)) {
        a = is_integer(type) && op == TILE_NOT ? -1 - a : fold1(op, a);
        return number(k, a, type);
    }
    if (op == TILE_NOT && k->node[x].op == TILE_NOT) {
        return k->node[x].operand[0];
    }
    return tile_map1(k, op, x);
}

static bool commutes(unsigned op)
{
    return op == TILE_ADD || op == TILE_MUL || op == TILE_MAX || op == TILE_MIN ||
           op == TILE_EQ || op == TILE_NE || op == TILE_AND || op == TILE_OR;
}

/* The comparison that is the same with its operands exchanged. */
static enum tile_op mirrored(enum tile_op op)
{
    return op == TILE_LT   ? TILE_GT
           : op == TILE_LE ? TILE_GE
           : op == TILE_GT ? TILE_LT
           : op == TILE_GE ? TILE_LE
                           : op;
}

/* Of two numbers. */
static tile_value folded(struct tile_kernel *k, enum tile_op op, double x, double y,
                         enum type type)
{
    if (tile_op_info[op].kind == KIND_COMPARE) {
        return number(k, fold2(op, x, y), TILE_MASK);
    }
    return number(k, is_integer(type) ? fold_integers(op, x, y, type) : fold2(op, x, y),
                  type);
}

/* A mask with one that is the same everywhere. */
static tile_value mask_with(struct tile_kernel *k, enum tile_op op, tile_value x,
                            double y)
{
    if ((op == TILE_AND) == (y != 0)) {
        return x;
    }
    return tile_map2(k, op, x,
                     tile_map1(k, TILE_NOT, x)); /* 0, or 1, of its dimensions */
}

/* Whether an operation with a number leaves everything as it is: of + 0 the sign of -0, NaN
 * remains NaN. */
static bool is_idle(const struct tile_kernel *k, enum tile_op op, double y)
{
    return (op == TILE_MUL && y == 1) || (op == TILE_ADD && y == 0 && !k->exact) ||
           (op == TILE_MIN && y == INFINITY) || (op == TILE_MAX && y == -INFINITY);
}

static tile_value map2_half(struct tile_kernel *k, enum tile_op op, tile_value x,
                            tile_value y);

static tile_value map2(struct tile_kernel *k, enum tile_op op, tile_value x, tile_value y)
{
    enum type type = (enum type)k->node[x].type;
    double a, b;
    bool x_number = is_number(k, x, &a), y_number = is_number(k, y, &b);

    if (x_number && y_number) {
        return folded(k, op, a, b, type);
    }
    if (tile_op_info[op].kind == KIND_COMPARE && type == TYPE_F32 && !k->in_loop &&
        fold_fits_f16(k, x) && fold_fits_f16(k, y) &&
        (k->node[x].dims == k->node[y].dims || y_number)) {
        return map2_half(k, op, fold_half(k, x), fold_half(k, y));
    }
    if (op == TILE_NE && x == y && !is_integer(type) && type != TILE_MASK) {
        y = number(k, INFINITY, type); /* NaN: x by itself is read from the same groups twice */
        return tile_map1(k, TILE_NOT, tile_map2(k, TILE_LE, x, y));
    }
    if (type == TILE_MASK && (x_number || y_number)) {
        return x_number ? mask_with(k, op, y, a) : mask_with(k, op, x, b);
    }
    if (op == TILE_SUB && y_number && (!is_integer(type) || b > INT16_MIN)) {
        return map2(k, TILE_ADD, x, number(k, -b, type));
    }
    if (op == TILE_SUB && x_number) {
        return map2(k, TILE_ADD, map2(k, TILE_MUL, y, number(k, -1, type)), x);
    }
    if (type != TILE_MASK && ((y_number && is_idle(k, op, b)) ||
                              (x_number && commutes(op) && is_idle(k, op, a)))) {
        return y_number ? x : y;
    }
    if (op == TILE_DIV && x_number && a == 1) {
        return map1(k, TILE_REC, y);
    }
    if (op == TILE_DIV && y_number && power_of_two(b)) {
        return map2(k, TILE_MUL, x, number(k, 1 / b, type));
    }
    if (x_number && (commutes(op) || mirrored(op) != op)) {
        return tile_map2(k, mirrored(op), y, x);
    }
    return tile_map2(k, op, x, y);
}

/* Of two F16, as they are. */
static tile_value map2_half(struct tile_kernel *k, enum tile_op op, tile_value x,
                            tile_value y)
{
    enum type arith = k->arith;

    k->arith = TYPE_F16;
    x = map2(k, op, x, y);
    k->arith = arith;
    return x;
}

/* x with a number; a number with x. */
static tile_value with(struct tile_kernel *k, enum tile_op op, tile_value x, double y)
{
    return map2(k, op, x, number(k, y, (enum type)k->node[x].type));
}

/* where(m, 3, x) as where(not m, x, 3): a command takes a number in the last place. */
static tile_value where(struct tile_kernel *k, tile_value m, tile_value x, tile_value y)
{
    const struct tile_node *by = &k->node[m];
    double a;

    if (is_number(k, m, &a)) { /* the one or the other, in the dimensions of both */
        tile_value of = a != 0 ? x : y, other = a != 0 ? y : x;
        if ((k->node[other].dims & ~k->node[of].dims) == 0) {
            return of;
        }
        return tile_map3(k, TILE_WHERE, tile_map2(k, TILE_EQ, other, other), of, of);
    }
    if (!is_number(k, x, &a) || is_number(k, y, &a)) {
        return tile_map3(k, TILE_WHERE, m, x, y);
    }
    if (by->op == TILE_EQ || by->op == TILE_NE) { /* each is what the other is not */
        m = tile_map2(k, by->op == TILE_EQ ? TILE_NE : TILE_EQ, by->operand[0],
                      by->operand[1]);
    } else {
        m = map1(k, TILE_NOT, m);
    }
    return tile_map3(k, TILE_WHERE, m, y, x);
}

static tile_value sigmoid(struct tile_kernel *k, tile_value x)
{
    return map1(k, TILE_REC,
                with(k, TILE_ADD, map1(k, TILE_EXP, with(k, TILE_MUL, x, -1)), 1));
}

/* Of x; or, `twice`, of 2 x, which is exact and saves the half. */
static tile_value gelu(struct tile_kernel *k, enum tile_op op, tile_value x, bool twice)
{
    static const double rsqrt_2 = 0.70710678118654752, sqrt_2_pi = 0.79788456080286536;
    tile_value u = x;

    if (op == TILE_GELU_TANH) { /* x * (1 + 0.044715 x^2) */
        u = with(k, TILE_MUL, map2(k, TILE_MUL, x, x), 0.044715);
        u = map2(k, TILE_MUL, with(k, TILE_ADD, u, 1), x);
    }
    u = with(k, TILE_MUL, u, twice ? 2 * rsqrt_2 : op == TILE_GELU ? rsqrt_2 : sqrt_2_pi);
    u = with(k, TILE_ADD, map1(k, op == TILE_GELU ? TILE_ERF : TILE_TANH, u), 1);
    return map2(k, TILE_MUL, u, twice ? x : with(k, TILE_MUL, x, 0.5));
}

/* max(x, 0) + log(1 + u), u = exp(-|x|): no overflow. What 1 + u has lost of u is added to its
 * logarithm: that is all of a u below 2^-24. */
static tile_value softplus(struct tile_kernel *k, tile_value x)
{
    tile_value u = map1(k, TILE_EXP, with(k, TILE_MUL, map1(k, TILE_ABS, x), -1));
    tile_value sum = with(k, TILE_ADD, u, 1);

    u = map2(k, TILE_SUB, u, with(k, TILE_ADD, sum, -1));
    u = map2(k, TILE_ADD, map1(k, TILE_LN, sum), u);
    return map2(k, TILE_ADD, map1(k, TILE_RELU, x), u);
}

/* --- casts --- */

/* The type by way of which VCONV gets from one to another; the other itself if it does at
 * once. No way rounds twice where that could show but from S32 to what is narrower than
 * F32. */
static enum type by_way_of(enum type from, enum type to)
{
    switch (from) {
    case TYPE_F32:
        return to == TYPE_S8 || to == TYPE_U8 ? TYPE_S16 : to;
    case TYPE_F16:
        return to == TYPE_BF16 ? TYPE_F32 : to;
    case TYPE_BF16:
        return to == TYPE_S32 ? to : TYPE_F32;
    case TYPE_S32:
        return to == TYPE_S8 || to == TYPE_U8 ? TYPE_S16
               : to == TYPE_BF16              ? TYPE_F32
                                              : to;
    case TYPE_S16:
        return to == TYPE_U8                       ? TYPE_F16
               : to == TYPE_S32 || to == TYPE_BF16 ? TYPE_F32
                                                   : to;
    default: /* S8, U8 */
        return TYPE_F16;
    }
}

static tile_value cast(struct tile_kernel *k, tile_value x, enum type to)
{
    double a;

    if (is_number(k, x, &a)) {
        return number(k, a, to);
    }
    x = k->in_loop ? x : fold_before_cast(k, x, to);
    while (x != 0 && k->node[x].type != to) {
        x = tile_cast(k, x, by_way_of((enum type)k->node[x].type, to));
    }
    return x;
}

/* --- nodes --- */

/* 1 where a mask holds, 0 elsewhere. */
static tile_value ones(struct tile_kernel *k, tile_value mask)
{
    return tile_map3(k, TILE_WHERE, mask, number(k, 1, TYPE_F32), number(k, 0, TYPE_F32));
}

static tile_value count(struct tile_kernel *k, tile_value mask, uint8_t dim)
{
    return cast(k, tile_reduce(k, TILE_SUM, ones(k, mask), dim), TYPE_S32);
}

static tile_value mean(struct tile_kernel *k, tile_value x, uint8_t dim)
{
    double size = k->dim[dim].size;
    tile_value sum = tile_reduce(k, TILE_SUM, x, dim);

    return k->exact ? with(k, TILE_DIV, sum, size) : with(k, TILE_MUL, sum, 1 / size);
}

static tile_value scalar(struct tile_kernel *k, const struct tile_node *n)
{
    const struct tile_scalar *s = &k->scalar[n->index];
    bool integer = is_integer((enum type)n->type);

    if (!s->given) {
        return tile_fail(k, "'%s' has no value", s->name);
    }
    if (integer && (s->value != floor(s->value) || fabs(s->value) > INT16_MAX)) {
        return tile_fail(k, "'%s' is %g, but it meets integers", s->name, s->value);
    }
    return number(k, s->value, (enum type)n->type);
}

/* FLOOR and the like, which VCONV does in F32. */
static tile_value whole(struct tile_kernel *k, enum tile_op op, tile_value x)
{
    enum type type = (enum type)k->node[x].type;

    return cast(k, map1(k, op, cast(k, x, TYPE_F32)), type);
}

/* Node n of another kernel, its operands those of k. */
static tile_value lower(struct tile_kernel *k, const struct tile_node *n)
{
    tile_value x = n->operand[0], y = n->operand[1];
    enum tile_op op = (enum tile_op)n->op;

    switch (op) {
    case TILE_SCALAR:
        return scalar(k, n);
    case TILE_NUMBER:
        return number(k, n->number, (enum type)n->type);
    case TILE_SIGMOID:
        return sigmoid(k, x);
    case TILE_SILU:
        return map2(k, TILE_MUL, x, sigmoid(k, x));
    case TILE_GELU:
    case TILE_GELU_TANH:
        return gelu(k, op, x, false);
    case TILE_SOFTPLUS:
        return softplus(k, x);
    case TILE_FLOOR:
    case TILE_CEIL:
    case TILE_ROUND:
    case TILE_TRUNC:
        return whole(k, op, x);
    case TILE_WHERE:
        return where(k, x, y, n->operand[2]);
    case TILE_CAST:
        return cast(k, x, (enum type)n->type);
    case TILE_MEAN:
        return mean(k, x, n->dim);
    case TILE_COUNT:
        return count(k, x, n->dim);
    case TILE_ARGMAX: /* over one: how often it is less than itself */
        return k->dim[n->dim].size > 1 ? tile_add(k, *n)
                                       : count(k, tile_map2(k, TILE_LT, x, x), n->dim);
    case TILE_ANY:
        return with(k, TILE_GT, tile_reduce(k, TILE_MOST, ones(k, x), n->dim), 0);
    default:
        break;
    }
    if (tile_op_info[op].kind == KIND_MAP || tile_op_info[op].kind == KIND_COMPARE) {
        return tile_op_info[op].operands == 1 ? map1(k, op, x) : map2(k, op, x, y);
    }
    return tile_add(k, *n);
}

/* --- in half --- */

/* A value that fold_is_half() rounds, of what that marks, with k->arith F16. */
static tile_value lower_half(struct tile_kernel *k, const struct tile_kernel *from,
                             tile_value v, const tile_value *to)
{
    const struct tile_node *n = &from->node[v];
    tile_value x[2] = {0};

    if (fold_fits_f16(from, v)) {
        return n->op == TILE_CAST ? to[n->operand[0]] : number(k, n->number, TYPE_F16);
    }
    for (unsigned i = 0; i < tile_op_info[n->op].operands; i++) {
        x[i] = lower_half(k, from, n->operand[i], to);
    }
    return tile_op_info[n->op].operands == 1 ? map1(k, (enum tile_op)n->op, x[0])
                                             : map2(k, (enum tile_op)n->op, x[0], x[1]);
}

static tile_value half(struct tile_kernel *k, const struct tile_kernel *from,
                       tile_value v, const tile_value *to)
{
    enum type arith = k->arith;
    tile_value x;

    k->arith = TYPE_F16;
    x = lower_half(k, from, from->node[v].operand[0], to);
    k->arith = arith;
    return x;
}

/* --- the kernel --- */

/* Marks what results, loops and the schedule need. */
static void mark(const struct tile_kernel *k, uint8_t *live)
{
    bool more = true;

    for (unsigned i = 0; i < k->n_results; i++) {
        live[k->result[i].value] = 1;
    }
    for (unsigned i = 0; i < k->n_choices; i++) {
        live[k->choice[i].value] = 1;
    }
    for (unsigned i = 1; i <= k->n_loops; i++) {
        live[k->loop[i].condition] = 1;
    }
    while (more) { /* a second time for what loops carry on */
        more = false;
        for (unsigned v = k->n_nodes; v != 0; v--) {
            if (live[v] && fold_is_half(k, (tile_value)v)) {
                fold_mark_half(k, k->node[v].operand[0], live);
                continue;
            }
            for (unsigned i = 0; i < 3 && live[v]; i++) {
                more |= k->node[v].operand[i] > v && !live[k->node[v].operand[i]];
                live[k->node[v].operand[i]] = 1;
            }
        }
    }
}

/* What refers to nodes of the old kernel refers to those of the new. */
static void rename_values(struct tile_kernel *k, const tile_value *to)
{
    for (unsigned i = 0; i < k->n_results; i++) {
        k->result[i].value = to[k->result[i].value];
    }
    for (unsigned i = 0; i < k->n_choices; i++) {
        k->choice[i].value = to[k->choice[i].value];
    }
    for (unsigned i = 0; i < k->n_names; i++) {
        k->names[i].value = to[k->names[i].value];
    }
    for (unsigned i = 1; i <= k->n_loops; i++) {
        k->loop[i].condition = to[k->loop[i].condition];
    }
    for (unsigned i = 0; i < k->n_carried; i++) {
        struct tile_carry *c = &k->carry[i];
        c->first = to[c->first];
        c->next = to[c->next];
        c->value = to[c->value];
        c->last = to[c->last];
        k->node[c->value].operand[1] = c->next;
    }
}

static void lower_all(struct tile_kernel *k, const struct tile_kernel *from,
                      const uint8_t *live, tile_value *to)
{
    for (unsigned v = 1; v <= from->n_nodes && !tile_failed(k); v++) {
        struct tile_node n = from->node[v];
        if (!live[v]) {
            continue;
        }
        k->line = n.line;
        k->column = n.column;
        k->in_loop = n.loop;
        for (unsigned i = 0; i < 3; i++) {
            n.operand[i] = n.operand[i] < v ? to[n.operand[i]] : 0;
        }
        unsigned halved = fold_halved(from, live, (tile_value)v);
        if (halved) {
            n.operand[halved - 1] = with(k, TILE_MUL, n.operand[halved - 1], 0.5);
        }
        to[v] = fold_is_half(from, (tile_value)v) ? half(k, from, (tile_value)v, to)
                : n.op == TILE_GELU && fold_halved(from, live, from->node[v].operand[0])
                    ? gelu(k, TILE_GELU, n.operand[0], true)
                    : lower(k, &n);
    }
    k->in_loop = 0;
    rename_values(k, to);
}

struct tile_kernel *tile_lower(const struct tile_kernel *from, struct tile_arena *arena)
{
    struct tile_kernel *k = tile_alloc(arena, sizeof(*k));
    tile_value to[TILE_NODES + 1] = {0};
    uint8_t live[TILE_NODES + 1] = {0};

    if (k == NULL) {
        return NULL;
    }
    *k = *from;
    k->arena = arena;
    k->n_nodes = 0;
    k->node = tile_alloc(arena, (TILE_NODES + 1) * sizeof(*k->node));
    k->names = tile_alloc(arena, TILE_NAMES * sizeof(*k->names));
    if (k->node == NULL || k->names == NULL) {
        return NULL;
    }
    memcpy(k->names, from->names, from->n_names * sizeof(*k->names));
    mark(from, live);
    lower_all(k, from, live, to);
    return k;
}
