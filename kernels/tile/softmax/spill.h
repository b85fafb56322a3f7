/* SPDX-License-Identifier: MIT
 *
 * Softmax along rows that L1 does not hold either (rows.h has those that it does). A row is
 * cut in chunks, which cores share. In a first pass each chunk c has a greatest element of
 * its own, m(c); e = exp(x - m(c)) goes to where y will be, and its sums to a place in GM. With
 * all of them known, and in a second pass, y = e exp(m(c) - m) / sum, which no longer needs
 * the Vector:
 *
 *     first   MTE2 x to UB | V greatest of the chunk, x - m(c), exp | MTE3 to L1 | MTE1 to
 *             L0A | M sums, and e through L0C | FIX both to GM
 *     second  MTE2 e to L1 | MTE1 to L0A, M times a number, FIX to GM, or, of some chunks,
 *             MTE1 to UB, V times a number, MTE3 to GM
 *
 * So the Vector takes four passes instead of six, and two pipes write the result. The hart
 * reads the last greatest numbers of a chunk. What L1 still has of e when the second pass
 * begins is not loaded: that pass goes backwards. Either way out gives the same bits: a
 * product with a diagonal adds zeros to one product. What a row comes to depends on its
 * length and the chip's memories alone.
 */
#ifndef KERNELS_TILE_SOFTMAX_SPILL_H
#define KERNELS_TILE_SOFTMAX_SPILL_H

#include "kernels/tile/softmax/rows.h"

enum {
    SPILL_PIECES = 2,    /* of a chunk: L0A and L0C have room for two */
    SPILL_UNIT = 128,    /* elements, of which pieces but the last of a row are made */
    SPILL_LEAST = 512,   /* of a chunk */
    SPILL_STEP = 16,     /* of a row */
    SPILL_BUFFERS = 3,   /* of a chunk in UB: loaded, worked on, stored */
    SPILL_TOGETHER = 4,  /* chunks that are loaded by one command, if they lie so */
    SPILL_SCALED = 2,    /* likewise in the second pass; the third is where numbers are */
    SPILL_SUMS = 16,     /* of a chunk */
    SPILL_DIAGONALS = 4, /* in L1 and L0B, in turn; behind them that of ones */
    SPILL_MOSTS = 4,     /* chunks whose greatest numbers are in UB, */
    SPILL_MOST = 32,     /* so many of each */
    SPILL_WORTH = 48,    /* chunks of all rows: of fewer tiles take as long; */
    SPILL_ROW_LEAST = 6, /* likewise of a row, whose numbers are waited for */
    SPILL_ROW_MOST = 512, /* chunks of a row */
    SPILL_COMMANDS = 64,  /* of a core */
};

/* Semaphores: FREE counts empty buffers, FULL filled ones. Of a chunk's: two units. */
enum spill_sem {
    SPILL_X_FREE = 1,
    SPILL_X_FULL,
    SPILL_L1_FREE,
    SPILL_L1_FULL,
    SPILL_ADDED_FREE, /* e in L0A, to be summed; */
    SPILL_ADDED_FULL,
    SPILL_E_FREE, /* to go out */
    SPILL_E_FULL,
    SPILL_SUM_FREE, /* in L0C; */
    SPILL_SUM_FULL,
    SPILL_Y_FREE,
    SPILL_Y_FULL,
    SPILL_KEPT,          /* e in L1, for the second pass */
    SPILL_DONE,          /* the first pass, of all cores */
    SPILL_DIAGONAL_FREE, /* in L1 */
    SPILL_EXP_FULL,      /* in UB, or y */
    SPILL_MAX,           /* for the hart, as the next ones */
    SPILL_ZEROS,
    SPILL_SUMMED,
    SPILL_KNOWN, /* sums of all chunks in UB */
    SPILL_SEMS,
};

/* What is pushed together. */
enum spill_push {
    SPILL_LOAD,     /* MTE2: a piece of x */
    SPILL_SET_ZERO, /* what is 0 of diagonals */
    SPILL_LOAD_E,
    SPILL_LOAD_SUMS,
    SPILL_PAD, /* V: of a row's last chunk */
    SPILL_GREATEST,
    SPILL_EXP,
    SPILL_ADD, /* the sums of a row */
    SPILL_SCALE,
    SPILL_KEEP, /* MTE3: e to L1 */
    SPILL_STORE,
    SPILL_ONES, /* MTE1 */
    SPILL_LOAD_DIAGONAL,
    SPILL_FILL,   /* pieces to L0A, twice */
    SPILL_FILL_E, /* once */
    SPILL_UNLOAD, /* e to UB */
    SPILL_MMAD,   /* M: sums and e of pieces; */
    SPILL_MMAD_E, /* e */
    SPILL_FIX,    /* FIX: e of pieces */
    SPILL_FIX_SUM,
    SPILL_PUSHES,
};

