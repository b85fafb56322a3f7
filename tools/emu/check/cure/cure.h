/* SPDX-License-Identifier: MIT
 *
 * What a race lacks. The run is gone through once more as it is on record, with a wait more:
 * every command begins as soon as it may, and the clocks tell what is ordered then. Only
 * what orders all instances of the race, and lets everything come to its end, is named.
 */
#ifndef TOOLS_EMU_CHECK_CURE_CURE_H
#define TOOLS_EMU_CHECK_CURE_CURE_H

#include "tools/emu/check/race/found.h"

enum cure_how {
    CURE_NONE, /* not found */
    CURE_TAKE, /* the semaphore is posted already; the second command has to wait for it */
    CURE_MORE,  /* it waits for a unit too few */
    CURE_POST,  /* it is posted by another command of the pipe, before the first one */
    CURE_EARLY, /* another command of the pipe waits for it, behind the second one */
    CURE_TWICE, /* a command of the first pipe posts it more than once */
    CURE_FEWER, /* the hart posts more units at first than there are buffers */
    CURE_DRAIN, /* the hart posts to the other core before the first command has ended */
    CURE_PAIR,  /* a semaphore of its own */
    CURE_BARRIER, /* of all cores, between the two */
};

struct cure {
    enum cure_how how;
    bool turned;    /* the first command, that posts, is b of the finding */
    bool some;      /* not each command of the two places posts, waits */
    unsigned sem;   /* not of CURE_DRAIN, CURE_PAIR, CURE_BARRIER */
    unsigned units; /* CURE_PAIR: that it holds at first; CURE_FEWER: that are too many */
    const struct tape_cmd *other; /* CURE_POST, CURE_EARLY, CURE_TWICE: who does */
};

/* work: of all calls so far, 0 at first; when it is too much nothing is tried any more. */
struct cure cure_of(const struct findings *f, uint32_t finding, const struct race *r,
                    uint64_t *work);

#endif
