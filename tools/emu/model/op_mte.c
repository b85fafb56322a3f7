/* SPDX-License-Identifier: MIT
 *
 * The DMA engines: MTE2 (GM in), MTE1 (L1 to L0) and MTE3 (GM out).
 * Source: hal/contract/mte.md; costs from profile.def.
 */
#include "tools/emu/model/move.h"
#include "tools/emu/model/state.h"

/* A row of GM below GM_ROW_BYTES takes as long as one of that size. */
static uint64_t gm_work(const struct npu_state *s, const struct access *a)
{
    uint64_t least = cost(s, COST_GM_ROW_BYTES);
    uint64_t rows = (uint64_t)a->n[0] * a->n[1] * a->n[2];

    return (a->row_bytes < least ? least : a->row_bytes) * rows;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return div_up(value, unit) * unit;
}

/* --- MTE2: blocks of bytes --- */

static void copy_in_plan(const struct op_ctx *c, const struct cmd_copy_in *a,
                         enum npu_mem to, enum npu_cost fixed, enum npu_cost rate,
                         struct plan *plan)
{
    uint32_t n = a->len_bytes ? a->n_blocks : 0;

    plan->src[0] = access_rows(NPU_MEM_GM, offsetof(struct cmd_copy_in, src), a->src,
                               a->len_bytes, n, (uint64_t)a->len_bytes + a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(to, offsetof(struct cmd_copy_in, dst), a->dst, a->len_bytes,
                            n, round_up(a->len_bytes, 32) + 32ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = cost(c->s, fixed);
    plan->rate = cost(c->s, rate);
    plan->work = gm_work(c->s, &plan->src[0]);
    plan->pools = POOL_READ;
}

/* Sources of a block copy, packed; every direction and memory has the same shape. */
static void copy_run(const struct op_ctx *c, const union cmd *cmd,
                     const struct plan *plan, const uint8_t *const src[3], uint8_t *stage)
{
    const struct access *a = &plan->src[0];

    (void)c;
    (void)cmd;
    move_rows(stage, a->row_bytes, src[0], a->stride[0], a->row_bytes, a->n[0]);
}

static unsigned copy_gm_ub_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    (void)field;
    copy_in_plan(c, &cmd->copy_in, NPU_MEM_UB, COST_GM_UB_FIXED, COST_GM_UB_RATE, plan);
    return 0;
}

const struct operation op_COPY_GM_UB = {copy_gm_ub_plan, copy_run, NULL};

static unsigned copy_gm_l1_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    (void)field;
    copy_in_plan(c, &cmd->copy_in, NPU_MEM_L1, COST_GM_L1_FIXED, COST_GM_L1_RATE, plan);
    return 0;
}

const struct operation op_COPY_GM_L1 = {copy_gm_l1_plan, copy_run, NULL};

/* --- MTE2: ND to NZ --- */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static unsigned nd2nz_plan(const struct op_ctx *c, const union cmd *cmd,
                           struct plan *plan, uint8_t *field)
{
    const struct cmd_nd2nz *a = &cmd->nd2nz;
    unsigned esize = type_bits(a->head.type) / 8;
    uint32_t blocks = (uint32_t)div_up(a->n_cols, type_c0(a->head.type));
    uint32_t mats = a->n_rows && a->n_cols ? a->n_mats : 0;
    uint64_t work;

    plan->src[0] = access_rows(NPU_MEM_GM, offsetof(struct cmd_nd2nz, src), a->src,
                               (uint64_t)a->n_cols * esize, a->n_rows,
                               (uint64_t)a->src_pitch * esize);
    plan->src[0].n[2] = mats;
    plan->src[0].stride[2] = (uint64_t)a->src_nd_stride * esize;
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_L1, offsetof(struct cmd_nd2nz, dst), a->dst, 32,
                            a->n_rows, 32ull * a->dst_row_stride);
    plan->dst.n[1] = blocks;
    plan->dst.stride[1] = 32ull * a->dst_c0_stride;
    plan->dst.n[2] = mats;
    plan->dst.stride[2] = (uint64_t)a->dst_nd_stride * esize;
    plan->has_dst = true;
    if (mats > 1 && plan->dst.stride[2] % 32) {
        *field = offsetof(struct cmd_nd2nz, dst_nd_stride);
        return NPU_ERR_ALIGN;
    }

    /* The larger of two lines: a floor that hardly depends on the size, and a rate. */
    work = gm_work(c->s, &plan->src[0]);
    plan->rate = cost(c->s, COST_ND2NZ_RATE);
    plan->fixed = (uint32_t)max_u64(
        cost(c->s, COST_ND2NZ_FIXED),
        cost(c->s, COST_ND2NZ_FLOOR) + div_up(work, cost(c->s, COST_ND2NZ_FLOOR_RATE)) >
                div_up(work, plan->rate)
            ? cost(c->s, COST_ND2NZ_FLOOR) +
                  div_up(work, cost(c->s, COST_ND2NZ_FLOOR_RATE)) -
                  div_up(work, plan->rate)
            : 0);
    plan->work = work;
    plan->pools = POOL_READ;
    return 0;
}

