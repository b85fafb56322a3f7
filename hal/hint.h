/* SPDX-License-Identifier: MIT
 *
 * What the firmware tells about memory (hal/contract/hint.h), the same in every run, so
 * that a checked one takes the cycles of any other. Nothing happens until chip_init() has
 * found the NPU.
 */
#ifndef HAL_HINT_H
#define HAL_HINT_H

#include "hal/chip.h"

static inline void hint(const struct hint *h)
{
    if (chip_cores() != 0) {
        chip_hint(h);
    }
}

static inline void hint_range(enum hint_kind kind, const void *addr, size_t bytes)
{
    hint(&(struct hint){.kind = kind, .addr = (uintptr_t)addr, .bytes = bytes});
}

/* A block of the heap that stays for later calls, and is no leak. */
static inline void hint_kept(const void *block, size_t bytes)
{
    hint(&(struct hint){.kind = HINT_USED,
                        .count = HINT_COUNT_KEPT,
                        .addr = (uintptr_t)block,
                        .bytes = bytes});
}

/* A launch or an operator. */
static inline void hint_name(enum hint_kind kind, const char *name)
{
    hint(&(struct hint){.kind = kind, .name = (uintptr_t)name});
}

#endif
