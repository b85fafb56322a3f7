/* SPDX-License-Identifier: MIT
 *
 * Data of tests on the host: noise, numbers by their bits, elements of 4 to 32 bits, and
 * the one comparison of what came with what should have.
 */
#ifndef TESTS_HOST_DATA_H
#define TESTS_HOST_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* 32 bits of noise, the same ones in each run of a test, whichever ran before it. */
uint32_t rnd(void);
/* Back to the first of them; the runner does it before each test. */
void rnd_begin(void);
void noise(void *to, size_t bytes);

/* True if they are equal; else a note of the first byte that is not. */
bool same(const void *got, const void *want, size_t bytes);

/* Element i of `bits` behind `at`; the even one of two in a byte is the low half. */
uint32_t element_get(const void *at, size_t i, unsigned bits);
void element_put(void *at, size_t i, unsigned bits, uint32_t value);

/* An F16 as a number; it shares nothing with the model. */
float half_value(uint16_t bits);

static inline float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* Units that x begins. */
static inline unsigned up(unsigned x, unsigned unit)
{
    return (x + unit - 1) / unit;
}

#endif
