/* SPDX-License-Identifier: MIT
 *
 * matmul against its definition, bit for bit: every element of small results, of large
 * ones the edges of fractals and tiles and a sample. Whatever lies around c must stay as
 * it was. That a run leaves no semaphore behind, the runner looks at after each test.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/data.h"
#include "kernels/lib/f16.h"
#include "kernels/matmul/matmul.h"
#include "tests/target/test.h"

enum { GUARD = 64, MAX_A = 400 << 10, MAX_B = 700 << 10, MAX_C = 400 << 10 };
/* Of the reference, a case. */
#define PRODUCTS (test_long ? 300000 : 40000)

static uint64_t a_room[MAX_A / 8], b_room[MAX_B / 8];
static uint8_t c_room[MAX_C + 2 * GUARD] __attribute__((aligned(8)));
static uint8_t shifted_a[MAX_A + GUARD], shifted_b[MAX_B + GUARD];

/* The three combinations of types. */
static const struct {
    enum type in, out;
} kinds[] = {{TYPE_F16, TYPE_F32}, {TYPE_F16, TYPE_F16}, {TYPE_S8, TYPE_S32}};

/* int8 from -128 to 127; fp16 of both signs and exponents from -7 to 0, so that sums
 * need more bits than fp32 has and every step rounds. */
static void fill(void *to, enum type type, uint64_t n, uint32_t seed)
{
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (type == TYPE_S8) {
            ((uint8_t *)to)[i] = (uint8_t)(seed >> 24);
        } else {
            ((uint16_t *)to)[i] = (uint16_t)((seed >> 16 & 0x9fff) + 0x2000);
        }
    }
}

/* Element i of c is worth a look: the last and the first of something. */
static bool is_edge(const struct matmul *p, uint32_t row, uint32_t column)
{
    bool r = row % 128 == 0 || row % 128 == 127 || row == p->m - 1;
    bool c = column % 128 == 0 || column % 16 == 15 || column == p->n - 1;

    return r && c;
}

/* p's result at `c` against the definition. */
static void check_result(const struct matmul *p, const uint8_t *c)
{
    uint64_t count = (uint64_t)p->m * p->n;
    uint64_t step = 1 + count * p->k / PRODUCTS;
    unsigned esize = type_bits(p->out) / 8;

    step += step > 1 && p->n % step == 0; /* not always the same columns */
    for (uint64_t i = 0; i < count; i++) {
        uint32_t row = (uint32_t)(i / p->n), column = (uint32_t)(i % p->n), got = 0;
        if (i % step == 0 || is_edge(p, row, column)) {
            memcpy(&got, c + i * esize, esize);
            CHECK_EQ(got, matmul_ref(p, row, column));
        }
    }
}

/* Runs p with the operands in a_room and b_room moved by `shift` bytes (their place if
 * 0), and checks c and what is around it. */
static void check_run(struct matmul p, unsigned shift)
{
    uint64_t size = (uint64_t)p.m * p.n * (type_bits(p.out) / 8);
    unsigned esize = type_bits(p.in) / 8;
    uint8_t *c = c_room + GUARD - shift;
    struct matmul moved;
    struct sched_report report;
    char why[MM_TEXT];
    struct mm mm;

    CHECK((uint64_t)p.m * p.k * esize <= MAX_A && (uint64_t)p.k * p.n * esize <= MAX_B);
    CHECK(size <= MAX_C);
    p.a = a_room;
    p.b = b_room;
    moved = p;
    if (shift != 0) {
        moved.a = memcpy(shifted_a + shift, a_room, (size_t)p.m * p.k * esize);
        moved.b = memcpy(shifted_b + 2 * shift, b_room, (size_t)p.k * p.n * esize);
    }
    moved.c = c;
    if (p.tiling == MATMUL_OWN) {
        CHECK_OK(matmul_plan(&moved, &mm, why));
        p.parts = mm.parts;
    }
    memset(c_room, 0xa5, GUARD + size + GUARD);
    CHECK_OK(matmul(&moved, &report));
    check_result(&p, c);
    for (unsigned i = 0; i < GUARD - shift; i++) {
        CHECK_EQ(c_room[i], 0xa5);
    }
    for (uint64_t i = GUARD - shift + size; i < 2 * GUARD + size; i++) {
        CHECK_EQ(c_room[i], 0xa5);
    }
}

