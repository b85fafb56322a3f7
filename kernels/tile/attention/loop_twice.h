/* SPDX-License-Identifier: MIT
 *
 * Private to loop_*.c: a running softmax that looks at its keys twice. A program of the form
 *
 *     x = dot(q, k, d) * scale                 a scale above 0; or -inf where a mask says so
 *     top = max(m, max(x, t))                  m from -inf on, for nothing else
 *     p = exp(x - top)      r = exp(m - top)
 *     l = l * r + sum(p, t)                    and
 *     acc = acc * r + dot(f16(p), v, t)        from 0 on; p may be 0 by a mask before either
 *
 * comes to the same if the maximum of all keys is known before the first p: r is 1 then, the
 * Cube adds up acc in L0C, and begins the scores with -max instead of 0 (the bias table). Left
 * to the Vector are the scale, exp and the cast, where it had nine commands, and the Cube adds
 * up l, too, as a column of acc: v has a column of ones.
 *
 * So an item, a block of rows, has two passes over its tiles of keys: looks, for the maximum,
 * and works. A turn of the loop is a look of item i + 1 and a work of item i, which have the
 * same tile of keys if they are of one batch.
 *
 * acc * rec(l) is the same for any number in the place of the maximum, as long as no p is too large
 * for its type: so an item looks at its first tile alone. l tells whether that will do, for no
 * p is above it. Where it is not, in an item of which some row has l above TWICE_MOST or NaN,
 * all of the item is done again, with looks at all tiles. What an item gives is a matter of its
 * own rows and keys alone so, whichever core has it.
 */
#ifndef KERNELS_TILE_ATTENTION_LOOP_TWICE_H
#define KERNELS_TILE_ATTENTION_LOOP_TWICE_H

#include "kernels/tile/attention/loop_core.h"

enum {
    TWICE_QUERIES = 4, /* blocks of rows in L1; two of them are in L0B */
    TWICE_VARIANTS = 16,
    TWICE_TAILS = 2,
    TWICE_LEAST = 3, /* tiles: of no more an item looks at all */
    TWICE_MORE = 4,  /* planes between, besides one */
    TWICE_MOST = 60000, /* of a sum of which each part is a number of F16 */
    TWICE_LAG = 3,      /* works whose second products are to come */
    TWICE_RING = 6,     /* tiles of keys in L1 at most; an even number */
    TWICE_ITEMS = 256,  /* after which the core sees which are to be done again */
};

/* Semaphores besides those of loop.h. */
enum {
    TWICE_CL_FREE = LOOP_SEMS, /* a look's product in L0C, in UB */
    TWICE_CL_FULL,
    TWICE_LS_FREE,
    TWICE_LS_FULL,
    TWICE_NEG_FREE, /* -max in UB, in L1 */
    TWICE_NEG_FULL,
    TWICE_BIAS_FREE,
    TWICE_BIAS_FULL,
    TWICE_ITEM_FREE, /* L0B's part and the bias table, behind an item's last first product */
    TWICE_SEMS,
};

/* Those that count what is empty, and how many there are; 0: as many as tiles are in L1. */
enum { TWICE_EMPTY = 16 };
extern const struct twice_empty {
    uint8_t sem, units;
    const char *of;
} twice_empty[TWICE_EMPTY];
unsigned twice_units(const struct loop_plan *p, unsigned i);

/* Commands that are the same for all cores; see twice_commands(). Their variants are */
enum twice_command {
    TWICE_CLEAR,   /* MTE2, once: rows of q that there are not */
    TWICE_ONES,    /* once */
    TWICE_L0_Q,    /* the item's number */
    TWICE_L0_BIAS, /* none */
    TWICE_L0_K,    /* where in the ring, TWICE_BIAS */
    TWICE_L0_V,    /* where in the ring */
    TWICE_L0_P,    /* the work's parity */
    TWICE_MMAD_WORK, /* item's parity, TWICE_BOTH */
    TWICE_MMAD_LOOK, /* item's parity, TWICE_BOTH */
    TWICE_MMAD_DONE,
    TWICE_MMAD_VALUE, /* TWICE_FIRST, TWICE_LAST, TWICE_ODD */
    TWICE_FIX_WORK,
    TWICE_FIX_LOOK,
    TWICE_FIX_VALUE,
    TWICE_COPY_P, /* MTE3 */
    TWICE_COPY_BIAS,
    TWICE_COMMANDS,
};
static inline enum pipe twice_pipe(enum twice_command which)
{
    static const uint8_t pipes[TWICE_COMMANDS] = {
        [TWICE_CLEAR] = PIPE_MTE2,    [TWICE_ONES] = PIPE_MTE1,
        [TWICE_L0_Q] = PIPE_MTE1,     [TWICE_L0_BIAS] = PIPE_MTE1,
        [TWICE_L0_K] = PIPE_MTE1,     [TWICE_L0_V] = PIPE_MTE1,
        [TWICE_L0_P] = PIPE_MTE1,     [TWICE_MMAD_WORK] = PIPE_M,
        [TWICE_MMAD_LOOK] = PIPE_M,   [TWICE_MMAD_DONE] = PIPE_M,
        [TWICE_MMAD_VALUE] = PIPE_M,  [TWICE_FIX_WORK] = PIPE_FIX,
        [TWICE_FIX_LOOK] = PIPE_FIX,  [TWICE_FIX_VALUE] = PIPE_FIX,
        [TWICE_COPY_P] = PIPE_MTE3,   [TWICE_COPY_BIAS] = PIPE_MTE3};

    return (enum pipe)pipes[which];
}

