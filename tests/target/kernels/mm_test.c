/* SPDX-License-Identifier: MIT
 *
 * The Matmul object as a kernel uses it, the example of kernels/mm/README.md first; what it
 * refuses, before any command is issued; tiles to UB and L1.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/lib/f16.h"
#include "kernels/mm/mm.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "sched/tque.h"
#include "tests/target/test.h"

enum { M = 70, N = 90, K = 50 };

static uint16_t a[M * K], b[N * K];
static float bias[N], c[M * N];
static struct sched_report report;

/* --- the example --- */

/* c = relu(a x b' + bias) */
static void linear(void *arg)
{
    struct mm mm;

    (void)arg;
    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K}, NULL);
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, true, 0); /* lies there as (N, K) */
    mm_set_bias(&mm, bias);
    mm_set_activation(&mm, &(struct mm_activation){.relu = FIX_RELU_PLAIN});
    while (mm_iterate(&mm)) {
        mm_get_c(&mm, MM_GM, (uintptr_t)c, false);
    }
    mm_end(&mm);
}

/* Small whole numbers, so that every order gives the same sum. */
static void fill(void)
{
    for (unsigned i = 0; i < M * K; i++) {
        a[i] = f32_to_f16((float)(int)(i % 7) - 3);
    }
    for (unsigned i = 0; i < N * K; i++) {
        b[i] = f32_to_f16((float)(int)(i % 5) - 2);
    }
    for (unsigned i = 0; i < N; i++) {
        bias[i] = (float)i - 40;
    }
    memset(c, 0xff, sizeof(c));
}

/* In the hart's integers, which it is many times faster at. */
static float sum_of(unsigned row, unsigned column)
{
    int sum = 0;

    for (unsigned i = 0; i < K; i++) {
        sum += ((int)((row * K + i) % 7) - 3) * ((int)((column * K + i) % 5) - 2);
    }
    return (float)sum;
}

TEST(mm, example_of_the_page)
{
    fill();
    CHECK_OK(launch(&(struct launch){"linear", linear, NULL, .cores = 0}, &report));
    for (unsigned i = 0; i < M * N; i++) {
        float x = sum_of(i / N, i % N) + bias[i % N];
        CHECK(c[i] == (x > 0 ? x : 0));
    }
}

/* --- other places --- */

