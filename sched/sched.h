/* SPDX-License-Identifier: MIT
 *
 * Cooperative tasks on the one hart, each bound to an AI core. A task issues commands to
 * that core's pipes and gives the hart away only when it has to wait: for semaphores, for
 * room in a queue, for a cycle, for another task. When nobody can run the hart sleeps
 * until an engine wakes it; when nobody can run and nothing is in flight, that is a
 * deadlock and ends the run at once.
 *
 * A run is: task_create() some tasks, sched_run(). Tasks are ordinary C: locals live,
 * helpers may block, gdb walks each stack. Operators use launch() (sched/launch.h), which
 * does both, and the queues of sched/tque.h.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "hal/err.h"
#include "hal/pipe.h"
#include "hal/sem.h"

enum {
    TASK_MAX = 192,           /* tasks that live at one time */
    TASK_STACK_BYTES = 16384, /* of each */
    TASK_PRIORITIES = 4,      /* 0 to 3; 3 runs first */
    TASK_NORMAL = 1,
    TASK_WANTS = 4,    /* semaphores that one wait may name */
    SCHED_TEXT = 3072, /* bytes of a report */
};

/* Of waits: no time-out. */
#define SCHED_FOREVER UINT64_MAX
/* The caller's file and line, for reports. */
#define SCHED_HERE        __FILE__ ":" SCHED_TEXT_OF(__LINE__)
#define SCHED_TEXT_OF(x)  SCHED_TEXT_OF_(x)
#define SCHED_TEXT_OF_(x) #x

/* Adds a task that will run fn(arg), from outside of tasks. ERR_NOMEM; ERR_ARG: the chip
 * has no such core; ERR_BUSY: called by a task. */
MUST_CHECK int task_create(const char *name, unsigned core, void (*fn)(void *arg),
                           void *arg);

struct sched_report {
    struct fault fault;    /* ERR_FAULT */
    unsigned retried;      /* times that a launch was begun again */
    const char *task;      /* that issued the command or made the mistake, or NULL */
    char text[SCHED_TEXT]; /* in words, lines without a newline at the end; "" if none */
};
/*
 * Runs the tasks until all have returned and the engines have nothing left to do. On an
 * error the tasks are dropped and the cores are reset, so that the next run starts clean:
 * ERR_FAULT (an engine or a register access, see *report), ERR_DEADLOCK, ERR_STACK,
 * ERR_GUARD, and what a task has given to task_fail(). ERR_BUSY: called by a task, nothing
 * has changed.
 */
MUST_CHECK int sched_run(struct sched_report *report);
/* Watchdog: the next sched_run, by that name in its report, ends with ERR_LATE after so
 * many cycles; 0: never. A task that neither waits nor yields is beyond it. */
void sched_limit(const char *name, uint64_t cycles);
/* Takes back task_create and what it was prepared with: drops the tasks, resets the cores
 * and the chip's semaphores. Does nothing in a task. */
void sched_drop(void);
/* What a run has left behind on a core: queued commands, semaphores that are not 0.
 * Returns how many such things there are and names them in text. */
unsigned sched_leftovers(unsigned core, char *text, size_t size);
/* A name for a core's semaphore in reports, NULL takes it away; role: FREE, FULL or "". */
#define sched_label(core, sem, name, role)                                               \
    sched_label_at((core), (sem), (name), (role), SCHED_HERE)
void sched_label_at(unsigned core, unsigned sem, const char *name, const char *role,
                    const char *where);

/* Once, before anything else: the stacks of tasks and their guards. */
void sched_init(void);

/* Counted since the last sched_run began. */
struct sched_stats {
    uint64_t switches; /* from one task to another, or from the scheduler to one */
    uint64_t sleeps;   /* in wfi */
    uint64_t in_vain;  /* sleeps after which still nobody could run */
};
struct sched_stats sched_stats(void);
/* Bytes of stack that task number i has used at the most since power-on. */
unsigned sched_stack_used(unsigned i);
/* Lowest byte of its stack, NULL: it has never had one. */
char *sched_stack(unsigned i);
/* Name of the running task, NULL if none runs; may be asked within a trap. */
const char *sched_running(void);

/* --- the rest is for tasks only --- */

unsigned task_core(void);
const char *task_name(void);
/* The block that the task works for and how many there are (sched/launch.h). */
unsigned task_block(void);
unsigned task_blocks(void);
/* Starts a task on the same core and for the same block and returns its number. Without
 * memory for it the run ends with ERR_NOMEM. */
