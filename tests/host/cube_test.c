/* SPDX-License-Identifier: MIT
 *
 * Tests of the Cube's arithmetic (tools/emu/model/cube.h) and of the number formats:
 * every host path against loops written from the contract, with libm's fmaf.
 *
 * The operands beyond m, n and k hold NaN or noise, so a path that lets them in shows.
 */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "tests/host/tap.h"
#include "tools/emu/model/cube.h"
#include "tools/emu/model/num.h"
#include "tools/emu/model/simd.h"

#define MAX_OUT (128 * 256)

static uint8_t a[CUBE_L0_BYTES], b[CUBE_L0_BYTES];
static uint32_t in[MAX_OUT], out[MAX_OUT], want[MAX_OUT];

static uint32_t rnd(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 16);
}

struct shape {
    unsigned m, n, k;
};

static const struct shape shapes[] = {
    {1, 1, 1},    {1, 16, 16},    {2, 15, 17},   {15, 2, 31},  {16, 16, 16},
    {17, 33, 1},  {31, 17, 2},    {33, 31, 15},  {6, 100, 33}, {12, 32, 100},
    {100, 1, 64}, {100, 100, 3},  {24, 48, 160}, {9, 65, 47},  {72, 96, 128},
    {3, 3, 0},    {16, 16, 2048},
};

/* How the operands are chosen: what a random 16-bit pattern is turned into. */
enum fill { SMALL, ANY, TINY, HUGE_ };

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

