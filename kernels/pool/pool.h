/* SPDX-License-Identifier: MIT
 *
 * y[n, p, q, c] = the largest, or the mean, of x[n, h, w, c] over the window of (p, q):
 *                 h = p * stride_h + r * dilation_h - pad_top,   r < kh
 *                 w = q * stride_w + s * dilation_w - pad_left,  s < kw
 *                 as far as these are in the map
 *
 * Layout   channels last: x (n, h, w, c), y (n, oh, ow, c).
 * Types    max: F32, F16, S32, S16; mean: F32, F16.
 * Numbers  max: exact, NaN if one is, -0 below +0. mean: summed in fp32, rows first, and
 *          multiplied by fp32's reciprocal of how many there are, which is kh * kw with
 *          `include_pad`; rounded to F16 once.
 * Ranges   all sizes from 1 up; pads below the window's extent, which fits into the padded
 *          map and is at most POOL_PIXELS wide.
 * Buffers  no alignment wanted (512 bytes is fastest); y must not overlap x.
 * Uses     UB, two queues of each core.
 * Errors   ERR_ARG, ERR_SHAPE, ERR_TYPE: nothing was started. ERR_FAULT, ERR_DEADLOCK:
 *          *report.
 */
#ifndef KERNELS_POOL_POOL_H
#define KERNELS_POOL_POOL_H

#include "sched/sched.h"

enum { POOL_PIXELS = 480, POOL_TEXT = 160 };

struct pool {
    const void *x;
    void *y;
    uint32_t n, h, w, c;
    uint32_t kh, kw, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t pad_top, pad_left, pad_bottom, pad_right;
    enum type type;
    bool mean, include_pad;
    unsigned cores; /* 0: all of the chip */
};

uint32_t pool_oh(const struct pool *p);
uint32_t pool_ow(const struct pool *p);
/* Whether there is such a pooling; `why` says what is wrong. */
MUST_CHECK int pool_check(const struct pool *p, char why[POOL_TEXT]);
MUST_CHECK int pool(const struct pool *p, struct sched_report *report);
/* What pool() launches, for steps of a launch that others share: its blocks, on p->cores cores,
 * call pool_step_block(*step); then free(*step). Errors as pool(), ERR_NOMEM. */
MUST_CHECK int pool_step(const struct pool *p, void **step);
void pool_step_block(void *step);

#endif
