/* SPDX-License-Identifier: MIT
 *
 * Commands of the DMA engines: MTE2 brings data in, MTE1 loads the Cube's operands, MTE3
 * takes results out. Each function only builds a command: destination, source, and a
 * struct for what is more than a length. UB, L1 and L0 addresses are byte offsets in that
 * memory, GM addresses are what the hart sees.
 *
 * A number that does not fit into its operand is an assert. Everything else that the
 * hardware refuses (alignments, ends of memories, ranges) it reports when the command
 * runs: hal/contract/mte.md, at the commands that each section here names.
 */
#ifndef HAL_MTE_H
#define HAL_MTE_H

#include "hal/pipe.h"

enum { MTE_BLOCK = 32, MTE_FRACTAL = 512 /* bytes */ };

/* --- GM and UB or L1: COPY_GM_UB, COPY_GM_L1, COPY_UB_GM, COPY_L1_GM --- */

/* Rows of bytes, in GM anywhere, in UB and L1 each from a multiple of 32 on. */
struct mte_rows {
    uint32_t n_rows;            /* up to 4095; 0: nothing is copied */
    uint32_t row_bytes;         /* any number below 2 MiB */
    uint32_t gm_pitch_bytes;    /* from a row to the next; 0: row_bytes */
    uint32_t local_pitch_bytes; /* likewise; 0: row_bytes, rounded up to 32 */
};

/* What lies between two rows. */
static inline uint32_t mte_gm_gap(const struct mte_rows *r)
{
    assert(r->gm_pitch_bytes == 0 || r->gm_pitch_bytes >= r->row_bytes);
    return r->gm_pitch_bytes == 0 ? 0 : r->gm_pitch_bytes - r->row_bytes;
}

static inline uint32_t mte_local_gap(const struct mte_rows *r)
{
    uint32_t blocks = (r->row_bytes + MTE_BLOCK - 1) / MTE_BLOCK;

    assert(r->local_pitch_bytes % MTE_BLOCK == 0);
    assert(r->local_pitch_bytes == 0 || r->local_pitch_bytes / MTE_BLOCK >= blocks);
    return r->local_pitch_bytes == 0 ? 0 : r->local_pitch_bytes / MTE_BLOCK - blocks;
}

static inline void mte_copy_in(union cmd *cmd, enum op op, uint32_t local, const void *gm,
                               const struct mte_rows *r)
{
    cmd_init(cmd, op, TYPE_NONE);
    cmd->copy_in.src = (uintptr_t)gm;
    cmd->copy_in.dst = local;
    cmd->copy_in.len_bytes = r->row_bytes;
    cmd->copy_in.src_gap = mte_gm_gap(r);
    CMD_SET(cmd->copy_in.n_blocks, r->n_rows);
    CMD_SET(cmd->copy_in.dst_gap, mte_local_gap(r));
}

static inline void mte_copy_out(union cmd *cmd, enum op op, void *gm, uint32_t local,
                                const struct mte_rows *r)
{
    cmd_init(cmd, op, TYPE_NONE);
    cmd->copy_out.dst = (uintptr_t)gm;
    cmd->copy_out.src = local;
    cmd->copy_out.len_bytes = r->row_bytes;
    cmd->copy_out.dst_gap = mte_gm_gap(r);
    CMD_SET(cmd->copy_out.n_blocks, r->n_rows);
    CMD_SET(cmd->copy_out.src_gap, mte_local_gap(r));
}

/* MTE2: rows of GM to UB, to L1. */
static inline void mte_gm_to_ub_rows(union cmd *cmd, uint32_t ub, const void *gm,
                                     const struct mte_rows *rows)
{
    mte_copy_in(cmd, OP_COPY_GM_UB, ub, gm, rows);
}

static inline void mte_gm_to_l1_rows(union cmd *cmd, uint32_t l1, const void *gm,
                                     const struct mte_rows *rows)
{
    mte_copy_in(cmd, OP_COPY_GM_L1, l1, gm, rows);
}

