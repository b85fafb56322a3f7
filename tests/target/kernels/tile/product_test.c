/* SPDX-License-Identifier: MIT
 *
 * Programs with products, planned and run, against the interpreter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "kernels/tile/tiles/tiles.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

TEST(tile_product, alone)
{
    CHECK_ALL("kernel mm(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n c = a @ b\n",
              {.m = 1, .n = 1, .k = 1}, {.m = 1, .n = 33, .k = 515},
              {.m = 261, .n = 1, .k = 3}, {.m = 17, .n = 16, .k = 15},
              {.m = 130, .n = 300, .k = 70});
    if (chip_has_type(PIPE_M, TYPE_BF16)) {
        CHECK_ALL("kernel mm(a: bf16[m, k], b: bf16[k, n]) -> c: f32[m, n]\n c = a @ b\n",
                  {.m = 35, .n = 50, .k = 70});
    }
    if (chip_has_type(PIPE_M, TYPE_F32)) {
        CHECK_ALL(
            "kernel mm(a: f32[m, k], b: f32[k, n]) -> c: f16[m, n]\n c = f16(a @ b)\n",
            {.m = 35, .n = 50, .k = 70});
    }
    CHECK_ALL("kernel mm(a: s8[m, k], b: s8[k, n]) -> c: s32[m, n]\n c = a @ b\n",
              {.m = 35, .n = 50, .k = 70});
}

TEST(tile_product, operands_that_lie_otherwise)
{
    const struct shape shape = {.m = 35, .n = 50, .k = 70};

    check_program("kernel t(a: f16[k, m], b: f16[k, n]) -> c: f32[m, n]\n c = a @ b\n",
                  shape);
    check_program("kernel t(a: f16[m, k], b: f16[n, k]) -> c: f32[m, n]\n c = a @ b\n",
                  shape);
    check_program("kernel t(a: f16[k, m], b: f16[n, k]) -> c: f32[m, n]\n c = a @ b\n",
                  shape);
    check_program("kernel t(a: f16[m, k], b: f16[k, n]) -> c: f32[n, m]\n c = a @ b\n",
                  shape);
    check_program("kernel t(a: f16[m, k], b: f16[k]) -> c: f32[m]\n c = a @ b\n", shape);
    check_program("kernel t(a: f16[k], b: f16[k, n]) -> c: f32[n]\n c = a @ b\n", shape);
}

TEST(tile_product, batches)
{
    const struct shape shape = {.b = 3, .m = 18, .n = 20, .k = 35};

    check_program("kernel t(x: f16[b, m, k], y: f16[b, k, n]) -> c: f32[b, m, n]\n"
                  " c = dot(x, y, k)\n",
                  shape);
    check_program("kernel t(x: f16[m, b, k], y: f16[n, b, k]) -> c: f32[b, m, n]\n"
                  " c = dot(x, y, k)\n",
                  shape);
    check_program("kernel t(x: f16[m, k], y: f16[b, k, n]) -> c: f32[b, m, n]\n"
                  " c = dot(x, y, k)\n",
                  shape);
    check_program("kernel t(x: f16[m, b, k], y: f16[b, k]) -> c: f32[m, b]\n"
                  " c = dot(x, y, k)\n",
                  shape);
    /* Batches that no single distance leads through. */
    check_program(
        "kernel t(x: f16[2, m, b, k], y: f16[2, n, b, k]) -> c: f32[2, b, m, n]\n"
        " c = dot(x, y, k)\n",
        shape);
}

TEST(tile_product, on_its_way_out)
{
    CHECK_ALL("kernel l(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> c: f16[m, n]\n"
              " c = f16(relu(a @ b + bias))\n",
              {.m = 35, .n = 50, .k = 70}, {.m = 1, .n = 20, .k = 300});
    CHECK_ALL("kernel l(a: s8[m, k], b: s8[k, n], bias: s32[n]) -> c: s32[m, n]\n"
              " c = relu(bias + a @ b)\n",
              {.m = 35, .n = 50, .k = 70});
    CHECK_ALL("kernel l(a: f16[m, k], b: f16[k, n], slope = 0.25) -> c: f16[m, n]\n"
              " c = f16(prelu(a @ b, slope))\n",
              {.m = 35, .n = 50, .k = 70});
    if (chip_has_type(PIPE_FIX, TYPE_BF16)) {
        CHECK_ALL("kernel l(a: f16[m, k], b: f16[k, n], slope = 0.25) -> c: bf16[m, n]\n"
                  " c = bf16(prelu(a @ b, slope))\n",
                  {.m = 35, .n = 50, .k = 70});
    }
}

