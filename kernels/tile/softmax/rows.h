/* SPDX-License-Identifier: MIT
 *
 * Softmax along rows that are longer than a tile,
 *
 *     e = exp(x - max(x, n))
 *     y = e * rec(sum(e, n))
 *
 * as one stage. A row lies in L1 while its greatest element and its sum are not known. The
 * Vector does the four passes before the sum (max, x - max, two of exp) and no other: the
 * sum is a product of e with ones, the quotient one of e with a matrix that has 1 / sum in
 * its diagonal, both the Cube's, and the fixpipe takes the results to GM. What is one number
 * of a row the hart reads from UB: it becomes the scalar of x - max, which a spread row
 * would slow down by bank conflicts, and that diagonal.
 *
 * A row is cut in chunks, or a short one is a chunk; chunks whose rows are known together
 * are a group. In slot s, in this order,
 *
 *     B   chunk s: L1 to UB, x - max, exp, back to L1, and from there to L0A to be summed
 *     A   chunk s + lag: GM to UB, greatest of each block; behind a group's last, of rows
 *     C   chunk s - lag: L1 to L0A, times 1 / sum, to GM
 *
 * are pushed, and loads a slot or two ahead of what reads them. What a row comes to depends
 * on its length alone.
 */
#ifndef KERNELS_TILE_SOFTMAX_ROWS_H
#define KERNELS_TILE_SOFTMAX_ROWS_H

#include "kernels/tile/cost/pipes.h"
#include "kernels/tile/emit/emit.h"
#include "kernels/tile/softmax/softmax.h"

enum {
    ROWS_MOST = 8192,   /* elements of a chunk: half of L0A; no shorter rows */
    ROWS_LEAST = 5120,  /* likewise: the hart has so long for one */
    ROWS_WORTH = 64,    /* chunks: of fewer tiles take as long */
    ROWS_GROUP = 4,     /* rows of a group, at the most */
    ROWS_SUMS = 64,     /* of a row in L0C */
    ROWS_TOGETHER = 4,  /* chunks whose blocks are reduced by one command */
    ROWS_KNOWN = 4,     /* groups whose numbers are on their way to the hart and to L0B */
    ROWS_TURNS = 2,     /* chunks in A, in B, and as results in L0C */
    ROWS_COMMANDS = 48, /* of a core */
};

/* Semaphores: FREE counts empty buffers, FULL filled ones. */
enum rows_sem {
    ROWS_A_FREE = 1,
    ROWS_A_FULL,
    ROWS_B_FREE,
    ROWS_B_FULL,
    ROWS_L1_FREE,
    ROWS_L1_FULL,
    ROWS_ADDED_FREE, /* e in L0A, to be summed; */
    ROWS_ADDED_FULL,
    ROWS_E_FREE, /* for the quotient */
    ROWS_E_FULL,
    ROWS_SUM_FREE, /* in L0C; */
    ROWS_SUM_FULL,
    ROWS_UB_FREE, /* in UB */
    ROWS_UB_FULL,
    ROWS_Y_FREE, /* in L0C */
    ROWS_Y_FULL,
    ROWS_EXP_FULL, /* in UB; */
    ROWS_EXP_KEPT, /* in L1 */
    ROWS_MAX,      /* of all rows of a group are there, for the hart */
    ROWS_RECIPROCAL,
    ROWS_SEMS,
};

/* What is pushed together, or parts of it that lie side by side. */
enum rows_push {
    ROWS_LOAD_A, /* MTE2 */
    ROWS_LOAD_X,
    ROWS_ZEROS,
    ROWS_ONES, /* MTE1 */
    ROWS_LOAD_DIAGONAL,
    ROWS_FILL, /* of B; of L0A, to be summed, for the quotient */
    ROWS_MMAD, /* M: sums, quotient */
    ROWS_FIX,  /* FIX: likewise */
    ROWS_WORK, /* V: exp, greatest of blocks; */
    ROWS_FOLD, /* of these in turn, of rows; sums of rows */
    ROWS_CHAIN,
    ROWS_TOTAL,
    ROWS_KEEP, /* MTE3: of e */
    ROWS_PUSHES,
};
enum { ROWS_WORK_EXP = 3, ROWS_WORK_ALL = 5 /* commands of ROWS_WORK */ };

