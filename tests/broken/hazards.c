/* SPDX-License-Identifier: MIT
 *
 * The operator `hazards`: kernels with mistakes beyond a wait that is left out. Each has a
 * name, which is also that of its launch; --sound corrects all of them, --list prints what
 * a checker has to say: NAME CLASS MEMORY FIRST.OPERAND SECOND.OPERAND WORD, where the word
 * is part of the explanation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/task.h"
#include "sched/tque.h"

enum { DONE, READY, BYTES = 1024, ROOM = 64 * BYTES };

static char *gm;
static bool sound;

static void count(uint32_t bytes)
{
    union cmd cmd;

    vector_count(&cmd, bytes / 4);
    task_issue(PIPE_V, &cmd);
}

/* Two commands fill a buffer; the first one says that it is full. */
static void full_too_early(void *arg)
{
    struct tque *que = tque_init(tpipe_open(), "x", VECIN, PIPE_MTE2, PIPE_V, 1, BYTES);
    uint32_t at = tque_alloc(que);
    union cmd first, second, cmd;

    (void)arg;
    count(BYTES);
    mte_gm_to_ub(&first, at, gm, BYTES / 2);
    mte_gm_to_ub(&second, at + BYTES / 2, gm, BYTES / 2);
    tque_enque(que, at, sound ? &second : &first);
    task_issue(PIPE_MTE2, &first);
    task_issue(PIPE_MTE2, &second);
    at = tque_deque(que);
    vector_add(&cmd, TYPE_F32, ROOM, at, at);
    tque_free(que, at, &cmd);
    task_issue(PIPE_V, &cmd);
}

/* Two commands read a buffer; the first one says that it is free. */
static void free_too_early(void *arg)
{
    struct tque *que = tque_init(tpipe_open(), "y", VECIN, PIPE_MTE2, PIPE_V, 1, BYTES);

    (void)arg;
    count(BYTES);
    for (unsigned i = 0; i < 2; i++) {
        union cmd first, second;
        uint32_t at = tque_alloc(que);
        mte_gm_to_ub(&first, at, gm, BYTES);
        tque_enque(que, at, &first);
        task_issue(PIPE_MTE2, &first);
        at = tque_deque(que);
        vector_add(&first, TYPE_F32, ROOM, at, at);
        vector_add(&second, TYPE_F32, 2 * ROOM, at, at);
        tque_free(que, at, sound ? &second : &first);
        task_issue(PIPE_V, &first);
        task_issue(PIPE_V, &second);
    }
}

/* The result is twice as long as its buffer, and what lies behind that is in use. */
static void too_long(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t sum = tbuf_init(pipe, "sum", VECCALC, BYTES);
    uint32_t next = tbuf_init(pipe, "next", VECIN, BYTES);
    union cmd cmd;

    (void)arg;
    count(sound ? BYTES : 2 * BYTES);
    vector_add(&cmd, TYPE_F32, sum, ROOM, ROOM);
    task_issue(PIPE_V, &cmd);
    mte_gm_to_ub(&cmd, next, gm, BYTES);
    task_issue(PIPE_MTE2, &cmd);
}

/* Every block writes the same bytes; with --sound its own. */
static void same_result(void *arg)
{
    union cmd cmd;

    (void)arg;
    task_barrier(); /* or the first core could do all of them */
    mte_ub_to_gm(&cmd, gm + (sound ? task_block() * BYTES : 0), 0, BYTES);
    task_issue(PIPE_MTE3, &cmd);
}

