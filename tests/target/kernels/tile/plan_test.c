/* SPDX-License-Identifier: MIT
 *
 * Programs of all kinds and shapes, planned and run, against the interpreter.
 */
#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/cli/data.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "kernels/tile/tiles/tiles.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

enum {
    ARENA_BYTES = 4 << 20,
    SHORT = 500000 /* instructions, with a search as well */
};

static struct sched_report report;

TEST(tile_plan, element_by_element)
{
    CHECK_ALL("kernel vadd(x: f32[n], y: f32[n]) -> z: f32[n]\n z = x + y\n",
              {0, 0, 1, 0}, {0, 0, 7, 0}, {0, 0, 64, 0}, {0, 0, 1000, 0},
              {0, 0, 12345, 0}, {0, 0, 100003, 0});
}

TEST(tile_plan, a_parameter_handed_through)
{
    CHECK_ALL(
        "kernel same(x: f32[m, n]) -> y: f32[m, n], z: f32[m, n]\n y = x\n z = -x\n",
        {0, 3, 5, 0}, {0, 100, 700, 0});
}

TEST_SHAPES(tile_plan, softmax)
{
    CHECK_ALL("kernel softmax(x: f32[m, n]) -> y: f32[m, n]\n"
              " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n",
              {0, 1, 1, 0}, {0, 1, 9, 0}, {0, 5, 3, 0}, {0, 9, 1, 0}, {0, 8, 64, 0},
              {0, 33, 65, 0}, {0, 300, 17, 0}, {0, 17, 129, 0}, {0, 21, 255, 0},
              {0, 20, 1003, 0}, {0, 9, 2050, 0}, {0, 5, 8191, 0});
}

TEST_SHAPES(tile_plan, layernorm)
{
    CHECK_ALL("kernel layernorm(x: f32[m, n], g: f32[n], b: f32[n], eps = 1e-5) -> y: "
              "f32[m, n]\n"
              " d = x - mean(x, n)\n y = d * rsqrt(mean(d * d, n) + eps) * g + b\n",
              {0, 1, 5, 0}, {0, 7, 33, 0}, {0, 70, 64, 0}, {0, 19, 1000, 0},
              {0, 3, 5000, 0});
}

TEST(tile_plan, results_of_rows_and_of_columns)
{
    CHECK_ALL("kernel k(x: f32[m, n], g: f32[n], r: f32[m]) -> y: f32[m], z: f32[n], u: "
              "f32[m, n]\n"
              " y = sum(x * g, n) + r\n z = g * g + 1\n u = r * g\n",
              {0, 1, 5, 0}, {0, 13, 40, 0}, {0, 100, 100, 0}, {0, 40, 900, 0});
}

TEST(tile_plan, three_dimensions)
{
    CHECK_ALL("kernel k(x: f32[b, m, n], g: f32[b, n], r: f32[m], c: f32[b]) -> y: "
              "f32[b, m, n]\n"
              " y = (x * g + r) * c\n",
              {3, 5, 9, 0}, {2, 30, 70, 0}, {7, 9, 300, 0}, {1, 4, 8, 0}, {4, 1, 6, 0});
}

