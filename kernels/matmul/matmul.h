/* SPDX-License-Identifier: MIT
 *
 * c = a x b      a (m, k), b (k, n), c (m, n), row-major in GM
 *
 * Types    a, b F16: c F32 or F16; a, b S8: c S32.
 * Ranges   m, n, k from 1 up.
 * Numbers  F16: products exact, summed in fp32 with k ascending, one rounding a step,
 *          converted to c's type once. S8: exact modulo 2^32. Of a long k and a small c, by
 *          the shape alone, parts of k have sums of their own: mm_add_parts().
 * Buffers  no alignment wanted (512 bytes is fastest); c must not overlap a or b.
 * Uses     L1, L0A, L0B, L0C whole, semaphores 0 to MM_SEMS - 1 of each core.
 * Errors   ERR_ARG, ERR_TYPE: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 * Tilings  MATMUL_OWN, the fastest, or MATMUL_PUBLISHED, that of pto-isa's GEMM, whose times
 *          on a card are known: `make calibrate` compares. Both give the same bits.
 * Source   tiling after the published base tile 128 x 256 (hal/contract/profile.md, 2.2).
 */
#ifndef KERNELS_MATMUL_MATMUL_H
#define KERNELS_MATMUL_MATMUL_H

#include "kernels/mm/mm.h"

enum matmul_tiling { MATMUL_OWN, MATMUL_PUBLISHED };

struct matmul {
    const void *a, *b;
    void *c;
    uint32_t m, n, k;
    enum type in, out;
    unsigned cores; /* tiles of c are dealt out to so many; 0: all of the chip */
    enum matmul_tiling tiling;
    enum mm_strategy strategy; /* of MATMUL_OWN */
    uint32_t parts;            /* of k, for matmul_ref(): what matmul_plan() says */
    bool any_order;            /* parts of k are added as they come: other bits, sooner */
    uint32_t batch;            /* products, one behind the other; 0: one; MATMUL_OWN */
};

MUST_CHECK int matmul(const struct matmul *p, struct sched_report *report);
/* The object that MATMUL_OWN runs; ERR_ARG, ERR_LOCAL, ERR_TYPE: `why` says what is wrong. */
MUST_CHECK int matmul_plan(const struct matmul *p, struct mm *mm, char why[MM_TEXT]);
/* Element (row, column) by the definition above, computed by the hart, as the bits that
 * the Cube must give. */
uint32_t matmul_ref(const struct matmul *p, uint32_t row, uint32_t column);

#endif
