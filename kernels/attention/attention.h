/* SPDX-License-Identifier: MIT
 *
 * Attention of `heads` heads with the projections in front of it, in one launch
 *
 *   q | k | v = x w + bias         self: x (n, s, e), w (e, 3 u), bias (3 u)
 *   q = x w + bias[0 .. u)         cross: w (e, u), context (n, t, f), w_kv (f, 2 u)
 *   k | v = context w_kv + bias[u .. 3 u)
 *   y[n, s, h] = drop(softmax(scale q[n, s, h] k[n, .., h]')) v[n, .., h]
 *
 * Columns of q, k, v and y (n, s, u) are those of head 0, then of head 1, and so on, width =
 * u / heads of each. With `causal` row s sees keys 0 to s alone. drop sets a share of the
 * softmax to 0 and divides the rest by 1 - drop: which elements, the generator of the operator
 * dropout says for one of (n, heads, s, t) with the same seed, on any number of cores.
 *
 * Way      Steps of one launch, tile programs each: a product for all heads (cross: two, since
 *          there are two factors), whose f16 results lie in GM as they leave the Cube, then a
 *          loop over tiles of keys that reads q, k and v there, a row 3 u (cross: q u, k and v
 *          2 u) elements from the next. A loop's operands are loaded from GM, so the products
 *          are no part of it; scores never leave the core. MTE2 takes as long for a row of a head
 *          as for 512 bytes: what it is ahead of attention of heads that lie apart is launches.
 * Types    x, context, w, w_kv, y F16; bias F32 or none; q, k, v, softmax rounded to F16; sums
 *          F32.
 * Ranges   all sizes from 1 up; width up to what a core's memories hold, which is 256 and more.
 * Buffers  no alignment wanted; y must not overlap the others.
 * Errors   ERR_ARG, ERR_SHAPE, ERR_LOCAL, ERR_NOMEM: by attention_plan(), nothing was started;
 *          ERR_ARG, ERR_SHAPE, ERR_CORES: by attention(), if what it is called with is other than
 *          what was planned, likewise. ERR_FAULT, ERR_DEADLOCK: *report.
 * Source   Vaswani et al., Attention Is All You Need; Dao et al., FlashAttention, for the loop.
 */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernels/tile/stages/chain.h"

struct attention {
    const void *x, *context, *w, *w_kv, *bias; /* context, w_kv NULL: self */
    void *y;
    uint32_t n, s, t, e, f, heads, width; /* self: t = s, f is not used */
    float scale;
    bool causal;
    float drop;
    uint32_t seed;
    unsigned cores; /* 0: all of the chip */
};

enum {
    ATTENTION_TEXT = 1024,
    ATTENTION_ARENA_BYTES = TILE_CHAIN * TILE_ARENA_BYTES,
};

struct attention_plan {
    struct tile_chain chain;   /* products, the loop last */
    char text[ATTENTION_TEXT]; /* the loop's */
};

/* Plans it for its sizes; the plan keeps what it needs in the arena, which has
 * ATTENTION_ARENA_BYTES. On failure `error` says why. */
MUST_CHECK int attention_plan(struct attention_plan *plan, const struct attention *p,
                              struct tile_arena *arena, struct tile_error *error);
/* Bytes of GM for what steps leave to each other. */
uint64_t attention_room(const struct attention_plan *plan, const struct attention *p);
/* `room`: of so many bytes. */
MUST_CHECK int attention(const struct attention_plan *plan, const struct attention *p,
                         void *room, struct sched_report *report);

#endif