static void check_shape(unsigned kind, uint32_t m, uint32_t n, uint32_t k)
{
    struct matmul p = {
        .m = m, .n = n, .k = k, .in = kinds[kind].in, .out = kinds[kind].out};

    fill(a_room, p.in, (uint64_t)m * k, m + 1);
    fill(b_room, p.in, (uint64_t)k * n, n + 2);
    check_run(p, 0);
}

/* Every size on either side of a fractal, an L0 slice and a tile, in each place. */
static void check_shapes(unsigned kind)
{
    static const uint32_t shapes[][3] = {
        {1, 1, 1},       {1, 1, 300},     {2, 1, 15},      {1, 2, 16},
        {15, 17, 31},    {16, 16, 16},    {17, 15, 33},    {31, 33, 2},
        {33, 31, 127},   {127, 129, 128}, {128, 256, 129}, {129, 257, 17},
        {255, 127, 129}, {256, 255, 255}, {257, 300, 16},  {300, 256, 257},
        {128, 128, 256}, {16, 128, 300},  {2, 257, 256},   {300, 1, 255},
        {1, 300, 257},   {300, 300, 300},
    };

    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        check_shape(kind, shapes[i][0], shapes[i][1], shapes[i][2]);
        if (test_failed()) {
            return;
        }
    }
}

TEST_SHAPES(matmul, halves_to_floats)
{
    check_shapes(0);
}

TEST_SHAPES(matmul, halves_to_halves)
{
    check_shapes(1);
}

TEST(matmul, bytes_to_words)
{
    check_shapes(2);
}

/* k beyond a slot of a or b in L1, beyond both, and a's panel no longer kept: 512 and
 * 1024 elements of fp16, twice that of int8. */
TEST_SHAPES(matmul, k_of_several_chunks)
{
    static const uint32_t ks[] = {255, 256, 257, 511, 512, 513, 767, 1024, 1025, 1300};

    for (unsigned i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
        check_shape(0, 17, 33, ks[i]);
        check_shape(2, 17, 33, 2 * ks[i]);
    }
}

TEST(matmul, long_k_and_several_tiles)
{
    check_shape(0, 130, 258, 1030);
    check_shape(2, 130, 258, 2050);
    check_shape(1, 129, 129, 1537);
}

TEST(matmul, any_number_of_cores)
{
    struct matmul p = {.m = 300, .n = 140, .k = 70, .in = TYPE_F16, .out = TYPE_F32};

    fill(a_room, p.in, 300 * 70, 1);
    fill(b_room, p.in, 70 * 140, 2);
    for (p.cores = 1; p.cores <= chip_cores() && p.cores <= 4; p.cores++) {
        check_run(p, 0);
    }
    p.cores = chip_cores();
    check_run(p, 0);
}

TEST(matmul, operands_at_any_address)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        struct matmul p = {
            .m = 33, .n = 47, .k = 65, .in = kinds[kind].in, .out = kinds[kind].out};

        fill(a_room, p.in, 33 * 65, 3);
        fill(b_room, p.in, 65 * 47, 4);
        for (unsigned shift = 1; shift < 32; shift += 6) {
            check_run(p, shift);
        }
    }
}

/* A long k and a small c: parts of k have sums of their own, as many as the shape says, so the
 * bits are the same on any number of cores. */
