/* SPDX-License-Identifier: MIT
 *
 * What is computed in F16 because nobody can tell.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/lib/f16.h"
#include "kernels/tile/ref/ref.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "tests/target/test.h"

enum { ARENA_BYTES = 2 << 20 };

static struct sched_report report;

/* Each F16 and another, the sum, the product and so on rounded to F32 before. */
TEST(tile_half, one_command_rounds_as_two)
{
    static const char *const signs[] = {"x + y",
                                        "x - y",
                                        "x * y",
                                        "max(x, y)",
                                        "relu(x + y)",
                                        "-abs(x - y)",
                                        "min(x * y, 0.5)",
                                        "max(-x, relu(y))",
                                        "relu(x * y)",
                                        "max(x * y, 0)",
                                        "min(-x * y, abs(y))",
                                        "max(-relu(x), x * y)"};
    enum { ALL = 1 << 16 };
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    uint16_t *x = malloc(2 * ALL * sizeof(*x)), *y = x + ALL, *z = malloc(ALL * 2);
    float *u = malloc(ALL * sizeof(*u));

    CHECK(arena.base != NULL && x != NULL && z != NULL && u != NULL);
    for (uint32_t i = 0; i < ALL; i++) {
        x[i] = (uint16_t)i;
        y[i] = (uint16_t)(i * 40503u >> 3);
    }
    for (unsigned s = 0; s < sizeof(signs) / sizeof(signs[0]); s++) {
        struct tile_error error;
        struct tile_kernel *k;
        struct tile_plan *plan;
        char text[160];
        unsigned wrong = 0;
        snprintf(text, sizeof(text),
                 "kernel k(x: f16[n], y: f16[n]) -> z: f16[n], u: f32[n]\n"
                 " z = f16(%s)\n u = %s\n",
                 signs[s], signs[s]);
        arena.used = 0;
        k = tile_parse(&arena, text, strlen(text), NULL, &error);
        CHECK_OK(tile_set_size(k, 0, ALL));
        CHECK_OK(tile_plan(&plan, k, 0, &arena, &error));
        CHECK_OK(tile_run(plan, &(struct tile_call){{x, y}, {z, u}}, &report));
        for (uint32_t i = 0; i < ALL; i++) {
            uint16_t want = f32_to_f16(u[i]);
            wrong += want != z[i] && !(isnan(u[i]) && (z[i] & 0x7fff) > 0x7c00);
        }
        CHECK_EQ(wrong, 0u);
    }
    free(arena.base);
    free(x);
    free(z);
    free(u);
}

/* A unit in the last place of F16. */
static double ulp(double x)
{
    int exponent;

    (void)frexp(x, &exponent);
    return ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
}

/* How far results are from double precision at most. */
static double farthest(const struct tile_kernel *k, const struct tile_call *call,
                       struct tile_arena *arena, uint64_t count)
{
    struct tile_ref *ref = tile_ref_begin(k, call->in, arena);
    double most = 0;

    for (uint64_t i = 0; ref && i < count; i++) {
        double want = tile_ref_at(ref, 0, i).value;
        double got = data_value(data_bits(call->out[0], TYPE_F16, i), TYPE_F16);
        most = fmax(most, fabs(got - want) / ulp(want));
    }
    return ref ? most : INFINITY;
}

