/* SPDX-License-Identifier: MIT
 *
 * Private to *_avx*.c: transposition with AVX2.
 *
 * Each half of a register holds a row of a square tile. Interleaving rows i and
 * i + n/2 for all i is a perfect shuffle, and log2(n) of them transpose.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_SIMD_AVX2_H
#define TOOLS_EMU_MODEL_ARITH_SIMD_AVX2_H

#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define SIMD_UNROLL _Pragma("unroll")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif
#define SIMD_INLINE static inline __attribute__((always_inline, target("avx2")))

/* 16 bytes of `row` and of the row `apart` bytes later. */
SIMD_INLINE __m256i simd_load_pair(const uint8_t *row, size_t apart)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)row)),
        _mm_loadu_si128((const __m128i *)(row + apart)), 1);
}

/* One perfect shuffle of n registers by elements of a type: out = shuffled in. */
#define SIMD_SHUFFLE(n, type, out, in)                                                   \
    SIMD_UNROLL                                                                          \
    for (int i_ = 0; i_ < (n) / 2; i_++) {                                               \
        (out)[2 * i_] = _mm256_unpacklo_##type((in)[i_], (in)[i_ + (n) / 2]);            \
        (out)[2 * i_ + 1] = _mm256_unpackhi_##type((in)[i_], (in)[i_ + (n) / 2]);        \
    }

/* 16 columns of 8 bits of 32 rows, 32 bytes apart: line i is column i. */
SIMD_INLINE void simd_transpose8(__m256i *line, const uint8_t *src)
{
    __m256i x[16];

    SIMD_UNROLL
    for (int i = 0; i < 16; i++) {
        line[i] = simd_load_pair(src + i * 32, 512);
    }
    SIMD_SHUFFLE(16, epi8, x, line)
    SIMD_SHUFFLE(16, epi8, line, x)
    SIMD_SHUFFLE(16, epi8, x, line)
    SIMD_SHUFFLE(16, epi8, line, x)
}

/* 8 columns of 16 bits of 16 rows. */
SIMD_INLINE void simd_transpose16(__m256i *line, const uint8_t *src)
{
    __m256i x[8], y[8];

    SIMD_UNROLL
    for (int i = 0; i < 8; i++) {
        x[i] = simd_load_pair(src + i * 32, 256);
    }
    SIMD_SHUFFLE(8, epi16, y, x)
    SIMD_SHUFFLE(8, epi16, x, y)
    SIMD_SHUFFLE(8, epi16, line, x)
}

/* 8 columns of 32 bits of 8 rows. */
SIMD_INLINE void simd_transpose32(__m256i *line, const uint8_t *src)
{
    SIMD_UNROLL
    for (int half = 0; half < 2; half++) {
        __m256i x[4], y[4];

        SIMD_UNROLL
        for (int i = 0; i < 4; i++) {
            x[i] = simd_load_pair(src + half * 16 + i * 32, 128);
        }
        SIMD_SHUFFLE(4, epi32, y, x)
        SIMD_SHUFFLE(4, epi32, line + half * 4, y)
    }
}

#endif
#endif
