/* SPDX-License-Identifier: MIT
 *
 * From an opcode to its operation: every CMD of the contract has an `op_<NAME>` in one of
 * the files beside this one, with its checks, its cost and its arithmetic side by side. A
 * command without one does not link.
 */
#include "tools/emu/model/ops/op.h"

#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/ops/atomic.h"

#define CMD(NAME, pipe, opcode, types, flags, format, text)                              \
    extern const struct operation op_##NAME;
#include "hal/contract/all.h"

const struct operation *op_find(unsigned opcode)
{
    switch (opcode) {
#define CMD(NAME, pipe, opcode, types, flags, format, text)                              \
    case OP_##NAME:                                                                      \
        return &op_##NAME;
#include "hal/contract/all.h"
    default:
        return NULL;
    }
}

void op_reset_special(uint64_t special[SPECIALS])
{
    memset(special, 0, SPECIALS * sizeof(special[0]));
    special[SPECIAL_MASK_LO] = UINT64_MAX;
    special[SPECIAL_MASK_HI] = UINT64_MAX;
    special[SPECIAL_DEQ_SCALE] = NUM_F16_ONE;
    special[SPECIAL_LOAD3D_TIMES] = 1;
}

void op_store_rows(uint8_t *to, const uint8_t *stage, const struct access *a)
{
    for (uint32_t k = 0; k < a->n[2]; k++) {
        for (uint32_t j = 0; j < a->n[1]; j++) {
            uint8_t *row = to + k * a->stride[2] + j * a->stride[1];
            move_rows(row, a->stride[0], stage, a->row_bytes, a->row_bytes, a->n[0]);
            stage += (size_t)a->row_bytes * a->n[0];
        }
    }
}

enum touch_kind op_stores(const struct op_ctx *c)
{
    return c->plan->dst.mem == NPU_MEM_GM && atomic_active(c) ? TOUCH_COMBINES
                                                              : TOUCH_WRITES;
}

void op_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct plan *plan = c->plan;

    for (unsigned i = 0; i < plan->n_src; i++) {
        touch_access(t, plan->src[i], TOUCH_READS);
    }
    if (plan->has_dst) {
        touch_access(t, plan->dst, op_stores(c));
        touch_access(t, plan->also, TOUCH_WRITES);
    }
}

const struct operation op_NOP = {.plan = op_set_plan};

static void set_ctrl_run(const struct op_ctx *c)
{
    c->special[SPECIAL_SATURATE] = c->cmd->head.flags & SET_CTRL_SATURATE;
}

const struct operation op_SET_CTRL = {.plan = op_set_plan, .run = set_ctrl_run};
