/* SPDX-License-Identifier: MIT
 *
 * Region proposals: 8 elements each. Single fields to and from rows of elements; how they
 * are sorted stands in op_vec_sort.c. Source: hal/contract/vector_more.md.
 */
#include "tools/emu/model/ops/vec_move.h"

enum { PER_REPEAT = 16 };

static unsigned proposal_bytes(const union cmd *cmd)
{
    return PROPOSAL_ELEMENTS * vec_esize(cmd);
}

/* --- VRPCONCAT, VRPEXTRACT --- */

/* One field of the proposals at `at`. */
static struct access field_access(const union cmd *cmd, size_t field, uint32_t at)
{
    const struct cmd_vec_rp *a = &cmd->vec_rp;
    unsigned esize = vec_esize(cmd);

    return access_rows(NPU_MEM_UB, field, at + (uint64_t)a->field * esize, esize,
                       PER_REPEAT * a->repeat, proposal_bytes(cmd));
}

static struct access row_access(const union cmd *cmd, size_t field, uint32_t at)
{
    return vec_row(field, at, (uint64_t)PER_REPEAT * vec_esize(cmd) * cmd->vec_rp.repeat);
}

static unsigned vrp_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                         uint8_t *field)
{
    const struct cmd_vec_rp *a = &cmd->vec_rp;
    bool concat = a->head.opcode == OP_VRPCONCAT;
    size_t dst = offsetof(struct cmd_vec_rp, dst), src = offsetof(struct cmd_vec_rp, src);

    (void)c;
    plan->src[0] = concat ? row_access(cmd, src, a->src) : field_access(cmd, src, a->src);
    plan->n_src = 1;
    plan->dst = concat ? field_access(cmd, dst, a->dst) : row_access(cmd, dst, a->dst);
    plan->has_dst = true;
    vec_cost(cmd, a->repeat, plan);
    plan->ops = (uint64_t)PER_REPEAT * a->repeat;
    *field = plan->src[0].field;
    return vec_apart(&plan->dst, &plan->src[0]) ? 0 : NPU_ERR_OVERLAP;
}

static void vrp_run(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                    const uint8_t *const src[4], uint8_t *stage)
{
    unsigned esize = vec_esize(cmd);
    bool concat = cmd->head.opcode == OP_VRPCONCAT;
    size_t step = concat ? esize : proposal_bytes(cmd);

    (void)c;
    (void)plan;
    for (size_t i = 0; i < (size_t)PER_REPEAT * cmd->vec_rp.repeat; i++) {
        vec_put(stage + i * esize, src[0] + i * step, esize);
    }
}

/* Elements one by one into proposals. */
static void vrpconcat_store(const struct op_ctx *c, const union cmd *cmd,
                            const struct plan *plan, uint8_t *to, const uint8_t *stage)
{
    unsigned esize = vec_esize(cmd);

    (void)c;
    for (uint32_t i = 0; i < plan->dst.n[0]; i++) {
        vec_put(to + i * plan->dst.stride[0], stage + (size_t)i * esize, esize);
    }
}

const struct operation op_VRPCONCAT = {vrp_plan, vrp_run, vrpconcat_store};
const struct operation op_VRPEXTRACT = {vrp_plan, vrp_run, NULL};