/* MTE3: rows of UB, of L1 to GM. */
static inline void mte_ub_to_gm_rows(union cmd *cmd, void *gm, uint32_t ub,
                                     const struct mte_rows *rows)
{
    mte_copy_out(cmd, OP_COPY_UB_GM, gm, ub, rows);
}

static inline void mte_l1_to_gm_rows(union cmd *cmd, void *gm, uint32_t l1,
                                     const struct mte_rows *rows)
{
    mte_copy_out(cmd, OP_COPY_L1_GM, gm, l1, rows);
}

/* The same for len_bytes in one piece. */
static inline void mte_gm_to_ub(union cmd *cmd, uint32_t ub, const void *gm,
                                uint32_t len_bytes)
{
    mte_gm_to_ub_rows(cmd, ub, gm,
                      &(struct mte_rows){.n_rows = 1, .row_bytes = len_bytes});
}

static inline void mte_gm_to_l1(union cmd *cmd, uint32_t l1, const void *gm,
                                uint32_t len_bytes)
{
    mte_gm_to_l1_rows(cmd, l1, gm,
                      &(struct mte_rows){.n_rows = 1, .row_bytes = len_bytes});
}

static inline void mte_ub_to_gm(union cmd *cmd, void *gm, uint32_t ub, uint32_t len_bytes)
{
    mte_ub_to_gm_rows(cmd, gm, ub,
                      &(struct mte_rows){.n_rows = 1, .row_bytes = len_bytes});
}

static inline void mte_l1_to_gm(union cmd *cmd, void *gm, uint32_t l1, uint32_t len_bytes)
{
    mte_l1_to_gm_rows(cmd, gm, l1,
                      &(struct mte_rows){.n_rows = 1, .row_bytes = len_bytes});
}

/* MTE3: what the copies to GM behind it in the queue do, op is ATOMIC_*. Stays so until
 * the next one; ATOMIC_NONE takes any type. The fixpipe has its own: fixpipe_set_atomic.
 */
static inline void mte_set_atomic(union cmd *cmd, uint8_t op, enum type type)
{
    cmd_init(cmd, OP_SET_ATOMIC_MTE3, type);
    cmd->set_atomic.op = op;
}

/* --- with padding: COPY_PAD_GM_UB, COPY_PAD_GM_L1 --- */

/* Rows of elements of 8, 16 or 32 bits. In UB or L1 each row ends at a multiple of 32,
 * filled up like the padding on its right. */
struct mte_padded {
    enum type type;
    uint32_t n_rows;         /* up to 4095 */
    uint32_t n_cols;         /* elements of a row in GM */
    uint32_t gm_pitch_elems; /* from a row to the next; 0: n_cols */
    uint32_t left, right;    /* elements of padding, at most 32 bytes each */
    bool by_value;           /* with the value of mte_set_pad, else the first element */
};

static inline void mte_copy_padded(union cmd *cmd, enum op op, uint32_t local,
                                   const void *gm, const struct mte_padded *p)
{
    uint32_t esize = type_bits(p->type) / 8;

    assert(p->gm_pitch_elems == 0 || p->gm_pitch_elems >= p->n_cols);
    cmd_init(cmd, op, p->type);
    cmd->head.flags = p->by_value ? COPY_PAD_GM_UB_VALUE : 0;
    cmd->copy_pad.src = (uintptr_t)gm;
    cmd->copy_pad.dst = local;
    cmd->copy_pad.len_bytes = p->n_cols * esize;
    cmd->copy_pad.src_gap =
        p->gm_pitch_elems == 0 ? 0 : (p->gm_pitch_elems - p->n_cols) * esize;
    CMD_SET(cmd->copy_pad.n_blocks, p->n_rows);
    CMD_SET(cmd->copy_pad.left, p->left);
    CMD_SET(cmd->copy_pad.right, p->right);
}

_Static_assert((int)COPY_PAD_GM_L1_VALUE == (int)COPY_PAD_GM_UB_VALUE, "one flag");

/* MTE2. */
static inline void mte_gm_to_ub_padded(union cmd *cmd, uint32_t ub, const void *gm,
                                       const struct mte_padded *p)
{
    mte_copy_padded(cmd, OP_COPY_PAD_GM_UB, ub, gm, p);
}

