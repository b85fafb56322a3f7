/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the checks in QEMU have in common: racecheck.c carries them all and writes what they
 * have found; memcheck.c is its part with the memory check and the sync check.
 */
#ifndef TOOLS_EMU_QEMU_CHECKS_H
#define TOOLS_EMU_QEMU_CHECKS_H

#include "tools/emu/qemu/device.h"
#include "tools/emu/check/memory.h"
#include "tools/emu/check/sync.h"

/* As JSON: an access, as the member `name` behind others, with its buffer if that is not
 * NULL; a memory; a string of the guest's as far as it can stand there as it is. */
void npu_checks_record(const char *name, const struct record *x,
                       const struct hint *buffer);
const char *npu_checks_mem(unsigned mem);
void npu_checks_text(FILE *to, uint64_t addr);

/* checks: CHECK_MEMORY, CHECK_SYNC. */
void npu_memcheck_init(SalaiNPU *npu, unsigned checks, const struct check_host *host,
                       const struct race_config *config);
void npu_memcheck_event(const struct npu_event *e);
void npu_memcheck_hint(uint64_t cycle, const struct hint *hint);
void npu_memcheck_hart(const struct race_hart_access *a);
uint32_t npu_memcheck_count(void);
/* Its findings, at most so many, each behind a comma unless it is the first of all. */
void npu_memcheck_write(FILE *to, bool first, uint32_t most);
uint64_t npu_memcheck_lost(void);
size_t npu_memcheck_bytes(void);

#endif
