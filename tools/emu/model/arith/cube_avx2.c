/* SPDX-License-Identifier: MIT
 *
 * The Cube with AVX2: floating point by FMA in fp32, int8 by multiply-add of int16 pairs.
 *
 * A pair of products is at most 2 * 128 * 128 and fits int32; sums wrap around.
 */
#include "tools/emu/model/arith/cube_path.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>
#include "tools/emu/model/arith/cube_pack.h"
#include "tools/emu/model/arith/num.h"

#define TARGET  __attribute__((target("avx2,fma,f16c")))
#define INLINE  static inline __attribute__((always_inline)) TARGET
#define V_LANES 8u

INLINE __m256 canon(__m256 v)
{
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));

    return _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

#define VEC               __m256
#define V_LOAD(p)         _mm256_loadu_ps((const float *)(const void *)(p))
#define V_STORE(p, v)     _mm256_storeu_ps((float *)(void *)(p), v)
#define V_ZERO            _mm256_setzero_ps()
#define V_SPLAT(p)        _mm256_set1_ps(num_float(cube_load32(p)))
#define KERNEL(name)      half_##name
#define V_STEP(acc, a, b) _mm256_fmadd_ps(a, b, acc)
#define V_DONE(acc)       canon(acc)
#define STEPS             16u
#define FIX               0
#define TAIL              1
#include "tools/emu/model/arith/cube_kernel.h"
#define KERNEL(name)      f32_##name
#define V_STEP(acc, a, b) _mm256_fmadd_ps(a, b, acc)
#define V_DONE(acc)       canon(acc)
#define STEPS             8u
#define FIX               0
#define TAIL              1
#include "tools/emu/model/arith/cube_kernel.h"
#undef VEC
#undef V_LOAD
#undef V_STORE
#undef V_ZERO
#undef V_SPLAT

#define VEC               __m256i
#define V_LOAD(p)         _mm256_loadu_si256((const __m256i *)(p))
#define V_STORE(p, v)     _mm256_storeu_si256((__m256i *)(p), v)
#define V_ZERO            _mm256_setzero_si256()
#define V_SPLAT(p)        _mm256_set1_epi32((int)cube_load32(p))
#define KERNEL(name)      s16_##name
#define V_STEP(acc, a, b) _mm256_add_epi32(acc, _mm256_madd_epi16(a, b))
#define V_DONE(acc)       (acc)
#define STEPS             16u
#define FIX               0
#define TAIL              0
#include "tools/emu/model/arith/cube_kernel.h"

/* Eight elements of 16 bits as fp32. */
INLINE __m256 widen(__m128i h, bool bf16)
{
    return bf16 ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16))
                : _mm256_cvtph_ps(h);
}

INLINE void pack_a_16(float *dst, const uint8_t *src, size_t fractals, bool bf16)
{
    for (size_t i = 0; i < fractals * 32; i++) {
        __m128i h = _mm_loadu_si128((const __m128i *)(src + i * 16));

        _mm256_storeu_ps(dst + i * 8, widen(h, bf16));
    }
}

/* Half of a fractal of L0B: 8 lines of k. */
INLINE void pack_b_half(float *dst, const uint8_t *src, bool bf16)
{
    __m256i line[8];

    simd_transpose16(line, src);
    SIMD_UNROLL
    for (int i = 0; i < 8; i++) {
        __m128i lo = _mm256_castsi256_si128(line[i]);
        __m128i hi = _mm256_extracti128_si256(line[i], 1);

        _mm256_storeu_ps(dst + i * 16, widen(lo, bf16));
        _mm256_storeu_ps(dst + i * 16 + 8, widen(hi, bf16));
    }
}

INLINE void pack_b_16(float *dst, const uint8_t *src, unsigned nb, unsigned k, bool bf16)
{
    for (unsigned i = 0; i < nb; i++) {
        for (unsigned j = 0; j < (k + 15) / 16; j++) {
            const uint8_t *s = src + ((size_t)j * nb + i) * 512;

            pack_b_half(dst, s, bf16);
            pack_b_half(dst + 128, s + 16, bf16);
            dst += 256;
        }
    }
}

TARGET void cube_pack_b_f32(void *packed, int32_t *fix, const void *b, unsigned nb,
                            unsigned k)
{
    __m256i *dst = packed;
    const uint8_t *src = b;

    (void)fix;
    for (unsigned i = 0; i < nb; i++) {
        for (unsigned j = 0; j < (k + 7) / 8; j++) {
            const uint8_t *s = src + ((size_t)j * nb + i) * 512;

            for (unsigned half = 0; half < 2; half++) {
                __m256i line[8];

                simd_transpose32(line, s + half * 256);
                SIMD_UNROLL
                for (int x = 0; x < 8; x++) {
                    _mm256_storeu_si256(dst + 2 * x + half, line[x]);
                }
            }
            dst += 16;
        }
    }
}

TARGET static void pack_a_f16(void *dst, const void *src, size_t fractals)
{
    pack_a_16(dst, src, fractals, false);
}

TARGET static void pack_b_f16(void *dst, int32_t *fix, const void *src, unsigned nb,
                              unsigned k)
{
    (void)fix;
    pack_b_16(dst, src, nb, k, false);
}

