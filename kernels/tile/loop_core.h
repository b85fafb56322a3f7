/* SPDX-License-Identifier: MIT
 *
 * Private to loop_build.c and loop_play.c: what a core of a loop pushes.
 */
#ifndef KERNELS_TILE_LOOP_CORE_H
#define KERNELS_TILE_LOOP_CORE_H

#include "kernels/tile/loop.h"

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
    struct offsets q, key, v, out[TILE_RESULTS];
    uint64_t next_key, next_v; /* bytes from a tile to the next */
    struct played group[GROUPS][2];
    struct pieces_of part[LOOP_PARTS], before[LOOP_VARIANTS];
    struct pieces_of step[LOOP_VARIANTS]; /* BEFORE, AFTER and BESIDE in one */
    struct sequence store;
    union cmd stores[TILE_RESULTS];
    const struct tile_call *call;
};

#endif
