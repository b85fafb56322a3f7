/* SPDX-License-Identifier: MIT
 *
 * From an opcode to its operation: every CMD of the contract has an `op_<NAME>` in one of
 * the op_*.c files, with its checks, its cost and its arithmetic side by side. A command
 * without one does not link.
 */
#include "tools/emu/model/machine/state.h"

#define CMD(NAME, pipe, opcode, types, flags, format, text)                              \
    extern const struct operation op_##NAME;
#include "hal/contract/all.h"

const struct operation *operation_find(unsigned opcode)
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

static unsigned nop_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                         uint8_t *field)
{
    (void)c;
    (void)cmd;
    (void)field;
    plan->fixed = 1;
    return 0;
}

const struct operation op_NOP = {nop_plan, NULL, NULL};

static void set_ctrl_run(const struct op_ctx *c, const union cmd *cmd,
                         const struct plan *plan, const uint8_t *const src[4],
                         uint8_t *stage)
{
    (void)plan;
    (void)src;
    (void)stage;
    c->pipe->special[SPECIAL_SATURATE] = cmd->head.flags & SET_CTRL_SATURATE;
}

const struct operation op_SET_CTRL = {nop_plan, set_ctrl_run, NULL};
