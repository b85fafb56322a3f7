/* SPDX-License-Identifier: MIT
 *
 * Private to cube_avx*.c: the parts of packing that AVX2 and AVX-512 share.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_CUBE_PACK_H
#define TOOLS_EMU_MODEL_ARITH_CUBE_PACK_H

#if defined(__x86_64__)
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/simd_avx2.h"

static inline uint32_t cube_load32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* Eight columns of a fractal of int8 of L0B: line i is k = 4i .. 4i + 3 of each. What
 * lies at or beyond k_left becomes 0. */
SIMD_INLINE void cube_lines_s8(__m256i *line, const uint8_t *src, unsigned k_left)
{
    simd_transpose32(line, src);
    if (k_left >= 32) {
        return;
    }
    SIMD_UNROLL
    for (unsigned i = 0; i < 8; i++) {
        unsigned left = k_left > 4 * i ? k_left - 4 * i : 0;
        uint32_t mask = left < 4 ? (UINT32_C(1) << (8 * left)) - 1 : UINT32_MAX;

        line[i] = _mm256_and_si256(line[i], _mm256_set1_epi32((int)mask));
    }
}

/*
 * int8 as pairs of int16. Each word of four bytes gives a word of its even and one of
 * its odd bytes; the order within a fractal of k is the even words, then the odd ones,
 * for A and B alike. Integer sums do not mind.
 */
SIMD_INLINE __m256i cube_even16(__m256i v)
{
    return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
}

SIMD_INLINE __m256i cube_odd16(__m256i v)
{
    return _mm256_srai_epi16(v, 8);
}

/* Packing that is as fast with AVX2. */
void cube_pack_a_bf16(void *dst, const void *src, size_t fractals);
void cube_pack_b_bf16(void *dst, int32_t *fix, const void *src, unsigned nb, unsigned k);
void cube_pack_a_f32(void *dst, const void *src, size_t fractals);
void cube_pack_b_f32(void *dst, int32_t *fix, const void *src, unsigned nb, unsigned k);
void cube_pack_a_s16(void *dst, const void *src, size_t fractals);
void cube_pack_b_s16(void *dst, int32_t *fix, const void *src, unsigned nb, unsigned k);

#endif
#endif
