/* SPDX-License-Identifier: MIT
 *
 * Tests of the Cube's arithmetic (tools/emu/model/arith/cube.h): every host path against loops
 * written from the contract, with libm's fmaf.
 *
 * The operands beyond m, n and k hold NaN or noise, so a path that lets them in shows.
 */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "tests/host/data.h"
#include "tests/test.h"
#include "tools/emu/model/arith/cube.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/arith/simd.h"

#define MAX_OUT      (128 * 256)
#define MAX_ELEMENTS (2 * CUBE_L0_BYTES)

static uint8_t a[CUBE_L0_BYTES], b[CUBE_L0_BYTES];
static uint32_t in[MAX_OUT], out[MAX_OUT], want[MAX_OUT];

struct shape {
    unsigned m, n, k;
};

static const struct shape shapes[] = {
    {1, 1, 1},    {1, 16, 16},   {2, 15, 17},  {15, 2, 31},   {16, 16, 16},
    {17, 33, 1},  {31, 17, 2},   {33, 31, 15}, {6, 100, 33},  {12, 32, 100},
    {100, 1, 64}, {100, 100, 3}, {24, 48, 80}, {9, 65, 47},   {40, 64, 48},
    {3, 3, 0},    {2, 5, 2048},  {1, 33, 129}, {18, 20, 300},
};

/* How the operands are chosen: what random bits are turned into. */
enum fill { SMALL, ANY, TINY, HUGE_, EXTREME, FILLS };

static const struct format {
    const char *name;
    unsigned bits, k0;
    uint32_t poison; /* NaN where nothing may look; 0: noise */
} formats[CUBE_TYPES] = {
    [CUBE_F16] = {"f16", 16, 16, 0xfe01},
    [CUBE_BF16] = {"bf16", 16, 16, 0xffc1},
    [CUBE_F32] = {"f32", 32, 8, 0xffc12345},
    [CUBE_HF32] = {"hf32", 32, 8, 0xffc12345},
    [CUBE_S8] = {"s8", 8, 32, 0},
    [CUBE_S4] = {"s4", 4, 64, 0},
};

static uint16_t half(enum fill fill)
{
    uint16_t h = (uint16_t)rnd();

    switch (fill) {
    case ANY: /* with NaN and infinity, some of them rarely */
        return rnd() % 64 ? (uint16_t)(h & 0xbfff) : h;
    case TINY: /* mostly 0, so that some sums stay in fp32's subnormals */
        return rnd() % 8 ? h & 0x8000 : h & 0x87ff;
    case HUGE_: /* the top binades, no infinity */
        return (uint16_t)((h & 0x83ff) | 0x7800);
    default:
        return (uint16_t)((h & 0x83ff) | ((12 + rnd() % 6) << 10));
    }
}

/* With fp32's exponent; bf16 takes the upper half. */
static uint32_t single(enum fill fill)
{
    uint32_t f = rnd();

    switch (fill) {
    case ANY:
        return rnd() % 64 ? f & 0xbfffffff : f;
    case TINY: /* products about the smallest fp32: not exact there */
        return (f & 0x807fffff) | ((50 + rnd() % 14) << 23);
    case HUGE_: /* products about the largest fp32 */
        return (f & 0x807fffff) | ((184 + rnd() % 8) << 23);
    default:
        return (f & 0x807fffff) | ((124 + rnd() % 6) << 23);
    }
}

static uint32_t element(enum cube_type type, enum fill fill)
{
    uint32_t f = single(fill);

    switch (type) {
    case CUBE_F16:
        return half(fill);
    case CUBE_BF16:
        return f >> 16;
    case CUBE_F32:
        return f;
    case CUBE_HF32: /* half of them ties */
        return f & 1 ? (f & ~0xfffu) | 0x800 : f;
    case CUBE_S8:
        return fill == EXTREME ? (f & 1 ? 0x80 : 0x7f) : f & 0xff;
    default:
        return fill == EXTREME ? (f & 1 ? 8 : 7) : f & 15;
    }
}

static uint32_t start_value(enum cube_type type, enum fill fill)
{
    uint32_t f = rnd();

    if (type >= CUBE_S8) {
        return fill == EXTREME ? 0x7fffff00 + f % 256 : f; /* wraps around */
    }
    switch (fill) {
    case ANY:
        return rnd() % 16 ? (f & 0xbfffffff) : f;
    case TINY: /* fp32 subnormals: a path that flushes shows */
        return f & 0x80ffffff;
    case HUGE_: /* near overflow */
        return (f & 0x807fffff) | 0x7f000000;
    default:
        return (f & 0x807fffff) | ((120 + rnd() % 16) << 23);
    }
}

