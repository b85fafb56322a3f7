/* SPDX-License-Identifier: MIT
 *
 * Sleeping until a core wants the hart. Interrupts are never taken: mstatus.MIE stays 0
 * and wfi returns as soon as a line that mie enables is up, so there is no window between
 * looking and sleeping in which a wake-up could be lost. chip_wanted() tells whose lines
 * are up.
 */
#ifndef HAL_IRQ_H
#define HAL_IRQ_H

#include <stdbool.h>
#include <stdint.h>

/* Lets the lines of cores 0 to n - 1 end an irq_wait. */
void irq_init(unsigned n);
/* Whether the hart takes interrupts (mstatus.MIE), which nothing here may switch on. */
static inline bool irq_taken(void)
{
    uint64_t status;

    __asm__ volatile("csrr %0, mstatus" : "=r"(status));
    return status & 8;
}
/* A fault, or something that was asked for has happened. */
bool irq_fault(unsigned core);
/* Ends a sleep also when the last command that runs on one of these cores has ended; a
 * bit each, 0: never. */
void irq_arm_idle(uint32_t cores);
/* Whether a fault of the core ends a sleep, which it does unless told otherwise. */
void irq_arm_fault(unsigned core, bool on);
/* Empties what lines have latched: nothing to do with a line that is still up. */
void irq_forget(void);
/* Raises the core's line from an engine cycle on; 0: never. */
void irq_alarm(unsigned core, uint64_t cycle);
/* Sleeps until a line is up, not at all if one is: a fault, or what pipe_arm, sem_arm,
 * irq_arm_idle and irq_alarm asked for. True if it has slept. */
bool irq_wait(void);
/* How often irq_wait has slept. */
uint64_t irq_sleeps(void);

#endif
