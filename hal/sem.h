/* SPDX-License-Identifier: MIT
 *
 * Hardware semaphores as the hart sees them: 0 to SEM_CORE - 1 are the core's own, from
 * SEM_CORE on the chip's, the same for every core. Engines take and post them in their
 * commands (hal/pipe.h). Nothing here blocks.
 */
#ifndef HAL_SEM_H
#define HAL_SEM_H

#include <assert.h>
#include "hal/err.h"
#include "hal/mmio.h"

/* Adds `count`. Beyond SEM_MAX nothing is added and the core holds a fault, SEM_OVERFLOW
 * (core_fault): the store itself does not tell. */
static inline void sem_post(unsigned core, unsigned sem, unsigned count)
{
    fence_push();
    write64(core_base(core) + SEM_POST + 8 * sem, count);
}

/* What sem_try_take_at wants to know of a core. */
static inline uintptr_t sem_window(unsigned core)
{
    return core_base(core);
}

/* Takes `count`. ERR_BUSY: there are fewer, ERR_ARG: there are never so many, it is above
 * SEM_MAX; then the semaphore is as it was. */
MUST_CHECK static inline int sem_try_take_at(uintptr_t window, unsigned sem,
                                             unsigned count)
{
    write64(window + SEM_TAKE + 8 * sem, count);
    if (!read64(window + SEM_TAKEN)) {
        return count <= SEM_MAX ? ERR_BUSY : ERR_ARG;
    }
    fence_pull();
    return 0;
}

MUST_CHECK static inline int sem_try_take(unsigned core, unsigned sem, unsigned count)
{
    return sem_try_take_at(sem_window(core), sem, count);
}

/* Value; reading changes nothing. */
static inline unsigned sem_value(unsigned core, unsigned sem)
{
    return (unsigned)read64(core_base(core) + SEM_VALUE + 8 * sem);
}

/* Whether SEM_CORE semaphores from `first` on, the core's own or the chip's, are all 0. */
static inline bool sem_all_zero(unsigned core, unsigned first)
{
    const volatile uint64_t *value =
        (const volatile uint64_t *)(core_base(core) + SEM_VALUE + 8 * first);
    uint64_t any = 0;

    _Static_assert(SEM_CORE % 16 == 0 && SEM_CHIP == SEM_CORE, "sixteen at a time");
    for (const volatile uint64_t *end = value + SEM_CORE; value != end; value += 16) {
        any |= value[0] | value[1] | value[2] | value[3];
        any |= value[4] | value[5] | value[6] | value[7];
        any |= value[8] | value[9] | value[10] | value[11];
        any |= value[12] | value[13] | value[14] | value[15];
    }
    return any == 0;
}

/* Raises the core's interrupt while the semaphore holds at least `count`; 0: never. */
static inline void sem_arm(unsigned core, unsigned sem, unsigned count)
{
    write64(core_base(core) + SEM_ARM + 8 * sem, count);
}

/* What sem_arm has set. */
static inline unsigned sem_armed(unsigned core, unsigned sem)
{
    return (unsigned)read64(core_base(core) + SEM_ARM + 8 * sem);
}

/*
 * Sets one of the chip's ROW_CHIP_BARRIER barrier units: whenever semaphore `watch` (of
 * the chip, SEM_CORE to SEM_COUNT - 1) holds `count` or more, the unit takes `count` from
 * it and posts 1 to semaphore `target` (0 to SEM_CORE - 1) of every core whose bit is set
 * in `cores`, in that cycle, without the hart. count 0: off. A target beyond SEM_MAX is a
 * fault of its core. chip_reset() turns all of them off.
 *
 * A barrier of n cores: barrier_set(0, ARRIVE, n, GO, cores); each core's last command
 * posts ARRIVE 1, its next one waits for GO 1.
 */
static inline void barrier_set(unsigned unit, unsigned watch, unsigned count,
                               unsigned target, uint32_t cores)
{
    assert(unit < ROW_CHIP_BARRIER && count <= SEM_MAX);
    assert(watch >= SEM_CORE && watch < SEM_COUNT && target < SEM_CORE);
    fence_push();
    write64(NPU_CHIP_BASE + CHIP_BARRIER + 8 * unit,
            field_put(CHIP_BARRIER_WATCH, watch - SEM_CORE) |
                field_put(CHIP_BARRIER_COUNT, count) |
                field_put(CHIP_BARRIER_TARGET, target) |
                field_put(CHIP_BARRIER_CORES, cores));
}

#endif