TEST(tile_plan, masks)
{
    CHECK_ALL("kernel k(x: f32[m, n], r: f32[m], g: f32[n]) -> y: f32[m, n]\n"
              " y = where(x < r, x * 2, where(x > g, g, r))\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 9, 500, 0});
    CHECK_ALL("kernel k(x: f32[m, n]) -> y: s32[m], z: s32[m]\n"
              " y = count(x > 0.25, n)\n z = argmax(x, n)\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 9, 500, 0});
}

TEST(tile_plan, indices)
{
    CHECK_ALL("kernel k(x: f32[m, n]) -> y: f32[m, n]\n y = where(n <= m, x, -1)\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 300, 20, 0});
    CHECK_ALL("kernel k(x: f32[n]) -> y: f32[n]\n y = x + f32(n)\n", {0, 0, 9, 0},
              {0, 0, 50000, 0});
}

/* Of a row that is longer than UB, too, which is computed in pieces. */
TEST(tile_plan, sizes_of_dimensions)
{
    CHECK_ALL("kernel k(x: f32[m, n]) -> y: f32[m], z: s32[m, n]\n"
              " y = sum(x, n) / size(n) - -size(m)\n z = (m * size(n) + n) * size(m)\n",
              {0, 3, 5, 0}, {0, 2, 30000, 0});
}

TEST_SHAPES(tile_plan, other_types)
{
    CHECK_ALL(
        "kernel k(x: f16[m, n], y: f16[m, n]) -> z: f16[m, n]\n z = f16(x * y + 1)\n",
        {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 1, 30000, 0});
    CHECK_ALL("kernel k(x: f16[m, n]) -> y: f16[m, n]\n"
              " e = exp(x - max(x, n))\n y = f16(e * rec(sum(e, n)))\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 9, 1003, 0});
    if (chip_has_type(PIPE_V, TYPE_BF16)) {
        CHECK_ALL("kernel k(x: bf16[m, n]) -> y: bf16[m, n]\n y = bf16(x * 3)\n",
                  {0, 5, 9, 0}, {0, 40, 33, 0});
    }
    CHECK_ALL("kernel k(x: s32[m, n]) -> y: s32[m, n], z: s32[m]\n"
              " y = x * 3 - 1\n z = max(x, n)\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 9, 500, 0});
    CHECK_ALL("kernel k(x: s8[m, n], s: f32[m]) -> y: f32[m, n], z: s8[m, n]\n"
              " y = f32(x) * s\n z = s8(y * 0.5)\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 9, 500, 0});
    CHECK_ALL("kernel k(x: f16[m, n], y: f16[m, n]) -> z: f16[m, n]\n z = exp(x) * y\n"
              "schedule arith f16\n",
              {0, 5, 9, 0}, {0, 40, 130, 0});
    CHECK_ALL("kernel k(x: f16[m, n]) -> y: f16[m, n], z: f16[m]\n"
              " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n z = min(x, n)\n"
              "schedule arith f16\n",
              {0, 5, 9, 0}, {0, 40, 130, 0}, {0, 33, 257, 0}, {0, 9, 1003, 0},
              {0, 260, 385, 0});
}

TEST(tile_plan, reductions_along_rows)
{
    CHECK_ALL("kernel k(x: f32[m, n]) -> y: f32[n], z: f32[m, n], s: f32\n"
              " y = sum(x, m)\n z = x - y\n s = max(y, n)\n",
              {0, 1, 5, 0}, {0, 3, 8, 0}, {0, 15, 7, 0}, {0, 40, 33, 0}, {0, 9, 500, 0});
}

/* No tile has a whole row, or all rows: pieces, put together. */
TEST_SHAPES(tile_plan, rows_longer_than_the_memory)
{
    CHECK_ALL("kernel softmax(x: f32[m, n]) -> y: f32[m, n]\n"
              " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n",
              {0, 2, 24000, 0}, {0, 1, 65537, 0});
    CHECK_ALL("kernel log_softmax(x: f16[m, n]) -> y: f32[m, n]\n"
              " d = x - max(x, n)\n y = d - log(sum(exp(d), n))\n",
              {0, 2, 30001, 0});
    CHECK_ALL("kernel layernorm(x: f32[m, n], g: f32[n], b: f32[n], eps = 1e-5) -> y: "
              "f32[m, n]\n"
              " d = x - mean(x, n)\n y = d * rsqrt(mean(d * d, n) + eps) * g + b\n",
              {0, 2, 24000, 0});
}

TEST_SHAPES(tile_plan, reductions_in_pieces)
{
    CHECK_ALL("kernel k(x: f32[m, n]) -> a: s32[m], c: s32[m], d: f32[m], e: u8[m]\n"
              " a = argmax(x, n)\n c = count(x > 0.9, n)\n d = min(x, n) + var(x, n)\n"
              " e = u8(any(x > 0.9999, n))\n",
              {0, 2, 20011, 0});
    CHECK_ALL("kernel k(x: f32[m, n], s = 3) -> y: f32[n], z: f32[m, n]\n"
              " y = sum(x, m) + mean(x * s, m)\n z = x - max(x, m)\n",
              {0, 1201, 70, 0});
    CHECK_ALL("kernel k(x: s32[n], y: f16[n]) -> z: s32, w: f16\n"
              " z = max(where(n < 30000, x, 0), n)\n w = f16(sum(y, n))\n",
              {0, 0, 40000, 0});
}

/* Where the maximum of a piece is -inf its exp(x - max) is 0, not NaN. */
TEST_SHAPES(tile_plan, pieces_without_a_finite_maximum)
{
    CHECK_ALL("kernel k(x: f32[m, n]) -> y: f32[m, n]\n"
              " z = where(n < 100, x, -inf)\n e = exp(z - max(z, n))\n"
              " y = e * rec(sum(e, n))\n",
              {0, 1, 70000, 0});
}

TEST(tile_plan, reductions_over_several_dimensions)
{
    CHECK_ALL("kernel k(x: f32[b, m, n]) -> y: f32[m], z: f32[b, n], u: f32[b, m, n]\n"
              " y = sum(sum(x, b), n)\n z = max(x, m)\n u = x - z + y\n",
              {3, 5, 9, 0}, {2, 30, 70, 0});
    CHECK_ALL("kernel k(x: f32[b, m, n]) -> y: s32[m, n], z: f32[n], w: s32[b]\n"
              " y = argmax(x, b)\n z = var(mean(x, b), m)\n"
              " w = count(any(x > 0.5, n), m)\n",
              {3, 5, 9, 0}, {4, 31, 70, 0});
}

/* The words that a plan prints lead to it again, by a fraction of the instructions. */
static void check_schedule(const char *text, uint32_t m, uint32_t n)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    struct tile_cycles cycles[2];
    uint64_t took[2];
    char again[512];

    snprintf(again, sizeof(again), "%s", text);
    for (unsigned i = 0; i < 2; i++) {
        struct tile_error error;
        struct tile_kernel *k = tile_parse(&arena, again, strlen(again), NULL, &error);
        struct tile_plan *plan;
        CHECK(k != NULL);
        CHECK_OK(tile_set_size(k, tile_find_dim(k, "m"), m));
        CHECK_OK(tile_set_size(k, tile_find_dim(k, "n"), n));
        if (tile_find_dim(k, "k") != TILE_NO_DIM) {
            CHECK_OK(tile_set_size(k, tile_find_dim(k, "k"), m));
        }
        took[i] = hart_clock();
        CHECK_OK(tile_plan(&plan, k, 1, &arena, &error));
        took[i] = hart_clock() - took[i];
        cycles[i] = tile_predicted(plan);
        snprintf(again, sizeof(again), "%sschedule %s\n", text,
                 tile_schedule(plan, true));
    }
    CHECK_EQ(memcmp(&cycles[0], &cycles[1], sizeof(cycles[0])), 0);
    CHECK(took[1] * 2 < took[0] || took[0] < SHORT);
    free(arena.base);
}

TEST(tile_plan, a_stored_schedule_needs_no_search)
{
    static const char softmax[] = "kernel softmax(x: f32[m, n]) -> y: f32[m, n]\n"
                                  " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n";

    check_schedule(softmax, 256, 1024);
    check_schedule(softmax, 3, 65537);
    check_schedule(softmax, 64, 8192);
    check_schedule("kernel k(x: f32[m, n]) -> y: f32[m, n]\n y = x * 2\n", 100, 70);
    check_schedule("kernel k(x: f32[m, n]) -> y: f32[m], z: f32[n]\n"
                   " y = sum(x, n)\n z = min(x - y, m)\n",
                   300, 400);
    check_schedule("kernel k(x: f16[m, n], y: f16[k, n]) -> z: f16[m, k]\n"
                   " z = f16(gelu(dot(x, y, n)))\n",
                   300, 700);
    check_schedule("kernel k(x: f16[m, n], y: f16[n]) -> z: f32[m]\n"
                   " d = dot(x, y, n)\n z = d - max(d, m)\n",
                   300, 4000);
    if (chip_has_type(PIPE_M, TYPE_F32)) {
        check_schedule("kernel k(x: f32[m, n], y: f32[n]) -> z: f32[m]\n"
                       " z = sigmoid(dot(x, y, n))\n",
                       64, 64);
    }
}

/* Indices of data_make() are of any s32; those of a gather lie in its dimension. */
static void check_gather(const char *text, struct shape shape)
{
    check_gathered = shape.b;
    check_program(text, shape);
    check_gathered = 0;
}

TEST(tile_plan, rows_by_index)
{
    check_gather("kernel k(x: f32[b, n], i: s32[m]) -> y: f32[m, n]\n"
                 " y = gather(x, i, b) * 2\n",
                 (struct shape){50, 33, 70, 0});
    check_gather(
        "kernel k(x: f16[b, n], i: s32[m], g: f32[n]) -> y: f32[m], z: f16[m, n]\n"
        " z = gather(x, i, b)\n y = sum(z * g, n)\n",
        (struct shape){9, 200, 129, 0});
    check_gather("kernel k(x: f32[n, b], i: s32[m]) -> y: f32[n, m]\n"
                 " y = exp(gather(x, i, b))\n",
                 (struct shape){9, 5, 3, 0});
}

/* A command that the engine refuses is told by the program's line. */
TEST(tile_plan, a_fault_names_the_line)
{
    static const char text[] =
        "kernel k(x: f32[n]) -> y: f32[n]\n e = exp(x)\n y = e + x\n";
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    static float x[64], y[64];
    struct tile_call call = {{x}, {y}};
    struct tile_error error;
    struct tile_kernel *k = tile_parse(&arena, text, strlen(text), NULL, &error);
    struct tile_plan *plan;
    struct sequence *body;

    k->file = "some/k.tile";
    CHECK_OK(tile_set_size(k, tile_find_dim(k, "n"), 64));
    CHECK_OK(tile_plan(&plan, k, 1, &arena, &error));
    CHECK_OK(tile_run(plan, &call, &report));
    body = &tiles_of(plan)->part[0].tile[LANE_VECTOR][0];
    for (unsigned i = 0; i < body->n * body->positions; i++) {
        if (body->cmds[i].head.opcode == OP_VADD) {
            body->cmds[i].vec2.src0 = 1;
        }
    }
    CHECK_EQ(tile_run(plan, &call, &report), ERR_FAULT);
    CHECK(strstr(report.text, "of some/k.tile:3") != NULL);
    free(arena.base);
}

static unsigned allocations, lost;

static bool loses_one(void)
{
    return ++allocations == lost;
}

/* Each allocation fails once: the plan is the one that it would be, or there is none. */
static void plan_with_losses(const char *text, struct shape shape)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    struct tile_kernel *k;
    struct tile_error error;
    struct tile_plan *plan;
    int err;

    lost = 0;
    do {
        lost++;
        arena.used = 0;
        k = tile_parse(&arena, text, strlen(text), NULL, &error);
        check_sizes(k, shape);
        allocations = 0;
        heap_refuses = loses_one;
        err = tile_plan(&plan, k, 1, &arena, &error);
        heap_refuses = NULL;
        CHECK_EQ(err, allocations < lost ? 0 : ERR_NOMEM);
        CHECK(!err || strstr(error.text, "no memory") != NULL);
    } while (allocations >= lost);
    CHECK(lost > 3);
    free(arena.base);
}

TEST(tile_plan, memory_that_runs_out_is_told)
{
    plan_with_losses("kernel k(x: f32[m, n]) -> y: f32[m, n]\n"
                     " y = (x - mean(x, n)) * rsqrt(var(x, n) + 1e-5)\n",
                     (struct shape){.m = 7, .n = 300});
    plan_with_losses("kernel k(x: f16[m, k], y: f16[k, n]) -> z: f32[m, n]\n"
                     " p = x @ y\n z = tanh(p)\n",
                     (struct shape){.m = 33, .n = 40, .k = 50});
}

/* v has rows alone, which lie n apart. */
TEST(tile_plan, a_parameter_across_what_is_reduced)
{
    CHECK_ALL("kernel k(x: f32[b, m, n], v: f32[b, m]) -> y: f32[m, n]\n"
              " y = max(x * v, b)\n",
              {5, 7, 9, 0}, {33, 3, 40, 0});
    CHECK_ALL("kernel k(x: f16[b, m, n], v: f16[b, m]) -> y: f16[m, n]\n"
              " y = max(x + v, b)\nschedule arith f16\n",
              {5, 7, 9, 0}, {33, 3, 40, 0});
}

TEST(tile_plan, numbers_of_every_type_as_results)
{
    CHECK_ALL(
        "kernel k(x: f32[m, n], s = 2.5) -> a: s8[m, n], b: u8[m, n], c: s16[m, n], "
        "d: f16[m, n]\n"
        " a = s8(where(s > 2, -3, x))\n b = u8(where(s > 2, 200, x))\n"
        " c = s16(where(s > 2, -300, x))\n d = f16(where(s < 2, x, 0.1))\n",
        {0, 5, 9, 0}, {0, 3, 700, 0});
    if (chip_has_type(PIPE_V, TYPE_BF16)) {
        CHECK_ALL("kernel k(x: f32[m, n], s = 2.5) -> a: bf16[m, n]\n"
                  " a = bf16(where(s > 2, 0.5, x))\n",
                  {0, 5, 9, 0}, {0, 3, 700, 0});
    }
}

/* Each operation on each type that it takes, by what the table says. */
static void check_operation(unsigned op, const char *type)
{
    const struct tile_op_info *o = &tile_op_info[op];
    char text[256], call[64];
    const char *y = strcmp(type, "f32") == 0 || strcmp(type, "f16") == 0 ? "abs(y)" : "y";

    if (o->kind == KIND_REDUCE) {
        snprintf(call, sizeof(call), "%s(x, n)", o->name);
    } else if (o->kind == KIND_SHIFT) {
        snprintf(call, sizeof(call), "%s(x, 3)", o->name);
    } else if (o->kind == KIND_SELECT) {
        snprintf(call, sizeof(call), "where(x < y, x, y)");
    } else if (o->operands == 1) {
        snprintf(call, sizeof(call), "%s(%s)", o->name, op == TILE_NEG ? "x" : y);
    } else if (o->name) {
        snprintf(call, sizeof(call), "%s(x, y + 0)", o->name);
    } else if (o->kind == KIND_COMPARE) {
        snprintf(call, sizeof(call), "where(x %s y, x, 1)", tile_op_text(op));
    } else {
        snprintf(call, sizeof(call), "x %s (%s + 1)", tile_op_text(op), y);
    }
    snprintf(text, sizeof(text),
             "kernel k(x: %s[m, n], y: %s[m, n]) -> z: %s[m%s]\n z = %s\n%s", type, type,
             op == TILE_ARGMAX ? "s32" : type, o->kind == KIND_REDUCE ? "" : ", n", call,
             strcmp(type, "f16") == 0 ? "schedule arith f16\n" : "");
    check_program(text, (struct shape){0, 5, 33, 0});
}

TEST_SHAPES(tile_plan, operations_by_type)
{
    static const struct {
        enum type type;
        const char *name;
    } types[] = {
        {TYPE_F32, "f32"}, {TYPE_F16, "f16"}, {TYPE_S32, "s32"}, {TYPE_S16, "s16"}};

    for (unsigned op = TILE_NEG; op < TILE_GATHER; op++) {
        for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
            if (tile_op_info[op].types >> types[i].type & 1 && op != TILE_CAST) {
                check_operation(op, types[i].name);
            }
        }
    }
}

TEST(tile_plan, casts_by_type)
{
    static const char *const types[] = {"f32", "f16", "s32", "s16", "s8", "u8", "bf16"};
    unsigned n = sizeof(types) / sizeof(types[0]) - !chip_has_type(PIPE_V, TYPE_BF16);
    char text[160];

    for (unsigned i = 0; i < n * n; i++) {
        snprintf(text, sizeof(text), "kernel k(x: %s[n]) -> y: %s[n]\n y = %s(x)\n",
                 types[i / n], types[i % n], types[i % n]);
        check_program(text, (struct shape){0, 0, 77, 0});
    }
}

TEST(tile_plan, numbers_as_results)
{
    CHECK_ALL("kernel k(x: f32[m, n], s = 2.5) -> y: f16, z: s32[m]\n"
              " y = f16(s * 3)\n z = argmax(x, n)\n",
              {0, 4, 1, 0}, {0, 30, 1, 0});
}

TEST(tile_plan, exact)
{
    CHECK_ALL("kernel k(x: f32[m, n]) -> y: f32[m, n]\n y = x / (sum(abs(x), n) + 1)\n"
              "schedule exact\n",
              {0, 5, 9, 0}, {0, 40, 33, 0}, {0, 9, 500, 0});
}
