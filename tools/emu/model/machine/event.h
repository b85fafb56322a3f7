/* SPDX-License-Identifier: MIT
 *
 * The event loop, as the registers and the other parts of the machine see it.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_EVENT_H
#define TOOLS_EMU_MODEL_MACHINE_EVENT_H

#include "tools/emu/model/machine/state.h"

/* Begins what may begin on the cores whose bits are set. */
void npu_kick(struct npu *n, uint32_t cores);
void npu_update_next(struct npu_core *core);
void npu_update_irq(struct npu *n, unsigned core);
uint64_t npu_irq_status(const struct npu *n, unsigned core);
uint64_t npu_sem_ready(const struct npu *n, unsigned core, unsigned word);

#endif
