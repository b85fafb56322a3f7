/* SPDX-License-Identifier: MIT
 *
 * How elements are moved; see move.h. A job is a move whose dimensions are put together where
 * both arrays have them side by side, in units that a core does at a time: a tile, `run`
 * bytes by `rows`, of one index of all other dimensions.
 */
#ifndef KERNELS_MOVE_INSIDE_H
#define KERNELS_MOVE_INSIDE_H

#include "hal/mte.h"
#include "kernels/move/move.h"
#include "sched/tque.h"

enum {
    MOVE_SLOT = 44 << 10,    /* bytes of a buffer */
    MOVE_PATTERN = 16 << 10, /* of what fills */
    MOVE_BLOCK = 32,
    MOVE_BUFFERS = 2,
    /* At most: of 16 blocks two halves each, from and to, and two lists of addresses. */
    MOVE_COMMANDS = 16 * 2 * 2 * 3,
    MOVE_MOST_ROWS = 4095,
    MOVE_PLANES = 8, /* that are interleaved, at most */
};

/* Steps in bytes. */
struct move_axis {
    uint64_t size, x, y;
};

struct move_job {
    const char *x; /* NULL: fills */
    char *y;
    uint32_t esize;
    bool
        transposes; /* `a` lies side by side in x, `b` in y; else `a` in both, or nothing */
    bool interleaves; /* then: `b` is 2, 4 or 8, and y has them one behind the other */
    struct move_axis a, b;
    uint32_t ta, tb; /* of a tile */
    uint32_t n;      /* other dimensions */
    struct move_axis other[MOVE_DIMS];
    uint64_t units, tiles_a, tiles_b;
};

/* alone: the only one of its launch, so it may be one that transposes. */
void move_plan(const struct move *m, bool alone, struct move_job *job);

/* One tile: where it begins, and how much of it there is. */
struct move_tile {
    const char *x;
    char *y;
    uint32_t a, b;
};
struct move_tile move_tile(const struct move_job *job, uint64_t unit);
/* As it is brought, and stored. */
struct mte_rows move_rows_in(const struct move_job *job, const struct move_tile *t);
struct mte_rows move_rows_out(const struct move_job *job, const struct move_tile *t);

/* Pitches of a tile in UB, as it is brought and as it is stored. */
static inline uint32_t move_blocks(uint32_t elements, uint32_t esize)
{
    return (elements * esize + MOVE_BLOCK - 1) / MOVE_BLOCK;
}

/* Commands that transpose a tile, for one buffer of each queue; they are built again where
 * the tile's size is another. n 0: none are built. */
struct move_record {
    uint32_t a, b, n;
    union cmd cmd[MOVE_COMMANDS];
};

/* Builds them, for `a` columns and `b` rows at `from`; and issues them, too. */
void move_squares(const struct move_job *job, const struct move_tile *t, uint32_t from,
                  uint32_t to, struct move_record *record);
void move_transpose(const struct move_job *job, const struct move_tile *t, uint32_t from,
                    uint32_t to, struct move_record *record);

#endif
