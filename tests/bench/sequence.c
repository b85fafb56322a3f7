/* SPDX-License-Identifier: MIT
 *
 * What recorded sequences cost, and what a kernel reaches that uses them: tiles of 8 x 1024
 * numbers, each loaded by one command, worked on by 27 of the Vector as softmax has them (two
 * trees of reductions, an exponential, passes over the tile) and stored by one.
 */
#include <string.h>

#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "sched/sequence.h"
#include "tests/bench/bench.h"

enum {
    TILE = 32 << 10, /* bytes */
    TILES = 64,
    RING = 2,
    LENGTH = 27,
    REPEATS = TILE / 256,
    SCRATCH = 2 * RING * TILE,
    ROUNDS = 24,
};
enum { X_FREE, X_FULL, Y_FREE, Y_FULL };

static struct {
    union cmd in[RING], work[RING * LENGTH], out[RING];
    struct seq_patch next_in[RING], next_out[RING];
    struct sequence load, body, store;
} rec;
static float from[TILES * TILE / 4] __attribute__((aligned(32)));
static float to[TILES * TILE / 4] __attribute__((aligned(32)));

static void scaled(union cmd *cmd, uint32_t dst, uint32_t x, uint32_t repeat)
{
    vector_scalar_strided(cmd, &(struct vec_scalar){.op = OP_VMULS,
                                                    .type = TYPE_F32,
                                                    .dst = vec_dense(dst),
                                                    .x = vec_dense(x),
                                                    .scalar = 0x3f000000, /* 0.5 */
                                                    .repeat = repeat});
}

/* Halves what is at x down to 256 bytes at SCRATCH: seven commands. */
static union cmd *tree(union cmd *cmd, enum op op, uint32_t x)
{
    for (uint32_t n = REPEATS / 2; n; n /= 2, x = SCRATCH) {
        vector_binary_strided(cmd++, &(struct vec_binary){.op = op,
                                                          .type = TYPE_F32,
                                                          .dst = vec_dense(SCRATCH),
                                                          .x = vec_dense(x),
                                                          .y = vec_dense(x + n * 256),
                                                          .repeat = n});
    }
    return cmd;
}

static void record_body(union cmd *cmd, uint32_t x, uint32_t y)
{
    union cmd *end = cmd + LENGTH - 1;

    vector_mask(cmd, UINT64_MAX, 0);
    cmd_wait(cmd, X_FULL, 1);
    cmd_wait(cmd++, Y_FREE, 1);
    cmd = tree(cmd, OP_VMAX, x);
    scaled(cmd++, y, x, REPEATS);
    cmd_post(cmd - 1, X_FREE, 1);
    vector_unary_strided(cmd++, &(struct vec_unary){.op = OP_VEXP,
                                                    .type = TYPE_F32,
                                                    .dst = vec_dense(y),
                                                    .x = vec_dense(y),
                                                    .repeat = REPEATS});
    cmd = tree(cmd, OP_VADD, y);
    while (cmd < end) {
        scaled(cmd++, SCRATCH, SCRATCH, 8);
    }
    scaled(end, y, y, REPEATS);
    cmd_post(end, Y_FULL, 1);
}

static void record(void)
{
    memset(&rec, 0, sizeof(rec));
    for (uint16_t i = 0; i < RING; i++) {
        uint32_t x = i * (uint32_t)TILE, y = x + RING * TILE;
        mte_gm_to_ub(&rec.in[i], x, from, TILE);
        cmd_wait(&rec.in[i], X_FREE, 1);
        cmd_post(&rec.in[i], X_FULL, 1);
        record_body(&rec.work[i * LENGTH], x, y);
        mte_ub_to_gm(&rec.out[i], to, y, TILE);
        cmd_wait(&rec.out[i], Y_FULL, 1);
        cmd_post(&rec.out[i], Y_FREE, 1);
        rec.next_in[i] = (struct seq_patch){.cmd = i,
                                            .field = SEQ_FIELD(copy_in.src),
                                            .base = (uintptr_t)from,
                                            .stride = {TILE}};
        rec.next_out[i] = (struct seq_patch){.cmd = i,
                                             .field = SEQ_FIELD(copy_out.dst),
                                             .base = (uintptr_t)to,
                                             .stride = {TILE}};
    }
    rec.load = (struct sequence){.name = "load",
                                 .pipe = PIPE_MTE2,
                                 .cmds = rec.in,
                                 .n = 1,
                                 .positions = RING,
                                 .patches = rec.next_in,
                                 .n_patches = RING};
    rec.body = (struct sequence){
        .name = "body", .pipe = PIPE_V, .cmds = rec.work, .n = LENGTH, .positions = RING};
    rec.store = (struct sequence){.name = "store",
                                  .pipe = PIPE_MTE3,
                                  .cmds = rec.out,
                                  .n = 1,
                                  .positions = RING,
                                  .patches = rec.next_out,
                                  .n_patches = RING};
}

