/* SPDX-License-Identifier: MIT
 *
 * Loads of several tiles at a time, for programs that MTE2 limits: a copy to UB begins with
 * COST_GM_UB_FIXED cycles, and UB holds no long ones. So MTE2 brings `bulk` tiles of each
 * parameter side by side to one half of L1, where there is room for more, and at a higher rate;
 * MTE1 moves each tile on to UB, which it begins with a tenth of that.
 *
 * Loads are L1's FULL and take its FREE a unit for each tile. A core's last one has what is
 * left, its shorter last tile included.
 */
#ifndef KERNELS_TILE_TILES_BULK_H
#define KERNELS_TILE_TILES_BULK_H

#include "kernels/tile/tiles/tiles.h"

enum {
    BULK_MOST = UINT8_MAX, /* of a way: as many tiles as L1 holds twice */
    BULK_SLOTS = 2,        /* loads in L1 */
    BULK_WORTH = 8000      /* cycles: what takes no longer has not many tiles to bring */
};

/* Gives a way with `bulk` its semaphores, and instead of BULK_MOST a number. NULL, or why it
 * cannot be: tiles lie side by side in GM and whole lines of L2 behind one another. */
const char *bulk_begin(struct order *o, const struct loops *l, const struct emit *e,
                       struct way *w);

/* Of a core: loads of so many tiles, and cycles of one; those of the last one of fewer; of a
 * variant's moves. */
struct bulk_cycles {
    unsigned tiles; /* 0: the way has none */
    uint64_t whole, load, rest;
    uint64_t move[VARIANTS][TILE_PARAMS];
};
void bulk_cycles(struct bulk_cycles *b, const struct emit *e, const struct order *o,
                 const struct loops *l, const struct share *share);

/* The sequences of a part: its loads; moves of a variant. */
int bulk_loads(struct tiles_plan *t, struct part *part, struct tile_arena *arena);
int bulk_moves(struct tiles_plan *t, struct part *part, unsigned variant,
               struct tile_arena *arena);
/* Addresses of a call. */
void bulk_bind(const struct tiles_plan *t, const struct tile_call *call,
               struct part *part);

/* replay.c: a sequence with room for its commands and patches, false: no memory; makes it the
 * lane's next leg. */
bool part_room(struct sequence *s, enum pipe pipe, unsigned n, unsigned positions,
               unsigned patches, struct tile_arena *arena);
void part_leg(struct part *part, unsigned lane, struct sequence *s,
              const struct share *rounds, uint64_t first);

#endif
