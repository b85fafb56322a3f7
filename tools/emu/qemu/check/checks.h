/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the checks in QEMU have in common: racecheck.c carries them all, racewrite.c writes
 * what they have found; memcheck.c is its part with the memory check and the sync check,
 * initcheck.c that with the init check.
 */
#ifndef TOOLS_EMU_QEMU_CHECK_CHECKS_H
#define TOOLS_EMU_QEMU_CHECK_CHECKS_H

#include "tools/emu/qemu/device/device.h"
#include "tools/emu/check/race/found.h"
#include "tools/emu/check/memory/init.h"
#include "tools/emu/check/race/sync.h"

/* As JSON: an access, as the member `name` behind others, with its buffer if that is not
 * NULL; a memory; a string of the guest's as far as it can stand there as it is. */
void npu_checks_record(FILE *to, const char *name, const struct record *x,
                       const struct hint *buffer);
const char *npu_checks_mem(unsigned mem);
/* name: a number that a hint's has got, or an address. */
void npu_checks_text(FILE *to, uint64_t name);
/* Of an enum hint_kind. */
const char *npu_checks_kind(unsigned kind);

/* Races, at most so many, and semaphores that are mixed or contended: objects with commas
 * between them. */
void npu_races_write(FILE *to, const struct findings *f, const struct race *race,
                     uint32_t most);
void npu_races_mixed(FILE *to, const struct findings *f);

/* The cycle of what is heard now; false: it is known already, and not to be looked at. */
bool npu_racecheck_now(uint64_t *cycle);

/* checks: CHECK_MEMORY, CHECK_SYNC; CHECK_INIT wants to know what is allocated. */
void npu_memcheck_init(unsigned checks, const struct check_host *host,
                       const struct race_config *config);
void npu_memcheck_event(const struct npu_event *e);
void npu_memcheck_hint(uint64_t cycle, const struct hint *hint);
/* Nothing can be wrong with that access of the hart's to GM. */
bool npu_memcheck_passes(uint64_t first, uint64_t bytes);
void npu_memcheck_hart(const struct race_hart_access *a);
/* A findings_block. */
bool npu_memcheck_block(uint64_t addr, struct hint *hint);
uint32_t npu_memcheck_count(void);
/* Its findings, at most so many, each behind a comma unless it is the first of all; whether
 * the next would be. */
bool npu_memcheck_write(FILE *to, bool first, uint32_t most);
uint64_t npu_memcheck_lost(void);
size_t npu_memcheck_bytes(void);
/* What is allocated. */
struct memory *npu_memcheck_memory(void);

/* The same of CHECK_INIT; its hints before those of the memory check. */
void npu_initcheck_init(SalaiNPU *npu, unsigned checks, const struct check_host *host,
                        const struct race_config *config, struct memory *memory);
void npu_initcheck_event(const struct npu_event *e);
void npu_initcheck_hint(const struct hint *hint);
/* Whether an access of the hart's is wanted at all. */
bool npu_initcheck_matters(unsigned mem, uint64_t first, uint64_t bytes);
void npu_initcheck_hart(const struct race_hart_access *a);
uint32_t npu_initcheck_count(void);
void npu_initcheck_write(FILE *to, bool first, uint32_t most);
uint64_t npu_initcheck_lost(void);
size_t npu_initcheck_bytes(void);

/* waitcheck.c: what the race check is told; a member of an object, behind a comma. */
void npu_waitcheck_init(unsigned checks, const struct check_host *host,
                        const struct race_config *config);
void npu_waitcheck_event(const struct npu_event *e);
void npu_waitcheck_hart(const struct race_hart_access *a);
void npu_waitcheck_write(FILE *to);

#endif
