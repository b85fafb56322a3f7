/* SPDX-License-Identifier: MIT
 *
 * Performance counters of a core.
 */
#ifndef HAL_PMU_H
#define HAL_PMU_H

#include "hal/contract/contract.h"

/* Sets every counter of the core to 0. */
void pmu_start(unsigned core);
/* How often pmu_start has been called: another number, another measurement. */
unsigned pmu_starts(void);
/* A counter of a pipe since pmu_start. */
uint64_t pmu_read(unsigned core, enum pipe pipe, enum pmu_counter counter);
/* Cycle in which the first command since pmu_start began, in which the last one ended; 0:
 * there was none. */
uint64_t pmu_first(unsigned core);
uint64_t pmu_last(unsigned core);
/* Cycles between the two, of this core alone. */
uint64_t pmu_span(unsigned core);
/* Count of an event of Ascend's profiler since pmu_start, through one of 8 selectors. */
uint64_t pmu_event(unsigned core, unsigned selector, enum pmu_event event);

/* The hart's own counter: 1 for an instruction, and it goes on while the hart sleeps. An
 * engine cycle is chip_shared() of them. */
static inline uint64_t hart_clock(void)
{
    uint64_t now = 0;

#ifdef __riscv
    __asm__ volatile("csrr %0, mcycle" : "=r"(now));
#endif
    return now;
}

#endif
