/* SPDX-License-Identifier: MIT
 *
 * Functions of tile programs that are made of operations; see ir.h.
 */
#include <math.h>
#include <string.h>

#include "kernels/tile/ir/build.h"

/* x with a number. */
static tile_value with(struct tile_kernel *k, enum tile_op op, tile_value x, double y)
{
    return tile_map2(k, op, x, tile_number(k, y));
}

static tile_value clip(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    (void)dim;
    return tile_map2(k, TILE_MIN, tile_map2(k, TILE_MAX, v[0], v[1]), v[2]);
}

/* 1, -1, or what it is itself: 0 or NaN. */
static tile_value sign(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value below = with(k, TILE_LT, v[0], 0), above = with(k, TILE_GT, v[0], 0);

    (void)dim;
    below = tile_map3(k, TILE_WHERE, below, tile_number(k, -1), v[0]);
    return tile_map3(k, TILE_WHERE, above, tile_number(k, 1), below);
}

/* x, below 0 y * (exp(x) - 1). exp(x) is z = exp(log(z)) exactly, so that of x near 0 what is lost
 * is (x - log(z)) z; from -80 down z is nothing beside 1. */
static tile_value elu(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value x = with(k, TILE_MAX, v[0], -80), z = tile_map1(k, TILE_EXP, x), u;

    (void)dim;
    u = tile_map2(k, TILE_SUB, x, tile_map1(k, TILE_LN, z));
    u = tile_map2(k, TILE_ADD, with(k, TILE_SUB, z, 1), tile_map2(k, TILE_MUL, u, z));
    return tile_map3(k, TILE_WHERE, with(k, TILE_LT, v[0], 0),
                     tile_map2(k, TILE_MUL, u, v[1]), v[0]);
}

/* clip(x + 3, 0, 6) / 6: near -3 the sum is exact. */
static tile_value hard_sigmoid(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value u = with(k, TILE_MAX, with(k, TILE_ADD, v[0], 3), 0);

    (void)dim;
    return with(k, TILE_MUL, with(k, TILE_MIN, u, 6), 1.0 / 6);
}

static tile_value hard_swish(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    return tile_map2(k, TILE_MUL, v[0], hard_sigmoid(k, v, dim));
}

/* x - y * floor(x / y). Of a y that is no number of the text also where y is infinite, where the
 * quotient overflows, or rounds up to a whole number: then the rest is y more; 0 to y always. */
static tile_value mod(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value y = v[1];
    tile_value q = tile_map1(k, TILE_FLOOR, tile_map2(k, TILE_DIV, v[0], y));
    tile_value r = tile_map2(k, TILE_MUL, y, q);

    (void)dim;
    if (k->node[y].op == TILE_NUMBER) {
        return tile_map2(k, TILE_SUB, v[0], r);
    }
    r = tile_map3(k, TILE_WHERE, with(k, TILE_EQ, q, 0), q, r);
    r = tile_map2(k, TILE_SUB, v[0], r);
    q = with(k, TILE_LT, tile_map2(k, TILE_MUL, r, y), 0);
    r = tile_map3(k, TILE_WHERE, q, tile_map2(k, TILE_ADD, r, y), r);
    r = tile_map2(k, TILE_MIN, r, with(k, TILE_MAX, y, 0));
    return tile_map2(k, TILE_MAX, r, with(k, TILE_MIN, y, 0));
}

/* x to the n, by squares and products. */
static tile_value whole_power(struct tile_kernel *k, tile_value x, unsigned n)
{
    tile_value y = 0;

    for (; n; n /= 2) {
        if (n % 2) {
            y = y ? tile_map2(k, TILE_MUL, y, x) : x;
        }
        x = n > 1 ? tile_map2(k, TILE_MUL, x, x) : x;
    }
    return y;
}

/* Of any numbers, as IEEE 754's pow: exp(y * log(x)); 1 if x is 1 or y is 0, whatever the other
 * one; below 0 of whole y alone, but for -infinity; of odd y with the sign of x, that of -0 too. */
