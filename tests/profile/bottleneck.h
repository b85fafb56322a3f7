/* SPDX-License-Identifier: MIT
 *
 * Kernels with one bottleneck each, and the same without it: what `report` is tested with.
 */
#ifndef TESTS_PROFILE_BOTTLENECK_H
#define TESTS_PROFILE_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/launch.h"

enum {
    SLOW_BYTES = 3 << 19 /* of GM that a kernel reads, and as many that it writes */
};

/* y = x / 2, tile by tile through UB: copied in, halved, copied out. */
struct stream {
    uint32_t tile;    /* bytes */
    unsigned buffers; /* of each queue */
    uint64_t bytes;   /* of x; each block does its share */
    uint32_t
        row_bytes; /* of x, of rows that are four times as far apart; 0: x is whole */
    unsigned adds; /* commands of V more for each tile, which add a second operand */
    bool clash;    /* that lies in the same bank groups as the tile */
    bool constant; /* a tile of GM is in UB as well, through L1 */
    bool again;    /* that is read for each tile */
    bool late;     /* the Vector waits for the store of the tile before */
    bool uneven;   /* the first block has as much as all others */
};
extern char *slow_x, *slow_y; /* GM */
void slow_stream(void *stream);

/* Short commands of V, issued one by one or recorded. */
void slow_short(void *recorded);
/* All cores add to the same tiles of GM, one after the other or at once. */
void slow_atomics(void *at_once);

#endif
