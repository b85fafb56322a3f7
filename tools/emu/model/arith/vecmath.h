/* SPDX-License-Identifier: MIT
 *
 * Functions of the Vector that have no instruction of the host, in fp64: their error is
 * below 2^-36 of the result, so that its rounding to fp32 is within 0.501 ulp. No branch,
 * no table; see vecnum.h for why every host gives the same bits.
 * Source: hal/contract/numeric.md, "Functions"; series of the textbooks.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_VECMATH_H
#define TOOLS_EMU_MODEL_ARITH_VECMATH_H

#include "tools/emu/model/arith/vecnum.h"

#define LN2_HI  0x1.62e42feep-1 /* 32 bits, so that a small multiple is exact */
#define LN2_LO  0x1.a39ef35793c76p-33
#define SHIFTER 0x1.8p52 /* adding it rounds to a whole number */

/* The polynomial c[0] + c[1] x + ... of n coefficients, those of even and of odd powers
 * for themselves. The loops over elements around it become vector code only if these are
 * unrolled. */
VEC_INLINE double horner(double x, const double *c, int n)
{
    double even = c[(n - 1) / 2 * 2], odd = c[n / 2 * 2 - 1], xx = x * x;

#pragma GCC unroll 16
    for (int i = (n - 1) / 2 * 2 - 2; i >= 0; i -= 2) {
        even = even * xx + c[i];
    }
#pragma GCC unroll 16
    for (int i = n / 2 * 2 - 3; i >= 1; i -= 2) {
        odd = odd * xx + c[i];
    }
    return even + odd * x;
}

/* e^x as (1 + q) * scale, |x| <= 700. */
struct power {
    double q, scale;
};

VEC_INLINE struct power power(double x)
{
    static const double taylor[] = {
        1.0,        1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,     1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
    double shifted = x * 0x1.71547652b82fep0 + SHIFTER, n = shifted - SHIFTER;
    double r = (x - n * LN2_HI) - n * LN2_LO;
    uint64_t exponent = (num_bits64(shifted) << 52) + (UINT64_C(1023) << 52);

    return (struct power){r * horner(r, taylor, 11), num_double(exponent)};
}

/* Beyond 200 fp32 and fp16 have long overflowed or become 0. */
VEC_INLINE double v_exp(double x)
{
    struct power e;

    x = x < -200.0 ? -200.0 : x;
    x = x > 200.0 ? 200.0 : x;
    e = power(x);
    return e.scale + e.scale * e.q;
}

/* x = 2^n m with m around 1; ln m = 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1). x is 0
 * or at least 2^-1022. */
VEC_INLINE double v_ln(double x)
{
    static const double atanh[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7, 1.0 / 9,
                                   1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17};
    const uint64_t root = 0x3fe6a09e00000000; /* about the root of 1/2 */
    uint64_t u = num_bits64(x) + (0x3ff0000000000000 - root);
    double m = num_double((u & 0xfffffffffffff) + root);
    double n = num_double(0x4330000000000000 | u >> 52) - (0x1p52 + 1023);
    double s = (m - 1.0) / (m + 1.0);
    double r = n * 0x1.62e42fefa39efp-1 + 2.0 * s * horner(s * s, atanh, 9);

    r = x == 0.0 ? -__builtin_inf() : r;
    r = x < 0.0 ? __builtin_nan("") : r;
    return x < __builtin_inf() ? r : x; /* infinity and NaN */
}

VEC_INLINE double v_rsqrt(double x)
{
    return 1.0 / __builtin_sqrt(x);
}

/* e^2x - 1 over e^2x + 1. */
VEC_INLINE double v_tanh(double x)
{
    double mag = __builtin_fabs(x);
    struct power e = power(2.0 * (mag > 20.0 ? 20.0 : mag));
    double minus1 = e.scale * e.q + (e.scale - 1.0);

    return __builtin_copysign(minus1 / (minus1 + 2.0), x);
}

/* x P(x^2 / 8 - 1): P interpolates erf(x) / x at the Chebyshev points of 0 <= x^2 <= 16,
 * within 2^-41; beyond 4 the result is 1. */
VEC_INLINE double v_erf(double x)
{
    static const double p[] = {
        0x1.6a040781a499cp-2,   -0x1.69a0ccda546f8p-3,  0x1.0dabaf061aaf4p-3,
        -0x1.b92e95b222de8p-4,  0x1.717efc7399f2bp-4,   -0x1.3215da47bcb8bp-4,
        0x1.ea97f23d8f9e6p-5,   -0x1.76e83f36d72e4p-5,  0x1.0ed520b2f4cabp-5,
        -0x1.7036e95f70717p-6,  0x1.d6365549c3702p-7,   -0x1.19f29a25d3e5ep-7,
        0x1.3e0b9b08580cfp-8,   -0x1.5290127053989p-9,  0x1.533b91aacf1bdp-10,
        -0x1.3d1f5c56a5bf3p-11, 0x1.1e5a335e8a56ep-12,  -0x1.09470d1cc5dc3p-13,
        0x1.a7c3511e4d84dp-15,  -0x1.a7f85d543368cp-17, 0x1.54370a7bf7a41p-18,
        -0x1.33ca61b9e9205p-18, 0x1.8f8424cd1b682p-20};
    double near = x > 4.0 ? 4.0 : x;

    near = near < -4.0 ? -4.0 : near;
    return near * horner(near * near * 0.125 - 1.0, p, 23);
}

#endif
