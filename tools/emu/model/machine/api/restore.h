/* SPDX-License-Identifier: MIT
 *
 * What makes a state one of this model: see npu_restored().
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_API_RESTORE_H
#define TOOLS_EMU_MODEL_MACHINE_API_RESTORE_H

#include "tools/emu/model/machine/state/state.h"

/* What the state means goes with the contract, how long it is with the model. */
#define NPU_STATE_MAGIC                                                                  \
    (0x53414c4149000000u + ((uint64_t)CONTRACT_VERSION << 24) + sizeof(struct npu_state))

#endif
