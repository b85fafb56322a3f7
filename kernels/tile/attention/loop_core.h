/* SPDX-License-Identifier: MIT
 *
 * Private to loop_build.c and loop_play.c: what a core of a loop pushes.
 */
#ifndef KERNELS_TILE_ATTENTION_LOOP_CORE_H
#define KERNELS_TILE_ATTENTION_LOOP_CORE_H

#include "kernels/tile/attention/loop.h"
#include "sched/sequence.h"

/* Commands of a pipe that are pushed together, for whole tiles and for the last one. */
enum loop_group {
    GROUP_LOAD_Q,
    GROUP_LOAD,
    GROUP_L0_FIRST,
    GROUP_L0,
    GROUP_MMAD_S,
    GROUP_FIX_S,
    GROUP_COPY_P,
    GROUP_L0_P,
    GROUP_MMAD_O,
    GROUP_FIX_O,
    GROUP_ONES,
    GROUPS
};

struct played {
    struct sequence seq;
    union cmd cmd[2];
};

/* Parts of the Vector's, in pieces that are pushed one after the other. */
struct pieces_of {
    union cmd *cmd;                        /* the core's own where they are patched */
    const struct loop_part_commands *part; /* whose patches they have */
    unsigned begin;                        /* the first of these commands */
    struct sequence *seq;
    unsigned n;
};

/* Bytes from where one tensor's block of rows lies to the next one's, and from one of a batch
 * to the next; where those of an item lie. */
struct offsets {
    uint64_t block, batch[LOOP_BATCH], now;
};

struct loop_core {
    uint64_t begin, end; /* items */
    struct offsets q, key, v, x[LOOP_INPUTS], out[TILE_RESULTS];
    uint64_t next_key, next_v, next_x[LOOP_INPUTS]; /* bytes from a tile to the next */
    struct played group[GROUPS][2];
    struct pieces_of part[LOOP_PARTS], before[LOOP_VARIANTS];
    struct pieces_of step[LOOP_VARIANTS]; /* BEFORE, AFTER and BESIDE in one; looks; with
                                             * nothing carried SAVES and BEFORE */
    struct sequence store[2]; /* of a block of rows, of the last one */
    union cmd stores[2][3 * TILE_RESULTS + 1], inputs[LOOP_INPUTS]; /* a result is up to 3 */
    uint8_t store_at[TILE_RESULTS]; /* its own of them */
    struct sequence input;
    const struct tile_call *call;
    volatile uint64_t *fine; /* of loop_twice.h: of each item, rows that will do */
};

/* loop_play.c: room for n commands. */
void loop_wait_room(enum pipe pipe, unsigned n);
/* Pushes commands that have been looked at, by one store. */
static inline void loop_push(enum pipe pipe, const union cmd *cmds, unsigned n)
{
    struct pipe_port *port = &task_ports[pipe];

    if (port->room < n) {
        loop_wait_room(pipe, n);
    }
    pipe_store_many(port, cmds, n);
}
/* A part, with its patches. */
void loop_push_part(struct pieces_of *part, const struct loop_cursor *c,
                    const struct loop_plan *p);
/* Most parts of a running softmax are a few commands that are the same each time. */
static inline void twice_push_part(struct pieces_of *part, const struct loop_cursor *c,
                                   const struct loop_plan *p)
{
    if (part->n == 1 && part->part->n_patches == 0) {
        loop_push(PIPE_V, part->cmd, part->part->n);
    } else {
        loop_push_part(part, c, p);
    }
}
/* The inputs of a step, for the part that is pushed next. */
void loop_push_inputs(const struct loop_plan *p, struct loop_core *core,
                      const struct loop_cursor *c);
/* Where an item's part of a tensor begins; addresses of its results; a look at commands before a
 * launch. */
uint64_t loop_address(const struct loop_plan *p, const void *tensor,
                      const struct offsets *o, const struct loop_cursor *c);
const union cmd *loop_set_stores(const struct loop_plan *p, struct loop_core *core,
                                 const struct loop_cursor *c);
int loop_check(struct sequence *s, struct sched_report *report);
/* Of parts, of both kinds of steps, and of stores, whose addresses are those of the call. */
int loop_check_parts(const struct loop_plan *p, struct loop_core *core,
                     const struct loop_cursor *c, struct sched_report *report);

#endif
