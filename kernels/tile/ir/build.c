/* SPDX-License-Identifier: MIT
 *
 * Builders of values: the rules of types and dimensions of tile programs, in one place for
 * those written in C and those given as text; see ir.h.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/tile/ir/build.h"

/* --- nodes --- */

tile_value tile_add(struct tile_kernel *k, struct tile_node n)
{
    n.loop = k->in_loop;
    for (unsigned v = 1; v <= k->n_nodes; v++) {
        struct tile_node *old = &k->node[v];
        if (old->op == n.op && old->type == n.type && old->dim == n.dim &&
            old->loop == n.loop && old->dims == n.dims && n.op != TILE_CARRY &&
            memcmp(old->operand, n.operand, sizeof(n.operand)) == 0 &&
            memcmp(&old->number, &n.number, sizeof(n.number)) == 0) {
            return (tile_value)v;
        }
    }
    if (k->n_nodes == TILE_NODES) {
        return tile_fail(k, "more than %d operations", TILE_NODES);
    }
    n.line = k->line;
    n.column = k->column;
    k->node[++k->n_nodes] = n;
    return (tile_value)k->n_nodes;
}

/* A NUMBER or a SCALAR takes the type of what it meets. */
static bool is_weak(const struct tile_kernel *k, tile_value v)
{
    return k->node[v].op == TILE_NUMBER || k->node[v].op == TILE_SCALAR;
}

/* A number that F32, or another type, does not hold. */
static bool number_fits(struct tile_kernel *k, double x, enum type type)
{
    bool whole = x == floor(x);

    switch (type) {
    case TYPE_S32:
        return (whole && x >= INT32_MIN && x <= INT32_MAX) ||
               tile_fail(k, "%g is no number of s32", x);
    case TYPE_S16:
        return (whole && x >= INT16_MIN && x <= INT16_MAX) ||
               tile_fail(k, "%g is no number of s16", x);
    case TYPE_F16:
        return isinf(x) || fabs(x) < 65520 || tile_fail(k, "%g is beyond f16", x);
    default:
        return isinf(x) || fabs(x) < 0x1.ffffffp127 ||
               tile_fail(k, "%g is beyond f32", x);
    }
}

/* A weak value in a type. */
static tile_value as_type(struct tile_kernel *k, tile_value v, enum type type)
{
    struct tile_node n = k->node[v];

    if (n.type == type) {
        return v;
    }
    n.type = (uint8_t)type;
    return n.op == TILE_NUMBER && !number_fits(k, n.number, type) ? 0 : tile_add(k, n);
}

static tile_value cast_node(struct tile_kernel *k, tile_value v, enum type type)
{
    return tile_add(k, (struct tile_node){.op = TILE_CAST,
                                          .type = (uint8_t)type,
                                          .dim = TILE_NO_DIM,
                                          .dims = k->node[v].dims,
                                          .operand = {v}});
}

/* --- types --- */

char *tile_type_text(unsigned type, char text[8])
{
    const char *name = type == TILE_MASK ? "mask" : type_name(type);
    unsigned i = 0;

    do {
        text[i] = (char)tolower((unsigned char)name[i]);
    } while (name[i++] != '\0');
    return text;
}

static bool is_integer(unsigned type)
{
    return type == TYPE_S32 || type == TYPE_S16;
}

/* The type in which two that are no weak ones meet, or TYPE_COUNT. */
static enum type meet(const struct tile_kernel *k, unsigned a, unsigned b)
{
    if (is_integer(a) || is_integer(b) || a == TILE_MASK || b == TILE_MASK) {
        return a == b ? (enum type)a : TYPE_COUNT;
    }
    return a == TYPE_F16 && b == TYPE_F16 ? k->arith : TYPE_F32;
}

static const char *types_text(uint16_t types, char *to, size_t size)
{
    size_t at = 0;
    char text[8];

    for (unsigned t = 0; t < TYPE_COUNT && at < size; t++) {
        if ((types >> t & 1) != 0) {
            at += (size_t)snprintf(to + at, size - at, "%s%s", at ? " or " : "",
                                   tile_type_text(t, text));
        }
    }
    return to;
}

enum type tile_join(struct tile_kernel *k, enum tile_op op, tile_value *v, unsigned from,
                    unsigned n)
{
    uint16_t types = tile_op_info[op].types;
    enum type type = TYPE_COUNT;
    char a[8], b[8], list[48];

    for (unsigned i = from; i < n; i++) {
        enum type of = (enum type)k->node[v[i]].type, was = type;
        if (is_weak(k, v[i])) {
            continue;
        }
        type = meet(k, was == TYPE_COUNT ? of : was, of);
        if (type == TYPE_COUNT) {
            tile_fail(k, "%s of %s and %s: cast one of them", tile_op_text(op),
                      tile_type_text(was, a), tile_type_text(of, b));
            return TYPE_COUNT;
        }
    }
    type = type == TYPE_COUNT ? TYPE_F32 : type;
    if ((types >> type & 1) == 0) {
        tile_fail(k, "%s takes %s, not %s", tile_op_text(op),
                  types_text(types, list, sizeof(list)), tile_type_text(type, a));
        return TYPE_COUNT;
    }
    for (unsigned i = from; i < n && !tile_failed(k); i++) {
        v[i] = is_weak(k, v[i])             ? as_type(k, v[i], type)
               : k->node[v[i]].type == type ? v[i]
                                            : cast_node(k, v[i], type);
    }
    return tile_failed(k) ? TYPE_COUNT : type;
}

