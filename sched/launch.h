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

/*
 * A kernel may stay on its cores and be called for one argument after another, as often as
 * launches of their own would call it but for a fraction of their cost (`make bench`): steps.
 * Each of them ends as a launch does, with nothing left behind and all blocks together,
 * before the next begins; one that fails ends the launch, and its report says which it was.
 * Semaphores of the chip are looked at when the launch ends.
 *
 *     static void *args[8];
 *     struct steps steps = {.args = args, .room = 8};
 *     err = steps_add(&steps, &first) || steps_add(&steps, &second);
 *     err = launch(&(struct launch){"two", kernel, .steps = &steps}, &report);
 *
 * A step may add others behind those that are there.
 */
struct steps {
    void **args;
    unsigned room, n; /* of args; steps so far */
};

/*
 * Hardware that fails now and then: a launch that ends with a fault, a deadlock or too late
 * is begun again up to `retry` times, on cores that have been reset. What it reads and also
 * writes has to be as it was: each range of `keep` is copied before the first time, on the
 * heap, and put back before each further one. Inputs that it does not write need no copy.
 * A result that is wrong and not noticed is not noticed here either.
 */
struct keep {
    void *data;
    size_t bytes;
};

struct launch {
    const char *name;
    void (*kernel)(void *arg);
    void *arg;
    unsigned cores;      /* AI cores to use, 0: all of the chip */
    unsigned blocks;     /* 0: one for each of these cores */
    uint64_t limit;      /* cycles after which a watchdog ends it, 0: none */
    struct steps *steps; /* instead of arg; the blocks must all run at once */
    unsigned retry;      /* times */
    const struct keep *keep;
    unsigned n_keep; /* of these */
};

/* One more step at the end of the table. ERR_OVERFLOW, and it is as it was: no room. */
MUST_CHECK int steps_add(struct steps *steps, void *arg);
/* The number of the step that the task's block is in, from 0 up. */
unsigned task_step(void);

/*
 * Runs every block and returns when the last command has ended. At the end of a block
 * its spawned tasks have returned, its pipes are empty, its queues' buffers are free and
 * its semaphores are 0; otherwise ERR_LEFT, and the report names what is left. Returns 0,
 * ERR_CORES, ERR_BARRIER (steps of more blocks than cores) or ERR_BUSY (by a task; nothing was
 * started), ERR_NOMEM or what sched_run()
 * returns, ERR_LATE among it; ERR_NOMEM as well if there is none for copies of what is to
 * be kept. report->retried says how often it was begun again, and with 0 as the result the
 * text is still what was wrong the last time.
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
