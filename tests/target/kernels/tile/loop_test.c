/* SPDX-License-Identifier: MIT
 *
 * Programs with a loop: attention in several forms, against the interpreter, and what is
 * refused.
 */
#include "hal/chip.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

/* The loop of attention: of rows, with sums as wide as v. */
#define LOOP(rows, wide, head, score)                                                    \
    " loop n " head "carry top = -inf" rows ", l = 0" rows ", acc = 0" wide "\n"         \
    "  x = " score "\n  most = max(top, max(x, n))\n  p = exp(x - most)\n"               \
    "  r = exp(top - most)\n  l = l * r + sum(p, n)\n"                                   \
    "  acc = acc * r + dot(f16(p), v, n)\n  top = most\n end\n"
#define ATTENTION(head, score)                                                           \
    "kernel t(q: f16[b, m, k], k0: f16[b, n, k], v: f16[b, n, k]) -> o: f16[b, m, "      \
    "k]\n" LOOP("[b, m]", "[b, m, k]", head, score) " o = f16(acc * rec(l))\n"
#define SCORE "dot(q, k0, k) * 0.125"

TEST(tile_loop, attention)
{
    CHECK_ALL(ATTENTION("", SCORE), {.b = 1, .m = 1, .n = 1, .k = 1},
              {.b = 2, .m = 65, .n = 17, .k = 9});
    check_program(ATTENTION("", SCORE) "schedule tile n 1\n",
                  (struct shape){.b = 1, .m = 70, .n = 9, .k = 3});
    CHECK_ALL(ATTENTION("", SCORE) "schedule tile n 16\n",
              {.b = 1, .m = 3, .n = 50, .k = 4}, {.b = 3, .m = 66, .n = 33, .k = 5});
}

/* Enough tiles that the maximum is looked for first: turns of a look and a work, which share
 * keys or, at the ends of a batch, do not; a tile that is shorter; no scale, one below 0, and
 * weights of which some are left out. */
TEST_SHAPES(tile_loop, keys_that_are_looked_at_twice)
{
    CHECK_ALL(ATTENTION("while n <= m ",
                        "where(n <= m, " SCORE ", -inf)") "schedule tile n 16, lanes m\n",
              {.b = 2, .m = 150, .n = 150, .k = 3});
    check_program(ATTENTION("", SCORE) "schedule tile n 16\n",
                  (struct shape){.b = 3, .m = 60, .n = 130, .k = 5});
    check_program(ATTENTION("", "dot(q, k0, k)") "schedule tile n 32\n",
                  (struct shape){.b = 1, .m = 70, .n = 65, .k = 4});
    check_program(ATTENTION("", "dot(q, k0, k) * -0.5") "schedule tile n 16\n",
                  (struct shape){.b = 1, .m = 9, .n = 40, .k = 4});
}

/* Scores so far apart that later keys are above all of the first tile by more than a weight may
 * be, in some rows of an item or in all: it is done again. The first tile has nothing of some
 * rows; what a sum alone is, no guess can tell. */
TEST_SHAPES(tile_loop, keys_above_those_of_the_first_tile)
{
    check_program(ATTENTION("", "dot(q, k0, k) * 60") "schedule tile n 16\n",
                  (struct shape){.b = 2, .m = 150, .n = 150, .k = 16});
    check_program(ATTENTION("", "where(n >= m, " SCORE ", -inf)") "schedule tile n 16\n",
                  (struct shape){.b = 1, .m = 70, .n = 70, .k = 16});
    check_program("kernel t(q: f16[m, k], k0: f16[n, k], v: f16[n, k]) -> o: f16[m, k], "
                  "s: f32[m]\n" LOOP("[m]", "[m, k]", "", "dot(q, k0, k) * 20")
                      " o = f16(acc * rec(l))\n s = l\nschedule tile n 16\n",
                  (struct shape){.m = 70, .n = 70, .k = 16});
}