struct spill_core {
    uint64_t begin; /* the first chunk, and how many */
    uint32_t chunks;
    struct sequence seq[SPILL_PUSHES];
    union cmd cmd[SPILL_COMMANDS];
    unsigned n;
};

struct spill_plan {
    uint32_t chunk;         /* elements, but of a row's last one */
    uint32_t per_row;       /* chunks */
    uint32_t slots;         /* chunks in L1; behind them the diagonals */
    uint32_t part[2], most; /* in UB, behind the chunks */
    uint32_t sums, of_blocks, of_chunks, apart, weighted, total; /* in the second pass */
    uint32_t by_fix, by_mte3; /* cycles in which a chunk goes out */
    uint32_t row_numbers;     /* of each row in GM: SPILL_SUMS of each chunk, its m(c) */
    float *number;
    struct spill_core *core;
};

/* A chunk: where in x, elements, those up to whole units, those of its first piece. */
struct spill_chunk {
    uint64_t at;
    uint32_t elems, padded, first;
};

static inline struct spill_chunk spill_chunk(const struct rows_plan *p, uint64_t number)
{
    const struct spill_plan *s = p->spill;
    uint64_t row = number / s->per_row;
    uint32_t begin = (uint32_t)(number - row * s->per_row) * s->chunk;
    uint32_t n = p->n - begin < s->chunk ? p->n - begin : s->chunk;

    return (struct spill_chunk){row * p->n + begin, n, (uint32_t)round_up(n, SPILL_UNIT),
                                (uint32_t)round_up(n / SPILL_PIECES, SPILL_UNIT)};
}

/* What is in GM of a row's chunk, or of one from that row's first on. */
static inline float *spill_sums(const struct rows_plan *p, uint64_t row, uint64_t chunk)
{
    const struct spill_plan *s = p->spill;

    row += chunk / s->per_row;
    return s->number + row * s->row_numbers + chunk % s->per_row * SPILL_SUMS;
}
static inline float *spill_top(const struct rows_plan *p, uint64_t row, uint64_t chunk)
{
    const struct spill_plan *s = p->spill;

    row += chunk / s->per_row;
    return s->number + row * s->row_numbers + s->per_row * SPILL_SUMS +
           chunk % s->per_row;
}

/* False: rows are none for this. On success p->spill is set. */
bool spill_plan(struct rows_plan *p, struct tile_arena *arena);
/* spill_build.c: the commands of a core, whose addresses in GM are still to be set. */
void spill_build(const struct rows_plan *p, struct spill_core *core);
/* spill_play.c: the passes of a core; sink NULL: on the task's core. The first ends with
 * SPILL_DONE, of that core. */
void spill_first(const struct rows_plan *p, struct spill_core *core, struct pipes *sink);
void spill_second(const struct rows_plan *p, struct spill_core *core, struct pipes *sink);
struct tile_cycles spill_predict(struct rows_plan *p);
int spill_bind(struct rows_plan *p, struct sched_report *report);
void spill_play(const struct rows_plan *p);
void spill_finish(const struct rows_plan *p);
/* Units of a semaphore when the first pass begins, or the second ends; 0: none. */
unsigned spill_units(const struct spill_plan *s, unsigned sem, bool end);

/* Bytes of a chunk; where in UB, L1, L0B things are. */
static inline uint32_t spill_bytes(const struct spill_plan *s)
{
    return s->chunk * (uint32_t)sizeof(float);
}
static inline uint32_t spill_l1(const struct spill_plan *s, uint32_t chunk)
{
    return chunk % s->slots * spill_bytes(s);
}
static inline uint32_t spill_diagonal_l1(const struct spill_plan *s, unsigned i)
{
    return s->slots * spill_bytes(s) + i * PIPES_DIAGONAL_BYTES;
}
static inline uint32_t spill_diagonal_l0b(const struct spill_plan *s, unsigned i)
{
    return spill_bytes(s) / SPILL_PIECES + i * PIPES_DIAGONAL_BYTES;
}
static inline uint32_t spill_most(const struct spill_plan *s, uint32_t chunk)
{
    return s->most + chunk % SPILL_MOSTS * SPILL_MOST * (uint32_t)sizeof(float);
}

#endif