static inline void mte_gm_to_l1_padded(union cmd *cmd, uint32_t l1, const void *gm,
                                       const struct mte_padded *p)
{
    mte_copy_padded(cmd, OP_COPY_PAD_GM_L1, l1, gm, p);
}

/* Padding value, an element's bits, of the padded copies (MTE2) or of img2col (MTE1)
 * behind it in the queue. */
static inline void mte_set_pad(union cmd *cmd, enum pipe pipe, uint32_t value)
{
    assert(pipe == PIPE_MTE1 || pipe == PIPE_MTE2);
    cmd_init(cmd, pipe == PIPE_MTE2 ? OP_SET_PAD_MTE2 : OP_SET_PAD_MTE1, TYPE_NONE);
    cmd->set_pad.value = value;
}

/* --- fractals: ND2NZ_GM_L1, LOAD2D_L0A, LOAD2D_L0B --- */

/* A row-major matrix in GM, which becomes an Nz one in L1: column blocks of 32 bytes, in
 * them a row of 32 bytes behind the other. S4: n_cols and gm_pitch_elems are even. */
struct mte_nz {
    enum type type;
    uint32_t n_rows;         /* up to 16384 */
    uint32_t n_cols;         /* up to 65535 */
    uint32_t gm_pitch_elems; /* from a row to the next; 0: n_cols */
    uint32_t block_rows;     /* rows from a column block to the next; 0: n_rows */
};

/* MTE2. */
static inline void mte_gm_to_l1_nz(union cmd *cmd, uint32_t l1, const void *gm,
                                   const struct mte_nz *nz)
{
    cmd_init(cmd, OP_ND2NZ_GM_L1, nz->type);
    cmd->nd2nz.src = (uintptr_t)gm;
    cmd->nd2nz.dst = l1;
    cmd->nd2nz.src_pitch = nz->gm_pitch_elems ? nz->gm_pitch_elems : nz->n_cols;
    cmd->nd2nz.n_mats = 1;
    cmd->nd2nz.dst_row_stride = 1;
    CMD_SET(cmd->nd2nz.n_rows, nz->n_rows);
    CMD_SET(cmd->nd2nz.n_cols, nz->n_cols);
    CMD_SET(cmd->nd2nz.dst_c0_stride, nz->block_rows ? nz->block_rows : nz->n_rows);
}

/* A window of an Nz matrix in L1, from the row of 32 bytes on that the command's source
 * is. Rows and columns are those that L0 gets: m x k in L0A, k x n in L0B. S4: k is even.
 */
struct mte_window {
    enum type type;
    uint32_t n_rows, n_cols; /* up to 4095 */
    uint32_t block_rows; /* from a column block to the next; 0: the same block again */
    bool transpose;      /* L1 has columns as rows */
};

static inline void mte_load2d(union cmd *cmd, enum op op, uint32_t l0, uint32_t l1,
                              const struct mte_window *w)
{
    cmd_init(cmd, op, w->type);
    cmd->head.flags = w->transpose ? LOAD2D_L0A_TRANSPOSE : 0;
    cmd->load2d.dst = l0;
    cmd->load2d.src = l1;
    CMD_SET(cmd->load2d.n_rows, w->n_rows);
    CMD_SET(cmd->load2d.n_cols, w->n_cols);
    CMD_SET(cmd->load2d.src_c0_stride, w->block_rows);
}

_Static_assert((int)LOAD2D_L0B_TRANSPOSE == (int)LOAD2D_L0A_TRANSPOSE, "one flag");

/* MTE1. */
static inline void mte_l1_to_l0a(union cmd *cmd, uint32_t l0a, uint32_t l1,
                                 const struct mte_window *w)
{
    mte_load2d(cmd, OP_LOAD2D_L0A, l0a, l1, w);
}

static inline void mte_l1_to_l0b(union cmd *cmd, uint32_t l0b, uint32_t l1,
                                 const struct mte_window *w)
{
    mte_load2d(cmd, OP_LOAD2D_L0B, l0b, l1, w);
}

