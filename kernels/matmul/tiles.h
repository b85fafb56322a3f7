/* SPDX-License-Identifier: MIT
 *
 * What the two tilings of matmul share: the size of a tile, semaphores, where an element lies.
 */
#ifndef KERNELS_MATMUL_TILES_H
#define KERNELS_MATMUL_TILES_H

#include "kernels/matmul/matmul.h"

enum {
    TM = 128, /* rows of a tile */
    TN = 256, /* its columns */
};

/* FREE counts empty buffers, FULL filled ones. */
enum {
    A_FREE = MATMUL_SEM_FIRST,
    A_FULL,
    B_FREE,
    B_FULL,
    L0_FREE,
    L0_FULL,
    C_FREE,
    C_FULL = MATMUL_SEM_LAST,
};

static inline const void *element(const void *base, uint64_t row, uint64_t pitch,
                                  uint64_t col, uint32_t esize)
{
    return (const char *)base + (row * pitch + col) * esize;
}

/* published.c: one core's part of c in the published tiling. */
struct matmul_part {
    uint32_t m_begin, m_end, n_begin, n_end;
};
void matmul_published(const struct matmul *p, const struct matmul_part *part);

#endif
