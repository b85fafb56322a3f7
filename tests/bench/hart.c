/* SPDX-License-Identifier: MIT
 *
 * The command `bench`: what the scheduler costs the hart, in instructions, measured by
 * the hart's own counter on the target. Each row is the least of many rounds, the
 * counter's own cost taken off; a row above its limit fails the run.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "tests/bench/bench.h"

enum { ROUNDS = 24, SEM = 1 };

static struct bench_row rows[] = {
    {"context switch: task_yield to the next task", 85, UINT64_MAX},
    {"task_issue, room in the queue", 40, UINT64_MAX},
    {"task_wait that succeeds", 8, UINT64_MAX},
    {"mte_gm_to_ub: building a command", 0, UINT64_MAX},
    {"vector_binary_strided, from a struct in memory", 0, UINT64_MAX},
    {"cube_mmad, likewise", 0, UINT64_MAX},
    {"fixpipe_to_ub, likewise", 0, UINT64_MAX},
    {"tque_alloc", 0, UINT64_MAX},
    {"tque_enque", 0, UINT64_MAX},
    {"task_issue with a wait that is owed", 0, UINT64_MAX},
    {"tque_deque", 0, UINT64_MAX},
    {"tque_free", 0, UINT64_MAX},
};
enum {
    SWITCH,
    ISSUE,
    WAIT,
    BUILD,
    BUILD_VECTOR,
    BUILD_MMAD,
    BUILD_TILE,
    ALLOC,
    ENQUE,
    ISSUE_OWED,
    DEQUE,
    FREE,
    ROWS
};

static uint64_t begin, own; /* count at the begin; what counting costs */

static inline uint64_t instructions(void)
{
    uint64_t n;

    __asm__ volatile("csrr %0, minstret" : "=r"(n)::"memory");
    return n;
}

static void note(unsigned row, uint64_t end)
{
    uint64_t n = end - begin - own;

    rows[row].least = n < rows[row].least ? n : rows[row].least;
}

__attribute__((noinline)) uint64_t bench_instructions(void)
{
    return instructions();
}

/* The call costs the return of one function and the entry of the other. */
__attribute__((noinline)) void bench_note(struct bench_row *row, uint64_t since)
{
    uint64_t n = instructions() - since - own;

    row->least = n < row->least ? n : row->least;
}

static void measure_own(void)
{
    own = UINT64_MAX;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t end;
        begin = instructions();
        end = instructions();
        own = end - begin < own ? end - begin : own;
    }
}

static void partner(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        note(SWITCH, instructions());
        task_yield();
    }
}

static void measure_switch(void)
{
    int task = task_spawn("partner", partner, NULL);

    for (unsigned i = 0; i < ROUNDS; i++) {
        begin = instructions();
        task_yield();
    }
    task_join(task);
}

static void measure_waits(void)
{
    union cmd cmd;

    for (unsigned i = 0; i < ROUNDS; i++) {
        task_post(SEM, 1);
        begin = instructions();
        task_wait(SEM, 1);
        note(WAIT, instructions());
        cmd_nop(&cmd);
        begin = instructions();
        task_issue(PIPE_V, &cmd);
        note(ISSUE, instructions());
    }
    task_drain();
}

/* What a planner pays, whose commands are data: the compiler knows nothing of them. */
static void measure_builders(void)
{
    static struct vec_binary add = {.op = OP_VADD, .type = TYPE_F32, .repeat = 64};
    static struct cube_mmad product = {.type = TYPE_F16, .m = 64, .n = 64, .k = 64};
    static struct fixpipe_tile tile = {.type = TYPE_F32, .m = 64, .n = 64};
    union cmd cmd;

    for (unsigned i = 0; i < ROUNDS; i++) {
        __asm__ volatile("" : "+m"(add), "+m"(product), "+m"(tile));
        begin = instructions();
        vector_binary_strided(&cmd, &add);
        note(BUILD_VECTOR, instructions());
        __asm__ volatile("" ::"m"(cmd));
        begin = instructions();
        cube_mmad(&cmd, &product);
        note(BUILD_MMAD, instructions());
        __asm__ volatile("" ::"m"(cmd));
        begin = instructions();
        fixpipe_to_ub(&cmd, 0, 0, &tile);
        note(BUILD_TILE, instructions());
        __asm__ volatile("" ::"m"(cmd));
    }
}

static void measure_queue(void)
{
    static char gm[64];
    struct tpipe *pipe = tpipe_open();
    struct tque *q = tque_init(pipe, "q", VECIN, PIPE_MTE2, PIPE_V, 2, 64);
    uint32_t x;
    union cmd cmd;

    for (unsigned i = 0; i < ROUNDS; i++) {
        begin = instructions();
        x = tque_alloc(q);
        note(ALLOC, instructions());
        begin = instructions();
        mte_gm_to_ub(&cmd, x, gm, 64);
        note(BUILD, instructions());
        begin = instructions();
        tque_enque(q, x, &cmd);
        note(ENQUE, instructions());
        begin = instructions();
        task_issue(PIPE_MTE2, &cmd);
        note(ISSUE_OWED, instructions());
        begin = instructions();
        x = tque_deque(q);
        note(DEQUE, instructions());
        cmd_nop(&cmd);
        begin = instructions();
        tque_free(q, x, &cmd);
        note(FREE, instructions());
        task_issue(PIPE_V, &cmd);
    }
    task_drain();
}

static void kernel(void *arg)
{
    (void)arg;
    measure_own();
    measure_switch();
    measure_waits();
    measure_builders();
    measure_queue();
}

int bench_print(const char *title, const struct bench_row *row, unsigned n)
{
    int status = RUN_OK;

    printf("%s\n", title);
    for (unsigned i = 0; i < n; i++) {
        printf("  %-46s %5llu", row[i].text, (unsigned long long)row[i].least);
        printf(row[i].limit ? "  at most %u" : "", row[i].limit);
        printf(row[i].limit && row[i].least > row[i].limit ? ": too many\n" : "\n");
        status = row[i].limit && row[i].least > row[i].limit ? RUN_CHECK : status;
    }
    return status;
}

static int run(int argc, char **argv)
{
    struct launch l = {.name = "bench", .kernel = kernel, .cores = 1};
    struct sched_report report;
    int launches = bench_launches(), err = launch(&l, &report), status, recorded;

    (void)argc, (void)argv;
    if (err) {
        return report_error("bench", err, &report);
    }
    status = bench_print("instructions of the hart, the least of 24 rounds", rows, ROWS);
    recorded = bench_sequences();
    status = status ? status : recorded;
    return launches ? launches : status;
}

COMMAND(bench, "", "what the scheduler costs the hart, in instructions", run);
