/* SPDX-License-Identifier: MIT
 *
 * The event loop, as the registers and the other parts of the machine see it, and what
 * the machine tells its host.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_EVENT_H
#define TOOLS_EMU_MODEL_MACHINE_EVENT_H

#include "tools/emu/model/machine/sem.h"
#include "tools/emu/model/machine/state/state.h"

/* Begins what may begin on the cores whose bits are set. */
void npu_kick(struct npu *n, uint32_t cores);
/* When something is due on the core: what npu_update_next() sets. */
uint64_t npu_due(const struct npu_core *core);
void npu_update_next(struct npu_core *core);
void npu_update_irq(struct npu *n, unsigned core);
uint64_t npu_irq_status(const struct npu *n, unsigned core);
/* A number of the profile, as the configuration has it. */
uint32_t npu_config_cost(const struct npu_config *config, enum npu_cost c);
uint64_t npu_sem_ready(const struct npu *n, unsigned core, unsigned word);

/* Tells the host what happens to a command of a queue, or, with PIPE_DEPTH for its slot,
 * to the pipe alone; plan: NULL before it begins. */
void event_command(const struct npu *n, unsigned core, unsigned pipe,
                   enum npu_happens what, unsigned slot, const struct plan *plan);
/* That units of a semaphore move, or should have; value: what it then holds. */
struct sem_units {
    unsigned core, sem, count, value;
};
void event_sem(const struct npu *n, enum npu_happens what, struct sem_user by,
               struct sem_units units);
/* What an access of the hart's does to a pipe, or, with NPU_BY_HART, to the core or the
 * chip. */
void event_access(const struct npu *n, enum npu_happens what, unsigned core,
                  unsigned pipe, unsigned fault, uint64_t name);
/* An access to a register; size 0: the device's own. */
struct reg_access {
    uint32_t offset;
    uint8_t size;
    bool write;
    uint64_t value;
};
/* Keeps the core's first fault, and tells of it; npu_update_irq must follow. */
void core_fail(struct npu *n, unsigned core, unsigned code, const struct reg_access *a);
/* That a seed holds something up; pipe NPU_PIPES: no pipe's. */
void event_delay(const struct npu *n, enum npu_delay what, unsigned core, unsigned pipe,
                 uint64_t key, unsigned cycles);
/* That the core's line has changed; that a launch begins. */
void event_line(const struct npu *n, unsigned core);
void event_called(const struct npu *n, unsigned price);

#endif
