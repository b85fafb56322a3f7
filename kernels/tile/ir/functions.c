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

/* x, below 0 y * (exp(x) - 1): what is not below is 0 there. */
static tile_value elu(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value u = tile_map1(k, TILE_EXP, with(k, TILE_MIN, v[0], 0));

    (void)dim;
    u = tile_map2(k, TILE_MUL, with(k, TILE_SUB, u, 1), v[1]);
    return tile_map2(k, TILE_ADD, with(k, TILE_MAX, v[0], 0), u);
}

static tile_value hard_sigmoid(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value u = with(k, TILE_ADD, with(k, TILE_MUL, v[0], 1.0 / 6), 0.5);

    (void)dim;
    return with(k, TILE_MIN, with(k, TILE_MAX, u, 0), 1);
}

static tile_value hard_swish(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    return tile_map2(k, TILE_MUL, v[0], hard_sigmoid(k, v, dim));
}

/* x - y * floor(x / y): of y's sign. */
static tile_value mod(struct tile_kernel *k, const tile_value *v, uint8_t dim)
{
    tile_value q = tile_map1(k, TILE_FLOOR, tile_map2(k, TILE_DIV, v[0], v[1]));

    (void)dim;
    return tile_map2(k, TILE_SUB, v[0], tile_map2(k, TILE_MUL, v[1], q));
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

/* Of a whole number up to MOST; else exp(y * log(x)), which is NaN below 0. */
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
    return tile_map1(k, TILE_EXP,
                     tile_map2(k, TILE_MUL, tile_map1(k, TILE_LN, v[0]), v[1]));
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