/* Tiles to UB over a queue, and from there to GM. */
static void by_ub(void *arg)
{
    struct mm mm;
    struct tque *out;
    union cmd cmd;

    (void)arg;
    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K},
            &(struct mm_tiling){.m = 32, .n = 48, .k = 32});
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, true, 0);
    out = tque_init(tpipe_open(), "out", VECOUT, PIPE_FIX, PIPE_MTE3, 2, 32 * 48 * 4);
    while (mm_iterate(&mm)) {
        const struct mm_cursor *at = mm.now;
        uint32_t ub = tque_alloc(out);
        mm_get_c(&mm, MM_UB, ub, false);
        cmd_nop(&cmd);
        tque_enque(out, ub, &cmd);
        task_issue(PIPE_FIX, &cmd);
        ub = tque_deque(out);
        mte_ub_to_gm_rows(&cmd, &c[at->m0 * N + at->n0], ub,
                          &(struct mte_rows){.n_rows = at->mt,
                                             .row_bytes = at->nt * 4,
                                             .gm_pitch_bytes = N * 4,
                                             .local_pitch_bytes = (at->nt + 7) / 8 * 32});
        tque_free(out, ub, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
    mm_end(&mm);
}

TEST(mm, tiles_go_to_ub_over_a_queue)
{
    fill();
    CHECK_OK(launch(&(struct launch){"by_ub", by_ub, NULL, .cores = 1}, &report));
    for (unsigned i = 0; i < M * N; i++) {
        CHECK(c[i] == sum_of(i / N, i % N));
    }
}

/* Twice a x b', by the Vector: pieces of 16 rows through a ring, out of it in place. */
enum { RING_FREE = MM_SEMS, RING_FULL, RING_DONE, RING_SLOTS = 3, RING_BYTES = 16 * 192 };

static void double_piece(const struct mm_piece *p)
{
    union cmd cmd;

    vector_count(&cmd, p->mt * p->pitch_bytes / 4);
    cmd_wait(&cmd, RING_FULL, 1);
    task_issue(PIPE_V, &cmd);
    vector_add(&cmd, TYPE_F32, p->ub, p->ub, p->ub);
    cmd_post(&cmd, RING_DONE, 1);
    task_issue(PIPE_V, &cmd);
    mte_ub_to_gm_rows(&cmd, &c[p->m0 * N + p->n0], p->ub,
                      &(struct mte_rows){.n_rows = p->mt,
                                         .row_bytes = p->nt * 4,
                                         .gm_pitch_bytes = N * 4,
                                         .local_pitch_bytes = p->pitch_bytes});
    cmd_wait(&cmd, RING_DONE, 1);
    cmd_post(&cmd, RING_FREE, 1);
    task_issue(PIPE_MTE3, &cmd);
}

static void by_ring(void *arg)
{
    struct mm_ring ring = {.bytes = RING_BYTES,
                           .slots = RING_SLOTS,
                           .rows = 16,
                           .pitch_bytes = *(uint32_t *)arg,
                           .free = RING_FREE,
                           .full = RING_FULL};
    struct mm_piece piece;
    struct mm mm;

    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K},
            &(struct mm_tiling){.m = 64, .n = 48, .columns = 32, .k = 32});
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, true, 0);
    ring.begin = tbuf_init(tpipe_open(), "ring", VECCALC, RING_SLOTS * RING_BYTES);
    mm_set_ring(&mm, &ring);
    task_post(RING_FREE, RING_SLOTS);
    while (mm_iterate(&mm)) {
        mm_get_c(&mm, MM_UB, 0, false);
        for (unsigned i = 0; i < mm_ring_pieces(&mm); i++) {
            mm_ring_piece(&mm, i, &piece);
            double_piece(&piece);
        }
    }
    mm_end(&mm);
    task_wait(RING_FREE, RING_SLOTS);
}

TEST_SHAPES(mm, tiles_go_through_a_ring_of_ub)
{
    for (unsigned cores = 1; cores <= chip_cores(); cores++) {
        for (uint32_t pitch = 0; pitch <= 192; pitch += 192) {
            fill();
            CHECK_OK(launch(&(struct launch){"by_ring", by_ring, &pitch, .cores = cores},
                            &report));
            for (unsigned i = 0; i < M * N; i++) {
                CHECK(c[i] == 2 * sum_of(i / N, i % N));
            }
        }
    }
}

/* One tile to L1 as F16, and from there, as it lies, to GM. */
static uint16_t blocks[6 * 80 * 16]; /* column blocks of 16, of M rounded up to 16 rows */

static void by_l1(void *arg)
{
    const uint32_t at = 256 << 10; /* above what the object uses */
    struct mm mm;
    union cmd cmd;

    (void)arg;
    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K},
            &(struct mm_tiling){.m = 80, .n = 96, .k = 64});
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, true, 0);
    mm_set_c(&mm, TYPE_F16, 0);
    while (mm_iterate(&mm)) {
        mm_get_c(&mm, MM_L1, at, false);
    }
    mm_end(&mm);
    mte_l1_to_gm(&cmd, blocks, at, sizeof(blocks));
    task_issue(PIPE_MTE3, &cmd);
}

TEST(mm, a_tile_goes_to_l1_as_fractals)
{
    fill();
    CHECK_OK(launch(&(struct launch){"by_l1", by_l1, NULL, .cores = 1}, &report));
    for (unsigned i = 0; i < M * N; i++) {
        unsigned row = i / N, column = i % N;
        CHECK_EQ(blocks[(column / 16 * 80 + row) * 16 + column % 16],
                 f32_to_f16(sum_of(row, column)));
    }
}

