/* SPDX-License-Identifier: MIT
 *
 * Those of `plants` that several tasks make, or recorded sequences, or verbs of the scheduler
 * that are taken for more than they are.
 */
#include <stdlib.h>

#include "hal/chip.h"
#include "sched/sequence.h"
#include "tests/broken/plants.h"

/* --- tasks of one core --- */

static volatile bool loaded;

static void load_task(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL); /* one */
    loaded = true;
}

static void add_task(void *arg)
{
    union cmd cmd;

    (void)arg;
    while (!loaded) {
        task_yield();
    }
    vector_add(&cmd, TYPE_F32, FAR, 0, 0);
    GO_SYNC(PIPE_V, &cmd, right ? FULL : NONE, NONE); /* two */
}

/* One task tells the other by a variable that it has issued the load. */
void flag_between_tasks(void *arg)
{
    (void)arg;
    fill_ub();
    work_on(BYTES);
    loaded = false;
    task_spawn("flag_between_tasks", load_task, NULL);
    task_spawn("flag_between_tasks", add_task, NULL);
    task_join_all();
    task_drain();
    task_wait(FULL, right ? 0 : 1);
}

static void store_task(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* one */
}

/* The task that stores has returned, its command has not. */
void joins_and_loads(void *arg)
{
    volatile char *result = gm;

    (void)arg;
    fill_ub();
    task_join(task_spawn("joins_and_loads", store_task, NULL));
    if (right) {
        task_drain();
    }
    (void)result[0]; /* two */
}

/* Of two results the one that is there first is waited for. */
void waits_for_any(void *arg)
{
    const struct want both[] = {{FULL, 1}, {OTHER, 1}};
    volatile char *result = gm;
    union cmd cmd;
    int first;

    (void)arg;
    fill_ub();
    mte_gm_to_ub(&cmd, FAR, gm + FAR, 32);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL);
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, NONE, OTHER); /* one */
    first = right ? task_wait_all(both, 2, SCHED_FOREVER)
                  : task_wait_any(both, 2, SCHED_FOREVER);
    (void)result[0]; /* two */
    task_drain();
    task_wait(first == 0 ? OTHER : FULL, right ? 0 : 1);
}

/* The wait is owed to a command of another pipe. */
void owes_it_to_another(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL); /* one */
    task_owe_wait(right ? PIPE_V : PIPE_MTE3, FULL, 1);
    vector_add(&cmd, TYPE_F32, FAR, 0, 0);
    GO_SYNC(PIPE_V, &cmd, NONE, DONE); /* two */
    mte_ub_to_gm(&cmd, gm + FAR, FAR, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, DONE, NONE);
}

/* --- recorded --- */

/* Both bodies of the Vector's sequence have the buffer of the first. */
void recorded_at_one_position(void *arg)
{
    static union cmd load[2], work[2];
    struct sequence loads = {.name = "load", .pipe = PIPE_MTE2, .cmds = load};
    struct sequence works = {.name = "work", .pipe = PIPE_V, .cmds = work};
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    for (uint32_t i = 0; i < 2; i++) {
        mte_gm_to_ub(&cmd, i * BYTES, gm, BYTES);
        cmd_wait(&cmd, FREE, 1);
        cmd_post(&cmd, FULL, 1);
        sequence_add(&loads, 2, &cmd); /* one */
        vector_binary(&cmd, OP_VADD, TYPE_F32, FAR, right ? i * BYTES : 0, 2 * FAR);
        cmd_wait(&cmd, FULL, 1);
        cmd_post(&cmd, FREE, 1);
        sequence_add(&works, 2, &cmd); /* two */
    }
    sequence_positions(&loads, 2);
    sequence_positions(&works, 2);
    task_post(FREE, 2);
    for (uint32_t i = 0; i < 8; i++) {
        sequence_push(&loads, i);
        sequence_push(&works, i);
    }
    task_drain();
    task_wait(FREE, 2);
}

/* --- the hart --- */

/* The hart fills a buffer before it has asked for one. */
void hart_fills_too_early(void *arg)
{
    struct tque *que = tque_init(tpipe_open(), "in", VECIN, TQUE_HART, PIPE_V, 1, 256);
    volatile float *ub;
    uint32_t x = tque_alloc(que);
    union cmd cmd;

    (void)arg;
    ub = chip_local(task_core(), NPU_MEM_UB, x);
    for (unsigned i = 0; i < 64; i++) {
        ub[i] = 1;
    }
    tque_enque(que, x, NULL);
    work_on(256);
    x = tque_deque(que);
    vector_unary(&cmd, OP_VABS, TYPE_F32, FAR, x);
    tque_free(que, x, &cmd);
    GO(PIPE_V, &cmd); /* one */
    if (right) {
        x = tque_alloc(que);
    }
    ub[1] = 2; /* two */
    if (!right) {
        x = tque_alloc(que);
    }
    tque_enque(que, x, NULL);
    x = tque_deque(que);
    vector_unary(&cmd, OP_VABS, TYPE_F32, FAR, x);
    tque_free(que, x, &cmd);
    GO(PIPE_V, &cmd);
}

/* The source of a load is a local variable of a function that has returned. */
__attribute__((noinline)) static void from_a_local(void)
{
    volatile char source[256];
    union cmd cmd;

    for (unsigned i = 0; i < sizeof(source); i++) {
        source[i] = 0;
    }
    mte_gm_to_ub(&cmd, 0, (const void *)(uintptr_t)source, sizeof(source));
    GO(PIPE_MTE2, &cmd); /* one */
    if (right) {
        task_drain();
    }
}

__attribute__((noinline)) static void needs_the_stack(void)
{
    volatile char other[768];

    for (unsigned i = 0; i < sizeof(other); i++) {
        other[i] = (char)i; /* two */
    }
}

void from_the_stack(void *arg)
{
    (void)arg;
    from_a_local();
    needs_the_stack();
    task_drain();
}

/* --- tiles with a border --- */

/* Each tile is written over its input, of which the next one reads the last row. */
void in_place_with_a_border(void *arg)
{
    char *to = right ? gm + 4 * FAR : gm;
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_post(FREE, 2);
    for (unsigned i = 1; i < 5; i++) {
        mte_gm_to_ub(&cmd, i % 2 * FAR, gm + i * BYTES - 128, BYTES + 128);
        GO_SYNC(PIPE_MTE2, &cmd, FREE, FULL); /* one */
        mte_ub_to_gm(&cmd, to + i * BYTES, i % 2 * FAR + 128, BYTES);
        GO_SYNC(PIPE_MTE3, &cmd, FULL, FREE); /* two */
    }
    task_drain();
    task_wait(FREE, 2);
}
