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

/* What this command, to or from GM, does not find in L2 passes it by: for data that nobody
 * reads again soon. Not on every chip: COST_L2_HINTS. */
static inline void mte_past_l2(union cmd *cmd)
{
    cmd->head.flags |= CMD_NO_L2;
}

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

/* --- fractals: ND2NZ_GM_L1, LOAD2D_L0A, LOAD2D_L0B, FRACTALS_*, SPARSE_L1_L0B --- */

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

/* Single fractals of 512 bytes, as they are, to L0A or L0B. */
struct mte_fractals {
    enum type type;      /* from L1 alone: any, for transpose one of 16 bits */
    uint32_t n_fractals; /* up to 255; 0: nothing is copied */
    uint32_t first;      /* fractals of the source that lie before the first one */
    uint32_t src_pitch;  /* fractals from one to the next; 0: the same one again */
    uint32_t dst_pitch;  /* likewise in L0; 0: 1, side by side */
    bool transpose; /* from L1 alone: the 16 x 16 elements of each, rows for columns */
};

static inline uint32_t mte_fractal_gap(const struct mte_fractals *f)
{
    return f->dst_pitch == 0 ? 0 : f->dst_pitch - 1;
}

static inline void mte_load_fractals(union cmd *cmd, enum op op, uint32_t l0, uint32_t l1,
                                     const struct mte_fractals *f)
{
    cmd_init(cmd, op, f->type);
    cmd->head.flags = f->transpose ? FRACTALS_L1_L0A_TRANSPOSE : 0;
    cmd->fractals.dst = l0;
    cmd->fractals.src = l1;
    CMD_SET(cmd->fractals.start, f->first);
    CMD_SET(cmd->fractals.src_stride, f->src_pitch);
    CMD_SET(cmd->fractals.dst_gap, mte_fractal_gap(f));
    CMD_SET(cmd->fractals.repeat, f->n_fractals);
}

_Static_assert((int)FRACTALS_L1_L0B_TRANSPOSE == (int)FRACTALS_L1_L0A_TRANSPOSE,
               "one flag");

static inline void mte_fetch_fractals(union cmd *cmd, enum op op, uint32_t l0,
                                      const void *gm, const struct mte_fractals *f)
{
    assert(f->type == TYPE_NONE && !f->transpose);
    cmd_init(cmd, op, TYPE_NONE);
    cmd->fractals_in.src = (uintptr_t)gm;
    cmd->fractals_in.dst = l0;
    CMD_SET(cmd->fractals_in.start, f->first);
    CMD_SET(cmd->fractals_in.src_stride, f->src_pitch);
    CMD_SET(cmd->fractals_in.dst_gap, mte_fractal_gap(f));
    CMD_SET(cmd->fractals_in.repeat, f->n_fractals);
}

/* MTE1: from L1, l1 a multiple of 32. */
static inline void mte_l1_to_l0a_fractals(union cmd *cmd, uint32_t l0a, uint32_t l1,
                                          const struct mte_fractals *f)
{
    mte_load_fractals(cmd, OP_FRACTALS_L1_L0A, l0a, l1, f);
}

static inline void mte_l1_to_l0b_fractals(union cmd *cmd, uint32_t l0b, uint32_t l1,
                                          const struct mte_fractals *f)
{
    mte_load_fractals(cmd, OP_FRACTALS_L1_L0B, l0b, l1, f);
}

/* MTE2: from GM, past L1. */
static inline void mte_gm_to_l0a_fractals(union cmd *cmd, uint32_t l0a, const void *gm,
                                          const struct mte_fractals *f)
{
    mte_fetch_fractals(cmd, OP_FRACTALS_GM_L0A, l0a, gm, f);
}

static inline void mte_gm_to_l0b_fractals(union cmd *cmd, uint32_t l0b, const void *gm,
                                          const struct mte_fractals *f)
{
    mte_fetch_fractals(cmd, OP_FRACTALS_GM_L0B, l0b, gm, f);
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

/* Rows inside the core; all in bytes and multiples of 32. */
struct mte_local_rows {
    uint32_t n_rows, row_bytes; /* up to 4095 rows; 0: nothing is copied */
    uint32_t src_pitch_bytes;   /* from a row to the next; 0: row_bytes */
    uint32_t dst_pitch_bytes;   /* likewise */
};

/* Blocks that lie between two rows. */
static inline uint32_t mte_block_gap(uint32_t pitch_bytes, uint32_t row_bytes)
{
    assert(pitch_bytes % MTE_BLOCK == 0 && row_bytes % MTE_BLOCK == 0);
    assert(pitch_bytes == 0 || pitch_bytes >= row_bytes);
    return pitch_bytes == 0 ? 0 : (pitch_bytes - row_bytes) / MTE_BLOCK;
}

static inline void mte_copy_local(union cmd *cmd, enum op op, uint32_t dst, uint32_t src,
                                  const struct mte_local_rows *r)
{
    cmd_init(cmd, op, TYPE_NONE);
    cmd->copy_local.dst = dst;
    cmd->copy_local.src = src;
    CMD_SET(cmd->copy_local.n_blocks, r->n_rows);
    CMD_SET(cmd->copy_local.len, r->row_bytes / MTE_BLOCK);
    CMD_SET(cmd->copy_local.src_gap, mte_block_gap(r->src_pitch_bytes, r->row_bytes));
    CMD_SET(cmd->copy_local.dst_gap, mte_block_gap(r->dst_pitch_bytes, r->row_bytes));
}

/* Rows of L1 to UB (MTE1), of UB to L1 (MTE3). */
static inline void mte_l1_to_ub_rows(union cmd *cmd, uint32_t ub, uint32_t l1,
                                     const struct mte_local_rows *rows)
{
    mte_copy_local(cmd, OP_COPY_L1_UB, ub, l1, rows);
}

static inline void mte_ub_to_l1_rows(union cmd *cmd, uint32_t l1, uint32_t ub,
                                     const struct mte_local_rows *rows)
{
    mte_copy_local(cmd, OP_COPY_UB_L1, l1, ub, rows);
}

/* The same for len_bytes in one piece, a multiple of 32. */
static inline void mte_l1_to_ub(union cmd *cmd, uint32_t ub, uint32_t l1,
                                uint32_t len_bytes)
{
    mte_l1_to_ub_rows(cmd, ub, l1,
                      &(struct mte_local_rows){.n_rows = 1, .row_bytes = len_bytes});
}

static inline void mte_ub_to_l1(union cmd *cmd, uint32_t l1, uint32_t ub,
                                uint32_t len_bytes)
{
    mte_ub_to_l1_rows(cmd, l1, ub,
                      &(struct mte_local_rows){.n_rows = 1, .row_bytes = len_bytes});
}

#endif
