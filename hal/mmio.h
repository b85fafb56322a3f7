/* SPDX-License-Identifier: MIT
 *
 * Access to device registers and the order of accesses. Registers are 64 bits wide
 * (hal/contract); addresses come from the contract, never from a kernel.
 */
#ifndef HAL_MMIO_H
#define HAL_MMIO_H

#include <stdint.h>
#include "hal/contract/contract.h"

static inline uint64_t read64(uintptr_t addr)
{
    return *(volatile uint64_t *)addr;
}

static inline void write64(uintptr_t addr, uint64_t value)
{
    *(volatile uint64_t *)addr = value;
}

/* What was stored to memory is seen by the device before what is stored to it. Planners run on
 * the host too, where there is no device. */
static inline void fence_push(void)
{
#ifdef __riscv
    __asm__ volatile("fence rw, o" ::: "memory");
#endif
}

/* What the device has announced is seen by the loads that follow. */
static inline void fence_pull(void)
{
#ifdef __riscv
    __asm__ volatile("fence io, rw" ::: "memory");
#endif
}

/* First byte of a core's window. */
static inline uintptr_t core_base(unsigned core)
{
    return (uintptr_t)NPU_CORE_BASE + (uintptr_t)core * NPU_CORE_STRIDE;
}

/* First register of a pipe. */
static inline uintptr_t pipe_base(unsigned core, enum pipe pipe)
{
    return core_base(core) + PIPE_BASE + (uintptr_t)pipe * PIPE_STRIDE;
}

#endif
