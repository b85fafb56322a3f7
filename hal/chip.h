/* SPDX-License-Identifier: MIT
 *
 * What chip this is: cores, memory sizes, rates and costs, read from its capability
 * block, so that one image runs on every profile.
 */
#ifndef HAL_CHIP_H
#define HAL_CHIP_H

#include "hal/contract/contract.h"
#include "hal/err.h"
#include "hal/mmio.h"

/* Reads the capability block and lets the heap use all DRAM. ERR_ABSENT if the registers
 * are not those of this contract. Traps where there is no NPU at all. */
MUST_CHECK int chip_init(void);
unsigned chip_cores(void);
enum npu_profile chip_profile(void);
/* Whose prices hold; chip_cost() has them. */
enum npu_timing chip_timing(void);
/* A number of the profile that the machine runs with (not of this image's tables). */
uint32_t chip_cost(enum npu_cost cost);
/* Whether M multiplies, V works on or FIX makes numbers of a type on this chip; else the
 * command stops with CHIP. */
static inline bool chip_has_type(enum pipe pipe, enum type type)
{
    return chip_cost(pipe == PIPE_M ? COST_TYPES_CUBE : COST_TYPES_VECTOR) >> type & 1;
}
/* Whether this chip has MMAD_SPARSE; else it and SPARSE_L1_L0B stop with CHIP. */
static inline bool chip_has_sparse(void)
{
    return chip_cost(COST_L0B_INDEX_BYTES) != 0;
}
/* Bytes of a core's memory; 0 if this chip does not have it. */
uint32_t chip_mem(enum npu_mem mem);
/* What the hart does from now on, for the trace if there is one: a name, and if chip_work()
 * made it also the core whose scalar unit it then is. */
static inline void chip_works(uint64_t work)
{
    fence_push();
    write64(NPU_CHIP_BASE + CHIP_TRACE, work);
}
static inline uint64_t chip_work(const char *name, unsigned core)
{
    return (uintptr_t)name | field_put(CHIP_TRACE_CORE, core + 1);
}
/* It works for no core; NULL: does nothing. The string must stay where it is while others
 * run. */
static inline void chip_mark(const char *name)
{
    chip_works((uintptr_t)name);
}
/* Tells checkers what memory is for; the struct is read at once. */
static inline void chip_hint(const struct hint *hint)
{
    fence_push();
    write64(NPU_CHIP_BASE + CHIP_HINT, (uintptr_t)hint);
}
/* How many cores' scalar units the hart is from now on: a cycle is so many of its
 * instructions; launch: one of them begins, at its price. Under TIMING=v1 it is always
 * those of all cores. chip_shared() tells. */
void chip_share(unsigned cores, bool launch);
unsigned chip_shared(void);
/* Sets the semaphores of the chip to 0 and turns its barrier units off. */
void chip_reset(void);
/* Empties L2: what is read next comes from HBM, as if the chip had just begun. */
void chip_l2_empty(void);
/* Cores, a bit each, that have commands; of these, that run one, so that something will
 * still end; that want the hart (hal/irq.h). */
uint32_t chip_busy(void);
uint32_t chip_running(void);
uint32_t chip_wanted(void);
/* Engine cycles since power-on. */
uint64_t chip_cycle(void);
/* Returns when a cycle of the engines begins, so that what follows takes the same cycles
 * whatever instructions came before. */
void chip_align(void);
/* Returns when a cycle begins: which. What passes from there to a later chip_cycle() does
 * not depend on how many instructions came before, as of a longer path on the command line:
 * a measurement that is printed begins so. */
static inline uint64_t chip_cycle_begins(void)
{
    chip_align();
    return chip_cycle();
}
/* Where the hart sees byte `offset` of a core's memory: UB and L1 are the hart's to load
 * and store, L0A, L0B and L0C a debugger's only. */
void *chip_local(unsigned core, enum npu_mem mem, uint32_t offset);

#endif
