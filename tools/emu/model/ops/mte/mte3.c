/* SPDX-License-Identifier: MIT
 *
 * MTE3: UB and L1 to GM, UB to L1; what the writes to GM combine with. Source:
 * hal/contract/mte.md; costs from profile.def.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/atomic.h"
#include "tools/emu/model/ops/mte/mte.h"

static unsigned copy_out_plan(const struct op_ctx *c, const struct cmd_copy_out *a,
                              enum npu_mem from, enum npu_cost rate)
{
    struct plan *plan = c->plan;
    uint32_t n = a->len_bytes ? a->n_blocks : 0;

    plan->src[0] =
        access_rows(from, offsetof(struct cmd_copy_out, src), a->src, a->len_bytes, n,
                    round_up(a->len_bytes, 32) + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_GM, offsetof(struct cmd_copy_out, dst), a->dst,
                            a->len_bytes, n, (uint64_t)a->len_bytes + a->dst_gap);
    plan->has_dst = true;
    plan->fixed = op_cost(c, COST_UB_GM_FIXED);
    plan->rate = op_cost(c, rate);
    plan->work = access_bytes(&plan->src[0]);
    plan->pools = POOL_WRITE;
    mte_out_unaligned(c);
    return atomic_check(c, offsetof(struct cmd_copy_out, len_bytes), a->len_bytes);
}

static void copy_out_store(const struct op_ctx *c)
{
    atomic_rows(c, &c->plan->dst, c->to, c->stage);
}

static unsigned copy_ub_gm_plan(const struct op_ctx *c)
{
    return copy_out_plan(c, &c->cmd->copy_out, NPU_MEM_UB, COST_UB_GM_RATE);
}

const struct operation op_COPY_UB_GM = {.plan = copy_ub_gm_plan,
                                        .run = mte_copy_run,
                                        .store = copy_out_store,
                                        .flow = flow_move};

static unsigned copy_l1_gm_plan(const struct op_ctx *c)
{
    return copy_out_plan(c, &c->cmd->copy_out, NPU_MEM_L1, COST_L1_GM_RATE);
}

const struct operation op_COPY_L1_GM = {.plan = copy_l1_gm_plan,
                                        .run = mte_copy_run,
                                        .store = copy_out_store,
                                        .flow = flow_move};

static unsigned copy_ub_l1_plan(const struct op_ctx *c)
{
    mte_local_plan(c, &c->cmd->copy_local, NPU_MEM_UB, NPU_MEM_L1);
    return 0;
}

const struct operation op_COPY_UB_L1 = {
    .plan = copy_ub_l1_plan, .run = mte_copy_run, .flow = flow_move};

/* --- atomics, of the fixpipe too --- */

static unsigned set_atomic_plan(const struct op_ctx *c)
{
    c->plan->fixed = 1;
    if (c->cmd->set_atomic.op != ATOMIC_NONE && c->cmd->head.type == TYPE_NONE) {
        return op_fail(c, offsetof(struct cmd_head, type), NPU_ERR_TYPE);
    }
    return 0;
}

static void set_atomic_run(const struct op_ctx *c)
{
    c->special[SPECIAL_ATOMIC] = c->cmd->set_atomic.op | (uint64_t)c->cmd->head.type << 8;
}

const struct operation op_SET_ATOMIC_MTE3 = {.plan = set_atomic_plan,
                                             .run = set_atomic_run};
const struct operation op_SET_ATOMIC_FIX = {.plan = set_atomic_plan,
                                            .run = set_atomic_run};
