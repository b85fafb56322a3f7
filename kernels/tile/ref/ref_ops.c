/* SPDX-License-Identifier: MIT
 *
 * Operations of the interpreter: values in double precision and their bounds; see ref.h.
 */
#include "kernels/tile/ref/ref.h"

#include <math.h>
#include <string.h>

/* --- types --- */

/* Half a unit in the last place of 1, of the smallest number, and the greatest number. */
static const struct {
    double unit, least, most;
} floats[] = {
    [TYPE_F32] = {0x1p-24, 0x1p-150, 0x1.fffffep127},
    [TYPE_F16] = {0x1p-11, 0x1p-25, 65504},
    [TYPE_BF16] = {0x1p-8, 0x1p-134, 0x1.fep127},
};

/* By the bits: in QEMU each comparison of doubles takes as long as ten other instructions, and
 * isfinite() saves and restores the flags of exceptions. */
static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static bool is_finite(double x)
{
    return (~bits_of(x) & 0x7ffull << 52) != 0;
}

static bool is_zero(double x)
{
    return bits_of(x) << 1 == 0;
}

static bool is_float(enum type type)
{
    return type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16;
}

/* Numbers of an integer type. */
static double lowest(enum type type)
{
    return type == TYPE_U8 ? 0 : -ldexp(1, (int)type_bits(type) - 1);
}

static double highest(enum type type)
{
    return ldexp(1, (int)type_bits(type) - (type != TYPE_U8)) - 1;
}

struct tile_number tile_ref_settle(struct tile_number x, enum type type, double roundings)
{
    double most = floats[type].most, size = fabs(x.value);

    if (!is_finite(x.bound)) { /* or NaN */
        x.bound = INFINITY;
        return x;
    }
    if (!is_finite(x.value)) {
        return x;
    }
    if (!is_zero(roundings)) {
        x.bound += roundings * (size * floats[type].unit + floats[type].least);
    }
    if (size + x.bound <= most) {
        return x;
    }
    /* Half a unit beyond the greatest number rounds to infinity. */
    return size - x.bound > most * (1 + floats[type].unit)
               ? (struct tile_number){copysign(INFINITY, x.value), 0}
               : (struct tile_number){x.value, INFINITY};
}

/* --- one operand --- */

static double gelu_tanh(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double function(enum tile_op op, double x)
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
    case TILE_SIGMOID:
        return 1 / (1 + exp(-x));
    case TILE_SILU:
        return x / (1 + exp(-x));
    case TILE_GELU:
        return x / 2 * (1 + erf(x * M_SQRT1_2));
    case TILE_GELU_TANH:
        return gelu_tanh(x);
    case TILE_SOFTPLUS:
        return fmax(x, 0) + log1p(exp(-fabs(x)));
    default:
        return NAN;
    }
}

/* What a bound of the operand does to the value. */
static double spread(enum tile_op op, struct tile_number x, double value)
{
    double below, above;

    if (x.bound == 0) {
        return 0;
    }
    if (op == TILE_ABS || op == TILE_SILU || op == TILE_GELU || op == TILE_GELU_TANH) {
        return 1.2 * x.bound; /* not monotonic, but nowhere steeper */
    }
    if (op == TILE_EXP && x.bound < 0x1p-10 && is_finite(value)) { /* e^(x+b) - e^x */
        return value * x.bound *
               (1 + x.bound / 2 * (1 + x.bound / 3 * (1 + x.bound / 4)));
    }
    if (op == TILE_REC && fabs(x.value) <= x.bound) {
        return INFINITY;
    }
    below = fabs(function(op, x.value - x.bound) - value);
    above = fabs(function(op, x.value + x.bound) - value);
    return isnan(below) || isnan(above) ? INFINITY : below > above ? below : above;
}

/* Half units that the machine's commands for an operation lose, of the value and, where
 * terms cancel, of the operand. */
static struct tile_number rounded(const struct tile_node *n, struct tile_number x,
                                  struct tile_number y)
{
    enum type type = (enum type)n->type;
    double unit = floats[type].unit;

    switch ((enum tile_op)n->op) {
    case TILE_NEG:
    case TILE_ABS:
    case TILE_RELU:
    case TILE_FLOOR:
    case TILE_CEIL:
    case TILE_ROUND:
    case TILE_TRUNC:
        return tile_ref_settle(y, type, 0);
    case TILE_GELU:
    case TILE_GELU_TANH:
        y.bound += is_finite(x.value) ? 5 * unit * fabs(x.value) : 0;
        return tile_ref_settle(y, type, 2);
    case TILE_SOFTPLUS:
        return tile_ref_settle(y, type, 4);
    case TILE_SIGMOID:
    case TILE_SILU: /* exp(-x) may be infinite where the value is not yet 0 */
        y.bound += (fabs(x.value) + 1) / floats[type].most;
        return tile_ref_settle(y, type, 8);
    default:
        return tile_ref_settle(y, type, 2);
    }
}

