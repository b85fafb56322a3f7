/* SPDX-License-Identifier: MIT
 *
 * Operands of products that the Vector computes on their way to L1 (tile/prologue.h): against
 * the interpreter, and that the plan is such a one.
 */
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/product/product.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "kernels/tile/tiles/tiles.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

enum { ARENA_BYTES = 4 << 20 };

/* Whether the program is one stage, whose operand goes to L1. */
static bool is_one_stage(const char *text, struct shape shape)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    struct tile_error error = {0};
    struct tile_kernel *k = tile_parse(&arena, text, strlen(text), NULL, &error);
    struct tile_plan *plan = NULL;
    bool is;

    check_sizes(k, shape);
    is = k && tile_plan(&plan, k, 0, &arena, &error) == 0 && plan->next == NULL &&
         plan->operand;
    free(arena.base);
    return is;
}

static void check_shapes(const char *text, const struct shape *shape, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        CHECK(is_one_stage(text, shape[i]));
        check_program(text, shape[i]);
    }
}
#define CHECK_STAGE(text, ...)                                                           \
    check_shapes(text, (const struct shape[]){__VA_ARGS__},                              \
                 sizeof((const struct shape[]){__VA_ARGS__}) / sizeof(struct shape))

TEST(tile_prologue, of_the_left)
{
    CHECK_STAGE("kernel p(x: f16[m, k], w: f16[k, n]) -> y: f32[m, n]\n"
                " h = f16(silu(x))\n y = h @ w\nschedule keep h in l1\n",
                {.m = 35, .n = 50, .k = 70}, {.m = 3, .n = 300, .k = 16},
                {.m = 1, .n = 20, .k = 33}, {.m = 300, .n = 600, .k = 40});
    /* What meets rows, columns and all; transposed; with a row and a cast behind it. */
    CHECK_STAGE("kernel p(x: f32[k, m], g: f32[k], s: f32[m], w: f16[n, k], r: f32[n]) ->"
                " y: f16[m, n]\n h = f16(x * g + s)\n y = f16(relu(dot(h, w, k) + r))\n"
                "schedule keep h in l1\n",
                {.m = 35, .n = 50, .k = 70}, {.m = 130, .n = 20, .k = 300});
}

TEST_SHAPES(tile_prologue, of_the_right)
{
    CHECK_STAGE("kernel p(x: f16[m, k], w: s8[k, n], s: f32[n]) -> y: f32[m, n]\n"
                " h = f16(f32(w) * s)\n y = x @ h\nschedule keep h in l1\n",
                {.m = 35, .n = 50, .k = 70}, {.m = 2, .n = 300, .k = 400});
    CHECK_STAGE("kernel p(x: f16[m, k], w: s8[n, k], s: f32[n]) -> y: f32[m, n]\n"
                " h = f16(dequantise(w, s, 3))\n y = x @ h\nschedule keep h in l1\n",
                {.m = 35, .n = 50, .k = 70}, {.m = 200, .n = 20, .k = 40});
}

/* A batch, and outer dimensions that are none. */
TEST_SHAPES(tile_prologue, of_many)
{
    CHECK_STAGE("kernel p(x: f16[b, m, k], s: f32[b, k], w: f16[b, k, n]) ->"
                " y: f32[b, m, n]\n h = f16(x * s)\n y = dot(h, w, k)\n"
                "schedule keep h in l1\n",
                {.b = 3, .m = 35, .n = 50, .k = 70});
    CHECK_STAGE("kernel p(x: f16[m, b, k], w: f16[b, n, k]) -> y: f32[m, b, n]\n"
                " h = f16(tanh(x))\n y = dot(h, w, k)\nschedule keep h in l1\n",
                {.b = 2, .m = 35, .n = 50, .k = 70});
}

/* The Vector behind the product, too. */
TEST(tile_prologue, with_an_epilogue)
{
    CHECK_STAGE("kernel p(x: f16[m, k], w: f16[k, n], r: f32[n]) -> y: f16[m, n]\n"
                " h = f16(silu(x))\n y = f16(gelu(h @ w + r))\nschedule keep h in l1\n",
                {.m = 35, .n = 50, .k = 70}, {.m = 300, .n = 300, .k = 64});
    CHECK_STAGE("kernel p(x: f16[b, m, k], w: s8[k, n], s: f32[n], r: f32[n]) ->"
                " y: f32[b, m, n]\n h = f16(f32(w) * s)\n y = tanh(dot(x, h, k)) * r\n"
                "schedule keep h in l1\n",
                {.b = 2, .m = 35, .n = 50, .k = 70});
}

/* Other types of operands. */
TEST_SHAPES(tile_prologue, of_each_type)
{
    if (chip_has_type(PIPE_M, TYPE_BF16)) {
        CHECK_STAGE("kernel p(x: f32[m, k], w: bf16[k, n]) -> y: bf16[m, n]\n"
                    " h = bf16(exp(-abs(x)))\n y = bf16(h @ w)\nschedule keep h in l1\n",
                    {.m = 35, .n = 50, .k = 70});
    }
    if (chip_has_type(PIPE_M, TYPE_F32)) {
        CHECK_STAGE("kernel p(x: f32[m, k], w: f32[k, n]) -> y: f32[m, n]\n"
                    " h = x * 0.5 + 1\n y = h @ w\nschedule keep h in l1\n",
                    {.m = 35, .n = 50, .k = 70});
    }
    CHECK_STAGE("kernel p(x: f32[m, k], w: s8[k, n]) -> y: s32[m, n]\n"
                " h = s8(x * 3)\n y = h @ w\nschedule keep h in l1\n",
                {.m = 35, .n = 50, .k = 70});
}

TEST(tile_prologue, refusals_name_the_place)
{
    const struct shape shape = {.m = 35, .n = 50, .k = 70};

    check_refused(
        "kernel p(x: f16[m, k], w: f16[k, n]) -> y: f32[m, n], z: f16[m, k]\n"
        " h = f16(silu(x))\n y = h @ w\n z = x\nschedule cores 1, keep z in l1\n",
        shape, 5, 19, "of what a product's operand is computed to");
    check_refused("kernel p(x: f16[m, k], w: f16[k, n]) -> y: f32[m, n]\n"
                  " h = f16(x - max(x, k))\n y = h @ w\nschedule keep h in l1\n",
                  shape, 4, 10, "element by element");
}
