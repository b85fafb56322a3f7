/* SPDX-License-Identifier: MIT
 *
 * Commands of MTE1 for convolutions: LOAD3D_L0A, LOAD3D_L0B and what they go by. Each
 * function only builds a command, as those of hal/mte.h do; hal/contract/mte.md.
 */
#ifndef HAL_MTE_CONV_H
#define HAL_MTE_CONV_H

#include "hal/mte.h"

/* A convolution's geometry; paddings are pixels, the padding's value mte_set_pad(). The
 * map in L1: a plane of map_h x map_w pixels for each C0 channels, behind them one of the
 * channels that are left: 4 of 32 bits, 4 or 8 of 16, 4, 8 or 16 of 8, 8, 16 or 32 of S4.
 * Filter, stride and dilation that are left out (0) are 1. */
struct mte_conv {
    uint16_t map_h, map_w, channels, filter_h, filter_w;
    uint8_t stride_h, stride_w, dilation_h, dilation_w;
    uint8_t pad_left, pad_right, pad_top, pad_bottom;
};

/* Rows [m, m + m_len) and columns [k, k + k_len) of the convolution's img2col matrix: a
 * row for each output pixel, a column for each of filter and channels. k is a multiple of
 * C0, k_len too unless it goes up to the last column. */
struct mte_img2col {
    enum type type;
    const struct mte_conv *conv;
    uint32_t m, m_len, k, k_len; /* up to 65535 */
    bool transpose;              /* L0 gets the transposed matrix */
};

static inline uint8_t mte_or_1(uint8_t x)
{
    return x ? x : 1;
}

static inline void mte_load3d(union cmd *cmd, enum op op, uint32_t l0, uint32_t l1,
                              const struct mte_img2col *i)
{
    const struct mte_conv *conv = i->conv;

    cmd_init(cmd, op, i->type);
    cmd->head.flags = i->transpose ? LOAD3D_L0A_TRANSPOSE : 0;
    cmd->load3d.dst = l0;
    cmd->load3d.src = l1;
    cmd->load3d.map_h = conv->map_h;
    cmd->load3d.map_w = conv->map_w;
    cmd->load3d.channels = conv->channels;
    CMD_SET(cmd->load3d.m_len, i->m_len);
    CMD_SET(cmd->load3d.k_len, i->k_len);
    CMD_SET(cmd->load3d.m_start, i->m);
    CMD_SET(cmd->load3d.k_start, i->k);
    cmd->load3d.filter_h = conv->filter_h ? conv->filter_h : 1;
    cmd->load3d.filter_w = conv->filter_w ? conv->filter_w : 1;
    cmd->load3d.stride_h = mte_or_1(conv->stride_h);
    cmd->load3d.stride_w = mte_or_1(conv->stride_w);
    cmd->load3d.dilation_h = mte_or_1(conv->dilation_h);
    cmd->load3d.dilation_w = mte_or_1(conv->dilation_w);
    cmd->load3d.pad_left = conv->pad_left;
    cmd->load3d.pad_right = conv->pad_right;
    cmd->load3d.pad_top = conv->pad_top;
    cmd->load3d.pad_bottom = conv->pad_bottom;
}

_Static_assert((int)LOAD3D_L0B_TRANSPOSE == (int)LOAD3D_L0A_TRANSPOSE, "one flag");

/* MTE1: of the map at l1. */
static inline void mte_img2col_to_l0a(union cmd *cmd, uint32_t l0a, uint32_t l1,
                                      const struct mte_img2col *i)
{
    mte_load3d(cmd, OP_LOAD3D_L0A, l0a, l1, i);
}

static inline void mte_img2col_to_l0b(union cmd *cmd, uint32_t l0b, uint32_t l1,
                                      const struct mte_img2col *i)
{
    mte_load3d(cmd, OP_LOAD3D_L0B, l0b, l1, i);
}

/* Matrices in GM, each of which becomes an Nz one in L1. A map of rows of pixels with their
 * channels side by side (NHWC) becomes one of NC1HWC0: a matrix for each row of the map. A
 * filter of such rows (OHWI) becomes what mte_l1_to_l0b() wants for the columns of an
 * img2col matrix: a matrix for each tap. Distances in GM are elements, in L1 rows of 32
 * bytes. */
struct mte_nz_many {
    enum type type;
    uint32_t n_mats, n_rows, n_cols;
    uint32_t gm_pitch, gm_mat; /* from a row, from a matrix to the next in GM */
    uint32_t block_rows,
        l1_mat; /* from a column block, from a matrix to the next in L1 */
};

/* MTE2. */
static inline void mte_gm_to_l1_nz_many(union cmd *cmd, uint32_t l1, const void *gm,
                                        const struct mte_nz_many *nz)
{
    cmd_init(cmd, OP_ND2NZ_GM_L1, nz->type);
    cmd->nd2nz.src = (uintptr_t)gm;
    cmd->nd2nz.dst = l1;
    cmd->nd2nz.src_pitch = nz->gm_pitch;
    cmd->nd2nz.src_nd_stride = nz->gm_mat;
    cmd->nd2nz.dst_nd_stride = nz->l1_mat * type_c0(nz->type);
    cmd->nd2nz.dst_row_stride = 1;
    CMD_SET(cmd->nd2nz.n_mats, nz->n_mats);
    CMD_SET(cmd->nd2nz.n_rows, nz->n_rows);
    CMD_SET(cmd->nd2nz.n_cols, nz->n_cols);
    CMD_SET(cmd->nd2nz.dst_c0_stride, nz->block_rows);
}

/* MTE1: the img2col loads behind it in the queue are done `times` times, to L0 one behind
 * the other. mode LOAD3D_ALONG_M: m moves on by 16 * stride; LOAD3D_ALONG_K: k by
 * C0 * stride. Stays so until the next one; at first once. */
static inline void mte_set_load3d_repeat(union cmd *cmd, uint32_t stride, uint32_t times,
                                         uint8_t mode)
{
    cmd_init(cmd, OP_SET_LOAD3D_REPEAT, TYPE_NONE);
    CMD_SET(cmd->set_load3d_repeat.stride, stride);
    CMD_SET(cmd->set_load3d_repeat.times, times);
    cmd->set_load3d_repeat.mode = mode;
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
