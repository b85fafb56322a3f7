/* SPDX-License-Identifier: MIT
 *
 * Sizes of the Vector's commands, and arithmetic of sizes and cycles.
 */
#ifndef KERNELS_TILE_IR_SIZE_H
#define KERNELS_TILE_IR_SIZE_H

#include "hal/vector.h"

enum {
    LANES = 128,                   /* elements of the longest repeat */
    BLOCK = 32,                    /* bytes */
    REPEAT_BYTES = 256,            /* of a command of the Vector */
    TWICE_BYTES = 2 * REPEAT_BYTES /* after which bank groups are the same again */
};

static inline uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}
static inline uint32_t div_up(uint64_t n, uint32_t by)
{
    return (uint32_t)((n + by - 1) / by);
}
/* Of two cycles. */
static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static inline unsigned esize_of(unsigned type)
{
    return type_bits(type) / 8;
}

#endif
