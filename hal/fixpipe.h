/* SPDX-License-Identifier: MIT
 *
 * Commands of the fixpipe. Each function only builds a command; L0C addresses are byte
 * offsets. Ranges and conversions: hal/contract/fixpipe.md.
 */
#ifndef HAL_FIXPIPE_H
#define HAL_FIXPIPE_H

#include "hal/pipe.h"

/* The m x n tile at l0c (column blocks of 16, block_rows rows apart), of type F32 or S32,
 * to rows in GM `pitch` elements apart, converted as quant says. */
static inline void fixpipe_to_gm(union cmd *cmd, enum type type, void *gm, uint32_t l0c,
                                 unsigned m, unsigned n, uint32_t pitch,
                                 unsigned block_rows, enum quant quant)
{
    cmd_init(cmd, OP_FIX_L0C_GM, type);
    cmd->fix_gm.dst = (uintptr_t)gm;
    cmd->fix_gm.src = l0c;
    cmd->fix_gm.dst_pitch = pitch;
    cmd->fix_gm.m = (uint16_t)m;
    cmd->fix_gm.n = (uint16_t)n;
    cmd->fix_gm.src_c0_stride = (uint16_t)block_rows;
    cmd->fix_gm.quant = (uint8_t)quant;
}

#endif
