/* SPDX-License-Identifier: MIT
 *
 * Registers.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_API_REGS_H
#define TOOLS_EMU_MODEL_MACHINE_API_REGS_H

#include "tools/emu/model/machine/state/state.h"

/* Index into a row of registers that begins at `first`, or -1. */
static inline int row_index(uint32_t reg, uint32_t first, unsigned count)
{
    return reg >= first && reg < first + 8 * count ? (int)(reg - first) / 8 : -1;
}

#define ROW(reg, name) row_index(reg, name, ROW_##name)

/* Whether it is a register of a pipe; which. */
static inline bool is_pipe(uint32_t reg, unsigned *pipe)
{
    *pipe = (reg - PIPE_BASE) / PIPE_STRIDE;
    return reg >= PIPE_BASE && *pipe < NPU_PIPES && pipe_name(*pipe)[0] != '?';
}

/* The value of a register; false if there is none of this size. */
bool regs_read(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               unsigned size, uint64_t *v);
#endif
