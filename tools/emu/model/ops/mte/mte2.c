/* SPDX-License-Identifier: MIT
 *
 * MTE2: GM to UB, L1, L0A and L0B. Source: hal/contract/mte.md; costs from profile.def.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/ops/mte/mte.h"

/* While GM is written to L1, what reads L1 is slower. */
static void to_l1(const struct op_ctx *c)
{
    if (c->plan->dst.mem == NPU_MEM_L1 && op_cost(c, COST_L1_SHARED)) {
        c->plan->pools |= POOL_TO_L1;
    }
}

/* --- blocks of bytes --- */

static void copy_in_plan(const struct op_ctx *c, const struct cmd_copy_in *a,
                         enum npu_mem to, enum npu_cost fixed, enum npu_cost rate)
{
    struct plan *plan = c->plan;
    uint32_t n = a->len_bytes ? a->n_blocks : 0;

    plan->src[0] = access_rows(NPU_MEM_GM, offsetof(struct cmd_copy_in, src), a->src,
                               a->len_bytes, n, (uint64_t)a->len_bytes + a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(to, offsetof(struct cmd_copy_in, dst), a->dst, a->len_bytes,
                            n, round_up(a->len_bytes, 32) + 32ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = op_cost(c, fixed);
    mte_gm_cost(c, rate, fixed);
    to_l1(c);
}

static unsigned copy_gm_ub_plan(const struct op_ctx *c)
{
    copy_in_plan(c, &c->cmd->copy_in, NPU_MEM_UB, COST_GM_UB_FIXED, COST_GM_UB_RATE);
    return 0;
}

const struct operation op_COPY_GM_UB = {
    .plan = copy_gm_ub_plan, .run = mte_copy_run, .flow = flow_move};

static unsigned copy_gm_l1_plan(const struct op_ctx *c)
{
    copy_in_plan(c, &c->cmd->copy_in, NPU_MEM_L1, COST_GM_L1_FIXED, COST_GM_L1_RATE);
    return 0;
}

const struct operation op_COPY_GM_L1 = {
    .plan = copy_gm_l1_plan, .run = mte_copy_run, .flow = flow_move};

/* --- blocks of elements, padded --- */

static unsigned copy_pad_plan(const struct op_ctx *c, const struct cmd_copy_pad *a,
                              enum npu_mem to, enum npu_cost fixed, enum npu_cost rate)
{
    struct plan *plan = c->plan;
    unsigned esize = type_bits(a->head.type) / 8;
    uint32_t n = a->len_bytes ? a->n_blocks : 0;
    uint64_t row = round_up(a->len_bytes + (uint64_t)esize * (a->left + a->right), 32);

    plan->src[0] = access_rows(NPU_MEM_GM, offsetof(struct cmd_copy_pad, src), a->src,
                               a->len_bytes, n, (uint64_t)a->len_bytes + a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(to, offsetof(struct cmd_copy_pad, dst), a->dst, row, n,
                            row + 32ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = op_cost(c, fixed);
    mte_gm_cost(c, rate, fixed);
    to_l1(c);
    if (a->len_bytes % esize) {
        return op_fail(c, offsetof(struct cmd_copy_pad, len_bytes), NPU_ERR_ALIGN);
    }
    if (a->left * esize > 32 || a->right * esize > 32) {
        return op_fail(c,
                       a->left * esize > 32 ? offsetof(struct cmd_copy_pad, left)
                                            : offsetof(struct cmd_copy_pad, right),
                       NPU_ERR_RANGE);
    }
    return 0;
}

static void copy_pad_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    const struct cmd_copy_pad *a = &c->cmd->copy_pad;
    unsigned esize = type_bits(a->head.type) / 8;
    size_t left = (size_t)a->left * esize, len = a->len_bytes;
    size_t row = round_up(len + left + (size_t)a->right * esize, 32);

    for (uint32_t b = 0; b < a->n_blocks; b++) {
        const uint8_t *s = c->src[0] + b * ((uint64_t)len + a->src_gap);
        uint64_t value = c->special[SPECIAL_PAD];

        if (!(a->head.flags & COPY_PAD_GM_UB_VALUE)) {
            uint32_t first = 0;
            memcpy(&first, s, esize);
            value = first;
        }
        mte_fill(stage, value, 8 * esize, left);
        memcpy(stage + left, s, len);
        mte_fill(stage + left + len, value, 8 * esize, row - left - len);
        stage += row;
    }
}

static unsigned copy_pad_gm_ub_plan(const struct op_ctx *c)
{
    return copy_pad_plan(c, &c->cmd->copy_pad, NPU_MEM_UB, COST_GM_UB_FIXED,
                         COST_GM_UB_RATE);
}

const struct operation op_COPY_PAD_GM_UB = {
    .plan = copy_pad_gm_ub_plan, .run = copy_pad_run, .flow = flow_move};

static unsigned copy_pad_gm_l1_plan(const struct op_ctx *c)
{
    return copy_pad_plan(c, &c->cmd->copy_pad, NPU_MEM_L1, COST_GM_L1_FIXED,
                         COST_GM_L1_RATE);
}

const struct operation op_COPY_PAD_GM_L1 = {
    .plan = copy_pad_gm_l1_plan, .run = copy_pad_run, .flow = flow_move};

const struct operation op_SET_PAD_MTE2 = {.plan = op_set_plan, .run = mte_set_pad_run};

/* --- ND to NZ --- */

/* Rows begin and end at whole bytes, matrices in L1 at whole blocks. */
static unsigned nd2nz_rules(const struct op_ctx *c, const struct cmd_nd2nz *a,
                            uint32_t mats)
{
    unsigned unit = mte_together(a->head.type);

    if (a->n_cols % unit || a->src_pitch % unit || a->src_nd_stride % unit) {
        return op_fail(c,
                       a->n_cols % unit      ? offsetof(struct cmd_nd2nz, n_cols)
                       : a->src_pitch % unit ? offsetof(struct cmd_nd2nz, src_pitch)
                                             : offsetof(struct cmd_nd2nz, src_nd_stride),
                       NPU_ERR_ALIGN);
    }
    return mats > 1 && a->dst_nd_stride % type_c0(a->head.type)
               ? op_fail(c, offsetof(struct cmd_nd2nz, dst_nd_stride), NPU_ERR_ALIGN)
               : 0;
}

/* The larger of two lines: a floor that hardly depends on the size, and a rate. Rows
 * that wait in the queue are asked for already; under v1 all of them are, once another
 * matrix comes directly before. */
static void nd2nz_cost(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    uint64_t rows = mte_gm_cost(c, COST_ND2NZ_RATE, COST_GM_L1_FIXED);
    uint64_t fixed = op_cost(c, COST_ND2NZ_FIXED);
    uint32_t ahead = op_cost(c, COST_ND2NZ_AHEAD);
    uint64_t floor = op_cost(c, COST_ND2NZ_FLOOR) +
                     div_up(rows * plan->rate, op_cost(c, COST_ND2NZ_FLOOR_RATE));

    plan->fixed = (uint32_t)(fixed + rows < floor ? floor - rows : fixed);
    plan->fixed_next = op_cost(c, COST_ND2NZ_NEXT);
    plan->behind = BEHIND_ITS_KIND;
    if (ahead) {
        plan->behind = BEHIND_WAITING;
        plan->fixed_next = plan->fixed > plan->fixed_next + ahead ? plan->fixed - ahead
                                                                  : plan->fixed_next;
    }
    to_l1(c);
}

static unsigned nd2nz_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_nd2nz *a = &c->cmd->nd2nz;
    unsigned bits = type_bits(a->head.type);
    uint32_t blocks = (uint32_t)div_up(a->n_cols, type_c0(a->head.type));
    uint32_t mats = a->n_rows && a->n_cols ? a->n_mats : 0;
    unsigned code = nd2nz_rules(c, a, mats);

    if (code) {
        return code;
    }
    plan->src[0] = access_rows(NPU_MEM_GM, offsetof(struct cmd_nd2nz, src), a->src,
                               (uint64_t)a->n_cols * bits / 8, a->n_rows,
                               (uint64_t)a->src_pitch * bits / 8);
    plan->src[0].n[2] = mats;
    plan->src[0].stride[2] = (uint64_t)a->src_nd_stride * bits / 8;
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_L1, offsetof(struct cmd_nd2nz, dst), a->dst, 32,
                            a->n_rows, 32ull * a->dst_row_stride);
    plan->dst.n[1] = blocks;
    plan->dst.stride[1] = 32ull * a->dst_c0_stride;
    plan->dst.n[2] = mats;
    plan->dst.stride[2] = (uint64_t)a->dst_nd_stride * bits / 8;
    plan->has_dst = true;

    nd2nz_cost(c);
    return 0;
}

static void nd2nz_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_nd2nz *a = &c->cmd->nd2nz;
    unsigned together = mte_together(a->head.type), bytes = mte_move_bytes(a->head.type);
    size_t block = 32ull * a->n_rows;

