/* SPDX-License-Identifier: MIT
 *
 * What a plan is predicted to take is what it takes, where L2 holds what is loaded: within
 * 3 % from the first command to the last, within 1 % of each pipe. And planning is short.
 */
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/cli/data.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "sched/measure.h"
#include "tests/target/test.h"

enum { ARENA_BYTES = 4 << 20, PLANNING = 3700000 /* instructions at the most */ };

static struct sched_report text;

struct program {
    struct tile_arena arena;
    struct tile_kernel *k;
    struct tile_plan *plan;
    struct tile_call call;
};

static int make(struct program *p, const char *source, uint32_t m, uint32_t n)
{
    struct tile_error error;
    int err = 0;

    p->k = tile_parse(&p->arena, source, strlen(source), NULL, &error);
    for (unsigned d = 0; p->k && d < p->k->n_dims && !err; d++) {
        bool rows = p->k->dim[d].name[0] == 'm', known = p->k->dim[d].size != 0;
        err = known ? 0 : tile_set_size(p->k, (uint8_t)d, rows ? m : n);
    }
    err = p->k ? err : ERR_FORMAT;
    return err ? err : tile_plan(&p->plan, p->k, 1, &p->arena, &error);
}

static void make_tensors(struct program *p)
{
    for (unsigned i = 0; i < p->k->n_params; i++) {
        const struct tile_tensor *t = &p->k->param[i];
        p->call.in[i] = data_make("test", (enum type)t->type,
                                  tile_count(p->k, tile_tensor_dims(t)), i + 1);
    }
    for (unsigned i = 0; i < p->k->n_results; i++) {
        const struct tile_tensor *t = &p->k->result[i].tensor;
        p->call.out[i] = data_alloc("test", (enum type)t->type,
                                    tile_count(p->k, tile_tensor_dims(t)));
    }
}

static void free_tensors(struct program *p)
{
    for (unsigned i = 0; i < p->k->n_params; i++) {
        free((void *)(uintptr_t)p->call.in[i]);
    }
    for (unsigned i = 0; i < p->k->n_results; i++) {
        free(p->call.out[i]);
    }
}

/* Whether the two are so many percent of the first apart at the most. */
static bool near(uint64_t is, uint64_t said, unsigned percent)
{
    return (is > said ? is - said : said - is) * 100 <= is * percent;
}

static bool as_predicted(const struct program *p, const struct launch_report *r)
{
    struct tile_cycles said = tile_predicted(p->plan);

    test_note(
        "%llu cycles, predicted %llu; V %llu, %llu; MTE2 %llu, %llu; MTE3 %llu, %llu",
        (unsigned long long)r->span, (unsigned long long)said.span,
        (unsigned long long)r->chip[PIPE_V].busy, (unsigned long long)said.v,
        (unsigned long long)r->chip[PIPE_MTE2].busy, (unsigned long long)said.mte2,
        (unsigned long long)r->chip[PIPE_MTE3].busy, (unsigned long long)said.mte3);
    return near(r->span, said.span, 3) && near(r->chip[PIPE_V].busy, said.v, 1) &&
           near(r->chip[PIPE_MTE2].busy, said.mte2, 1) &&
           near(r->chip[PIPE_MTE3].busy, said.mte3, 1);
}

/* The second launch of a program on one core. */
static void launch_twice(struct program *p, struct launch_report *report)
{
    make_tensors(p);
    for (unsigned i = 0; i < 2; i++) {
        measure_start();
        CHECK_OK(tile_run(p->plan, &p->call, &text));
    }
    measure_read(report);
    free_tensors(p);
}

static void check(const char *source, uint32_t m, uint32_t n)
{
    struct program p = {.arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0}};
    struct launch_report report;
    uint64_t began = hart_clock();

    CHECK_OK(make(&p, source, m, n));
    if (chip_profile() == PROFILE_a2) {
        CHECK(hart_clock() - began <= PLANNING);
    }
    launch_twice(&p, &report);
    CHECK(as_predicted(&p, &report));
    free(p.arena.base);
}

TEST_CYCLES(tile_predict, element_by_element)
{
    check("kernel a(x: f32[n], y: f32[n]) -> z: f32[n]\n z = x + y\n", 0, 1 << 19);
    check("kernel a(x: f16[n], y: f16[n]) -> z: f16[n]\n z = f16(x + y)\n", 0, 1 << 19);
    check("kernel a(x: f32[n], u: f32[n]) -> y: f32[n]\n y = silu(x) * u\n", 0, 1 << 19);
}

#define SOFTMAX(type)                                                                    \
    "kernel a(x: " type "[m, n]) -> y: " type "[m, n]\n"                                 \
    " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n"

