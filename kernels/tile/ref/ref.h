/* SPDX-License-Identifier: MIT
 *
 * What a tile program means: an interpreter in double precision, which shares no code with
 * the planner. It computes any element of a result on demand, and with it how far the
 * machine's arithmetic may be from it: every value carries a bound, to which each
 * operation adds what its operands' bounds do to it and its own roundings, a few units in
 * the last place of the type that it is computed in. A bound of infinity means that the
 * element depends on a decision that rounding may turn: a comparison of what is nearly
 * equal, the place of one of two equal maxima, an overflow.
 * What is known without a bound is cast as the machine does it; a cast of anything else is
 * one more rounding in the bound.
 *
 * Sums are allowed 8 + log2(n) + sqrt(n) / 2 units of the sum of magnitudes: what some
 * order in blocks of 64 may lose, not the worst case of one after the other.
 */
#ifndef KERNELS_TILE_REF_REF_H
#define KERNELS_TILE_REF_REF_H

#include "kernels/tile/ir/ir.h"

struct tile_number {
    double value, bound; /* of a mask: 0 or 1, and 1 if it may be the other */
};

struct tile_ref;

/* For a kernel, not lowered, whose sizes are known and scalars given, on parameters at
 * in[]. It lives in the arena; NULL: there is no room for it. */
struct tile_ref *tile_ref_begin(const struct tile_kernel *k, const void *const *in,
                                struct tile_arena *arena);
/* An element of a result, counted in its row-major order. What `+=` adds to is not in it. */
struct tile_number tile_ref_at(struct tile_ref *ref, unsigned result, uint64_t element);
/* How many operations one element of a result takes, at the most. */
double tile_ref_cost(const struct tile_ref *ref, unsigned result);

/* Operations on one or more numbers, kernels/tile/ref/ref_ops.c: the node's type is that of
 * the arithmetic; x[] its operands. */
struct tile_number tile_ref_op(const struct tile_node *n, const struct tile_number *x,
                               enum type from);
/* A number as the type holds it: beyond its range infinity, `roundings` half units lost. */
struct tile_number tile_ref_settle(struct tile_number x, enum type type,
                                   double roundings);

#endif
