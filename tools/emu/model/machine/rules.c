/* SPDX-License-Identifier: MIT
 *
 * The rules that a command must keep before it has any effect. What the .def files
 * state (types, flags, ranges, alignments) is checked from their tables, where the
 * accesses end from the plan; rules of a single operation stand in its plan().
 */
#include "tools/emu/model/machine/rules.h"

#include "tools/emu/model/arith/quant.h"
#include "tools/emu/model/machine/pipe.h"

static unsigned fail(struct npu_fault *f, unsigned code, size_t field, uint64_t value)
{
    f->code = (uint16_t)code;
    f->field = (uint8_t)field;
    f->value = value;
    return code;
}

static unsigned check_head(const struct cmd_info *info, unsigned pipe,
                           const union cmd *cmd, struct npu_fault *f)
{
    const struct cmd_head *h = &cmd->head;

    if (info->pipe != 0 && info->pipe != pipe) {
        return fail(f, NPU_ERR_PIPE, offsetof(struct cmd_head, opcode), h->opcode);
    }
    if (h->type >= TYPE_COUNT || !(info->types & (1u << h->type))) {
        return fail(f, NPU_ERR_TYPE, offsetof(struct cmd_head, type), h->type);
    }
    if (h->flags & ~info->flags) {
        return fail(f, NPU_ERR_FLAGS, offsetof(struct cmd_head, flags), h->flags);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (h->wait_sem[i] >= SEM_COUNT) {
            return fail(f, NPU_ERR_SEM_INDEX, offsetof(struct cmd_head, wait_sem) + i,
                        h->wait_sem[i]);
        }
        if (h->post_sem[i] >= SEM_COUNT) {
            return fail(f, NPU_ERR_SEM_INDEX, offsetof(struct cmd_head, post_sem) + i,
                        h->post_sem[i]);
        }
    }
    return 0;
}

/* What the profile's chip does not have: the command, its type, or that of its results.
 */
static unsigned check_chip(const struct npu *n, unsigned pipe, const union cmd *cmd,
                           struct npu_fault *f)
{
    bool cube = pipe == PIPE_M;
    uint32_t has =
        cost(n->s, cube ? COST_TYPES_CUBE : COST_TYPES_VECTOR) | 1u << TYPE_NONE;
    unsigned to = TYPE_NONE, opcode = cmd->head.opcode;
    size_t field = 0;

    if ((opcode == OP_MMAD_SPARSE || opcode == OP_SPARSE_L1_L0B) &&
        cost(n->s, COST_L0B_INDEX_BYTES) == 0) {
        return fail(f, NPU_ERR_CHIP, offsetof(struct cmd_head, opcode), opcode);
    }
    if ((pipe == PIPE_MTE2 || pipe == PIPE_MTE3 || pipe == PIPE_FIX) &&
        (cmd->head.flags & CMD_NO_L2) && cost(n->s, COST_L2_HINTS) == 0) {
        return fail(f, NPU_ERR_CHIP, offsetof(struct cmd_head, flags), cmd->head.flags);
    }
    if (pipe != PIPE_V && pipe != PIPE_FIX && !cube) {
        return 0; /* others only move bytes */
    }
    switch (opcode) {
    case OP_VCONV:
        to = cmd->vec_conv.to;
        field = offsetof(struct cmd_vec_conv, to);
        break;
    case OP_VADDRELUCONV:
    case OP_VSUBRELUCONV:
    case OP_VMULCONV:
        to = cmd->vec2c.to;
        field = offsetof(struct cmd_vec2c, to);
        break;
    case OP_FIX_L0C_GM:
    case OP_FIX_L0C_UB:
    case OP_FIX_L0C_L1:
        to = quant_modes[cmd->fix_gm.quant].to;
        field = offsetof(struct cmd_fix_gm, quant);
        break;
    default:
        break;
    }
    if (!(has >> cmd->head.type & 1)) {
        return fail(f, NPU_ERR_CHIP, offsetof(struct cmd_head, type), cmd->head.type);
    }
    return has >> to & 1 ? 0 : fail(f, NPU_ERR_CHIP, field, to);
}

unsigned check_command(const struct npu *n, unsigned pipe, const union cmd *cmd,
                       struct npu_fault *f)
{
    const struct cmd_info *info = cmd_find(cmd->head.opcode);
    unsigned code;

    if (!info) {
        return fail(f, NPU_ERR_OPCODE, offsetof(struct cmd_head, opcode),
                    cmd->head.opcode);
    }
    code = check_head(info, pipe, cmd, f);
    if (code) {
        return code;
    }
    for (unsigned i = 0; i < info->n_args; i++) {
        const struct cmd_arg *arg = &info->args[i];
        const struct cmd_range *range = cmd_range(info, arg);
        uint64_t value = cmd_arg_value(cmd, arg);
        if (value < range->min || value > range->max) {
            return fail(f, NPU_ERR_RANGE, arg->offset, value);
        }
        if (value % range->multiple) {
            f->addr = value;
            return fail(f, NPU_ERR_ALIGN, arg->offset, value);
        }
    }
    for (unsigned i = cmd_length(info); i < CMD_BYTES; i++) {
        if (cmd->bytes[i]) {
            return fail(f, NPU_ERR_RESERVED, i, cmd->bytes[i]);
        }
    }
    return check_chip(n, pipe, cmd, f);
}

static unsigned check_access(const struct npu *n, const struct access *a,
                             struct npu_fault *f)
{
    const struct npu_state *s = n->s;
    uint64_t extent = access_extent(a);
    uint64_t first = 0, size;

    if (extent == 0) {
        return 0;
    }
    f->addr = a->base;
    if (a->mem == NPU_MEM_GM) {
        first = s->gm_base;
        size = s->gm_size;
    } else {
        size = npu_mem_size((enum npu_profile)s->profile, (enum npu_mem)a->mem);
    }
    if (a->base < first || a->base - first > size || extent > size - (a->base - first)) {
        return fail(f, a->mem == NPU_MEM_GM ? NPU_ERR_GM : NPU_ERR_BOUNDS, a->field,
                    a->base + extent);
    }
    return 0;
}

unsigned check_plan(const struct npu *n, unsigned pipe, const struct plan *plan,
                    struct npu_fault *f)
{
    unsigned code = 0;

    for (unsigned i = 0; i < plan->n_src && !code; i++) {
        code = check_access(n, &plan->src[i], f);
    }
    if (code || !plan->has_dst || access_bytes(&plan->dst) == 0) {
        return code;
    }
    code = check_access(n, &plan->dst, f);
    if (code) {
        return code;
    }
    code = check_access(n, &plan->also, f);
    if (code) {
        return code;
    }
    /* Which bytes win would be left to chance on a chip. */
    f->addr = plan->dst.base;
    if (!plan->in_order && access_overlaps_itself(&plan->dst)) {
        return fail(f, NPU_ERR_OVERLAP, plan->dst.field, plan->dst.base);
    }
    if (access_bytes(&plan->dst) + access_bytes(&plan->also) >
        npu_mem_size((enum npu_profile)n->s->profile, pipe_stage(pipe))) {
        return fail(f, NPU_ERR_CAPACITY, plan->dst.field, access_bytes(&plan->dst));
    }
    f->addr = 0;
    return 0;
}