/* What turns of a run do. */
enum { TWICE_LOOKS, TWICE_WORKS, TWICE_LOOKS_AND_WORKS, TWICE_KINDS };
enum {
    TWICE_BIAS = 8,   /* the bias comes behind it */
    TWICE_THEN = 2,   /* another product has the same keys, in L0A, behind it */
    TWICE_BEHIND = 4, /* or before it */
    TWICE_FIRST = 1,  /* of the item's second products */
    TWICE_LAST = 2,
    TWICE_ODD = 4 /* the work's parity */
};

struct loop_twice {
    struct loop_form look, work; /* of kernels whose scores are what the fixpipe gives */
    struct loop_room look_room, out_room;
    tile_value scores, top;    /* x; the carried m */
    tile_value powers, summed; /* exp; what the sum adds up */
    unsigned sum;              /* carry[] that it is */
    tile_value acc;            /* LAST of what is as wide as v */
    bool guess;    /* it is acc * rec(l) alone that counts */
    bool looks_at_all; /* items look at all tiles at once: one or two more, or no ratio */
    bool ones;     /* l is a column of acc, as v has columns of ones */
    uint32_t fine; /* in UB: a bit for each row whose l will do */
    bool checked;  /* cmd[] */
    bool plain[TILE_NODES + 1]; /* is of indices and numbers */
    uint32_t top_plane, sum_plane, sums, top_column, negative; /* sums: of `ones` */
    uint32_t l0c_look, l0c_value, l0a_ones, l1_bias;
    struct loop_part_commands *look_part[LOOP_VARIANTS];
    /* What a turn of a run pushes to MTE1, by places in the rings of keys and values; to M, by
     * the item's parity, that of the work and whether the second product is the first; to
     * FIX. */
    union cmd run_l0[TWICE_RING][TWICE_RING][3], run_m[TWICE_KINDS][2][2][2][3],
        run_fix[TWICE_KINDS][2];
    union cmd cmd[TWICE_COMMANDS][TWICE_TAILS][TWICE_VARIANTS];
};

/* What a turn does. */
struct twice_turn {
    bool look, work; /* at least one, of the same keys */
    const struct loop_cursor *look_at, *work_at;
    uint64_t number;
};
struct twice_turns {
    const struct loop_plan *p;
    struct loop_cursor look, work; /* the next ones */
    uint64_t number;
    bool guess;
};
struct twice_turns twice_begin(const struct loop_plan *p, uint64_t begin, uint64_t end,
                               bool guess);
/* The next look and work are of one batch, so that their keys are the same. */
bool twice_same_keys(const struct twice_turns *t);
/* The next one; false: there is no more. Then on to the one behind it. */
bool twice_turn(const struct twice_turns *t, struct twice_turn *turn);
void twice_next(struct twice_turns *t, const struct twice_turn *turn);

/* What becomes of the commands of a core, in the order in which they are pushed: nobody in it
 * waits for what comes behind it. */
enum twice_part {
    TWICE_PART_LOOK,
    TWICE_PART_WORK,
    TWICE_PART_FILL_TOP, /* before an item's first look, its first work */
    TWICE_PART_FILL_SUM,
    TWICE_PART_TOP, /* behind the last ones */
    TWICE_PART_SUM,
    TWICE_PART_OUT,
    TWICE_PART_ONCE,
    TWICE_PARTS
};
/* Of the plan's part[]; not of the first two. */
extern const uint8_t twice_parts[TWICE_PARTS];
/* Turns that follow each other with nothing that begins or ends, of whole tiles, from this one
 * on. In each the loads of a later one: of so many in a row from that one on, then load(). */
struct twice_run {
    uint32_t turns, loads;
    const struct twice_turn *first, *ahead;
    bool value_first; /* the second product that comes next is its item's first */
    void (*load)(void *walk);
    void *walk;
};
struct twice_sink {
    /* Runs at once; or NULL, and each turn by its commands: turn() is told for how many
     * turns a run goes on, 0 for none, and of which items one was looked for, if at all, and
     * answers whether it knows such, of which leap() leaves out as many as it is told. */
    void (*run)(void *of, const struct twice_run *run);
    bool (*turn)(void *of, const struct twice_turn *now, uint32_t turns);
    void (*leap)(void *of, uint32_t turns);
    /* Commands and parts go to this core at once; NULL: they are told, by which of the two. */
    struct loop_core *core;
    void (*load)(void *of, enum loop_command which, const struct twice_turn *turn);
    void (*command)(void *of, enum twice_command which, unsigned tail, unsigned variant);
    void (*part)(void *of, enum twice_part part, const struct loop_cursor *c);
    void (*store)(void *of, const struct loop_cursor *c);
};
/* Items begin to end - 1; with `guess` each looks at its first tile alone. */
void twice_walk(const struct loop_plan *p, uint64_t begin, uint64_t end, bool guess,
                const struct twice_sink *sink, void *of);

/* loop_twice.c: false: the program has another form. */
bool twice_form(struct loop_twice *t, const struct loop_form *f,
                struct tile_arena *arena);
/* loop_twice_room.c: with `more` planes between; false: that does not fit. */
bool twice_room(struct loop_plan *p, uint32_t tile, unsigned more);
/* loop_twice_parts.c: the Vector's commands. */
void twice_emit(struct loop_plan *p, struct loop_emit *e);
/* loop_twice_cube.c: the others. */
void twice_commands(struct loop_plan *p);
void twice_runs(const struct loop_plan *p); /* of those that have been looked at */
/* loop_twice_play.c */
void twice_play(const struct loop_plan *p, struct loop_core *core);
void twice_finish(const struct loop_plan *p);
int twice_check(const struct loop_plan *p, struct loop_core *core,
                const struct loop_cursor *c, struct sched_report *report);
/* loop_twice_predict.c */
struct tile_cycles twice_predict(const struct loop_plan *p);

#endif
