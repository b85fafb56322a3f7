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
 * fractals at l1: column blocks of 32 bytes, `block_rows` rows of 32 bytes apart. S4:
 * n_cols and pitch are even. */
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

/* MTE2: the same matrix to rows at l1, side by side, each padded to whole 32 bytes (with
 * copies of its first element). */
static inline void mte_gm_to_l1_rows(union cmd *cmd, uint32_t l1, const void *gm,
                                     enum type type, unsigned n_rows, uint32_t n_cols,
                                     uint32_t pitch)
{
    uint32_t esize = type_bits(type) / 8;

    cmd_init(cmd, OP_COPY_PAD_GM_L1, type);
    cmd->copy_pad.src = (uintptr_t)gm;
    cmd->copy_pad.dst = l1;
    cmd->copy_pad.len_bytes = n_cols * esize;
    cmd->copy_pad.src_gap = (pitch - n_cols) * esize;
    cmd->copy_pad.n_blocks = (uint16_t)n_rows;
}

/* MTE1: m x k elements of the Nz matrix at l1 (blocks block_rows apart) to L0A; k x m at
 * l1 with LOAD2D_L0A_TRANSPOSE in cmd->head.flags. S4: k is even. */
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

/* MTE1: k x n elements of the Nz matrix at l1 (blocks block_rows apart) to L0B; n x k at
 * l1 with LOAD2D_L0B_TRANSPOSE in cmd->head.flags. S4: k is even. */
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

/* MTE1: n_fractals (up to 255) fractals of 512 bytes of the dense int8 b of a sparse Mmad
 * at l1 to L0B, side by side, and 128 bytes of index for each, at `index` in L1, to the
 * memory of the index at a quarter of l0b. l0b is a multiple of 512, l1 and index of 32.
 * In L1 b lies as it will in L0B (Zn): mte_gm_to_l1_nz() of the transposed b, rows of
 * up(n, 16) apart, does it. The index has 2 bits for each byte of b, in their order, the
 * low bits first. Only where chip_has_sparse(), else CHIP. Ascend C: LoadDataWithSparse.
 */
static inline void mte_l1_to_l0b_sparse(union cmd *cmd, uint32_t l0b, uint32_t l1,
                                        uint32_t index, unsigned n_fractals)
{
    cmd_init(cmd, OP_SPARSE_L1_L0B, TYPE_S8);
    cmd->sparse.dst = l0b;
    cmd->sparse.src = l1;
    cmd->sparse.index = index;
    cmd->sparse.repeat = (uint8_t)n_fractals;
}

/* MTE3: len_bytes of L1 to GM; l1 is a multiple of 32. */
static inline void mte_l1_to_gm(union cmd *cmd, void *gm, uint32_t l1, uint32_t len_bytes)
{
    mte_ub_to_gm(cmd, gm, l1, len_bytes);
    cmd->head.opcode = OP_COPY_L1_GM;
}

/* MTE3: what the copies to GM behind it in the queue do, op is ATOMIC_*. Stays so until
 * the next one; ATOMIC_NONE takes any type. */
static inline void mte_set_atomic(union cmd *cmd, unsigned op, enum type type)
{
    cmd_init(cmd, OP_SET_ATOMIC_MTE3, type);
    cmd->set_atomic.op = (uint8_t)op;
}

/* Padding value, an element's bits, of the padded copies (MTE2) or of img2col (MTE1)
 * behind it in the queue. */
static inline void mte_set_pad(union cmd *cmd, enum pipe pipe, uint32_t value)
{
    cmd_init(cmd, pipe == PIPE_MTE2 ? OP_SET_PAD_MTE2 : OP_SET_PAD_MTE1, TYPE_NONE);
    cmd->set_pad.value = value;
}

/* MTE2: len_bytes of GM, whole elements, to UB with `left` and `right` elements of
 * padding (at most 32 bytes each) around them; the row in UB ends at a multiple of 32.
 * by_value: with the value of mte_set_pad(), else with the first element. */
static inline void mte_gm_to_ub_padded(union cmd *cmd, uint32_t ub, const void *gm,
                                       enum type type, uint32_t len_bytes, unsigned left,
                                       unsigned right, bool by_value)
{
    cmd_init(cmd, OP_COPY_PAD_GM_UB, type);
    cmd->head.flags = by_value ? COPY_PAD_GM_UB_VALUE : 0;
    cmd->copy_pad.src = (uintptr_t)gm;
    cmd->copy_pad.dst = ub;
    cmd->copy_pad.len_bytes = len_bytes;
    cmd->copy_pad.n_blocks = 1;
    cmd->copy_pad.left = (uint8_t)left;
    cmd->copy_pad.right = (uint8_t)right;
}

/* Fills `bytes` bytes with a value: L1 (MTE2; units of 32), L0A or L0B (MTE1; of 512). */
static inline void mte_fill(union cmd *cmd, enum npu_mem mem, uint32_t at, enum type type,
                            uint32_t value, uint32_t bytes)
{
    cmd_init(cmd,
             mem == NPU_MEM_L1    ? OP_INIT_L1
             : mem == NPU_MEM_L0A ? OP_INIT_L0A
                                  : OP_INIT_L0B,
             type);
    cmd->init.dst = at;
    cmd->init.value = value;
    cmd->init.repeat = 1;
    cmd->init.len = (uint16_t)(bytes / (mem == NPU_MEM_L1 ? 32 : 512));
}

