/* SPDX-License-Identifier: MIT
 *
 * Random cases of a test, told by the seed with which they begin.
 */
#ifndef TESTS_TARGET_KERNELS_RANDOM_H
#define TESTS_TARGET_KERNELS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/op.h"

static uint32_t seed;

static inline uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* What a command with the arguments [COUNT [SEED]] does: so many products, of which run() makes
 * one and tells what is wrong with it, if it returns false. */
static inline int random_products(int argc, char **argv, uint32_t n, bool (*run)(void))
{
    n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : n;
    seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = seed;
        if (!run()) {
            printf("product %lu, begun with seed %lu\n", (unsigned long)i,
                   (unsigned long)before);
            return RUN_CHECK;
        }
    }
    printf("%lu products are right\n", (unsigned long)n);
    return RUN_OK;
}

#endif