#define WITH_LSE(D)                                                                      \
    "kernel t(q: f16[m, k], k0: f16[n, k], v: f16[n, " D "]) -> o: f32[m, " D "], "      \
    "lse: f32[m]\n" LOOP("[m]", "[m, " D "]", "",                                        \
                         SCORE) " o = acc * rec(l)\n lse = top + log(l)\n"

/* All keys in one tile, so that nothing is carried: what the maximum and the sum are behind the
 * loop, what a condition leaves out, indices, a sum of more than the product has. */
TEST_SHAPES(tile_loop, keys_that_are_one_tile)
{
    check_program(WITH_LSE("40"), (struct shape){.m = 130, .n = 60, .k = 4});
    check_program(ATTENTION("while n <= m ", "where(n <= m, " SCORE ", -inf)"),
                  (struct shape){.b = 3, .m = 90, .n = 41, .k = 5});
    check_program(ATTENTION("", SCORE),
                  (struct shape){.b = 2, .m = 30, .n = 240, .k = 8});
    /* The sum is a column of the second product. */
    check_program(WITH_LSE("48"), (struct shape){.m = 130, .n = 37, .k = 5});
    check_program(ATTENTION("while n <= m ", "where(n <= m, " SCORE ", -inf)"),
                  (struct shape){.b = 3, .m = 90, .n = 41, .k = 16});
    check_program(
        "kernel t(q: f16[m, k], k0: f16[n, k], v: f16[n, 20]) -> o: f32[m, 20]\n"
        " loop n carry acc = 0[m, 20], l = 0[m]\n  p = exp(dot(q, k0, k) / 9)\n"
        "  acc = acc + dot(f16(p), v, n)\n  l = l + sum(p * f32(n), n)\n end\n"
        " o = acc * rec(l)\n",
        (struct shape){.m = 70, .n = 50, .k = 7});
}

TEST_SHAPES(tile_loop, attention_of_large_heads)
{
    CHECK_ALL(ATTENTION("", SCORE), {.b = 1, .m = 64, .n = 3, .k = 128},
              {.b = 1, .m = 20, .n = 2, .k = 256});
}

TEST_SHAPES(tile_loop, tiles_that_are_left_out)
{
    CHECK_ALL(ATTENTION("while n <= m ",
                        "where(n <= m, " SCORE ", -inf)") "schedule tile n 32, lanes m\n",
              {.b = 2, .m = 70, .n = 80, .k = 3}, {.b = 1, .m = 130, .n = 40, .k = 4});
}

/* The first tile has nothing of some rows, which have all of theirs in a later one, and
 * others nothing at all. */
TEST(tile_loop, rows_without_keys)
{
    CHECK_ALL(ATTENTION("", "where(and(n >= m, n < 60), " SCORE
                            ", -inf)") "schedule tile n 16\n",
              {.b = 1, .m = 70, .n = 70, .k = 4});
    CHECK_ALL(ATTENTION("while m < 60 ", "where(m < 60, " SCORE ", -inf)"),
              {.b = 1, .m = 130, .n = 30, .k = 5});
}

/* Heads side by side in a row; keys that several heads share. */
TEST_SHAPES(tile_loop, tensors_that_lie_otherwise)
{
    check_program(
        "kernel t(q: f16[m, b, k], k0: f16[n, b, k], v: f16[n, b, k]) -> "
        "o: f16[m, b, k]\n" LOOP("[b, m]", "[b, m, k]", "", SCORE) " o = f16(acc * rec(l))\n",
        (struct shape){.b = 3, .m = 66, .n = 20, .k = 6});
    check_program("kernel t(q: f16[b, 2, m, k], k0: f16[b, n, k], v: f16[b, n, k]) -> "
                  "o: f16[b, 2, m, k]\n" LOOP("[b, 2, m]", "[b, 2, m, k]", "",
                                              SCORE) " o = f16(acc * rec(l))\n",
                  (struct shape){.b = 2, .m = 66, .n = 20, .k = 6});
}

