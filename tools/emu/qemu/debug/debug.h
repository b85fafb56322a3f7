/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stops of the device (debug.c), as those ask for them who understand a debugger's words
 * (requests.c).
 */
#ifndef TOOLS_EMU_QEMU_DEBUG_DEBUG_H
#define TOOLS_EMU_QEMU_DEBUG_DEBUG_H

#include "tools/emu/qemu/device/device.h"

#define ANY UINT64_MAX

typedef struct Stop {
    unsigned on; /* bits 1 << what */
    uint64_t id, core, pipe, number, opcode;
    uint64_t tag, bits; /* of a command's tag these bits, all of them unless told */
    uint64_t mem, first, bytes, reads, writes; /* an access */
    uint64_t sem, value;
    uint64_t ignore; /* so many times more it does not stop, ANY: none */
    uint64_t log;    /* 1: it never stops, but notes what happens */
} Stop;

/* Events by their names: bits of a Stop's `on`; 0: no such event. */
unsigned npu_stop_event(const char *name);
void npu_stop_add(const Stop *stop);
/* Of all stops whose number is `id`, or ANY. */
void npu_stop_delete(uint64_t id);
void npu_stop_ignore(uint64_t id, uint64_t times);
char *npu_stop_list(void);
/* What has been noted since this was asked last, a line each. */
char *npu_stop_log(void);
/* Stops count at one instant (ns) alone, or are noted only, until one; ANY: not so. */
void npu_stop_gate(uint64_t when, uint64_t until);
/* Stops when the clock has come to `ns`, once. */
void npu_stop_at(SalaiNPU *npu, int64_t ns);

/* requests.c: the property "debug". */
void npu_requests_init(SalaiNPU *npu);

#endif
