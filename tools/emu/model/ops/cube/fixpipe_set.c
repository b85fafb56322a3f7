/* SPDX-License-Identifier: MIT
 *
 * Registers of the fixpipe: the quantisation word, slope and limit. Source:
 * hal/contract/fixpipe.md.
 */
#include "tools/emu/model/ops/op.h"

static void set_quant_run(const struct op_ctx *c)
{
    c->special[SPECIAL_QUANT] = c->cmd->set_quant.word;
}

const struct operation op_SET_QUANT = {.plan = op_set_plan, .run = set_quant_run};

static void set_relu_run(const struct op_ctx *c)
{
    c->special[SPECIAL_RELU] = c->cmd->set_relu.slope | (uint64_t)c->cmd->set_relu.clip
                                                            << 32;
}

const struct operation op_SET_RELU = {.plan = op_set_plan, .run = set_relu_run};
