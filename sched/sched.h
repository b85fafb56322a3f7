/* SPDX-License-Identifier: MIT
 *
 * Cooperative tasks on the one hart, each bound to an AI core. A task issues commands to
 * that core's pipes and gives the hart away only when it has to wait: for a semaphore or
 * for room in a queue. When nobody can run the hart sleeps until an engine wakes it; when
 * nobody can run and nothing is in flight, that is a deadlock and ends the run at once.
 *
 * A run is: task_create() some tasks, sched_run(). Tasks are ordinary C: locals live,
 * helpers may block, gdb walks each stack.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "hal/err.h"
#include "hal/pipe.h"

enum {
    TASK_MAX = 128,           /* tasks of one run */
    TASK_STACK_BYTES = 16384, /* of each */
};

/* Adds a task that will run fn(arg). ERR_NOMEM; ERR_ARG: the chip has no such core. */
MUST_CHECK int task_create(const char *name, unsigned core, void (*fn)(void *arg),
                           void *arg);
/* Runs the tasks until all have returned and the engines have nothing left to do. On
 * ERR_FAULT (an engine or a register access, see *report) and ERR_DEADLOCK the tasks are
 * dropped and the cores are reset, so that the next run starts clean. */
struct sched_report {
    struct fault fault; /* ERR_FAULT */
    const char *task;   /* that issued the command, or NULL */
    char text[768];     /* in words, lines without a newline at the end; "" if none */
};
MUST_CHECK int sched_run(struct sched_report *report);
/* Takes back task_create and what it was prepared with: drops the tasks, resets the cores
 * and the chip's semaphores. */
void sched_drop(void);
/* What a run has left behind on a core: queued commands, semaphores that are not 0.
 * Returns how many such things there are and names them in text. */
unsigned sched_leftovers(unsigned core, char *text, size_t size);

/* The rest is for tasks only. */
unsigned task_core(void);
const char *task_name(void);
/* Lets the others run. */
void task_yield(void);
/* Takes `count` from a semaphore, waiting until it holds so many. */
void task_wait(unsigned sem, unsigned count);
/* Appends a command to a pipe of the task's core, waiting while the queue is full. The
 * command carries the caller's pc and the task's tag. */
void task_issue(enum pipe pipe, union cmd *cmd);
/* Tag of the commands that the task issues from now on, 24 bits; above them the task's
 * own number is added. */
void task_tag(uint32_t tag);

#endif
