/* SPDX-License-Identifier: MIT
 *
 * Launches over blocks: how they are dealt out and meet, what a block must give back, and
 * what ends a launch by name and leaves the next working. Queues: tests/target/sched/tque_test.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "tests/target/test.h"

static float from[16] __attribute__((aligned(32)));

static int run(const char *name, void (*kernel)(void *arg), void *arg,
               struct sched_report *report)
{
    return launch(&(struct launch){name, kernel, arg, .cores = 1}, report);
}

/* --- blocks and cores --- */

static uint8_t block_core[16];

static void note_core(void *arg)
{
    CHECK_EQ(task_blocks(), *(unsigned *)arg);
    block_core[task_block()] = (uint8_t)(task_core() + 1);
    task_sleep_until(chip_cycle() + 2000);
}

TEST(launch, blocks_are_dealt_out_to_the_cores)
{
    unsigned blocks = 16, cores = chip_cores() < 16 ? chip_cores() : 16, used[17] = {0};
    struct sched_report report;

    memset(block_core, 0, sizeof(block_core));
    CHECK_OK(launch(&(struct launch){"blocks", note_core, &blocks, .blocks = blocks},
                    &report));
    for (unsigned i = 0; i < blocks; i++) {
        CHECK(block_core[i] != 0 && block_core[i] <= cores);
        used[block_core[i]]++;
    }
    for (unsigned c = 1; c <= cores; c++) {
        CHECK(used[c] >= 16 / cores / 2);
    }
}

TEST(launch, more_cores_than_there_are_is_an_error)
{
    unsigned blocks = 1;
    struct sched_report report;
    struct launch l = {"greedy", note_core, &blocks, .cores = chip_cores() + 1};

    CHECK_EQ(launch(&l, &report), ERR_CORES);
    CHECK(strstr(report.text, "greedy: more cores wanted than the chip has: ") != NULL);
}

static uint8_t came[NPU_MAX_CORES];

static void meet(void *arg)
{
    (void)arg;
    for (uint8_t round = 1; round <= 3; round++) {
        if (task_block() % 2) {
            task_sleep_until(chip_cycle() + 500 * round);
        }
        came[task_block()] = round;
        task_barrier();
        for (unsigned i = 0; i < task_blocks(); i++) {
            CHECK(came[i] >= round);
        }
    }
}

TEST(launch, blocks_meet_at_a_barrier)
{
    struct sched_report report;

    memset(came, 0, sizeof(came));
    CHECK_OK(launch(&(struct launch){.name = "meet", .kernel = meet}, &report));
}

static float shared[NPU_MAX_CORES][8];

/* Each block writes a row of GM and reads its neighbour's, with the engines meeting. */
static void exchange(void *arg)
{
    unsigned me = task_block(), next = (me + 1) % task_blocks();
    union cmd cmd;

    (void)arg;
    *(volatile float *)chip_local(task_core(), NPU_MEM_UB, 0) = (float)(me + 1);
    mte_ub_to_gm(&cmd, shared[me], 0, 32);
    cmd_post(&cmd, LAUNCH_ARRIVE, 1);
    task_issue(PIPE_MTE3, &cmd);
    mte_gm_to_ub(&cmd, 64, shared[next], 32);
    cmd_wait(&cmd, LAUNCH_GO, 1);
    task_issue(PIPE_MTE2, &cmd);
    task_drain();
    CHECK_EQ(*(volatile float *)chip_local(task_core(), NPU_MEM_UB, 64),
             (float)(next + 1));
}

TEST(launch, engines_meet_without_the_hart)
{
    struct sched_report report;

    memset(shared, 0, sizeof(shared));
    CHECK_OK(launch(&(struct launch){.name = "exchange", .kernel = exchange}, &report));
}

/* --- what is left behind --- */

static void nothing(void *arg)
{
    (void)arg;
}

static void check_next_launch_works(void)
{
    struct sched_report report;

    CHECK_OK(run("next", nothing, NULL, &report));
    CHECK_STR(report.text, "");
}

static void check_left(void (*kernel)(void *arg), const char *text)
{
    struct sched_report report;

    CHECK_EQ(run("wrong", kernel, NULL, &report), ERR_LEFT);
    CHECK(strstr(report.text, "task wrong, core 0, ") != NULL);
    CHECK(strstr(report.text, text) != NULL);
    check_next_launch_works();
}

static struct tque *plain(void)
{
    return tque_init(tpipe_open(), "x", VECIN, PIPE_MTE2, PIPE_V, 2, 64);
}

