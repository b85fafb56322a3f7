/* SPDX-License-Identifier: MIT
 *
 * Sleeping until a core wants the hart. Interrupts are never taken: mstatus.MIE stays 0
 * and wfi returns as soon as a line that mie enables is up, so there is no window between
 * looking and sleeping in which a wake-up could be lost.
 */
#ifndef HAL_IRQ_H
#define HAL_IRQ_H

#include <stdbool.h>
#include <stdint.h>

/* Lets the lines of cores 0 to n - 1 end an irq_wait. */
void irq_init(unsigned n);
/* Something that was asked for has happened, or a fault; a fault has. */
bool irq_wanted(unsigned core);
bool irq_fault(unsigned core);
/* Also ends a sleep when the last command that runs on the core has ended, or not. */
void irq_arm_idle(unsigned core, bool on);
/* Sleeps until a line is up, not at all if one is: a fault, or what pipe_arm, sem_arm and
 * irq_arm_idle asked for. */
void irq_wait(void);
/* How often irq_wait has slept. */
uint64_t irq_sleeps(void);

#endif
