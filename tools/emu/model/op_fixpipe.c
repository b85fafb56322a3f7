/* SPDX-License-Identifier: MIT
 *
 * The fixpipe: L0C to GM with conversion. Source: hal/contract/fixpipe.md.
 */
#include "tools/emu/model/move.h"
#include "tools/emu/model/state.h"

static unsigned quant_esize(unsigned quant)
{
    return quant == QUANT_NONE ? 4 : 2;
}

static unsigned fix_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                         uint8_t *field)
{
    const struct cmd_fix_gm *a = &cmd->fix_gm;
    unsigned esize = quant_esize(a->quant);
    uint32_t rows = a->n ? a->m : 0;

    if (a->quant != QUANT_NONE && a->head.type != TYPE_F32) {
        *field = offsetof(struct cmd_fix_gm, quant);
        return NPU_ERR_TYPE;
    }
    plan->src[0] =
        access_rows(NPU_MEM_L0C, offsetof(struct cmd_fix_gm, src), a->src, 64ull * rows,
                    (uint32_t)div_up(a->n, 16), 64ull * a->src_c0_stride);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_GM, offsetof(struct cmd_fix_gm, dst), a->dst,
                            (uint64_t)a->n * esize, rows, (uint64_t)a->dst_pitch * esize);
    plan->has_dst = true;
    plan->fixed = cost(c->s, COST_L0C_GM_FIXED);
    plan->rate = cost(c->s, COST_L0C_GM_RATE);
    plan->work = access_bytes(&plan->src[0]);
    plan->pools = POOL_WRITE;
    return 0;
}

static void fix_run(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                    const uint8_t *const src[3], uint8_t *stage)
{
    static const uint8_t modes[QUANT_COUNT] = {
        [QUANT_NONE] = MOVE_COPY,
        [QUANT_F322F16] = MOVE_F32_F16,
        [QUANT_F322BF16] = MOVE_F32_BF16,
    };
    const struct cmd_fix_gm *a = &cmd->fix_gm;

    (void)c;
    (void)plan;
    move_nz2nd(stage, (size_t)a->n * quant_esize(a->quant), src[0],
               64ull * a->src_c0_stride, a->m, a->n, (enum move_mode)modes[a->quant]);
}

const struct operation op_FIX_L0C_GM = {fix_plan, fix_run, NULL};
