/* SPDX-License-Identifier: MIT
 *
 * The operator `race`: a kernel with a missing wait that is right by luck. MTE2 fills one
 * UB buffer again and again and tells the Vector, but never waits until the Vector has
 * read it; as the Vector reads within the cycle and a copy takes hundreds, nothing goes
 * wrong until an engine is late. --sound adds the wait.
 */
#include <stdlib.h>
#include <string.h>

#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "kernels/cli/data.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"

enum { FREE, FULL, OUT_FREE, OUT_FULL, DONE };
enum { TILE = 4096 /* bytes */, TILES = 16, COUNT = TILES * TILE / 4, OUTS = 2 };

struct race {
    float *x, *z;
    uint32_t sound;
};

static uint32_t ub_out(unsigned i)
{
    return TILE + i % OUTS * TILE;
}

static void copy_in(void *arg)
{
    const struct race *r = arg;
    union cmd cmd;

    for (unsigned i = 0; i < TILES; i++) {
        mte_gm_to_ub(&cmd, 0, (char *)r->x + i * TILE, TILE);
        if (r->sound) {
            cmd_wait(&cmd, FREE, 1);
        }
        cmd_post(&cmd, FULL, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
}

static void compute(void *arg)
{
    const struct race *r = arg;
    union cmd cmd;

    vector_count(&cmd, TILE / 4);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < TILES; i++) {
        vector_add(&cmd, TYPE_F32, ub_out(i), 0, 0);
        cmd_wait(&cmd, FULL, 1);
        cmd_wait(&cmd, OUT_FREE, 1);
        cmd_post(&cmd, OUT_FULL, 1);
        if (r->sound) {
            cmd_post(&cmd, FREE, 1);
        }
        task_issue(PIPE_V, &cmd);
    }
}

static void copy_out(void *arg)
{
    const struct race *r = arg;
    union cmd cmd;

    for (unsigned i = 0; i < TILES; i++) {
        mte_ub_to_gm(&cmd, (char *)r->z + i * TILE, ub_out(i), TILE);
        cmd_wait(&cmd, OUT_FULL, 1);
        cmd_post(&cmd, OUT_FREE, 1);
        cmd_post(&cmd, DONE, 1);
        task_issue(PIPE_MTE3, &cmd);
    }
    task_wait(DONE, TILES);
    task_wait(OUT_FREE, OUTS);
    task_wait(FREE, r->sound);
}

static int launch(struct race *r)
{
    struct sched_report report;
    int err;

    sem_post(0, FREE, r->sound);
    sem_post(0, OUT_FREE, OUTS);
    err = task_create("race compute", 0, compute, r); /* before copy-in, to be in time */
    err = err ? err : task_create("race copy-out", 0, copy_out, r);
    err = err ? err : task_create("race copy-in", 0, copy_in, r);
    err = err ? err : sched_run(&report);
    if (err) {
        return report_error("race", err, &report);
    }
    data_digest("race", r->z, TYPE_F32, COUNT);
    return RUN_OK;
}

static int run(int argc, char **argv)
{
    struct race r = {0};
    int status;

    for (int i = 1; i < argc; i++) {
        r.sound |= strcmp(argv[i], "--sound") == 0; /* and --digest is always done */
    }
    r.x = data_make("race", TYPE_F32, COUNT, 1);
    r.z = r.x ? data_alloc("race", TYPE_F32, COUNT) : NULL;
    status = r.z ? launch(&r) : RUN_INPUT;
    free(r.x);
    free(r.z);
    return status;
}

COMMAND(race, "[--sound]", "z = x + x with a race that only other timing shows", run);
