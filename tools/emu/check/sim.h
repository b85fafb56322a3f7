/* SPDX-License-Identifier: MIT
 *
 * A segment of the tape, done once more with a change: for cure.c.
 */
#ifndef TOOLS_EMU_CHECK_SIM_H
#define TOOLS_EMU_CHECK_SIM_H

#include "tools/emu/check/found.h"

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
};

/* Whether all comes to its end and each instance of the finding in the segment is ordered.
 * r: of the same chip. */
bool sim_orders(const struct findings *f, uint32_t finding, uint32_t segment,
                const struct race *r, const struct sim_edit *edit);
/* A semaphore of a core that nobody uses in a segment. */
bool sim_free_sem(const struct segment *s, unsigned *sem);

#endif
