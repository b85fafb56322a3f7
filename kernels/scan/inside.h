/* SPDX-License-Identifier: MIT
 *
 * What both ways of summing share; see cumsum.h. What comes is as wide as a sum, 4 bytes, before
 * it is added, and as its type again behind that.
 */
#ifndef KERNELS_SCAN_INSIDE_H
#define KERNELS_SCAN_INSIDE_H

#include "kernels/scan/cumsum.h"
#include "sched/tque.h"

enum { SCAN_BLOCK = 32, SCAN_WIDE = 4 /* bytes of a sum */ };

struct scan_room {
    const struct cumsum *c;
    uint32_t esize;
    enum type sum; /* F32 or S32 */
    struct tque *in, *out;
    uint32_t x, y; /* a buffer of wide elements, where those of x are not */
    uint32_t carry;
};

/* The next buffer of `in`, its elements wide; the next of `out`, for wide ones. */
uint32_t scan_take(struct scan_room *r, uint32_t elements, uint32_t *in);
uint32_t scan_room_for(struct scan_room *r, uint32_t *out);
/* The buffers are given back; sums are of the type of y again. */
void scan_done(struct scan_room *r, uint32_t elements, uint32_t in, uint32_t out);

/* lines.c: lines of one lane. */
void scan_lines(void *arg);

#endif
