/* SPDX-License-Identifier: MIT
 *
 * The Matmul object as one part of a kernel: two of them on a core, each with half of L0, of
 * which one may have the other's tiles as its a; one beside a queue that loads, too.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/lib/f16.h"
#include "kernels/mm/mm.h"
#include "kernels/mm/walk.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "tests/target/nop.h"
#include "tests/target/test.h"

enum { M = 70, K = 50, N = 90, P = 100 };
enum { PANEL = 32, L1_SECOND = 256 << 10 };

static uint16_t a[M * K], b[K * N], e[N * P];
static float c[M * N], d[M * P], added[M * N];
static struct sched_report report;

/* Small whole numbers, so that halves hold sums. */
static void fill_halves(uint16_t *to, unsigned n, unsigned modulus)
{
    for (unsigned i = 0; i < n; i++) {
        to[i] = f32_to_f16((float)(int)(i % modulus) - 2);
    }
}

static void fill(void)
{
    fill_halves(a, M * K, 5);
    fill_halves(b, K * N, 7);
    fill_halves(e, N * P, 3);
    memset(d, 0xff, sizeof(d));
}

static float product(const uint16_t *x, const uint16_t *y, unsigned row, unsigned column,
                     unsigned k, unsigned n)
{
    float sum = 0;

    for (unsigned i = 0; i < k; i++) {
        sum += f16_to_f32(x[row * k + i]) * f16_to_f32(y[i * n + column]);
    }
    return sum;
}

/* --- one hands its tiles to the other --- */

/* Rows [m0, m0 + m) of d = f16(a x b) x e, a panel of rows after the other. */
static void two_layers(unsigned m0, unsigned m)
{
    struct mm first, second;
    struct mm_cursor panel = {0};
    char why[MM_TEXT];

    mm_init(&first, &(struct mm_shape){m, N, K, 1},
            &(struct mm_tiling){.m = PANEL, .n = 48, .k = 32});
    mm_set_a(&first, &a[m0 * K], TYPE_F16, MM_ND, false, 0);
    mm_set_b(&first, b, TYPE_F16, MM_ND, false, 0);
    mm_set_c(&first, TYPE_F16, 0);
    mm_set_half(&first, MM_FIRST_HALF, 1, 0, L1_SECOND);
    mm_init(
        &second, &(struct mm_shape){m, P, N, 1},
        &(struct mm_tiling){.m = PANEL, .n = 64, .k = 96, .a_slots = 2, .a_stays = true});
    mm_set_a(&second, NULL, TYPE_F16, MM_NZ, false, 0);
    mm_give(&second, false, 1);
    mm_set_b(&second, e, TYPE_F16, MM_ND, false, 0);
    mm_set_half(&second, MM_SECOND_HALF, 1 + MM_SEMS, L1_SECOND, 0);
    first.shares = second.shares = 1; /* other blocks have other rows */
    if (mm_check(&first, why) != 0 || mm_check(&second, why) != 0) {
        task_fail(ERR_ARG, SCHED_HERE, "%s", why);
    }
    for (; mm_iterate(&first); panel.a++) {
        struct mm_given slot = mm_given_slot(&second, &panel);
        unsigned columns = second.cols;
        uint32_t rows = (first.now->mt + 15) / 16 * 16;
        issue_nop(PIPE_FIX, slot.free, 0);
        for (unsigned i = 0; i < first.cols; i++) {
            if (i > 0) {
                (void)!mm_iterate(&first);
            }
            mm_get_c(&first, MM_L1, slot.l1 + first.now->n0 / 16 * rows * MTE_BLOCK,
                     false);
        }
        issue_nop(PIPE_FIX, 0, slot.full);
        while (columns-- && mm_iterate(&second)) {
            mm_get_c(&second, MM_GM, (uintptr_t)&d[m0 * P], false);
        }
    }
    mm_end(&first);
    mm_end(&second);
}

static void layers(void *arg)
{
    unsigned begin = M * task_block() / task_blocks();

    (void)arg;
    two_layers(begin, M * (task_block() + 1) / task_blocks() - begin);
}

TEST(mm_pair, one_hands_its_tiles_to_the_other_through_l1)
{
    static uint16_t middle[M * N];
    static float want[M * P];

    fill();
    for (unsigned i = 0; i < M * N; i++) {
        middle[i] = f32_to_f16(product(a, b, i / N, i % N, K, N));
    }
    for (unsigned i = 0; i < M * P; i++) {
        want[i] = product(middle, e, i / P, i % P, N, P);
    }
    for (unsigned cores = 1; cores <= chip_cores() && cores <= 4; cores++) {
        fill();
        CHECK_OK(
            launch(&(struct launch){"layers", layers, NULL, .cores = cores}, &report));
        for (unsigned i = 0; i < M * P; i++) {
            CHECK(d[i] == want[i]);
        }
    }
}

