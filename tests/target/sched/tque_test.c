/* SPDX-License-Identifier: MIT
 *
 * Queues over local memory: what goes through them, and the mistakes that end a launch by
 * name and leave the next working. Launches: tests/target/sched/launch_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "tests/target/test.h"

enum { TILE = 1024, TILES = 9 };

static float from[TILES * TILE / 4] __attribute__((aligned(32)));
static float to[TILES * TILE / 4];

static int run(const char *name, void (*kernel)(void *arg), void *arg,
               struct sched_report *report)
{
    return launch(&(struct launch){name, kernel, arg, .cores = 1}, report);
}

/* --- through a queue --- */

/* One loop that issues all three stages; the hart runs ahead of the engines. */
static void negate(void *arg)
{
    unsigned depth = *(unsigned *)arg;
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, depth, TILE);
    struct tque *out = tque_init(pipe, "out", VECOUT, PIPE_V, PIPE_MTE3, depth, TILE);
    union cmd cmd;

    vector_count(&cmd, TILE / 4);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < TILES; i++) {
        uint32_t x = tque_alloc(in), y;
        mte_gm_to_ub(&cmd, x, from + i * TILE / 4, TILE);
        tque_enque(in, x, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        x = tque_deque(in);
        y = tque_alloc(out);
        vector_unary(&cmd, OP_VNEG, TYPE_F32, y, x);
        tque_free(in, x, &cmd);
        tque_enque(out, y, &cmd);
        task_issue(PIPE_V, &cmd);
        y = tque_deque(out);
        mte_ub_to_gm(&cmd, to + i * TILE / 4, y, TILE);
        tque_free(out, y, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

TEST(tque, one_loop_pipelines_three_stages)
{
    struct sched_report report;

    for (unsigned i = 0; i < TILES * TILE / 4; i++) {
        from[i] = (float)i;
    }
    for (unsigned depth = 1; depth <= TQUE_DEPTH; depth++) {
        memset(to, 0, sizeof(to));
        CHECK_OK(run("negate", negate, &depth, &report));
        for (unsigned i = 0; i < TILES * TILE / 4; i++) {
            CHECK_EQ(to[i], -from[i]);
        }
    }
}

/* The hart fills and reads buffers itself. */
static void by_hand(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "in", VECIN, TQUE_HART, PIPE_V, 2, 32);
    struct tque *out = tque_init(pipe, "out", VECOUT, PIPE_V, TQUE_HART, 2, 32);
    union cmd cmd;

    vector_count(&cmd, 1);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < 5; i++) {
        uint32_t x = tque_alloc(in), y;
        *(volatile float *)chip_local(0, NPU_MEM_UB, x) = (float)i;
        tque_enque(in, x, NULL);
        x = tque_deque(in);
        y = tque_alloc(out);
        vector_unary(&cmd, OP_VNEG, TYPE_F32, y, x);
        tque_free(in, x, &cmd);
        tque_enque(out, y, &cmd);
        task_issue(PIPE_V, &cmd);
        y = tque_deque(out);
        CHECK_EQ(*(volatile float *)chip_local(0, NPU_MEM_UB, y), -(float)i);
        tque_free(out, y, NULL);
    }
    (void)arg;
}

TEST(tque, hart_may_be_either_end)
{
    struct sched_report report;

    CHECK_OK(run("by hand", by_hand, NULL, &report));
}

static void hands_out(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t a = tbuf_init(pipe, "a", VECCALC, 33), b = tbuf_init(pipe, "b", VECIN, 32);

    CHECK_EQ(a, 0u);
    CHECK_EQ(b, 64u); /* rounded up to blocks */
    CHECK_EQ(tpipe_free(pipe, VECOUT), chip_mem(NPU_MEM_UB) - 96);
    CHECK_EQ(tbuf_init(pipe, "c", A2, 1), 0u);
    CHECK_EQ(tbuf_init(pipe, "d", A2, 1), 512u);
    CHECK_EQ(tpipe_free(pipe, B2), chip_mem(NPU_MEM_L0B));
    (void)arg;
}

TEST(tque, memory_is_handed_out_by_position)
{
    struct sched_report report;

    CHECK_OK(run("hands out", hands_out, NULL, &report));
}

/* Not what somebody has left there. */
static void hands_out_noise(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t before = tbuf_init(pipe, "before", VECCALC, 64);
    uint32_t at = tbuf_init(pipe, "x", VECCALC, 64);
    volatile uint32_t *ub = chip_local(task_core(), NPU_MEM_UB, before);

    (void)arg;
    CHECK_EQ(at, before + 64);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 48; i++) {
            ub[i] = i;
        }
        tque_init(tpipe_open(), "y", VECIN, PIPE_MTE2, PIPE_V, 2, 64);
        CHECK_EQ(ub[0], UINT32_MAX);
        CHECK_EQ(ub[31], UINT32_MAX);
        CHECK_EQ(ub[32], 32u); /* is nobody's */
    }
}

