/* SPDX-License-Identifier: MIT
 *
 * Numbers of the Vector, written so that a compiler makes vector instructions of loops
 * over them: no branch, no call, no table. They use only operations that IEEE 754 defines
 * to the last bit (+ - * / and square root of fp32 and fp64, nearest even), and
 * tools.mk forbids contraction, so every host and every path gives the same bits.
 * Source: hal/contract/numeric.md.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_VECNUM_H
#define TOOLS_EMU_MODEL_ARITH_VECNUM_H

#include "hal/contract/contract.h"
#include "tools/emu/model/arith/num.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE float canon(float x)
{
    return x != x ? num_float(NUM_F32_NAN) : x;
}

/* The greater one; NaN if one is; +0 above -0. */
VEC_INLINE float greater(float a, float b)
{
    float equal = num_float(num_bits(a) & num_bits(b));
    float r = a > b ? a : b;

    r = a == b ? equal : r;
    return a != a ? a : r;
}

VEC_INLINE float smaller(float a, float b)
{
    float equal = num_float(num_bits(a) | num_bits(b));
    float r = a < b ? a : b;

    r = a == b ? equal : r;
    return a != a ? a : r;
}

/* A fp64 on its way to fp32. On the way to fp16 (half) it is rounded to odd: towards
 * zero, the last bit set if that was inexact, so that the second rounding is the only
 * one. */
VEC_INLINE float shrink(double d, bool half)
{
    float f = (float)d;
    double back = (double)f;
    uint32_t odd = (num_bits(f) - (__builtin_fabs(back) > __builtin_fabs(d))) | 1u;

    return half && back != d ? num_float(odd) : f;
}

/* a * b + c with one rounding. For fp16 the product is exact in fp32 and the sum is
 * rounded to odd. */
VEC_INLINE float fused(float a, float b, float c, bool half)
{
    float p = a * b, s = p + c, t = s - p;
    float err = (p - (s - t)) + (c - t);
    uint32_t odd = (num_bits(s) - ((err > 0) != (s > 0))) | 1u;

    if (!half) {
        return num_fma(a, b, c);
    }
    return err > 0 || err < 0 ? num_float(odd) : s;
}

/* To a whole number, of the same sign. Where the host has an instruction the second form
 * is that; it gives the same. */
#if !defined(__SSE4_1__)
VEC_INLINE float round_whole(float x, unsigned mode)
{
    float mag = __builtin_fabsf(x), near = (mag + 0x1p23f) - 0x1p23f;
    float down = near > mag ? near - 1.0f : near;
    float up = down < mag ? down + 1.0f : down;
    float small = mag < 0x1p23f ? down : 0.0f;
    float odd = down < mag ? (float)((int32_t)small | 1) : down;
    float r = near;

    switch (mode) {
    case ROUND_FLOOR:
        r = x < 0 ? up : down;
        break;
    case ROUND_CEIL:
        r = x < 0 ? down : up;
        break;
    case ROUND_ROUND:
        r = mag - down >= 0.5f ? up : down;
        break;
    case ROUND_TRUNC:
        r = down;
        break;
    case ROUND_ODD:
        r = odd;
        break;
    default:
        break;
    }
    r = mag < 0x1p23f ? r : mag;
    return num_float(num_bits(r) | (num_bits(x) & 0x80000000u));
}
#else
VEC_INLINE float round_whole(float x, unsigned mode)
{
    float down = __builtin_truncf(x), step = __builtin_copysignf(1.0f, x);
    float small = __builtin_fabsf(x) < 0x1p23f ? down : 1.0f;

    switch (mode) {
    case ROUND_FLOOR:
        return __builtin_floorf(x);
    case ROUND_CEIL:
        return __builtin_ceilf(x);
    case ROUND_ROUND:
        return __builtin_fabsf(x - down) >= 0.5f ? down + step : down;
    case ROUND_TRUNC:
        return down;
    case ROUND_ODD:
        return down != x && !((int32_t)small & 1) ? down + step : down;
    default:
        return __builtin_rintf(x);
    }
}
#endif

