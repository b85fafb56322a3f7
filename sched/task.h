/* SPDX-License-Identifier: MIT
 *
 * What the files of sched/ share; nobody else includes it.
 */
#ifndef SCHED_TASK_H
#define SCHED_TASK_H

#include "hal/pmu.h"
#include "sched/sched.h"

#define TAG_BITS  24 /* of a command's tag; the slot of its task + 1 is above */
#define SLOT_BITS 8  /* of a task's number; above them, which task of its slot it is */

/* Values that a stray write hardly leaves behind. */
enum task_state {
    TASK_READY = 0x51,
    TASK_WAIT_SEM,   /* wants[], all of them or any */
    TASK_WAIT_ROOM,  /* count slots of pipe `what` */
    TASK_WAIT_ROOMS, /* slots[], in any queue where it is not 0 */
    TASK_WAIT_FAULT, /* of its core */
    TASK_WAIT_TASK,  /* of slot `what`, generation `count` */
    TASK_WAIT_TIME,  /* until */
    TASK_ENDED,
};

struct context {
    uint64_t ra, sp, s[12], fs[12]; /* sched/switch.S */
    uint64_t has_fs;                /* fs[] holds something */
    uint64_t spent;                 /* instructions of the hart (sched_charge) */
};

struct task {
    struct context context;
    const char *name;
    uint64_t work; /* chip_work of name and core */
    void (*fn)(void *arg);
    void *arg;
    char *stack; /* lowest byte; the guard lies below */
    char *low;   /* lowest stack pointer of its longer switches */
    enum task_state state;
    unsigned core, priority;
    struct task *peer;       /* the next in tasks_of, or among those that have ended */
    struct pipe_port *ports; /* of that core */
    uintptr_t window;
    int parent; /* slot of the task that has spawned it, or -1 */
    unsigned children, generation;
    void **leave; /* where task_exit goes, NULL: it ends the task */
    unsigned block, blocks, step;
    uint32_t tag;
    /* what it waits for */
    unsigned what;  /* semaphore (the one that lacks, of several), pipe or task */
    unsigned count; /* how many */
    struct want wants[TASK_WANTS];
    unsigned n_wants;
    bool all;
    uint64_t since, until;
    const char *where;
    int result;
    struct fault *fault;
    uint8_t slots[NPU_PIPES];
};

void task_switch(struct context *from, struct context *to);

/* measure.c: what the hart does besides tasks, and the instructions that it has taken. */
enum hart_part { HART_LAUNCH, HART_SCHEDULER, HART_IDLE, HART_PARTS };
extern uint64_t hart_parts[HART_PARTS];
/* A launch is called, begins to be measured, returns; a run begins, in a launch or by
 * itself; a task of that name will not use the hart any more. */
void measure_call(void);
void measure_enter(void);
void measure_return(void);
void measure_run(void);
void measure_task(const char *name, uint64_t spent);

/* sched.c: the table, ended tasks among them; the task on the hart, NULL: the scheduler.
 */
extern struct task *running;
struct task *sched_task(unsigned i);
unsigned sched_tasks(void);
/* Those of a core that have not ended, linked by `peer`. What a task does by itself looks
 * at these only, since its core is charged for it, whatever the others do. */
extern struct task *tasks_of[NPU_MAX_CORES];
/* Charges somebody with what the hart has done since the last charge. */
void sched_charge(uint64_t *spent);
/* Lets others run until the caller, whose state says what it waits for, is chosen. */
void sched_give_away(void);
/* Whether the task of a slot and generation has ended. */
bool sched_ended(unsigned slot, unsigned generation);
/* Gives the running task a priority. */
void sched_prioritise(unsigned priority);
/* Ends the run with an error and what the text says. */
_Noreturn void sched_stop(int err);
/* Text of the report of this run, SCHED_TEXT bytes. */
char *sched_text(void);
/* A new task on the running one's behalf: its number or ERR_NOMEM. */
int sched_begin(const char *name, unsigned core, void (*fn)(void *arg), void *arg);