TEST(tile_product, with_the_vector)
{
    CHECK_ALL("kernel l(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> c: f16[m, n]\n"
              " c = f16(gelu(a @ b + bias))\n",
              {.m = 1, .n = 1, .k = 1}, {.m = 35, .n = 50, .k = 70},
              {.m = 1, .n = 700, .k = 20}, {.m = 300, .n = 9, .k = 33},
              {.m = 257, .n = 391, .k = 100});
    CHECK_ALL("kernel l(a: f16[m, k], b: f16[k, n], s: f32[n], r: f16[m, n], q: f32[m])"
              " -> c: f32[m, n]\n c = where(n <= m, silu(a @ b) * s + r, q)\n",
              {.m = 35, .n = 50, .k = 70}, {.m = 300, .n = 200, .k = 33});
    CHECK_ALL("kernel l(a: s8[m, k], b: s8[k, n], s: f32[n]) -> c: s8[m, n]\n"
              " c = s8(f32(a @ b) * s * 0.01)\n",
              {.m = 35, .n = 50, .k = 70}, {.m = 140, .n = 270, .k = 70});
    CHECK_ALL("kernel l(x: f16[b, m, k], y: f16[b, n, k], s: f32[b]) -> c: f32[b, m, n],"
              " d: f16[b, m, n]\n z = dot(x, y, k) * s + f32(b)\n c = exp(-abs(z))\n"
              " d = f16(z)\n",
              {.b = 3, .m = 35, .n = 50, .k = 70}, {.b = 5, .m = 17, .n = 3, .k = 9});
}

TEST_SHAPES(tile_product, rows_of_it_reduced)
{
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n], bias: f16[n]) -> out: f16[m, n]\n"
              " x = a @ b + bias\n"
              " out = f16(gelu((x - mean(x, n)) * rsqrt(var(x, n) + 1e-5)))\n",
              {.m = 35, .n = 50, .k = 70}, {.m = 3, .n = 300, .k = 16},
              {.m = 150, .n = 130, .k = 31});
    /* Operands that lie otherwise, more than one product, what meets the rows. */
    CHECK_ALL("kernel p(a: f16[b, k, m], c: f16[b, n, k], r: f32[b, m, n], s: f32[b, m],"
              " g: f32[n]) -> o: f32[b, m, n], w: f32[b, m]\n"
              " x = dot(a, c, k) * s + r\n e = exp(x - max(x, n))\n w = sum(e, n)\n"
              " o = e / w * g\n",
              {.b = 2, .m = 17, .n = 64, .k = 33});
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> y: f16[m, n],"
              " x: f32[m, n]\n x = a @ b + bias\n"
              " y = f16(x * rsqrt(mean(x * x, n)))\n",
              {.m = 40, .n = 150, .k = 20});
}

TEST_SHAPES(tile_product, of_what_is_computed)
{
    CHECK_ALL("kernel p(a: f16[m, k], b: f32[k, n], s: f32[m]) -> out: f32[m, n],"
              " w: f32[m]\n x = f16(silu(a)) @ f16(b * 0.5)\n out = x * s\n"
              " w = sum(x, n)\n",
              {.m = 35, .n = 50, .k = 70});
    if (chip_has_type(PIPE_M, TYPE_F32) && chip_has_type(PIPE_V, TYPE_BF16)) {
        CHECK_ALL("kernel p(a: bf16[k], b: bf16[k]) -> c: f16\n"
                  " c = f16(dot(f32(tanh(a)), f32(tanh(b)), k))\n",
                  {.k = 7});
    }
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n], d: f32[m, n]\n"
              " c = a @ b\n d = c\n",
              {.m = 35, .n = 50, .k = 70});
}

TEST_SHAPES(tile_product, of_products)
{
    CHECK_ALL("kernel p(x: f16[m, k], y: f16[k, n], z: f16[n, b]) -> d: f32[m, b]\n"
              " d = f16(relu(x @ y)) @ z\n",
              {.b = 19, .m = 35, .n = 50, .k = 70});
    CHECK_ALL("kernel p(q: f16[b, m, k], x: f16[b, n, k], v: f16[b, n, k]) ->"
              " o: f16[b, m, k]\n s = dot(q, x, k) * 0.125\n e = exp(s - max(s, n))\n"
              " o = f16(dot(f16(e * rec(sum(e, n))), v, n))\n",
              {.b = 2, .m = 20, .n = 33, .k = 64});
}

