/* SPDX-License-Identifier: MIT
 *
 * The scheduler; see sched.h.
 *
 * Who may run: a task that is READY, or whose semaphore can be taken or whose queue has
 * room; the loop looks at them in turn, from behind the one that ran last. Who wakes
 * whom: engines post semaphores and empty queues, nobody calls into here. Why no wake-up
 * is lost: a wait is armed in the device before its status is read; if that status is
 * clear and the condition comes true afterwards, the line rises and wfi falls through,
 * since interrupts are never taken and so never consumed.
 */
#include "sched/sched.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "hal/chip.h"
#include "hal/irq.h"
#include "hal/sem.h"

#define WAKE_SLOTS                                                                       \
    (PIPE_DEPTH / 2) /* free slots for which a full queue's task is woken */

/* A run looks for stopped engines when it is idle, and every so many rounds. */
#define FAULT_ROUNDS 64
#define TAG_BITS     24 /* of a command's tag; the number of its task + 1 is above them */

/* Values that a stray write hardly leaves behind. */
enum task_state { TASK_READY = 0x51, TASK_WAIT_SEM, TASK_WAIT_ROOM, TASK_ENDED };

struct context {
    uint64_t ra, sp, s[12], fs[12]; /* sched/switch.S */
};

struct task {
    struct context context;
    const char *name;
    void (*fn)(void *arg);
    void *arg;
    char *stack;
    enum task_state state;
    unsigned core;
    struct pipe_port *ports; /* of that core */
    unsigned what;           /* semaphore or pipe that it waits for */
    unsigned count;          /* how many */
    uint32_t tag;
};

void task_switch(struct context *from, const struct context *to);

static struct task tasks[TASK_MAX];
static unsigned n_tasks;
static unsigned last_run; /* index of the task that ran last */
static struct task *running;
static struct context scheduler;

const char *trap_task_name(void)
{
    return running ? running->name : NULL;
}

unsigned task_core(void)
{
    return running->core;
}

const char *task_name(void)
{
    return running->name;
}

void task_tag(uint32_t tag)
{
    uint32_t task = (uint32_t)(running - tasks) + 1;

    running->tag = task << TAG_BITS | (tag & ((1u << TAG_BITS) - 1));
}

/* First thing on a task's stack. */
static void task_entry(void)
{
    __asm__ volatile(".cfi_undefined ra"); /* backtraces end here */
    running->fn(running->arg);
    running->state = TASK_ENDED;
    task_switch(&running->context, &scheduler);
}

int task_create(const char *name, unsigned core, void (*fn)(void *arg), void *arg)
{
    struct task *t = &tasks[n_tasks];

    if (core >= chip_cores()) {
        return ERR_ARG;
    }
    if (n_tasks == TASK_MAX) {
        return ERR_NOMEM;
    }
    *t = (struct task){.name = name, .core = core, .fn = fn, .arg = arg};
    t->stack = aligned_alloc(16, TASK_STACK_BYTES);
    if (t->stack == NULL) {
        return ERR_NOMEM;
    }
    t->ports = pipe_ports[core];
    t->tag = (n_tasks + 1) << TAG_BITS;
    t->state = TASK_READY;
    t->context.ra = (uintptr_t)task_entry;
    t->context.sp = (uintptr_t)(t->stack + TASK_STACK_BYTES);
    n_tasks++;
    return 0;
}

static void wait_as(enum task_state state, unsigned what, unsigned count)
{
    struct task *self = running;

    self->state = state;
    self->what = what;
    self->count = count;
    task_switch(&self->context, &scheduler);
}

void task_yield(void)
{
    wait_as(TASK_READY, 0, 0);
}

void task_wait(unsigned sem, unsigned count)
{
    if (!sem_try_take(running->core, sem, count)) {
        wait_as(TASK_WAIT_SEM, sem, count);
    }
}

