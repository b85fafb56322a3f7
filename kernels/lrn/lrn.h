/* SPDX-License-Identifier: MIT
 *
 * y = x / (bias + alpha / size * sum of the squares of `size` channels around)^beta
 *
 *   x, y (n, c, pixels), channels first; around channel i lie (size - 1) / 2 before it and
 *   size / 2 behind it, as far as there are such.
 *
 * Way      Two steps of one launch: squares to GM, F32, with zeros around them; then windows of
 *          `size` of their planes, a channel further each, which a tile program reads as a
 *          tensor with one dimension more. Its cost is that of `size` additions an element, and
 *          squares come from L2 as often.
 * Types    x and y both F32 or F16; squares, sums and the power F32.
 * Buffers  no alignment wanted; y must not overlap x.
 * Errors   ERR_ARG, ERR_SHAPE, ERR_TYPE, ERR_LOCAL, ERR_NOMEM: by lrn_plan(), nothing was
 *          started; ERR_ARG, ERR_SHAPE, ERR_TYPE, ERR_CORES: by lrn(), if what it is called
 *          with is other than what was planned, likewise. ERR_FAULT, ERR_DEADLOCK: *report.
 * Source   Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks;
 *          ONNX's LRN.
 */
#ifndef KERNELS_LRN_H
#define KERNELS_LRN_H

#include "kernels/tile/stages/chain.h"

struct lrn {
    const void *x;
    void *y;
    enum type type;
    uint32_t n, c, pixels, size;
    float alpha, beta, bias;
    unsigned cores; /* 0: all of the chip */
};

enum { LRN_STEPS = 2, LRN_ARENA_BYTES = LRN_STEPS * TILE_ARENA_BYTES };

/* Plans it in the arena, which has LRN_ARENA_BYTES. On failure `error` says why. */
MUST_CHECK int lrn_plan(struct tile_chain *plan, const struct lrn *p,
                        struct tile_arena *arena, struct tile_error *error);
/* Bytes of GM for what steps leave to each other and for each of them; zeros at first. */
uint64_t lrn_room(const struct tile_chain *plan, const struct lrn *p);
MUST_CHECK int lrn(const struct tile_chain *plan, const struct lrn *p, void *room,
                   struct sched_report *report);

#endif