TEST(tile_half, norms_and_activations_within_two_units)
{
    enum { M = 9, N = 300 };
    static const char *const bodies[] = {
        " e = exp(x - max(x, n))\n y = f16(e * rec(sum(e, n)))\n",
        " y = f16(x - max(x, n) - log(sum(exp(x - max(x, n)), n)))\n",
        " y = f16((x - mean(x, n)) * rsqrt(var(x, n) + 1e-5) * g + g)\n",
        " y = f16(x * rsqrt(mean(x * x, n) + 1e-6) * g)\n",
        " y = f16(gelu(x * 4) + g - g)\n",
        " y = f16(gelu_tanh(x * 4) + g - g)\n",
        " y = f16(silu(x * 8) + g - g)\n",
    };
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};
    struct tile_call call = {
        {data_make("test", TYPE_F16, M * N, 1), data_make("test", TYPE_F16, N, 2)},
        {data_alloc("test", TYPE_F16, M * N)}};

    for (unsigned b = 0; b < sizeof(bodies) / sizeof(bodies[0]); b++) {
        struct tile_error error;
        struct tile_kernel *k;
        struct tile_plan *plan;
        char text[256];
        snprintf(text, sizeof(text),
                 "kernel k(x: f16[m, n], g: f16[n]) -> y: f16[m, n]\n%s", bodies[b]);
        arena.used = 0;
        k = tile_parse(&arena, text, strlen(text), NULL, &error);
        CHECK(k != NULL);
        CHECK_OK(tile_set_size(k, tile_find_dim(k, "m"), M));
        CHECK_OK(tile_set_size(k, tile_find_dim(k, "n"), N));
        CHECK_OK(tile_plan(&plan, k, 0, &arena, &error));
        CHECK_OK(tile_run(plan, &call, &report));
        CHECK(farthest(k, &call, &arena, M * N) <= 2);
    }
    free(arena.base);
    free((void *)(uintptr_t)call.in[0]);
    free((void *)(uintptr_t)call.in[1]);
    free(call.out[0]);
}

/* Ones and zeros, up to 2048 of which have an exact sum in whatever order, so that sums and
 * extremes of rows are what they are, however many rows a tile has and wherever it ends. */
static void reduce_exactly(struct tile_arena *arena, uint32_t m, uint32_t n)
{
    static const char text[] = "kernel k(x: f16[m, n]) -> s: f16[m], t: f16[m]\n"
                               " s = sum(x, n)\n t = max(x * 0.5, n)\n"
                               "schedule arith f16\n";
    uint16_t *x = malloc(m * n * sizeof(*x)), *s = malloc(m * sizeof(*s)),
             *t = malloc(m * sizeof(*t));
    struct tile_error error;
    struct tile_plan *plan;
    struct tile_kernel *k;
    unsigned wrong = 0;

    for (uint32_t i = 0; i < m * n; i++) { /* in every fourth row one alone, at its end */
        bool one = i / n % 4 ? (i * 2654435761u >> 16) % 2 : i % n == n - 1 - i / n % n;
        x[i] = f32_to_f16(one);
    }
    arena->used = 0;
    k = tile_parse(arena, text, strlen(text), NULL, &error);
    CHECK_OK(tile_set_size(k, tile_find_dim(k, "m"), m));
    CHECK_OK(tile_set_size(k, tile_find_dim(k, "n"), n));
    CHECK_OK(tile_plan(&plan, k, 0, arena, &error));
    CHECK_OK(tile_run(plan, &(struct tile_call){{x}, {s, t}}, &report));
    for (uint32_t row = 0; row < m; row++) {
        uint32_t ones = 0;
        for (uint32_t i = 0; i < n; i++) {
            ones += x[row * n + i] != 0;
        }
        wrong += s[row] != f32_to_f16((float)ones);
        wrong += t[row] != f32_to_f16(ones ? 0.5f : 0);
    }
    CHECK_EQ(wrong, 0u);
    free(x);
    free(s);
    free(t);
}

TEST(tile_half, sums_and_extremes_of_rows_are_exact)
{
    struct tile_arena arena = {malloc(ARENA_BYTES), ARENA_BYTES, 0};

    reduce_exactly(&arena, 8, 1024);
    reduce_exactly(&arena, 27, 1040);
    reduce_exactly(&arena, 40, 80);
    reduce_exactly(&arena, 33, 2064);
    reduce_exactly(&arena, 3, 2064);
    reduce_exactly(&arena, 1, 1100);
    free(arena.base);
}
