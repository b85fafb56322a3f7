/* SPDX-License-Identifier: MIT
 *
 * The operator `retry [TIMES]`: doubles numbers where they are, tile by tile, so that a
 * second run over what a first one has left behind would be wrong, and says what came of
 * it. It is begun again up to so many times when the hardware fails, with the numbers put
 * back; for runs with FAULT=.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "sched/launch.h"
#include "sched/tque.h"

enum { TILES = 16, PER_TILE = 256, COUNT = TILES * PER_TILE, BYTES = 4 * PER_TILE };

static float numbers[COUNT] __attribute__((aligned(32)));

static void kernel(void *arg)
{
    union cmd cmd;

    (void)arg;
    vector_count(&cmd, PER_TILE);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < TILES; i++) {
        mte_gm_to_ub(&cmd, 0, numbers + i * PER_TILE, BYTES);
        cmd_post(&cmd, 1, 1);
        task_issue(PIPE_MTE2, &cmd);
        vector_add(&cmd, TYPE_F32, 0, 0, 0);
        cmd_wait(&cmd, 1, 1);
        cmd_post(&cmd, 2, 1);
        task_issue(PIPE_V, &cmd);
        mte_ub_to_gm(&cmd, numbers + i * PER_TILE, 0, BYTES);
        cmd_wait(&cmd, 2, 1);
        cmd_post(&cmd, 3, 1);
        task_issue(PIPE_MTE3, &cmd);
        task_wait(3, 1);
    }
}

static int run(int argc, char **argv)
{
    static struct sched_report report;
    const struct keep keep = {numbers, sizeof(numbers)};
    unsigned wrong = 0;
    int err;

    for (unsigned i = 0; i < COUNT; i++) {
        numbers[i] = (float)i;
    }
    err = launch(&(struct launch){.name = "retry",
                                  .kernel = kernel,
                                  .cores = 1,
                                  .retry = argc > 1 ? (unsigned)atoi(argv[1]) : 0,
                                  .keep = &keep,
                                  .n_keep = 1},
                 &report);
    for (unsigned i = 0; i < COUNT; i++) {
        wrong += numbers[i] != 2 * (float)i;
    }
    printf("retry: %s, begun again %u times, %u wrong\n", err ? err_text(err) : "done",
           report.retried, wrong);
    return err ? RUN_FAULT : wrong ? RUN_CHECK : RUN_OK;
}

COMMAND(retry, "[TIMES]", "a launch that is begun again when the hardware fails", run);
