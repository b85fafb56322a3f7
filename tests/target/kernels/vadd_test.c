/* SPDX-License-Identifier: MIT
 *
 * vadd against its definition, bit for bit, every element; whatever lies around z must
 * stay as it was. That a run leaves no semaphore behind, the runner looks at after each
 * test.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/data.h"
#include "kernels/vadd/vadd.h"
#include "tests/target/test.h"

enum { TILE = 32 << 10 /* bytes, of vadd.c */, MAX = 3 * TILE + 100, GUARD = 64 };

/* Room for a vector at any address, and guards around z. */
static uint8_t xs[MAX + GUARD], ys[MAX + GUARD], zs[MAX + 2 * GUARD];
/* The same operands where the hart may load whole elements. */
static uint64_t x_copy[MAX / 8 + 1], y_copy[MAX / 8 + 1];

/* Floats of all signs and sizes that do not overflow: exponents around the middle. */
static void fill(void *to, enum type type, uint64_t n, uint32_t seed)
{
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (type == TYPE_F32) {
            uint32_t bits = (seed & 0x87ffffff) + 0x3c000000;
            memcpy((uint8_t *)to + 4 * i, &bits, 4);
        } else {
            uint16_t bits = (uint16_t)((seed >> 16 & 0x9fff) + 0x2c00);
            memcpy((uint8_t *)to + 2 * i, &bits, 2);
        }
    }
}

/* Runs p, whose operands begin `shift` bytes off a boundary, and checks all of z. */
static void check_run(struct vadd *p, unsigned shift)
{
    unsigned esize = type_bits(p->type) / 8;
    uint64_t bytes = p->n * esize;
    struct sched_report report;
    struct vadd copy = *p;

    copy.x = memcpy(x_copy, p->x, bytes);
    copy.y = memcpy(y_copy, p->y, bytes);
    p->z = zs + GUARD - shift;
    memset(zs, 0xa5, sizeof(zs));
    CHECK_OK(vadd(p, &report));
    for (uint64_t i = 0; i < p->n; i++) {
        uint32_t got = 0;
        memcpy(&got, (uint8_t *)p->z + i * esize, esize);
        CHECK_EQ(got, vadd_ref(&copy, i));
    }
    for (unsigned i = 0; i < GUARD - shift; i++) {
        CHECK_EQ(zs[i], 0xa5);
    }
    for (uint64_t i = GUARD - shift + bytes; i < 2 * GUARD + bytes; i++) {
        CHECK_EQ(zs[i], 0xa5);
    }
}

static void check_length(enum type type, uint64_t n, unsigned shift, unsigned cores)
{
    struct vadd p = {
        .x = xs + shift, .y = ys + 2 * shift, .n = n, .type = type, .cores = cores};

    fill(xs + shift, type, n, 1);
    fill(ys + 2 * shift, type, n, 2);
    check_run(&p, shift);
}

/* Blocks of 32 bytes, repeats of 256 bytes, tiles: each less one, whole, plus one. */
static void check_around(enum type type, const uint32_t *units, unsigned n_units)
{
    for (unsigned i = 0; i < 3 * n_units && !test_failed(); i++) {
        check_length(type, units[i / 3] / (type_bits(type) / 8) + i % 3 - 1, 0, 0);
    }
}

static const uint32_t small[] = {8, 32, 256}, large[] = {TILE, 2 * TILE, 3 * TILE};

TEST(vadd, floats_around_a_block)
{
    check_around(TYPE_F32, small, 3);
}

TEST(vadd, floats_around_a_tile)
{
    check_around(TYPE_F32, large, 3);
}

TEST(vadd, halves_around_a_block)
{
    check_around(TYPE_F16, small, 3);
}

TEST(vadd, halves_around_a_tile)
{
    check_around(TYPE_F16, large, 3);
}

TEST(vadd, operands_at_any_address)
{
    for (unsigned shift = 1; shift < 32; shift += 6) {
        check_length(TYPE_F32, 1000, shift, 0);
        check_length(TYPE_F16, 1001, shift, 0);
    }
    check_length(TYPE_F32, 2 * TILE / 4 + 3, 5, 0);
}

TEST(vadd, any_number_of_cores)
{
    for (unsigned cores = 1; cores <= chip_cores() && cores <= 4; cores++) {
        check_length(TYPE_F32, 3 * TILE / 4 - 9, 0, cores);
    }
    check_length(TYPE_F16, 3 * TILE / 2 - 9, 0, chip_cores());
}

