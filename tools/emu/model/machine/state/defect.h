/* SPDX-License-Identifier: MIT
 *
 * Hardware that is broken on purpose, for firmware that has to live with it. Without a
 * defect all of this does nothing.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_STATE_DEFECT_H
#define TOOLS_EMU_MODEL_MACHINE_STATE_DEFECT_H

#include "tools/emu/model/machine/state/state.h"

/* No command of the core begins. */
bool defect_dead(const struct npu_state *s, unsigned core);
/* So many times as long do commands of the pipe take; 1: as ever. */
uint32_t defect_slow(const struct npu_state *s, unsigned core, unsigned pipe);
/* Posts and takes leave the semaphore as it is; a take finds what it holds. */
bool defect_stuck(const struct npu_state *s, unsigned core, unsigned sem);
/* What a command does with semaphores that are left out is taken out of it. */
void defect_skip(const struct npu_state *s, unsigned core, struct cmd_head *head);
/* To be asked for each post of a command's: this one is lost. */
bool defect_loses_post(struct npu_state *s);
/* The first cycle after now at which a bit flips, or NPU_NEVER; flips those that flip now. */
uint64_t defect_next(const struct npu_state *s);
void defect_flip(struct npu *n);
/* A launch begins now: bits whose cycles count from the first one know theirs. */
void defect_launch(struct npu_state *s);
/* Whether a restored state has the defects that are asked for. */
bool defect_restored(const struct npu_state *s, const struct npu_config *config);

#endif
