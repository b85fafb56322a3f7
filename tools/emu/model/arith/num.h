/* SPDX-License-Identifier: MIT
 *
 * Number formats of the NPU as bit patterns: fp16, bf16, hf32 and fp32.
 *
 * Pure integer code, so that no host rounding mode, flush-to-zero bit or library
 * can change a result. Narrowing rounds to nearest, ties to even; subnormals are
 * kept; overflow gives infinity; every NaN that is produced is the canonical one.
 * Source: hal/contract/cube.md, "Numbers"; IEEE 754-2019.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_NUM_H
#define TOOLS_EMU_MODEL_ARITH_NUM_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/emu/model/mem.h"

#define NUM_F32_NAN  0x7fc00000u
#define NUM_F32_INF  0x7f800000u
#define NUM_F16_NAN  0x7e00u
#define NUM_F16_INF  0x7c00u
#define NUM_F16_ONE  0x3c00u
#define NUM_BF16_NAN 0x7fc0u
#define NUM_BF16_INF 0x7f80u

static inline uint32_t num_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

static inline float num_float(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

static inline uint64_t num_bits64(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof(u));
    return u;
}

static inline double num_double(uint64_t u)
{
    double d;

    memcpy(&d, &u, sizeof(d));
    return d;
}

static inline bool num_is_nan(uint32_t f32)
{
    return (f32 & 0x7fffffffu) > NUM_F32_INF;
}

/* The same value, any NaN replaced by the canonical one. */
static inline uint32_t num_canon(uint32_t f32)
{
    return num_is_nan(f32) ? NUM_F32_NAN : f32;
}

/* n results of a floating type (4 bytes: fp32, 2: fp16 or bf16, by its infinity) as
 * SET_CTRL_SATURATE has them: infinity is the greatest number, NaN is 0. */
static inline void num_saturate(uint8_t *v, unsigned esize, uint32_t infinity, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++, v += esize) {
        uint32_t bits = 0, sign = 1u << (8 * esize - 1), mag;
        memcpy(&bits, v, esize);
        mag = bits & (sign - 1);
        bits = mag > infinity ? 0 : mag == infinity ? bits - 1 : bits;
        memcpy(v, &bits, esize);
    }
}

/* fp16 to fp32, exact. */
static inline uint32_t num_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exp = (h >> 10) & 31u;
    uint32_t frac = h & 0x3ffu;

    if (exp == 31) {
        return frac ? NUM_F32_NAN : sign | NUM_F32_INF;
    }
    if (exp == 0) {
        if (frac == 0) {
            return sign;
        }
        exp = 1;
        while (!(frac & 0x400u)) { /* fp32 has the range to normalise it */
            frac <<= 1;
            exp--;
        }
        frac &= 0x3ffu;
    }
    return sign | ((exp + 112u) << 23) | (frac << 13);
}

/* v / 2^shift, rounded to nearest, ties to even; 0 < shift < 32. */
static inline uint32_t num_shift_rne(uint32_t v, unsigned shift)
{
    uint32_t half = (UINT32_C(1) << (shift - 1)) - 1u;

    return (v + half + ((v >> shift) & 1u)) >> shift;
}

/* fp32 to fp16. */
static inline uint16_t num_f32_to_f16(uint32_t f32)
{
    uint32_t sign = (f32 >> 16) & 0x8000u;
    uint32_t mag = f32 & 0x7fffffffu;
    uint32_t exp = mag >> 23;

    if (mag > NUM_F32_INF) {
        return NUM_F16_NAN;
    }
    if (exp >= 143) { /* 2^16 and above */
        return (uint16_t)(sign | NUM_F16_INF);
    }
    if (exp >= 113) { /* normal; a carry out of the top binade gives infinity */
        return (uint16_t)(sign | num_shift_rne(mag - (112u << 23), 13));
    }
    if (exp < 102) { /* below half of the smallest subnormal */
        return (uint16_t)sign;
    }
    return (uint16_t)(sign | num_shift_rne((mag & 0x7fffffu) | 0x800000u, 126u - exp));
}

/* bf16 to fp32, exact. */
static inline uint32_t num_bf16_to_f32(uint16_t b)
{
    return num_canon((uint32_t)b << 16);
}

/* fp32 to bf16. */
static inline uint16_t num_f32_to_bf16(uint32_t f32)
{
    if (num_is_nan(f32)) {
        return NUM_BF16_NAN;
    }
    return (uint16_t)((f32 + 0x7fffu + ((f32 >> 16) & 1u)) >> 16);
}

/* fp32 to hf32 (8 bits of exponent, 11 of fraction), as the fp32 of the same value; ties
 * to even or, with `down`, towards zero. */
static inline uint32_t num_f32_to_hf32(uint32_t f32, bool down)
{
    uint32_t even = down ? 0 : f32 >> 12 & 1u;

    return num_is_nan(f32) ? NUM_F32_NAN : (f32 + 0x7ffu + even) & 0xfffff000u;
}

/*
 * a * b + c with one rounding. Where the compiler has no such instruction: the
 * product is exact in double; the sum is rounded to odd there (its error, which
 * is exact, says whether the last bit must be set), which makes the second
 * rounding, to float, the correct one. NaN results are not canonical yet.
 */
static inline float num_fma(float a, float b, float c)
{
#if defined(__FP_FAST_FMAF)
    return __builtin_fmaf(a, b, c);
#else
    double p = (double)a * (double)b;
    double s = p + (double)c;
    double t = s - p;
    double err = (p - (s - t)) + ((double)c - t);
    uint64_t u = num_bits64(s);

    if ((err > 0.0 || err < 0.0) && !(u & 1u)) { /* false for NaN: s not finite */
        u = (err > 0.0) == (s > 0.0) ? u + 1u : u - 1u;
    }
    return (float)num_double(u);
#endif
}

#endif