static struct tile_number unary(const struct tile_node *n, struct tile_number x)
{
    enum tile_op op = (enum tile_op)n->op;
    struct tile_number y = {function(op, x.value), 0};

    if (!is_float((enum type)n->type)) { /* NEG, RELU of integers */
        y.bound = x.bound;
        y.value = y.value > highest((enum type)n->type) ? x.value : y.value;
        return y;
    }
    y.bound = spread(op, x, y.value);
    return rounded(n, x, y);
}

static struct tile_number inverted(const struct tile_node *n, struct tile_number x)
{
    if (n->type == TILE_MASK) {
        x.value = 1 - x.value;
    } else {
        x.value = -1 - x.value; /* every bit */
    }
    return x;
}

/* --- two operands --- */

/* The low bits of an integer as the type's number. */
static double wrap(int64_t x, enum type type)
{
    return type == TYPE_S16 ? (double)(int16_t)(uint64_t)x : (double)(int32_t)(uint64_t)x;
}

static struct tile_number integers(const struct tile_node *n, struct tile_number x,
                                   struct tile_number y)
{
    int64_t a = (int64_t)x.value, b = (int64_t)y.value, z;
    bool certain = x.bound == 0 && y.bound == 0;

    switch ((enum tile_op)n->op) {
    case TILE_ADD:
        z = a + b;
        break;
    case TILE_SUB:
        z = a - b;
        break;
    case TILE_MUL:
        z = a * b;
        break;
    case TILE_MAX:
        return (struct tile_number){fmax(x.value, y.value), fmax(x.bound, y.bound)};
    case TILE_MIN:
        return (struct tile_number){fmin(x.value, y.value), fmax(x.bound, y.bound)};
    case TILE_AND:
        z = a & b;
        break;
    case TILE_OR:
        z = a | b;
        break;
    case TILE_SHL: { /* the sign stays */
        uint64_t rest = n->type == TYPE_S16 ? 0x7fff : 0x7fffffff;
        z = (int64_t)(((uint64_t)a << b) & rest) | (a < 0 ? ~(int64_t)rest : 0);
        break;
    }
    default: /* SHR */
        z = a >> b;
        break;
    }
    return (struct tile_number){wrap(z, (enum type)n->type), certain ? 0 : INFINITY};
}

/* What bounds of both do to a product and to a quotient. */
static double product_bound(struct tile_number x, struct tile_number y)
{
    return (is_zero(x.bound) ? 0 : fabs(y.value) * x.bound) +
           (is_zero(y.bound) ? 0 : (fabs(x.value) + x.bound) * y.bound);
}

static double quotient_bound(struct tile_number x, struct tile_number y, double q)
{
    double least = fabs(y.value) - y.bound;

    return is_zero(x.bound) && is_zero(y.bound) ? 0
           : least <= 0                         ? INFINITY
                                                : (x.bound + fabs(q) * y.bound) / least;
}

/* The greater one; NaN if one is. */
static double more(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}

static struct tile_number binary(const struct tile_node *n, struct tile_number x,
                                 struct tile_number y)
{
    struct tile_number z = {0, x.bound + y.bound};
    double roundings = 2;

    switch ((enum tile_op)n->op) {
    case TILE_ADD:
        z.value = x.value + y.value;
        break;
    case TILE_SUB:
        z.value = x.value - y.value;
        break;
    case TILE_MUL:
        z = (struct tile_number){x.value * y.value, product_bound(x, y)};
        break;
    case TILE_DIV:
        z.value = x.value / y.value;
        z.bound = quotient_bound(x, y, z.value);
        break;
    case TILE_OVER: /* the reciprocal may be infinite where the quotient is not */
        z.value = isinf(1 / (float)y.value) ? x.value * (1 / (float)y.value)
                                            : x.value / y.value;
        z.bound = quotient_bound(x, y, z.value);
        roundings = 3;
        break;
    case TILE_MAX:
    case TILE_MIN:
        z.value = n->op == TILE_MAX ? more(x.value, y.value) : -more(-x.value, -y.value);
        z.bound = fmax(x.bound, y.bound);
        roundings = 0;
        break;
    default: /* PRELU */
        z.value = x.value < 0 ? x.value * y.value : x.value;
        z.bound = x.value < x.bound ? product_bound(x, y) + x.bound : x.bound;
        break;
    }
    /* What is infinite or NaN by a certain operand is so whatever the other's bound. */
    if (!is_finite(z.value) && is_finite(x.bound) && is_finite(y.bound) &&
        (!is_finite(x.value) || !is_finite(y.value)) && fabs(x.value) >= x.bound &&
        fabs(y.value) >= y.bound) {
        z.bound = 0;
    }
    return tile_ref_settle(z, (enum type)n->type, roundings);
}

