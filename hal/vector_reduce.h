/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that reduce. Each function only builds a command; see vector.h
 * for operands and masks. Formula and numbers: hal/contract/vector_reduce.md.
 */
#ifndef HAL_VECTOR_REDUCE_H
#define HAL_VECTOR_REDUCE_H

#include "hal/vector.h"

/* Sum or extreme of each repeat (VCADD VCMAX VCMIN), block (VCGADD VCGMAX VCGMIN) or pair
 * (VCPADD); F32 or F16. */
struct vec_reduce {
    enum op op;
    enum type type;
    uint32_t dst;     /* a multiple of a result's size, VCPADD: of 32 */
    uint32_t dst_rep; /* between two repeats' results, in units of what a repeat gives */
    struct vec_at x;
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VCMAX_, VCMIN_: INDEX_FIRST, VALUE_ONLY, INDEX_ONLY */
};

static inline void vector_reduce_strided(union cmd *cmd, const struct vec_reduce *v)
{
    cmd_init(cmd, v->op, v->type);
    cmd->head.flags = v->flags;
    cmd->vec_reduce.dst = v->dst;
    VEC_SET(cmd->vec_reduce, src, v->x);
    CMD_SET(cmd->vec_reduce.dst_rep, v->dst_rep);
    CMD_SET(cmd->vec_reduce.repeat, v->repeat);
}

/* The results lie side by side. */
static inline void vector_reduce(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                 uint32_t x)
{
    vector_reduce_strided(
        cmd, &(struct vec_reduce){
                 .op = op, .type = type, .dst = dst, .dst_rep = 1, .x = vec_dense(x)});
}

#endif