TEST_CYCLES(tile_predict, softmax)
{
    check(SOFTMAX("f32"), 256, 1024);
    check(SOFTMAX("f32"), 2048, 64);
    check(SOFTMAX("f32"), 400, 1003);
    check(SOFTMAX("f32"), 64, 8192);
    check(SOFTMAX("f32"), 4, 65536);
    check(SOFTMAX("f32"), 1, 300000);
    check(SOFTMAX("f32"), 1, 750000);
    check(SOFTMAX("f16") "schedule arith f16\n", 256, 1024);
}

TEST_CYCLES(tile_predict, layernorm)
{
    static const char source[] =
        "kernel a(x: f32[m, n], g: f32[n], b: f32[n], eps = 1e-5) -> y: f32[m, n]\n"
        " d = x - mean(x, n)\n y = d * rsqrt(mean(d * d, n) + eps) * g + b\n";

    check(source, 512, 1024);
    check(source, 4, 65536);
}

/* Attention so short that the hart is what takes the time. */
TEST_CYCLES(tile_predict, short_loops)
{
    static const char source[] =
        "kernel a(q: f16[m, 2, 16], k: f16[m, n, 16], v: f16[m, n, 16]) -> o: "
        "f16[m, 2, 16]\n loop n carry top = -inf[m, 2], l = 0[m, 2], acc = 0[m, 2, 16]\n"
        "  x = dot(q, k, 16)\n  most = max(top, max(x, n))\n  p = exp(x - most)\n"
        "  r = exp(top - most)\n  l = l * r + sum(p, n)\n"
        "  acc = acc * r + dot(f16(p), v, n)\n  top = most\n end\n o = f16(acc * rec(l))\n";
    char carried[sizeof(source) + 32];
    uint64_t v;
    struct program p = {.arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0}};
    struct launch_report report;

    snprintf(carried, sizeof(carried), "%sschedule tile n 33\n", source);
    CHECK_OK(make(&p, source, 40, 33));
    launch_twice(&p, &report);
    CHECK(near(report.span, tile_predicted(p.plan).span, 3));
    v = tile_predicted(p.plan).v;
    free(p.arena.base);
    p.arena = (struct tile_arena){malloc(ARENA_BYTES), ARENA_BYTES, 0};
    CHECK_OK(make(&p, carried, 40, 33)); /* as if there might be another tile */
    CHECK(v * 4 < tile_predicted(p.plan).v * 3);
    free(p.arena.base);
}

/* A sum that is carried, so that the loop stays: as many keys as a tile has at the most. */
TEST(tile_predict, as_many_keys_as_a_tile_has)
{
    static const char source[] =
        "kernel a(q: f16[m, 16], k: f16[n, 16]) -> y: f32[m]\n"
        " loop n carry l = 1[m]\n  l = l * 1 + sum(exp(dot(q, k, 16)), n)\n end\n y = l\n";
    char said[sizeof(source) + 32];
    struct program p = {.arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0}};
    uint64_t span;

    snprintf(said, sizeof(said), "%sschedule tile n 240\n", source);
    CHECK_OK(make(&p, said, 650, 240));
    span = tile_predicted(p.plan).span;
    p.arena.used = 0;
    CHECK_OK(make(&p, source, 650, 240));
    CHECK_EQ(tile_predicted(p.plan).span, span);
    free(p.arena.base);
}

/* Of tiles of a product and of what the Vector does with them in many ways. */
TEST(tile_predict, planning_behind_a_product_is_short)
{
    struct program p = {.arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0}};
    uint64_t began = hart_clock();

    CHECK_OK(make(&p,
                  "kernel a(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> c: f16[m, n]\n"
                  " c = f16(gelu(a @ b + bias))\n",
                  1024, 1024));
    CHECK(hart_clock() - began <= PLANNING);
    free(p.arena.base);
}

static void predict(const char *source, uint32_t m, uint32_t n, struct tile_cycles *said)
{
    struct program p = {.arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0}};

    CHECK_OK(make(&p, source, m, n));
    *said = tile_predicted(p.plan);
    free(p.arena.base);
}

/* Two operations in one launch take less than in two. */
TEST(tile_predict, fused_is_faster_than_apart)
{
    static const char gated[] = "kernel a(x: f16[n], u: f16[n]) -> y: f16[n]\n"
                                " y = f16(silu(x) * u)\n";
    static const char silu[] = "kernel a(x: f16[n]) -> y: f16[n]\n y = f16(silu(x))\n";
    static const char product[] = "kernel a(x: f16[n], u: f16[n]) -> y: f16[n]\n"
                                  " y = f16(x * u)\n";
    struct tile_cycles fused = {0}, first = {0}, second = {0};

    predict(gated, 1, 1 << 21, &fused);
    predict(silu, 1, 1 << 21, &first);
    predict(product, 1, 1 << 21, &second);
    test_note("%llu cycles; %llu and %llu", (unsigned long long)fused.span,
              (unsigned long long)first.span, (unsigned long long)second.span);
    CHECK(fused.span < first.span + second.span + chip_cost(COST_LAUNCH) ||
          !chip_cost(COST_LAUNCH));
}

