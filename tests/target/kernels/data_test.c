/* SPDX-License-Identifier: MIT
 *
 * Made-up values and fp16 on the hart, which are written to be fast: against what they are.
 */
#include <math.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/lib/f16.h"
#include "tests/test.h"

/* Floats come several at a time: each count has the beginning of the same sequence, and
 * nothing behind it is touched. */
TEST(data, counts_are_parts_of_one_sequence)
{
    static const enum type types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_S8, TYPE_S32};
    static uint64_t all[8], some[8];

    for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        unsigned bytes = type_bits(types[t]) / 8;
        data_fill(DATA_RANGE, all, types[t], 11, 7);
        for (unsigned n = 0; n < 11; n++) {
            memset(some, 0xa5, sizeof(some));
            data_fill(DATA_RANGE, some, types[t], n, 7);
            CHECK_EQ(memcmp(some, all, n * bytes), 0);
            CHECK_EQ(((uint8_t *)some)[n * bytes], 0xa5);
        }
    }
}

/* The first three of seed 1, by the formula of data.h: 32 random bits of which the upper
 * ten are steps of 1/512. */
TEST(data, floats_are_steps_of_the_generator)
{
    static uint64_t room[8];
    uint32_t seed = 1;

    data_fill(DATA_RANGE, room, TYPE_F16, 9, 1);
    for (unsigned i = 0; i < 9; i++) {
        seed = seed * 1664525 + 1013904223;
        CHECK_EQ(data_value(data_bits(room, TYPE_F16, i), TYPE_F16),
                 ((double)(seed >> 22) - 512) / 512);
    }
}

TEST(data, halves_are_what_ieee_says)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        int exponent = h >> 10 & 31, fraction = h & 0x3ff;
        double want =
            exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        double wide = f16_to_f64((uint16_t)h), got = (double)f16_to_f32((uint16_t)h);

        want = exponent < 31 ? want : fraction ? (double)NAN : (double)INFINITY;
        CHECK_EQ(isnan(got), isnan(want));
        CHECK_EQ(isnan(wide), isnan(want));
        if (!isnan(want)) {
            CHECK_EQ(got, h & 0x8000 ? -want : want);
            CHECK_EQ(wide, got);
            CHECK_EQ(signbit(wide) != 0, h >> 15);
            CHECK_EQ(signbit(got) != 0, h >> 15);
        }
    }
}
