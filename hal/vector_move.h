/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that reduce, move, gather and sort. Each function only builds a
 * command, of operands without gaps; UB addresses are byte offsets, multiples of 32 where
 * not said otherwise. Those that know the mask work on as many elements as vector_count
 * said; repeats and strides can be set in the command afterwards. Formula and numbers:
 * hal/contract/vector_move.md.
 */
#ifndef HAL_VECTOR_MOVE_H
#define HAL_VECTOR_MOVE_H

#include <string.h>

#include "hal/pipe.h"

/* Sums and extremes: op is OP_VCADD .. OP_VCPADD; F32 or F16. Results lie side by side at
 * dst, a multiple of their size (OP_VCPADD: 32). */
static inline void vector_reduce(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                 uint32_t src)
{
    cmd_init(cmd, op, type);
    cmd->vec_reduce.dst = dst;
    cmd->vec_reduce.src = src;
    cmd->vec_reduce.dst_rep = 1;
    cmd->vec_reduce.src_blk = 1;
    cmd->vec_reduce.src_rep = 8;
}

/* dst = src; 16- and 32-bit types. */
static inline void vector_copy(union cmd *cmd, enum type type, uint32_t dst, uint32_t src)
{
    cmd_init(cmd, OP_VCOPY, type);
    cmd->vec_copy.dst = dst;
    cmd->vec_copy.src = src;
    cmd->vec_copy.dst_blk = cmd->vec_copy.src_blk = 1;
    cmd->vec_copy.dst_rep = cmd->vec_copy.src_rep = 8;
}

/* OP_VDUP: dst = value; OP_VCI: dst[i] = value + i. `bits` are those of the value. */
static inline void vector_fill(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                               uint32_t bits)
{
    cmd_init(cmd, op, type);
    cmd->vec_fill.dst = dst;
    cmd->vec_fill.value = bits;
    cmd->vec_fill.dst_blk = 1;
    cmd->vec_fill.dst_rep = 8;
}

/* Fills 8 * n blocks at dst with one element each of those at src. Knows no mask. */
static inline void vector_broadcast(union cmd *cmd, enum type type, uint32_t dst,
                                    uint32_t src, uint8_t n)
{
    cmd_init(cmd, OP_VBRCB, type);
    cmd->vec_brcb.dst = dst;
    cmd->vec_brcb.src = src;
    cmd->vec_brcb.dst_blk = 1;
    cmd->vec_brcb.dst_rep = 8;
    cmd->vec_brcb.repeat = n;
}

/* The 16 blocks (addresses in units of 32 bytes) that the OP_VTRANSDATA behind it in the
 * queue read or write. */
static inline void vector_addresses(union cmd *cmd, const uint16_t blocks[16], bool dst)
{
    cmd_init(cmd, OP_SET_VA, TYPE_NONE);
    cmd->head.flags = dst ? SET_VA_DST : 0;
    memcpy(&cmd->set_va.block0, blocks, 16 * sizeof(blocks[0]));
}

/* dst[i] = element at src + offsets[i]; the offsets are 32 bits, in bytes. */
static inline void vector_gather(union cmd *cmd, enum type type, uint32_t dst,
                                 uint32_t src, uint32_t offsets)
{
    cmd_init(cmd, OP_VGATHER, type);
    cmd->vec_gather.dst = dst;
    cmd->vec_gather.src = src;
    cmd->vec_gather.offsets = offsets;
    cmd->vec_gather.dst_rep = 8;
}

/* Element at dst + offsets[i] = src[i]. */
static inline void vector_scatter(union cmd *cmd, enum type type, uint32_t dst,
                                  uint32_t src, uint32_t offsets)
{
    cmd_init(cmd, OP_VSCATTER, type);
    cmd->vec_scatter.dst = dst;
    cmd->vec_scatter.src = src;
    cmd->vec_scatter.offsets = offsets;
    cmd->vec_scatter.src_rep = 8;
}

/* Those of the vector_count elements at src whose bit is 1, side by side;
 * vector_get_count tells how many. */
static inline void vector_compact(union cmd *cmd, enum type type, uint32_t dst,
                                  uint32_t src, uint32_t bits)
{
    cmd_init(cmd, OP_VREDUCEV2, type);
    cmd->vec_squeeze.dst = dst;
    cmd->vec_squeeze.src = src;
    cmd->vec_squeeze.bits = bits;
    cmd->vec_squeeze.src_blk = 1;
    cmd->vec_squeeze.repeat = 1;
}

/* 8 words at dst: elements of the last vector_compact, pairs of each list of the last
 * vector_merge, 0, 0, 0. */
static inline void vector_get_count(union cmd *cmd, uint32_t dst)
{
    cmd_init(cmd, OP_GET_COUNT, TYPE_NONE);
    cmd->get_count.dst = dst;
}

/* n times 32 values and their 32-bit indices to sorted pairs of 8 bytes; F32 or F16. */
static inline void vector_sort32(union cmd *cmd, enum type type, uint32_t dst,
                                 uint32_t src, uint32_t index, uint8_t n)
{
    cmd_init(cmd, OP_VSORT32, type);
    cmd->vec_sort.dst = dst;
    cmd->vec_sort.src = src;
    cmd->vec_sort.index = index;
    cmd->vec_sort.repeat = n;
}

/* Merges 4 sorted lists of n pairs each, side by side at src. */
static inline void vector_merge4(union cmd *cmd, enum type type, uint32_t dst,
                                 uint32_t src, uint16_t n)
{
    cmd_init(cmd, OP_VMRGSORT, type);
    cmd->vec_merge.dst = dst;
    cmd->vec_merge.src0 = src;
    cmd->vec_merge.src1 = src + 8u * n;
    cmd->vec_merge.src2 = src + 16u * n;
    cmd->vec_merge.src3 = src + 24u * n;
    cmd->vec_merge.n0 = cmd->vec_merge.n1 = n;
    cmd->vec_merge.n2 = cmd->vec_merge.n3 = n;
    cmd->vec_merge.valid = 15;
    cmd->vec_merge.repeat = 1;
}

#endif