TEST(tque, buffers_hold_nan_when_they_are_handed_out)
{
    struct sched_report report;

    CHECK_OK(run("noise", hands_out_noise, NULL, &report));
}

/* --- mistakes --- */

static void check_next_launch_works(void)
{
    struct sched_report report;

    CHECK_OK(run("next", negate, &(unsigned){2}, &report));
    CHECK_STR(report.text, "");
}

static void check_mistake(void (*kernel)(void *arg), int err, const char *text)
{
    struct sched_report report;

    CHECK_EQ(run("wrong", kernel, NULL, &report), err);
    CHECK(strstr(report.text, "task wrong, core 0, ") != NULL);
    CHECK(strstr(report.text, text) != NULL);
    CHECK(strstr(report.text, "tests/target/sched/tque_test.c:") != NULL);
    check_next_launch_works();
}

static void too_big(void *arg)
{
    struct tpipe *pipe = tpipe_open();

    (void)arg;
    tbuf_init(pipe, "table", VECCALC, 4096);
    tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, 32768);
    tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 4, 65536);
}

TEST(tque, overflow_shows_the_map)
{
    struct sched_report report;

    CHECK_EQ(run("wrong", too_big, NULL, &report), ERR_LOCAL);
    CHECK(strstr(report.text, "ub overflow: y (VECOUT) wants 4 x 65536 bytes") != NULL);
    CHECK(strstr(
        report.text,
        "        0     4096  1 x 4096     table, tests/target/sched/tque_test.c:"));
    CHECK(strstr(report.text, "     4096    65536  2 x 32768    x, "
                              "tests/target/sched/tque_test.c:"));
    CHECK(strstr(report.text, "  fits: buffers of ") != NULL);
    check_next_launch_works();
}

static void one_too_many(void *arg)
{
    struct tpipe *pipe = tpipe_open();

    (void)arg;
    tque_init(pipe, "x", CO1, PIPE_M, PIPE_FIX, 3, chip_mem(NPU_MEM_L0C) / 2);
}

TEST(tque, overflow_tells_what_fits)
{
    check_mistake(one_too_many, ERR_LOCAL, "fits: 2 buffers instead of 3");
}

static void too_deep(void *arg)
{
    (void)arg;
    tque_init(tpipe_open(), "x", VECIN, PIPE_MTE2, PIPE_V, TQUE_DEPTH + 1, 32);
}

TEST(tque, depth_is_limited)
{
    check_mistake(too_deep, ERR_QUEUE, "queue x wants 9 buffers: 1 to 8 are possible");
}

static void wrong_producer(void *arg)
{
    (void)arg;
    tque_init(tpipe_open(), "x", VECIN, PIPE_M, PIPE_V, 2, 64);
}

TEST(tque, producer_that_cannot_fill_the_position_is_named)
{
    check_mistake(wrong_producer, ERR_QUEUE,
                  "queue x: M (pipe 5) cannot fill buffers at VECIN, in ub; who can: "
                  "the hart, V, MTE1, MTE2, FIX");
}

static void wrong_consumer(void *arg)
{
    (void)arg;
    tque_init(tpipe_open(), "x", CO1, PIPE_M, PIPE_V, 2, 1024);
}

TEST(tque, consumer_that_cannot_use_the_position_is_named)
{
    check_mistake(wrong_consumer, ERR_QUEUE,
                  "queue x: V (pipe 1) cannot use buffers at CO1, in l0c; who can: FIX");
}

static void no_pipe(void *arg)
{
    (void)arg;
    tque_init(tpipe_open(), "x", A1, PIPE_MTE2, 77, 2, 64);
}

TEST(tque, consumer_that_is_no_pipe_is_named)
{
    check_mistake(no_pipe, ERR_QUEUE,
                  "queue x: ? (pipe 77) cannot use buffers at A1, in l1");
}

static struct tque *plain(void)
{
    return tque_init(tpipe_open(), "x", VECIN, PIPE_MTE2, PIPE_V, 2, 64);
}

