/* SPDX-License-Identifier: MIT
 *
 * The Cube with AVX-512: floating point by FMA in fp32, int8 by multiply-add of int16
 * pairs or, with VNNI, of bytes.
 *
 * VNNI multiplies unsigned by signed bytes: A is packed as a + 128, and pack_b gives
 * the correction, -128 times the sum of each column of B. Numbers wrap around.
 */
#include "tools/emu/model/arith/cube_path.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include "tools/emu/model/arith/cube_pack.h"
#include "tools/emu/model/arith/num.h"

#define TARGET  __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")))
#define INLINE  static inline __attribute__((always_inline)) TARGET
#define V_LANES 16u

INLINE __m512 canon(__m512 v)
{
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q),
                              _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

#define VEC               __m512
#define V_LOAD(p)         _mm512_loadu_ps(p)
#define V_STORE(p, v)     _mm512_storeu_ps(p, v)
#define V_ZERO            _mm512_setzero_ps()
#define V_SPLAT(p)        _mm512_set1_ps(num_float(cube_load32(p)))
#define KERNEL(name)      half_##name
#define V_STEP(acc, a, b) _mm512_fmadd_ps(a, b, acc)
#define V_DONE(acc)       canon(acc)
#define STEPS             16u
#define FIX               0
#define TAIL              1
#include "tools/emu/model/arith/cube_kernel.h"
#define KERNEL(name)      f32_##name
#define V_STEP(acc, a, b) _mm512_fmadd_ps(a, b, acc)
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

#define VEC               __m512i
#define V_LOAD(p)         _mm512_loadu_si512(p)
#define V_STORE(p, v)     _mm512_storeu_si512(p, v)
#define V_ZERO            _mm512_setzero_si512()
#define V_SPLAT(p)        _mm512_set1_epi32((int)cube_load32(p))
#define V_ADD(a, b)       _mm512_add_epi32(a, b)
#define KERNEL(name)      s16_##name
#define V_STEP(acc, a, b) _mm512_add_epi32(acc, _mm512_madd_epi16(a, b))
#define V_DONE(acc)       (acc)
#define STEPS             16u
#define FIX               0
#define TAIL              0
#include "tools/emu/model/arith/cube_kernel.h"

TARGET static void pack_a_f16(void *dst, const void *src, size_t fractals)
{
    const uint8_t *s = src;
    float *d = dst;

    for (size_t i = 0; i < fractals * 16; i++) {
        __m256i h = _mm256_loadu_si256((const __m256i *)(s + i * 32));

        _mm512_storeu_ps(d + i * 16, _mm512_cvtph_ps(h));
    }
}

/* Half of a fractal of L0B: 8 lines of k. */
INLINE void pack_b_half(float *dst, const uint8_t *src)
{
    __m256i line[8];

    simd_transpose16(line, src);
    SIMD_UNROLL
    for (int i = 0; i < 8; i++) {
        _mm512_storeu_ps(dst + i * 16, _mm512_cvtph_ps(line[i]));
    }
}

TARGET static void pack_b_f16(void *dst, int32_t *fix, const void *src, unsigned nb,
                              unsigned k)
{
    float *d = dst;

    (void)fix;
    for (unsigned i = 0; i < nb; i++) {
        for (unsigned j = 0; j < (k + 15) / 16; j++) {
            const uint8_t *s = (const uint8_t *)src + ((size_t)j * nb + i) * 512;

            pack_b_half(d, s);
            pack_b_half(d + 128, s + 16);
            d += 256;
        }
    }
}

const struct cube_path cube_avx512_f16 = {1024, pack_a_f16, pack_b_f16, half_run};
const struct cube_path cube_avx512_bf16 = {1024, cube_pack_a_bf16, cube_pack_b_bf16,
                                           half_run};
const struct cube_path cube_avx512_f32 = {512, cube_pack_a_f32, cube_pack_b_f32, f32_run};
const struct cube_path cube_avx512_s8 = {1024, cube_pack_a_s16, cube_pack_b_s16, s16_run};

#undef TARGET
#define TARGET                                                                           \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,"            \
                          "avx512vnni")))

#define KERNEL(name)      vnni_##name
#define V_STEP(acc, a, b) _mm512_dpbusd_epi32(acc, a, b)
#define V_DONE(acc)       (acc)
#define STEPS             8u
#define FIX               1
#define TAIL              0
#include "tools/emu/model/arith/cube_kernel.h"

TARGET static void pack_a_vnni(void *dst, const void *src, size_t fractals)
{
    const uint8_t *s = src;
    uint8_t *d = dst;

    for (size_t i = 0; i < fractals * 8; i++) {
        __m512i v = _mm512_loadu_si512(s + i * 64);

        v = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
        _mm512_storeu_si512(d + i * 64, v);
    }
}

TARGET static void pack_b_vnni(void *dst, int32_t *fix, const void *src, unsigned nb,
                               unsigned k)
{
    __m256i *d = dst;
    unsigned kb = (k + 31) / 32;

    for (unsigned i = 0; i < nb; i++) {
        for (unsigned half = 0; half < 2; half++) {
            __m256i sum = _mm256_setzero_si256();

            for (unsigned j = 0; j < kb; j++) {
                const uint8_t *s = (const uint8_t *)src + ((size_t)j * nb + i) * 512;
                __m256i line[8], *p = d + (size_t)j * 16 + half;

                cube_lines_s8(line, s + half * 256, k - j * 32);
                SIMD_UNROLL
                for (int x = 0; x < 8; x++) {
                    sum = _mm256_dpbusd_epi32(sum, _mm256_set1_epi8(1), line[x]);
                    _mm256_storeu_si256(p + 2 * x, line[x]);
                }
            }
            sum = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sum, 7));
            _mm256_storeu_si256((__m256i *)(fix + i * 16 + half * 8), sum);
        }
        d += (size_t)kb * 16;
    }
}

const struct cube_path cube_vnni_s8 = {512, pack_a_vnni, pack_b_vnni, vnni_run};

#endif