int task_spawn(const char *name, void (*fn)(void *arg), void *arg);
/* Waits until a spawned task has returned; until all that this one has spawned have, and
 * those which they have left running. */
void task_join(int task);
void task_join_all(void);
/* As returning from the task's function. */
_Noreturn void task_exit(void);
/* Tasks of higher priority, up to TASK_PRIORITIES - 1, run first whenever they can. */
void task_priority(unsigned priority);
/* Lets the others run. */
void task_yield(void);
void task_sleep_until(uint64_t cycle);

/* Takes `count` from a semaphore, waiting until it holds so many. */
#define task_wait(sem, count) task_wait_at((sem), (count), SCHED_HERE)
void task_block_on(unsigned sem, unsigned count, const char *where);
/* Of the running task's core. */
extern uintptr_t task_window;
extern struct pipe_port *task_ports;
/* Runs since power-on. */
extern uint32_t sched_run_number;
static inline void task_wait_at(unsigned sem, unsigned count, const char *where)
{
    if (sem >= SEM_COUNT || sem_try_take_at(task_window, sem, count) != 0) {
        task_block_on(sem, count, where);
    }
}
/* Waits that give up at a cycle: 0, or ERR_TIMEOUT and nothing was taken. ERR_ARG: no
 * such semaphore, or more than SEM_MAX. */
struct want {
    uint16_t sem, count;
};
#define task_wait_until(sem, count, cycle)                                               \
    task_wait_sems(&(struct want){(uint16_t)(sem), (uint16_t)(count)}, 1, true, (cycle), \
                   SCHED_HERE)
/* The first of n semaphores that can be taken: its index. */
#define task_wait_any(wants, n, cycle)                                                   \
    task_wait_sems((wants), (n), false, (cycle), SCHED_HERE)
/* All of them at once; none is held while another is waited for. What is named twice adds
 * up. */
#define task_wait_all(wants, n, cycle)                                                   \
    task_wait_sems((wants), (n), true, (cycle), SCHED_HERE)
MUST_CHECK int task_wait_sems(const struct want *wants, unsigned n, bool all,
                              uint64_t cycle, const char *where);
/* `slots` free slots, at most PIPE_DEPTH, in a queue of the task's core, or ERR_ARG. */
MUST_CHECK int task_wait_room(enum pipe pipe, unsigned slots, uint64_t cycle);
/* So many free slots in any one of the queues for which slots[pipe] is not 0. */
MUST_CHECK int task_wait_rooms(const uint8_t slots[NPU_PIPES], uint64_t cycle);
/* A fault of the task's core, which then does not end the run: the task clears it. */
MUST_CHECK int task_wait_fault(struct fault *fault, uint64_t cycle);
/* Everything that has been issued to the task's core has ended. */
void task_drain(void);

/* Adds to a semaphore; above SEM_MAX ends the run with ERR_SEM. Never by a jump at the end
 * of the caller, whose line no checker would know then. */
#define task_post(sem, count)                                                            \
    do {                                                                                 \
        task_post_at((sem), (count), SCHED_HERE);                                        \
        __asm__ volatile("");                                                            \
    } while (0)
void task_post_at(unsigned sem, unsigned count, const char *where);
/* Appends a command to a pipe of the task's core, waiting while the queue is full. The
 * command carries the caller's pc and the task's tag. Now and then it lets others run, so
 * a pipe to which two tasks issue sees their commands mixed. */
void task_issue(enum pipe pipe, union cmd *cmd);
/* Appends `count` commands that follow each other, 1 to PIPE_DEPTH, by one store, waiting
 * until there is room for all; more, or none, end the run with ERR_SEQUENCE. They get the
 * caller's pc where they have none, and the task's tag, unless the first and the last have
 * it already: what is issued again and again is then not touched. */
#define task_issue_many(pipe, cmds, count)                                               \
    task_issue_many_at((pipe), (cmds), (count), SCHED_HERE)
void task_issue_many_at(enum pipe pipe, union cmd *cmds, unsigned count,
                        const char *where);
/* The next command that is issued to the pipe of this core also waits for `count`. A command
 * has room for two waits; for more, a NOP in front of it waits. A block that ends before
 * there was such a command has failed. */
void task_owe_wait(enum pipe pipe, unsigned sem, unsigned count);
/* Tag of the commands that the task issues from now on, 24 bits; above them the task's
 * own number is added. */
void task_tag(uint32_t tag);
/* Ends the run: sched_run returns err, its report says who, where (SCHED_HERE) and what.
 */
__attribute__((format(printf, 3, 4))) _Noreturn void task_fail(int err, const char *where,
                                                               const char *format, ...);

#endif
