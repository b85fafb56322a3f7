/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of a trace: how many commands are queued and what passes between GM and a core,
 * a sample for so many cycles; units of semaphores; memory that is handed out.
 */
#ifndef TOOLS_EMU_QEMU_TRACE_COUNTERS_H
#define TOOLS_EMU_QEMU_TRACE_COUNTERS_H

#include "tools/emu/qemu/trace/trace.h"

void npu_count_open(const TraceFormat *format, SalaiNPU *npu);
void npu_count_end(uint64_t now);
/* Behind a push or an end, an end, a take or a post, a reset. */
void npu_count_queue(const struct follow *f, const struct npu_event *e);
void npu_count_ended(const struct follow *f, const struct npu_event *e);
void npu_count_units(const struct npu_event *e);
void npu_count_reset(const struct follow *f, const struct npu_event *e);
void npu_count_memory(SalaiNPU *npu, uint64_t now, const struct hint *h);
/* What the firmware calls the buffer at an address, "" if it has not said. */
const char *npu_count_buffer(unsigned core, unsigned mem, uint64_t addr);

#endif
