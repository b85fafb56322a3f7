/* SPDX-License-Identifier: MIT
 *
 * What is computed of numbers alone, and where a half goes; see fold.h.
 */
#include "kernels/tile/ir/fold.h"

#include <math.h>

#include "kernels/tile/ir/build.h"

double fold_round(double x, enum type type)
{
    int exponent, digits = type == TYPE_F16 ? 11 : 8,
                  least = type == TYPE_F16 ? -13 : -125;
    double ulp, most = ldexp(1, (int)type_bits(type) - (type != TYPE_U8)) - 1;

    if (type == TYPE_F32 || type == TILE_MASK) {
        return (double)(float)x;
    }
    if (type != TYPE_F16 && type != TYPE_BF16) {
        return isnan(x) ? 0 : fmin(fmax(rint(x), type == TYPE_U8 ? 0 : -most - 1), most);
    }
    (void)frexp(x, &exponent);
    ulp = ldexp(1, (exponent < least ? least : exponent) - digits);
    x = isfinite(x) ? rint(x / ulp) * ulp : x;
    return type == TYPE_F16 && fabs(x) > 65504 ? copysign(INFINITY, x) : x;
}

double fold1(enum tile_op op, double x)
{
    switch (op) {
    case TILE_NEG:
        return -x;
    case TILE_ABS:
        return fabs(x);
    case TILE_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case TILE_EXP:
        return exp(x);
    case TILE_LN:
        return log(x);
    case TILE_SQRT:
        return sqrt(x);
    case TILE_RSQRT:
        return 1 / sqrt(x);
    case TILE_REC:
        return 1 / x;
    case TILE_TANH:
        return tanh(x);
    case TILE_ERF:
        return erf(x);
    case TILE_FLOOR:
        return floor(x);
    case TILE_CEIL:
        return ceil(x);
    case TILE_ROUND:
        return rint(x);
    case TILE_TRUNC:
        return trunc(x);
    default: /* NOT, of a mask */
        return 1 - x;
    }
}

double fold2(enum tile_op op, double x, double y)
{
    switch (op) {
    case TILE_ADD:
        return x + y;
    case TILE_SUB:
        return x - y;
    case TILE_MUL:
        return x * y;
    case TILE_DIV:
    case TILE_OVER:
        return x / y;
    case TILE_PRELU:
        return x < 0 ? x * y : x;
    case TILE_MAX:
        return isnan(x) || x > y ? x : y;
    case TILE_MIN:
        return isnan(x) || x < y ? x : y;
    case TILE_EQ:
        return x == y;
    case TILE_NE:
        return x != y;
    case TILE_LT:
        return x < y;
    case TILE_LE:
        return x <= y;
    case TILE_GT:
        return x > y;
    case TILE_GE:
        return x >= y;
    case TILE_AND:
        return fmin(x, y);
    default: /* OR, of masks */
        return fmax(x, y);
    }
}

double fold_integers(enum tile_op op, double x, double y, enum type type)
{
    int64_t a = (int64_t)x, b = (int64_t)y, z = op == TILE_AND ? a & b : a | b;

    if (op != TILE_AND && op != TILE_OR) {
        z = (int64_t)fold2(op, x, y); /* below 2^53 unless it is a product of S32 */
        z = op == TILE_MUL ? a * b : z;
    }
    return type == TYPE_S16 ? (double)(int16_t)(uint64_t)z : (double)(int32_t)(uint64_t)z;
}

/* The one node, of those that are live, that needs v; 0: several do, or a result, or v has a
 * name. */
static tile_value only_user(const struct tile_kernel *k, const uint8_t *live,
                            tile_value v)
{
    tile_value user = 0;
    unsigned users = 0;

    for (unsigned i = 0; i < k->n_results; i++) {
        users += k->result[i].value == v;
    }
    for (unsigned i = 0; i < k->n_names; i++) {
        users += k->names[i].value == v;
    }
    for (tile_value u = v + 1; u <= k->n_nodes; u++) {
        for (unsigned i = 0; i < 3 && live[u]; i++) {
            users += k->node[u].operand[i] == v;
            user = k->node[u].operand[i] == v ? u : user;
        }
    }
    return users == 1 ? user : 0;
}

unsigned fold_halved(const struct tile_kernel *k, const uint8_t *live, tile_value v)
{
    const struct tile_node *n = &k->node[v];
    tile_value user;

    if (n->op != TILE_MUL || n->type != TYPE_F32 || n->loop || k->exact) {
        return 0;
    }
    user = only_user(k, live, v);
    for (unsigned i = 0; i < 2 && user && k->node[user].op == TILE_GELU; i++) {
        const struct tile_node *y = &k->node[n->operand[i]];
        if (y->dims != n->dims && y->dims && y->op != TILE_NUMBER &&
            k->node[n->operand[1 - i]].dims == n->dims) {
            return i + 1;
        }
    }
    return 0;
}

/* --- in half --- */

bool fold_fits_f16(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];

    return (n->op == TILE_CAST && k->node[n->operand[0]].type == TYPE_F16) ||
           (n->op == TILE_NUMBER && fold_round(n->number, TYPE_F16) == n->number);
}

/* Whether f16(v) is one command in F16 of values that are: of x + y and the like rounding to F32
 * before changes nothing, since that has more than twice the digits; what chooses one of its
 * operands, or changes a sign, is the same before and behind rounding. */
static bool rounds_first(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];

    if (n->type != TYPE_F32 || fold_fits_f16(k, v)) {
        return fold_fits_f16(k, v);
    }
    switch (n->op) {
    case TILE_ADD:
    case TILE_SUB:
    case TILE_MUL:
        return fold_fits_f16(k, n->operand[0]) && fold_fits_f16(k, n->operand[1]);
    case TILE_MAX:
    case TILE_MIN:
        return rounds_first(k, n->operand[0]) && rounds_first(k, n->operand[1]);
    case TILE_RELU:
    case TILE_ABS:
    case TILE_NEG:
        return rounds_first(k, n->operand[0]);
    default:
        return false;
    }
}

bool fold_is_half(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];

    return n->op == TILE_CAST && n->type == TYPE_F16 &&
           !fold_fits_f16(k, n->operand[0]) && rounds_first(k, n->operand[0]);
}

void fold_mark_half(const struct tile_kernel *k, tile_value v, uint8_t *live)
{
    const struct tile_node *n = &k->node[v];

    if (fold_fits_f16(k, v)) {
        live[n->op == TILE_CAST ? n->operand[0] : v] = 1;
        return;
    }
    for (unsigned i = 0; i < tile_op_info[n->op].operands; i++) {
        fold_mark_half(k, n->operand[i], live);
    }
}

tile_value fold_half(struct tile_kernel *k, tile_value v)
{
    struct tile_node n = k->node[v];

    n.type = TYPE_F16;
    return n.op == TILE_CAST ? n.operand[0] : tile_add(k, n);
}

tile_value fold_before_cast(struct tile_kernel *k, tile_value x, enum type to)
{
    struct tile_node n = k->node[x];

    if (n.type != TYPE_F32 || (to != TYPE_S8 && to != TYPE_U8)) {
        return x;
    }
    if (n.op == TILE_ROUND) {
        return n.operand[0];
    }
    if (n.op != TILE_WHERE || !fold_fits_f16(k, n.operand[1]) ||
        !fold_fits_f16(k, n.operand[2])) {
        return x;
    }
    n.type = TYPE_F16;
    n.operand[1] = fold_half(k, n.operand[1]);
    n.operand[2] = fold_half(k, n.operand[2]);
    return tile_add(k, n);
}
