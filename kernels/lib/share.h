/* SPDX-License-Identifier: MIT
 *
 * Arithmetic of tiles that operators share.
 */
#ifndef KERNELS_LIB_SHARE_H
#define KERNELS_LIB_SHARE_H

#include <stdint.h>
#include <string.h>

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint32_t div_up_u32(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline uint32_t up16(uint32_t n)
{
    return (n + 15) & ~15u;
}

/* Where share i of `shares` begins when `all` is dealt out in whole tiles; share i ends
 * where share i + 1 begins, and i = shares gives `all`. */
static inline uint64_t share_begin(uint64_t all, uint32_t tile, unsigned i,
                                   unsigned shares)
{
    uint64_t tiles = all / tile + (all % tile != 0), at = tiles * i / shares * tile;

    return at < all ? at : all;
}

#endif
