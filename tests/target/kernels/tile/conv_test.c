/* SPDX-License-Identifier: MIT
 *
 * Programs with convolutions, planned and run, against the interpreter. Images are b, maps
 * m x n, filters k x k.
 */
#include "hal/chip.h"
#include "kernels/tile/tile.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

TEST(tile_conv, alone)
{
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 20], w: f16[37, k, k2, 20]) -> y: f32[b, p, q, 37]\n"
        " y = conv(x, w, to p q)\n",
        {.b = 1, .m = 1, .n = 1, .k = 1}, {.b = 2, .m = 5, .n = 9, .k = 3},
        {.b = 3, .m = 11, .n = 4, .k = 1});
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 33], w: f16[18, k, k2, 33]) -> y: f16[b, m, n, 18]\n"
        " y = f16(conv(x, w, pad 1))\n",
        {.b = 2, .m = 9, .n = 7, .k = 3}, {.b = 1, .m = 40, .n = 33, .k = 3});
    CHECK_ALL(
        "kernel c(x: s8[b, m, n, 40], w: s8[16, k, k2, 40]) -> y: s32[b, p, q, 16]\n"
        " y = conv(x, w, to p q, stride 2 1, dilation 2, pad 1 2 3 0)\n",
        {.b = 2, .m = 9, .n = 12, .k = 3});
}

TEST(tile_conv, few_channels_and_groups)
{
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 4], w: f16[21, k, k2, 4]) -> y: f32[b, p, q, 21]\n"
        " y = conv(x, w, to p q, stride 2, pad 3)\n",
        {.b = 2, .m = 17, .n = 13, .k = 7});
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 36], w: f16[40, k, k2, 9]) -> y: f32[b, p, q, 40]\n"
        " y = conv(x, w, to p q, groups 4, pad 1)\n",
        {.b = 2, .m = 7, .n = 6, .k = 3});
    CHECK_ALL("kernel c(x: s8[b, m, n, 32], w: s8[16, k, k2, 4]) -> y: s32[b, m, n, 16]\n"
              " y = conv(x, w, groups 8, pad 1)\n",
              {.b = 1, .m = 7, .n = 6, .k = 3});
}

TEST(tile_conv, on_its_way_out)
{
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 16], w: f16[150, k, k2, 16], bias: f32[150]) ->"
        " y: f16[b, p, q, 150]\n y = f16(relu(conv(x, w, to p q, stride 2) + bias))\n",
        {.b = 2, .m = 9, .n = 12, .k = 3});
    CHECK_ALL("kernel c(x: s8[b, m, n, 16], w: s8[20, k, k2, 16], bias: s32[20]) ->"
              " y: s32[b, m, n, 20]\n y = relu(bias + conv(x, w, pad 1))\n",
              {.b = 2, .m = 9, .n = 12, .k = 3});
    CHECK_ALL("kernel c(x: f16[b, m, n, 16], w: f16[20, k, k2, 16], slope = 0.25) ->"
              " y: f16[b, m, n, 20]\n y = f16(prelu(conv(x, w, pad 1), slope))\n",
              {.b = 1, .m = 9, .n = 12, .k = 3});
}

/* Of each channel by itself: alone, and with the Vector, for which f16 wants blocks of 16. */
TEST_SHAPES(tile_conv, depthwise)
{
    CHECK_ALL("kernel c(x: f16[b, m, n, n2], w: f16[n3, k, k2, 1], g: f32[n3]) ->"
              " y: f16[b, m, n, n3]\n y = f16(relu(conv(x, w, groups 20, pad 1) + g))\n",
              {.b = 2, .m = 9, .n = 20, .k = 3});
    CHECK_ALL("kernel c(x: f16[b, m, n, n2], w: f16[n3, k, k2, 1], g: f32[n3]) ->"
              " y: f32[b, p, q, n3]\n"
              " y = silu(conv(x, w, to p q, groups 32, stride 2, pad 1) + g)\n",
              {.b = 1, .m = 7, .n = 32, .k = 3});
    CHECK_ALL("kernel c(x: f16[b, m, n, n2], w: f16[n3, k, k2, 1]) ->"
              " y: f16[b, m, n, n3]\n y = f16(gelu(conv(f16(-x), w, groups 5, pad 1)))\n",
              {.b = 2, .m = 9, .n = 5, .k = 3});
    CHECK_ALL("kernel c(x: s8[b, m, n, n2], w: s8[n3, k, k2, 1], s: f32[n3]) ->"
              " y: s8[b, m, n, n3]\n"
              " y = s8(f32(conv(x, w, groups 20, pad 1)) * s * 0.01)\n",
              {.b = 2, .m = 9, .n = 20, .k = 3});
}

