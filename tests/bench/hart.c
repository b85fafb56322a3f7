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
    {"hand-over: the four verbs round two commands", 40, UINT64_MAX},
    {"a copy, built and issued", 60, UINT64_MAX},
    {"a vector command, built and issued", 60, UINT64_MAX},
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
    HAND_OVER,
    FRESH,
    FRESH_VECTOR,
    ROWS
};

static uint64_t begin, own; /* count at the begin; what counting costs */

void bench_note(struct bench_row *row, uint64_t from, uint64_t to)
{
    uint64_t n = to - from - own;

    row->least = n < row->least ? n : row->least;
}

static void note(unsigned row, uint64_t end)
{
    bench_note(&rows[row], begin, end);
}

static void measure_own(void)
{
    own = UINT64_MAX;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t end;
        begin = bench_instructions();
        end = bench_instructions();
        own = end - begin < own ? end - begin : own;
    }
}

static void partner(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        note(SWITCH, bench_instructions());
        task_yield();
    }
}

static void measure_switch(void)
{
    int task = task_spawn("partner", partner, NULL);

    for (unsigned i = 0; i < ROUNDS; i++) {
        begin = bench_instructions();
        task_yield();
    }
    task_join(task);
}

static void measure_waits(void)
{
    union cmd cmd;

    for (unsigned i = 0; i < ROUNDS; i++) {
        task_post(SEM, 1);
        begin = bench_instructions();
        task_wait(SEM, 1);
        note(WAIT, bench_instructions());
        cmd_nop(&cmd);
        begin = bench_instructions();
        task_issue(PIPE_V, &cmd);
        note(ISSUE, bench_instructions());
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
        begin = bench_instructions();
        vector_binary_strided(&cmd, &add);
        note(BUILD_VECTOR, bench_instructions());
        __asm__ volatile("" ::"m"(cmd));
        begin = bench_instructions();
        cube_mmad(&cmd, &product);
        note(BUILD_MMAD, bench_instructions());
        __asm__ volatile("" ::"m"(cmd));
        begin = bench_instructions();
        fixpipe_to_ub(&cmd, 0, 0, &tile);
        note(BUILD_TILE, bench_instructions());
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
        begin = bench_instructions();
        x = tque_alloc(q);
        note(ALLOC, bench_instructions());
        begin = bench_instructions();
        mte_gm_to_ub(&cmd, x, gm, 64);
        note(BUILD, bench_instructions());
        begin = bench_instructions();
        tque_enque(q, x, &cmd);
        note(ENQUE, bench_instructions());
        begin = bench_instructions();
        task_issue(PIPE_MTE2, &cmd);
        note(ISSUE_OWED, bench_instructions());
        begin = bench_instructions();
        x = tque_deque(q);
        note(DEQUE, bench_instructions());
        cmd_nop(&cmd);
        begin = bench_instructions();
        tque_free(q, x, &cmd);
        note(FREE, bench_instructions());
        task_issue(PIPE_V, &cmd);
    }
    task_drain();
}

/* What the verbs add where a kernel builds its commands: a loop's body with them, less the
 * same without. */
static void measure_hand_over(void)
{
    static char gm[64];
    struct tpipe *pipe = tpipe_open();
    struct tque *q = tque_init(pipe, "q", VECIN, PIPE_MTE2, PIPE_MTE3, 2, 64);
    union cmd in, out;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t from, filled, paused, used, alone;
        uint32_t x;
        from = bench_instructions();
        mte_gm_to_ub(&in, 0, gm, sizeof(gm));
        mte_ub_to_gm(&out, gm, 0, sizeof(gm));
        __asm__ volatile("" ::"m"(in), "m"(out));
        alone = bench_instructions() - from - own;
        from = bench_instructions();
        x = tque_alloc(q);
        mte_gm_to_ub(&in, x, gm, sizeof(gm));
        tque_enque(q, x, &in);
        filled = bench_instructions();
        task_issue(PIPE_MTE2, &in);
        paused = bench_instructions();
        x = tque_deque(q);
        mte_ub_to_gm(&out, gm, x, sizeof(gm));
        tque_free(q, x, &out);
        used = bench_instructions();
        task_issue(PIPE_MTE3, &out);
        bench_note(&rows[HAND_OVER], from + (paused - filled) + own + alone, used);
    }
    task_drain();
}

/* As kernels write it: what the compiler knows of a command is written down there. */
static void measure_fresh(void)
{
    static char gm[256];
    union cmd cmd;

    for (unsigned i = 0; i < ROUNDS; i++) {
        begin = bench_instructions();
        mte_gm_to_ub(&cmd, 0, gm, sizeof(gm));
        task_issue(PIPE_MTE2, &cmd);
        note(FRESH, bench_instructions());
        begin = bench_instructions();
        vector_binary_strided(&cmd, &(struct vec_binary){.op = OP_VADD,
                                                         .type = TYPE_F32,
                                                         .dst = vec_dense(i * 256),
                                                         .x = vec_dense(0),
                                                         .y = vec_dense(0),
                                                         .repeat = 1});
        task_issue(PIPE_V, &cmd);
        note(FRESH_VECTOR, bench_instructions());
        task_drain();
    }
}

static void kernel(void *arg)
{
    (void)arg;
    measure_own();
    measure_switch();
    measure_waits();
    measure_builders();
    measure_queue();
    measure_hand_over();
    measure_fresh();
}

/* The bars are of gcc 12's image. Another compiler's has up to an eighth more instructions
 * of the hart, where it is measured; what the engines do is the same. */
static unsigned bar(unsigned limit)
{
    return __GNUC__ == 12 ? limit : limit + limit / 8;
}

int bench_print(const char *title, const struct bench_row *row, unsigned n)
{
    int status = RUN_OK;

    printf("%s\n", title);
    for (unsigned i = 0; i < n; i++) {
        unsigned most = bar(row[i].limit);
        bool above = most && row[i].least > most;

        printf("  %-46s %5llu", row[i].text, (unsigned long long)row[i].least);
        printf(most ? "  at most %u" : "", most);
        printf(above ? ": too many\n" : "\n");
        status = above ? RUN_CHECK : status;
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
    status = bench_print(
        "instructions of the hart, the least of 24 rounds; compiler " __VERSION__, rows,
        ROWS);
    recorded = bench_sequences();
    status = status ? status : recorded;
    return launches ? launches : status;
}

COMMAND(bench, "", "what the scheduler costs the hart, in instructions", run);
