/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where in the source the commands of a trace come from.
 */
#ifndef TOOLS_EMU_QEMU_TRACE_LINES_H
#define TOOLS_EMU_QEMU_TRACE_LINES_H

#include "tools/emu/qemu/device/compat.h"

/* Starts the toolchain's addr2line for the image that runs; without it no line is known.
 * Before the image is confined. */
void npu_lines_open(void);
/* "file:line" of a command that has its own pc (ra 0) or the hart's; NULL: not known. Lives
 * as long as the program, and the same place has the same text. */
const char *npu_line(uint64_t pc, uint64_t ra);

#endif
