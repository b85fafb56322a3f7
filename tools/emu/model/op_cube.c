/* SPDX-License-Identifier: MIT
 *
 * The Cube: Mmad. Source: hal/contract/cube.md.
 */
#include "tools/emu/model/cube.h"
#include "tools/emu/model/state.h"

static unsigned mmad_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                          uint8_t *field)
{
    const struct cmd_mmad *a = &cmd->mmad;
    uint64_t m16 = div_up(a->m, 16), n16 = div_up(a->n, 16);
    uint64_t k0 = div_up(a->k, type_c0(a->head.type));
    uint64_t a_bytes = 512 * m16 * k0, b_bytes = 512 * n16 * k0,
             c_bytes = 1024 * m16 * n16;

    (void)field;
    if (a->m == 0 || a->n == 0 || a->k == 0) {
        plan->fixed = 1;
        return 0;
    }
    plan->src[0] =
        access_rows(NPU_MEM_L0A, offsetof(struct cmd_mmad, a), a->a, a_bytes, 1, a_bytes);
    plan->src[1] =
        access_rows(NPU_MEM_L0B, offsetof(struct cmd_mmad, b), a->b, b_bytes, 1, b_bytes);
    plan->dst = access_rows(NPU_MEM_L0C, offsetof(struct cmd_mmad, dst), a->dst, c_bytes,
                            1, c_bytes);
    plan->src[2] = plan->dst;
    plan->n_src = a->head.flags & MMAD_INIT ? 2 : 3;
    plan->has_dst = true;
    plan->fixed = cost(c->s, c->back_to_back ? COST_MMAD_NEXT : COST_MMAD_FIRST);
    plan->work = m16 * n16 * k0; /* a fractal a cycle */
    plan->ops = (uint64_t)a->m * a->n * a->k;
    return 0;
}

static void mmad_run(const struct op_ctx *c, const union cmd *cmd,
                     const struct plan *plan, const uint8_t *const src[3], uint8_t *stage)
{
    const struct cmd_mmad *a = &cmd->mmad;

    (void)c;
    if (!plan->has_dst) {
        return;
    }
    if (a->head.type == TYPE_S8) {
        cube_s8((int32_t *)(void *)stage, (const int32_t *)(const void *)src[2], src[0],
                src[1], a->m, a->n, a->k);
    } else {
        cube_f16((float *)(void *)stage, (const float *)(const void *)src[2], src[0],
                 src[1], a->m, a->n, a->k);
    }
}

const struct operation op_MMAD = {mmad_plan, mmad_run, NULL};
