/* SPDX-License-Identifier: MIT
 *
 * Bandwidth that pipes and cores share.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_FLOW_H
#define TOOLS_EMU_MODEL_MACHINE_FLOW_H

#include "tools/emu/model/machine/state/state.h"

/* Sets the end of a command that begins now; fixed: its cycles besides the work, which
 * takes `times` as long as the plan has it. */
void flow_begin(struct npu *n, unsigned core, unsigned pipe, uint32_t fixed,
                uint32_t times);
/* The command that a pipe runs, if it does, ends or is given up; it is still running. */
void flow_end(struct npu *n, unsigned core, unsigned pipe);
/* Cycles of the command that a pipe runs which what is not in L2 costs it alone. */
uint64_t flow_missed(const struct npu *n, unsigned core, unsigned pipe);
/* Brings every transfer up to now and shares the limits anew. */
void flow_update(struct npu *n);
/* Of a snapshot: whether a running command, whose plan is made, can take the time that it
 * takes, waits: of which so much at most for another engine; whether all rates are those
 * that the limits leave. */
bool flow_plausible(const struct npu *n, unsigned core, unsigned pipe, uint64_t waits);
bool flow_valid(const struct npu *n);

#endif