/* A whole number to an integer of lo to hi; NaN to 0. */
VEC_INLINE int32_t to_integer(float x, int32_t lo, int32_t hi)
{
    float least = (float)lo, most = (float)hi;
    float inside = x >= most ? 0.0f : x;
    int32_t v;

    inside = inside < least ? least : inside;
    v = (int32_t)(x != x ? 0.0f : inside);
    return x >= most ? hi : v;
}

/* Whether the magnitude `base`, of which `rem` is cut off, becomes the next one. */
VEC_INLINE uint32_t round_up(unsigned mode, bool negative, uint32_t base, uint32_t rem,
                             uint32_t half)
{
    switch (mode) {
    case ROUND_FLOOR:
        return negative & (rem != 0);
    case ROUND_CEIL:
        return !negative & (rem != 0);
    case ROUND_ROUND:
        return rem >= half;
    case ROUND_TRUNC:
        return 0;
    case ROUND_ODD:
        return (rem != 0) & ~base;
    default:
        return (rem > half) | ((rem == half) & base);
    }
}

VEC_INLINE uint16_t narrow_f16(float x, unsigned mode)
{
    uint32_t f = num_bits(x), mag = f & 0x7fffffffu, exp = mag >> 23;
    uint32_t sign = f >> 16 & 0x8000u;
    uint32_t deep = 126u - exp > 31u ? 31u : 126u - exp;
    uint32_t shift = exp >= 113 ? 13u : deep;
    uint32_t frac = (mag & 0x7fffffu) | (exp ? 0x800000u : 0u);
    uint32_t full = exp >= 113 ? mag - (112u << 23) : frac;
    uint32_t base = full >> shift, rem = full & ((1u << shift) - 1u), result;

    base = exp >= 143 ? 0x7bffu : base; /* 2^16 and above: beyond the greatest one */
    rem = exp >= 143 ? 0x1fffu : rem;
    result = base + (round_up(mode, sign != 0, base, rem, 1u << (shift - 1)) & 1u);
    result = mag == NUM_F32_INF ? NUM_F16_INF : result;
    return (uint16_t)(mag > NUM_F32_INF ? NUM_F16_NAN : sign | result);
}

VEC_INLINE uint16_t narrow_bf16(float x, unsigned mode)
{
    uint32_t f = num_bits(x), mag = f & 0x7fffffffu, sign = f >> 16 & 0x8000u;
    uint32_t base = mag >> 16;
    uint32_t up = round_up(mode, sign != 0, base, mag & 0xffffu, 0x8000u) & 1u;

    return (uint16_t)(mag > NUM_F32_INF ? NUM_BF16_NAN : sign | (base + up));
}

/* A fp64 to fp32 by a mode, if it is 0 or a normal number of fp32. */
VEC_INLINE float real_to_f32(double d, unsigned mode)
{
    uint64_t u = num_bits64(__builtin_fabs(d));
    uint32_t down = u ? (uint32_t)(u >> 29) - (896u << 23) : 0;
    uint32_t rem = (uint32_t)u & 0x1fffffffu, negative = d < 0.0;
    uint32_t up = round_up(mode, negative != 0, down, rem, 1u << 28) & 1u;

    return mode == ROUND_RINT ? (float)d : num_float((down + up) | negative << 31);
}

/* A whole number to a 64-bit integer; NaN to 0. */
VEC_INLINE int64_t to_wide(float x)
{
    uint32_t f = num_bits(x), exp = f >> 23 & 255u;
    uint32_t places = exp < 127 ? 63u : exp > 189 ? 1u : 190u - exp;
    uint64_t mag = (uint64_t)((f & 0x7fffffu) | 0x800000u) << 40 >> places;
    uint64_t most = (uint64_t)INT64_MAX + (f >> 31);

    mag = exp < 127 ? 0 : mag;
    mag = exp > 189 ? most : mag;
    mag = x != x ? 0 : mag;
    return (int64_t)(f >> 31 ? 0 - mag : mag);
}

/* A 64-bit integer to fp32, through fp64. Of more than 53 bits the last eleven become one
 * that says whether they were 0. */
