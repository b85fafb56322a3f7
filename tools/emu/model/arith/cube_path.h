/* SPDX-License-Identifier: MIT
 *
 * Private to cube*.c: what a type and a host path must provide.
 *
 * An Mmad packs both operands into scratch memory and runs a kernel over them.
 * The packed forms share one shape, so a further type is a pack function:
 *   A  the fractals of L0A in their order, elements widened
 *   B  for each block of 16 columns, `steps` lines; a line holds for each of the
 *      16 columns the operands of one step
 * A step is one multiply-add per 32-bit lane: one k of fp32, two of int16 or four
 * of int8 elements. int4 is widened to int8 and hf32 rounded before it is packed.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_CUBE_PATH_H
#define TOOLS_EMU_MODEL_ARITH_CUBE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBE_PACK_BYTES 262144u /* L0 of int4 as int16 */
#define CUBE_MAX_COLS   2048u   /* 128 blocks of one fractal fill L0B */

struct cube_job {
    void *out;
    const void *in;     /* or NULL */
    const void *bias;   /* if in is NULL: of every column, or NULL */
    const void *a;      /* packed */
    const void *b;      /* packed */
    const int32_t *fix; /* per column, to be added; only if the path's pack_b sets it */
    unsigned mb, nb, kb;
    unsigned first, end; /* blocks of columns to be done, the first one even */
    unsigned m;          /* rows that matter; the rest of a block may be anything */
    unsigned k;
};

struct cube_path {
    unsigned a_bytes; /* a packed fractal of A */
    void (*pack_a)(void *dst, const void *src, size_t fractals);
    void (*pack_b)(void *dst, int32_t *fix, const void *src, unsigned nb, unsigned k);
    /* Writes every element of the rows below m, in blocks; may write all others. */
    void (*run)(const struct cube_job *job);
};

/*
 * 2 of 4 (cube_sparse.c): a dense b of nb x kb fractals with all of its k in `wide`. Of
 * two elements at the same position it has the first, or with `rest` the second and
 * nothing else. Returns whether there is a second one that is not 0. The functions of a
 * fractal give one with the first and one with the second half of its k.
 */
bool cube_sparse_widen(bool rest, uint8_t *wide, const uint8_t *b, const uint8_t *index,
                       unsigned nb, unsigned kb);
bool cube_sparse_fractal_avx2(bool rest, uint8_t *low, uint8_t *high, const uint8_t *b,
                              const uint8_t *index);

extern const struct cube_path cube_plain_f16, cube_plain_bf16, cube_plain_f32,
    cube_plain_s8;
#if defined(__x86_64__)
extern const struct cube_path cube_avx2_f16, cube_avx2_bf16, cube_avx2_f32, cube_avx2_s8;
extern const struct cube_path cube_avx512_f16, cube_avx512_bf16, cube_avx512_f32,
    cube_avx512_s8, cube_vnni_s8;
#endif

#endif
