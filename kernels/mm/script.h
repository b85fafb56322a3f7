/* SPDX-License-Identifier: MIT
 *
 * A block's whole share as commands: what is little enough to lie in the queues at one time
 * is kept and pushed by a store a pipe when the same is asked for again.
 */
#ifndef KERNELS_MM_SCRIPT_H
#define KERNELS_MM_SCRIPT_H

#include "kernels/mm/record.h"

enum mm_script_state {
    MM_SCRIPT_NONE,
    MM_SCRIPT_KEPT,
    MM_SCRIPT_TOO_LONG, /* for what it is asked for; it is not tried again */
};

/* Commands that a script has of MTE1, of M, of V, of other pipes: what more lies in the queues at
 * one time is pushed as there is room. */
enum {
    MM_SCRIPT_FEEDS = 128,
    MM_SCRIPT_PRODUCTS = 64,
    MM_SCRIPT_ADDS = 64,
    MM_SCRIPT_LOADS = PIPE_DEPTH,
    MM_SCRIPT_LEGS = 12
};

/* One of a core. */
struct mm_script {
    enum mm_script_state state;
    uint64_t of; /* fold() of the object, */
    unsigned share, shares;
    uint64_t bases[MM_BASES];
    /* What is pushed by one store, in the order in which it is. */
    struct mm_leg {
        uint8_t pipe, n;
        union cmd *cmds;
    } legs[MM_SCRIPT_LEGS];
    unsigned n_legs;
    uint32_t tag; /* that all of them have */
    uint8_t n[NPU_PIPES];
    uint8_t base[NPU_PIPES][PIPE_DEPTH]; /* of those that reach GM */
    union cmd feeds[MM_SCRIPT_FEEDS], products[MM_SCRIPT_PRODUCTS];
    union cmd loads[PIPE_DEPTH], outs[PIPE_DEPTH], adds[MM_SCRIPT_ADDS],
        stores[PIPE_DEPTH];
};

/* Whether the share is worth being written down: it was what the core did last, or it will be
 * run again. */
bool mm_script_wanted(struct mm *mm);
/* Begins to write down what the object pushes, unless it is known to be too much. */
void mm_script_begin(struct mm *mm, void *c);
/* The object has pushed all; free[] is what its semaphores from mm->sem on begin with. */
void mm_script_end(struct mm *mm, const uint8_t free[MM_SEMS]);
/* Pushes what was written for the same share of the same object, and waits for its end;
 * false: there is no such script. */
bool mm_script_play(const struct mm *mm, void *c);

#endif