static tile_value any_power(struct tile_kernel *k, tile_value x, tile_value y)
{
    tile_value half = with(k, TILE_MUL, y, 0.5), some, below, z;
    tile_value whole = tile_map2(k, TILE_EQ, y, tile_map1(k, TILE_FLOOR, y));
    tile_value odd = tile_map2(k, TILE_NE, half, tile_map1(k, TILE_FLOOR, half));

    odd = tile_map2(k, TILE_AND, whole, odd);
    below = with(k, TILE_LT, tile_map2(k, TILE_MIN, x, tile_map1(k, TILE_REC, x)), 0);
    some = tile_map2(k, TILE_OR, whole, with(k, TILE_EQ, x, -INFINITY));
    z = tile_map3(k, TILE_WHERE, some, tile_map1(k, TILE_ABS, x), x);
    z = tile_map1(k, TILE_LN, z);
    some = tile_map2(k, TILE_OR, with(k, TILE_EQ, z, 0), with(k, TILE_EQ, y, 0));
    z = tile_map3(k, TILE_WHERE, some, tile_number(k, 0), tile_map2(k, TILE_MUL, z, y));
    z = tile_map1(k, TILE_EXP, z);
    odd = tile_map2(k, TILE_AND, odd, below);
    return tile_map3(k, TILE_WHERE, odd, tile_map1(k, TILE_NEG, z), z);
}

/* Of a number in the text: a whole one up to MOST by products, another one by log(x), which is NaN
 * below 0. */
static tile_value power(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    enum { MOST = 16 };
    const struct tile_node *y = &k->node[v[1]];
    bool known = y->op == TILE_NUMBER && y->dim == TILE_NO_DIM;
    double n = known ? fabs(y->number) : INFINITY;

    (void)dim;
    if (n == 0) {
        return tile_map3(k, TILE_WHERE, with(k, TILE_EQ, v[0], 0), tile_number(k, 1),
                         tile_number(k, 1));
    }
    if (n >= 1 && n <= MOST && n == floor(n)) {
        tile_value z = whole_power(k, v[0], (unsigned)n);
        return y->number < 0 ? tile_map1(k, TILE_REC, z) : z;
    }
    return known ? tile_map1(k, TILE_EXP,
                             tile_map2(k, TILE_MUL, tile_map1(k, TILE_LN, v[0]), v[1]))
                 : any_power(k, v[0], v[1]);
}

static tile_value is_nan(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    (void)dim;
    return tile_map2(k, TILE_NE, v[0], v[0]);
}

static tile_value is_inf(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    (void)dim;
    return with(k, TILE_EQ, tile_map1(k, TILE_ABS, v[0]), INFINITY);
}

static tile_value either(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value both = tile_map2(k, TILE_AND, v[0], v[1]);

    (void)dim;
    return tile_map2(k, TILE_AND, tile_map2(k, TILE_OR, v[0], v[1]),
                     tile_map1(k, TILE_NOT, both));
}

static tile_value argmin(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    return tile_reduce(k, TILE_ARGMAX, tile_map1(k, TILE_NEG, v[0]), dim);
}

static tile_value every(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    return tile_map1(k, TILE_NOT,
                     tile_reduce(k, TILE_ANY, tile_map1(k, TILE_NOT, v[0]), dim));
}

static tile_value norm(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    return tile_map1(k, TILE_SQRT,
                     tile_reduce(k, TILE_SUM, tile_map2(k, TILE_MUL, v[0], v[0]), dim));
}

const struct tile_function tile_functions[] = {
    {"clip", "clip(x, low, high)", 3, false, clip},
    {"sign", "sign(x)", 1, false, sign},
    {"mod", "mod(x, y)", 2, false, mod},
    {"pow", "pow(x, y)", 2, false, power},
    {"elu", "elu(x, alpha)", 2, false, elu},
    {"hard_sigmoid", "hard_sigmoid(x)", 1, false, hard_sigmoid},
    {"hard_swish", "hard_swish(x)", 1, false, hard_swish},
    {"isnan", "isnan(x)", 1, false, is_nan},
    {"isinf", "isinf(x)", 1, false, is_inf},
    {"xor", "xor(p, q)", 2, false, either},
    {"argmin", "argmin(x, dimension)", 2, true, argmin},
    {"all", "all(p, dimension)", 2, true, every},
    {"norm", "norm(x, dimension)", 2, true, norm},
    {"size", "size(dimension)", 1, true, tile_size},
};
const unsigned tile_function_count = sizeof(tile_functions) / sizeof(tile_functions[0]);

const struct tile_function *tile_find_function(const char *name)
{
    for (unsigned i = 0; i < tile_function_count; i++) {
        if (strcmp(tile_functions[i].name, name) == 0) {
            return &tile_functions[i];
        }
    }
    return NULL;
}
