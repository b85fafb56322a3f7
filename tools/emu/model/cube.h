/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Cube: one Mmad, out = in + a * b, on tiles as they lie in
 * L0A, L0B and L0C.
 *
 * K0 is 32 bytes of elements; mb = ceil(m/16), nb = ceil(n/16), kb = ceil(k/K0).
 *   a    "Zz": fractal (i_m, i_k) of 512 bytes at (i_m*kb + i_k)*512: 16 rows of K0
 *   b    "Zn": fractal (i_k, i_n) of 512 bytes at (i_k*nb + i_n)*512: 16 columns,
 *        each K0 consecutive k
 *   in, out "Nz": fractal (i_n, i_m) of 1024 bytes at (i_n*mb + i_m)*1024: 16 rows
 *        of 16 columns, 32-bit
 *
 * in == NULL starts from zero. out is written in whole fractals and must not
 * overlap an input. Elements with row >= m or column >= n get what `in` has there
 * (0 if NULL); what a and b hold beyond m, n and k never matters. k may be 0.
 * a and b have at most CUBE_L0_BYTES each (checked: traps). a and b may have any
 * alignment; 64 bytes for all four is fastest.
 * Not reentrant: works in static scratch memory, but keeps nothing between calls.
 * Source: hal/contract/cube.md, "Functional model".
 */
#ifndef TOOLS_EMU_MODEL_CUBE_H
#define TOOLS_EMU_MODEL_CUBE_H

#include <stdint.h>

#define CUBE_L0_BYTES 65536u

/*
 * fp16 x fp16 -> fp32. Per element acc = round(acc + a*b) with k ascending: the
 * product is exact, one rounding per step, to nearest even; subnormals are kept;
 * inf*0 is NaN; a NaN result is 0x7fc00000.
 */
void cube_f16(float *out, const float *in, const void *a, const void *b, unsigned m,
              unsigned n, unsigned k);

/* int8 x int8 -> int32, exact modulo 2^32. */
void cube_s8(int32_t *out, const int32_t *in, const void *a, const void *b, unsigned m,
             unsigned n, unsigned k);

#endif
