/* SPDX-License-Identifier: MIT
 *
 * Hardware semaphores and the barrier units of the chip.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_SEM_H
#define TOOLS_EMU_MODEL_MACHINE_SEM_H

#include "tools/emu/model/machine/state/state.h"

/* Who takes or posts: a pipe of a core, the hart through a core's page (NPU_BY_HART), or a
 * barrier unit (NPU_BY_BARRIER, core NPU_CHIP). */
struct sem_user {
    uint8_t core, pipe, barrier;
};

/* What a CHIP_BARRIER register keeps. */
#define BARRIER_FIELDS                                                                   \
    (CHIP_BARRIER_WATCH | CHIP_BARRIER_COUNT | CHIP_BARRIER_TARGET | CHIP_BARRIER_CORES)

uint8_t sem_value(const struct npu *n, unsigned core, unsigned sem);
bool sem_post(struct npu *n, struct sem_user by, unsigned core, unsigned sem,
              unsigned count);
/* What the barrier units do about a semaphore of the chip that has changed, or whose unit
 * has. May touch every core: npu_kick all. */
void barrier_run(struct npu *n, unsigned sem);
/* Whether a take would succeed. */
bool sem_has(const struct npu *n, unsigned core, const uint8_t *sems,
             const uint8_t *counts, unsigned length);
bool sem_take(struct npu *n, unsigned core, const uint8_t *sems, const uint8_t *counts,
              unsigned length);
/* Tells of the take that has just been. */
void sem_taken(const struct npu *n, struct sem_user by, unsigned core,
               const uint8_t *sems, const uint8_t *counts, unsigned length);

#endif