/* MTE1: n_fractals (up to 255) fractals of the dense int8 b of a sparse Mmad at l1 to
 * L0B, side by side, and SPARSE_INDEX_BYTES of index for each, at `index` in L1, to the
 * memory of the index at a quarter of l0b. l0b is a multiple of 512, l1 and index of 32.
 * In L1 b lies as it will in L0B (Zn): mte_gm_to_l1_nz() of the transposed b, block_rows a
 * multiple of 16, does it. The index has 2 bits for each byte of b, in their order, the
 * low bits first. Only where chip_has_sparse(), else CHIP. Ascend C: LoadDataWithSparse.
 */
static inline void mte_l1_to_l0b_sparse(union cmd *cmd, uint32_t l0b, uint32_t l1,
                                        uint32_t index, uint32_t n_fractals)
{
    cmd_init(cmd, OP_SPARSE_L1_L0B, TYPE_S8);
    cmd->sparse.dst = l0b;
    cmd->sparse.src = l1;
    cmd->sparse.index = index;
    CMD_SET(cmd->sparse.repeat, n_fractals);
}

/* --- convolutions: LOAD3D_L0A, LOAD3D_L0B --- */

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

/* --- inside the core: INIT_L1, INIT_L0A, INIT_L0B, COPY_L1_BT, COPY_L1_UB, COPY_UB_L1 --- */

/* Fills `bytes` bytes with an element's bits: L1 (MTE2; a multiple of 32), L0A or L0B
 * (MTE1; of 512). */
static inline void mte_fill(union cmd *cmd, enum npu_mem mem, uint32_t at, enum type type,
                            uint32_t value, uint32_t bytes)
{
    uint32_t unit = mem == NPU_MEM_L1 ? MTE_BLOCK : MTE_FRACTAL;

    assert(mem == NPU_MEM_L1 || mem == NPU_MEM_L0A || mem == NPU_MEM_L0B);
    assert(bytes % unit == 0);
    cmd_init(cmd,
             mem == NPU_MEM_L1    ? OP_INIT_L1
             : mem == NPU_MEM_L0A ? OP_INIT_L0A
                                  : OP_INIT_L0B,
             type);
    cmd->init.dst = at;
    cmd->init.value = value;
    cmd->init.repeat = 1;
    CMD_SET(cmd->init.len, bytes / unit);
}

/* MTE1: n elements (a multiple of 16) of L1 to the bias table; F16 and BF16 become fp32.
 */
static inline void mte_l1_to_bt(union cmd *cmd, uint32_t bt, uint32_t l1, enum type type,
                                uint32_t n)
{
    assert(n % 16 == 0);
    cmd_init(cmd, OP_COPY_L1_BT, type);
    cmd->copy_bt.dst = bt;
    cmd->copy_bt.src = l1;
    cmd->copy_bt.n_blocks = 1;
    CMD_SET(cmd->copy_bt.len, n / 16);
}

static inline void mte_copy_local(union cmd *cmd, enum op op, uint32_t dst, uint32_t src,
                                  uint32_t len_bytes)
{
    assert(len_bytes % MTE_BLOCK == 0);
    cmd_init(cmd, op, TYPE_NONE);
    cmd->copy_local.dst = dst;
    cmd->copy_local.src = src;
    cmd->copy_local.n_blocks = 1;
    CMD_SET(cmd->copy_local.len, len_bytes / MTE_BLOCK);
}

/* L1 to UB (MTE1) and UB to L1 (MTE3), len_bytes a multiple of 32. */
static inline void mte_l1_to_ub(union cmd *cmd, uint32_t ub, uint32_t l1,
                                uint32_t len_bytes)
{
    mte_copy_local(cmd, OP_COPY_L1_UB, ub, l1, len_bytes);
}

static inline void mte_ub_to_l1(union cmd *cmd, uint32_t l1, uint32_t ub,
                                uint32_t len_bytes)
{
    mte_copy_local(cmd, OP_COPY_UB_L1, l1, ub, len_bytes);
}

#endif