TEST(vadd, result_may_replace_an_operand)
{
    enum { N = 2 * TILE / 4 + 5 };
    struct vadd p = {.x = xs, .y = ys, .z = xs, .n = N, .type = TYPE_F32};
    struct vadd copy = p;
    struct sched_report report;

    fill(xs, TYPE_F32, N, 3);
    fill(ys, TYPE_F32, N, 4);
    copy.x = memcpy(x_copy, xs, N * 4);
    CHECK_OK(vadd(&p, &report));
    for (uint64_t i = 0; i < N; i++) {
        CHECK_EQ(data_bits(xs, TYPE_F32, i), vadd_ref(&copy, i));
    }
}

/* Every pair of values[0 .. n-1]. */
static void check_pairs(enum type type, const uint32_t *values, unsigned n)
{
    struct vadd p = {.x = xs, .y = ys, .n = (uint64_t)n * n, .type = type};
    unsigned esize = type_bits(type) / 8;

    for (unsigned i = 0; i < n * n; i++) {
        memcpy(xs + i * esize, &values[i / n], esize);
        memcpy(ys + i * esize, &values[i % n], esize);
    }
    check_run(&p, 0);
}

TEST(vadd, special_floats)
{
    static const uint32_t values[] = {
        0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff,
        0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x33800000,
        0x34000000, 0x7f7fffff, 0xff7fffff, 0x73000000, 0x73800000, 0x7f800000,
        0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff923456};

    check_pairs(TYPE_F32, values, sizeof(values) / sizeof(values[0]));
    CHECK_EQ(data_bits(zs + GUARD, TYPE_F32, 17 * 23 + 18), 0x7fc00000u); /* inf - inf */
    CHECK_EQ(data_bits(zs + GUARD, TYPE_F32, 23 + 1), 0x80000000u);       /* -0 + -0 */
    CHECK_EQ(data_bits(zs + GUARD, TYPE_F32, 2 * 23 + 2), 2u);            /* subnormal */
}

TEST(vadd, special_halves)
{
    static const uint32_t values[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff,
                                      0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x1000,
                                      0x1400, 0x7bff, 0xfbff, 0x4c00, 0x4bff, 0x7c00,
                                      0xfc00, 0x7e00, 0xfe12, 0x7c01, 0xfd23};

    check_pairs(TYPE_F16, values, sizeof(values) / sizeof(values[0]));
    CHECK_EQ(data_bits(zs + GUARD, TYPE_F16, 13 * 23 + 15), 0x7c00u); /* max + 16: inf */
    CHECK_EQ(data_bits(zs + GUARD, TYPE_F16, 13 * 23 + 16), 0x7bffu); /* max + 15.99 */
    CHECK_EQ(data_bits(zs + GUARD, TYPE_F16, 21 * 23), 0x7e00u);      /* NaN canonical */
}

/* --- arguments --- */

static void check_refused(struct vadd p, int err)
{
    struct sched_report report;
    uint8_t z[64];

    memset(z, 0xa5, sizeof(z));
    p.z = z;
    CHECK_EQ(vadd(&p, &report), err);
    CHECK_EQ(strstr(report.text, " wanted, ") != NULL, err == ERR_CORES);
    CHECK_OK(sched_run(&report)); /* of no task */
    for (unsigned i = 0; i < sizeof(z); i++) {
        CHECK_EQ(z[i], 0xa5);
    }
}

TEST(vadd, refuses_no_elements)
{
    check_refused((struct vadd){.x = xs, .y = ys, .n = 0, .type = TYPE_F32}, ERR_ARG);
}

TEST(vadd, refuses_cores_that_are_not_there)
{
    check_refused(
        (struct vadd){
            .x = xs, .y = ys, .n = 8, .type = TYPE_F32, .cores = chip_cores() + 1},
        ERR_CORES);
}

TEST(vadd, refuses_other_types)
{
    for (unsigned type = 0; type <= TYPE_COUNT; type++) {
        if (type != TYPE_F32 && type != TYPE_F16) {
            check_refused(
                (struct vadd){.x = xs, .y = ys, .n = 8, .type = (enum type)type},
                ERR_TYPE);
        }
    }
}
