/* SPDX-License-Identifier: MIT
 *
 * Whole sums of which the Vector makes results, where the fixpipe cannot: tile by tile through
 * UB, while the Cube is at the next one.
 *
 *     c = narrow(act((sum + 2 rows[row]) * scale) + zero)     as the fixpipe has it, rounded once
 *     c = narrow(round(act((sum + 2 rows[row]) * scales[column])) + zero)   with scales: ONNX
 *
 * Numbers  sums modulo 2^32, rounded to fp32, as each step behind that is; a single scale has 11
 *          significant bits, as a quantisation word; one of a column has all that fp32 has.
 *          Rounded is to the nearest, ties to even; S8 and U8 saturate.
 * Uses     UB, semaphores 16 to 20 of the core.
 */
#ifndef KERNELS_MM_FINISH_H
#define KERNELS_MM_FINISH_H

#include "kernels/mm/mm.h"

struct mm_finish {
    const int32_t
        *rows; /* of each row of c, of all products, half of what it lacks, or NULL */
    const float *scales; /* of each column, or NULL: `scale`; both not of S32 */
    float scale;
    int32_t zero;
    struct mm_activation act;
    enum type out; /* S32, F16, S8, U8 */
    void *c;       /* rows side by side */
};

/* Checks and plans an object of S8, set to what the fixpipe would make of its sums, which the
 * Vector makes instead. */
MUST_CHECK int mm_finish_plan(struct mm *mm, enum type out, unsigned cores,
                              enum mm_strategy strategy, char why[MM_TEXT]);
/* By definition, with the scale of its column: S8 or U8. */
uint32_t mm_finish_ref(uint32_t sum, float scale, int32_t zero, bool relu, enum type out);
/* The block's share. */
void mm_finish_run(const struct mm *planned, const struct mm_finish *f);

#endif
