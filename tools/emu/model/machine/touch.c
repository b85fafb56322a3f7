/* SPDX-License-Identifier: MIT
 *
 * Which bytes a command touches, see npu.h: the operation knows. It goes by the command,
 * the special registers and the stage, which stay until the command has ended, and by
 * offsets in UB, which may not.
 */
#include "tools/emu/model/machine/touch.h"

#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/mem.h"

enum { CMPMASK_BYTES = 16 };

void touch_keep(struct npu *n, unsigned core, unsigned pipe)
{
    static uint8_t kept[COST_MAX_UB_BYTES];
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    unsigned source = op_find(pipe_head(p)->head.opcode)->offsets;

    if (source && source <= n->plan[core][pipe].n_src && n->host->event) {
        const struct access *a = &n->plan[core][pipe].src[source - 1];
        if (access_bytes(a)) {
            memcpy(kept, n->mem[core][a->mem] + a->base, access_extent(a));
            n->offsets = kept;
        }
    }
}

void touch_drop(struct npu *n)
{
    n->offsets = NULL;
}

void npu_touch(const struct npu *n, unsigned core, unsigned pipe, touch_told *told,
               void *opaque)
{
    const struct touch t = {told, opaque};
    struct npu_fault ignored = {0};
    struct op_ctx c = pipe_context((struct npu *)(uintptr_t)n, core, pipe, &ignored);
    const struct operation *op = op_find(c.cmd->head.opcode);
    const struct plan *plan = c.plan;

    if (plan->has_dst && access_bytes(&plan->dst) == 0) {
        return; /* nothing to do, so nothing is read */
    }
    if (!op->touch) {
        op_touch(&c, &t);
        return;
    }
    for (unsigned i = 0; i < plan->n_src; i++) {
        const struct access *a = &plan->src[i];
        if (n->offsets && op->offsets == i + 1) {
            c.src[i] = n->offsets;
        } else if (a->mem != NPU_MEM_GM && access_bytes(a)) {
            c.src[i] = n->mem[core][a->mem] + a->base;
        }
    }
    op->touch(&c, &t);
}

/* Where an access begins in the shadows. */
static uint8_t *shadow_of(const struct npu *n, const struct npu_shadow *shadow,
                          const struct access *a)
{
    if (access_bytes(a) == 0) {
        return NULL;
    }
    return a->mem == NPU_MEM_GM ? shadow->gm + (a->base - n->s->gm_base)
                                : shadow->mem[a->mem] + a->base;
}

void npu_flow(const struct npu *n, unsigned core, unsigned pipe,
              const struct npu_shadow *shadow)
{
    static _Alignas(64) uint8_t stage[COST_MAX_L1_BYTES];
    struct npu_fault ignored = {0};
    struct op_ctx c = pipe_context((struct npu *)(uintptr_t)n, core, pipe, &ignored);
    const struct operation *op = op_find(c.cmd->head.opcode);
    const struct plan *plan = c.plan;
    uint64_t special[SPECIALS];

    if (!op->flow ||
        (plan->has_dst ? access_bytes(&plan->dst) : plan_bytes_read(plan)) == 0) {
        return;
    }
    memcpy(special, c.special, sizeof(special));
    special[SPECIAL_PAD] = special[SPECIAL_SATURATE] = 0;
    memcpy(&special[SPECIAL_CMPMASK_LO], shadow->cmpmask, CMPMASK_BYTES);
    c.special = special;
    c.stage = stage;
    c.to = plan->has_dst ? shadow_of(n, shadow, &plan->dst) : NULL;
    for (unsigned i = 0; i < plan->n_src; i++) {
        c.src[i] = n->offsets && op->offsets == i + 1
                       ? n->offsets
                       : shadow_of(n, shadow, &plan->src[i]);
    }
    op->flow(&c);
    if (access_bytes(&plan->also)) {
        op_store_rows(shadow_of(n, shadow, &plan->also), stage + access_bytes(&plan->dst),
                      &plan->also);
    }
    memcpy(shadow->cmpmask, &special[SPECIAL_CMPMASK_LO], CMPMASK_BYTES);
}

bool npu_guides(const struct npu *n, unsigned core, unsigned pipe, const struct access *a)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const struct plan *plan = &n->plan[core][pipe];
    unsigned source = op_find(pipe_head(p)->head.opcode)->offsets;

    return (a->mem == NPU_MEM_L0B_INDEX && pipe == PIPE_M) ||
           (source && source <= plan->n_src && a->field == plan->src[source - 1].field);
}
