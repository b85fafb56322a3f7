/* SPDX-License-Identifier: MIT
 *
 * The race check: which accesses of engines and hart to one byte are ordered by nothing.
 *
 * It is told what happens, in the order in which it does, and keeps for each agent (a
 * pipe, the hart as the scalar unit of a core) a vector clock. Agents learn from each
 * other by pushes, by units of semaphores, by units of L0C and by the hart's reading that
 * a pipe is done; units of a semaphore leave in the order in which they came. Nothing else
 * orders: no cycle, no depth of a queue, no value that was only read. Two accesses to one
 * byte of which one writes, and of which neither knows of the other, are a race: a timing
 * that the contract allows shows it, however this run went. hal/contract/pipe.md,
 * "Ordering", has the rules.
 */
#ifndef TOOLS_EMU_CHECK_RACE_RACE_H
#define TOOLS_EMU_CHECK_RACE_RACE_H

#include "tools/emu/check/race/shadow.h"

/* Who posts and takes, where it is no pipe. */
enum { RACE_HART = NPU_PIPES, RACE_BARRIER };

/* Where a command comes from and what it is, as one number: what was pushed by a function
 * of the scheduler comes from whoever called that, and one line may issue many. */
static inline uint64_t race_place(uint64_t pc, uint64_t caller, unsigned opcode)
{
    return pc ^ caller << 20 ^ (uint64_t)opcode << 48;
}

struct race_config {
    unsigned cores;
    enum npu_profile profile;
    uint64_t gm_base, gm_bytes;
};

/* Two accesses, `a` before `b` in this run; `found` is called for each such pair of
 * commands, with the first byte. */
struct race_pair {
    const struct record *a, *b;
    unsigned core, mem; /* core: whose memory */
    uint64_t addr;
    bool inexact; /* sums of floats in any order: other bytes, but no byte is torn */
};

/* A semaphore that two lanes post in any order gave units of one: a wait may match the lucky
 * one, so a race behind it may not show. Or two lanes take from it in any order units of
 * several posts: under another timing each gets what the other waits for. */
struct race_mixed {
    unsigned core, sem, lane_a, lane_b;
    bool takes;
    struct race_site site_a, site_b; /* of takes */
};

struct race_report {
    void (*found)(void *ctx, const struct race_pair *pair);
    void (*mixed)(void *ctx, const struct race_mixed *mixed);
    void *ctx;
};

struct race;

struct race *race_new(const struct check_host *host, const struct race_config *config,
                      const struct race_report *report);
void race_free(struct race *r);
unsigned race_cores(const struct race *r);
/* Bytes of the host's memory that it holds. */
size_t race_bytes(const struct race *r);
/* Bytes of memories that have been touched, see shadow_touched(). */
uint64_t race_touched(const struct race *r);

/* --- commands --- */

void race_push(struct race *r, unsigned core, unsigned pipe,
               const struct race_site *site);
/* The head begins; race_take() what it takes before this. */
void race_begin(struct race *r, unsigned core, unsigned pipe, uint64_t cycle);
/* Units of L0C, ROW_UNIT_MARK words, whose marks the head has waited for; that it hands
 * on: an Mmad when it begins, the fixpipe when it ends. */
void race_units_wait(struct race *r, unsigned core, unsigned pipe, const uint64_t *units);
void race_units_pass(struct race *r, unsigned core, unsigned pipe, const uint64_t *units);
/* The head has ended; its accesses follow, then its posts. */
void race_end(struct race *r, unsigned core, unsigned pipe, uint64_t cycle);

/* An operand of the head, from its first to its last byte, whose ranges follow. Operands
 * that are read come first. results: it is what an Mmad hands on, told when it begins. */
struct race_operand {
    uint8_t kind, field, mem;
    bool results;
    uint64_t base, bytes;
};
void race_operand(struct race *r, unsigned core, unsigned pipe,
                  const struct race_operand *operand);
void race_range(struct race *r, uint64_t first, uint64_t bytes);

/* The semaphores that lane `from` posts and lane `to` takes, bits. */
void race_between(const struct race *r, unsigned from, unsigned to,
                  uint64_t sems[SEM_COUNT / 64]);

/* --- what orders --- */

/* who: a pipe of `core`; RACE_HART, by that core's page; RACE_BARRIER, for posts of what
 * its last take has brought. */
void race_take(struct race *r, unsigned core, unsigned who, unsigned sem, unsigned count);
/* Before that: whether it might as well have come before the last take of the semaphore. */
struct race_want {
    unsigned core, who, sem, count;
    unsigned beside, n_beside; /* what the command takes at once with it */
    uint64_t pc, ra;           /* the hart's */
};
void race_contend(struct race *r, const struct race_want *want);
/* The hart would have taken units, and there were too few. A task that has to wait tries
 * where it is, then the scheduler does for it, always in one place. */
void race_lacks(struct race *r, const struct race_want *want);
void race_post(struct race *r, unsigned core, unsigned who, unsigned sem, unsigned count);
/* A take that orders nothing. */
void race_drop(struct race *r, unsigned core, unsigned sem, unsigned count);
/* The hart has seen that a pipe is done. */
void race_drained(struct race *r, unsigned core, unsigned pipe);
void race_reset_pipe(struct race *r, unsigned core, unsigned pipe);
void race_reset_core(struct race *r, unsigned core);
void race_reset_chip(struct race *r);
/* The hart names what it does. 0: no run; then it knows all that any core knows. */
void race_task(struct race *r, uint64_t name);

/* Whether nothing is queued and the scalar unit of every core knows of all that has ended:
 * what comes is ordered behind it. */
bool race_settled(const struct race *r);

/* --- the hart's loads and stores --- */

/* False: no access of the hart's can be part of a race now. */
bool race_hart_matters(const struct race *r);
/* site: pc, and the return address, which means something in a leaf such as memset. */
struct race_hart_access {
    struct race_site site;
    uint64_t cycle;
    unsigned core, mem; /* core: whose memory */
    uint64_t first, bytes;
    bool write;
};
void race_hart(struct race *r, const struct race_hart_access *access);

#endif