static size_t a_at(unsigned r, unsigned x, unsigned kb, unsigned k0)
{
    return ((size_t)(r / 16) * kb + x / k0) * 16 * k0 + r % 16 * k0 + x % k0;
}

static size_t b_at(unsigned x, unsigned c, unsigned n, unsigned k0)
{
    unsigned nb = (n + 15) / 16;

    return ((size_t)(x / k0) * nb + c / 16) * 16 * k0 + c % 16 * k0 + x % k0;
}

static size_t c_at(unsigned r, unsigned c, unsigned m)
{
    return ((size_t)(c / 16) * ((m + 15) / 16) + r / 16) * 256 + r % 16 * 16 + c % 16;
}

/* To 12 significant bits, or to multiples of 2^-137; likewise independent. */
static float rounded_to_hf32(float f)
{
    int exp, unit;

    if (f == 0 || isinf(f) || isnan(f)) {
        return f;
    }
    frexpf(f, &exp);
    unit = exp - 12 > -137 ? exp - 12 : -137;
    return (float)ldexp(rint(ldexp((double)f, -unit)), unit);
}

static double number(enum cube_type type, uint32_t bits)
{
    switch (type) {
    case CUBE_F16:
        return (double)half_value((uint16_t)bits);
    case CUBE_BF16:
        return (double)num_float(bits << 16);
    case CUBE_F32:
        return (double)num_float(bits);
    case CUBE_HF32:
        return (double)rounded_to_hf32(num_float(bits));
    case CUBE_S8:
        return (int8_t)bits;
    default:
        return (int)bits - (bits & 8 ? 16 : 0);
    }
}

/* The operands as numbers: a by rows, b by columns. */
static float num_a[MAX_ELEMENTS], num_b[MAX_ELEMENTS];
static uint32_t bias[CUBE_L0_BYTES / 32];

static void fill_operands(const struct cube_op *op, enum fill fill)
{
    const struct format *f = &formats[op->type];

    for (size_t i = 0; i < CUBE_L0_BYTES * 8 / f->bits; i++) {
        element_put(a, i, f->bits, f->poison ? f->poison : element(op->type, ANY));
        element_put(b, i, f->bits, f->poison ? f->poison : element(op->type, ANY));
    }
    for (unsigned x = 0; x < op->k; x++) {
        for (unsigned r = 0; r < op->m; r++) {
            uint32_t e = element(op->type, fill);

            element_put(a, op->row ? x : a_at(r, x, op->a_kb, f->k0), f->bits, e);
            num_a[r * op->k + x] = (float)number(op->type, e);
        }
        for (unsigned c = 0; c < op->n; c++) {
            uint32_t e = element(op->type, fill);

            element_put(b, b_at(x, c, op->n, f->k0), f->bits, e);
            num_b[c * op->k + x] = (float)number(op->type, e);
        }
    }
    for (size_t i = 0; i < MAX_OUT; i++) {
        in[i] = start_value(op->type, fill);
    }
    for (size_t i = 0; i < sizeof(bias) / sizeof(bias[0]); i++) {
        bias[i] = start_value(op->type, fill);
    }
}

static uint32_t want_one(const struct cube_op *op, uint32_t start, const float *x,
                         const float *y)
{
    float acc = num_float(start);

    if (op->type >= CUBE_S8) {
        for (unsigned i = 0; i < op->k; i++) {
            start += (uint32_t)((int)x[i] * (int)y[i]);
        }
        return start;
    }
    for (unsigned i = 0; i < op->k; i++) {
        acc = fmaf(x[i], y[i], acc);
    }
    return isnan(acc) ? 0x7fc00000 : num_bits(acc);
}

/* Fills want[]: every element of every fractal, also outside of m x n. */
static void expect(const struct cube_op *op, bool from_in)
{
    memset(want, 0xda, sizeof(want));
    for (unsigned r = 0; r < (op->m + 15) / 16 * 16; r++) {
        for (unsigned c = 0; c < (op->n + 15) / 16 * 16; c++) {
            size_t at = c_at(r, c, op->m);

            want[at] = from_in ? in[at] : 0;
            if (r < op->m && c < op->n) {
                want[at] = want_one(op, op->bias ? bias[c] : want[at], num_a + r * op->k,
                                    num_b + c * op->k);
            }
        }
    }
}

