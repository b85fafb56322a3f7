/* SPDX-License-Identifier: MIT
 *
 * Results that add to what is there, of programs of the Vector, products and convolutions.
 */
#include "kernels/tile/tile.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

TEST(tile_add, on_the_vector)
{
    CHECK_ALL("kernel a(x: f32[m, n]) -> y: f32[m, n] +=\n y = x * 2\n", {.m = 1, .n = 1},
              {.m = 37, .n = 1003}, {.m = 5, .n = 70000});
    CHECK_ALL("kernel a(x: f16[m, n]) -> y: f16[m, n] +=, z: f16[m, n], w: s32[m] +=\n"
              " y = f16(x + 1)\n z = f16(x * x)\n w = argmax(x, n)\n",
              {.m = 37, .n = 303});
    CHECK_ALL("kernel a(x: f32[m, n], g: f32[n]) -> y: f32[m] +=, h: f32[n] +=\n"
              " y = sum(x * g, n)\n h = g * 2\n",
              {.m = 100, .n = 77}, {.m = 3, .n = 100000});
    CHECK_ALL("kernel a(x: f32[m, n]) -> y: f32[n] +=, s: f32[m] +=\n"
              " y = sum(x, m)\n s = max(x, n)\n",
              {.m = 300, .n = 513});
    CHECK_ALL("kernel a(g: f32[n]) -> y: f32[n] +=\n y = 1 + g * 0\n", {.n = 9});
}

TEST(tile_add, products)
{
    CHECK_ALL("kernel a(a: f16[m, k], b: f16[k, n], g: f32[n]) -> c: f32[m, n] +=\n"
              " c = a @ b + g\n",
              {.m = 1, .n = 1, .k = 1}, {.m = 150, .n = 300, .k = 70});
    CHECK_ALL("kernel a(a: f16[m, k], b: f16[k, n]) -> c: f16[m, n] +=, d: f32[m, n]\n"
              " d = gelu(a @ b)\n c = f16(d)\n",
              {.m = 150, .n = 130, .k = 33});
    CHECK_ALL("kernel a(a: f16[b, m, k], c: f16[b, n, k]) -> d: f32[b, m, n] +=,"
              " s: f32[b, m] +=\n x = dot(a, c, k)\n s = sum(x, n)\n d = x - max(x, n)\n",
              {.b = 2, .m = 20, .n = 40, .k = 33});
    CHECK_ALL("kernel a(a: s8[m, k], b: s8[k, n]) -> c: s32[m, n] +=, d: s32[m, n]\n"
              " c = a @ b\n d = c\n",
              {.m = 35, .n = 50, .k = 70});
}

TEST(tile_add, convolutions)
{
    CHECK_ALL("kernel a(x: f16[b, m, n, 16], w: f16[24, k, k2, 16]) ->"
              " y: f32[b, m, n, 24] +=\n y = conv(x, w, pad 1)\n",
              {.b = 2, .m = 9, .n = 7, .k = 3});
    CHECK_ALL("kernel a(x: f16[b, m, n, 16], w: f16[24, k, k2, 16]) ->"
              " y: f16[b, m, n, 24] +=\n y = f16(tanh(conv(x, w, pad 1)))\n",
              {.b = 2, .m = 9, .n = 7, .k = 3});
}

/* Keys in one tile, and looked at twice; a result of rows alone beside one that is stored. */
TEST(tile_add, behind_a_loop)
{
#define ATTENTION(results, end)                                                          \
    "kernel t(q: f16[b, m, k], k0: f16[b, n, k], v: f16[b, n, k]) -> " results "\n"      \
    " loop n carry top = -inf[b, m], l = 0[b, m], acc = 0[b, m, k]\n"                    \
    "  x = dot(q, k0, k)\n  most = max(top, max(x, n))\n  p = exp(x - most)\n"           \
    "  r = exp(top - most)\n  l = l * r + sum(p, n)\n"                                   \
    "  acc = acc * r + dot(f16(p), v, n)\n  top = most\n end\n" end
    CHECK_ALL(ATTENTION("o: f16[b, m, k] +=", " o = f16(acc * rec(l))\nschedule tile n 16\n"),
              {.b = 2, .m = 70, .n = 10, .k = 5}, {.b = 2, .m = 130, .n = 50, .k = 16});
    CHECK_ALL(ATTENTION("o: f32[b, m, k], lse: f32[b, m] +=",
                        " o = acc * rec(l)\n lse = top + log(l)\n"),
              {.b = 1, .m = 70, .n = 40, .k = 9});
}

TEST(tile_add, rows_by_index)
{
    check_gathered = 9;
    CHECK_ALL("kernel a(x: f32[m, n], i: s32[b]) -> y: f32[b, n] +=\n"
              " y = gather(x, i, m)\n",
              {.b = 40, .m = 9, .n = 33});
    check_gathered = 0;
}

TEST(tile_add, refusals_name_the_place)
{
    check_refused("kernel a(x: f32[m, n]) -> y: u8[m, n] +=\n y = u8(x)\n",
                  (struct shape){.m = 3, .n = 5}, 1, 27, "'+=' of y: not of u8");
}
