/* SPDX-License-Identifier: MIT
 *
 * z[i] = x[i] + y[i]      x, y, z (n)
 *
 * Types    F32 or F16, all three alike.
 * Ranges   n from 1 up.
 * Numbers  one rounding to nearest even; NaN canonical.
 * Buffers  no alignment wanted (512 bytes is fastest); z may be x or y, but must not
 *          overlap them otherwise.
 * Uses     UB whole, two queues of each core.
 * Errors   ERR_ARG, ERR_TYPE: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 * Source   the copy-in, compute, copy-out example of every Ascend C course.
 */
#ifndef KERNELS_VADD_VADD_H
#define KERNELS_VADD_VADD_H

#include "sched/sched.h"

struct vadd {
    const void *x, *y;
    void *z;
    uint64_t n;
    enum type type;
    unsigned cores;   /* the elements are split over so many; 0: all of the chip */
    uint32_t buffers; /* of each queue: 2 overlaps copying and adding, 1 does not; 0: 2 */
    bool past_l2; /* x, y and z pass L2 by, where the chip has such a hint (L2_HINTS) */
};

/* noinline: `make debug` stops here by name. */
MUST_CHECK __attribute__((noinline)) int vadd(const struct vadd *p, struct sched_report *report);

#endif
