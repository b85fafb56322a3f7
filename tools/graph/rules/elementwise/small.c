/* SPDX-License-Identifier: MIT
 *
 * See small.h. Bits are a sign, an exponent and a mantissa; read as a whole number without the
 * sign they are in the order of what they stand for.
 */
#include "tools/graph/rules/elementwise/small.h"

#include <math.h>
#include <string.h>

/* least: log2 of the smallest number that has all of its mantissa. Bits without the sign: the
 * largest number, infinity, NaN; with it, where NaN is -0 otherwise. */
struct kind {
    int bits, mantissa, least, largest, infinite, nan;
    bool one_nan; /* -0 is it */
};

static const struct kind *kind_of(enum elem type)
{
    static const struct kind kinds[] = {
        [ELEM_E4M3] = {8, 3, -6, 0x7e, 0x7f, 0x7f},
        [ELEM_E4M3Z] = {8, 3, -7, 0x7f, 0x80, 0x80, true},
        [ELEM_E5M2] = {8, 2, -14, 0x7b, 0x7c, 0x7e},
        [ELEM_E5M2Z] = {8, 2, -15, 0x7f, 0x80, 0x80, true},
        [ELEM_E2M1] = {4, 1, 0, 7, 7, 8},
    };

    return &kinds[type];
}

static int sign_of(const struct kind *k)
{
    return 1 << (k->bits - 1);
}

/* --- on the host --- */

double small_value(enum elem type, double bits)
{
    const struct kind *k = kind_of(type);
    int code = (int)bits, sign = sign_of(k), size = code & (sign - 1),
        whole = 1 << k->mantissa;
    int exponent = size >> k->mantissa, rest = size & (whole - 1);
    double x = exponent ? ldexp(whole + rest, exponent - 1) : rest;

    if ((k->one_nan && code == k->nan) || size > k->largest) {
        return k->infinite == size && k->nan != size
                   ? (code & sign ? -INFINITY : INFINITY)
                   : (double)NAN;
    }
    x = ldexp(x, k->least - k->mantissa);
    return code & sign ? -x : x;
}

double small_bits(enum elem type, double x, bool saturate)
{
    const struct kind *k = kind_of(type);
    double y = fmin(fabs(x), 0x1p100), step;
    int exponent = 0, code, sign = signbit(x) ? sign_of(k) : 0;

    if (isnan(x)) {
        return k->nan;
    }
    step = ldexp(1, k->least - k->mantissa);
    while (y >= ldexp(step, k->mantissa + 1)) {
        step *= 2;
        exponent++;
    }
    code = (exponent << k->mantissa) + (int)nearbyint(y / step);
    if (code > k->largest) {
        code = saturate ? k->largest : k->infinite;
    }
    return k->one_nan && (code == 0 || code == k->nan) ? code : code | sign;
}

/* --- on the machine --- */

const char *small_decode(struct program *p, enum elem type, const char *bits)
{
    const struct kind *k = kind_of(type);
    const char *minus, *size, *exponent, *rest, *left, *by, *x;
    int sign = sign_of(k), whole = 1 << k->mantissa;

    bits = program_line(p, graph_text("f32(%s)", bits));
    minus = graph_text("%s >= %d", bits, sign);
    size = program_line(p, graph_text("where(%s, %s - %d, %s)", minus, bits, sign, bits));
    exponent = program_line(p, graph_text("floor(%s / %d)", size, whole));
    rest = program_line(p, graph_text("%s - %s * %d", size, exponent, whole));
    left = program_line(p, graph_text("max(%s - 1, 0)", exponent));
    by = program_line(p, graph_text("where(%s >= 0, %.9g, 0.0)", left,
                                    ldexp(1, k->least - k->mantissa)));
    for (int step = 16; step > 0; step /= 2) { /* 2 to the power of what is left */
        by = program_line(p, graph_text("where(%s >= %d, %s * %.9g, %s)", left, step, by,
                                        ldexp(1, step), by));
        left = program_line(
            p, graph_text("where(%s >= %d, %s - %d, %s)", left, step, left, step, left));
    }
    x = graph_text("where(%s > 0, %s + %d, %s) * %s", exponent, rest, whole, rest, by);
    x = program_line(p, graph_text("where(%s, -(%s), %s)", minus, x, x));
    if (k->one_nan) {
        return program_line(
            p, graph_text("where(%s == %d, (inf - inf), %s)", bits, k->nan, x));
    }
    if (k->infinite < k->nan && k->infinite > k->largest) {
        x = program_line(p, graph_text("where(%s == %d, where(%s, -inf, inf), %s)", size,
                                       k->infinite, minus, x));
        return program_line(
            p, graph_text("where(%s > %d, (inf - inf), %s)", size, k->infinite, x));
    }
    return k->nan < sign ? program_line(p, graph_text("where(%s == %d, (inf - inf), %s)",
                                                      size, k->nan, x))
                         : x;
}

const char *small_encode(struct program *p, enum elem type, const char *x, bool saturate)
{
    const struct kind *k = kind_of(type);
    const char *left, *code, *minus;
    int sign = sign_of(k), whole = 1 << k->mantissa;

    x = program_line(p, graph_text("f32(%s)", x));
    minus = graph_text("or(%s < 0, 1 / %s == -inf)", x, x);
    left = program_line(
        p, graph_text("min(abs(%s), 1048576.0) * %.9g", x, ldexp(1, -k->least)));
    code = program_line(p, graph_text("where(%s >= 0, 0.0, 0.0)", left));
    for (int step = 16; step > 0; step /= 2) { /* below 2 */
        code = program_line(p, graph_text("where(%s >= %.9g, %s + %d, %s)", left,
                                          ldexp(1, step), code, step * whole, code));
        left = program_line(p, graph_text("where(%s >= %.9g, %s * %.9g, %s)", left,
                                          ldexp(1, step), left, ldexp(1, -step), left));
    }
    code = program_line(p, graph_text("%s + round(%s * %d)", code, left, whole));
    code = program_line(p, graph_text("where(%s > %d, %d.0, %s)", code, k->largest,
                                      saturate ? k->largest : k->infinite, code));
    minus = k->one_nan ? graph_text("and(%s, and(%s > 0, %s <= %d))", minus, code, code,
                                    k->largest)
                       : minus;
    code = program_line(p, graph_text("where(%s, %s + %d, %s)", minus, code, sign, code));
    return program_line(p, graph_text("where(isnan(%s), %d.0, %s)", x, k->nan, code));
}

/* --- who knows them --- */

void small_check(const struct graph *g, const struct node *n)
{
    static const char *const op[] = {
        "Cast",      "CastLike",  "QuantizeLinear", "DequantizeLinear",
        "Identity",  "Reshape",   "Flatten",        "Squeeze",
        "Unsqueeze", "Transpose", "Concat",         "Split",
        "Slice",     "Gather",    "Shape",          "Size",
        "Constant",  "If"};
    bool any = false;

    for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
        any = any || strcmp(n->op, op[i]) == 0;
    }
    for (unsigned i = 0; i < n->n_in && !any; i++) {
        if (n->in[i] && elem_is_small(n->in[i]->type)) {
            node_die(g, n, "'%s' is %s", n->in[i]->name, elem_text(n->in[i]->type));
        }
    }
}
