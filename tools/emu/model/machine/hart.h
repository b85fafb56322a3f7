/* SPDX-License-Identifier: MIT
 *
 * The hart's time: engine cycles out of its clock, and what each core's scalar unit has of
 * it (hart.c).
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_HART_H
#define TOOLS_EMU_MODEL_MACHINE_HART_H

#include "tools/emu/model/machine/state/state.h"

/* At power-on: all cores share the hart. */
void hart_reset(struct npu *n);
/* CHIP_SHARE is written; what it reads. */
void hart_share(struct npu *n, uint64_t value);
/* CHIP_TRACE is written: the hart works for core `of` - 1 from now on; 0: for none. */
void hart_works(struct npu *n, unsigned of);
/* The core's line has risen: its scalar unit has waited until now. */
void hart_wanted(struct npu *n, unsigned core);
/* Cycle of the core's scalar unit, in which it has what it pushes now, or 0. */
uint64_t hart_scalar(const struct npu *n, unsigned core);
/* No scalar unit can be ahead of this cycle. */
uint64_t hart_ahead(const struct npu_state *s);

#endif