TEST(matmul, parts_of_k)
{
    struct matmul p = {.m = 20,
                       .n = 40,
                       .k = 2999,
                       .in = TYPE_F16,
                       .out = TYPE_F32,
                       .strategy = MM_SPLIT_K};
    char why[MM_TEXT];
    struct mm mm;

    fill(a_room, p.in, 20 * 2999, 1);
    fill(b_room, p.in, 2999 * 40, 2);
    p.a = a_room;
    p.b = b_room;
    for (p.cores = 1; p.cores <= chip_cores() && p.cores <= 3; p.cores++) {
        CHECK_OK(matmul_plan(&p, &mm, why));
        CHECK_EQ(mm.parts > 1, true);
        CHECK_EQ(p.parts == 0 || p.parts == mm.parts, true);
        p.parts = mm.parts;
        check_run(p, 0);
    }
    p.in = TYPE_S8;
    p.out = TYPE_S32;
    p.cores = chip_cores();
    p.parts = 0; /* whole numbers do not mind */
    check_run(p, 0);
}

/* Small whole numbers, whose sums are the same in any order; twice, since commands are kept,
 * the second time from and to elsewhere. */
TEST(matmul, parts_in_any_order)
{
    struct matmul p = {.m = 20,
                       .n = 40,
                       .k = 2999,
                       .in = TYPE_F16,
                       .out = TYPE_F32,
                       .strategy = MM_SPLIT_K,
                       .any_order = true};

    for (unsigned i = 0; i < 2999 * 40; i++) {
        ((uint16_t *)(void *)b_room)[i] = f32_to_f16((float)(int)(i % 7) - 3);
        ((uint16_t *)(void *)a_room)[i % (20 * 2999)] = f32_to_f16((float)(i % 5));
    }
    for (p.cores = 1; p.cores <= chip_cores(); p.cores += (p.cores + 1) / 2) {
        check_run(p, 0);
        check_run(p, 4);
    }
}

/* --- values --- */

TEST(matmul, lowest_bytes)
{
    struct matmul p = {.m = 17, .n = 17, .k = 300, .in = TYPE_S8, .out = TYPE_S32};

    memset(a_room, 0x80, 17 * 300);
    memset(b_room, 0x80, 17 * 300);
    check_run(p, 0);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_S32, 0), 300u * 128 * 128);
}

/* 2^17 products of 2^14 are 2^31, which int32 holds as -2^31; one more goes on. */
TEST(matmul, words_wrap_around)
{
    struct matmul p = {
        .m = 1, .n = 1, .k = (1 << 17) + 1, .in = TYPE_S8, .out = TYPE_S32};

    memset(a_room, 0x80, p.k);
    memset(b_room, 0x80, p.k);
    check_run(p, 0);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_S32, 0), 0x80004000u);
}

static const uint16_t specials[] = {
    0,      0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00,
    0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0xfd23};
enum { N_SPECIALS = sizeof(specials) / sizeof(specials[0]) };

/* Every product of two special values, alone. */
static void check_products(enum type out)
{
    struct matmul p = {
        .m = N_SPECIALS, .n = N_SPECIALS, .k = 1, .in = TYPE_F16, .out = out};

    memcpy(a_room, specials, sizeof(specials));
    memcpy(b_room, specials, sizeof(specials));
    check_run(p, 0);
}

TEST(matmul, products_of_special_halves)
{
    check_products(TYPE_F32);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_F32, 0 * N_SPECIALS + 13), 0x7fc00000u);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_F32, 2 * N_SPECIALS + 2), 0x27800000u);
    check_products(TYPE_F16);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_F16, 11 * N_SPECIALS + 11), 0x7c00u);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_F16, 17 * N_SPECIALS + 8), 0x7e00u);
}

