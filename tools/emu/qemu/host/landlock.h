/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hart's thread without its rights: Linux's Landlock.
 */
#ifndef TOOLS_EMU_QEMU_HOST_LANDLOCK_H
#define TOOLS_EMU_QEMU_HOST_LANDLOCK_H

#include "tools/emu/qemu/device/compat.h"

/* Before the first instruction of the guest the hart's thread, and with it all threads that it
 * makes, can open for reading the files that names.h lets be read and that no place has,
 * write to two devices, and start no program. False: this kernel has no Landlock, or it is
 * off. */
bool landlock_build(void);

#endif
