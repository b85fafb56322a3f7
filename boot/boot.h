/* SPDX-License-Identifier: MIT
 *
 * What the files of boot/ know of each other, and what tests may hook into.
 */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/err.h"

/* The frame that trap.S saves: integer registers by number, then the trap's CSRs. The
 * slot of x0 is not used. */
struct trap_frame {
    uint64_t x[32];
    uint64_t pc, status, cause, value;
};

/* Makes stdio of the C library write to the console; called by start.S. */
void libc_init(void);

/* Makes stores to code and constants and any access to the page under the main stack
 * trap, for the rest of the run. */
void protect_init(void);

/* Ends the run with RUN_FAULT and a report of one line, "what at file:line" or so. */
_Noreturn void trap_panic(const char *what);

/*
 * A handler for one cause (mcause with the interrupt bit on top). It runs on the trap
 * stack with interrupts off, may use floating point, must not block nor print, and may
 * move frame->pc. NULL takes the handler away; a trap without one ends the run. Returns
 * 0, or ERR_BUSY if there is no room for another.
 */
typedef void trap_handler_fn(struct trap_frame *frame);
MUST_CHECK int trap_register(uint64_t cause, trap_handler_fn *handler);

/* Whether the next allocation fails, with errno; NULL: as long as there is memory, none
 * does. */
extern bool (*heap_refuses)(void);

#endif
