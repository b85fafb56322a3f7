/* SPDX-License-Identifier: MIT
 *
 * Kernels with one bottleneck each, and the same without it: what `report` is tested with.
 */
#ifndef TESTS_PROFILE_BOTTLENECK_H
#define TESTS_PROFILE_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/launch.h"

/* Bytes of GM: that a kernel reads, rows with what lies between them; that it writes. */
enum { SLOW_BYTES = 3 << 19, SLOW_X = 4 * SLOW_BYTES };

/* y = x / 2, tile by tile through UB: copied in, halved, copied out. Of x each block does
 * its share; rows of row_bytes, unless that is 0, are four times as far apart. */
struct stream {
    uint64_t bytes;     /* of x */
    uint32_t tile;      /* bytes */
    uint32_t row_bytes; /* of x */
    unsigned buffers;   /* of each queue */
    unsigned adds;      /* commands of V more for each tile, which add a second operand */
    bool clash;         /* that lies in the same bank groups as the tile */
    bool constant;      /* a tile of GM is in UB as well, through L1 */
    bool again;         /* that is read for each tile */
    bool twice;         /* x is halved once more, before y is free */
    bool late;          /* and that waits for the store of the tile before */
    bool uneven;        /* the first block has as much as two others */
};
extern char *slow_x, *slow_y; /* GM */
void slow_stream(void *stream);

/* Short commands of V, issued one by one or recorded. */
void slow_short(void *recorded);
/* All cores add to the same tiles of GM, one after the other or at once. */
void slow_atomics(void *at_once);

#endif