static uint32_t start_value(enum fill fill)
{
    uint32_t f = rnd();

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

static size_t a_at(unsigned r, unsigned x, unsigned k, unsigned k0)
{
    unsigned kb = (k + k0 - 1) / k0;

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

static float half_to_float(uint16_t h) /* independent of num.h */
{
    float mag = (h & 0x7c00) == 0
                    ? (float)ldexp(h & 0x3ff, -24)
                    : (float)ldexp((h & 0x3ff) | 0x400, ((h >> 10) & 31) - 25);

    if ((h & 0x7c00) == 0x7c00) {
        mag = h & 0x3ff ? NAN : INFINITY;
    }
    return h & 0x8000 ? -mag : mag;
}

static float widened[65536]; /* half_to_float of everything */

static void fill_f16(const struct shape *s, enum fill fill)
{
    uint16_t *ha = (uint16_t *)(void *)a, *hb = (uint16_t *)(void *)b;

    for (size_t i = 0; i < CUBE_L0_BYTES / 2; i++) {
        ha[i] = 0xfe01; /* NaN: must never be seen */
        hb[i] = 0xfe01;
    }
    for (unsigned x = 0; x < s->k; x++) {
        for (unsigned r = 0; r < s->m; r++) {
            ha[a_at(r, x, s->k, 16)] = half(fill);
        }
        for (unsigned c = 0; c < s->n; c++) {
            hb[b_at(x, c, s->n, 16)] = half(fill);
        }
    }
    for (size_t i = 0; i < MAX_OUT; i++) {
        in[i] = start_value(fill);
    }
}

static uint32_t want_f16(const struct shape *s, bool from_in, unsigned r, unsigned c)
{
    const uint16_t *ha = (uint16_t *)(void *)a, *hb = (uint16_t *)(void *)b;
    uint32_t bits = from_in ? in[c_at(r, c, s->m)] : 0;
    float acc;

    memcpy(&acc, &bits, 4);
    if (r >= s->m || c >= s->n) {
        return bits;
    }
    for (unsigned x = 0; x < s->k; x++) {
        acc = fmaf(widened[ha[a_at(r, x, s->k, 16)]], widened[hb[b_at(x, c, s->n, 16)]],
                   acc);
    }
    memcpy(&bits, &acc, 4);
    return isnan(acc) ? 0x7fc00000 : bits;
}

typedef uint32_t want_fn(const struct shape *s, bool from_in, unsigned r, unsigned c);

/* Fills want[]: every element of every fractal, also outside of m x n. */
static void expect(const struct shape *s, bool from_in, want_fn *one)
{
    memset(want, 0xda, sizeof(want));
    for (unsigned r = 0; r < (s->m + 15) / 16 * 16; r++) {
        for (unsigned c = 0; c < (s->n + 15) / 16 * 16; c++) {
            want[c_at(r, c, s->m)] = one(s, from_in, r, c);
        }
    }
}

/* The whole of out, also behind its last fractal. */
static bool same(const struct shape *s)
{
    for (size_t i = 0; i < MAX_OUT; i++) {
        if (out[i] != want[i]) {
            tap_note("%s %ux%ux%u: word %zu is %08x, want %08x", simd_name(simd_level()),
                     s->m, s->n, s->k, i, out[i], want[i]);
            return false;
        }
    }
    return true;
}

static void fill_s8(bool extreme)
{
    for (size_t i = 0; i < CUBE_L0_BYTES; i++) {
        a[i] = (uint8_t)rnd();
        b[i] = (uint8_t)rnd();
        if (extreme) {
            a[i] = a[i] & 1 ? 0x80 : 0x7f;
            b[i] = b[i] & 3 ? 0x80 : 0x7f;
        }
    }
    for (size_t i = 0; i < MAX_OUT; i++) {
        in[i] = extreme ? 0x7fffff00 + rnd() % 256 : rnd(); /* wraps around */
    }
}

static uint32_t want_s8(const struct shape *s, bool from_in, unsigned r, unsigned c)
{
    uint32_t acc = from_in ? in[c_at(r, c, s->m)] : 0;

    if (r >= s->m || c >= s->n) {
        return acc;
    }
    for (unsigned x = 0; x < s->k; x++) {
        int p = (int8_t)a[a_at(r, x, s->k, 32)] * (int8_t)b[b_at(x, c, s->n, 32)];

        acc += (uint32_t)p;
    }
    return acc;
}

enum suite { S8_ANY = HUGE_ + 1, S8_EXTREMES, SUITES };
static const char *const suite_name[] = {
    "f16_small_matches_fmaf", "f16_any_matches_fmaf", "f16_tiny_matches_fmaf",
    "f16_huge_matches_fmaf",  "s8_any_matches_loop",  "s8_extremes_match_loop"};

static void compute(bool f16, const struct shape *s, bool from_in)
{
    void *start = from_in ? in : NULL;

    memset(out, 0xda, sizeof(out));
    if (f16) {
        cube_f16((float *)(void *)out, start, a, b, s->m, s->n, s->k);
    } else {
        cube_s8((int32_t *)(void *)out, start, a, b, s->m, s->n, s->k);
    }
}

/* All shapes on all levels; the reference is computed once per shape. */
static void test_suite(int suite, enum simd best)
{
    bool good[SIMD_COUNT] = {true, true, true, true};
    bool f16 = suite < S8_ANY;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct shape *s = &shapes[i];
        bool from_in = i % 3 != 0;

        if (f16) {
            fill_f16(s, (enum fill)suite);
        } else {
            fill_s8(suite == S8_EXTREMES);
        }
        expect(s, from_in, f16 ? want_f16 : want_s8);
        for (enum simd level = SIMD_PLAIN; level <= best; level++) {
            simd_limit(level);
            compute(f16, s, from_in);
            good[level] = same(s) && good[level];
        }
    }
    for (enum simd level = SIMD_PLAIN; level <= best; level++) {
        ok(good[level], "cube/%s_%s", suite_name[suite], simd_name(level));
    }
}

/* The host program's floating-point environment neither matters nor changes. */
static void test_environment(enum simd level)
{
    const struct shape s = {17, 33, 31};
    bool good;

    fill_f16(&s, TINY);
    expect(&s, true, want_f16);
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
    compute(true, &s, true);
    good = fegetround() == FE_UPWARD;
#if defined(__x86_64__)
    good = good && (_mm_getcsr() & 0x8040) == 0x8040;
    _mm_setcsr(0x1f80);
#endif
    fesetround(FE_TONEAREST);
    good = same(&s) && good;
    ok(good, "cube/f16_keeps_and_ignores_host_rounding_%s", simd_name(level));
}

static void test_special(enum simd level)
{
    static const struct {
        uint16_t a, b;
        uint32_t in, want;
    } t[] = {
        {0x7c00, 0x0000, 0x3f800000, 0x7fc00000}, /* inf * 0 */
        {0x7c00, 0x3c00, 0xff800000, 0x7fc00000}, /* inf - inf */
        {0x3c00, 0x3c00, 0xffc12345, 0x7fc00000}, /* NaN in C */
        {0xfd01, 0x3c00, 0x00000000, 0x7fc00000}, /* signalling NaN in A */
        {0x7bff, 0x7bff, 0x7f7fffff, 0x7f7fffff}, /* too small a step at the top */
        {0x0001, 0x0001, 0x00000001, 0x27800000}, /* smallest product, 2^-48 */
        {0x0000, 0x3c00, 0x00000001, 0x00000001}, /* fp32 subnormal kept */
        {0x8000, 0x3c00, 0x80000000, 0x80000000}, /* -0 + -0 */
        {0x0000, 0x3c00, 0x80000000, 0x00000000}, /* -0 + +0 */
        {0x3c00, 0x3c00, 0x4b800000, 0x4b800000}, /* 2^24 + 1: tie to even */
        {0x3c00, 0x3c00, 0x4b800001, 0x4b800002}, /* 2^24 + 2 + 1: tie to even */
    };
    bool good = true;

    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        memset(a, 0, 512);
        memset(b, 0, 512);
        memcpy(a, &t[i].a, 2);
        memcpy(b, &t[i].b, 2);
        in[0] = t[i].in;
        cube_f16((float *)(void *)out, (float *)(void *)in, a, b, 1, 1, 1);
        if (out[0] != t[i].want) {
            tap_note("case %zu is %08x, want %08x", i, out[0], t[i].want);
            good = false;
        }
    }
    ok(good, "cube/f16_special_values_%s", simd_name(level));
}

