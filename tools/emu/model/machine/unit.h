/* SPDX-License-Identifier: MIT
 *
 * Marks of the units of L0C. The functions are about the head of a queue, whose plan is
 * made.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_UNIT_H
#define TOOLS_EMU_MODEL_MACHINE_UNIT_H

#include "tools/emu/model/machine/state/state.h"

unsigned unit_mode(const union cmd *cmd);
/* The units of L0C in which the head of M has an element of c, or which that of FIX
 * reads, as bits; false if there are none. */
bool unit_set(const struct npu *n, unsigned core, unsigned pipe,
              uint64_t set[ROW_UNIT_MARK]);
/* Whether the marks let the head of M or FIX begin; if not yet, when to look again. */
bool unit_ready(struct npu *n, unsigned core, unsigned pipe);
/* Whether a command without unit flag leaves marked units alone. */
bool unit_legal(const struct npu *n, unsigned core, unsigned pipe,
                struct npu_fault *fault);
/* A command begins, ends: what it does to the marks, and how long it takes at least. */
void unit_begin(struct npu *n, unsigned core, unsigned pipe);
void unit_end(struct npu *n, unsigned core, unsigned pipe);
void unit_reset(struct npu *n, unsigned core, unsigned pipe);

#endif