/* c = c + a x b', by atomic additions. */
static void added(void *arg)
{
    struct mm mm;

    (void)arg;
    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K}, NULL);
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, true, 0);
    mm_iterate_all(&mm, c, true);
    mm_end(&mm);
}

TEST(mm, adds_to_what_is_there)
{
    fill();
    for (unsigned i = 0; i < M * N; i++) {
        c[i] = (float)i;
    }
    CHECK_OK(launch(&(struct launch){"added", added, NULL, .cores = 0}, &report));
    for (unsigned i = 0; i < M * N; i++) {
        CHECK(c[i] == sum_of(i / N, i % N) + (float)i);
    }
}

/* --- what is refused --- */

static struct mm asked(const struct mm_tiling *tiling)
{
    struct mm mm;

    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K}, tiling);
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, true, 0);
    return mm;
}

static void refused(struct mm mm, int err, const char *text)
{
    char why[MM_TEXT];

    CHECK_EQ(mm_check(&mm, why), err);
    CHECK_STR(why, text);
}

TEST(mm, refuses_what_is_no_product)
{
    struct mm mm = asked(NULL);

    mm.shape.k = 0;
    refused(mm, ERR_ARG, "a product of 70 x 90 x 0");
    mm = asked(NULL);
    mm_set_b(&mm, b, TYPE_BF16, MM_ND, true, 0);
    refused(mm, ERR_TYPE, "F16 x BF16 to F32: no such product");
    mm = asked(NULL);
    mm_set_c(&mm, TYPE_S8, 0);
    refused(mm, ERR_TYPE, "F16 x F16 to S8: no such product");
    mm = asked(NULL);
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, K - 1);
    refused(mm, ERR_ARG, "a: its pitch is less than a row");
    mm = asked(NULL);
    mm_set_a(&mm, NULL, TYPE_F16, MM_ND, false, 0);
    refused(mm, ERR_ARG, "a: it was not set");
    mm = asked(NULL);
    mm_set_a(&mm, a, TYPE_S4, MM_ND, false, K + 1);
    mm_set_b(&mm, b, TYPE_S4, MM_ND, true, 0);
    mm_set_c(&mm, TYPE_S32, 0);
    if (chip_has_type(PIPE_M, TYPE_S4)) {
        refused(mm, ERR_ARG, "a: rows of S4 begin at whole bytes, its pitch is odd");
    } else {
        refused(mm, ERR_TYPE, "this chip's Cube has no S4");
    }
    mm = asked(NULL);
    mm_set_c(&mm, TYPE_F32, N - 1);
    refused(mm, ERR_ARG, "c: its pitch is less than a row");
}

TEST(mm, refuses_what_the_fixpipe_cannot)
{
    struct mm mm = asked(NULL);

    mm_set_activation(&mm, &(struct mm_activation){.relu = FIX_RELU_CHANNEL});
    refused(mm, ERR_ARG, "slopes of columns: they were not set");
    mm_set_slopes(&mm, bias);
    mm_set_activation(&mm, &(struct mm_activation){.relu = FIX_RELU_PLAIN});
    refused(mm, ERR_ARG, "slopes of columns: the activation is another");
    mm_init(&mm, &(struct mm_shape){.m = M, .n = N, .k = K}, NULL);
    mm_set_a(&mm, a, TYPE_S8, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_S8, MM_ND, true, 0);
    mm_set_activation(&mm, &(struct mm_activation){.relu = FIX_RELU_LEAKY});
    refused(mm, ERR_ARG, "S32 as it is takes a plain relu alone");
    mm_set_hf32(&mm, false);
    mm_set_activation(&mm, &(struct mm_activation){.relu = FIX_RELU_NONE});
    refused(mm, ERR_TYPE, "HF32 is a way to multiply F32, not S8");
}

