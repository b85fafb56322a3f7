/* SPDX-License-Identifier: MIT
 *
 * Who pushes commands itself, one by one in an order of its own, and is predicted by the
 * same walk: they go to the pipes of the task's core or, with a sink, to what takes their
 * place and counts cycles by the contract's costs. A command's semaphores have to be posted
 * by what is pushed before it.
 */
#ifndef KERNELS_TILE_COST_PIPES_H
#define KERNELS_TILE_COST_PIPES_H

#include "hal/chip.h"
#include "kernels/tile/cost/cost.h"
#include "kernels/tile/ir/size.h"
#include "sched/launch.h"
#include "sched/sequence.h"

enum { PIPES_SEMS = 32, PIPES_UNITS = 64 /* of a semaphore at one time */ };

/* The pipes of a core and the hart; when each is free. */
struct pipes {
    struct tile_costs costs;
    uint64_t free[NPU_PIPES], busy[NPU_PIPES], hart;
    struct pipes_sem { /* when its units were posted, oldest first */
        uint64_t at[PIPES_UNITS];
        unsigned first, n;
    } sem[PIPES_SEMS];
};

void pipes_begin(struct pipes *p);
void pipes_push(struct pipes *p, enum pipe pipe, const union cmd *cmds, unsigned n);
/* The hart posts units; takes some, and as many numbers from UB. */
void pipes_post(struct pipes *p, unsigned sem, unsigned units);
void pipes_take(struct pipes *p, unsigned sem, unsigned units, unsigned numbers);
/* It writes n numbers; waits until all pipes are empty. */
void pipes_write(struct pipes *p, unsigned n);
void pipes_drain(struct pipes *p);
struct tile_cycles pipes_cycles(const struct pipes *p);
/* n times what is between `less` and *c is more. */
void pipes_more(struct tile_cycles *c, const struct tile_cycles *less, uint64_t n,
                uint64_t by);

/* --- the same with sink NULL: to the core --- */

void pipes_wait_room(enum pipe pipe, unsigned n);

/* Commands of a checked sequence, by one store. */
static inline void pipes_store(struct pipes *sink, const struct sequence *s,
                               const union cmd *cmds, unsigned n)
{
    struct pipe_port *port;

    if (sink) {
        pipes_push(sink, s->pipe, cmds, n);
        return;
    }
    port = &task_ports[s->pipe];
    if (port->room < n) {
        pipes_wait_room(s->pipe, n);
    }
    pipe_store_many(port, cmds, n);
}

/* The hart has a unit of `sem`, and reads n numbers of UB then. */
void pipes_wait(struct pipes *sink, unsigned sem, unsigned n);
/* A unit that comes before the hart would have slept and woken, which takes it longer: if
 * no other block wants it, it asks again and again for a while. */
void pipes_wait_soon(struct pipes *sink, unsigned sem);
/* n numbers at `ub` once a unit of `sem` is there. For a sink they are 0. */
void pipes_read(struct pipes *sink, unsigned sem, uint32_t ub, uint32_t *to, unsigned n);

enum { PIPES_DIAGONAL = 16, PIPES_DIAGONAL_BYTES = PIPES_DIAGONAL * PIPES_DIAGONAL * 4 };
/* For each of n numbers a matrix of 16 x 16 in L1, in fractals of 8 rows that lie as
 * columns: its diagonal; the rest is 0 already. */
void pipes_diagonal(struct pipes *sink, uint32_t l1, const uint32_t *of, unsigned n);

#endif
