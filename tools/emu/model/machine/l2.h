/* SPDX-License-Identifier: MIT
 *
 * L2: which lines of GM are in it. Timing only, no byte of GM is here.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_L2_H
#define TOOLS_EMU_MODEL_MACHINE_L2_H

#include "tools/emu/model/machine/state/state.h"

/* What a command finds when it begins. */
struct l2_found {
    uint32_t hits, misses; /* lines */
    uint64_t late;         /* bytes that it reads and that are not there yet */
    uint64_t hbm;          /* bytes that HBM gives and takes for it */
};

/* Looks up what a command that begins reads and writes of GM, and lets L2 have it. */
struct l2_found l2_begin(struct npu *n, unsigned core, unsigned pipe);
/* A running command's lines have come, or nobody waits for them any more. */
void l2_end(struct npu *n, unsigned core, unsigned pipe);
/* Empties it. */
void l2_empty(struct npu *n);
/* Whether the tags are of this state. */
bool l2_valid(const struct npu *n);

#endif
