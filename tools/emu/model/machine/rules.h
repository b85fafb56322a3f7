/* SPDX-License-Identifier: MIT
 *
 * The rules of the tables and the extents; 0 or an enum npu_error, with *f filled in.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_RULES_H
#define TOOLS_EMU_MODEL_MACHINE_RULES_H

#include "tools/emu/model/machine/state/state.h"

unsigned check_command(const struct npu *n, unsigned pipe, const union cmd *cmd,
                       struct npu_fault *f);
unsigned check_plan(const struct npu *n, unsigned pipe, const struct plan *plan,
                    struct npu_fault *f);

#endif
