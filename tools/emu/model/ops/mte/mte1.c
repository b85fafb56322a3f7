/* SPDX-License-Identifier: MIT
 *
 * MTE1: L1 to L0A, L0B, BT and UB. Source: hal/contract/mte.md; costs from profile.def.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/ops/mte/mte.h"

/* --- windows of an Nz matrix --- */

static bool load2d_transposed(const struct cmd_load2d *a)
{
    return a->head.flags & LOAD2D_L0A_TRANSPOSE;
}

static bool load2d_to_l0b(const struct cmd_load2d *a)
{
    return a->head.opcode == OP_LOAD2D_L0B;
}

/* Two elements of S4 in a byte of the fractals are neighbours along k. */
static unsigned load2d_rules(const struct op_ctx *c, const struct cmd_load2d *a)
{
    bool to_l0b = load2d_to_l0b(a);

    if (a->head.type != TYPE_S4 || (to_l0b ? a->n_rows : a->n_cols) % 2 == 0) {
        return 0;
    }
    return op_fail(c,
                   to_l0b ? offsetof(struct cmd_load2d, n_rows)
                          : offsetof(struct cmd_load2d, n_cols),
                   NPU_ERR_ALIGN);
}

static unsigned load2d_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_load2d *a = &c->cmd->load2d;
    bool to_l0b = load2d_to_l0b(a);
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
    mte_load_cost(c, to_l0b ? COST_L1_L0B_RATE : COST_L1_L0A_RATE);
    plan->work = bytes;
    return load2d_rules(c, a);
}

static void load2d_run(const struct op_ctx *c)
{
    typedef void move_fn(void *dst, const void *src, size_t c0_stride, size_t rows,
                         size_t cols, unsigned bits);
    static move_fn *const moves[2][2] = {{move_nz2zz, move_nz2zz_t},
                                         {move_nz2zn, move_nz2zn_t}};
    const struct cmd_load2d *a = &c->cmd->load2d;
    bool t = load2d_transposed(a);
    unsigned rows = t ? a->n_cols : a->n_rows, cols = t ? a->n_rows : a->n_cols;

    moves[load2d_to_l0b(a)][t](c->stage, c->src[0], 32ull * a->src_c0_stride, rows, cols,
                               type_bits(a->head.type));
}

/* Of the last column block no more columns than there are. */
static void load2d_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_load2d *a = &c->cmd->load2d;
    unsigned rows = load2d_transposed(a) ? a->n_cols : a->n_rows;
    unsigned cols = load2d_transposed(a) ? a->n_rows : a->n_cols;
    unsigned c0 = type_c0(a->head.type), bits = type_bits(a->head.type);
    uint64_t stride = 32ull * a->src_c0_stride;
    const struct access *src = &c->plan->src[0];

    touch_access(
        t, access_rows(src->mem, src->field, src->base, 32ull * rows, cols / c0, stride),
        TOUCH_READS);
    touch_access(t,
                 access_rows(src->mem, src->field, src->base + cols / c0 * stride,
                             (cols % c0 * bits + 7) / 8, rows, 32),
                 TOUCH_READS);
    touch_access(t, c->plan->dst, TOUCH_WRITES);
}

const struct operation op_LOAD2D_L0A = {
    .plan = load2d_plan, .run = load2d_run, .touch = load2d_touch, .flow = flow_move};
const struct operation op_LOAD2D_L0B = {
    .plan = load2d_plan, .run = load2d_run, .touch = load2d_touch, .flow = flow_move};

/* --- single fractals --- */

static unsigned fractals_plan(const struct op_ctx *c, const struct cmd_fractals *a,
                              enum npu_mem to, enum npu_cost rate)
{
    struct plan *plan = c->plan;

    mte_fractals_plan(
        plan, &(struct mte_fractals){.from = NPU_MEM_L1,
                                     .src_field = offsetof(struct cmd_fractals, src),
                                     .src = a->src,
                                     .start = a->start,
                                     .src_stride = a->src_stride,
                                     .to = to,
                                     .dst_field = offsetof(struct cmd_fractals, dst),
                                     .dst = a->dst,
                                     .dst_gap = a->dst_gap,
                                     .repeat = a->repeat});
    mte_load_cost(c, rate);
    plan->work = access_bytes(&plan->dst);
    if ((a->head.flags & FRACTALS_L1_L0A_TRANSPOSE) && type_bits(a->head.type) != 16) {
        return op_fail(c, offsetof(struct cmd_head, type), NPU_ERR_TYPE);
    }
    return 0;
}

static void fractals_run(const struct op_ctx *c)
{
    const struct cmd_fractals *a = &c->cmd->fractals;

    if (!(a->head.flags & FRACTALS_L1_L0A_TRANSPOSE)) {
        mte_copy_run(c);
        return;
    }
    for (unsigned i = 0; i < a->repeat; i++) {
        move_nz2zz_t(c->stage + i * 512, c->src[0] + i * 512ull * a->src_stride, 512, 16,
                     16, 16);
    }
}

static unsigned fractals_l0a_plan(const struct op_ctx *c)
{
    return fractals_plan(c, &c->cmd->fractals, NPU_MEM_L0A, COST_L1_L0A_RATE);
}

const struct operation op_FRACTALS_L1_L0A = {
    .plan = fractals_l0a_plan, .run = fractals_run, .flow = flow_move};

