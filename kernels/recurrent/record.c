/* SPDX-License-Identifier: MIT
 *
 * The commands of a core's steps, recorded for an even step and an odd one, and played; see
 * recurrent.c. Slots come round within two steps, so that only addresses in GM change from step
 * to step. A few steps are issued as they come, which is less work for the hart.
 */
#include "kernels/recurrent/inside.h"

enum {
    STEPS = 2, /* that are recorded */
    WORTH = 6, /* steps that are worth it */
};

/* --- room --- */

static const enum pipe pipes[RECURRENT_LANES] = {
    [LANE_FIRST] = PIPE_MTE2, [LANE_IN] = PIPE_MTE2, [LANE_TO_L0] = PIPE_MTE1,
    [LANE_M] = PIPE_M,        [LANE_FIX] = PIPE_FIX, [LANE_V] = PIPE_V,
    [LANE_OUT] = PIPE_MTE3,
};

/* Of each lane, at most. */
struct rooms {
    uint32_t commands[RECURRENT_LANES], patches[RECURRENT_LANES];
};

static struct rooms rooms_of(const struct recurrent *p, const struct recurrent_cut *cut)
{
    uint32_t tiles = cut->units / cut->tile, pieces = recurrent_pieces(p, cut);
    uint32_t in = 2 + (cut->streams ? tiles * pieces : 0);

    return (struct rooms){
        .commands = {[LANE_FIRST] = in,
                     [LANE_IN] = STEPS * in,
                     [LANE_TO_L0] = STEPS * (pieces + tiles * (RECURRENT_SUMS + pieces)),
                     [LANE_M] = STEPS * tiles * pieces,
                     [LANE_FIX] = STEPS * tiles * RECURRENT_SUMS,
                     [LANE_V] = STEPS * tiles * RECURRENT_V_MOST,
                     [LANE_OUT] = STEPS * tiles * (1 + cut->tile / 16)},
        .patches = {[LANE_IN] = STEPS * 2, [LANE_OUT] = STEPS * tiles}};
}

/* Weights that stream take turns with what uses them, so they are recorded anyway. */
static bool is_recorded(const struct recurrent *p, const struct recurrent_cut *cut)
{
    return p->steps >= WORTH || cut->streams;
}

size_t recurrent_room(const struct recurrent *p, const struct recurrent_cut *cut)
{
    struct rooms rooms;
    size_t bytes = 0;

    if (!is_recorded(p, cut)) {
        return 0;
    }
    rooms = rooms_of(p, cut);
    for (unsigned i = 0; i < RECURRENT_LANES; i++) {
        bytes += rooms.commands[i] * sizeof(union cmd) +
                 rooms.patches[i] * sizeof(struct seq_patch);
    }
    return bytes;
}

void recurrent_begin(struct recurrent_cell *s, void *room)
{
    struct rooms rooms;
    char *at = room;

    s->direct = room == NULL;
    for (unsigned i = 0; i < RECURRENT_LANES; i++) {
        s->lane[i] =
            (struct sequence){.name = s->p->gru ? "gru" : "lstm", .pipe = pipes[i]};
    }
    if (s->direct) {
        return;
    }
    rooms = rooms_of(s->p, &s->cut);
    for (unsigned i = 0; i < RECURRENT_LANES; i++) { /* first what is aligned */
        s->room[i] = rooms.commands[i];
        s->lane[i].cmds = (void *)at;
        at += s->room[i] * sizeof(union cmd);
    }
    for (unsigned i = 0; i < RECURRENT_LANES; i++) {
        s->lane[i].patches = (void *)at;
        at += rooms.patches[i] * sizeof(struct seq_patch);
    }
}

/* Steps 0 and 1; those behind them are as these are. */
static void record(struct recurrent_cell *s)
{
    struct recurrent_at r = {.s = s};
    unsigned positions = s->p->steps < STEPS ? s->p->steps : STEPS;

    for (unsigned i = 0; i < RECURRENT_LANES; i++) {
        s->lane[i].n = s->lane[i].positions = s->lane[i].n_patches = 0;
        s->lane[i].checked = NULL;
    }
    recurrent_in(&r, LANE_FIRST);
    for (; r.step < positions; r.step++) {
        if (positions == STEPS) {
            recurrent_in(&r, LANE_IN);
        }
        recurrent_step(&r);
    }
    for (unsigned i = LANE_FIRST + 1; i < RECURRENT_LANES; i++) {
        if (s->lane[i].n) {
            sequence_positions(&s->lane[i], positions);
        }
    }
}

static void play(struct recurrent_cell *s)
{
    uint32_t steps = s->p->steps;
    struct seq_leg legs[RECURRENT_LANES];
    struct seq_lane lanes[RECURRENT_LANES - 1];

    for (unsigned i = 0; i < RECURRENT_LANES; i++) {
        legs[i] = (struct seq_leg){.seq = &s->lane[i], .rounds = {steps}};
    }
    legs[LANE_FIRST].rounds[0] = 1;
    legs[LANE_IN].rounds[0] = steps - 1; /* from step 1 on, if there is one */
    legs[LANE_IN].first = 1;
    lanes[0] = (struct seq_lane){.legs = legs, .n_legs = steps > 1 ? 2 : 1};
    for (unsigned i = LANE_IN + 1; i < RECURRENT_LANES; i++) {
        lanes[i - 1] = (struct seq_lane){.legs = &legs[i], .n_legs = 1};
    }
    sequence_play(lanes, RECURRENT_LANES - 1);
}

void recurrent_steps(struct recurrent_cell *s)
{
    struct recurrent_at r = {.s = s};

    if (!s->direct) {
        record(s);
        play(s);
        return;
    }
    for (; r.step < s->p->steps; r.step++) {
        recurrent_in(&r, r.step ? LANE_IN : LANE_FIRST);
        recurrent_step(&r);
    }
}
