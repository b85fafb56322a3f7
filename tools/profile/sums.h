/* SPDX-License-Identifier: MIT
 *
 * Sums over a trace: where the cycles of each pipe went, bytes by path, cost by source line.
 * Everything adds up: a pipe's busy, lost, waited and empty cycles are the whole span, from
 * the first event of the trace to its last.
 */
#ifndef TOOLS_PROFILE_SUMS_H
#define TOOLS_PROFILE_SUMS_H

#include "tools/profile/lane.h"

/* Why a pipe did not work at its rate. */
enum cause {
    CAUSE_SEM,   /* the head waited; text: for which semaphore */
    CAUSE_EMPTY, /* nothing was queued; text: what the hart did meanwhile */
    CAUSE_SHARED,
    CAUSE_L2,
    CAUSE_BANK,
    CAUSES,
};
const char *cause_name(enum cause cause);

struct lane_sum {
    uint64_t busy; /* a command ran, its lost cycles not counted */
    uint64_t cause[CAUSES];
    uint64_t before,
        after; /* of the empty ones: before its first command, behind its last */
    uint64_t commands, read, written, ops;
};

struct stall {
    uint32_t lane, text;
    uint8_t by; /* CAUSE_SEM: pipe that posted late, 0: the hart */
    enum cause cause;
    uint64_t cycles;
};

struct path {
    uint8_t from, to;
    uint64_t commands, bytes, cycles;
};

struct line {
    uint32_t line, name; /* texts; commands of a line that have a name */
    uint8_t pipe;
    uint64_t commands, cycles, waited, lost, bytes, ops;
};

struct sums {
    struct lanes lanes;
    struct lane_sum *lane;
    struct stall *stall; /* the longest first */
    struct path *path;
    struct line *line;
    uint32_t stalls, paths, lines;
    uint32_t *table, room; /* of stalls, while they are added up */
};

void sums_make(struct sums *s, const struct trace *t);
void sums_free(struct sums *s);

#endif
