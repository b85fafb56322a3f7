/* SPDX-License-Identifier: MIT
 *
 * Other timings, by a seed. All of it does nothing without one.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_PERTURB_H
#define TOOLS_EMU_MODEL_MACHINE_PERTURB_H

#include "tools/emu/model/machine/state/state.h"

/* Every delay is shorter. */
#define PERTURB_MOST (1u << 13)

/* True while a head that could take its semaphores is held back; sets p->hold. ready: its
 * units of L0C let it begin. */
bool perturb_hold(struct npu *n, unsigned core, unsigned pipe, bool ready);
/* Cycles by which the command that begins now ends later. */
uint32_t perturb_end(const struct npu *n, unsigned core, unsigned pipe);
/* Before a push to a core, which may have been idle: then all of it starts late. */
void perturb_push(struct npu *n, unsigned core);
/* True while the core's line, which is low, is kept from rising; rise: it is to be high.
 */
bool perturb_line(struct npu *n, unsigned core, bool rise);
/* Who comes first in this cycle: core `core`, and of each core the pipe `pipe`; the
 * others follow in a ring, and by exclusive or. */
struct order {
    unsigned core, pipe;
};
struct order perturb_order(const struct npu *n);
/* A number for a list of delays, 0: none. */
uint64_t perturb_digest(const struct npu_only *only);

#endif
