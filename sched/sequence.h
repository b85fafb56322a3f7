/* SPDX-License-Identifier: MIT
 *
 * Recorded sequences: commands of a pipe that are built and checked once and then pushed
 * again and again, up to PIPE_DEPTH of them by one store, with a list of patches for what
 * changes from round to round. The hart spends a few instructions on a command instead of
 * some 60, so one loop keeps six pipes busy.
 */
/* clang-format off */
/*
 * A loop's body is recorded once for each position of its rings, so buffers and semaphores
 * are the same in every round that comes back to a position, and only the addresses of
 * loads and stores are patched:
 *
 *     static union cmd in[2], work[2 * 3], out[2];        by position: 0, 1
 *     struct seq_patch next_in[2] = {
 *         {.cmd = 0, .field = SEQ_FIELD(copy_in.src), .base = (uintptr_t)x, .stride = {TILE}},
 *         {.cmd = 1, .field = SEQ_FIELD(copy_in.src), .base = (uintptr_t)x, .stride = {TILE}}};
 *     struct sequence load = {.name = "load", .pipe = PIPE_MTE2, .cmds = in, .n = 1,
 *                             .positions = 2, .patches = next_in, .n_patches = 2};
 *     ... body (V, 3 commands a round, no patch), store likewise
 *     struct seq_leg leg_in = {.seq = &load, .rounds = {tiles}}, leg_work = {.seq = &body, ...
 *     struct seq_lane lanes[] = {{.legs = &leg_in, .n_legs = 1}, {.legs = &leg_work, ...
 *
 *     sequence_play(lanes, 3);            returns when the last command is pushed
 *
 * A patched field of a round is base + index[0] * stride[0] + index[1] * stride[1] + ..,
 * where index[0] counts the rounds of the innermost loop.
 */
/* clang-format on */
/*
 * Commands hold their waits and posts already; a lane is one pipe's, lanes know nothing of
 * each other. Semaphores put their commands in order, so lanes cannot deadlock where one
 * long queue for each pipe could not.
 *
 * Mistakes end the run with ERR_SEQUENCE, which names the sequence, the command and the
 * line, before anything of the leg is pushed: a command of another pipe or of none, an
 * address in GM that is 0 and not patched, a patch that is no operand of its command or
 * leads where the operand cannot, sequence_push of more than PIPE_DEPTH commands, patches
 * of one sequence used by two cores in a run.
 *
 * Costs: `make bench`. Patches are made when room is certain and pushed before anybody
 * else has the hart.
 */
#ifndef SCHED_SEQUENCE_H
#define SCHED_SEQUENCE_H

#include "sched/sched.h"

enum seq_loops { SEQ_LOOPS = 3 }; /* that one leg may nest */

/* Offset of a field in a command, for patches. */
#define SEQ_FIELD(member) offsetof(union cmd, member)

/* What changes in one command from round to round. */
struct seq_patch {
    uint16_t cmd;  /* of the sequence's n * positions */
    uint8_t field; /* SEQ_FIELD() of an operand */
    uint8_t bytes; /* of it, and whether it is an address in GM: set by the check */
    bool in_gm;
    uint64_t base; /* where every index is 0; may change while nothing plays */
    int64_t stride[SEQ_LOOPS];
};

/* Commands of one pipe, `positions` bodies one behind the other: round r of a leg pushes
 * body r % positions. */
struct sequence {
    const char *name;
    enum pipe pipe;
    union cmd *cmds;
    uint16_t n;         /* commands of a body */
    uint16_t positions; /* 0: one */
    struct seq_patch *patches;
    uint16_t n_patches; /* ascending by cmd */
    /* Of sequence.c. */
    const union cmd *checked; /* cmds, once they have been */
    uint16_t core;            /* that uses it in run */
    uint32_t run;
    struct pipe_port *port; /* of that core */
};

/* So many rounds of a sequence: of the loops' products, 0 is 1; rounds[0] is the innermost
 * loop. */
