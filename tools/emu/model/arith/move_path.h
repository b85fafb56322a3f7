/* SPDX-License-Identifier: MIT
 *
 * Private to move*.c: the inner operations that have a path per host.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_MOVE_PATH_H
#define TOOLS_EMU_MODEL_ARITH_MOVE_PATH_H

#include <stddef.h>
#include <stdint.h>

/* Transposes one source tile into one fractal of 16 rows of 32 bytes (4 bit: move.c).
 * 8 bit:  32 rows of 16 bytes at s0, 32 bytes apart
 * 16 bit: 16 rows of 32 bytes at s0
 * 32 bit: 8 rows of 32 bytes at s0 (fractal rows 0-7) and at s1 (rows 8-15) */
typedef void move_transpose(uint8_t *dst, const uint8_t *s0, const uint8_t *s1);
/* Converts 16 fp32 to 16 elements of 16 bits. */
typedef void move_narrow(uint8_t *dst, const uint8_t *src);

struct move_path {
    move_transpose *t8, *t16, *t32;
    move_narrow *f16, *bf16;
};

/* Fractals transposed: rows of the window (Nz, blocks c0_stride apart) are k, columns are
 * x (m or n); fractal (x / 16, k / K0) goes to step_x * (x / 16) + step_k * (k / K0). */
struct move_window {
    const uint8_t *src;
    size_t c0_stride, rows, cols;
    unsigned bits;
};
void move_transpose_fractals(uint8_t *dst, const struct move_window *w, size_t step_x,
                             size_t step_k);

#if defined(__x86_64__)
extern const struct move_path move_avx2;
#endif

#endif