bool tile_there(const struct tile_kernel *k, const tile_value *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (v[i] == 0) {
            return false;
        }
    }
    return !tile_failed(k);
}

/* --- leaves --- */

tile_value tile_number(struct tile_kernel *k, double number)
{
    return tile_failed(k) || !number_fits(k, number, TYPE_F32)
               ? 0
               : tile_add(k, (struct tile_node){.op = TILE_NUMBER,
                                                .type = TYPE_F32,
                                                .dim = TILE_NO_DIM,
                                                .number = number});
}

tile_value tile_index(struct tile_kernel *k, uint8_t dim)
{
    return tile_failed(k)
               ? 0
               : tile_add(k, (struct tile_node){.op = TILE_INDEX,
                                                .type = TYPE_S32,
                                                .dim = dim,
                                                .dims = (tile_dims)(1u << dim)});
}

/* --- elementwise --- */

/* Operations of a fixed number of operands, element by element. */
static tile_value map(struct tile_kernel *k, enum tile_op op, tile_value *v)
{
    unsigned n = tile_op_info[op].operands, kind = tile_op_info[op].kind;
    struct tile_node node = {.op = (uint8_t)op, .dim = TILE_NO_DIM};
    enum type type;

    if (!tile_there(k, v, n)) {
        return 0;
    }
    if (kind == KIND_SELECT && k->node[v[0]].type != TILE_MASK) {
        return tile_fail(k, "the first of where is a condition, such as x < 0");
    }
    type = tile_join(k, op, v, kind == KIND_SELECT, kind == KIND_SHIFT ? 1 : n);
    if (type == TYPE_COUNT) {
        return 0;
    }
    if (kind == KIND_SHIFT) {
        const struct tile_node *by = &k->node[v[1]];
        if (by->op != TILE_NUMBER || by->dim != TILE_NO_DIM || by->number < 0 ||
            by->number != floor(by->number) || by->number >= type_bits(type)) {
            return tile_fail(k, "%s is by a number from 0 to %u", tile_op_text(op),
                             type_bits(type) - 1);
        }
    }
    node.type = kind == KIND_COMPARE ? TILE_MASK : (uint8_t)type;
    for (unsigned i = 0; i < n; i++) {
        node.dims |= k->node[v[i]].dims;
        node.operand[i] = v[i];
    }
    return tile_add(k, node);
}

tile_value tile_map1(struct tile_kernel *k, enum tile_op op, tile_value x)
{
    return map(k, op, (tile_value[]){x});
}

/* x * rec(y) of a y that lacks dimensions of x is one node, so that what looks for the softmax of
 * a row finds its quotient; a REC that nothing else has seen goes. */
static tile_value over(struct tile_kernel *k, tile_value x, tile_value rec)
{
    tile_value y = k->node[rec].operand[0];

    if (rec == k->n_nodes && x < rec) {
        k->n_nodes--;
    }
    return map(k, TILE_OVER, (tile_value[]){x, y});
}

static bool is_rec_of_fewer(const struct tile_kernel *k, tile_value x, tile_value rec)
{
    tile_dims all = k->node[x].dims, some = k->node[rec].dims;

    return k->node[rec].op == TILE_REC && k->node[rec].type == k->node[x].type &&
           (some & ~all) == 0 && some != all;
}

tile_value tile_map2(struct tile_kernel *k, enum tile_op op, tile_value x, tile_value y)
{
    if (op == TILE_MUL && tile_there(k, (tile_value[]){x, y}, 2)) {
        if (is_rec_of_fewer(k, x, y)) {
            return over(k, x, y);
        }
        if (is_rec_of_fewer(k, y, x)) {
            return over(k, y, x);
        }
    }
    return map(k, op, (tile_value[]){x, y});
}

tile_value tile_map3(struct tile_kernel *k, enum tile_op op, tile_value x, tile_value y,
                     tile_value z)
{
    return map(k, op, (tile_value[]){x, y, z});
}