static void keeps_a_buffer(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, tque_alloc(q), from, 64);
    tque_enque(q, 0, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

TEST(launch, buffer_that_is_not_freed_is_named)
{
    check_left(keeps_a_buffer,
               "queue x: 0 allocated but not enqueued, 1 enqueued but not "
               "dequeued, 0 dequeued but not freed");
}

/* Fills a buffer by a command that goes to another pipe than the queue's producer. */
static void fills_by_another(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;
    uint32_t x = tque_alloc(q);

    (void)arg;
    cmd_nop(&cmd);
    tque_enque(q, x, &cmd);
    task_issue(PIPE_MTE3, &cmd);
    x = tque_deque(q);
    cmd_nop(&cmd);
    tque_free(q, x, &cmd);
    task_issue(PIPE_V, &cmd);
}

TEST(launch, pipe_that_is_not_the_producer_is_named)
{
    check_left(fills_by_another, "block 0: MTE2 owes a wait for semaphore 62 (x FREE): "
                                 "queue x (tests/target/sched/launch_test.c:");
    check_left(fills_by_another, "), alloc in line ");
    check_left(fills_by_another, ", and no command of that pipe was issued since");
}

static void owes(void *arg)
{
    (void)arg;
    task_owe_wait(PIPE_V, 20, 1);
    task_owe_wait(PIPE_V, 21, 2);
}

TEST(launch, wait_that_nobody_has_issued_is_named)
{
    check_left(owes,
               "V owes a wait for semaphore 20, no command was issued to it since, V "
               "owes a wait for semaphore 21, ");
}

static void keeps_a_semaphore(void *arg)
{
    (void)arg;
    task_post(3, 2);
}

TEST(launch, semaphore_that_is_left_is_named)
{
    check_left(keeps_a_semaphore, "block 0: semaphore 3 of core 0 is 2");
}

static void keeps_a_chip_semaphore(void *arg)
{
    (void)arg;
    task_post(SEM_CORE + 3, 2);
}

TEST(launch, semaphore_of_the_chip_that_is_left_is_named)
{
    struct sched_report report;

    CHECK_EQ(run("wrong", keeps_a_chip_semaphore, NULL, &report), ERR_LEFT);
    CHECK(strstr(report.text, "semaphore 67 of core 0 is 2") != NULL);
    check_next_launch_works();
}

static void meets_too_many(void *arg)
{
    (void)arg;
    task_barrier();
}

TEST(launch, barrier_of_blocks_that_cannot_all_run_is_refused)
{
    struct sched_report report;
    struct launch l = {"crowd", meets_too_many, NULL, .blocks = chip_cores() + 1};

    CHECK_EQ(launch(&l, &report), ERR_BARRIER);
    CHECK(strstr(report.text, "tests/target/sched/launch_test.c:") != NULL);
    check_next_launch_works();
}

/* --- steps --- */

struct stepping {
    struct steps *steps;
    unsigned number, seen[NPU_MAX_CORES];
};

/* Each block is in the step of its argument, which all have ended before it begins. */
static void count_step(void *arg)
{
    struct stepping *s = arg;
    struct tpipe *pipe = tpipe_open();
    struct tque *q = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, 64);
    union cmd cmd;

    CHECK_EQ(task_step(), s->number);
    for (unsigned i = 0; s->number && i < task_blocks(); i++) {
        CHECK_EQ(s[-1].seen[i], s->number);
    }
    mte_gm_to_ub(&cmd, tque_alloc(q), from, 64);
    tque_enque(q, 0, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    cmd_nop(&cmd);
    tque_free(q, tque_deque(q), &cmd);
    task_issue(PIPE_V, &cmd);
    s->seen[task_block()] = s->number + 1;
    if (s->number == 1 && task_block() == 0) {
        CHECK_OK(steps_add(s->steps, s + 1)); /* one more */
    }
}

TEST(launch, kernel_stays_for_steps)
{
    struct stepping step[3];
    void *args[3];
    struct steps steps = {.args = args, .room = 3};
    struct sched_report report;

    for (unsigned i = 0; i < 3; i++) {
        step[i] = (struct stepping){.steps = &steps, .number = i};
    }
    CHECK_OK(steps_add(&steps, &step[0]));
    CHECK_OK(steps_add(&steps, &step[1]));
    CHECK_OK(
        launch(&(struct launch){.name = "stays", .kernel = count_step, .steps = &steps},
               &report));
    CHECK_EQ(steps.n, 3u);
    for (unsigned i = 0; i < chip_cores(); i++) {
        CHECK_EQ(step[2].seen[i], 3u);
    }
}

static void leaves_in_a_step(void *arg)
{
    if (*(unsigned *)arg) {
        task_post(3, 2);
    }
}

TEST(launch, step_that_leaves_something_is_named)
{
    unsigned good = 0, bad = 1;
    void *args[] = {&good, &good, &bad, &good};
    struct steps steps = {args, 4, 4};
    struct sched_report report;
    struct launch l = {
        .name = "steps", .kernel = leaves_in_a_step, .cores = 1, .steps = &steps};

    CHECK_EQ(launch(&l, &report), ERR_LEFT);
    CHECK(strstr(report.text, "steps: kernel has left something behind") != NULL);
    CHECK(strstr(report.text, "step 2, block 0: semaphore 3 of core 0 is 2") != NULL);
    check_next_launch_works();
}

TEST(launch, table_of_steps_that_is_full_takes_no_more)
{
    void *args[1];
    struct steps steps = {.args = args, .room = 1};

    CHECK_OK(steps_add(&steps, args));
    CHECK_EQ(steps_add(&steps, args), ERR_OVERFLOW);
    CHECK_EQ(steps.n, 1u);
}

TEST(launch, steps_of_blocks_that_cannot_all_run_are_refused)
{
    void *args[1] = {NULL};
    struct steps steps = {args, 1, 1};
    struct sched_report report;
    struct launch l = {
        .name = "crowd", .kernel = nothing, .blocks = chip_cores() + 1, .steps = &steps};

    CHECK_EQ(launch(&l, &report), ERR_BARRIER);
    CHECK(strstr(report.text, "crowd: steps of ") != NULL);
}

/* --- watchdog --- */

static void polls_for_ever(void *arg)
{
    (void)arg;
    for (;;) {
        task_yield();
    }
}

static void waits_for_ever(void *arg)
{
    (void)arg;
    task_spawn("poller", polls_for_ever, NULL);
    task_wait(5, 1);
}

TEST(launch, watchdog_ends_what_does_not_end)
{
    struct sched_report report;
    uint64_t begin = chip_cycle(), told;
    struct launch l = {"endless", waits_for_ever, .cores = 1, .limit = 20000};

    CHECK_EQ(launch(&l, &report), ERR_LATE);
    CHECK(strstr(report.text, ": endless has not ended within its 20000 cycles") != NULL);
    CHECK(strstr(report.text, "task poller can run") != NULL);
    CHECK(strstr(report.text, "for semaphore 5 of core 0: 0 of 1, "
                              "tests/target/sched/launch_") != NULL);
    told = strtoull(strstr(report.text, "at cycle ") + 9, NULL, 10);
    CHECK(told - begin >= 20000 && told - begin < 80000);
    check_next_launch_works();
}

/* A deadlock under a watchdog is told at once all the same. */
static void waits_alone(void *arg)
{
    (void)arg;
    task_wait(5, 1);
}

TEST(launch, watchdog_does_not_put_off_a_deadlock)
{
    struct sched_report report;
    uint64_t begin = chip_cycle();
    struct launch l = {"alone", waits_alone, .cores = 1, .limit = 100000000};

    CHECK_EQ(launch(&l, &report), ERR_DEADLOCK);
    CHECK(strtoull(strstr(report.text, "at cycle ") + 9, NULL, 10) - begin < 100000);
}

/* A queue whose consumer never frees: the deadlock names it. */
static void starves(void *arg)
{
    struct tque *q = plain();
    union cmd cmd;

    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t x = tque_alloc(q);
        mte_gm_to_ub(&cmd, x, from, 64);
        tque_enque(q, x, &cmd);
        task_issue(PIPE_MTE2, &cmd);
    }
}

TEST(launch, deadlock_names_the_queue)
{
    struct sched_report report;

    CHECK_EQ(run("starves", starves, NULL, &report), ERR_DEADLOCK);
    CHECK(strstr(report.text, "(x FREE) of core 0: 0 of 1") != NULL);
    CHECK(strstr(report.text, "no queued command posts it") != NULL);
    CHECK(strstr(report.text, "last in MTE2 of core 0: COPY_GM_UB of task starves") !=
          NULL);
    CHECK(strstr(report.text, "left over: semaphore 61 (x FULL) of core 0 holds 2") !=
          NULL);
    check_next_launch_works();
}