/* Of a long k and few tiles: in parts, which are added in their order. */
TEST(tile_product, parts_of_k)
{
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n c = a @ b\n",
              {.m = 33, .n = 40, .k = 3000}, {.m = 1, .n = 5, .k = 20000});
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n], r: f32[n]) -> c: f16[m, n]\n"
              " c = f16(relu(a @ b + r))\n",
              {.m = 33, .n = 40, .k = 3000});
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n], r: f32[n]) -> c: f16[m, n]\n"
              " c = f16(gelu(a @ b + r))\n",
              {.m = 16, .n = 64, .k = 9000});
    CHECK_ALL("kernel p(a: f16[m, k], b: f16[k, n], r: f32[n]) -> c: f32[m, n] +=\n"
              " c = a @ b + r\n",
              {.m = 33, .n = 40, .k = 3000});
    CHECK_ALL("kernel p(a: s8[m, k], b: s8[k, n]) -> c: s32[m, n]\n c = a @ b\n",
              {.m = 33, .n = 40, .k = 3000});
}

/* What cannot be done is told with its place. */
TEST(tile_product, refusals_name_the_place)
{
    const struct shape shape = {.m = 35, .n = 50, .k = 70};

    check_refused(
        "kernel p(x: f16[m, k, n], y: f16[n, k]) -> c: f32[m, n]\n c = dot(x, y, k)\n",
        shape, 2, 6, "product: neither k nor what the result has of x lies side by side");
    check_refused("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n c = a @ b\n"
                  "schedule buffers 3\n",
                  shape, 3, 10, "the planner chooses that of products");
}

/* Other tiles than the planner's: the same bits, on as many cores as are said. */
TEST(tile_product, tiles_that_a_schedule_says)
{
    const struct shape shape = {.m = 35, .n = 50, .k = 70};

    check_program("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n c = a @ b\n"
                  "schedule layout m16n32k32tx1\n",
                  shape);
    check_program("kernel p(a: f16[m, k], b: f16[k, n], r: f32[n]) -> c: f16[m, n]\n"
                  " c = f16(gelu(a @ b + r))\nschedule layout m32n16k48l16a3b2r\n",
                  shape);
    check_program("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n c = a @ b\n"
                  "schedule layout m48n16k512w\n",
                  (struct shape){.m = 100, .n = 16, .k = 1000});
}

TEST(tile_product, tiles_that_cannot_be)
{
    static const struct {
        const char *word, *why;
    } wrong[] = {
        {"m24n16k16", "product: tiling 24 x 16 by 16: wants multiples of 16, 16, 16"},
        {"m512n512k512", "product: tiling 512 x 512 by 512: L0"},
        {"m16n16k16st", "product: tiling: a and b cannot both stay"},
        {"m16n16k16b4tx1", "product: tiling: what stays wants 5 slots, a chunk of k each"},
        {"m16n16k16a4sx1", "product: tiling: what stays wants 5 slots, a chunk of k each"},
        {"m16n16k16g", "product: tiling: wants m = 1"},
        {"m16n16k16p9", "product: tiling: "},
    };

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text),
                 "kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n"
                 " c = a @ b\nschedule layout %s\n",
                 wrong[i].word);
        check_refused(text, (struct shape){.m = 35, .n = 50, .k = 70}, 2, 8,
                      wrong[i].why);
    }
    check_refused("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n"
                  " c = a @ b\nschedule layout m16n16k16t\n",
                  (struct shape){.m = 35, .n = 50, .k = 16 * 256}, 2, 8,
                  "product: tiling: 2 and 256 slots in L1, 255 at most");
    check_refused("kernel p(a: s8[m, k], b: s8[k, n]) -> c: s32[m, n]\n"
                  " c = a @ b\nschedule layout m32n32k64p2\n",
                  (struct shape){.m = 35, .n = 50, .k = 2048}, 2, 8,
                  "product: tiling: parts of k are for sums of F32");
    check_refused("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n"
                  " c = a @ b\nschedule layout m16n16k16z\n",
                  (struct shape){.m = 35, .n = 50, .k = 70}, 3, 10,
                  "layout m16n16k16z: the plan is complete");
    check_refused("kernel p(a: f16[m, k], b: f16[k, n]) -> c: f32[m, n]\n"
                  " c = a @ b\nschedule layout m16n16k16a65538\n",
                  (struct shape){.m = 35, .n = 50, .k = 70}, 3, 10,
                  "layout m16n16k16a65538: the plan is complete");
}