#define ADAM                                                                             \
    "kernel a(p: f32[m, n], g: f32[m, n], h: f32[m, n], v: f32[m, n])"                   \
    " -> q: f32[m, n], a: f32[m, n], b: f32[m, n]\n"                                     \
    " d = clip(g, -1, 1)\n b = v * 0.9 + d * d * 0.1\n a = h * 0.9 + d * 0.1\n"          \
    " top = max(abs(a), n)\n q = p * 0.99 - a * rec(sqrt(b) + 1e-8) * top\n"

/* Two tiles hold few rows; one holds more, and its loads and stores take no time. */
TEST_CYCLES(tile_predict, one_tile_at_a_time)
{
    struct tile_cycles two = {0}, any = {0};

    predict(ADAM "schedule buffers 2\n", 96, 1024, &two);
    predict(ADAM, 96, 1024, &any);
    test_note("%llu cycles, of two tiles %llu", (unsigned long long)any.span,
              (unsigned long long)two.span);
    CHECK(any.span * 100 < two.span * 95);
    check(ADAM "schedule tile m 8, buffers 1\n", 96, 1024);
}

/* Turns pairs by angles that are the same for each row. */
#define TURN                                                                             \
    "kernel k(a: f32[m, n], b: f32[m, n], c: f32[n], t: f32[n])"                         \
    " -> u: f32[m, n], v: f32[m, n]\n"                                                   \
    " u = a * c - b * t\n v = b * c + a * t\n"

/* A row is a command where columns meet it: long ones of few rows. */
TEST(tile_predict, few_rows_of_many_columns)
{
    struct tile_cycles eight = {0}, any = {0};

    predict(TURN "schedule tile m 8\n", 16, 1 << 16, &eight);
    predict(TURN, 16, 1 << 16, &any);
    test_note("%llu cycles, of eight rows %llu", (unsigned long long)any.span,
              (unsigned long long)eight.span);
    CHECK(any.span * 100 < eight.span * 95);
}

#define NORM                                                                             \
    "kernel k(x: f32[m, n], g: f32[n], b: f32[n], r: f32[m, n]) -> y: f32[m, n]\n"       \
    " u = x + r\n d = u - mean(u, n)\n y = d * rsqrt(mean(d * d, n) + 1e-5) * g + b\n"

/* Columns that are there for each row, since what is added is there once. */
TEST(tile_predict, room_for_columns)
{
    struct program p = {.arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0}};

    CHECK_OK(make(&p, NORM, 96, 1024));
    if (chip_profile() == PROFILE_a2) { /* others have more of UB */
        CHECK(strstr(tile_schedule(p.plan, true), "n2fso") != NULL);
    }
    free(p.arena.base);
}

/* What is a byte, or made of bytes, is computed in halves, two repeats of f32 in one; a cast
 * rounds by itself, and a number is told from NaN by one operand. */
TEST(tile_predict, cycles_of_64_elements)
{
    enum { N = 1 << 21, REPEATS = N / 64 };
    static const struct {
        const char *text;
        unsigned tenths;
    } of[] = {
        {"kernel k(x: f32[n], y: f32[n]) -> z: bool[n]\n z = x < y\n", 26},
        {"kernel k(c: bool[n], x: f32[n], y: f32[n]) -> z: f32[n]\n"
         " z = where(c, x, y)\n",
         32},
        {"kernel k(x: f32[n]) -> z: s8[n]\n z = quantise(x, 1, 0, s8)\n", 22},
        {"kernel k(x: f32[n]) -> z: bool[n]\n z = isnan(x)\n", 26},
    };

    if (chip_profile() != PROFILE_a2) {
        test_skip("the prices of another chip");
        return;
    }
    for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct tile_cycles said = {0};
        predict(of[i].text, 1, N, &said);
        test_note("%llu, %llu", (unsigned long long)said.v * 10 / REPEATS,
                  (unsigned long long)of[i].tenths);
        CHECK(said.v * 10 < of[i].tenths * (uint64_t)REPEATS);
    }
}

/* Three tiles, where two would each wait for loads, the Vector and stores in turn. */
TEST(tile_predict, casts_wait_for_one_pipe)
{
    struct tile_cycles said = {0};
    uint64_t most;

    predict("kernel k(x: f32[n]) -> y: f16[n]\n y = f16(x)\n", 1, 1 << 22, &said);
    most = said.mte2 > said.mte3 ? said.mte2 : said.mte3;
    test_note("%llu of %llu", (unsigned long long)most, (unsigned long long)said.span);
    CHECK(said.span * 4 < most * 5);
}
