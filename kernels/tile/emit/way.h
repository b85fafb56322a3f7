/* SPDX-License-Identifier: MIT
 *
 * Private to the planner and to what tries ways by their words (script.h): one way to cut a
 * program into tiles, and where these lie in UB.
 */
#ifndef KERNELS_TILE_TILES_WAY_H
#define KERNELS_TILE_TILES_WAY_H

#include <stdbool.h>
#include <stdint.h>

enum { PLAN_RING = 4 /* tiles at one time */ };
enum { SPREAD_NONE, SPREAD_ALL, SPREAD_FIRST }; /* values of columns there for each row */
struct way {
    uint32_t rows, cols;        /* of a tile */
    uint32_t pitch;             /* elements from a row to the next in UB */
    uint8_t ring, spread, bulk; /* tiles at one time; SPREAD_; see bulk.h */
    bool apart;  /* results have buffers of their own, else those of parameters */
    bool far;    /* no operation by rows writes where it reads */
    bool single; /* what only the Vector reads is there once, and loaded last */
};

/* Rows for which there is memory: groups of 8, where there are so many. */
static inline uint32_t way_rows(const struct way *w)
{
    return w->rows < 8 ? w->rows : (w->rows + 7) & ~7u;
}

enum { PLACE_LARGE = 8, PLACE_PHASES = 3 };
/* How: large buffers from bank to bank or one behind the other, small ones from the front
 * or far behind; and with which group each large one begins. */
struct placing {
    bool banks, behind;
    uint8_t phase[PLACE_LARGE];
};

#endif
