/* SPDX-License-Identifier: MIT
 *
 * The published tiling, for matmul.c; see published.c.
 */
#ifndef KERNELS_MATMUL_PUBLISHED_H
#define KERNELS_MATMUL_PUBLISHED_H

#include "kernels/matmul/matmul.h"

/* How c is cut into blocks: rows of tiles are dealt out first, then columns. */
struct published {
    const struct matmul *p;
    unsigned rows, columns;
};

/* Returns how many blocks there are for so many cores. */
unsigned matmul_plan_published(struct published *plan, const struct matmul *p,
                               unsigned cores);
/* The kernel; arg: the struct published. */
void matmul_published(void *arg);

#endif