VEC_INLINE float wide_to_f32(int64_t v, unsigned mode)
{
    uint64_t mag = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    uint64_t few = (mag & ~UINT64_C(0x7ff)) | (((mag & 0x7ff) + 0x7ff) & 0x800);
    uint64_t u = mag >> 53 ? few : mag;
    double high = num_double(0x4530000000000000 | u >> 32) - 0x1.00000001p84;
    double d = high + num_double(0x4330000000000000 | (u & 0xffffffff));

    return real_to_f32(v < 0 ? -d : d, mode);
}

/* fp16 to fp32; a NaN stays one. */
VEC_INLINE float widen_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, mag = (uint32_t)(h & 0x7fffu) << 13;
    float small = num_float(mag + (113u << 23)) - num_float(113u << 23);
    uint32_t big = mag + ((mag >= 31u << 23 ? 224u : 112u) << 23);

    return num_float((mag < 1u << 23 ? num_bits(small) : big) | sign);
}

/* x by ROUND or ODD, if `down` is x cut off. */
VEC_INLINE uint16_t finish_f16(float x, uint16_t down, unsigned mode)
{
    float w = widen_f16(down), rem = __builtin_fabsf(x - w);
    int32_t half = (int32_t)(num_bits(w) & 0x7f800000u) - (11 << 23);
    int32_t least = 102 << 23; /* of the subnormal ones: 2^-25 */
    bool up = rem >= num_float((uint32_t)(half < least ? least : half));

    return (uint16_t)(mode == ROUND_ODD ? down | (rem > 0.0f) : down + up);
}

/* n elements of a type as fp32, and back. */
#define LOAD(TYPE, ctype, value)                                                         \
    VEC_INLINE void load_##TYPE(float *restrict to, const void *from, size_t n)          \
    {                                                                                    \
        const ctype *restrict x = from;                                                  \
        for (size_t i = 0; i < n; i++) {                                                 \
            to[i] = value;                                                               \
        }                                                                                \
    }
LOAD(F32, float, x[i])
LOAD(BF16, uint16_t, num_float((uint32_t)x[i] << 16))
LOAD(S16, int16_t, x[i])
LOAD(S8, int8_t, x[i])
LOAD(U8, uint8_t, x[i])

VEC_INLINE void load_F16(float *restrict to, const void *from, size_t n)
{
    const uint16_t *restrict x = from;
    size_t i = 0;

#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16) {
        _mm512_storeu_ps(to + i,
                         _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x + i))));
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x + i))));
    }
#endif
    for (; i < n; i++) {
        to[i] = widen_f16(x[i]);
    }
}

/* No NaN but the canonical one may be among them. */
VEC_INLINE void store_F16(void *to, const float *restrict from, size_t n, unsigned mode)
{
    uint16_t *restrict y = to;
    size_t i = 0;

#if defined(__AVX512F__)
#define HOST(imm)                                                                        \
    for (; i + 16 <= n; i += 16) {                                                       \
        _mm256_storeu_si256((void *)(y + i),                                             \
                            _mm512_cvtps_ph(_mm512_loadu_ps(from + i), imm));            \
    }
#elif defined(__F16C__)
#define HOST(imm)                                                                        \
    for (; i + 8 <= n; i += 8) {                                                         \
        _mm_storeu_si128((void *)(y + i),                                                \
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), imm));               \
    }
#else
#define HOST(imm)
#endif
    if (mode == ROUND_RINT) {
        HOST(_MM_FROUND_TO_NEAREST_INT)
    } else if (mode == ROUND_FLOOR) {
        HOST(_MM_FROUND_TO_NEG_INF)
    } else if (mode == ROUND_CEIL) {
        HOST(_MM_FROUND_TO_POS_INF)
    } else {
        HOST(_MM_FROUND_TO_ZERO)
    }
#undef HOST
    for (size_t j = 0; (mode == ROUND_ROUND || mode == ROUND_ODD) && j < i; j++) {
        y[j] = finish_f16(from[j], y[j], mode);
    }
    for (; i < n; i++) {
        y[i] = narrow_f16(from[i], mode);
    }
}

#endif
