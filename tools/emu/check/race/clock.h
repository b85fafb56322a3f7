/* SPDX-License-Identifier: MIT
 *
 * Vector clocks: for each lane the serial number up to which what happened there is known
 * to have happened before. A clock that others point to is not changed any more: it is
 * copied instead.
 *
 * A core has eight lanes, its pipes by their numbers. Two pipe numbers have no queue; their
 * lanes are LANE_RESULTS, what an Mmad hands to the fixpipe before it ends, and of core 0
 * LANE_HART, the hart's own loads and stores.
 */
#ifndef TOOLS_EMU_CHECK_RACE_CLOCK_H
#define TOOLS_EMU_CHECK_RACE_CLOCK_H

#include "hal/contract/contract.h"
#include "tools/emu/check/host.h"
#include "tools/emu/model/mem.h"

enum { LANE_HART = 0, LANE_RESULTS = 6 };

struct clock {
    union {
        struct clock *next; /* of those that nobody points to */
        uint64_t refs;
    };
    uint32_t lane[];
};

struct clocks {
    struct arena *arena;
    unsigned lanes;
    struct clock *free;
};

static inline unsigned lane_of(unsigned core, unsigned pipe)
{
    return core * NPU_PIPES + pipe;
}

static inline struct clock *clock_new(struct clocks *c)
{
    struct clock *clock = c->free;

    if (clock) {
        c->free = clock->next;
        memset(clock->lane, 0, c->lanes * sizeof(clock->lane[0]));
    } else {
        clock = arena_alloc(c->arena, sizeof(*clock) + c->lanes * sizeof(clock->lane[0]));
    }
    clock->refs = 1;
    return clock;
}

static inline void clock_put(struct clocks *c, struct clock *clock)
{
    if (clock && --clock->refs == 0) {
        clock->next = c->free;
        c->free = clock;
    }
}

static inline struct clock *clock_get(struct clock *clock)
{
    clock->refs++;
    return clock;
}

static inline struct clock *clock_copy(struct clocks *c, const struct clock *from)
{
    struct clock *clock = clock_new(c);

    memcpy(clock->lane, from->lane, c->lanes * sizeof(clock->lane[0]));
    return clock;
}

static inline void clock_join(const struct clocks *c, struct clock *to,
                              const struct clock *from)
{
    for (unsigned i = 0; i < c->lanes; i++) {
        to->lane[i] = to->lane[i] > from->lane[i] ? to->lane[i] : from->lane[i];
    }
}

static inline void clock_reach(struct clock *clock, unsigned lane, uint32_t serial)
{
    if (clock->lane[lane] < serial) {
        clock->lane[lane] = serial;
    }
}

#endif
