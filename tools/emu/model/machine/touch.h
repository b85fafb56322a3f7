/* SPDX-License-Identifier: MIT
 *
 * For npu_touch(): what it needs of a command whose destination has just been written.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_TOUCH_H
#define TOOLS_EMU_MODEL_MACHINE_TOUCH_H

#include "tools/emu/model/machine/state/state.h"

/* Keeps what says where the running command has read, if anybody may ask, before its
 * results lie there; until touch_drop(). */
void touch_keep(struct npu *n, unsigned core, unsigned pipe);
void touch_drop(struct npu *n);

#endif