struct seq_leg {
    struct sequence *seq;
    uint32_t rounds[SEQ_LOOPS];
    uint16_t first; /* position of the first round */
};

/* What one pipe gets, leg after leg. */
struct seq_lane {
    const struct seq_leg *legs;
    unsigned n_legs;
    /* Of sequence.c: whether the next play finds all checked; where the lane is. */
    bool prepared;
    struct seq_cursor {
        unsigned leg;         /* the next to begin */
        struct sequence *seq; /* of the leg that has begun, or NULL */
        struct pipe_port *port;
        uint32_t at, body_end,
            end;        /* next command, ends of its body and of all of them */
        uint64_t left;  /* commands of the leg */
        uint32_t patch; /* the next one */
        uint32_t index[SEQ_LOOPS];
    } cursor;
};

/*
 * Looks at every command and patch, once: what is not right is ERR_SEQUENCE, and `text`
 * says what. Commands without a pc get the caller's. Any task and none; sequence_play and
 * sequence_push do it themselves where it was not done.
 */
MUST_CHECK int sequence_check(struct sequence *s, char *text, size_t size);

/* Pushes all legs of all lanes, whichever pipe has room, and returns when the last command
 * is pushed; the task waits while no queue has room. Lanes may be played again. */
#define sequence_play(lanes, n) sequence_play_at((lanes), (n), SCHED_HERE)
void sequence_play_at(struct seq_lane *lanes, unsigned n, const char *where);
/* What that does before its first push, while the hart has nothing else to do. */
#define sequence_prepare(lanes, n) sequence_prepare_at((lanes), (n), SCHED_HERE)
void sequence_prepare_at(struct seq_lane *lanes, unsigned n, const char *where);

/* The body of one round, at most PIPE_DEPTH commands, by one store; waits while there is no
 * room. The round counts the only loop; or position and index[SEQ_LOOPS] say which it is. */
#define sequence_push(s, round) sequence_push_at((s), (round), NULL, SCHED_HERE)
#define sequence_push_nested(s, position, index)                                         \
    sequence_push_at((s), (position), (index), SCHED_HERE)
/* What has patches, has not been pushed in this run by this core or finds no room; index
 * NULL: the position is the only loop's. */
void sequence_push_patched(struct sequence *s, unsigned position, const uint32_t *index,
                           const char *where);

/* Its first command of a position. */
static inline uint32_t sequence_first(const struct sequence *s, unsigned position)
{
    return (s->positions ? position % s->positions : 0) * s->n;
}

/* The running task's core, whose port that is, has pushed the sequence in this run, and
 * there is room for a body of it. */
static inline bool sequence_ready(const struct sequence *s, struct pipe_port *port)
{
    return s->run == sched_run_number && s->port == port && s->checked == s->cmds &&
           (s->n <= port->room || s->n <= pipe_refresh(port));
}

static inline void sequence_push_at(struct sequence *s, unsigned position,
                                    const uint32_t *index, const char *where)
{
    struct pipe_port *port = &task_ports[s->pipe];

    if (s->n_patches == 0 && sequence_ready(s, port)) {
        pipe_store_many(port, s->cmds + sequence_first(s, position), s->n);
    } else {
        sequence_push_patched(s, position, index, where);
    }
}

/*
 * For who records by hand: appends a copy of cmd to a sequence whose `cmds` has room for
 * `capacity`; it gets the caller's pc, the task's tag and what queue verbs owe to the pipe,
 * as if the task had issued it. n of the sequence counts all commands until
 * sequence_positions() says of how many positions they are.
 */
#define sequence_add(s, capacity, cmd) sequence_add_at((s), (capacity), (cmd), SCHED_HERE)
void sequence_add_at(struct sequence *s, unsigned capacity, const union cmd *cmd,
                     const char *where);
#define sequence_positions(s, positions)                                                 \
    sequence_positions_at((s), (positions), SCHED_HERE)
void sequence_positions_at(struct sequence *s, unsigned positions, const char *where);

#endif