TARGET void cube_pack_a_bf16(void *dst, const void *src, size_t fractals)
{
    pack_a_16(dst, src, fractals, true);
}

TARGET void cube_pack_b_bf16(void *dst, int32_t *fix, const void *src, unsigned nb,
                             unsigned k)
{
    (void)fix;
    pack_b_16(dst, src, nb, k, true);
}

void cube_pack_a_f32(void *dst, const void *src, size_t fractals)
{
    memcpy(dst, src, fractals * 512);
}

TARGET void cube_pack_a_s16(void *dst, const void *src, size_t fractals)
{
    const uint8_t *s = src;
    __m256i *d = dst;

    for (size_t i = 0; i < fractals * 16; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(s + i * 32));

        _mm256_storeu_si256(d + 2 * i, cube_even16(v));
        _mm256_storeu_si256(d + 2 * i + 1, cube_odd16(v));
    }
}

TARGET void cube_pack_b_s16(void *dst, int32_t *fix, const void *src, unsigned nb,
                            unsigned k)
{
    __m256i *d = dst;

    (void)fix;
    for (unsigned i = 0; i < nb; i++) {
        for (unsigned j = 0; j < (k + 31) / 32; j++) {
            const uint8_t *s = (const uint8_t *)src + ((size_t)j * nb + i) * 512;

            for (unsigned half = 0; half < 2; half++) {
                __m256i line[8];

                cube_lines_s8(line, s + half * 256, k - j * 32);
                SIMD_UNROLL
                for (int x = 0; x < 8; x++) {
                    _mm256_storeu_si256(d + 2 * x + half, cube_even16(line[x]));
                    _mm256_storeu_si256(d + 16 + 2 * x + half, cube_odd16(line[x]));
                }
            }
            d += 32;
        }
    }
}

/* The same 4 bytes for each of 8 pairs. */
#define PAIRS(x0, x1, x2, x3, y0, y1, y2, y3)                                            \
    _mm256_setr_epi8(x0, x1, x2, x3, y0, y1, y2, y3, x0, x1, x2, x3, y0, y1, y2, y3, x0, \
                     x1, x2, x3, y0, y1, y2, y3, x0, x1, x2, x3, y0, y1, y2, y3)
/* A byte of each of 8 pairs, 4 times. */
#define SPREAD(b)                                                                        \
    _mm256_setr_epi8(b, b, b, b, b + 2, b + 2, b + 2, b + 2, b + 4, b + 4, b + 4, b + 4, \
                     b + 6, b + 6, b + 6, b + 6, b + 8, b + 8, b + 8, b + 8, b + 10,     \
                     b + 10, b + 10, b + 10, b + 12, b + 12, b + 12, b + 12, b + 14,     \
                     b + 14, b + 14, b + 14)

/* 16 elements of b, half a column, to 32; returns those that are the second of two at a
 * position. rest: these to `to` instead. */
INLINE __m256i sparse_half(bool rest, uint8_t *to, const uint8_t *b, const uint8_t *index)
{
    const __m256i four = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                          2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    __m256i from = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)b));
    __m256i at = _mm256_shuffle_epi8(_mm256_set1_epi32((int)cube_load32(index)), four);
    __m256i first =
        _mm256_cmpeq_epi8(_mm256_and_si256(at, PAIRS(3, 3, 3, 3, 0x30, 0x30, 0x30, 0x30)),
                          PAIRS(0, 1, 2, 3, 0, 0x10, 0x20, 0x30));
    __m256i second =
        _mm256_cmpeq_epi8(_mm256_and_si256(at, PAIRS(12, 12, 12, 12, -64, -64, -64, -64)),
                          PAIRS(1, 0, 4, 8, 1, 0, 0x40, -128)); /* 1: never */
    __m256i both;

    second = _mm256_and_si256(second, _mm256_shuffle_epi8(from, SPREAD(1)));
    both = _mm256_and_si256(first, second);
    first = _mm256_or_si256(_mm256_and_si256(first, _mm256_shuffle_epi8(from, SPREAD(0))),
                            _mm256_andnot_si256(first, second));
    _mm256_storeu_si256((__m256i *)to, rest ? both : first);
    return both;
}

TARGET bool cube_sparse_fractal_avx2(bool rest, uint8_t *low, uint8_t *high,
                                     const uint8_t *b, const uint8_t *index)
{
    __m256i both = _mm256_setzero_si256();

    for (unsigned c = 0; c < 16; c++, b += 32, index += 8) {
        both = _mm256_or_si256(both, sparse_half(rest, low + c * 32, b, index));
        both = _mm256_or_si256(both, sparse_half(rest, high + c * 32, b + 16, index + 4));
    }
    return !_mm256_testz_si256(both, both);
}

const struct cube_path cube_avx2_f16 = {1024, pack_a_f16, pack_b_f16, half_run};
const struct cube_path cube_avx2_bf16 = {1024, cube_pack_a_bf16, cube_pack_b_bf16,
                                         half_run};
const struct cube_path cube_avx2_f32 = {512, cube_pack_a_f32, cube_pack_b_f32, f32_run};
const struct cube_path cube_avx2_s8 = {1024, cube_pack_a_s16, cube_pack_b_s16, s16_run};

#endif