tile_value tile_cast(struct tile_kernel *k, tile_value x, enum type type)
{
    if (!tile_there(k, &x, 1) || k->node[x].type == type) {
        return x;
    }
    if (k->node[x].type == TILE_MASK) { /* 1 where it holds */
        x = tile_map3(k, TILE_WHERE, x, tile_number(k, 1), tile_number(k, 0));
        return tile_cast(k, x, type);
    }
    return cast_node(k, x, type);
}

tile_value tile_quantise(struct tile_kernel *k, tile_value x, tile_value scale,
                         tile_value zero, enum type type)
{
    if (type != TYPE_S8 && type != TYPE_U8) {
        return tile_fail(k, "quantise gives s8 or u8");
    }
    x = tile_map1(k, TILE_ROUND, tile_map2(k, TILE_DIV, x, scale));
    return tile_cast(k, tile_map2(k, TILE_ADD, x, zero), type);
}

tile_value tile_dequantise(struct tile_kernel *k, tile_value x, tile_value scale,
                           tile_value zero)
{
    return tile_map2(k, TILE_MUL, tile_map2(k, TILE_SUB, tile_cast(k, x, TYPE_F32), zero),
                     scale);
}

/* --- along a dimension --- */

/* Whether a value has a dimension; op says what for. */
static bool has_dim(struct tile_kernel *k, enum tile_op op, tile_value x, uint8_t dim)
{
    char dims[TILE_TEXT_BYTES / 2];

    if (dim == TILE_NO_DIM || (k->node[x].dims >> dim & 1) != 0) {
        return dim != TILE_NO_DIM;
    }
    tile_dims_text(k, k->node[x].dims, dims, sizeof(dims));
    tile_fail(k, "%s over %s, but the value is %s", tile_op_text(op), k->dim[dim].name,
              dims);
    return false;
}

tile_value tile_reduce(struct tile_kernel *k, enum tile_op op, tile_value x, uint8_t dim)
{
    struct tile_node n = {.op = (uint8_t)op, .dim = dim};
    enum type type;

    if (!tile_there(k, &x, 1) || !has_dim(k, op, x, dim)) {
        return 0;
    }
    type = tile_join(k, op, &x, 0, 1);
    if (type == TYPE_COUNT) {
        return 0;
    }
    n.type = op == TILE_ARGMAX || op == TILE_COUNT ? TYPE_S32 : (uint8_t)type;
    n.dims = (tile_dims)(k->node[x].dims & ~(1u << dim));
    n.operand[0] = x;
    return tile_add(k, n);
}

tile_value tile_gather(struct tile_kernel *k, tile_value x, tile_value index, uint8_t dim)
{
    struct tile_node n = {.op = TILE_GATHER, .dim = dim, .operand = {x, index}};

    if (!tile_there(k, n.operand, 2) || !has_dim(k, TILE_GATHER, x, dim)) {
        return 0;
    }
    if (k->node[x].op != TILE_INPUT || k->node[index].op != TILE_INPUT ||
        k->node[index].type != TYPE_S32) {
        return tile_fail(k, "gather takes a parameter and one of s32, its indices");
    }
    n.type = k->node[x].type;
    n.dims = (tile_dims)((k->node[x].dims & ~(1u << dim)) | k->node[index].dims);
    if ((k->node[index].dims >> dim & 1) != 0) {
        return tile_fail(k, "gather over %s by indices that have it", k->dim[dim].name);
    }
    return tile_add(k, n);
}

/* Names the cast that is missing where one of the two is narrow. */
static tile_value refuse_dot(struct tile_kernel *k, unsigned x, unsigned y)
{
    bool first = y == TYPE_F16 || y == TYPE_BF16;
    bool second = !first && (x == TYPE_F16 || x == TYPE_BF16);
    char a[8], b[8];

    tile_type_text(x, a);
    tile_type_text(y, b);
    return tile_fail(k, "product of %s and %s: both are f16, bf16, f32 or s8%s%s%s", a, b,
                     first || second ? "; write " : "",
                     first    ? b
                     : second ? a
                              : "",
                     first    ? "(..) around the first"
                     : second ? "(..) around the second"
                              : "");
}

tile_value tile_dot(struct tile_kernel *k, tile_value x, tile_value y, uint8_t dim)
{
    struct tile_node n = {.op = TILE_DOT, .dim = dim, .operand = {x, y}};
    unsigned type;

    if (!tile_there(k, n.operand, 2) || !has_dim(k, TILE_DOT, x, dim) ||
        !has_dim(k, TILE_DOT, y, dim)) {
        return 0;
    }
    type = k->node[x].type;
    if (type != k->node[y].type ||
        (type != TYPE_F16 && type != TYPE_BF16 && type != TYPE_F32 && type != TYPE_S8)) {
        return refuse_dot(k, type, k->node[y].type);
    }
    n.type = type == TYPE_S8 ? TYPE_S32 : TYPE_F32;
    n.dims = (tile_dims)((k->node[x].dims | k->node[y].dims) & ~(1u << dim));
    return tile_add(k, n);
}
