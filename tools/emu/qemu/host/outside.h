/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Work for a thread that is not confined. The hart's thread, and all that it has made, may
 * not make, name or remove a file (landlock.c), also when it runs the exit handlers.
 */
#ifndef TOOLS_EMU_QEMU_HOST_OUTSIDE_H
#define TOOLS_EMU_QEMU_HOST_OUTSIDE_H

/* Makes the thread, from one that is not confined either. More than once is no mistake. */
void outside_begin(void);
/* Has the thread call fn(arg) and waits for it. fn does not take QEMU's big lock, which the
 * caller may have. */
void outside_do(void (*fn)(void *arg), void *arg);

#endif
