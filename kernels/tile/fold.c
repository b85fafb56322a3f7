/* SPDX-License-Identifier: MIT
 *
 * What is computed of numbers alone; see fold.h.
 */
#include "kernels/tile/fold.h"

#include <math.h>

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
