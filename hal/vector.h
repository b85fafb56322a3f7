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

/* The commands that follow work on those elements of each repeat whose bit is 1, and on as
 * many repeats as they say; bits 64 to 127 are those of 16-bit elements. */
static inline void vector_mask(union cmd *cmd, uint64_t lo, uint64_t hi)
{
    cmd_init(cmd, OP_SET_MASK, TYPE_NONE);
    cmd->set_mask.lo = lo;
    cmd->set_mask.hi = hi;
}

/* Elements side by side from here on, as many as vector_count said. A command's operands
 * and types stand in its row of hal/contract/vector.md. */

/* dst = op(x): VABS VNEG VNOT VRELU VEXP VLN VSQRT VRSQRT VREC VTANH VERF. */
static inline void vector_unary(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                uint32_t x)
{
    cmd_init(cmd, op, type);
    cmd->vec1.dst = dst;
    cmd->vec1.src = x;
    cmd->vec1.dst_blk = cmd->vec1.src_blk = 1;
    cmd->vec1.dst_rep = cmd->vec1.src_rep = 8;
}

/* dst = x op scalar: VADDS VMULS VMAXS VMINS VLRELU VSHL VSHR VAXPY; the scalar's bits. */
static inline void vector_scalar(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                 uint32_t x, uint32_t scalar)
{
    cmd_init(cmd, op, type);
    cmd->vec1s.dst = dst;
    cmd->vec1s.src = x;
    cmd->vec1s.scalar = scalar;
    cmd->vec1s.dst_blk = cmd->vec1s.src_blk = 1;
    cmd->vec1s.dst_rep = cmd->vec1s.src_rep = 8;
}

/* dst = x op y: VADD VSUB VMUL VDIV VMAX VMIN VAND VOR VADDRELU VSUBRELU VMADD VMADDRELU
 * VMLA VPRELU; VADDDEQRELU, whose type is S32 and whose results are F16. */
static inline void vector_binary(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                 uint32_t x, uint32_t y)
{
    cmd_init(cmd, op, type);
    cmd->vec2.dst = dst;
    cmd->vec2.src0 = x;
    cmd->vec2.src1 = y;
    cmd->vec2.dst_blk = cmd->vec2.src0_blk = cmd->vec2.src1_blk = 1;
    cmd->vec2.dst_rep = op == OP_VADDDEQRELU ? 4 : 8;
    cmd->vec2.src0_rep = cmd->vec2.src1_rep = 8;
}

static inline void vector_add(union cmd *cmd, enum type type, uint32_t dst, uint32_t x,
                              uint32_t y)
{
    vector_binary(cmd, OP_VADD, type, dst, x, y);
}

/* What VADDDEQRELU and conversions from S32 to F16 multiply with: the bits of an fp16. 1
 * after a reset. */
static inline void vector_deq_scale(union cmd *cmd, uint16_t half)
{
    cmd_init(cmd, OP_SET_DEQSCALE, TYPE_F16);
    cmd->set_deqscale.word = half;
}

/* dst = x as `to`; round: ROUND_. Of S4 two are in a byte, and the count is even. */
static inline void vector_convert(union cmd *cmd, enum type from, enum type to,
                                  unsigned round, uint32_t dst, uint32_t x)
{
    unsigned wide = type_bits(from) > type_bits(to) ? type_bits(from) : type_bits(to);

    cmd_init(cmd, OP_VCONV, from);
    cmd->vec_conv.dst = dst;
    cmd->vec_conv.src = x;
    cmd->vec_conv.to = (uint8_t)to;
    cmd->vec_conv.round = (uint8_t)round;
    cmd->vec_conv.dst_blk = cmd->vec_conv.src_blk = 1;
    cmd->vec_conv.dst_rep = (uint8_t)(8 * type_bits(to) / wide);
    cmd->vec_conv.src_rep = (uint8_t)(8 * type_bits(from) / wide);
}

/* Bits at dst: where x cond y; cond: CMP_. */
static inline void vector_compare(union cmd *cmd, enum type type, unsigned cond,
                                  uint32_t dst, uint32_t x, uint32_t y)
{
    cmd_init(cmd, OP_VCMP, type);
    cmd->vec_cmp.dst = dst;
    cmd->vec_cmp.src0 = x;
    cmd->vec_cmp.src1 = y;
    cmd->vec_cmp.cond = (uint8_t)cond;
    cmd->vec_cmp.src0_blk = cmd->vec_cmp.src1_blk = 1;
    cmd->vec_cmp.src0_rep = cmd->vec_cmp.src1_rep = 8;
}

/* The compare mask register = 16 bytes at `ub`, and back. */
static inline void vector_set_cmpmask(union cmd *cmd, uint32_t ub)
{
    cmd_init(cmd, OP_SET_CMPMASK, TYPE_NONE);
    cmd->set_cmpmask.src = ub;
}

static inline void vector_get_cmpmask(union cmd *cmd, uint32_t ub)
{
    cmd_init(cmd, OP_GET_CMPMASK, TYPE_NONE);
    cmd->get_cmpmask.dst = ub;
}

/* dst = x where the bit at `bits` is 1, else y. */
static inline void vector_select(union cmd *cmd, enum type type, uint32_t dst, uint32_t x,
                                 uint32_t y, uint32_t bits)
{
    cmd_init(cmd, OP_VSEL, type);
    cmd->vec_sel.dst = dst;
    cmd->vec_sel.src0 = x;
    cmd->vec_sel.src1 = y;
    cmd->vec_sel.sel = bits;
    cmd->vec_sel.dst_blk = cmd->vec_sel.src0_blk = cmd->vec_sel.src1_blk = 1;
    cmd->vec_sel.dst_rep = cmd->vec_sel.src0_rep = cmd->vec_sel.src1_rep = 8;
}

#endif
