/* SPDX-License-Identifier: MIT
 *
 * What the operators over move.h share: lists of numbers in options, and moves of whole
 * arrays.
 */
#ifndef KERNELS_MOVE_LIST_H
#define KERNELS_MOVE_LIST_H

#include "kernels/cli/op.h"
#include "kernels/move/move.h"

struct list {
    int64_t value[NPY_MAX_DIMS];
    unsigned n;
};

/* Numbers with commas between them, `text` NULL: none; as many as `n` or none, or ERR_ARG
 * after one line on stderr that names the option. */
MUST_CHECK int list_parse(const char *who, const char *option, const char *text,
                          unsigned n, struct list *list);
/* Steps of an array's dimensions, the last one first. */
void list_steps(const struct tensor *t, uint64_t step[NPY_MAX_DIMS]);
/* Index of element i of an array. */
void list_index(const struct tensor *t, uint64_t i, uint64_t index[NPY_MAX_DIMS]);
/* Whether a type is one of LIST_TYPES. */
bool list_moves(enum type type);
/* Whether operands and result are of one type of LIST_TYPES and none has a size of 0:
 * ERR_TYPE, ERR_ARG. */
MUST_CHECK int list_check(const struct op_call *c);
/* A move from x, whose dimensions are yet to be filled in, to all of y. */
struct move list_move(const struct op_call *c);
/* y read once and written once, for the limit. */
void list_work(const struct op_call *c, struct work *w);

#define LIST_TYPES                                                                       \
    "f32 -> f32; f16 -> f16; s32 -> s32; s16 -> s16; s8 -> s8; u8 -> u8; s64 -> s64"

#endif
