/* SPDX-License-Identifier: MIT
 *
 * What the operators over places.h share: axes in options, indices that are refused.
 */
#ifndef KERNELS_INDEX_OP_H
#define KERNELS_INDEX_OP_H

#include "kernels/cli/op.h"
#include "kernels/index/rows.h"

/* Elements in front of an axis of a shape and behind it. */
struct around {
    uint64_t outer, n, inner;
};
struct around around(const struct tensor *t, unsigned axis);
/* Axis --axis of operand 0, from -ndim to ndim - 1; or ERR_SHAPE after one line. */
MUST_CHECK int axis_of(const struct op_call *c, int32_t option, unsigned *axis);
/* The same where axis_of() has found it right: for references. */
unsigned axis_at(const struct op_call *c, int32_t option);
/* What is done along an axis, of results of the operand's type, which is one of `types`
 * (1u << TYPE_F32 | ..): ERR_TYPE, ERR_ARG where nothing is there, ERR_SHAPE. */
MUST_CHECK int axis_check(const struct op_call *c, unsigned types, int32_t option,
                          struct around *a);
/* `gather: index (2, 3) does not go with x (4,)`: ERR_SHAPE. */
MUST_CHECK int no_match(const struct op_call *c, const char *name,
                        const struct tensor *t);

/* Of each operator: which rows, if shapes are as they have to be. */
typedef int places_fn(const struct op_call *c, struct rows *r);
/* Sets r->places, all but n of them, for an index of each element along an axis: index has
 * the shape of operand 0 but for that axis, or ERR_SHAPE after one line. */
MUST_CHECK int index_elements(const struct op_call *c, unsigned axis, struct rows *r);
/* Made-up indices that are out of range become some that are not. */
void index_fold(const struct tensor *index, const struct places *p);
/* All others have to be in it: ERR_ARG, and the report tells the first that is not, and where. */
MUST_CHECK int index_check(const struct tensor *index, const struct places *p,
                           struct sched_report *report);
/* The first of these for operand 1. */
MUST_CHECK int index_prepare(const struct op_call *c, places_fn *places);
/* Operands and result are of one type, operand 1 of S32, nothing is empty: ERR_TYPE, ERR_ARG;
 * an index that is out of range: ERR_ARG, and the report tells the first one and where. */
MUST_CHECK int index_run(const struct op_call *c, places_fn *places,
                         int (*rows)(const char *name, const struct rows *r,
                                     struct sched_report *report),
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
