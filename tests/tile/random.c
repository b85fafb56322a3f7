/* SPDX-License-Identifier: MIT
 *
 * Random tile programs; see random.h. Values are kept by what they are: numbers that float
 * arithmetic takes, integers and masks. Numbers stay moderate: what grows is brought back
 * by a tanh or a division.
 */
#include "tests/tile/random.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { VALUES = 24 };
enum kind { NUMBER, INTEGER, MASK, KINDS };

struct value {
    char name[8];
    enum kind kind;
    bool varies;      /* with a tensor: results are such */
    unsigned dims;    /* a bit each */
    const char *type; /* as it is declared; of what is computed "" */
};

struct random {
    uint32_t seed;
    char *text;
    size_t left;
    unsigned n_dims, n_values;
    bool products;
    struct value value[VALUES];
};

static const char *const dim_names[RANDOM_DIMS] = {"m", "n", "k"};

/* 0 .. n - 1 */
static unsigned pick(struct random *r, unsigned n)
{
    r->seed = r->seed * 1664525u + 1013904223u;
    return (r->seed >> 16) % n;
}

static const char *one_of(struct random *r, const char *const *words, unsigned n)
{
    return words[pick(r, n)];
}
#define ONE_OF(r, ...)                                                                   \
    one_of((r), (const char *const[]){__VA_ARGS__},                                      \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

__attribute__((format(printf, 2, 3))) static void put(struct random *r,
                                                      const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(r->text, r->left, format, args);
    va_end(args);
    n = (size_t)n < r->left ? n : (int)r->left - 1;
    r->text += n;
    r->left -= (size_t)n;
}

/* `f32[m, n]` */
static void put_tensor(struct random *r, const char *type, unsigned dims)
{
    const char *between = "[";

    put(r, "%s", type);
    for (unsigned d = 0; d < r->n_dims; d++) {
        if ((dims >> d & 1) != 0) {
            put(r, "%s%s", between, dim_names[d]);
            between = ", ";
        }
    }
    put(r, dims ? "]" : "");
}

static struct value *add(struct random *r, enum kind kind, unsigned dims)
{
    struct value *v = &r->value[r->n_values++];

    *v = (struct value){.kind = kind, .dims = dims, .type = "", .varies = dims != 0};
    snprintf(v->name, sizeof(v->name), "v%u", r->n_values);
    return v;
}

/* Some value of a kind, the later the likelier; NULL: there is none. */
static const struct value *some(struct random *r, enum kind kind)
{
    const struct value *found = NULL;

    for (unsigned i = 0; i < r->n_values; i++) {
        if (r->value[i].kind == kind && (found == NULL || pick(r, 3) != 0)) {
            found = &r->value[i];
        }
    }
    return found;
}

/* One of the dimensions of a set. */
static unsigned some_dim(struct random *r, unsigned dims)
{
    unsigned d = pick(r, RANDOM_DIMS);

    while ((dims >> d & 1) == 0) {
        d = (d + 1) % RANDOM_DIMS;
    }
    return d;
}

static const char *number(struct random *r)
{
    return ONE_OF(r, "0.5", "2", "-1.25", "1e-3", "3", "0.1", "-0.75", "1");
}

/* --- statements: each a name, = and an expression --- */

static void unary(struct random *r, const struct value *x)
{
    struct value *v = add(r, NUMBER, x->dims);

    v->varies = x->varies;
    if (pick(r, 2) != 0) {
        put(r, "    %s = %s(%s)\n", v->name,
            ONE_OF(r, "abs", "relu", "tanh", "erf", "sigmoid", "silu", "gelu",
                   "gelu_tanh", "softplus", "neg", "floor", "round", "ceil", "trunc",
                   "sign", "hard_sigmoid", "hard_swish"),
            x->name);
        return;
    }
    switch (pick(r, 6)) {
    case 0:
        put(r, "    %s = exp(clip(%s, -4, 4))\n", v->name, x->name);
        break;
    case 5:
        put(r, "    %s = %s(%s, %s)\n", v->name, ONE_OF(r, "elu", "mod"), x->name,
            number(r));
        break;
    case 1:
        put(r, "    %s = log(abs(%s) + 0.01)\n", v->name, x->name);
        break;
    case 2:
        put(r, "    %s = %s(abs(%s) + 0.5)\n", v->name, ONE_OF(r, "sqrt", "rsqrt", "rec"),
            x->name);
        break;
    case 3:
        put(r, "    %s = %s %s %s\n", v->name, x->name, ONE_OF(r, "+", "-", "*", "/"),
            number(r));
        break;
    default:
        put(r, "    %s = %s %s %s\n", v->name, number(r), ONE_OF(r, "+", "-", "*"),
            x->name);
        break;
    }
}

static void binary(struct random *r, const struct value *x, const struct value *y)
{
    struct value *v = add(r, NUMBER, x->dims | y->dims);

    v->varies = x->varies || y->varies;
    switch (pick(r, 6)) {
    case 0:
        put(r, "    %s = %s / (abs(%s) + 0.25)\n", v->name, x->name, y->name);
        break;
    case 1:
        put(r, "    %s = %s(%s, %s + 0)\n", v->name, ONE_OF(r, "max", "min", "prelu"),
            x->name, y->name);
        break;
    case 2:
        put(r, "    %s = tanh(%s) * %s + %s\n", v->name, x->name, y->name, number(r));
        break;
    default:
        put(r, "    %s = %s %s %s\n", v->name, x->name, ONE_OF(r, "+", "-", "*"),
            y->name);
        break;
    }
}

static void reduce(struct random *r, const struct value *x)
{
    unsigned d = some_dim(r, x->dims);
    struct value *v = add(r, NUMBER, x->dims & ~(1u << d));

    v->varies = true;
    if (pick(r, 8) == 0) {
        v->kind = INTEGER;
        put(r, "    %s = argmax(%s, %s)\n", v->name, x->name, dim_names[d]);
        return;
    }
    put(r, "    %s = %s(%s, %s)\n", v->name,
        ONE_OF(r, "sum", "mean", "var", "max", "min", "sum", "max"), x->name,
        dim_names[d]);
}

static void mask(struct random *r, const struct value *x, const struct value *y)
{
    struct value *v = add(r, MASK, x->dims | y->dims);
    const char *sign = ONE_OF(r, "<", "<=", ">", ">=", "==", "!=");

    v->varies = x->varies;
    if (pick(r, 4) == 0 && x->dims != 0) { /* the place in a dimension */
        unsigned d = some_dim(r, x->dims);
        v->dims = 1u << d;
        put(r, "    %s = %s %s %u\n", v->name, dim_names[d], sign, pick(r, 9));
    } else if (pick(r, 2) != 0) {
        v->dims = x->dims;
        put(r, "    %s = %s %s %s\n", v->name, x->name, sign, number(r));
    } else {
        put(r, "    %s = %s %s %s\n", v->name, x->name, sign, y->name);
    }
}

/* What masks are for. */
static void by_mask(struct random *r, const struct value *m, const struct value *x,
                    const struct value *y)
{
    struct value *v = add(r, NUMBER, m->dims | x->dims);

    v->varies = m->varies || x->varies;
    switch (pick(r, m->dims != 0 ? 6 : 4)) {
    case 0:
        put(r, "    %s = where(%s, %s, %s)\n", v->name, m->name, x->name, number(r));
        break;
    case 1:
        put(r, "    %s = where(not(%s), %s, %s)\n", v->name, m->name, number(r), x->name);
        break;
    case 4:
    case 5: {
        unsigned d = some_dim(r, m->dims);
        v->dims = m->dims & ~(1u << d);
        v->kind = pick(r, 2) != 0 ? INTEGER : MASK;
        put(r, "    %s = %s(%s, %s)\n", v->name, v->kind == MASK ? "any" : "count",
            m->name, dim_names[d]);
        break;
    }
    default:
        v->dims |= y->dims;
        put(r, "    %s = where(%s, %s, %s)\n", v->name, m->name, x->name, y->name);
        break;
    }
}

static void integer(struct random *r, const struct value *x)
{
    struct value *v = add(r, INTEGER, x->dims);

    v->varies = true;
    switch (pick(r, 4)) {
    case 0:
        put(r, "    %s = %s(%s, 5)\n", v->name, ONE_OF(r, "max", "min"), x->name);
        break;
    case 1:
        v->kind = NUMBER;
        put(r, "    %s = f32(%s) * 0.01\n", v->name, x->name);
        break;
    default:
        put(r, "    %s = %s %s 3\n", v->name, x->name, ONE_OF(r, "+", "-", "*"));
        break;
    }
}

/* As it is if it is declared so, else a cast of what stays moderate. */
static void put_operand(struct random *r, const struct value *x, const char *type)
{
    if (strcmp(x->type, type) == 0) {
        put(r, "%s", x->name);
    } else {
        put(r, "%s(%s(%s))", type, strcmp(type, "s8") == 0 ? "f32" : "tanh", x->name);
    }
}

/* Over one of the dimensions that both have. */
static void product(struct random *r, const struct value *x, const struct value *y)
{
    const char *type = ONE_OF(r, "f16", "f16", "f16", "bf16", "s8", "f32");
    unsigned d = some_dim(r, x->dims & y->dims);
    struct value *v = add(r, NUMBER, (x->dims | y->dims) & ~(1u << d));

    v->varies = true;
    v->kind = strcmp(type, "s8") == 0 ? INTEGER : NUMBER;
    put(r, "    %s = dot(", v->name);
    put_operand(r, x, type);
    put(r, ", ");
    put_operand(r, y, type);
    put(r, ", %s)\n", dim_names[d]);
}

static void statement(struct random *r)
{
    const struct value *x = some(r, NUMBER), *y = some(r, NUMBER), *m = some(r, MASK),
                       *i = some(r, INTEGER);

    switch (pick(r, r->products ? 14 : 10)) {
    case 10:
    case 11:
    case 12:
    case 13:
        if (x->dims & y->dims) {
            product(r, x, y);
        }
        break;
    case 0:
    case 1:
        binary(r, x, y);
        break;
    case 2:
    case 3:
    case 4:
        if (x->dims != 0) {
            reduce(r, x);
        }
        break;
    case 5:
        mask(r, x, y);
        break;
    case 6:
        if (m) {
            by_mask(r, m, x, y);
        }
        break;
    case 7:
        if (i) {
            integer(r, i);
        }
        break;
    default:
        unary(r, x);
        break;
    }
}

/* --- the whole --- */

static void sizes(struct random *r, uint32_t most, uint32_t *size)
{
    static const uint8_t edges[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65};

    for (unsigned d = 0; d < r->n_dims; d++) {
        size[d] = pick(r, 3) != 0 ? 1 + pick(r, 40) : edges[pick(r, sizeof(edges))];
        if (d + 1 == r->n_dims && pick(r, 4) == 0) { /* a long row */
            size[d] = 100 + pick(r, 1200);
        }
        if (most > RANDOM_LONG) { /* rows that no tile has, and few of them */
            size[d] =
                d + 1 == r->n_dims ? RANDOM_LONG + pick(r, RANDOM_LONG) : 1 + pick(r, 2);
        }
        while (size[d] > 1 && size[d] > most) {
            size[d] /= 2;
        }
        most /= size[d];
    }
}

static const char *result_type(struct random *r, enum kind kind)
{
    return kind == INTEGER ? "s32"
           : kind == MASK  ? "u8"
                           : ONE_OF(r, "f32", "f32", "f16", "s8", "bf16", "s32");
}

/* A value that may be a result: the last one that has dimensions, or, later, any. */
static const struct value *outcome(struct random *r, unsigned n_params, bool later)
{
    const struct value *found = &r->value[0];

    for (unsigned i = n_params; i < r->n_values; i++) {
        const struct value *v = &r->value[i];
        if (v->varies &&
            (later ? found == &r->value[0] || pick(r, 2) != 0 : v->dims != 0)) {
            found = v;
        }
    }
    return found;
}

/* One or two values that are no parameters become results, which the first line names. */
static void results(struct random *r, unsigned n_params, char *signature, size_t size)
{
    unsigned n = 1 + (pick(r, 3) == 0);
    char *text = r->text;
    size_t left = r->left;

    signature[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const struct value *v = outcome(r, n_params, i != 0);
        const char *type = result_type(r, v->kind);
        struct random to = *r;
        to.text = signature + strlen(signature);
        to.left = size - strlen(signature);
        put(&to, "%sr%u: ", i ? ", " : "", i);
        put_tensor(&to, type, v->dims);
        snprintf(text, left, "    r%u = %s(%s)\n", i, type, v->name);
        left -= strlen(text);
        text += strlen(text);
    }
    r->text = text;
    r->left = left;
}

static void params(struct random *r)
{
    unsigned all = (1u << r->n_dims) - 1, n = 1 + pick(r, 4);

    for (unsigned i = 0; i < n; i++) {
        struct value *v = add(r, NUMBER, i == 0 ? all : pick(r, all + 1));
        v->type = pick(r, 2) != 0 ? "f32" : ONE_OF(r, "f16", "bf16", "s8", "u8", "s32");
        v->kind = strcmp(v->type, "s32") == 0 && i != 0 ? INTEGER : NUMBER;
        v->type = i == 0 && v->type[0] == 's' ? "f32" : v->type;
        v->varies = true;
        put(r, "%s%s: ", i ? ", " : "", v->name);
        put_tensor(r, v->type, v->dims);
    }
    if (pick(r, 3) == 0) {
        put(r, ", s = %s", number(r));
        snprintf(add(r, NUMBER, 0)->name, sizeof(r->value[0].name), "s");
    }
}

unsigned random_program(uint32_t seed, uint32_t most, char *text,
                        uint32_t size[RANDOM_DIMS])
{
    struct random r = {.seed = seed * 2654435761u + 1,
                       .text = text,
                       .left = RANDOM_TEXT,
                       .products = seed & RANDOM_PRODUCTS};
    char body[RANDOM_TEXT], signature[256];
    struct random inside;
    unsigned n_params, statements;

    pick(&r, 2);
    r.n_dims = 1 + pick(&r, RANDOM_DIMS);
    sizes(&r, most, size);
    put(&r, "kernel random_%u(", seed);
    params(&r);
    n_params = r.n_values;
    statements = n_params + 1 + pick(&r, 9);
    inside = r; /* the body comes behind the first line, which names its results */
    inside.text = body;
    inside.left = sizeof(body);
    while (inside.n_values < statements) {
        statement(&inside);
    }
    results(&inside, n_params, signature, sizeof(signature));
    put(&r, ") -> %s\n%s", signature, body);
    return r.n_dims;
}
