/* SPDX-License-Identifier: MIT
 *
 * Performance counters of a core.
 */
#ifndef HAL_PMU_H
#define HAL_PMU_H

#include "hal/contract/contract.h"

/* Sets every counter of the core to 0. */
void pmu_start(unsigned core);
/* A counter of a pipe since pmu_start. */
uint64_t pmu_read(unsigned core, enum pipe pipe, enum pmu_counter counter);
/* Cycles from the begin of the first command since pmu_start to the end of the last. */
uint64_t pmu_span(unsigned core);
/* Count of an event of Ascend's profiler since pmu_start, through one of 8 selectors. */
uint64_t pmu_event(unsigned core, unsigned selector, enum pmu_event event);

#endif