/* The whole of out, also behind its last fractal. */
static bool as_expected(const struct cube_op *op)
{
    for (size_t i = 0; i < MAX_OUT; i++) {
        if (out[i] != want[i]) {
            test_note("%s %ux%ux%u: word %zu is %08x, want %08x", simd_name(simd_level()),
                      op->m, op->n, op->k, i, out[i], want[i]);
            return false;
        }
    }
    return true;
}

static void compute(const struct cube_op *op, bool from_in)
{
    memset(out, 0xda, sizeof(out));
    cube_run(op, out, from_in ? in : NULL, a, b);
}

/* The i-th case of a suite: starts from 0, c and bias take turns; each second one has a
 * wider than it need be; with one row, each second one is a plain row. */
static struct cube_op nth(enum cube_type type, unsigned i)
{
    const struct shape *s = &shapes[i];
    unsigned k0 = formats[type].k0, kb = (s->k + k0 - 1) / k0;
    struct cube_op op = {type, s->m, s->n, s->k, kb, .bias = i % 3 == 1 ? bias : NULL};

    if (i % 2 && (s->m + 15) / 16 * (kb + 1) * 512 <= CUBE_L0_BYTES) {
        op.a_kb = kb + 1;
    }
    op.row = s->m == 1 && i % 2 == 0;
    return op;
}

/* All shapes on all levels; the reference is computed once per shape. */
static void test_suite(enum cube_type type, enum fill fill, enum simd best)
{
    static const char *const names[FILLS] = {"small", "any", "tiny", "huge", "extreme"};
    bool good[SIMD_COUNT] = {true, true, true, true};

    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct cube_op op = nth(type, i);
        bool from_in = i % 3 == 2;

        if (op.a_kb * 512 * ((op.n + 15) / 16) > CUBE_L0_BYTES) {
            continue; /* a k that only the narrow types have room for */
        }
        fill_operands(&op, fill);
        expect(&op, from_in);
        for (enum simd level = SIMD_PLAIN; level <= best; level++) {
            simd_limit(level);
            compute(&op, from_in);
            good[level] = as_expected(&op) && good[level];
        }
    }
    for (enum simd level = SIMD_PLAIN; level <= best; level++) {
        ok(good[level], "cube/%s_%s_%s", formats[type].name, names[fill],
           simd_name(level));
    }
}

/* The host program's floating-point environment neither matters nor changes. */
static void test_environment(enum simd level)
{
    bool good = true;

    for (enum cube_type type = CUBE_F16; type < CUBE_S8; type++) {
        unsigned k0 = formats[type].k0;
        const struct cube_op op = {type, 17, 33, 31, .a_kb = (31 + k0 - 1) / k0};

        fill_operands(&op, TINY);
        expect(&op, true);
        fesetround(FE_UPWARD);
#if defined(__x86_64__)
        _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
        compute(&op, true);
        good = fegetround() == FE_UPWARD && good;
#if defined(__x86_64__)
        good = good && (_mm_getcsr() & 0x8040) == 0x8040;
        _mm_setcsr(0x1f80);
#endif
        fesetround(FE_TONEAREST);
        good = as_expected(&op) && good;
    }
    ok(good, "cube/keeps_and_ignores_host_rounding_%s", simd_name(level));
}

