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
    uint64_t limit;  /* cycles after which a watchdog ends it, 0: none */
};

/*
 * Runs every block and returns when the last command has ended. At the end of a block
 * its spawned tasks have returned, its pipes are empty, its queues' buffers are free and
 * its semaphores are 0; otherwise ERR_LEFT, and the report names what is left. Returns 0,
 * ERR_CORES or ERR_BUSY (by a task; nothing was started), ERR_NOMEM or what sched_run()
 * returns, ERR_LATE among it.
 */
MUST_CHECK int launch(const struct launch *l, struct sched_report *report);

/* Waits until one task of every block has come here. The blocks must all run at once: a
 * launch of more blocks than cores ends with ERR_BARRIER. */
#define task_barrier() task_barrier_at(SCHED_HERE)
void task_barrier_at(const char *where);
/* The same by commands, without the hart: one that posts LAUNCH_ARRIVE, a later one that
 * waits for LAUNCH_GO. The chip's other semaphores, from SEM_CORE up, are free for
 * messages from core to core. */
enum { LAUNCH_ARRIVE = SEM_COUNT - 1, LAUNCH_GO = SEM_CORE - 1 };

#endif
