/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Cube: one Mmad, out = start + a * b, on tiles as they lie in
 * L0A, L0B and L0C.
 *
 * K0 is 32 bytes of elements; mb = ceil(m/16), nb = ceil(n/16), kb = ceil(k/K0).
 *   a    "Zz": fractal (i_m, i_k) of 512 bytes at (i_m*a_kb + i_k)*512: 16 rows of K0
 *   b    "Zn": fractal (i_k, i_n) of 512 bytes at (i_k*nb + i_n)*512: 16 columns,
 *        each K0 consecutive k
 *   in, out "Nz": fractal (i_n, i_m) of 1024 bytes at (i_n*mb + i_m)*1024: 16 rows
 *        of 16 columns, 32-bit
 *
 * out is written in whole fractals and must not overlap an input. Elements with row >= m
 * or column >= n get what `in` has there (0 if NULL); what a and b hold beyond m, n and k
 * never matters. k may be 0. a and b have at most CUBE_L0_BYTES each (checked: traps)
 * and any alignment; 64 bytes for all is fastest.
 * Works in scratch memory of its thread, and keeps nothing between calls.
 * Source: hal/contract/cube.md, "Functional model".
 */
#ifndef TOOLS_EMU_MODEL_ARITH_CUBE_H
#define TOOLS_EMU_MODEL_ARITH_CUBE_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/emu/model/share.h"

#define CUBE_L0_BYTES 65536u

/*
 * Floating point: acc = fma(a, b, acc), k ascending: one rounding per step, to nearest
 * even; subnormals are kept; inf*0 is NaN; a NaN result is 0x7fc00000. HF32: a and b are
 * rounded to 11 bits of fraction first. Integers: exact modulo 2^32. S4: two elements a
 * byte, the low nibble first.
 */
enum cube_type {
    CUBE_F16,
    CUBE_BF16,
    CUBE_F32,
    CUBE_HF32, /* a and b are fp32 */
    CUBE_S8,
    CUBE_S4,
    CUBE_TYPES
};

struct cube_op {
    enum cube_type type;
    unsigned m, n, k;
    unsigned a_kb;  /* fractals of k that a is apart from row block to row block */
    bool row;       /* a is k elements side by side; m is 1, a_kb is not used */
    bool ties_down; /* HF32: towards zero instead of to even */
    /* S8 only, or NULL: b has 2 * ceil(k / 4) rows, 2 of each 4 of k; 2 bits for each of
     * its bytes, in their order, the low ones first, say which, as in cube_sparse.c. */
    const void *index;
    const void *bias;          /* n 32-bit elements to start each row from; NULL: 0 */
    const struct share *share; /* with whom columns may be shared, or NULL */
};

/* in: what to start from; NULL: op->bias. */
void cube_run(const struct cube_op *op, void *out, const void *in, const void *a,
              const void *b);

#endif
