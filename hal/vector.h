/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector. Each function only builds a command; UB addresses are byte
 * offsets, multiples of 32. Formula, masks and numbers: hal/contract/vector.md.
 */
#ifndef HAL_VECTOR_H
#define HAL_VECTOR_H

#include "hal/pipe.h"

/* The commands that follow work on the first n elements (counter mode). */
static inline void vector_count(union cmd *cmd, uint32_t n)
{
    cmd_init(cmd, OP_SET_MASK, TYPE_NONE);
    cmd->head.flags = SET_MASK_COUNTER;
    cmd->set_mask.lo = n;
}

/* dst = x + y, elements side by side, as many as vector_count said; F32 or F16. */
static inline void vector_add(union cmd *cmd, enum type type, uint32_t dst, uint32_t x,
                              uint32_t y)
{
    cmd_init(cmd, OP_VADD, type);
    cmd->vec2.dst = dst;
    cmd->vec2.src0 = x;
    cmd->vec2.src1 = y;
    cmd->vec2.dst_blk = cmd->vec2.src0_blk = cmd->vec2.src1_blk = 1;
    cmd->vec2.dst_rep = cmd->vec2.src0_rep = cmd->vec2.src1_rep = 8;
}

#endif