static void give(void)
{
    task_post(X_FREE, RING);
    task_post(Y_FREE, RING);
}

static void take(void)
{
    task_drain();
    task_wait(X_FREE, RING);
    task_wait(Y_FREE, RING);
}

static void play(void *arg)
{
    struct seq_leg legs[] = {{.seq = &rec.load, .rounds = {TILES}},
                             {.seq = &rec.body, .rounds = {TILES}},
                             {.seq = &rec.store, .rounds = {TILES}}};
    struct seq_lane lanes[] = {{.legs = &legs[0], .n_legs = 1},
                               {.legs = &legs[1], .n_legs = 1},
                               {.legs = &legs[2], .n_legs = 1}};

    (void)arg;
    give();
    sequence_play(lanes, 3);
    take();
}

/* By hand, tile by tile: what is counted has room in its queues. */
static void steps(void *arg)
{
    struct bench_row *rows = arg;
    union cmd nops[PIPE_DEPTH];

    give();
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        cmd_nop(&nops[i]);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin = bench_instructions();
        sequence_push(&rec.load, i);
        sequence_push(&rec.body, i);
        sequence_push(&rec.store, i);
        bench_note(&rows[0], begin, bench_instructions());
        task_drain();
        begin = bench_instructions();
        task_issue_many(PIPE_V, nops, PIPE_DEPTH);
        bench_note(&rows[3], begin, bench_instructions());
        task_drain();
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin;
        sequence_push(&rec.load, i);
        (void)!task_wait_room(PIPE_V, PIPE_DEPTH, SCHED_FOREVER); /* so it is known */
        begin = bench_instructions();
        sequence_push(&rec.body, i);
        bench_note(&rows[1], begin, bench_instructions());
        sequence_push(&rec.store, i);
        task_drain();
        sequence_push(&rec.load, ++i);
        task_ports[PIPE_V].room = 0; /* so it is not */
        begin = bench_instructions();
        sequence_push(&rec.body, i);
        bench_note(&rows[2], begin, bench_instructions());
        sequence_push(&rec.store, i);
        task_drain();
    }
    take();
}

static int busy(struct bench_row *row, struct sched_report *report)
{
    struct launch_report r;
    int err = 0;

    for (unsigned i = 0; i < 2 && !err; i++) { /* the second counts */
        measure_start();
        err =
            launch(&(struct launch){.name = "body", .kernel = play, .cores = 1}, report);
        measure_read(&r);
    }
    if (!err) {
        row->least = 1000 - 1000 * r.chip[PIPE_V].busy / r.span;
    }
    return err;
}

int bench_sequences(void)
{
    static struct bench_row rows[] = {
        {"step: load, body of 27 commands, store", 300, UINT64_MAX},
        {"sequence_push, no patches", 40, UINT64_MAX},
        {"sequence_push, room asked of the queue", 40, UINT64_MAX},
        {"task_issue_many of 32 commands", 40, UINT64_MAX},
    };
    static struct bench_row idle = {"V idle, of a thousand cycles of the span", 30, 0};
    struct sched_report report;
    int err, cost, reached;

    record();
    err = busy(&idle, &report);
    err = err ? err : launch(&(struct launch){"steps", steps, rows, .cores = 1}, &report);
    if (err) {
        return report_error("bench", err, &report);
    }
    cost = bench_print("recorded sequences, in instructions of the hart", rows,
                       sizeof(rows) / sizeof(rows[0]));
    reached = bench_print("tiles of 8 x 1024 F32 through 27 commands of V", &idle, 1);
    return cost ? cost : reached;
}
