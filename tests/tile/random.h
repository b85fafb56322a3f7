/* SPDX-License-Identifier: MIT
 *
 * Random tile programs: dimensions, types, broadcasts, reductions, masks, casts, scalars
 * and results by a seed. Each is valid, and most of its values are finite. For the host
 * (parser, NumPy) and the target (planner against interpreter).
 */
#ifndef TESTS_TILE_RANDOM_H
#define TESTS_TILE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum {
    RANDOM_TEXT = 4096,
    RANDOM_DIMS = 3,
    RANDOM_LONG = 20000,
    RANDOM_PRODUCTS = 1 << 30 /* of a seed: among the operations are products */
};

/* The program of a seed, RANDOM_TEXT bytes. Returns how many dimensions it has, called m,
 * n and k, and their sizes: 1 up to `most` elements in all; where most is more than
 * RANDOM_LONG the last one is at least that. */
unsigned random_program(uint32_t seed, uint32_t most, char *text,
                        uint32_t size[RANDOM_DIMS]);

#endif