TEST(mm, refuses_tilings_that_no_memory_holds)
{
    refused(asked(&(struct mm_tiling){.m = 20, .n = 32, .k = 32}), ERR_ARG,
            "tiling 20 x 32 by 32: wants multiples of 16, 16, 16");
    refused(asked(&(struct mm_tiling){.m = 2048, .n = 32, .k = 32}), ERR_LOCAL,
            "tiling 2048 x 32 by 32: L0A is too small; the smallest is 16 x 16 by 16");
    refused(asked(&(struct mm_tiling){.m = 512, .n = 512, .k = 32, .slice = 16}),
            ERR_LOCAL,
            "tiling 512 x 512 by 32: L0C is too small; the smallest is 16 x 16 by 16");
    refused(asked(&(struct mm_tiling){
                .m = 128, .n = 128, .k = 64, .a_slots = 64, .b_slots = 64}),
            ERR_LOCAL,
            "tiling 128 x 128 by 64: L1 is too small; the smallest is 16 x 16 by 16");
    refused(asked(&(struct mm_tiling){
                .m = 16, .n = 16, .k = 16, .a_stays = true, .b_stays = true}),
            ERR_ARG, "tiling: a and b cannot both stay");
}

TEST(mm, refuses_parts_of_k_that_cannot_be_added)
{
    struct mm_tiling tiling = {.m = 16, .n = 16, .k = 16, .parts = MM_PARTS};
    struct mm mm = asked(&tiling);

    refused(mm, ERR_ARG, "tiling: 24 parts of k, 4 at most");
    tiling.parts = 2;
    mm = asked(&tiling);
    mm_set_c(&mm, TYPE_F16, 0);
    refused(mm, ERR_ARG, "tiling: parts of k want sums as they are");
    mm_set_c(&mm, TYPE_F32, N + 1);
    mm.any_order = true;
    refused(mm, ERR_ARG, "tiling: parts in any order want one c without gaps");
}

TEST(mm, refuses_rings_that_do_not_hold_a_piece)
{
    struct mm mm = asked(&(struct mm_tiling){.m = 64, .n = 48, .k = 32});

    mm_set_ring(&mm, &(struct mm_ring){.bytes = 100, .slots = 2});
    refused(mm, ERR_ARG, "ring: wants multiples of 32 bytes");
    mm_set_ring(&mm, &(struct mm_ring){.bytes = 4096, .slots = 2, .pitch_bytes = 96});
    refused(mm, ERR_ARG, "ring: its pitch is less than a row");
    mm_set_ring(&mm, &(struct mm_ring){.bytes = 4096, .slots = 2});
    refused(mm, ERR_LOCAL, "ring: 2 slots of 4096 bytes, of 12288 that it wants");
    mm_set_ring(&mm, &(struct mm_ring){.bytes = 4096, .slots = 200, .rows = 16});
    refused(mm, ERR_LOCAL, "ring: 200 slots of 4096 bytes, of 3072 that it wants");
    mm_set_ring(&mm, &(struct mm_ring){.bytes = 4096, .slots = 2, .rows = 1});
    refused(mm, ERR_ARG, "ring: 64 commands for a tile, 32 at most");
}

TEST(mm, refuses_strategies_that_cannot)
{
    struct mm mm = asked(NULL);
    char why[MM_TEXT];

    CHECK_EQ(mm_plan(&mm, 1, MM_GEMV, why), ERR_ARG);
    CHECK_STR(why,
              "strategy gemv wants m = 1, no bias, no scales of columns, and no Vector "
              "behind it");
    CHECK_EQ(mm_plan(&mm, 1, MM_BATCH, why), ERR_ARG);
    CHECK_STR(why, "strategy batch wants a batch");
    mm.shape.m = mm.shape.n = 4096;
    CHECK_EQ(mm_plan(&mm, 1, MM_SMALL, why), ERR_ARG);
    CHECK_STR(why, "strategy small: no tiling of 4096 x 4096 x 50 fits");
}

/* --- launches that repeat --- */

static struct mm whole;

static void run_whole(void *arg)
{
    (void)arg;
    mm_run(&whole, c);
}

