/* SPDX-License-Identifier: MIT
 *
 * Commands of the fixpipe. Each function only builds a command; addresses in L0C, UB, L1
 * and FB are byte offsets. Ranges, layouts and numbers: hal/contract/fixpipe.md.
 *
 *     fixpipe_set_quant(&cmd, fixpipe_word(0.02f, 3, true));      and push it, then
 *     fixpipe_to_ub(&cmd, TYPE_S32, ub, l0c, m, n, pitch, rows, QUANT_REQ8);
 *     fixpipe_relu(&cmd, FIX_RELU_PLAIN, 0);
 */
#ifndef HAL_FIXPIPE_H
#define HAL_FIXPIPE_H

#include <string.h>

#include "hal/pipe.h"

static inline void fixpipe_tile(union cmd *cmd, enum op op, enum type type, uint64_t dst,
                                uint32_t l0c, unsigned m, unsigned n, uint32_t pitch,
                                unsigned block_rows, enum quant quant)
{
    cmd_init(cmd, op, type);
    cmd->fix_gm.dst = dst;
    cmd->fix_gm.src = l0c;
    cmd->fix_gm.dst_pitch = pitch;
    cmd->fix_gm.m = (uint16_t)m;
    cmd->fix_gm.n = (uint16_t)n;
    cmd->fix_gm.src_c0_stride = (uint16_t)block_rows;
    cmd->fix_gm.quant = (uint8_t)quant;
    cmd->fix_gm.nd_num = 1;
}

/* The m x n tile at l0c (column blocks of 16, block_rows rows apart), of type F32 or S32,
 * to rows in GM `pitch` elements apart, converted as quant says. */
static inline void fixpipe_to_gm(union cmd *cmd, enum type type, void *gm, uint32_t l0c,
                                 unsigned m, unsigned n, uint32_t pitch,
                                 unsigned block_rows, enum quant quant)
{
    fixpipe_tile(cmd, OP_FIX_L0C_GM, type, (uintptr_t)gm, l0c, m, n, pitch, block_rows,
                 quant);
}

/* The same to UB; ub and the bytes of a pitch are multiples of 32. */
static inline void fixpipe_to_ub(union cmd *cmd, enum type type, uint32_t ub,
                                 uint32_t l0c, unsigned m, unsigned n, uint32_t pitch,
                                 unsigned block_rows, enum quant quant)
{
    fixpipe_tile(cmd, OP_FIX_L0C_UB, type, ub, l0c, m, n, pitch, block_rows, quant);
}

/* The same to L1, in rows. */
static inline void fixpipe_to_l1(union cmd *cmd, enum type type, uint32_t l1,
                                 uint32_t l0c, unsigned m, unsigned n, uint32_t pitch,
                                 unsigned block_rows, enum quant quant)
{
    fixpipe_tile(cmd, OP_FIX_L0C_L1, type, l1, l0c, m, n, pitch, block_rows, quant);
}

/* Makes fractals (Nz) of the rows: column blocks dst_blocks * 32 bytes apart. */
static inline void fixpipe_nz(union cmd *cmd, uint32_t dst_blocks)
{
    cmd->head.flags |= FIX_L0C_GM_NZ;
    cmd->fix_gm.dst_pitch = dst_blocks;
}

/* Adds an activation, FIX_RELU_; slopes of FIX_RELU_CHANNEL are at fb. */
static inline void fixpipe_relu(union cmd *cmd, unsigned relu, uint32_t fb)
{
    cmd->fix_gm.relu = (uint8_t)relu;
    cmd->fix_gm.fb_relu = (uint16_t)fb;
}

/* Waits for the marks that cube_unit(.., UNIT_PASS) sets, unit by unit behind the Cube.
 * UNIT_PASS: the Cube may have L0C again; UNIT_KEEP: another command reads it too. */
static inline void fixpipe_unit(union cmd *cmd, unsigned unit)
{
    cmd->fix_gm.unit = (uint8_t)unit;
}

/* A quantisation word; of scale the upper 19 bits count. */
static inline uint64_t fixpipe_word(float scale, int offset, bool is_signed)
{
    uint32_t bits;

    memcpy(&bits, &scale, sizeof(bits));
    return (bits & QUANT_PRE_M1) | field_put(QUANT_PRE_OFFSET, (uint64_t)offset) |
           field_put(QUANT_PRE_SIGN, is_signed);
}

/* The word that the scalar modes of the commands that follow use. */
static inline void fixpipe_set_quant(union cmd *cmd, uint64_t word)
{
    cmd_init(cmd, OP_SET_QUANT, TYPE_NONE);
    cmd->set_quant.word = word;
}

/* Slope of FIX_RELU_LEAKY and limit of the flag CLIP for the commands that follow. */
static inline void fixpipe_set_relu(union cmd *cmd, float slope, float limit)
{
    cmd_init(cmd, OP_SET_RELU, TYPE_NONE);
    memcpy(&cmd->set_relu.slope, &slope, sizeof(slope));
    memcpy(&cmd->set_relu.clip, &limit, sizeof(limit));
}

/* len_bytes (a multiple of 64) of L1 to FB: words, 8 bytes a column, or slopes, 4. */
static inline void fixpipe_l1_to_fb(union cmd *cmd, uint32_t fb, uint32_t l1,
                                    uint32_t len_bytes)
{
    cmd_init(cmd, OP_COPY_L1_FB, TYPE_NONE);
    cmd->l1_fb.dst = fb;
    cmd->l1_fb.src = l1;
    cmd->l1_fb.len_bytes = len_bytes;
    cmd->l1_fb.n_blocks = 1;
}

#endif
