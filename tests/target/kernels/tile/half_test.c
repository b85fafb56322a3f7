/* SPDX-License-Identifier: MIT
 *
 * What is computed in F16 because nobody can tell.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/lib/f16.h"
#include "kernels/tile/text.h"
#include "kernels/tile/tile.h"
#include "tests/target/test.h"

enum { ARENA_BYTES = 2 << 20 };

static struct sched_report report;

/* Each F16 and another, the sum, the product and so on rounded to F32 before. */
TEST(tile_half, one_command_rounds_as_two)
{
    static const char *const signs[] = {"x + y", "x - y", "x * y", "max(x, y)"};
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
