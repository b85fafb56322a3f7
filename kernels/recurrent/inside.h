/* SPDX-License-Identifier: MIT
 *
 * How a recurrent layer is cut, and what a core has while it runs; see recurrent.c.
 */
#ifndef KERNELS_RECURRENT_INSIDE_H
#define KERNELS_RECURRENT_INSIDE_H

#include "kernels/recurrent/recurrent.h"
#include "sched/sequence.h"

enum {
    RECURRENT_SLOT_B = 32 << 10, /* bytes of L0B: a piece of a gate's weights */
    RECURRENT_SLOT_C = 32 << 10, /* of L0C and of UB: all sums of a tile */
    RECURRENT_SLOTS = 2,         /* of these, of x and h in L1, of results in UB */
};

/* Semaphores of a core. FREE counts empty slots, FULL filled ones; H_FULL: h of the step before
 * is in L1. */
enum {
    RECURRENT_X_FREE,
    RECURRENT_X_FULL,
    RECURRENT_W_FREE,
    RECURRENT_W_FULL,
    RECURRENT_B_FREE,
    RECURRENT_B_FULL,
    RECURRENT_C_FREE,
    RECURRENT_C_FULL,
    RECURRENT_S_FREE,
    RECURRENT_S_FULL,
    RECURRENT_Y_FREE,
    RECURRENT_Y_FULL,
    RECURRENT_H_FULL,
};

/* cut.c: the cut that takes the fewest cycles; it changes no bit. */
struct recurrent_cut {
    bool shared;         /* cores share the units, not the batch: each has all of that */
    unsigned blocks;     /* of the launch */
    uint32_t rows, tile; /* of the batch; units */
    uint32_t units;      /* of a core, at most */
    uint32_t x_blocks, h_blocks; /* of 16 elements of x, of h */
    uint32_t streams; /* slots of L1 for weights that come in each step; 0: they stay */
    uint32_t w, xh;   /* bytes in L1: weights, or a slot of them; a slot of x and h */
};

/* A gate's weights in parts that L0B has room for: */
struct recurrent_piece {
    unsigned gate;          /* whose rows of w and r */
    uint32_t first, blocks; /* of x and h side by side */
};

/* By pipe; what MTE2 has for the first step differs. */
enum recurrent_lane {
    LANE_FIRST,
    LANE_IN,
    LANE_TO_L0,
    LANE_M,
    LANE_FIX,
    LANE_V,
    LANE_OUT,
    RECURRENT_LANES
};

struct recurrent_cell {
    const struct recurrent *p;
    struct recurrent_cut cut;
    uint32_t unit, units;          /* of the core */
    uint32_t row, rows;            /* of the batch */
    uint32_t w, bias, xh;          /* in L1 */
    uint32_t sums, state, temp, y; /* in UB */
    struct sequence lane[RECURRENT_LANES];
    uint32_t room[RECURRENT_LANES]; /* commands */
    bool direct; /* few steps, whose commands are issued and not recorded */
};

MUST_CHECK int recurrent_cut(const struct recurrent *p, struct recurrent_cut *cut);
/* Piece i of a gate's sums; false: it has fewer. A GRU's third and fourth sums are of the two
 * parts of n. */
bool recurrent_piece(const struct recurrent *p, const struct recurrent_cut *cut,
                     unsigned gate, unsigned i, struct recurrent_piece *piece);
/* Pieces of all gates of a tile. */
uint32_t recurrent_pieces(const struct recurrent *p, const struct recurrent_cut *cut);

/* record.c: bytes of a core's commands and patches, 0 where its steps are so few that their
 * commands are issued one by one; the commands of all steps, to their pipes. */
size_t recurrent_room(const struct recurrent *p, const struct recurrent_cut *cut);
void recurrent_begin(struct recurrent_cell *s, void *room);
void recurrent_steps(struct recurrent_cell *s);

/* To the end of a lane, or to its pipe; with the line of who calls. */
static inline __attribute__((always_inline)) void
recurrent_add(struct recurrent_cell *s, enum recurrent_lane lane, union cmd *cmd)
{
    if (s->direct) {
        task_issue(s->lane[lane].pipe, cmd);
    } else {
        sequence_add(&s->lane[lane], s->room[lane], cmd);
    }
}

/* step.c: what MTE2 has in a step, what the others have. Where a recording, or what issues, is: */
struct recurrent_at {
    struct recurrent_cell *s;
    uint32_t step;
    uint32_t b, c, w; /* slots of L0B, of L0C, of weights in L1: counted up */
};

void recurrent_in(struct recurrent_at *r, enum recurrent_lane lane);
void recurrent_step(struct recurrent_at *r);

/* gates.c: what makes the next state (c of an LSTM, h of a GRU) of a tile in its place, of four
 * arrays of n sums in UB side by side: those of i, f, o, g, or of u, z and the two parts of n.
 * Where h is then: in the temporary, or the state. */
uint32_t recurrent_state(struct recurrent_cell *s, uint32_t sums, uint32_t n,
                         uint32_t state);
enum { RECURRENT_V_MOST = 24 }; /* commands of that */

#endif