/* Apart, so that the usual case needs no stack frame. */
__attribute__((noinline)) static void issue_when_room(enum pipe pipe,
                                                      const union cmd *cmd)
{
    while (pipe_push(running->core, pipe, cmd) != 0) {
        wait_as(TASK_WAIT_ROOM, pipe, WAKE_SLOTS);
    }
}

__attribute__((noinline)) void task_issue(enum pipe pipe, union cmd *cmd)
{
    struct pipe_port *port = &running->ports[pipe];

    cmd->head.pc = (uintptr_t)__builtin_return_address(0);
    cmd->head.tag = running->tag;
    if (port->room == 0) {
        issue_when_room(pipe, cmd);
    } else {
        pipe_store(port, cmd);
    }
}

/* Whether a task can go on; takes the semaphore that it waited for. */
static bool task_can_run(struct task *t)
{
    switch (t->state) {
    case TASK_READY:
        return true;
    case TASK_WAIT_SEM:
        return sem_try_take(t->core, t->what, t->count);
    case TASK_WAIT_ROOM:
        return pipe_free(t->core, (enum pipe)t->what) >= t->count;
    case TASK_ENDED:
    default:
        return false;
    }
}

/* Asks the engines for a wake-up (or takes that back). Where several tasks wait for the
 * same thing, the one that wants least counts. */
static void arm_waits(bool on)
{
    for (unsigned i = 0; i < n_tasks; i++) {
        const struct task *t = &tasks[i];
        unsigned armed;
        if (t->state == TASK_WAIT_SEM) {
            armed = on ? sem_armed(t->core, t->what) : 0;
            sem_arm(t->core, t->what,
                    !on || (armed && armed < t->count) ? armed : t->count);
        } else if (t->state == TASK_WAIT_ROOM) {
            pipe_arm(t->core, (enum pipe)t->what, on ? t->count : 0);
        }
    }
}

/* For the end of a run, when only engines are left. */
static void arm_queues(unsigned slots)
{
    for (unsigned c = 0; c < chip_cores(); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (pipe_name(p)[0] != '?' && (slots == 0 || !pipe_idle(c, (enum pipe)p))) {
                pipe_arm(c, (enum pipe)p, slots);
            }
        }
    }
}

static int append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text + used, size - used, format, args);
    va_end(args);
    return n;
}

static void describe_deadlock(struct sched_report *report)
{
    char *text = report->text;
    size_t size = sizeof(report->text);

    append(text, size, "deadlock at cycle %llu: nobody can run and nothing is in flight",
           (unsigned long long)chip_cycle());
    for (unsigned i = 0; i < n_tasks; i++) {
        const struct task *t = &tasks[i];
        if (t->state == TASK_WAIT_SEM) {
            append(text, size, "\n  task %s waits for semaphore %u of core %u: %u of %u",
                   t->name, t->what, t->core, sem_value(t->core, t->what), t->count);
        } else if (t->state == TASK_WAIT_ROOM) {
            append(text, size, "\n  task %s waits for room in %s of core %u", t->name,
                   pipe_name(t->what), t->core);
        }
    }
    for (unsigned c = 0; c < chip_cores(); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (pipe_name(p)[0] != '?' && !pipe_idle(c, (enum pipe)p)) {
                append(text, size, "\n  pipe %s of core %u waits with %u command(s)",
                       pipe_name(p), c, PIPE_DEPTH - pipe_free(c, (enum pipe)p));
            }
        }
    }
}

/* Runs whoever can run, from behind the one that ran last; the number of tasks that did,
 * and in *left those not ended. */
static unsigned run_round(unsigned *left)
{
    unsigned ran = 0, first = last_run + 1;

    *left = 0;
    for (unsigned i = 0; i < n_tasks; i++) {
        struct task *t = &tasks[(first + i) % n_tasks];
        if (task_can_run(t)) {
            t->state = TASK_READY;
            running = t;
            chip_mark(t->name);
            task_switch(&scheduler, &t->context);
            running = NULL;
            last_run = (unsigned)(t - tasks);
            ran++;
        }
        *left += t->state != TASK_ENDED;
    }
    return ran;
}

