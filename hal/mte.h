/* SPDX-License-Identifier: MIT
 *
 * Commands of the DMA engines: MTE2 brings data in, MTE1 loads the Cube's operands, MTE3
 * takes results out. Each function only builds a command. UB, L1 and L0 addresses are
 * byte offsets in that memory, GM addresses are what the hart sees. Ranges, alignments
 * and what happens beyond them: hal/contract/mte.md.
 */
#ifndef HAL_MTE_H
#define HAL_MTE_H

#include "hal/pipe.h"

/* MTE2: len_bytes of GM to UB; ub is a multiple of 32. */
static inline void mte_gm_to_ub(union cmd *cmd, uint32_t ub, const void *gm,
                                uint32_t len_bytes)
{
    cmd_init(cmd, OP_COPY_GM_UB, TYPE_NONE);
    cmd->copy_in.src = (uintptr_t)gm;
    cmd->copy_in.dst = ub;
    cmd->copy_in.len_bytes = len_bytes;
    cmd->copy_in.n_blocks = 1;
}

/* MTE3: len_bytes of UB to GM; ub is a multiple of 32. */
static inline void mte_ub_to_gm(union cmd *cmd, void *gm, uint32_t ub, uint32_t len_bytes)
{
    cmd_init(cmd, OP_COPY_UB_GM, TYPE_NONE);
    cmd->copy_out.dst = (uintptr_t)gm;
    cmd->copy_out.src = ub;
    cmd->copy_out.len_bytes = len_bytes;
    cmd->copy_out.n_blocks = 1;
}

/* MTE2: the row-major n_rows x n_cols matrix at gm, rows `pitch` elements apart, to Nz
 * fractals at l1: column blocks of 32 bytes, `block_rows` rows of 32 bytes apart. */
static inline void mte_gm_to_l1_nz(union cmd *cmd, uint32_t l1, const void *gm,
                                   enum type type, unsigned n_rows, unsigned n_cols,
                                   uint32_t pitch, unsigned block_rows)
{
    cmd_init(cmd, OP_ND2NZ_GM_L1, type);
    cmd->nd2nz.src = (uintptr_t)gm;
    cmd->nd2nz.dst = l1;
    cmd->nd2nz.src_pitch = pitch;
    cmd->nd2nz.n_rows = (uint16_t)n_rows;
    cmd->nd2nz.n_cols = (uint16_t)n_cols;
    cmd->nd2nz.n_mats = 1;
    cmd->nd2nz.dst_c0_stride = (uint16_t)block_rows;
    cmd->nd2nz.dst_row_stride = 1;
}

/* MTE1: m x k elements of the Nz matrix at l1 (blocks block_rows apart) to L0A. */
static inline void mte_l1_to_l0a(union cmd *cmd, uint32_t l0a, uint32_t l1,
                                 enum type type, unsigned m, unsigned k,
                                 unsigned block_rows)
{
    cmd_init(cmd, OP_LOAD2D_L0A, type);
    cmd->load2d.dst = l0a;
    cmd->load2d.src = l1;
    cmd->load2d.n_rows = (uint16_t)m;
    cmd->load2d.n_cols = (uint16_t)k;
    cmd->load2d.src_c0_stride = (uint16_t)block_rows;
}

/* MTE1: k x n elements of the Nz matrix at l1 (blocks block_rows apart) to L0B. */
static inline void mte_l1_to_l0b(union cmd *cmd, uint32_t l0b, uint32_t l1,
                                 enum type type, unsigned k, unsigned n,
                                 unsigned block_rows)
{
    cmd_init(cmd, OP_LOAD2D_L0B, type);
    cmd->load2d.dst = l0b;
    cmd->load2d.src = l1;
    cmd->load2d.n_rows = (uint16_t)k;
    cmd->load2d.n_cols = (uint16_t)n;
    cmd->load2d.src_c0_stride = (uint16_t)block_rows;
}

#endif