/* --- two that know nothing of each other --- */

static int8_t x[M * K], y[K * N];
static int32_t bias[N];
static int8_t results[2][2][M * N]; /* by turns, alone; of each object */
static uint64_t words[2][N];

static void set_scaled(struct mm *mm, unsigned number)
{
    mm_init(mm, &(struct mm_shape){M, N, K, 1}, NULL);
    mm_set_a(mm, x, TYPE_S8, MM_ND, false, 0);
    mm_set_b(mm, y, TYPE_S8, MM_ND, false, 0);
    mm_set_c(mm, TYPE_S8, 0);
    mm_set_bias(mm, bias);
    if (number == 0) {
        mm_set_scale(mm, 0, words[0]);
    } else {
        mm_set_scale(mm, fixpipe_word(0.03f, 2, true), NULL);
        mm_set_activation(mm,
                          &(struct mm_activation){FIX_RELU_LEAKY, true, 0.25f, 40.0f});
    }
}

static void by_turns(void *arg)
{
    struct mm one, two;
    bool more = true;

    (void)arg;
    set_scaled(&one, 0);
    set_scaled(&two, 1);
    mm_set_half(&one, MM_FIRST_HALF, 0, 0, L1_SECOND);
    mm_set_half(&two, MM_SECOND_HALF, MM_SEMS, L1_SECOND, 0);
    while (more) {
        more = mm_iterate(&one);
        if (more) {
            mm_get_c(&one, MM_GM, (uintptr_t)results[0][0], false);
        }
        if (mm_iterate(&two)) {
            mm_get_c(&two, MM_GM, (uintptr_t)results[0][1], false);
            more = true;
        }
    }
    mm_end(&one);
    mm_end(&two);
}

static void alone(void *arg)
{
    struct mm mm;

    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        set_scaled(&mm, i);
        mm_iterate_all(&mm, results[1][i], false);
        mm_end(&mm);
    }
}

TEST(mm_pair, two_by_turns_are_as_each_alone)
{
    for (unsigned i = 0; i < M * K; i++) {
        x[i] = (int8_t)(i * 37 % 256);
    }
    for (unsigned i = 0; i < K * N; i++) {
        y[i] = (int8_t)(i * 91 % 256);
    }
    for (unsigned i = 0; i < N; i++) {
        bias[i] = (int32_t)i * 100 - 3000;
        words[0][i] = fixpipe_word(0.0005f * (float)(1 + i % 5), (int)(i % 9) - 4, true);
    }
    memset(results, 0x55, sizeof(results));
    CHECK_OK(launch(&(struct launch){"by turns", by_turns, NULL, .cores = 0}, &report));
    CHECK_OK(launch(&(struct launch){"alone", alone, NULL, .cores = 0}, &report));
    CHECK_EQ(memcmp(results[0], results[1], sizeof(results[0])), 0);
    CHECK(memcmp(results[0][0], results[0][1], sizeof(results[0][0])) != 0);
}

/* --- beside a queue of the kernel --- */