static unsigned fractals_l0b_plan(const struct op_ctx *c)
{
    return fractals_plan(c, &c->cmd->fractals, NPU_MEM_L0B, COST_L1_L0B_RATE);
}

const struct operation op_FRACTALS_L1_L0B = {
    .plan = fractals_l0b_plan, .run = fractals_run, .flow = flow_move};

/* --- a dense b and its index --- */

static unsigned sparse_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_sparse *a = &c->cmd->sparse;
    const uint32_t bytes = SPARSE_INDEX_BYTES;

    mte_fractals_plan(
        plan, &(struct mte_fractals){.from = NPU_MEM_L1,
                                     .src_field = offsetof(struct cmd_sparse, src),
                                     .src = a->src,
                                     .start = a->start,
                                     .src_stride = 1,
                                     .to = NPU_MEM_L0B,
                                     .dst_field = offsetof(struct cmd_sparse, dst),
                                     .dst = a->dst,
                                     .repeat = a->repeat});
    plan->src[1] =
        access_rows(NPU_MEM_L1, offsetof(struct cmd_sparse, index),
                    a->index + (uint64_t)bytes * a->start, bytes, a->repeat, bytes);
    plan->n_src = 2;
    plan->also = access_rows(NPU_MEM_L0B_INDEX, offsetof(struct cmd_sparse, dst),
                             a->dst / 512 * bytes, bytes, a->repeat, bytes);
    mte_load_cost(c, COST_L1_L0B_RATE);
    plan->work = access_bytes(&plan->dst) + access_bytes(&plan->also);
    return 0;
}

static void sparse_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    size_t bytes = access_bytes(&plan->dst);

    memcpy(c->stage, c->src[0], bytes);
    memcpy(c->stage + bytes, c->src[1], access_bytes(&plan->also));
}

const struct operation op_SPARSE_L1_L0B = {
    .plan = sparse_plan, .run = sparse_run, .flow = flow_move};

/* --- fill, padding value --- */

static unsigned init_l0a_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = op_cost(c, COST_L1_L0_FIXED);
    plan->rate = op_cost(c, COST_L1_L0A_RATE);
    return mte_init_plan(c, &c->cmd->init, NPU_MEM_L0A, 512, plan);
}

const struct operation op_INIT_L0A = {
    .plan = init_l0a_plan, .run = mte_init_run, .flow = flow_defined};

static unsigned init_l0b_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = op_cost(c, COST_L1_L0_FIXED);
    plan->rate = op_cost(c, COST_L1_L0B_RATE);
    return mte_init_plan(c, &c->cmd->init, NPU_MEM_L0B, 512, plan);
}

const struct operation op_INIT_L0B = {
    .plan = init_l0b_plan, .run = mte_init_run, .flow = flow_defined};

const struct operation op_SET_PAD_MTE1 = {.plan = op_set_plan, .run = mte_set_pad_run};

/* --- to the bias table, to UB --- */

static unsigned copy_bt_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_copy_bt *a = &c->cmd->copy_bt;
    uint32_t n = a->len ? a->n_blocks : 0, to = 64u * a->len;
    uint32_t from = to / 4 * (type_bits(a->head.type) / 8);

    plan->src[0] = access_rows(NPU_MEM_L1, offsetof(struct cmd_copy_bt, src), a->src,
                               from, n, from + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_BT, offsetof(struct cmd_copy_bt, dst), a->dst, to, n,
                            to + 64ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = op_cost(c, COST_L1_BT_FIXED);
    plan->rate = op_cost(c, COST_L1_BT_RATE);
    plan->work = access_bytes(&plan->dst);
    return 0;
}

static void copy_bt_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    uint8_t *stage = c->stage;
    const struct access *a = &plan->src[0];

    if (type_bits(c->cmd->head.type) == 32) {
        mte_copy_run(c);
        return;
    }
    for (uint32_t i = 0; i < a->n[0]; i++) {
        for (uint32_t x = 0; x < a->row_bytes; x += 2, stage += 4) {
            uint32_t wide;
            uint16_t narrow;
            memcpy(&narrow, c->src[0] + i * a->stride[0] + x, 2);
            wide = c->cmd->head.type == TYPE_F16 ? num_f16_to_f32(narrow)
                                                 : num_bf16_to_f32(narrow);
            memcpy(stage, &wide, 4);
        }
    }
}

/* Elements, of which some get wider. */
static void copy_bt_flow(const struct op_ctx *c)
{
    const struct access *a = &c->plan->src[0];
    unsigned esize = type_bits(c->cmd->head.type) / 8;
    uint8_t *stage = c->stage;

    for (uint32_t i = 0; i < a->n[0]; i++) {
        for (uint32_t x = 0; x < a->row_bytes; x += esize, stage += 4) {
            flow_set(stage, flow_any(c->src[0] + i * a->stride[0] + x, esize), 4);
        }
    }
    flow_store(c);
}

const struct operation op_COPY_L1_BT = {
    .plan = copy_bt_plan, .run = copy_bt_run, .flow = copy_bt_flow};

static unsigned copy_l1_ub_plan(const struct op_ctx *c)
{
    mte_local_plan(c, &c->cmd->copy_local, NPU_MEM_L1, NPU_MEM_UB);
    return 0;
}

const struct operation op_COPY_L1_UB = {
    .plan = copy_l1_ub_plan, .run = mte_copy_run, .flow = flow_move};