/* A launch of it, and its instructions. */
static void launch_whole(uint64_t *awake)
{
    struct launch_report r;

    measure_start();
    CHECK_OK(launch(&(struct launch){"whole", run_whole, NULL, .cores = 1}, &report));
    measure_read(&r);
    for (unsigned i = 0; i < M * N; i++) {
        CHECK(c[i] == sum_of(i / N, i % N));
    }
    *awake = r.awake;
}

/* Who runs it once pays for no script, who runs it again for one, in that launch. */
TEST(mm, share_that_repeats_is_kept)
{
    struct mm_tiling tiling = {.m = 32, .n = 48, .k = 32};
    uint64_t first, second, third;
    char why[MM_TEXT];

    for (unsigned repeats = 0; repeats < 2; repeats++) {
        whole = asked(&tiling);
        whole.repeats = repeats;
        whole.l1_begin = repeats * 1024; /* or it would be the same */
        CHECK_OK(mm_check(&whole, why));
        fill();
        launch_whole(&first);
        launch_whole(&second);
        launch_whole(&third);
        CHECK(third < first / 2);
        CHECK((second < first / 2) == (repeats == 1));
        CHECK(repeats == 1 || second > third + 1000);
        for (unsigned i = 0; i < 5; i++) { /* three of another one between */
            whole.l1_begin += i == 0 ? 4096 : i == 3 ? -4096u : 0;
            CHECK_OK(mm_check(&whole, why));
            launch_whole(&third);
        }
        CHECK(third < first / 2);
    }
}

/* In a task the same ends the run before any command. */
static void bad(void *arg)
{
    struct mm mm = asked(&(struct mm_tiling){.m = 2048, .n = 32, .k = 32});

    (void)arg;
    mm_iterate(&mm);
}

static void twice(void *arg)
{
    struct mm mm = asked(&(struct mm_tiling){.m = 16, .n = 16, .k = 16});

    (void)arg;
    mm_iterate(&mm);
    mm_iterate(&mm);
}

static void two(void *arg)
{
    struct mm one = asked(&(struct mm_tiling){.m = 16, .n = 16, .k = 16}), other = one;

    (void)arg;
    other.sem = MM_SEMS;
    mm_iterate(&one);
    mm_iterate(&other);
}

TEST(mm, mistakes_of_a_task_end_the_run)
{
    CHECK_EQ(launch(&(struct launch){"bad", bad, NULL, .cores = 1}, &report), ERR_LOCAL);
    CHECK(strstr(report.text, "L0A is too small") != NULL);
    CHECK_EQ(launch(&(struct launch){"twice", twice, NULL, .cores = 1}, &report),
             ERR_ARG);
    CHECK(strstr(report.text, "the tile before has not been got") != NULL);
    CHECK_EQ(launch(&(struct launch){"two", two, NULL, .cores = 1}, &report), ERR_BUSY);
    CHECK(strstr(report.text, "a second object at one time") != NULL);
}

/* Parts of k are the shape's; more cores than they gain from have no share, here of a2. */
TEST(mm, cores_that_gain_nothing_have_no_share)
{
    static const struct {
        uint32_t m, n, k;
        unsigned cores, shares;
    } rows[] = {{1760, 128, 1760, 24, 0},
                {1760, 128, 1760, 32, 24},
                {500, 500, 1024, 24, 0},
                {500, 500, 1024, 32, 24},
                {2048, 2048, 2048, 32, 0}};
    uint32_t parts = 0;
    char why[MM_TEXT];
    struct mm mm;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mm_init(&mm, &(struct mm_shape){rows[i].m, rows[i].n, rows[i].k, 1}, NULL);
        mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
        mm_set_b(&mm, b, TYPE_F16, MM_ND, false, 0);
        mm.adds = true;
        CHECK_OK(mm_plan(&mm, rows[i].cores, MM_AUTO, why));
        CHECK(chip_profile() != PROFILE_a2 || mm.tiling.shares == rows[i].shares);
        CHECK(i % 2 == 0 || mm.tiling.parts == parts);
        parts = mm.tiling.parts;
    }
}