static void test_halves(void)
{
    bool widen = true, narrow = true, bf16 = true;

    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = half_to_float((uint16_t)h);
        bool nan = (h & 0x7fff) > 0x7c00;
        uint32_t wide = num_f16_to_f32((uint16_t)h);

        widen = widen && wide == (nan ? 0x7fc00000 : num_bits(f));
        narrow = narrow && num_f32_to_f16(wide) == (nan ? 0x7e00 : h);
        nan = (h & 0x7fff) > 0x7f80;
        wide = num_bf16_to_f32((uint16_t)h);
        bf16 = bf16 && wide == (nan ? 0x7fc00000 : h << 16) &&
               num_f32_to_bf16(wide) == (nan ? 0x7fc0 : h);
    }
    ok(widen, "num/f16_to_f32_all");
    ok(narrow, "num/f32_to_f16_inverts");
    ok(bf16, "num/bf16_round_trip_all");
}

/* Between two neighbours h and h + 1: just below, at and just above the middle. */
static void test_rounding(void)
{
    bool f16 = true, bf16 = true;

    for (uint32_t h = 0; h < 0x7c00; h++) {
        double lo = (double)half_to_float((uint16_t)h);
        double hi = h == 0x7bff ? 65536.0 : (double)half_to_float((uint16_t)(h + 1));
        uint32_t mid = num_bits((float)((lo + hi) / 2));
        uint16_t even = (uint16_t)(h + (h & 1));

        f16 = f16 && num_f32_to_f16(mid) == even && num_f32_to_f16(mid - 1) == h &&
              num_f32_to_f16(mid + 1) == h + 1 &&
              num_f32_to_f16(mid | 0x80000000) == (even | 0x8000);
    }
    for (uint32_t h = 0; h < 0x7f80; h++) {
        uint32_t mid = (h << 16) + 0x8000;

        bf16 = bf16 && num_f32_to_bf16(mid) == h + (h & 1) &&
               num_f32_to_bf16(mid - 1) == h && num_f32_to_bf16(mid + 1) == h + 1;
    }
    ok(f16, "num/f32_to_f16_ties_to_even");
    ok(bf16, "num/f32_to_bf16_ties_to_even");
    ok(num_f32_to_f16(0x47800000) == 0x7c00 && num_f32_to_f16(0x47c01234) == 0x7c00 &&
           num_f32_to_f16(0xff800000) == 0xfc00 && num_f32_to_f16(0xff800001) == 0x7e00 &&
           num_f32_to_bf16(0xff800001) == 0x7fc0,
       "num/narrowing_overflow_and_nan");
}

static void test_fma(void)
{
    bool good = true;

    for (unsigned i = 0; i < 1000000 && good; i++) {
        uint32_t x = rnd(), y = rnd(), z = rnd();
        float p, got, exact;

        p = num_float(x) * num_float(y);
        if (i % 2 && !isnan(p)) { /* a sum of similar size: ties and cancellation */
            z = (num_bits(p) ^ (z & 0x80000000)) + (rnd() % 64 << 20) - (32u << 20);
        }
        got = num_fma(num_float(x), num_float(y), num_float(z));
        exact = fmaf(num_float(x), num_float(y), num_float(z));
        good = num_canon(num_bits(got)) == num_canon(num_bits(exact));
        if (!good) {
            tap_note("fma(%08x,%08x,%08x) is %08x, want %08x", x, y, z, num_bits(got),
                     num_bits(exact));
        }
    }
    ok(good, "num/fma_matches_fmaf");
}

/* c + half an ulp +- 2^-34 ulp: rounding to double first would make a tie of it. */
static void test_fma_near_ties(void)
{
    static const float factor[2][2] = {{187713, 45761}, {599479, 14329}}; /* 2^33 +- 1 */
    bool good = true;

    for (int i = 0; i < 8; i++) {
        float x = factor[i & 1][0] * (i & 2 ? -1.0f : 1.0f), y = factor[i & 1][1];
        float z = (i & 4 ? 0x1p57f : 0x1p57f + 0x1p34f) * (i & 2 ? -1.0f : 1.0f);

        good = good && num_bits(num_fma(x, y, z)) == num_bits(fmaf(x, y, z));
    }
    ok(good, "num/fma_rounds_once");
}

int main(void)
{
    enum simd best;

    for (unsigned h = 0; h < 65536; h++) {
        widened[h] = half_to_float((uint16_t)h);
    }
    simd_limit(SIMD_COUNT);
    best = simd_level();
    for (int suite = 0; suite < SUITES; suite++) {
        test_suite(suite, best);
    }
    for (enum simd level = SIMD_PLAIN; level <= best; level++) {
        simd_limit(level);
        test_special(level);
        test_environment(level);
    }
    test_halves();
    test_rounding();
    test_fma();
    test_fma_near_ties();
    return tap_done();
}
