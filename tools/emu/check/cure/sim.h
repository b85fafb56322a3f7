/* SPDX-License-Identifier: MIT
 *
 * A segment of the tape, done once more with a change: for cure.c.
 */
#ifndef TOOLS_EMU_CHECK_CURE_SIM_H
#define TOOLS_EMU_CHECK_CURE_SIM_H

#include "tools/emu/check/race/found.h"

enum { SIM_PLACES = 8 };

/* What is other than on the tape, of each core. */
struct sim_edit {
    unsigned sem, pipe_post, pipe_take;
    /* Places of commands of these pipes that post a unit, that take one. */
    uint64_t post_at[SIM_PLACES], take_at[SIM_PLACES];
    unsigned n_post_at, n_take_at;
    /* Only such commands of these places that are part of an instance; they wait for as many
     * units as come with the one of the other side. */
    bool some;
    unsigned first; /* units that the hart posts before all else */
    unsigned
        fewer; /* that the hart posts fewer, of the first ones, and takes fewer back */
    /* The other commands of the pipe do not post, take any more; post no more than one. */
    bool move_post, move_take, one_post;
    bool more;  /* they take it already: one more, and the hart as many fewer */
    bool drain; /* the hart waits for the first pipe before it posts to the chip's */
    /* A barrier unit watches `sem`, of the chip, and posts `go` when all cores have come. */
    bool barrier;
    unsigned go;
};

/* Whether all comes to its end and each instance of the finding in the segment is ordered.
 * r: of the same chip. */
bool sim_orders(const struct findings *f, uint32_t finding, uint32_t segment,
                const struct race *r, const struct sim_edit *edit);
/* The cores that have commands of a place in a segment, a bit each. */
uint32_t sim_cores(const struct segment *s, uint64_t place);
/* A semaphore that nobody uses in a segment: of the core from 0 on, of the chip from
 * SEM_CORE on. */
bool sim_free_sem(const struct segment *s, unsigned first, unsigned *sem);

#endif
