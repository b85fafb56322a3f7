/* SPDX-License-Identifier: MIT
 *
 * Noise, the same on every run. Source: Marsaglia, Xorshift RNGs (2003).
 */
#ifndef TESTS_MODEL_RND_H
#define TESTS_MODEL_RND_H

#include <stdint.h>

/* 32 bits. */
static inline uint32_t rnd(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 16);
}

#endif