/* ERR_FAULT and the report if anything has stopped, on any core. */
static int find_fault(struct sched_report *report)
{
    for (unsigned c = 0; c < chip_cores(); c++) {
        if (irq_fault(c) && core_fault(c, &report->fault)) {
            unsigned task = report->fault.tag >> TAG_BITS;
            report->task = task && task <= n_tasks ? tasks[task - 1].name : NULL;
            fault_text(&report->fault, report->text, sizeof(report->text));
            return ERR_FAULT;
        }
    }
    return 0;
}

/* Engines that still have commands; *in_flight: some of these run. */
static bool engines_busy(bool *in_flight)
{
    bool busy = false;

    *in_flight = false;
    for (unsigned c = 0; c < chip_cores(); c++) {
        busy |= core_busy(c);
        *in_flight |= core_in_flight(c);
    }
    return busy;
}

/* Nobody can run: sleeps until something may have changed. ERR_DEADLOCK if nothing can.
 */
static int idle(bool tasks_left)
{
    bool in_flight, wanted = false;

    arm_waits(true);
    if (!tasks_left) {
        arm_queues(PIPE_DEPTH); /* wake when one is empty */
    }
    for (unsigned c = 0; c < chip_cores(); c++) {
        irq_arm_idle(c, core_in_flight(c)); /* or a deadlock would sleep for ever */
    }
    engines_busy(&in_flight);
    for (unsigned c = 0; c < chip_cores(); c++) {
        wanted |= irq_wanted(c);
    }
    if (wanted || in_flight) {
        chip_mark("idle");
        irq_wait();
        chip_mark("scheduler");
    }
    for (unsigned c = 0; c < chip_cores(); c++) {
        irq_arm_idle(c, false);
    }
    arm_waits(false);
    if (!tasks_left) {
        arm_queues(0);
    }
    return wanted || in_flight ? 0 : ERR_DEADLOCK;
}

static void free_tasks(void)
{
    for (unsigned i = 0; i < n_tasks; i++) {
        free(tasks[i].stack);
    }
    n_tasks = 0;
}

void sched_drop(void)
{
    free_tasks();
    for (unsigned c = 0; c < chip_cores(); c++) {
        core_reset(c);
    }
    chip_reset();
}

int sched_run(struct sched_report *report)
{
    unsigned left = 0, rounds = 0;
    bool in_flight, busy;
    int err = 0;

    memset(report, 0, sizeof(*report));
    last_run = n_tasks - 1;
    do {
        unsigned ran = run_round(&left);
        busy = left == 0 && engines_busy(&in_flight);
        if (ran == 0 || left == 0 || ++rounds % FAULT_ROUNDS == 0) {
            err = find_fault(report);
        }
        if (ran == 0 && (left || busy) && !err) {
            err = idle(left != 0);
            if (err) {
                describe_deadlock(report);
            }
        }
    } while (!err && (left || busy));
    chip_mark(NULL);
    if (err) {
        sched_drop();
    } else {
        free_tasks();
    }
    return err;
}

unsigned sched_leftovers(unsigned core, char *text, size_t size)
{
    unsigned found = 0;

    text[0] = 0;
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (pipe_name(p)[0] != '?' && !pipe_idle(core, (enum pipe)p)) {
            append(text, size, "%spipe %s of core %u is not empty", found++ ? ", " : "",
                   pipe_name(p), core);
        }
    }
    for (unsigned s = 0; s < SEM_COUNT; s++) {
        unsigned value = sem_value(core, s);
        if (value != 0) {
            append(text, size, "%ssemaphore %u of core %u is %u", found++ ? ", " : "", s,
                   core, value);
        }
    }
    return found;
}
