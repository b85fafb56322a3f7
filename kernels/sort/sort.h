/* SPDX-License-Identifier: MIT
 *
 * Of each line of x (lines, n), sorted, the first k:
 *
 *   values[l, j] = x[l, index[l, j]]
 *
 * largest first, or with `smallest` smallest first; of equal ones the first comes first. NaN
 * counts as the largest, -0 equals +0.
 *
 * Types    F32, F16; index S32. Values keep their bits.
 * Ranges   1 <= k <= n < 2^28.
 * Buffers  no alignment wanted (512 bytes is fastest); results must not overlap x. With
 *          k > SORT_BEST and n > SORT_CHUNK `runs` has sort_runs() bytes.
 * Uses     UB, queues of each core; lines are shared out over the cores.
 * Speed    The Vector sorts: VSORT32, then VMRGSORT of four lists at a time, 16 cycles for 32
 *          elements each, so that SORT_CHUNK elements take about 2.5 cycles each, gathers
 *          among them. Lines up to that go together as far as they fit; of a longer one each
 *          part is sorted and merged with the best so far (k up to SORT_BEST), or goes to
 *          `runs` in GM, which are merged four at a time: there the hart reads how far each
 *          merge has come, once for about 1000 elements, and each pass over all of them takes
 *          about 3 cycles an element.
 * Errors   ERR_ARG: nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 */
#ifndef KERNELS_SORT_SORT_H
#define KERNELS_SORT_SORT_H

#include "sched/sched.h"

enum { SORT_CHUNK = 2048, SORT_BEST = 2048 };

struct sort {
    const void *x;
    void *values;
    int32_t *index;
    uint64_t lines;
    uint32_t n, k;
    bool smallest;
    enum type type;
    void *runs;
    unsigned cores; /* 0: all of the chip */
};

/* Bytes of `runs`; 0: none are needed. */
uint64_t sort_runs(const struct sort *s);
MUST_CHECK int sort(const char *name, const struct sort *s, struct sched_report *report);

#endif