/* c = a x b + added: what is added comes over a queue of its own, by the pipe that loads. */
static void beside(void *arg)
{
    struct mm mm;
    struct tpipe *pipe = tpipe_open();
    struct tque *in, *sums, *out;
    union cmd cmd;

    (void)arg;
    mm_init(&mm, &(struct mm_shape){M, N, K, 1},
            &(struct mm_tiling){.m = 32, .n = 48, .k = 32});
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, false, 0);
    mm.in_order = true;
    mm.sem = 32; /* the queues have lower ones */
    in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, 2, 32 * 48 * 4);
    sums = tque_init(pipe, "sums", VECIN, PIPE_FIX, PIPE_V, 2, 32 * 48 * 4);
    out = tque_init(pipe, "out", VECOUT, PIPE_V, PIPE_MTE3, 2, 32 * 48 * 4);
    while (mm_iterate(&mm)) {
        const struct mm_cursor *at = mm.now;
        uint32_t row = (at->nt + 7) / 8 * 32, term = tque_alloc(in), sum, to;
        struct mte_rows rows = {.n_rows = at->mt,
                                .row_bytes = at->nt * 4,
                                .gm_pitch_bytes = N * 4,
                                .local_pitch_bytes = row};
        mte_gm_to_ub_rows(&cmd, term, &added[at->m0 * N + at->n0], &rows);
        tque_enque(in, term, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        sum = tque_alloc(sums);
        mm_get_c(&mm, MM_UB, sum, false);
        cmd_nop(&cmd);
        tque_enque(sums, sum, &cmd);
        task_issue(PIPE_FIX, &cmd);
        term = tque_deque(in);
        sum = tque_deque(sums);
        to = tque_alloc(out);
        vector_count(&cmd, at->mt * row / 4);
        task_issue(PIPE_V, &cmd);
        vector_add(&cmd, TYPE_F32, to, sum, term);
        tque_free(in, term, &cmd);
        tque_enque(out, to, &cmd);
        task_issue(PIPE_V, &cmd);
        cmd_nop(&cmd);
        tque_free(sums, sum, &cmd);
        task_issue(PIPE_V, &cmd);
        to = tque_deque(out);
        mte_ub_to_gm_rows(&cmd, &c[at->m0 * N + at->n0], to, &rows);
        tque_free(out, to, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
    mm_end(&mm);
}

TEST(mm_pair, beside_a_queue_that_loads_too)
{
    fill();
    for (unsigned i = 0; i < M * N; i++) {
        added[i] = (float)(int)(i % 1000) - 300;
    }
    CHECK_OK(launch(&(struct launch){"beside", beside, NULL, .cores = 0}, &report));
    for (unsigned i = 0; i < M * N; i++) {
        CHECK(c[i] == product(a, b, i / N, i % N, K, N) + added[i]);
    }
}

/* --- what is refused --- */

/* arg: the second one's half, first semaphore, first byte of L1. */
static void collide(void *arg)
{
    const uint32_t *with = arg;
    struct mm one, two;

    mm_init(&one, &(struct mm_shape){M, N, K, 1},
            &(struct mm_tiling){.m = 16, .n = 16, .k = 16});
    mm_set_a(&one, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&one, b, TYPE_F16, MM_ND, false, 0);
    two = one;
    mm_set_half(&one, MM_FIRST_HALF, 0, 0, L1_SECOND);
    mm_set_half(&two, (enum mm_half)with[0], with[1], with[2], 0);
    mm_iterate(&one);
    mm_iterate(&two);
}

static void collides(uint32_t half, uint32_t sem, uint32_t l1, const char *text)
{
    uint32_t with[] = {half, sem, l1};

    CHECK_EQ(launch(&(struct launch){"collide", collide, with, .cores = 1}, &report),
             ERR_BUSY);
    CHECK(strstr(report.text, text) != NULL);
}

TEST(mm_pair, refuses_what_two_have_in_common)
{
    collides(MM_WHOLE, MM_SEMS, L1_SECOND, "L0A, L0B and L0C belong to the one");
    collides(MM_FIRST_HALF, MM_SEMS, L1_SECOND, "L0A, L0B and L0C belong to the one");
    collides(MM_SECOND_HALF, MM_SEMS - 1, L1_SECOND, "semaphores belong to the one");
    collides(MM_SECOND_HALF, MM_SEMS, 512, "that part of L1 belongs to the one");
}

TEST(mm_pair, a_half_holds_less)
{
    struct mm_tiling tiling = {.m = 256, .n = 128, .columns = 128, .k = 64, .slice = 64};
    char why[MM_TEXT];
    struct mm mm;

    mm_init(&mm, &(struct mm_shape){M, N, K, 1}, &tiling);
    mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
    mm_set_b(&mm, b, TYPE_F16, MM_ND, false, 0);
    mm_set_half(&mm, MM_SECOND_HALF, 0, 0, 0);
    CHECK_EQ(mm_check(&mm, why), ERR_LOCAL);
    CHECK(strstr(why, "L0A is too small") != NULL);
    mm.tiling.m = 64;
    mm.tiling.parts = 2;
    CHECK_EQ(mm_check(&mm, why), ERR_ARG);
    CHECK_STR(why, "tiling: parts of k want all of L0");
    mm.tiling.parts = 0;
    CHECK_OK(mm_check(&mm, why));
    mm_set_half(&mm, MM_SECOND_HALF, 0, 1024, 2048);
    mm.tiled = false;
    CHECK_EQ(mm_plan(&mm, 1, MM_AUTO, why), ERR_LOCAL);
    CHECK_STR(why,
              "strategy auto: no tiling of 70 x 90 x 50 fits in 2048 bytes of L1; the "
              "smallest, 16 x 16 by 16, takes 2048");
}