/* What is computed element by element is a stage before, or goes with the windows before. */
TEST_SHAPES(tile_conv, of_what_is_computed)
{
    CHECK_ALL("kernel c(x: f16[b, m, n, 20], w: f16[24, k, k2, 20]) ->"
              " y: f16[b, m, n, 24]\n y = f16(silu(conv(f16(relu(x)), w, pad 1)))\n",
              {.b = 2, .m = 9, .n = 7, .k = 3}, {.b = 1, .m = 1, .n = 5, .k = 3});
    CHECK_ALL("kernel c(x: s8[b, m, n, 16], g: f32[16], w: s8[24, k, k2, 16], s: f32[24])"
              " -> y: f32[b, p, q, 24]\n"
              " y = conv(f16(x * g), f16(w * s), to p q, stride 2)\n",
              {.b = 2, .m = 9, .n = 7, .k = 3});
    CHECK_ALL("kernel c(x: f16[b, m, n, 16], v: f16[24, k, k2, 16], w: f16[8, j, j2, 24])"
              " -> y: f32[b, m, n, 8]\n u = conv(x, v, pad 1)\n"
              " y = conv(f16(gelu(u) * 0.1), w, pad 1)\n",
              {.b = 1, .m = 4, .n = 3, .k = 3});
}

TEST(tile_conv, with_the_vector)
{
    CHECK_ALL("kernel c(x: f16[b, m, n, 16], w: f16[40, k, k2, 16], bias: f32[40]) ->"
              " y: f16[b, m, n, 40]\n y = f16(gelu(conv(x, w, pad 1) + bias))\n",
              {.b = 1, .m = 1, .n = 1, .k = 3}, {.b = 2, .m = 19, .n = 23, .k = 3});
    CHECK_ALL("kernel c(x: s8[b, m, n, 32], w: s8[200, k, k2, 32], s: f32[200]) ->"
              " y: s8[b, p, q, 200]\n"
              " y = s8(f32(conv(x, w, to p q, stride 2, pad 1)) * s * 0.01)\n",
              {.b = 3, .m = 9, .n = 12, .k = 3});
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 16], w: f16[24, k, k2, 16], r: f16[b, m, n, 24]) ->"
        " y: f16[b, m, n, 24], z: f32[b, m, n, 24]\n"
        " z = silu(conv(x, w, pad 1)) + r\n y = f16(z * 2)\n",
        {.b = 2, .m = 30, .n = 17, .k = 3});
    /* More channels than L1 holds filters of; groups. */
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 640], w: f16[40, k, k2, 640], r: f32[b, m, n, 40])"
        " -> y: f32[b, m, n, 40]\n y = tanh(conv(x, w, pad 1) * 0.01 + r)\n",
        {.b = 1, .m = 5, .n = 6, .k = 3});
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 36], w: f16[40, k, k2, 9]) -> y: f32[b, m, n, 40]\n"
        " y = tanh(conv(x, w, groups 4, pad 1))\n",
        {.b = 2, .m = 7, .n = 6, .k = 3});
}

TEST_SHAPES(tile_conv, wide_maps)
{
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 256], w: f16[16, k, k2, 256], r: f16[b, p, q, 16])"
        " -> y: f32[b, p, q, 16]\n y = tanh(conv(x, w, to p q) * 0.01) + r\n",
        {.b = 1, .m = 4, .n = 500, .k = 3});
    CHECK_ALL("kernel c(x: f16[b, m, n, 256], w: f16[16, k, k2, 256]) ->"
              " y: f32[b, p, q, 16]\n y = conv(x, w, to p q)\n",
              {.b = 1, .m = 4, .n = 500, .k = 3});
}

/* Among other stages: rows of it reduced, two of them, one that is wanted twice. */
TEST_SHAPES(tile_conv, in_stages)
{
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 16], w: f16[24, k, k2, 16]) -> y: f32[b, m, n, 24],"
        " s: f32[b, m, n]\n y = conv(x, w, pad 1)\n s = sum(y, 24)\n",
        {.b = 2, .m = 9, .n = 7, .k = 3});
    CHECK_ALL(
        "kernel c(x: f16[b, m, n, 16], w: f16[24, k, k2, 16], v: f16[24, 1, k3, 16])"
        " -> y: f32[b, m, n, 24]\n"
        " y = conv(x, w, pad 1) + conv(x, v, pad 0 1)\n",
        {.b = 2, .m = 9, .n = 7, .k = 3});
}

TEST(tile_conv, refusals_name_the_place)
{
    const struct shape shape = {.b = 2, .m = 9, .n = 7, .k = 3};

    check_refused("kernel c(x: f16[b, m, n, 16], w: f16[8, k, k2, 16]) ->"
                  " y: f32[m, b, n, 8]\n y = conv(x, w, pad 1)\n",
                  shape, 2, 6, "y is not [b, m, n, 8], as windows make it");
    check_refused("kernel c(x: f16[b, m, n, 16], w: f16[8, k, k2, 16]) ->"
                  " y: f32[b, p, q, 8]\n y = conv(x, w, to p q, pad 5)\n",
                  shape, 2, 6, "leave windows without x");
}
