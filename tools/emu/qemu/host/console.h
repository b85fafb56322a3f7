/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an image prints, where somebody looks at it: a terminal would obey what is no text.
 */
#ifndef TOOLS_EMU_QEMU_HOST_CONSOLE_H
#define TOOLS_EMU_QEMU_HOST_CONSOLE_H

#include "tools/emu/qemu/device/compat.h"

/* Text with control characters but newline, tab and carriage return as \xNN, and so what is
 * no UTF-8; to be freed. */
char *console_shown(const char *bytes, size_t n);
/* Writes that where `fd` is a terminal, the bytes themselves elsewhere. Returns how many bytes
 * of them were not written. */
size_t console_put(int fd, const char *bytes, size_t n);

#endif
