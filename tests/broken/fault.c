/* SPDX-License-Identifier: MIT
 *
 * The operator `fault`: a kernel with a mistake, so that one can see how the machine
 * tells it. The run ends with status 3; what follows on the command line still runs.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"

enum { DONE = 0, NEVER = 1 /* nobody posts it */ };

static uint8_t gm[64] __attribute__((aligned(512)));

/* A destination that is not a multiple of 32. */
static void fault_align(void)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 16, gm, sizeof(gm));
    task_issue(PIPE_MTE2, &cmd);
}

/* One element more than UB holds. */
static void fault_bounds(void)
{
    union cmd cmd;

    vector_count(&cmd, chip_mem(NPU_MEM_UB) / 4 + 1);
    task_issue(PIPE_V, &cmd);
    vector_add(&cmd, TYPE_F32, 0, 0, 0);
    task_issue(PIPE_V, &cmd);
}

/* A pointer that is none. */
static void fault_gm(void)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, NULL, sizeof(gm));
    task_issue(PIPE_MTE2, &cmd);
}

/* A command for another pipe. */
static void fault_pipe(void)
{
    union cmd cmd;

    mte_ub_to_gm(&cmd, gm, 0, sizeof(gm));
    task_issue(PIPE_MTE2, &cmd);
}

/* A type that the Cube does not multiply. */
static void fault_type(void)
{
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_S16, .m = 16, .n = 16, .k = 16});
    task_issue(PIPE_M, &cmd);
}

/* One wait more than there are posts. */
static void fault_deadlock(void)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, NEVER, 1);
    cmd_post(&cmd, DONE, 1);
    task_issue(PIPE_V, &cmd);
}

/* More posts than a semaphore holds. */
static void fault_overflow(void)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, NEVER, SEM_MAX);
    task_issue(PIPE_V, &cmd);
    task_issue(PIPE_V, &cmd);
}

/* A store to a register that cannot be written. */
static void fault_register(void)
{
    write64(core_base(task_core()) + CORE_ID, 1);
}

static const struct {
    const char *name;
    void (*make)(void);
} faults[] = {
    {"align", fault_align},
    {"bounds", fault_bounds},
    {"gm", fault_gm},
    {"pipe", fault_pipe},
    {"type", fault_type},
    {"deadlock", fault_deadlock},
    {"overflow", fault_overflow},
    {"register", fault_register},
};

static void task(void *arg)
{
    void (*const *make)(void) = arg;

    (*make)();
    task_wait(DONE, 1); /* which no fault posts */
}

static int run(int argc, char **argv)
{
    const char *kind = argc == 1 ? "bounds" : argv[1];
    struct sched_report report;
    int err;

    for (size_t i = 0; argc <= 2 && i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strcmp(kind, faults[i].name) == 0) {
            err = task_create(kind, 0, task, (void *)&faults[i].make);
            err = err ? err : sched_run(&report);
            return report_error("fault", err, &report);
        }
    }
    fprintf(stderr, "salai: fault: which?\n");
    return RUN_INPUT;
}

COMMAND(fault, "[align|bounds|gm|pipe|type|deadlock|overflow|register]",
         "breaks a rule of the hardware in a task, to show how that is told", run);