    for (uint32_t i = 0; i < plan->src[0].n[2]; i++) {
        move_nd2nz(
            &(struct move_nd2nz){.dst = c->stage + i * block * plan->dst.n[1],
                                 .src = c->src[0] + i * plan->src[0].stride[2],
                                 .rows = a->n_rows,
                                 .cols = a->n_cols / together,
                                 .src_pitch = (size_t)a->src_pitch / together * bytes,
                                 .dst_c0_stride = block,
                                 .dst_row_stride = 32,
                                 .esize = bytes});
    }
}

const struct operation op_ND2NZ_GM_L1 = {
    .plan = nd2nz_plan, .run = nd2nz_run, .flow = flow_move};

/* --- single fractals, fill --- */

static void fractals_in_plan(const struct op_ctx *c, const struct cmd_fractals_in *a,
                             enum npu_mem to)
{
    struct plan *plan = c->plan;

    mte_fractals_plan(
        plan, &(struct mte_fractals){.from = NPU_MEM_GM,
                                     .src_field = offsetof(struct cmd_fractals_in, src),
                                     .src = a->src,
                                     .start = a->start,
                                     .src_stride = a->src_stride,
                                     .to = to,
                                     .dst_field = offsetof(struct cmd_fractals_in, dst),
                                     .dst = a->dst,
                                     .dst_gap = a->dst_gap,
                                     .repeat = a->repeat});
    plan->fixed = op_cost(c, COST_GM_L1_FIXED);
    mte_gm_cost(c, COST_GM_L0_RATE, COST_GM_L1_FIXED);
}

static unsigned fractals_gm_l0a_plan(const struct op_ctx *c)
{
    fractals_in_plan(c, &c->cmd->fractals_in, NPU_MEM_L0A);
    return 0;
}

const struct operation op_FRACTALS_GM_L0A = {
    .plan = fractals_gm_l0a_plan, .run = mte_copy_run, .flow = flow_move};

static unsigned fractals_gm_l0b_plan(const struct op_ctx *c)
{
    fractals_in_plan(c, &c->cmd->fractals_in, NPU_MEM_L0B);
    return 0;
}

const struct operation op_FRACTALS_GM_L0B = {
    .plan = fractals_gm_l0b_plan, .run = mte_copy_run, .flow = flow_move};

static unsigned init_l1_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = op_cost(c, COST_L1_L0_FIXED);
    plan->rate = op_cost(c, COST_GM_L1_RATE);
    return mte_init_plan(c, &c->cmd->init, NPU_MEM_L1, 32, plan);
}

const struct operation op_INIT_L1 = {
    .plan = init_l1_plan, .run = mte_init_run, .flow = flow_defined};
