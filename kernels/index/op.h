/* SPDX-License-Identifier: MIT
 *
 * What the operators over places.h share: axes in options, indices that are refused.
 */
#ifndef KERNELS_INDEX_OP_H
#define KERNELS_INDEX_OP_H

#include "kernels/cli/op.h"
#include "kernels/index/places.h"

/* Elements in front of an axis of a shape and behind it. */
struct around {
    uint64_t outer, n, inner;
};
struct around around(const struct tensor *t, unsigned axis);
/* Axis --axis of operand 0, from -ndim to ndim - 1; or ERR_SHAPE after one line. */
MUST_CHECK int axis_of(const struct op_call *c, int32_t option, unsigned *axis);
/* `gather: index (2, 3) does not go with x (4,)`: ERR_SHAPE. */
MUST_CHECK int no_match(const struct op_call *c, const char *name,
                        const struct tensor *t);
/* Whether operands 0 and result 0 are of one type, operand 1 of S32, and nothing is empty:
 * ERR_TYPE, ERR_ARG. */
MUST_CHECK int index_types(const struct op_call *c);
/* Made-up indices that are out of range become some that are not. */
void index_fold(const struct op_call *c, const struct places *p);
/* The same; others: whether operand 1, which p->index is, is in range, or ERR_ARG and the
 * report tells the first index that is not, and where. */
MUST_CHECK int index_check(const struct op_call *c, const struct places *p,
                           struct sched_report *report);
/* Where the reference finds it: index `at` of operand 1, from 0 up. */
uint64_t index_at(const struct op_call *c, uint64_t at, uint64_t size);

/* Elements of any type, by indices that are S32. */
#define INDEX_TYPES                                                                      \
    "f32 s32 -> f32; f16 s32 -> f16; s32 s32 -> s32; s16 s32 -> s16; s8 s32 -> s8; "     \
    "u8 s32 -> u8; s64 s32 -> s64"
#define SCATTER_TYPES                                                                    \
    "f32 s32 f32 -> f32; f16 s32 f16 -> f16; s32 s32 s32 -> s32; s16 s32 s16 -> s16; "   \
    "s8 s32 s8 -> s8; u8 s32 u8 -> u8; s64 s32 s64 -> s64"

#endif
