/* SPDX-License-Identifier: MIT
 *
 * All operations, one line each; they stand in the op_*.c files, each with its checks,
 * its cost and its arithmetic side by side. Operands come from hal/contract/.
 */
#include "tools/emu/model/state.h"

#define OPERATIONS(X)                                                                    \
    X(NOP)                                                                               \
    X(COPY_GM_UB) X(COPY_GM_L1) X(ND2NZ_GM_L1) X(COPY_UB_GM) X(LOAD2D_L0A) X(LOAD2D_L0B) \
        X(MMAD) X(FIX_L0C_GM) X(SET_MASK) X(VADD)

#define X(name) extern const struct operation op_##name;
OPERATIONS(X)
#undef X

const struct operation *operation_find(unsigned opcode)
{
    switch (opcode) {
#define X(name)                                                                          \
    case OP_##name:                                                                      \
        return &op_##name;
        OPERATIONS(X)
#undef X
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
