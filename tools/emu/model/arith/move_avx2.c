/* SPDX-License-Identifier: MIT
 *
 * The inner operations of the data movers with AVX2 and F16C; the same bits as the
 * plain ones in move.c.
 */
#include "tools/emu/model/arith/move_path.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include "tools/emu/model/arith/simd_avx2.h"

#define TARGET __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* `n` rows of a fractal. */
INLINE void store(uint8_t *dst, const __m256i *line, int n)
{
    SIMD_UNROLL
    for (int i = 0; i < n; i++) {
        _mm256_storeu_si256((__m256i *)(dst + i * 32), line[i]);
    }
}

TARGET static void t8(uint8_t *dst, const uint8_t *s0, const uint8_t *s1)
{
    __m256i line[16];

    (void)s1;
    simd_transpose8(line, s0);
    store(dst, line, 16);
}

TARGET static void t16(uint8_t *dst, const uint8_t *s0, const uint8_t *s1)
{
    __m256i line[8];

    (void)s1;
    simd_transpose16(line, s0);
    store(dst, line, 8);
    simd_transpose16(line, s0 + 16);
    store(dst + 256, line, 8);
}

TARGET static void t32(uint8_t *dst, const uint8_t *s0, const uint8_t *s1)
{
    __m256i line[8];

    simd_transpose32(line, s0);
    store(dst, line, 8);
    simd_transpose32(line, s1);
    store(dst + 256, line, 8);
}

TARGET static void narrow_f16(uint8_t *dst, const uint8_t *src)
{
    for (int i = 0; i < 2; i++) {
        __m256 v = _mm256_loadu_ps((const float *)(const void *)(src + i * 32));
        __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));

        v = _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        _mm_storeu_si128((__m128i *)(dst + i * 16),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
}

/* Eight fp32, each rounded to bf16 in the low half of its lane. */
INLINE __m256i round_bf16(const uint8_t *src)
{
    __m256i u = _mm256_loadu_si256((const __m256i *)src);
    __m256i mag = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff));
    __m256i nan = _mm256_cmpgt_epi32(mag, _mm256_set1_epi32(0x7f800000));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));

    u = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    u = _mm256_srli_epi32(u, 16);
    return _mm256_blendv_epi8(u, _mm256_set1_epi32(0x7fc0), nan);
}

TARGET static void narrow_bf16(uint8_t *dst, const uint8_t *src)
{
    __m256i both = _mm256_packus_epi32(round_bf16(src), round_bf16(src + 32));

    _mm256_storeu_si256((__m256i *)dst, _mm256_permute4x64_epi64(both, 0xd8));
}

const struct move_path move_avx2 = {t8, t16, t32, narrow_f16, narrow_bf16};

#endif
