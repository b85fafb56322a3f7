/* SPDX-License-Identifier: MIT
 *
 * MTE3: UB and L1 to GM, UB to L1; what the writes to GM combine with. Source:
 * hal/contract/mte.md; costs from profile.def.
 */
#include "tools/emu/model/ops/atomic.h"
#include "tools/emu/model/ops/mte.h"

static unsigned copy_out_plan(const struct op_ctx *c, const struct cmd_copy_out *a,
                              enum npu_mem from, enum npu_cost rate, struct plan *plan,
                              uint8_t *field)
{
    uint32_t n = a->len_bytes ? a->n_blocks : 0;

    plan->src[0] =
        access_rows(from, offsetof(struct cmd_copy_out, src), a->src, a->len_bytes, n,
                    round_up(a->len_bytes, 32) + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_GM, offsetof(struct cmd_copy_out, dst), a->dst,
                            a->len_bytes, n, (uint64_t)a->len_bytes + a->dst_gap);
    plan->has_dst = true;
    plan->fixed = cost(c->s, COST_UB_GM_FIXED);
    plan->rate = cost(c->s, rate);
    plan->work = access_bytes(&plan->src[0]);
    plan->pools = POOL_WRITE;
    *field = offsetof(struct cmd_copy_out, len_bytes);
    return atomic_check(c->pipe, a->len_bytes);
}

static void copy_out_store(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, uint8_t *to, const uint8_t *stage)
{
    (void)cmd;
    atomic_rows(to, stage, &plan->dst, c->pipe);
}

static unsigned copy_ub_gm_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    return copy_out_plan(c, &cmd->copy_out, NPU_MEM_UB, COST_UB_GM_RATE, plan, field);
}

const struct operation op_COPY_UB_GM = {copy_ub_gm_plan, mte_copy_run, copy_out_store};

static unsigned copy_l1_gm_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    return copy_out_plan(c, &cmd->copy_out, NPU_MEM_L1, COST_L1_GM_RATE, plan, field);
}

const struct operation op_COPY_L1_GM = {copy_l1_gm_plan, mte_copy_run, copy_out_store};

static unsigned copy_ub_l1_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    (void)field;
    mte_local_plan(c, &cmd->copy_local, NPU_MEM_UB, NPU_MEM_L1, plan);
    return 0;
}

const struct operation op_COPY_UB_L1 = {copy_ub_l1_plan, mte_copy_run, NULL};

/* --- atomics, of the fixpipe too --- */

static unsigned set_atomic_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    (void)c;
    plan->fixed = 1;
    if (cmd->set_atomic.op != ATOMIC_NONE && cmd->head.type == TYPE_NONE) {
        *field = offsetof(struct cmd_head, type);
        return NPU_ERR_TYPE;
    }
    return 0;
}

static void set_atomic_run(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, const uint8_t *const src[4],
                           uint8_t *stage)
{
    (void)plan;
    (void)src;
    (void)stage;
    c->pipe->special[SPECIAL_ATOMIC] = cmd->set_atomic.op | (uint64_t)cmd->head.type << 8;
}

const struct operation op_SET_ATOMIC_MTE3 = {set_atomic_plan, set_atomic_run, NULL};
const struct operation op_SET_ATOMIC_FIX = {set_atomic_plan, set_atomic_run, NULL};
