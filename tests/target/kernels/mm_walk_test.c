/* SPDX-License-Identifier: MIT
 *
 * The order of an object's tiles: there and back, so that a line begins with the panel that the
 * one before has ended with.
 */
#include <string.h>

#include "hal/chip.h"
#include "kernels/lib/f16.h"
#include "kernels/mm/mm.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "tests/target/test.h"

enum {
    SIDE = 32,        /* of a tile */
    M = 3 * SIDE - 5, /* in 3 lines of 4 tiles, */
    N = 4 * SIDE,
    K = 64,                     /* of one chunk */
    PANEL = SIDE * K * 2,       /* bytes of a tile's panel */
    SHORT = (SIDE - 5) * K * 2, /* of the last rows' */
};

static uint16_t a[M * K], b[K * N];
static float c[M * N];
static struct mm_tiling tiling;
static struct sched_report report;

static void product(void *arg)
{
    struct mm mm;

    (void)arg;
    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K}, &tiling);
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, false, 0);
    while (mm_iterate(&mm)) {
        mm_get_c(&mm, MM_GM, (uintptr_t)c, false);
    }
    mm_end(&mm);
}

/* Whether c is right: small whole numbers, of which every order gives the same sum. */
static bool is_right(void)
{
    bool right = true;

    for (unsigned i = 0; i < M * N; i++) {
        float sum = 0;
        for (unsigned k = 0; k < K; k++) {
            sum += f16_to_f32(a[i / N * K + k]) * f16_to_f32(b[k * N + i % N]);
        }
        right &= c[i] == sum;
    }
    return right;
}

/* *bytes: what comes from GM. */
static void run_on(unsigned cores, uint64_t *bytes)
{
    struct launch_report r;

    for (unsigned i = 0; i < M * K; i++) {
        a[i] = f32_to_f16((float)(int)(i % 7) - 3);
    }
    for (unsigned i = 0; i < K * N; i++) {
        b[i] = f32_to_f16((float)(int)(i % 5) - 2);
    }
    memset(c, 0xff, sizeof(c));
    measure_start();
    CHECK_OK(launch(&(struct launch){"product", product, NULL, .cores = cores}, &report));
    measure_read(&r);
    CHECK(is_right());
    *bytes = r.chip[PIPE_MTE2].bytes_read;
}

/* A turn saves the load of a panel: of 12 tiles there are 2 of rows, 3 of columns. The last
 * rows' panel, which is short, then comes twice. */
TEST(mm_walk, line_begins_with_the_panel_of_the_one_before)
{
    uint64_t bytes;

    tiling = (struct mm_tiling){.m = SIDE, .n = SIDE, .k = K, .a_stays = true};
    run_on(1, &bytes);
    CHECK_EQ(bytes, 2 * PANEL + SHORT + (12 - 2) * PANEL);
    tiling = (struct mm_tiling){.m = SIDE, .n = SIDE, .k = K, .b_stays = true};
    run_on(1, &bytes);
    CHECK_EQ(bytes, 4 * PANEL + (12 - 3 - 2) * PANEL + 2 * SHORT);
}

/* Shares that begin and end within lines. */
TEST(mm_walk, shares_have_all_tiles_on_any_number_of_cores)
{
    uint64_t bytes;

    for (unsigned stays = 0; stays < 2; stays++) {
        tiling = (struct mm_tiling){
            .m = SIDE, .n = SIDE, .k = K, .a_stays = !stays, .b_stays = stays};
        for (unsigned cores = 1; cores <= chip_cores(); cores++) {
            run_on(cores, &bytes);
        }
    }
}

static void shape(struct mm *mm, uint32_t m, uint32_t n, uint32_t k)
{
    mm_init(mm, &(struct mm_shape){m, n, k, 1}, NULL);
    mm_set_a(mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(mm, b, TYPE_F16, MM_ND, false, 0);
}

/* Slots of which a and b have as many are recorded less often, and leave panels where they are. */
TEST(mm_walk, what_records_less_reads_no_more)
{
    static const struct mm_shape shapes[] = {{256, 1024, 512, 1}, {1024, 1024, 256, 1}};
    char why[MM_TEXT];
    struct mm mm;

    for (unsigned i = 0; i < 2; i++) {
        const struct mm_tiling *t = &mm.tiling;
        shape(&mm, shapes[i].m, shapes[i].n, shapes[i].k);
        CHECK_OK(mm_plan(&mm, 1, MM_AUTO, why));
        CHECK(t->a_stays || t->b_stays);
        CHECK(chip_profile() != PROFILE_a2 || t->a_slots == 2);
        CHECK(chip_profile() != PROFILE_a2 || t->b_slots == 2);
    }
}

/* What stays in as many slots as it has chunks is waited for where a new line begins, the less
 * the more of the other operand is there by then. */
TEST(mm_walk, lines_of_few_slots_take_longer)
{
    struct mm_tiling t = {.m = 128,
                          .n = 128,
                          .columns = 128,
                          .k = 256,
                          .slice = 128,
                          .b_slots = 4,
                          .b_stays = true};
    uint64_t cycles[2];
    char why[MM_TEXT];
    struct mm mm;

    for (unsigned i = 0; i < 2; i++) {
        shape(&mm, 1024, 1024, 1024);
        t.a_slots = (uint16_t)(2 + i);
        CHECK_OK(mm_plan_as(&mm, &t, 1, why));
        cycles[i] = mm.tiling.cycles;
    }
    CHECK(chip_profile() != PROFILE_a2 || cycles[0] > cycles[1] + cycles[1] / 64);
}
