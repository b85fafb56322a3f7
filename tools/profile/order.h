/* SPDX-License-Identifier: MIT
 *
 * The order of a run: what each command had to wait for before it could begin. With it the
 * run can be gone through again under other costs: every command begins when the last of
 * what it waits for has come, as in the run, so what has not changed takes the cycles that it
 * took.
 *
 * A command waits for the command before it in its pipe, for its push, and for the units of
 * its semaphores. The hart pushes commands in the order of the run; between two of them it
 * takes the instructions that it took, and where it slept, it sleeps until the command has
 * ended that woke it. What the run did beyond that (cycles that none of these explains)
 * stays.
 */
#ifndef TOOLS_PROFILE_ORDER_H
#define TOOLS_PROFILE_ORDER_H

#include "tools/profile/lane.h"

#define NO_ONE UINT32_MAX /* instead of a command */

/* Who was the last that a command waited for. */
enum reason { FROM_START, FROM_PIPE, FROM_HART, FROM_SEM };

/* A point of the hart's way: it pushes a command, or the run ends. Of what was between this
 * and the one before on the same core it was awake for `awake` cycles. If it slept, `waker` is
 * the command whose end woke it, `lag` cycles later, and `since` cycles before this. */
struct push {
    uint32_t command; /* NO_ONE: the end of the run */
    uint32_t before;  /* push of the same core, or NO_ONE */
    uint32_t waker;   /* NO_ONE: it did not sleep */
    uint64_t at, awake, lag, since;
    uint64_t price; /* of `awake`: of launches, which no instruction takes */
    uint64_t now;   /* when it is in the last replay */
    bool woken;     /* by then; else it goes on from the push before */
    bool inner;     /* of a loop: neither the first of a core in a launch nor the end */
};

struct order {
    const struct trace *t;
    uint32_t *before; /* in the pipe, by command */
    /* Units by semaphores, in the order in which they were taken: edges, the first of each
     * text and the place of each edge. */
    uint32_t *unit, *first_unit, *place;
    struct push *push;
    uint32_t pushes;
    uint32_t *push_of;     /* by command */
    int64_t *rest;         /* cycles of a command's begin that nothing explains */
    uint64_t *begin, *end; /* of the last replay, by command */
    uint8_t *reason;       /* enum reason */
    uint32_t *from;        /* the command that it waited for, or NO_ONE */
};

/* What is different. NULL and 0: as it was. */
struct change {
    const uint64_t *cycles; /* of commands, by command: what they take */
    const bool *drop;       /* edges that are not waited for */
    unsigned percent;       /* of the hart's work in loops that is left out */
    const uint32_t *more;   /* by text: units that a semaphore holds more at first */
};

void order_make(struct order *o, const struct trace *t);
void order_free(struct order *o);
/* The end of the run under a change. */
uint64_t order_replay(struct order *o, const struct change *change);

#endif
