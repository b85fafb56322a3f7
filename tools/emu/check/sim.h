/* SPDX-License-Identifier: MIT
 *
 * A segment of the tape, done once more with a change: for cure.c.
 */
#ifndef TOOLS_EMU_CHECK_SIM_H
#define TOOLS_EMU_CHECK_SIM_H

#include "tools/emu/check/found.h"

/* What is other than on the tape, of each core. */
struct sim_edit {
    unsigned sem;
    uint64_t post_at, take_at; /* places of commands; 0: none */
    unsigned n_post, n_take;   /* units that they post, wait for */
    unsigned first;            /* that the hart posts before all else */
    unsigned pipe_post, pipe_take;
    bool move_post, move_take; /* the other commands of the pipe do not any more */
};

/* Whether all comes to its end and each instance of the finding in the segment is ordered.
 * r: of the same chip. */
bool sim_orders(const struct findings *f, uint32_t finding, uint32_t segment,
                const struct race *r, const struct sim_edit *edit);
/* A semaphore of a core that nobody uses in a segment. */
bool sim_free_sem(const struct segment *s, unsigned *sem);

#endif
