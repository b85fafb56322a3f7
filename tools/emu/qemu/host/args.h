/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A call of the guest to the host with its arguments, as it is judged and made.
 *
 * Each argument is copied once. It has to lie in memory: what is no memory, a register of a
 * clock or a FIFO say, may read otherwise the next time. The hart has to be in M-mode and
 * without translation, or each read of QEMU's would walk page tables of the guest's choice,
 * which may be such registers.
 *
 * What is left to QEMU (handles, lengths and data of calls without a path) it reads again from
 * there. Nothing of ours writes there meanwhile: the hart waits for the call, engines move
 * data in timers of the virtual clock, which the hart's thread runs between its instructions
 * and under the lock that it has now, and the threads of apart.c have been waited for. A
 * device of QEMU's that the user has added may; it then changes what is written where the
 * guest may write anyway.
 */
#ifndef TOOLS_EMU_QEMU_HOST_ARGS_H
#define TOOLS_EMU_QEMU_HOST_ARGS_H

#include "tools/emu/qemu/device/call.h"

struct call_args {
    uint32_t op;
    uint64_t word[3]; /* of the parameter block; of what has none the address and bytes of
                       * what it points to */
    char *text;       /* the path; to be freed */
};

/* NULL, or why the call is not made. */
const char *args_copy(CPUState *cpu, struct call_args *args);
/* `bytes` of the guest's memory, which lie there all; NULL. */
char *args_memory(uint64_t addr, uint64_t bytes);

#endif
