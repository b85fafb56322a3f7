/* SPDX-License-Identifier: MIT
 *
 * The operator `waits`: a kernel that is right and slower than it need be. The Vector waits
 * for what it reads, and for a long copy behind that as well, so either wait would do.
 */
#include <stdlib.h>

#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/task.h"

enum { FULL, LATE, DONE };
enum { BYTES = 1024, FAR = 32 << 10, LONG = 128 << 10 };

static char *gm;

static void kernel(void *arg)
{
    union cmd cmd;

    (void)arg;
    vector_count(&cmd, BYTES / 4);
    task_issue(PIPE_V, &cmd);
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    cmd_post(&cmd, FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
    mte_gm_to_ub(&cmd, FAR, gm + FAR, LONG);
    cmd_post(&cmd, LATE, 1);
    task_issue(PIPE_MTE2, &cmd);
    vector_add(&cmd, TYPE_F32, 2 * BYTES, 0, 0);
    cmd_wait(&cmd, FULL, 1);
    cmd_wait(&cmd, LATE, 1);
    cmd_post(&cmd, DONE, 1);
    task_issue(PIPE_V, &cmd);
    mte_ub_to_gm(&cmd, gm + BYTES, 2 * BYTES, BYTES);
    cmd_wait(&cmd, DONE, 1);
    task_issue(PIPE_MTE3, &cmd);
}

static int run(int argc, char **argv)
{
    struct launch l = {.name = "waits", .kernel = kernel, .cores = 1};
    struct sched_report report;
    int err = ERR_NOMEM;

    (void)argc, (void)argv;
    gm = aligned_alloc(512, FAR + LONG);
    err = gm ? launch(&l, &report) : err;
    free(gm);
    return err ? report_error("waits", err, &report) : RUN_OK;
}

COMMAND(waits, "", "a kernel with a wait that orders nothing", run);