static void nd2nz_run(const struct op_ctx *c, const union cmd *cmd,
                      const struct plan *plan, const uint8_t *const src[3],
                      uint8_t *stage)
{
    const struct cmd_nd2nz *a = &cmd->nd2nz;
    unsigned esize = type_bits(a->head.type) / 8;
    size_t block = 32ull * a->n_rows;

    (void)c;
    for (uint32_t i = 0; i < plan->src[0].n[2]; i++) {
        move_nd2nz(stage + i * block * plan->dst.n[1],
                   src[0] + i * plan->src[0].stride[2], a->n_rows, a->n_cols, esize,
                   (size_t)a->src_pitch * esize, block, 32);
    }
}

const struct operation op_ND2NZ_GM_L1 = {nd2nz_plan, nd2nz_run, NULL};

/* --- MTE3 --- */

static unsigned copy_ub_gm_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    const struct cmd_copy_out *a = &cmd->copy_out;
    uint32_t n = a->len_bytes ? a->n_blocks : 0;

    (void)field;
    plan->src[0] =
        access_rows(NPU_MEM_UB, offsetof(struct cmd_copy_out, src), a->src, a->len_bytes,
                    n, round_up(a->len_bytes, 32) + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_GM, offsetof(struct cmd_copy_out, dst), a->dst,
                            a->len_bytes, n, (uint64_t)a->len_bytes + a->dst_gap);
    plan->has_dst = true;
    plan->fixed = cost(c->s, COST_UB_GM_FIXED);
    plan->rate = cost(c->s, COST_UB_GM_RATE);
    plan->work = access_bytes(&plan->src[0]);
    plan->pools = POOL_WRITE;
    return 0;
}

const struct operation op_COPY_UB_GM = {copy_ub_gm_plan, copy_run, NULL};

/* --- MTE1: 2-D loads --- */

static bool load2d_transposed(const struct cmd_load2d *a)
{
    return a->head.flags & LOAD2D_L0A_TRANSPOSE;
}

static void load2d_plan(const struct op_ctx *c, const struct cmd_load2d *a, bool to_l0b,
                        struct plan *plan)
{
    unsigned c0 = type_c0(a->head.type);
    uint32_t rows = load2d_transposed(a) ? a->n_cols : a->n_rows; /* of the source */
    uint32_t cols = load2d_transposed(a) ? a->n_rows : a->n_cols;
    uint64_t k = to_l0b ? a->n_rows : a->n_cols;
    uint64_t mn = to_l0b ? a->n_cols : a->n_rows;
    uint64_t bytes = 512 * div_up(k, c0) * div_up(mn, 16);

    plan->src[0] =
        access_rows(NPU_MEM_L1, offsetof(struct cmd_load2d, src), a->src, 32ull * rows,
                    (uint32_t)div_up(cols, c0), 32ull * a->src_c0_stride);
    plan->n_src = 1;
    plan->dst = access_rows(to_l0b ? NPU_MEM_L0B : NPU_MEM_L0A,
                            offsetof(struct cmd_load2d, dst), a->dst, bytes, 1, bytes);
    plan->has_dst = true;
    plan->fixed = cost(c->s, COST_L1_L0_FIXED);
    plan->rate = cost(c->s, to_l0b ? COST_L1_L0B_RATE : COST_L1_L0A_RATE);
    plan->work = bytes;
}

static unsigned load2d_l0a_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    (void)field;
    load2d_plan(c, &cmd->load2d, false, plan);
    return 0;
}

static void load2d_l0a_run(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, const uint8_t *const src[3],
                           uint8_t *stage)
{
    const struct cmd_load2d *a = &cmd->load2d;
    unsigned esize = type_bits(a->head.type) / 8;

    (void)c;
    (void)plan;
    if (load2d_transposed(a)) {
        move_nz2zz_t(stage, src[0], 32ull * a->src_c0_stride, a->n_cols, a->n_rows,
                     esize);
    } else {
        move_nz2zz(stage, src[0], 32ull * a->src_c0_stride, a->n_rows, a->n_cols, esize);
    }
}

const struct operation op_LOAD2D_L0A = {load2d_l0a_plan, load2d_l0a_run, NULL};

static unsigned load2d_l0b_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    (void)field;
    load2d_plan(c, &cmd->load2d, true, plan);
    return 0;
}

static void load2d_l0b_run(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, const uint8_t *const src[3],
                           uint8_t *stage)
{
    const struct cmd_load2d *a = &cmd->load2d;
    unsigned esize = type_bits(a->head.type) / 8;

    (void)c;
    (void)plan;
    if (load2d_transposed(a)) {
        move_nz2zn_t(stage, src[0], 32ull * a->src_c0_stride, a->n_cols, a->n_rows,
                     esize);
    } else {
        move_nz2zn(stage, src[0], 32ull * a->src_c0_stride, a->n_rows, a->n_cols, esize);
    }
}

const struct operation op_LOAD2D_L0B = {load2d_l0b_plan, load2d_l0b_run, NULL};
