/* SPDX-License-Identifier: MIT
 *
 * The operator `late`: x again and again through UB to z, with a mistake for
 * tools/gdb/README.md to find. MTE2 fills two buffers in turn, MTE3 empties them, more
 * slowly once x is in L2; nobody waits until a buffer is free.
 */
#include <stdio.h>

#include "hal/mte.h"
#include "kernels/cli/data.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"

enum { FULL, DONE };
enum { TILE = 32768 /* bytes */, X_TILES = 3, TILES = 24 };
enum { X_COUNT = X_TILES * TILE / 4, COUNT = TILES * TILE / 4 };

float *late_x, *late_z;

static void copy_in(void *arg)
{
    union cmd cmd;

    (void)arg;
    for (unsigned i = 0; i < TILES; i++) {
        mte_gm_to_ub(&cmd, i % 2 * TILE, (char *)late_x + i % X_TILES * TILE, TILE);
        cmd_post(&cmd, FULL, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
}

static void copy_out(void *arg)
{
    union cmd cmd;

    (void)arg;
    for (unsigned i = 0; i < TILES; i++) {
        mte_ub_to_gm(&cmd, (char *)late_z + i * TILE, i % 2 * TILE, TILE);
        cmd_wait(&cmd, FULL, 1);
        cmd_post(&cmd, DONE, 1);
        task_issue(PIPE_MTE3, &cmd);
    }
    task_wait(DONE, TILES);
}

static int check(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        float want = late_x[i % X_COUNT];

        if (late_z[i] != want) {
            printf("late: late_z[%u] is %g, want %g\n", i, (double)late_z[i],
                   (double)want);
            return RUN_CHECK;
        }
    }
    return RUN_OK;
}

static int run(int argc, char **argv)
{
    struct sched_report report;
    int err;

    (void)argc, (void)argv;
    late_x = data_make("late", TYPE_F32, X_COUNT, 1);
    late_z = late_x ? data_alloc("late", TYPE_F32, COUNT) : NULL;
    if (!late_z) {
        return RUN_INPUT;
    }
    err = task_create("late copy-out", 0, copy_out, NULL);
    err = err ? err : task_create("late copy-in", 0, copy_in, NULL);
    err = err ? err : sched_run(&report);
    return err ? report_error("late", err, &report) : check();
}

COMMAND(late, "", "z = x, repeated, through UB, with a wait left out", run);
