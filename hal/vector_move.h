/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that fill, copy and rearrange. Each function only builds a
 * command; see vector.h for operands and masks. Those that know no mask say so. Formula
 * and numbers: hal/contract/vector_move.md.
 */
#ifndef HAL_VECTOR_MOVE_H
#define HAL_VECTOR_MOVE_H

#include "hal/vector.h"

/* dst = x; 16- and 32-bit types. */
struct vec_copy {
    enum type type;
    struct vec_at dst, x;
    uint32_t repeat; /* up to 255 */
};

static inline void vector_copy_strided(union cmd *cmd, const struct vec_copy *v)
{
    cmd_init(cmd, OP_VCOPY, v->type);
    VEC_SET(cmd->vec_copy, dst, v->dst);
    VEC_SET(cmd->vec_copy, src, v->x);
    CMD_SET(cmd->vec_copy.repeat, v->repeat);
}

static inline void vector_copy(union cmd *cmd, enum type type, uint32_t dst, uint32_t x)
{
    vector_copy_strided(
        cmd, &(struct vec_copy){.type = type, .dst = vec_dense(dst), .x = vec_dense(x)});
}

/* VDUP: dst = value; VCI: dst[i] = value + i. */
struct vec_fill {
    enum op op;
    enum type type;
    struct vec_at dst;
    uint32_t bits;   /* of the value */
    uint32_t repeat; /* up to 255 */
};

static inline void vector_fill_strided(union cmd *cmd, const struct vec_fill *v)
{
    cmd_init(cmd, v->op, v->type);
    VEC_SET(cmd->vec_fill, dst, v->dst);
    cmd->vec_fill.value = v->bits;
    CMD_SET(cmd->vec_fill.repeat, v->repeat);
}

static inline void vector_fill(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                               uint32_t bits)
{
    vector_fill_strided(
        cmd,
        &(struct vec_fill){.op = op, .type = type, .dst = vec_dense(dst), .bits = bits});
}

/* VBRCB: fills 8 * n blocks at dst with one element each of those at src; n is up to 255.
 * Knows no mask. */
static inline void vector_broadcast(union cmd *cmd, enum type type, uint32_t dst,
                                    uint32_t src, uint32_t n)
{
    cmd_init(cmd, OP_VBRCB, type);
    cmd->vec_brcb.dst = dst;
    cmd->vec_brcb.src = src;
    cmd->vec_brcb.dst_blk = 1;
    cmd->vec_brcb.dst_rep = VEC_BLOCKS;
    CMD_SET(cmd->vec_brcb.repeat, n);
}

/* dst[i][j] = src[j][i], 16 x 16 elements of 16 bits. Knows no mask. */
static inline void vector_transpose(union cmd *cmd, enum type type, uint32_t dst,
                                    uint32_t src)
{
    cmd_init(cmd, OP_VTRANSPOSE, type);
    cmd->vec_transpose.dst = dst;
    cmd->vec_transpose.src = src;
}

/* The 16 blocks (addresses in units of 32 bytes) that the vector_transdata behind it in
 * the queue read, or with `dst` write. */
static inline void vector_addresses(union cmd *cmd, const uint16_t blocks[16], bool dst)
{
    cmd_init(cmd, OP_SET_VA, TYPE_NONE);
    cmd->head.flags = dst ? SET_VA_DST : 0;
    memcpy(&cmd->set_va.block0, blocks, 16 * sizeof(blocks[0]));
}

/* Transposes the 16 blocks of vector_addresses, then those that lie so many blocks behind
 * them, and so on. Knows no mask. */
struct vec_transdata {
    enum type type;
    uint32_t repeat;           /* up to 255 */
    uint32_t dst_rep, src_rep; /* blocks from a repeat to the next */
    uint8_t flags; /* 8-bit types: VTRANSDATA_DST_HIGH, VTRANSDATA_SRC_HIGH: which half */
};

static inline void vector_transdata(union cmd *cmd, const struct vec_transdata *v)
{
    cmd_init(cmd, OP_VTRANSDATA, v->type);
    cmd->head.flags = v->flags;
    CMD_SET(cmd->vec_transdata.repeat, v->repeat);
    CMD_SET(cmd->vec_transdata.dst_rep, v->dst_rep);
    CMD_SET(cmd->vec_transdata.src_rep, v->src_rep);
}

/* Two operands and two results of n elements each, side by side. VINTLV: dst0 and behind
 * it dst1 are src0[0], src1[0], src0[1], ... VDINTLV: dst0 has the even, dst1 the odd
 * elements of src0 and behind it src1; n is even. VMULL: dst0 has the lower, dst1 the
 * upper 32 bits of src0 * src1, S32. They know no mask. */
struct vec_pairs {
    enum op op;
    enum type type;
    uint32_t dst0, dst1, src0, src1;
    uint32_t n;
};

static inline void vector_pairs(union cmd *cmd, const struct vec_pairs *v)
{
    cmd_init(cmd, v->op, v->type);
    cmd->vec_intlv.dst0 = v->dst0;
    cmd->vec_intlv.dst1 = v->dst1;
    cmd->vec_intlv.src0 = v->src0;
    cmd->vec_intlv.src1 = v->src1;
    cmd->vec_intlv.count = v->n;
}

#endif