/* task.c: a slot's next task is as if there had been none before it. */
void task_renew(struct task *t, const char *name, unsigned core, void (*fn)(void *arg),
                void *arg);
/* Waits until a queue of the running task's core has so many free slots, which are
 * there until the task gives the hart away. */
void task_make_room(enum pipe pipe, unsigned slots);
/* Appends to a text, which stays within its size; as snprintf. */
__attribute__((format(printf, 3, 4))) int sched_append(char *text, size_t size,
                                                       const char *format, ...);
/* wait.c: arms the wake-up of a task that begins to wait; takes it back; whether the task
 * can go on, which takes what it waited for. */
void wait_arm(struct task *t);
void wait_disarm(struct task *t);
bool wait_over(struct task *t);
/* The core's line is up from cycle `until` on, or from when the first wait of its tasks that
 * has an end is over, which brings its scalar unit forward as any other end of a wait. */
void wait_alarm(unsigned core, uint64_t until);
/* Takes the semaphores that t wants if they can be taken now. */
bool wait_take(struct task *t);
/* A task waits, or has waited, for the core's faults, which then do not end the run; one
 * that has leaves them to the run again. */
bool wait_supervised(unsigned core);
void wait_leave_faults(struct task *t);
/* task.c: the wait joins those that a command of the port owes, which a NOP pays if there
 * is no room for it. */
void task_owe(struct pipe_port *port, uint32_t wait);
/* A NOP behind the next command of the port posts it; false: two such are owed already. */
bool task_owe_post(struct pipe_port *port, uint32_t post);
extern uint32_t task_owed_posts; /* cores that have such, a bit each */
/* Forgets those of a core; returns one of them, or 0. */
uint32_t task_forget_posts(unsigned core);
/* Forgets what a run leaves of a core: its queues, what its pipes owe and have room for. */
void task_forget(unsigned core);
/* Which queue of a core, and in which line, has let a pipe owe a wait for the semaphore;
 * false: none. */
bool tque_owes(unsigned core, unsigned sem, char *text, size_t size);
/* report.c: names waits that the core's pipes owe and nobody has issued, and forgets them. */
unsigned report_owed(unsigned core, char *text, size_t size);
/* tque.c: forgets a core's queues, at the end of a run. */
void tpipe_forget(unsigned core);
/* stack.c */
void stack_repaint(struct task *t);
/* Whether the guard is as it was: its highest word; its ends, and the caller, who runs on
 * this stack, is above it; all of it. */
static inline bool stack_quickly_ok(const struct task *t)
{
    return ((const uint64_t *)(const void *)t->stack)[-1] == (uintptr_t)t->stack;
}
bool stack_ok(struct task *t);
bool stack_whole(const struct task *t);
/* The report of a guard that is not: ERR_STACK, who has overflowed, or ERR_GUARD, who or
 * what else has written there. */
int stack_verdict(struct sched_report *report);
/* watchdog.c: begins with a run; the cycle at which it ends one; ERR_LATE and the report
 * if that has come. */
void watchdog_begin(void);
uint64_t watchdog_end(void);
int watchdog_check(struct sched_report *report);
/* report.c: appends to a text of SCHED_TEXT bytes, if there is one, which command of those
 * that the pipes still know writes to [begin, end) of GM; false: none. */
bool report_writer(char *text, uint64_t begin, uint64_t end);
void report_fault(struct sched_report *report); /* whose `fault` is set */
void report_deadlock(struct sched_report *report);
void report_overdue(struct sched_report *report, const char *name, uint64_t limit);
/* Takes away the names of a core's first `sems` semaphores. */
void report_forget_labels(unsigned core, unsigned sems);
/* The hart posts a semaphore; what can be known of who has posted and taken it last. */
void report_hart_posts(unsigned core, unsigned sem, const char *where);
void report_forget_posts(unsigned core, unsigned sems);
void report_history(unsigned core, unsigned sem, char *text, size_t size);
/* As sched_leftovers, for the first `sems` semaphores, behind what is in text; of the first
 * `told` that are left also their history. */
unsigned left_behind(unsigned core, unsigned sems, unsigned told, char *text,
                     size_t size);

#endif
