/* SPDX-License-Identifier: MIT
 *
 * Region proposals: 8 elements each. Single fields to and from rows of elements; how they
 * are sorted stands in sort.c. Source: hal/contract/vector_sort.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/vector/vector.h"

enum { PER_REPEAT = 16 };

static unsigned proposal_bytes(const struct op_ctx *c)
{
    return PROPOSAL_ELEMENTS * vec_esize(c);
}

/* --- VRPCONCAT, VRPEXTRACT --- */

/* One field of the proposals at `at`. */
static struct access field_access(const struct op_ctx *c, size_t field, uint32_t at)
{
    const struct cmd_vec_rp *a = &c->cmd->vec_rp;
    unsigned esize = vec_esize(c);

    return access_rows(NPU_MEM_UB, field, at + (uint64_t)a->field * esize, esize,
                       PER_REPEAT * a->repeat, proposal_bytes(c));
}

static struct access row_access(const struct op_ctx *c, size_t field, uint32_t at)
{
    return vec_row(field, at,
                   (uint64_t)PER_REPEAT * vec_esize(c) * c->cmd->vec_rp.repeat);
}

static unsigned vrp_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_rp *a = &c->cmd->vec_rp;
    bool concat = a->head.opcode == OP_VRPCONCAT;
    size_t dst = offsetof(struct cmd_vec_rp, dst), src = offsetof(struct cmd_vec_rp, src);

    plan->src[0] = concat ? row_access(c, src, a->src) : field_access(c, src, a->src);
    plan->n_src = 1;
    plan->dst = concat ? field_access(c, dst, a->dst) : row_access(c, dst, a->dst);
    plan->has_dst = true;
    vec_cost(c, a->repeat);
    plan->ops = (uint64_t)PER_REPEAT * a->repeat;
    return access_apart(&plan->dst, &plan->src[0])
               ? 0
               : op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP);
}

static void vrp_run(const struct op_ctx *c)
{
    unsigned esize = vec_esize(c);
    bool concat = c->cmd->head.opcode == OP_VRPCONCAT;
    size_t step = concat ? esize : proposal_bytes(c);

    for (size_t i = 0; i < (size_t)PER_REPEAT * c->cmd->vec_rp.repeat; i++) {
        vec_put(c->stage + i * esize, c->src[0] + i * step, esize);
    }
}

/* Elements one by one into proposals. */
static void vrpconcat_store(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    unsigned esize = vec_esize(c);

    for (uint32_t i = 0; i < plan->dst.n[0]; i++) {
        vec_put(c->to + i * plan->dst.stride[0], c->stage + (size_t)i * esize, esize);
    }
}

const struct operation op_VRPCONCAT = {
    .plan = vrp_plan, .run = vrp_run, .store = vrpconcat_store, .flow = flow_move};
const struct operation op_VRPEXTRACT = {
    .plan = vrp_plan, .run = vrp_run, .flow = flow_move};
