/* SPDX-License-Identifier: MIT
 *
 * y[o, k, i] = sum of x[o, j, i] over j <= k, exclusive: j < k; reverse: j >= k, j > k
 *
 * of x (outer, n, inner), y likewise.
 *
 * Types    F32, F16 (sums in fp32, rounded to F16 once), S32 (wraps around).
 * Numbers  fp32 sums, each of at most n additions, in an order that only sizes and n decide.
 * Ranges   all sizes from 1 up, n below 2^31.
 * Buffers  no alignment wanted (512 bytes is fastest); y must not overlap x.
 * Uses     UB, queues of each core.
 * Speed    The Vector adds. With inner from CUMSUM_LANES up a command adds a row to the row
 *          before it, 24 cycles and one for 64 elements: 2000 rows of 512 take 0.33 cycles an
 *          element on a core of a2. A line by itself (inner 1) is summed by doubling, as often
 *          as its tile is long in binary: 200000 elements take 2.4 cycles each; the hart's own
 *          loop of a load, a sum, a store and what steps on takes 6. Rows of few lanes: who
 *          has many of them transposes (cumsum_op.c).
 * Errors   ERR_ARG: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 */
#ifndef KERNELS_SCAN_CUMSUM_H
#define KERNELS_SCAN_CUMSUM_H

#include "sched/sched.h"

enum { CUMSUM_LANES = 64 };

struct cumsum {
    const void *x;
    void *y;
    uint64_t outer, inner;
    uint32_t n;
    bool exclusive, reverse;
    enum type type;
    unsigned cores; /* 0: all of the chip */
};

MUST_CHECK int cumsum(const char *name, const struct cumsum *c,
                      struct sched_report *report);

#endif