/* Every block adds to the same bytes, as float numbers; with --sound as integers. */
static void sums(void *arg)
{
    union cmd cmd;

    (void)arg;
    task_barrier();
    mte_set_atomic(&cmd, ATOMIC_ADD, sound ? TYPE_S32 : TYPE_F32);
    task_issue(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    task_issue(PIPE_MTE3, &cmd);
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    task_issue(PIPE_MTE3, &cmd);
}

/* A buffer has two sources, and the reader waits for one of them, whichever is first. */
static void either(void *arg)
{
    union cmd cmd;

    (void)arg;
    count(BYTES);
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    cmd_post(&cmd, READY, 1);
    task_issue(PIPE_MTE2, &cmd);
    vector_add(&cmd, TYPE_F32, ROOM, 2 * ROOM, 2 * ROOM);
    cmd_post(&cmd, READY, 1);
    task_issue(PIPE_V, &cmd);
    mte_ub_to_gm(&cmd, gm + ROOM, ROOM, BYTES);
    cmd_wait(&cmd, READY, sound ? 2 : 1);
    cmd_post(&cmd, DONE, 1);
    task_issue(PIPE_MTE3, &cmd);
    task_wait(DONE, 1);
    task_wait(READY, sound ? 0 : 1);
}

/* The hart looks at a result as soon as it was asked for. */
static void look_too_early(void *arg)
{
    volatile char *result = gm;
    union cmd cmd;

    (void)arg;
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    task_issue(PIPE_MTE3, &cmd);
    if (sound) {
        task_drain();
    }
    (void)result[0];
}

/* Like that, and what it waits for is something else. */
static void wrong_wait(void *arg)
{
    volatile char *result = gm;
    union cmd cmd;

    (void)arg;
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    cmd_post(&cmd, DONE, 1);
    task_issue(PIPE_MTE3, &cmd);
    mte_gm_to_ub(&cmd, ROOM, gm + ROOM, 32);
    cmd_post(&cmd, READY, 1);
    task_issue(PIPE_MTE2, &cmd);
    task_wait(sound ? DONE : READY, 1);
    (void)result[BYTES - 1];
    task_wait(sound ? READY : DONE, 1);
}

/* What the first command posts nobody waits for. */
static void unheard(void *arg)
{
    union cmd cmd;

    (void)arg;
    count(BYTES);
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    cmd_post(&cmd, READY, 1);
    task_issue(PIPE_MTE2, &cmd);
    vector_add(&cmd, TYPE_F32, ROOM, 0, 0);
    if (sound) {
        cmd_wait(&cmd, READY, 1);
    }
    task_issue(PIPE_V, &cmd);
}

/* Of two readers the second waits. */
static void late_wait(void *arg)
{
    union cmd first, second;

    (void)arg;
    count(BYTES);
    mte_gm_to_ub(&first, 0, gm, BYTES);
    cmd_post(&first, READY, 1);
    task_issue(PIPE_MTE2, &first);
    vector_add(&first, TYPE_F32, ROOM, 0, 0);
    vector_add(&second, TYPE_F32, 2 * ROOM, ROOM, ROOM);
    cmd_wait(sound ? &first : &second, READY, 1);
    task_issue(PIPE_V, &first);
    task_issue(PIPE_V, &second);
}

static const struct {
    const char *name;
    void (*kernel)(void *arg);
    unsigned cores; /* 0: all of the chip, of which there must be two */
    const char *want;
} hazards[] = {
    {"full_too_early", full_too_early, 1, "race ub COPY_GM_UB.dst VADD.src1 early,"},
    {"free_too_early", free_too_early, 1, "race ub COPY_GM_UB.dst VADD.src1 FREE"},
    {"too_long", too_long, 1, "race ub COPY_GM_UB.dst VADD.dst overlap"},
    {"same_result", same_result, 0, "race GM COPY_UB_GM.dst COPY_UB_GM.dst replace"},
    {"sums", sums, 0, "order GM COPY_UB_GM.dst COPY_UB_GM.dst -"},
    {"either", either, 1, "mixed - MTE2 V -"},
    {"look_too_early", look_too_early, 1, "race GM COPY_UB_GM.dst read hart"},
    {"wrong_wait", wrong_wait, 1, "race GM COPY_UB_GM.dst read hart"},
    {"unheard", unheard, 1, "race ub COPY_GM_UB.dst VADD.src1 over;"},
    {"late_wait", late_wait, 1, "race ub COPY_GM_UB.dst VADD.src1 late,"},
};

static int run_one(unsigned i)
{
    struct launch l = {
        .name = hazards[i].name, .kernel = hazards[i].kernel, .cores = hazards[i].cores};
    struct sched_report report;
    int err = launch(&l, &report);

    return err ? report_error(hazards[i].name, err, &report) : RUN_OK;
}

static int run(int argc, char **argv)
{
    int status = RUN_OK;

    sound = argc > 1 && strcmp(argv[1], "--sound") == 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (unsigned i = 0; i < sizeof(hazards) / sizeof(hazards[0]); i++) {
            printf("%s %s\n", hazards[i].name, hazards[i].want);
        }
        return RUN_OK;
    }
    gm = aligned_alloc(64, 2 * ROOM);
    for (unsigned i = 0; gm && i < sizeof(hazards) / sizeof(hazards[0]); i++) {
        int one = run_one(i);
        status = one > status ? one : status;
    }
    free(gm);
    return gm ? status : RUN_INPUT;
}

COMMAND(hazards, "[--sound | --list]", "kernels with mistakes for a checker to find",
        run);
