/* SPDX-License-Identifier: MIT
 *
 * Registers: which one an offset is, and what reads and writes it. All that there are come from
 * the lines of the contract, each with its functions: read_NAME() in regs_read.c if it can be
 * read, write_NAME() in regs.c if it can be written. A line without them does not compile.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_API_REGS_H
#define TOOLS_EMU_MODEL_MACHINE_API_REGS_H

#include "tools/emu/model/machine/state/state.h"

/* Their numbers, a row of equal ones is one. */
#define REG(name, offset, access, reset, text)         REG_INDEX_##name,
#define REGS(name, offset, count, access, reset, text) REG_INDEX_##name,
#define COUNTER(name, offset, text)                    REG_INDEX_PMU_##name,
enum reg_index {
#include "hal/contract/all.h"
    REG_INDEXES,
};

/* An access finds this. */
struct reg_at {
    enum reg_index index;
    unsigned i; /* of a row */
    unsigned core, pipe;
    const struct npu_core *c; /* of a core's page, as the next: or NULL */
    const struct npu_pipe *p; /* of a pipe's */
    uint64_t now;
};

/* False if there is no register at this offset, or none of this size. */
bool regs_find(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               unsigned size, struct reg_at *at);
/* Its value, of `size` bytes at the offset; 0 of one that can only be written. */
uint64_t regs_read(const struct npu *n, const struct reg_at *at, uint32_t offset,
                   unsigned size);

#endif