static struct tile_number masks(const struct tile_node *n, struct tile_number x,
                                struct tile_number y)
{
    /* What decides alone: a 0 of AND, a 1 of OR. */
    double decides = n->op == TILE_AND ? 0 : 1;

    if ((x.value == decides && x.bound == 0) || (y.value == decides && y.bound == 0)) {
        return (struct tile_number){decides, 0};
    }
    return (struct tile_number){n->op == TILE_AND ? fmin(x.value, y.value)
                                                  : fmax(x.value, y.value),
                                fmax(x.bound, y.bound)};
}

static struct tile_number compared(enum tile_op op, struct tile_number x,
                                   struct tile_number y)
{
    double bound = x.bound + y.bound;
    bool holds = op == TILE_EQ   ? x.value == y.value
                 : op == TILE_NE ? x.value != y.value
                 : op == TILE_LT ? x.value < y.value
                 : op == TILE_LE ? x.value <= y.value
                 : op == TILE_GT ? x.value > y.value
                                 : x.value >= y.value;

    return (struct tile_number){holds, bound != 0 && !(fabs(x.value - y.value) > bound)};
}

/* --- selection and casts --- */

static struct tile_number selected(const struct tile_number *x)
{
    struct tile_number y = x[0].value != 0 ? x[1] : x[2];

    if (x[0].bound != 0) {
        double apart = fabs(x[1].value - x[2].value);
        bool same = x[1].value == x[2].value;
        y.bound = fmax(x[1].bound, x[2].bound) + (same           ? 0
                                                  : isnan(apart) ? INFINITY
                                                                 : apart);
    }
    return y;
}

static double saturated(double x, enum type type)
{
    return isnan(x) ? 0 : fmin(fmax(rint(x), lowest(type)), highest(type));
}

/* The nearest number of a floating type, ties to even; beyond the greatest one it is not
 * yet infinity. */
static double nearest(double x, enum type type)
{
    int exponent, least = type == TYPE_F16 ? -13 : -125;
    double ulp;

    (void)frexp(x, &exponent);
    ulp = ldexp(floats[type].unit, exponent < least ? least : exponent);
    return is_finite(x) ? rint(x / ulp) * ulp : x;
}

/* What is known for certain is rounded as the machine does, else a bit more is unknown. */
static struct tile_number cast(struct tile_number x, enum type from, enum type to)
{
    double below, above, value;

    if (is_float(to)) {
        if (x.bound != 0) {
            return tile_ref_settle(x, to, to != TYPE_F32 || from == TYPE_S32 ? 1.01 : 0);
        }
        if (from == TYPE_S32 && to == TYPE_BF16) { /* goes to F32 first */
            x.value = nearest(x.value, TYPE_F32);
        }
        x.value = nearest(x.value, to);
        return tile_ref_settle(x, to, 0);
    }
    value = saturated(x.value, to);
    if (x.bound == 0) {
        return (struct tile_number){value, 0};
    }
    below = value - saturated(x.value - x.bound, to);
    above = saturated(x.value + x.bound, to) - value;
    return (struct tile_number){value, isinf(x.bound) ? INFINITY : fmax(below, above)};
}

struct tile_number tile_ref_op(const struct tile_node *n, const struct tile_number *x,
                               enum type from)
{
    switch ((enum tile_kind)tile_op_info[n->op].kind) {
    case KIND_COMPARE:
        return compared((enum tile_op)n->op, x[0], x[1]);
    case KIND_SELECT:
        return selected(x);
    case KIND_CAST:
        return cast(x[0], from, (enum type)n->type);
    default:
        break;
    }
    if (n->op == TILE_NOT) {
        return inverted(n, x[0]);
    }
    if (tile_op_info[n->op].operands == 1) {
        return unary(n, x[0]);
    }
    return n->type == TILE_MASK            ? masks(n, x[0], x[1])
           : !is_float((enum type)n->type) ? integers(n, x[0], x[1])
                                           : binary(n, x[0], x[1]);
}