/* MTE1: n elements (a multiple of 16) of L1 to the bias table; F16 and BF16 become fp32.
 */
static inline void mte_l1_to_bt(union cmd *cmd, uint32_t bt, uint32_t l1, enum type type,
                                unsigned n)
{
    cmd_init(cmd, OP_COPY_L1_BT, type);
    cmd->copy_bt.dst = bt;
    cmd->copy_bt.src = l1;
    cmd->copy_bt.n_blocks = 1;
    cmd->copy_bt.len = (uint16_t)(n / 16);
}

/* L1 to UB (MTE1) and UB to L1 (MTE3), len_bytes a multiple of 32. */
static inline void mte_l1_to_ub(union cmd *cmd, uint32_t ub, uint32_t l1,
                                uint32_t len_bytes)
{
    cmd_init(cmd, OP_COPY_L1_UB, TYPE_NONE);
    cmd->copy_local.dst = ub;
    cmd->copy_local.src = l1;
    cmd->copy_local.n_blocks = 1;
    cmd->copy_local.len = (uint16_t)(len_bytes / 32);
}

static inline void mte_ub_to_l1(union cmd *cmd, uint32_t l1, uint32_t ub,
                                uint32_t len_bytes)
{
    mte_l1_to_ub(cmd, l1, ub, len_bytes);
    cmd->head.opcode = OP_COPY_UB_L1;
}

/* A convolution's geometry; paddings are pixels, the padding's value mte_set_pad(). The
 * map in L1: a plane of map_h x map_w pixels for each C0 channels, behind them one of the
 * channels that are left: 4 of 32 bits, 4 or 8 of 16, 4, 8 or 16 of 8, 8, 16 or 32 of S4.
 */
struct mte_conv {
    uint16_t map_h, map_w, channels, filter_h, filter_w;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    uint8_t pad_left, pad_right, pad_top, pad_bottom;
};

/* MTE1: rows [m, m + m_len) and columns [k, k + k_len) of the img2col matrix of the map
 * at l1, to L0A as it is; cmd->head.opcode = OP_LOAD3D_L0B and the flag TRANSPOSE make it
 * the other kinds. k is a multiple of C0, k_len too unless it goes up to the last column.
 */
static inline void mte_img2col_to_l0a(union cmd *cmd, uint32_t l0a, uint32_t l1,
                                      enum type type, const struct mte_conv *conv,
                                      unsigned m, unsigned m_len, unsigned k,
                                      unsigned k_len)
{
    cmd_init(cmd, OP_LOAD3D_L0A, type);
    cmd->load3d.dst = l0a;
    cmd->load3d.src = l1;
    cmd->load3d.map_h = conv->map_h;
    cmd->load3d.map_w = conv->map_w;
    cmd->load3d.channels = conv->channels;
    cmd->load3d.m_len = (uint16_t)m_len;
    cmd->load3d.k_len = (uint16_t)k_len;
    cmd->load3d.m_start = (uint16_t)m;
    cmd->load3d.k_start = (uint16_t)k;
    cmd->load3d.filter_h = conv->filter_h;
    cmd->load3d.filter_w = conv->filter_w;
    cmd->load3d.stride_h = conv->stride_h;
    cmd->load3d.stride_w = conv->stride_w;
    cmd->load3d.dilation_h = conv->dilation_h;
    cmd->load3d.dilation_w = conv->dilation_w;
    cmd->load3d.pad_left = conv->pad_left;
    cmd->load3d.pad_right = conv->pad_right;
    cmd->load3d.pad_top = conv->pad_top;
    cmd->load3d.pad_bottom = conv->pad_bottom;
}

/* MTE1: the img2col loads behind it in the queue are done `times` times, to L0 one behind
 * the other. mode LOAD3D_ALONG_M: m moves on by 16 * stride; LOAD3D_ALONG_K: k by
 * C0 * stride. Stays so until the next one; at first once. */
static inline void mte_set_load3d_repeat(union cmd *cmd, unsigned stride, unsigned times,
                                         unsigned mode)
{
    cmd_init(cmd, OP_SET_LOAD3D_REPEAT, TYPE_NONE);
    cmd->set_load3d_repeat.stride = (uint16_t)stride;
    cmd->set_load3d_repeat.times = (uint8_t)times;
    cmd->set_load3d_repeat.mode = (uint8_t)mode;
}

/* MTE1: the img2col loads behind it read the beginning of L1 behind its first `bytes`
 * bytes, a multiple of 32, from LOAD3D_BOUNDARY_MIN to the size of L1; 0, as at first:
 * they do not. */
static inline void mte_set_load3d_boundary(union cmd *cmd, uint32_t bytes)
{
    cmd_init(cmd, OP_SET_LOAD3D_BOUNDARY, TYPE_NONE);
    cmd->set_load3d_boundary.bytes = bytes;
}

#endif
