/* SPDX-License-Identifier: MIT
 *
 * Data of tests on the host; see data.h. Source of the noise: Marsaglia, Xorshift RNGs
 * (2003).
 */
#include "tests/host/data.h"

#include <math.h>
#include "tests/test.h"

#define FIRST 88172645463325252u

static uint64_t state = FIRST;

void rnd_begin(void)
{
    state = FIRST;
}

uint32_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

void noise(void *to, size_t bytes)
{
    uint8_t *at = to;
    uint32_t word;

    for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
        word = rnd();
        memcpy(at, &word, sizeof(word));
    }
    word = rnd();
    memcpy(at, &word, bytes);
}

bool same(const void *got, const void *want, size_t bytes)
{
    const uint8_t *g = got, *w = want;
    size_t i = 0;

    if (memcmp(got, want, bytes) == 0) {
        return true;
    }
    while (g[i] == w[i]) {
        i++;
    }
    test_note("byte %zu is %02x, want %02x", i, g[i], w[i]);
    return false;
}

uint32_t element_get(const void *at, size_t i, unsigned bits)
{
    const uint8_t *from = (const uint8_t *)at + i * bits / 8;
    uint32_t value = 0;

    if (bits == 4) {
        return *from >> i % 2 * 4 & 15;
    }
    memcpy(&value, from, bits / 8);
    return value;
}

void element_put(void *at, size_t i, unsigned bits, uint32_t value)
{
    uint8_t *to = (uint8_t *)at + i * bits / 8;
    unsigned shift = i % 2 * 4;

    if (bits == 4) {
        *to = (uint8_t)((*to & ~(15u << shift)) | (value & 15) << shift);
    } else {
        memcpy(to, &value, bits / 8);
    }
}

float half_value(uint16_t h)
{
    float mag = (h & 0x7c00) == 0
                    ? (float)ldexp(h & 0x3ff, -24)
                    : (float)ldexp((h & 0x3ff) | 0x400, ((h >> 10) & 31) - 25);

    if ((h & 0x7c00) == 0x7c00) {
        mag = h & 0x3ff ? NAN : INFINITY;
    }
    return h & 0x8000 ? -mag : mag;
}
