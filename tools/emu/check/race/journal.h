/* SPDX-License-Identifier: MIT
 *
 * All that a race check was told, bytes included, to be told again: which waits of commands
 * order something. A wait is redundant if without it, and without the posts that it has
 * taken, each two accesses that conflict are still ordered, in the schedule that was seen and
 * so, as the check judges, in any. Each is tried alone, so of two that stand for each other
 * both are told.
 */
#ifndef TOOLS_EMU_CHECK_RACE_JOURNAL_H
#define TOOLS_EMU_CHECK_RACE_JOURNAL_H

#include "tools/emu/check/race/race.h"
#include "tools/emu/model/npu.h"

enum entry_what {
    ENTRY_PUSH,
    ENTRY_TAKE,
    ENTRY_POST,
    ENTRY_BEGIN,
    ENTRY_UNITS, /* a word of units of L0C, of the next one of these: */
    ENTRY_WAITS,
    ENTRY_PASSES,
    ENTRY_OPERAND,
    ENTRY_RANGE,
    ENTRY_END,
    ENTRY_DRAINED,
    ENTRY_RESET_PIPE,
    ENTRY_RESET_CORE,
    ENTRY_RESET_CHIP,
    ENTRY_TASK,
    ENTRY_HART,
};

struct entry {
    uint8_t what, core, pipe, sem; /* pipe: or who, or a memory; sem: or a kind, a word */
    uint32_t n;                    /* units, rows; an opcode; a memory */
    uint64_t at;                   /* first byte, pc, word of units, task */
    uint32_t bytes, stride;        /* of rows; bytes: or the caller's address */
};

/* A wait: of the commands that come from a place, for a semaphore. */
struct wait {
    uint64_t pc, caller;
    unsigned core, pipe, sem, opcode; /* of the first such command */
    uint32_t count;
    bool alone; /* no command of another place waits for the semaphore */
    bool redundant;
};

enum { WAITS_MOST = 256 };

struct journal {
    const struct check_host *host;
    struct race_config config;
    struct entry *entry;
    size_t n, room;
    bool full; /* it is not complete: nothing is known */
    struct wait wait[WAITS_MOST];
    unsigned n_waits;
};

void journal_open(struct journal *j, const struct check_host *host,
                  const struct race_config *config);
void journal_close(struct journal *j);
void journal_add(struct journal *j, const struct entry *e);
/* What happens, and an access of the hart's: as the race check is told. */
void journal_event(struct journal *j, const struct npu_event *e);
void journal_hart(struct journal *j, const struct race_hart_access *a);
/* Fills in wait[]; false if there is a race even with all of them, or the run was too long. */
bool journal_judge(struct journal *j);

#endif