static void freed_twice(void *arg)
{
    struct tque *q = plain();
    uint32_t x = tque_alloc(q);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, x, from, 64);
    tque_enque(q, x, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    x = tque_deque(q);
    cmd_nop(&cmd);
    tque_free(q, x, &cmd);
    task_issue(PIPE_V, &cmd);
    cmd_nop(&cmd);
    tque_free(q, x, &cmd);
}

TEST(tque, freeing_twice_is_named)
{
    check_mistake(freed_twice, ERR_QUEUE,
                  "queue x: free of 0x0, but no buffer is dequeued");
}

static void not_its_own(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    tque_enque(q, tque_alloc(q) + 64, &cmd);
}

TEST(tque, buffer_that_is_not_its_own_is_named)
{
    check_mistake(not_its_own, ERR_QUEUE,
                  "queue x: enque of 0x40, its next buffer is 0x0");
}

static void not_allocated(void *arg)
{
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    tque_enque(plain(), 0, &cmd);
}

TEST(tque, enque_without_alloc_is_named)
{
    check_mistake(not_allocated, ERR_QUEUE, "but no buffer is allocated");
}

static void frees_another(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;

    (void)arg;
    tque_deque(q);
    cmd_nop(&cmd);
    tque_free(q, tque_deque(q), &cmd);
}

TEST(tque, free_out_of_order_is_named)
{
    check_mistake(frees_another, ERR_QUEUE, "free of 0x40, its next buffer is 0x0");
}

static void five_at_once(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd_post(&cmd, 1, 1);
    cmd_post(&cmd, 2, 1);
    for (unsigned i = 0; i < 3; i++) {
        tque_enque(q, tque_alloc(q), &cmd);
    }
}

TEST(tque, command_hands_on_four_buffers_at_the_most)
{
    check_mistake(five_at_once, ERR_QUEUE, "queue x: the command already hands on four");
}

static void not_handed_on(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd_post(&cmd, 1, 1);
    cmd_post(&cmd, 2, 1);
    cmd_wait(&cmd, 5, 1);
    task_issue(PIPE_V, &cmd);
    tque_enque(q, tque_alloc(q), &cmd);
    task_post(5, 1);
    task_drain();
    task_wait(1, 1);
    task_wait(2, 1);
}

TEST(tque, post_that_nobody_has_issued_is_named)
{
    struct sched_report report;

    CHECK_EQ(run("wrong", not_handed_on, NULL, &report), ERR_LEFT);
    CHECK(strstr(report.text,
                 "no command was issued that posts semaphore 61 (x FULL), "
                 "MTE2 owes a wait for semaphore 62 (x FREE): queue x") != NULL);
    check_next_launch_works();
}

/* Two sources and a result in queues of their own: three waits and three posts, of which a
 * NOP in front of the command and one behind it pay the third. */
static void adds(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct tque *x = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, TILE);
    struct tque *y = tque_init(pipe, "y", VECIN, PIPE_MTE2, PIPE_V, 1, TILE);
    struct tque *z = tque_init(pipe, "z", VECOUT, PIPE_V, PIPE_MTE3, 2, TILE);
    uint32_t a, b, c;
    union cmd cmd;

    (void)arg;
    vector_count(&cmd, TILE / 4);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < TILES; i++) {
        a = tque_alloc(x);
        mte_gm_to_ub(&cmd, a, from + i * TILE / 4, TILE);
        tque_enque(x, a, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        b = tque_alloc(y);
        mte_gm_to_ub(&cmd, b, from + i * TILE / 4, TILE);
        tque_enque(y, b, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        a = tque_deque(x);
        b = tque_deque(y);
        c = tque_alloc(z);
        vector_add(&cmd, TYPE_F32, c, a, b);
        tque_free(x, a, &cmd);
        tque_free(y, b, &cmd);
        tque_enque(z, c, &cmd);
        task_issue(PIPE_V, &cmd);
        c = tque_deque(z);
        mte_ub_to_gm(&cmd, to + i * TILE / 4, c, TILE);
        tque_free(z, c, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

TEST(tque, third_wait_and_post_are_paid_by_nops)
{
    struct sched_report report;

    for (unsigned i = 0; i < TILES * TILE / 4; i++) {
        from[i] = (float)i;
    }
    memset(to, 0, sizeof(to));
    CHECK_OK(run("adds", adds, NULL, &report));
    for (unsigned i = 0; i < TILES * TILE / 4; i++) {
        CHECK_EQ(to[i], 2 * from[i]);
    }
}