/* Results of F32, one of them of rows alone; values of another width. */
#define TYPES(type)                                                                      \
    "kernel t(q: " type "[m, k], k0: " type "[n, k], v: f16[n, 40]) -> o: f32[m, 40], "  \
    "lse: f32[m]\n" LOOP(                                                                \
        "[m]", "[m, 40]", "",                                                            \
        SCORE) " o = acc * rec(l)\n lse = top + log(l)\nschedule exact, tile n 48\n"

TEST_SHAPES(tile_loop, types)
{
    const struct shape shape = {.m = 66, .n = 60, .k = 4};

    check_program(TYPES("f16"), shape);
    if (chip_has_type(PIPE_M, TYPE_BF16)) {
        check_program(TYPES("bf16"), shape);
    }
}

/* Factors of F32, and what the second product is of without a cast: sums of what the Cube gets, of
 * an odd number of keys, of one; which is chosen by a mask, or divided. */
#define OF_F32(more, given)                                                              \
    "kernel t(q: f32[m, b, k], k0: f32[n, b, k], v: f32[n, b, 40]) -> o: f32[m, b, "     \
    "40]\n"                                                                              \
    " loop n carry top = -inf[b, m], l = 0[b, m], acc = 0[b, m, 40]\n  x = " SCORE       \
    "\n  most = max(top, max(x, n))\n  p = exp(x - most)\n  r = exp(top - most)\n"       \
    "  l = l * r + sum(p, n)\n" more "  acc = acc * r + dot(" given ", v, n)\n"          \
    "  top = most\n end\n o = acc * rec(l)\n"

TEST_SHAPES(tile_loop, factors_of_f32)
{
    if (!chip_has_type(PIPE_M, TYPE_F32)) {
        check_refused(OF_F32("", "p"), (struct shape){.b = 1, .m = 2, .n = 3, .k = 4}, 1,
                      10, "no product of F32 in a loop");
        test_skip("no F32 in this chip's Cube");
        return;
    }
    CHECK_ALL(OF_F32("", "p"), {.b = 2, .m = 70, .n = 33, .k = 12},
              {.b = 1, .m = 3, .n = 1, .k = 1}, {.b = 1, .m = 65, .n = 300, .k = 20});
    check_program(OF_F32("", "p") "schedule tile n 16\n",
                  (struct shape){.b = 3, .m = 66, .n = 50, .k = 9});
    check_program(OF_F32("  z = where(n < 30, p, 0)\n", "z") "schedule tile n 16\n",
                  (struct shape){.b = 1, .m = 20, .n = 50, .k = 9});
    check_program(OF_F32("", "p / l"), (struct shape){.b = 1, .m = 66, .n = 50, .k = 9});
}

/* Other things that a loop may compute. */
TEST_SHAPES(tile_loop, other_sums)
{
    check_program("kernel t(q: f16[m, k], k0: f16[n, k], v: f16[n, 20], scale = 0.25) -> "
                  "o: f16[m, 20]\n"
                  " loop n carry acc = 0[m, 20]\n"
                  "  s = silu(dot(q, k0, k) * scale + f32(n - m) / 100)\n"
                  "  acc = acc + dot(f16(s), v, n)\n end\n o = f16(acc)\n",
                  (struct shape){.m = 70, .n = 50, .k = 20});
    check_program("kernel t(q: f16[m, k], k0: f16[n, k]) -> most: f32[m], least: f32[m]\n"
                  " loop n carry a = -inf[m], b = inf[m]\n  s = dot(q, k0, k)\n"
                  "  a = max(a, max(s, n))\n  b = min(b, min(s * 2, n))\n end\n"
                  " most = a\n least = b\n",
                  (struct shape){.m = 70, .n = 250, .k = 5});
    check_program("kernel t(q: f16[m, b, k], k0: f16[2, n, k]) -> y: f32[2, m, b]\n"
                  " loop n carry a = 0[2, m, b]\n"
                  "  a = a + sum(dot(q, k0, k), n)\n end\n y = a\n",
                  (struct shape){.b = 3, .m = 5, .n = 20, .k = 4});
}