/* Sums of them: what infinities and NaN do depends on the order. */
TEST(matmul, sums_of_special_halves)
{
    struct matmul p = {.m = 40, .n = 40, .k = 21, .in = TYPE_F16, .out = TYPE_F32};
    uint16_t *a = (uint16_t *)a_room, *b = (uint16_t *)b_room;
    uint32_t seed = 9;

    for (unsigned i = 0; i < 40 * 21; i++) {
        seed = seed * 1664525u + 1013904223u; /* mostly finite, or all would be NaN */
        a[i] = specials[(seed >> 16) % (seed >> 28 ? 13 : N_SPECIALS)];
        seed = seed * 1664525u + 1013904223u;
        b[i] = specials[(seed >> 16) % (seed >> 28 ? 13 : N_SPECIALS)];
    }
    check_run(p, 0);
    p.out = TYPE_F16;
    check_run(p, 0);
}

/* A fractal's padding must not meet an infinity: that would be NaN. */
TEST(matmul, infinities_at_the_edges)
{
    struct matmul p = {.m = 17, .n = 33, .k = 19, .in = TYPE_F16, .out = TYPE_F32};
    uint16_t *a = (uint16_t *)a_room, *b = (uint16_t *)b_room;

    for (unsigned i = 0; i < 33 * 19; i++) {
        a[i] = b[i] = 0x7c00;
    }
    check_run(p, 0);
    CHECK_EQ(data_bits(c_room + GUARD, TYPE_F32, 17 * 33 - 1), 0x7f800000u);
}

/* What an earlier, larger run has left in L1, L0 and L0C must not show. */
TEST(matmul, old_contents_do_not_show)
{
    uint16_t *a = (uint16_t *)a_room, *b = (uint16_t *)b_room;
    struct matmul p = {.m = 128, .n = 256, .k = 256, .in = TYPE_F16, .out = TYPE_F16};
    struct sched_report report;

    p.a = a;
    p.b = b;
    p.c = c_room;
    for (unsigned i = 0; i < 256 * 256; i++) {
        a[i % (128 * 256)] = b[i] = 0x7e00;
    }
    CHECK_OK(matmul(&p, &report));
    check_shape(0, 5, 7, 9);
    check_shape(2, 5, 7, 9);
}

/* --- arguments --- */

static void check_refused(struct matmul p, int err)
{
    struct sched_report report;
    uint8_t c[64];

    memset(c, 0xa5, sizeof(c));
    p.a = a_room;
    p.b = b_room;
    p.c = c;
    CHECK_EQ(matmul(&p, &report), err);
    CHECK_EQ(strstr(report.text, " wanted, ") != NULL, err == ERR_CORES);
    CHECK_OK(sched_run(&report)); /* of no task */
    for (unsigned i = 0; i < sizeof(c); i++) {
        CHECK_EQ(c[i], 0xa5);
    }
}

TEST(matmul, refuses_empty_shapes)
{
    struct matmul p = {.m = 1, .n = 1, .k = 1, .in = TYPE_F16, .out = TYPE_F32};

    p.m = 0;
    check_refused(p, ERR_ARG);
    p.m = 1;
    p.n = 0;
    check_refused(p, ERR_ARG);
    p.n = 1;
    p.k = 0;
    check_refused(p, ERR_ARG);
}

TEST(matmul, refuses_cores_that_are_not_there)
{
    struct matmul p = {.m = 1, .n = 1, .k = 1, .in = TYPE_F16, .out = TYPE_F32};

    p.cores = chip_cores() + 1;
    check_refused(p, ERR_CORES);
}

TEST(matmul, refuses_other_types)
{
    struct matmul p = {.m = 1, .n = 1, .k = 1};

    for (unsigned in = 0; in <= TYPE_COUNT; in++) {
        for (unsigned out = 0; out <= TYPE_COUNT; out++) {
            p.in = (enum type)in;
            p.out = (enum type)out;
            bool floats = in == TYPE_F16 || in == TYPE_BF16 || in == TYPE_F32;
            if (!(floats && (out == TYPE_F32 || out == in)) &&
                !((in == TYPE_S8 || in == TYPE_S4) &&
                  (out == TYPE_S32 || out == TYPE_F16 || out == TYPE_S8 ||
                   out == TYPE_U8))) {
                check_refused(p, ERR_TYPE);
            }
        }
    }
}
