/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector for quantised data, region proposals, interpolation and wide
 * products. Each function only builds a command, of operands without gaps; UB addresses
 * are byte offsets, multiples of 32. Formula and numbers: hal/contract/vector_more.md.
 */
#ifndef HAL_VECTOR_MORE_H
#define HAL_VECTOR_MORE_H

#include <string.h>

#include "hal/pipe.h"

/* A word of VDEQ: result = x * scale + offset, offset from -256 to 255, as S8 or U8. */
static inline uint64_t vector_deq_word(float scale, int offset, bool is_signed)
{
    uint32_t bits;

    memcpy(&bits, &scale, sizeof(bits));
    return bits | field_put(DEQ_OFFSET, (uint64_t)offset) |
           field_put(DEQ_SIGN, is_signed);
}

/* The word of the commands that follow. */
static inline void vector_set_deq(union cmd *cmd, uint64_t word)
{
    cmd_init(cmd, OP_SET_DEQSCALE, TYPE_F32);
    cmd->set_deqscale.word = word;
}

/* Each block of 16 S16 at src, as many elements as vector_count said, to half a block at
 * dst: the lower one, or the upper. */
static inline void vector_quantise(union cmd *cmd, uint32_t dst, uint32_t src, bool upper)
{
    cmd_init(cmd, OP_VDEQ, TYPE_S16);
    cmd->head.flags = upper ? VDEQ_HIGH : 0;
    cmd->vec_deq.dst = dst;
    cmd->vec_deq.src = src;
    cmd->vec_deq.dst_blk = cmd->vec_deq.src_blk = 1;
    cmd->vec_deq.dst_rep = cmd->vec_deq.src_rep = 8;
}

/* low, high = the halves of x * y, n numbers of S32. */
static inline void vector_mull(union cmd *cmd, uint32_t low, uint32_t high, uint32_t x,
                               uint32_t y, uint32_t n)
{
    cmd_init(cmd, OP_VMULL, TYPE_S32);
    cmd->vec_intlv.dst0 = low;
    cmd->vec_intlv.dst1 = high;
    cmd->vec_intlv.src0 = x;
    cmd->vec_intlv.src1 = y;
    cmd->vec_intlv.count = n;
}

/* n times 16 proposals, each group sorted by score; dst may be src. F32 or F16. */
static inline void vector_rpsort16(union cmd *cmd, enum type type, uint32_t dst,
                                   uint32_t src, uint8_t n)
{
    cmd_init(cmd, OP_VRPSORT16, type);
    cmd->vec_rpsort.dst = dst;
    cmd->vec_rpsort.src = src;
    cmd->vec_rpsort.repeat = n;
}

/* OP_VRPCONCAT: 16 n elements at src to a field (PROPOSAL_) of the proposals at dst;
 * OP_VRPEXTRACT: the field of those at src to elements at dst. */
static inline void vector_proposals(union cmd *cmd, enum op op, enum type type,
                                    uint32_t dst, uint32_t src, uint8_t n, unsigned field)
{
    cmd_init(cmd, op, type);
    cmd->vec_rp.dst = dst;
    cmd->vec_rp.src = src;
    cmd->vec_rp.repeat = n;
    cmd->vec_rp.field = (uint8_t)field;
}

/* n results of 128 F16, each the sum of `steps` gathered ones times a weight a step. */
static inline void vector_interpolate(union cmd *cmd, uint32_t dst, uint32_t src,
                                      uint32_t offsets, uint32_t weights, uint8_t steps,
                                      uint8_t n)
{
    cmd_init(cmd, OP_VBI, TYPE_F16);
    cmd->vec_bi.dst = dst;
    cmd->vec_bi.src = src;
    cmd->vec_bi.offsets = offsets;
    cmd->vec_bi.weights = weights;
    cmd->vec_bi.v_offset = 128;
    cmd->vec_bi.dst_blk = 1;
    cmd->vec_bi.h_repeat = steps;
    cmd->vec_bi.v_repeat = n;
}

#endif