/* Operands that are no factors: of keys, of rows and keys, of each batch or of all. */
#define WITH(operands, score)                                                            \
    "kernel t(q: f16[b, m, k], k0: f16[b, n, k], v: f16[b, n, k], " operands             \
    ") -> o: f16[b, m, k]\n" LOOP("[b, m]", "[b, m, k]", "",                             \
                                  score) " o = f16(acc * rec(l))\n"

TEST(tile_loop, masks_that_are_operands)
{
    const struct shape shape = {.b = 2, .m = 66, .n = 35, .k = 5};

    check_program(WITH("z: f16[m, n]", SCORE " + z"), shape);
    check_program(WITH("z: bool[n]", "where(z, " SCORE ", -3)") "schedule tile n 16\n",
                  shape);
}

TEST_SHAPES(tile_loop, operands_besides_factors)
{
    const struct shape shape = {.b = 3, .m = 130, .n = 70, .k = 4};

    check_program(WITH("z: f32[b, m, n]", SCORE " * z") "schedule tile n 32\n", shape);
    check_program(
        WITH("z: f32[n], y: bool[b, m, n]", "where(or(y, n == m), " SCORE " + z, -inf)"),
        shape);
    check_program(WITH("z: f16[b, n]", "where(and(z < 0.5, n <= m), " SCORE
                                       ", -inf)") "schedule tile n 16\n",
                  shape);
}

TEST(tile_loop, refusals_name_the_place)
{
    const struct shape shape = {.b = 2, .m = 35, .n = 50, .k = 70};

    check_refused("kernel t(x: f32[m, n]) -> y: f32[m]\n loop n carry a = 0[m]\n"
                  "  a = a + sum(x, n)\n end\n y = a\n",
                  shape, 2, 0,
                  "a loop without a product of two parameters is not planned");
    check_refused(
        "kernel t(q: s8[m, k], k0: s8[n, k]) -> y: f32[m]\n"
        " loop n carry a = 0[m]\n  a = a + sum(f32(dot(q, k0, k)), n)\n end\n y = a\n",
        shape, 1, 10, "no product of S8 in a loop");
    check_refused(
        "kernel t(q: f16[k, m], k0: f16[n, k]) -> y: f32[m]\n"
        " loop n carry a = 0[m]\n  a = a + sum(dot(q, k0, k), n)\n end\n y = a\n",
        shape, 1, 10, "dimension k of q lies apart");
    check_refused(ATTENTION("", SCORE) "schedule tile n 300\n", shape, 12, 10,
                  "a tile has 1 to 240 of it");
    check_refused(ATTENTION("", SCORE) "schedule tile m 32\n", shape, 12, 10,
                  "the lanes of a tile are 64");
    check_refused(ATTENTION("", SCORE) "schedule tile n 240\n",
                  (struct shape){.b = 1, .m = 64, .n = 500, .k = 256}, 12, 10,
                  "keys want");
    check_refused(ATTENTION("", SCORE) "schedule buffers 2\n", shape, 12, 10,
                  "no such choice");
    check_refused(WITH("z: f16[m]", SCORE " + z"), shape, 1, 62,
                  "what is of n, or of m and n");
    check_refused(WITH("z: f16[n, m]", SCORE " + z"), shape, 1, 62,
                  "dimension n of z lies apart");
    check_refused(WITH("z: bf16[n]", SCORE " + z"), shape, 1, 62,
                  "a loop takes f32, f16 and bool");
    check_refused(WITH("z: f16[n], y: f16[n], x0: f16[n]", SCORE " + z + y + x0"), shape,
                  1, 84, "more than 2 operands");
}
