/* SPDX-License-Identifier: MIT
 *
 * y[n, p, q, c] = sum over h and w of a[p, h] b[q, w] x[n, h, w, c]
 *
 *   channels last; a (rows of y, of x), b (columns of y, of x) are weights of linear
 *   interpolation: those of element i are max(0, 1 - |at - j|) for each j, with
 *   at = (i + 1/2) from / to - 1/2, or, with `corners`, i (from - 1) / (to - 1), within x.
 *
 * Way      Two steps of one launch, products with b, then with a, which are nearly empty: what
 *          the Cube makes of zeros costs less than rows by index. But 0 times a NaN or an
 *          infinity is NaN, so of one that has such all of its channel in its image: where the
 *          first pixel is NaN, the hart does that channel again by its two rows and columns.
 * Numbers  a number whose weight is 0 has no part in the sum, be it NaN or infinite.
 * Types    x and y both F32 or F16; F16: weights, and what lies between the steps, as well. Of a
 *          chip whose Cube has no F32 the Vector adds those up, of lines that UB holds.
 * Ranges   sizes from 1 up, less than 2^31 elements of each.
 * Buffers  no alignment wanted; y must not overlap x.
 * Errors   as lrn/lrn.h.
 * Source   ONNX's Resize, half_pixel and align_corners; PyTorch's interpolate, bilinear.
 */
#ifndef KERNELS_RESIZE_H
#define KERNELS_RESIZE_H

#include "kernels/tile/stages/chain.h"

struct resize {
    const void *x;
    void *y;
    enum type type;
    uint32_t n, h, w, c, rows, columns; /* the last two are y's */
    bool corners;
    unsigned cores; /* 0: all of the chip */
};

enum { RESIZE_STEPS = 2, RESIZE_ARENA_BYTES = RESIZE_STEPS * TILE_ARENA_BYTES };

/* Weight of element `from` of so many for element `to` of y. */
double resize_weight(bool corners, uint32_t of_x, uint32_t of_y, uint32_t from,
                     uint32_t to);
/* The first of the two that have a part in element `to`. */
uint32_t resize_first(bool corners, uint32_t of_x, uint32_t of_y, uint32_t to);
/* Plans it in the arena, which has RESIZE_ARENA_BYTES. On failure `error` says why. */
MUST_CHECK int resize_plan(struct tile_chain *plan, const struct resize *p,
                           struct tile_arena *arena, struct tile_error *error);
/* Bytes of GM for weights, what lies between the steps, and for each of them; the weights
 * are made by resize_weights(), once. */
uint64_t resize_room(const struct tile_chain *plan, const struct resize *p);
void resize_weights(const struct resize *p, void *room);
MUST_CHECK int resize(const struct tile_chain *plan, const struct resize *p, void *room,
                      struct sched_report *report);

#endif
