/* SPDX-License-Identifier: MIT
 *
 * The state of the race check besides the shadow: what each agent knows, and what is on
 * its way from one to another.
 */
#ifndef TOOLS_EMU_CHECK_RACE_AGENT_H
#define TOOLS_EMU_CHECK_RACE_AGENT_H

#include "tools/emu/check/race/race.h"

enum { UNITS = ROW_UNIT_MARK * 64, HART_CACHE = 256 };

/* What somebody knew at a point of his program. */
struct stamp {
    struct clock *clock;
    uint32_t hart; /* up to which access the hart's own count as known, or 0 */
};

/* A command in a queue. */
struct slot {
    struct stamp from; /* the push */
    struct race_site site;
};

struct agent {
    struct clock *clock;
    struct clock *posted; /* a copy for posts, until it learns more */
    uint32_t serial;      /* of the last command that has begun */
    uint32_t ended;       /* and that has ended */
    uint64_t cycle;
    struct slot slot[PIPE_DEPTH];
    unsigned head, count;
};

/* Units that one post brought to a semaphore. */
struct unit {
    struct stamp stamp;
    uint32_t serial; /* of the post in its lane */
    uint16_t lane;
    uint8_t count;
};

/* Who has taken units of a semaphore last. */
struct taker {
    struct race_site site;
    uint32_t serial; /* 0: nobody */
    uint16_t lane;
    struct race_site
        lack[2]; /* where the hart found too few since, the last place first */
};

struct fifo {
    struct unit *unit; /* SEM_MAX + 1 of them, a ring */
    struct taker *last;
    uint8_t head;
    unsigned n;
    uint32_t taken; /* serial of the unit that was taken last, of lane taken_lane */
    uint16_t taken_lane;
    bool told; /* that its posts are mixed */
};

struct race {
    struct race_config config;
    struct race_report report;
    struct shadow shadow;
    struct arena arena;
    struct clocks clocks;
    struct agent agent[NPU_MAX_CORES][NPU_PIPES];
    struct clock *mark[NPU_MAX_CORES][UNITS]; /* of a unit of L0C */
    struct fifo sem[NPU_MAX_CORES + 1][SEM_CORE];
    struct stamp barrier;
    struct {
        uint16_t posted, taken; /* by these pipes of the core, a bit each */
    } used[NPU_MAX_CORES][SEM_COUNT];

    /* The hart: what it knows as the scalar unit of each core, and as all of them, which
     * is what counts outside of runs. Accesses between two things that it hands on have one
     * number. */
    struct clock *hart[NPU_MAX_CORES], *all;
    uint32_t hart_serial;
    bool hart_told; /* it has handed the number on: the next access has another */
    uint64_t task;  /* what it does, 0: no run */
    uint32_t pushes;
    unsigned queued; /* commands that have not ended */
    bool behind;     /* something has ended that it does not know of */

    struct toucher toucher; /* the access that is on its way */
    struct race_operand operand;
    unsigned core;
    struct {
        uint64_t pc;
        uint32_t serial, name;
    } cache[2][HART_CACHE]; /* records of loads and of stores */
};

static inline bool has_queue(unsigned pipe)
{
    return pipe != LANE_HART && pipe != LANE_RESULTS;
}

#endif
