/* SPDX-License-Identifier: MIT
 *
 * The operator `plants`: kernels as somebody writes them who has read the pages once, each
 * with one mistake. --sound corrects all of them, --list prints what a checker has to say of
 * each: NAME and what plants.def has.
 */
#include "tests/broken/plants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"

char *gm;
bool right;

void plant_sync(union cmd *cmd, unsigned wait, unsigned post)
{
    if (wait != NONE) {
        cmd_wait(cmd, wait, 1);
    }
    if (post != NONE) {
        cmd_post(cmd, post, 1);
    }
}

void work_on(uint32_t bytes)
{
    union cmd cmd;

    vector_count(&cmd, bytes / 4);
    task_issue(PIPE_V, &cmd);
}

void fill_ub(void)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, GM_BYTES);
    task_issue(PIPE_MTE2, &cmd);
    task_drain();
}

static const struct {
    const char *name;
    void (*kernel)(void *arg);
    unsigned cores;
    const char *want;
} plants[] = {
#define PLANT(name, cores, want) {#name, name, cores, want},
#include "tests/broken/plants.def"
#undef PLANT
};
enum { PLANTS = sizeof(plants) / sizeof(plants[0]) };

static int run_one(unsigned i)
{
    struct launch l = {
        .name = plants[i].name, .kernel = plants[i].kernel, .cores = plants[i].cores};
    struct sched_report report;
    int err = launch(&l, &report);

    return err ? report_error(plants[i].name, err, &report) : RUN_OK;
}

static int run(int argc, char **argv)
{
    int status = RUN_OK;

    right = argc > 1 && strcmp(argv[argc - 1], "--sound") == 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (unsigned i = 0; i < PLANTS; i++) {
            printf("%s %s\n", plants[i].name, plants[i].want);
        }
        return RUN_OK;
    }
    gm = aligned_alloc(FAR, GM_BYTES);
    for (unsigned i = 0; gm && i < PLANTS; i++) {
        if (argc < 2 + right || strcmp(argv[1], plants[i].name) == 0) {
            int one;
            memset(gm, 0, GM_BYTES);
            one = run_one(i);
            status = one > status ? one : status;
        }
    }
    free(gm);
    return gm ? status : RUN_INPUT;
}

COMMAND(plants, "[NAME] [--sound | --list]", "kernels with one mistake each", run);