static void test_special(enum simd level)
{
    static const struct {
        enum cube_type type;
        uint32_t a, b, in, want;
    } t[] = {
        {CUBE_F16, 0x7c00, 0x0000, 0x3f800000, 0x7fc00000},  /* inf * 0 */
        {CUBE_F16, 0x7c00, 0x3c00, 0xff800000, 0x7fc00000},  /* inf - inf */
        {CUBE_F16, 0x3c00, 0x3c00, 0xffc12345, 0x7fc00000},  /* NaN in C */
        {CUBE_F16, 0xfd01, 0x3c00, 0x00000000, 0x7fc00000},  /* signalling NaN in A */
        {CUBE_F16, 0x7bff, 0x7bff, 0x7f7fffff, 0x7f7fffff},  /* too small at the top */
        {CUBE_F16, 0x0001, 0x0001, 0x00000001, 0x27800000},  /* smallest product, 2^-48 */
        {CUBE_F16, 0x0000, 0x3c00, 0x00000001, 0x00000001},  /* fp32 subnormal kept */
        {CUBE_F16, 0x8000, 0x3c00, 0x80000000, 0x80000000},  /* -0 + -0 */
        {CUBE_F16, 0x0000, 0x3c00, 0x80000000, 0x00000000},  /* -0 + +0 */
        {CUBE_F16, 0x3c00, 0x3c00, 0x4b800000, 0x4b800000},  /* 2^24 + 1: tie to even */
        {CUBE_F16, 0x3c00, 0x3c00, 0x4b800001, 0x4b800002},  /* 2^24 + 2 + 1: likewise */
        {CUBE_BF16, 0x7f80, 0x8000, 0x3f800000, 0x7fc00000}, /* inf * -0 */
        {CUBE_BF16, 0x3f80, 0xffa0, 0x00000000, 0x7fc00000}, /* signalling NaN in B */
        {CUBE_BF16, 0x7f7f, 0x7f7f, 0x00000000, 0x7f800000}, /* overflow */
        {CUBE_BF16, 0x7f7f, 0x4000, 0xff7fffff, 0x7f7e0001}, /* only the sum fits */
        {CUBE_BF16, 0x0001, 0x3f80, 0x00000000, 0x00010000}, /* bf16 subnormal kept */
        {CUBE_BF16, 0x1a00, 0x1a00, 0x00000001, 0x00000002}, /* 1.5: to even */
        {CUBE_BF16, 0x0001, 0x0001, 0x00000001, 0x00000001}, /* too small a product */
        {CUBE_BF16, 0x0001, 0x8001, 0x00000000, 0x80000000}, /* keeps its sign */
        {CUBE_F32, 0x7f800000, 0xff800000, 0x7f800000, 0x7fc00000}, /* inf - inf */
        {CUBE_F32, 0x7f800001, 0x3f800000, 0x00000000, 0x7fc00000}, /* signalling NaN */
        {CUBE_F32, 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000}, /* exact product */
        {CUBE_F32, 0x7f7fffff, 0x40000000, 0xff7fffff,
         0x7f7fffff}, /* only the sum fits */
        {CUBE_F32, 0x00000001, 0x3f000000, 0x00000001, 0x00000002},  /* 1.5: to even */
        {CUBE_F32, 0x3f801000, 0x3f800000, 0x00000000, 0x3f801000},  /* all 24 bits */
        {CUBE_HF32, 0x3f800800, 0x3f800000, 0x00000000, 0x3f800000}, /* tie, to even */
        {CUBE_HF32, 0x3f801800, 0x3f800000, 0x00000000, 0x3f802000}, /* tie, upwards */
        {CUBE_HF32, 0x3f800000, 0x3f800801, 0x00000000, 0x3f801000}, /* above the tie */
        {CUBE_HF32, 0x3fffffff, 0xbf800000, 0x00000000, 0xc0000000}, /* next binade */
        {CUBE_HF32, 0x7f7fffff, 0x00800000, 0x00000000, 0x7f800000}, /* to infinity */
        {CUBE_HF32, 0x00000801, 0x3f800000, 0x00000000, 0x00001000}, /* subnormals too */
        {CUBE_HF32, 0x00000800, 0x3f800000, 0x00000000, 0x00000000}, /* and to 0 */
        {CUBE_HF32, 0x7fffffff, 0x3f800000, 0x00000000, 0x7fc00000}, /* NaN stays NaN */
        {CUBE_HF32, 0xff800001, 0x3f800000, 0x00000000, 0x7fc00000}, /* not infinity */
        {CUBE_HF32, 0x00000000, 0x3f800000, 0x3f800001, 0x3f800001}, /* c has 24 bits */
    };
    bool good = true;

    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct cube_op op = {t[i].type, 1, 1, 1, .a_kb = 1};

        memset(a, 0, 512);
        memset(b, 0, 512);
        element_put(a, 0, formats[t[i].type].bits, t[i].a);
        element_put(b, 0, formats[t[i].type].bits, t[i].b);
        in[0] = t[i].in;
        compute(&op, true);
        if (out[0] != t[i].want) {
            test_note("case %zu is %08x, want %08x", i, out[0], t[i].want);
            good = false;
        }
    }
    ok(good, "cube/special_values_%s", simd_name(level));
}

static enum simd best_level(void)
{
    simd_limit(SIMD_COUNT);
    return simd_level();
}

TEST(cube, floating_operands)
{
    enum simd best = best_level();

    for (enum cube_type type = 0; type < CUBE_S8; type++) {
        for (enum fill fill = SMALL; fill <= HUGE_; fill++) {
            test_suite(type, fill, best);
        }
    }
}

TEST(cube, integer_operands)
{
    enum simd best = best_level();

    for (enum cube_type type = CUBE_S8; type < CUBE_TYPES; type++) {
        test_suite(type, ANY, best);
        test_suite(type, EXTREME, best);
    }
}

TEST(cube, special_values)
{
    for (enum simd level = SIMD_PLAIN, best = best_level(); level <= best; level++) {
        simd_limit(level);
        test_special(level);
        test_environment(level);
    }
}
