/* SPDX-License-Identifier: MIT
 *
 * Operands in types that the Cube has not, made into such as it has, by the Vector.
 *
 * F32  three planes of F16, one behind the other along k, so that one product of 3 k is
 *
 *          a b ~ hi hi + (hi 2^-6) (lo 2^6) + (lo 2^6) (hi 2^-6)      hi = f16(x), lo = x - hi
 *
 *      Powers of two so that lo, 2^-11 of x, does not vanish. |x| up to 65504; beyond, and of
 *      infinity, the result is NaN or infinite. Error of a sum of k products, S = sum |a b|:
 *      3 2^-22 S + 3 2^-31 sum (|a| + |b|) + k 2^-43 by the planes, and 3 k 2^-24 S by fp32.
 * U8   x - 128 as S8: its top bit turned over.
 */
#ifndef KERNELS_MM_PLANES_H
#define KERNELS_MM_PLANES_H

#include <stdbool.h>
#include <stdint.h>

#include "hal/pipe.h"

enum { MM_PLANES = 3, MM_PLANES_SHIFT = 6, MM_PLANES_MOST = 65504 };

/* An operand: so many lines of numbers, each of which becomes MM_PLANES as long, or one. A line
 * is a row where k is along rows, else all of the operand. */
struct mm_planes {
    enum type type; /* F32, U8 */
    const void *from;
    void *to;
    uint64_t lines, length;
    bool b; /* planes of b: hi, lo, hi; of a: hi, hi, lo */
};

/* The share of the task's block, by UB and semaphores 16 to 19 of the core; all commands have ended
 * when it returns. */
void mm_planes_make(const struct mm_planes *operands, unsigned n);

#endif
