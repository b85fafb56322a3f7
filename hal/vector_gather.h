/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that gather, scatter and compact. Each function only builds a
 * command; see vector.h for operands and masks. Offsets are 32 bits, in bytes, side by
 * side. Formula and numbers: hal/contract/vector_gather.md.
 */
#ifndef HAL_VECTOR_GATHER_H
#define HAL_VECTOR_GATHER_H

#include "hal/vector.h"

/* dst[i] = element at src + offsets[i]. */
struct vec_gather {
    enum type type;
    uint32_t dst;
    uint32_t dst_rep; /* blocks from a repeat to the next; VEC_BLOCKS: no gaps */
    uint32_t src;
    uint32_t offsets;
    uint32_t repeat; /* up to 255 */
};

static inline void vector_gather_strided(union cmd *cmd, const struct vec_gather *v)
{
    cmd_init(cmd, OP_VGATHER, v->type);
    cmd->vec_gather.dst = v->dst;
    cmd->vec_gather.src = v->src;
    cmd->vec_gather.offsets = v->offsets;
    CMD_SET(cmd->vec_gather.dst_rep, v->dst_rep);
    CMD_SET(cmd->vec_gather.repeat, v->repeat);
}

static inline void vector_gather(union cmd *cmd, enum type type, uint32_t dst,
                                 uint32_t src, uint32_t offsets)
{
    vector_gather_strided(cmd, &(struct vec_gather){.type = type,
                                                    .dst = dst,
                                                    .dst_rep = VEC_BLOCKS,
                                                    .src = src,
                                                    .offsets = offsets});
}

/* n repeats (up to 255) of 8 blocks: block i of dst = block at src + offsets[i]. Knows no
 * mask. */
static inline void vector_gather_blocks(union cmd *cmd, enum type type, uint32_t dst,
                                        uint32_t src, uint32_t offsets, uint32_t n)
{
    cmd_init(cmd, OP_VGATHERB, type);
    cmd->vec_gatherb.dst = dst;
    cmd->vec_gatherb.src = src;
    cmd->vec_gatherb.offsets = offsets;
    cmd->vec_gatherb.dst_blk = 1;
    cmd->vec_gatherb.dst_rep = VEC_BLOCKS;
    CMD_SET(cmd->vec_gatherb.repeat, n);
}

/* Element at dst + offsets[i] = src[i]. */
static inline void vector_scatter(union cmd *cmd, enum type type, uint32_t dst,
                                  uint32_t src, uint32_t offsets)
{
    cmd_init(cmd, OP_VSCATTER, type);
    cmd->vec_scatter.dst = dst;
    cmd->vec_scatter.src = src;
    cmd->vec_scatter.offsets = offsets;
    cmd->vec_scatter.src_rep = VEC_BLOCKS;
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

/* n results of 8 blocks of F16, without gaps, each the sum of `steps` gathered ones times
 * a weight a step. */
struct vec_interpolate {
    uint32_t dst;
    uint32_t src;
    uint32_t offsets;  /* of each block of each step */
    uint32_t weights;  /* of each step; VBI_EACH: of each block */
    uint32_t steps, n; /* up to 255 */
    uint8_t flags;     /* VBI_EACH */
};

static inline void vector_interpolate(union cmd *cmd, const struct vec_interpolate *v)
{
    cmd_init(cmd, OP_VBI, TYPE_F16);
    cmd->head.flags = v->flags;
    cmd->vec_bi.dst = v->dst;
    cmd->vec_bi.src = v->src;
    cmd->vec_bi.offsets = v->offsets;
    cmd->vec_bi.weights = v->weights;
    cmd->vec_bi.v_offset = 128; /* elements of a result */
    cmd->vec_bi.dst_blk = 1;
    CMD_SET(cmd->vec_bi.h_repeat, v->steps);
    CMD_SET(cmd->vec_bi.v_repeat, v->n);
}

#endif