struct rows_core {
    uint32_t begin, chunks; /* the first one, and how many */
    /* Where buffers are in turn, commands of even slots and behind them of odd ones. */
    struct sequence seq[ROWS_PUSHES];
    union cmd cmd[ROWS_COMMANDS];
    unsigned n;
    uint32_t most[ROWS_GROUP], reciprocal[ROWS_GROUP];
};

struct rows_plan {
    struct tile_plan stage;
    uint16_t line[4]; /* of max, exp, sum, quotient */
    uint64_t rows;
    uint32_t n;       /* elements of a row */
    uint32_t chunk;   /* of a chunk */
    uint32_t per_row; /* chunks */
    uint32_t group;   /* chunks; rows of it: 1 if rows are cut */
    uint32_t lag;     /* slots: A is so far ahead of B, C so far behind */
    uint32_t slots;   /* chunks in L1; behind them diagonals of two groups */
    uint32_t part[2], most, sums, sum, total, reciprocal; /* in UB, behind the chunks */
    uint64_t load_sync[2];    /* words of commands: of one chunk, of two */
    uint64_t mmad_sync[2][2]; /* of a row's first chunk, of its last one */
    const char *x;
    char *y;
    struct rows_core *core;
    struct spill_plan *spill; /* rows that L1 does not hold (spill.h); NULL: none */
};

/* rows_build.c: the commands of a core, whose addresses in GM are still to be set. */
void rows_build(struct rows_plan *p, struct rows_core *core);
/* rows_play.c: all of them in order; sink NULL: to the pipes of the task's core. */
void rows_steps(const struct rows_plan *p, struct rows_core *core, struct pipes *sink);
/* rows_cost.c */
struct tile_cycles rows_predict(struct rows_plan *p);
/* Units that semaphores of FREE buffers begin with; 0: none. */
unsigned rows_units(const struct rows_plan *p, unsigned sem);

/* Bytes of a chunk; rows of a group; where buffers of a slot are. */
static inline uint32_t rows_bytes(const struct rows_plan *p)
{
    return p->chunk * (uint32_t)sizeof(float);
}
static inline uint32_t rows_of_group(const struct rows_plan *p)
{
    return p->group / p->per_row;
}
static inline uint32_t rows_a(const struct rows_plan *p, uint32_t slot)
{
    return slot % ROWS_TURNS * rows_bytes(p);
}
static inline uint32_t rows_b(const struct rows_plan *p, uint32_t slot)
{
    return (ROWS_TURNS + slot % ROWS_TURNS) * rows_bytes(p);
}
static inline uint32_t rows_l1(const struct rows_plan *p, uint32_t chunk)
{
    return chunk % p->slots * rows_bytes(p);
}
static inline uint32_t rows_ones_bytes(const struct rows_plan *p)
{
    return rows_bytes(p) / ROWS_SUMS * PIPES_DIAGONAL;
}
/* Of a group: diagonals in L1 and, behind the ones, in L0B; numbers in UB. */
static inline uint32_t rows_diagonal(const struct rows_plan *p, uint32_t group)
{
    return group % ROWS_KNOWN * rows_of_group(p) * PIPES_DIAGONAL_BYTES;
}
static inline uint32_t rows_numbers(uint32_t at, uint32_t group)
{
    return at + group % ROWS_KNOWN * REPEAT_BYTES;
}

static inline struct rows_plan *rows_of(const struct tile_plan *t)
{
    return (struct rows_plan *)(uintptr_t)t;
}

#endif
