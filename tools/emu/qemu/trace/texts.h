/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a command is, in words, for traces and tables.
 */
#ifndef TOOLS_EMU_QEMU_TRACE_TEXTS_H
#define TOOLS_EMU_QEMU_TRACE_TEXTS_H

#include "tools/emu/qemu/trace/trace.h"

/* The string at an address of guest memory, cut short; "" if there is none. Until the next
 * call. */
const char *npu_text_of_guest(const SalaiNPU *npu, uint64_t addr);
/* The record of a hint; false: it is not in guest memory. */
bool npu_hint_of_guest(const SalaiNPU *npu, uint64_t addr, struct hint *hint);
/* The name of a memory or of GM. */
const char *npu_text_mem(unsigned mem);
/* Fills in the texts of a command, whose e and f are set. Until the next call. */
void npu_text_command(const SalaiNPU *npu, const struct follow *f, TraceCommand *c);
/* Only its line, which stays. */
const char *npu_text_line(const struct npu_event *e);
/* A tile program is launched, and its lines are those of this name. */
void npu_text_launch(const char *name);

#endif
