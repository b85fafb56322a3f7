/* SPDX-License-Identifier: MIT
 *
 * Launching a kernel over blocks, as `kernel<<<blocks>>>` does on Ascend: each block runs
 * on one AI core, blocks beyond the number of cores begin when a core is free. The kernel
 * is a task; it sets up its queues (sched/tque.h), spawns its loops as tasks of their own
 * or runs them itself, and returns.
 *
 *     static void kernel(void *arg)
 *     {
 *         ... rows [m * task_block() / task_blocks(), ...) are this block's share
 *     }
 *     err = launch(&(struct launch){"vadd", kernel, &args, .cores = 4}, &report);
 */
#ifndef SCHED_LAUNCH_H
#define SCHED_LAUNCH_H

#include "sched/sched.h"

struct launch {
    const char *name;
    void (*kernel)(void *arg);
    void *arg;
    unsigned cores;  /* AI cores to use, 0: all of the chip */
    unsigned blocks; /* 0: one for each of these cores */
};

/*
 * Runs every block and returns when the last command has ended. At the end of a block
 * its spawned tasks have returned, its pipes are empty, its queues' buffers are free and
 * its semaphores are 0; otherwise ERR_LEFT, and the report names what is left. Returns 0,
 * ERR_CORES (nothing was started), ERR_NOMEM or what sched_run() returns.
 */
MUST_CHECK int launch(const struct launch *l, struct sched_report *report);

#endif
