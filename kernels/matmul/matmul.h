/* SPDX-License-Identifier: MIT
 *
 * c = act(scale x (a x b + bias))      a (m, k), b (k, n), c (m, n), bias (n), row-major in GM;
 *                                      a may lie there as (k, m), b as (n, k)
 *
 * Types    a, b F16: c F32, F16; BF16: c F32, BF16; F32: c F32; bias F32. a, b S8,
 *          or S4: c S32, and scaled F16, S8, U8; bias S32. Two S4 are a byte, the first in its
 *          low half, and rows begin at whole bytes. a, b or both U8: as S8, of one product.
 *          F32 where the Cube has none: three products of F16, whose error mm/planes.h
 *          says, of numbers up to 65504. Both want a workspace.
 *          With a scale of each column, S8 and U8 to S8 and U8, results are ONNX's to the bit:
 *          round(relu(sum * scales[column])) + zero, each step in fp32.
 * Ranges   m, n, k from 1 up.
 * Numbers  Floats: products exact, summed in fp32 with k ascending from the bias on, one
 *          rounding a step, converted to c's type once. S8, S4: exact modulo 2^32; the scale
 *          has 11 significant bits (hal/contract/fixpipe.md). Of a long k and a small c, by the
 *          shape alone, parts of k have sums of their own: mm_part_begin().
 * Buffers  no alignment wanted (512 bytes is fastest); c must not overlap an operand.
 * Uses     L1, L0A, L0B, L0C whole, semaphores 0 to MM_SEMS - 1 of each core.
 * Errors   ERR_ARG, ERR_TYPE: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 * Tilings  MATMUL_OWN, the fastest, or MATMUL_PUBLISHED, that of pto-isa's GEMM, whose times
 *          on a card are known: `make calibrate` compares. Both give the same bits.
 * Source   tiling after the published base tile 128 x 256 (hal/contract/profile.md, 2.2).
 */
#ifndef KERNELS_MATMUL_MATMUL_H
#define KERNELS_MATMUL_MATMUL_H

#include "kernels/mm/made.h"

enum matmul_tiling { MATMUL_OWN, MATMUL_PUBLISHED };

struct matmul {
    const void *a, *b;
    void *c;
    const void *bias;        /* NULL: none */
    const float *scales;     /* of each column; NULL: `scale` of all */
    void *work;              /* mm_made_bytes() of matmul_asked(), where that is not 0 */
    uint32_t m, n, k;        /* from here on calls that agree have one plan */
    enum type in, in_b, out; /* in_b: TYPE_NONE is as a, S8 where that is U8 */
    unsigned cores;          /* tiles of c are dealt out to so many; 0: all of the chip */
    enum matmul_tiling tiling;
    enum mm_strategy strategy; /* of MATMUL_OWN */
    uint32_t parts;            /* of k, for matmul_ref(): what matmul_plan() says */
    bool any_order;            /* parts of k are added as they come: other bits, sooner */
    bool repeats;              /* it will be called again: mm_run() */
    bool a_transposed, b_transposed;
    bool sparse;  /* b is what mm_sparse_pack() has left; S8 x S8, MATMUL_OWN */
    bool hf32;    /* F32: operands are rounded to 11 bits of fraction, twice as fast */
    float scale;  /* of S8 and S4 to F16, S8, U8 */
    int32_t zero; /* what 0 becomes there, of S8 and U8 */
    struct mm_activation act;
    uint32_t batch; /* products, one behind the other; 0: one; MATMUL_OWN */
};

/* Operands of that type have whole sums. */
static inline bool matmul_is_whole(enum type in)
{
    return in == TYPE_S8 || in == TYPE_S4 || in == TYPE_U8;
}

enum type matmul_in_b(const struct matmul *p);

/* What of a call has to do with operands that the Vector makes; until the next one is asked. */
const struct mm_made *matmul_asked(const struct matmul *p);

MUST_CHECK int matmul(const struct matmul *p, struct sched_report *report);
/* The object that MATMUL_OWN runs; ERR_ARG, ERR_LOCAL, ERR_TYPE: `why` says what is wrong. */
MUST_CHECK int matmul_plan(const struct matmul *p, struct mm *mm, char why[MM_TEXT]);
/* Element (row, column) by the definition above, computed by the hart, as the bits that
 * the Cube must give. */
uint32_t matmul_ref(const struct matmul *p, uint32_t row, uint32_t column);

#endif
