/* SPDX-License-Identifier: MIT
 *
 * The scheduler; see sched.h.
 *
 * Who may run: a task that is READY, or whose wait is over; of those with the highest
 * priority the one next behind the task that ran last. A task that gives the hart away
 * switches straight to it, and to the scheduler on the main stack only if there is none.
 *
 * Who wakes whom: engines post semaphores and empty queues, nobody calls into here. Why
 * no wake-up is lost: a wait is armed in the device before its task is switched away
 * from, and from then on the core's line is up exactly while the wait could end (lines
 * are levels, never consumed: interrupts are not taken). So it is enough to look at the
 * tasks of the cores that CHIP_WANTED names; if it names none and something rises
 * afterwards, wfi falls through.
 */
#include "sched/sched.h"

#include <assert.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/irq.h"
#include "sched/task.h"

#define FAULT_SWITCHES 32 /* behind so many, or idle, a run looks for stopped engines */
#define RUN_OVER       1  /* run_err: nothing is left to do */
#define SLOTS          16 /* of tasks: so many are new before those of ended ones are taken */

static struct task tasks[TASK_MAX];
static unsigned n_tasks;   /* slots of tasks[] in use, ended ones among them */
static unsigned n_left;    /* tasks that have not ended */
static unsigned n_timed;   /* tasks whose wait has a time-out */
static uint32_t in_use;    /* a bit for each core that has tasks; others cost nothing */
static struct task *ended; /* whose slots are free, the last one first */
struct task *tasks_of[NPU_MAX_CORES];
/* What every switch needs, side by side. */
static struct {
    struct task *last, *end; /* that ran last; behind those in use */
    uint64_t switches;
    uint64_t since;                      /* hart_clock() when the hart was charged last */
    unsigned switches_left, yields_left; /* until the scheduler looks at everything */
} hot = {.last = tasks, .end = tasks};
struct task *running;
uint32_t sched_run_number;
uintptr_t task_window;
struct pipe_port *task_ports;
static unsigned n_of_priority[TASK_PRIORITIES]; /* tasks that have not ended */
static bool prioritised; /* some task has another priority than TASK_NORMAL */
static struct context scheduler;
static struct sched_report *run_report;
static int run_err;
static struct sched_stats stats;

struct task *sched_task(unsigned i)
{
    return &tasks[i];
}

unsigned sched_tasks(void)
{
    return n_tasks;
}

const char *sched_running(void)
{
    return running ? running->name : NULL;
}

/* --- who runs next --- */

static bool time_over(const struct task *t)
{
    return t->until != SCHED_FOREVER && chip_cycle() >= t->until;
}

/* Makes a task READY whose wait is over. */
static bool wake(struct task *t, uint32_t wanted)
{
    bool over = (wanted >> t->core & 1) && wait_over(t);

    if (t->state == TASK_WAIT_TASK) {
        over = sched_ended(t->what, t->count);
    }
    if (!over) {
        if (!n_timed || !time_over(t)) {
            return false;
        }
        /* What has come since CHIP_WANTED was read, but in time, still counts. */
        t->result = t->state == TASK_WAIT_TIME || wait_over(t) ? t->result : ERR_TIMEOUT;
    }
    wait_disarm(t);
    if (t->until != SCHED_FOREVER) {
        n_timed--;
        t->until = SCHED_FOREVER;
        wait_alarm(t->core, SCHED_FOREVER);
    }
    t->state = TASK_READY;
    return true;
}

/* The next task that can run, of one priority if any of them counts. */
static struct task *choose_of(unsigned priority)
{
    uint32_t wanted = 0;
    bool looked = false;

    for (unsigned i = 1; i <= n_tasks; i++) {
        struct task *t = hot.last + i;
        t = t < hot.end ? t : t - n_tasks;
        if (t->state == TASK_READY && (!prioritised || t->priority == priority)) {
            return t;
        }
        if (t->state == TASK_READY || t->state == TASK_ENDED ||
            (prioritised && t->priority != priority)) {
            continue;
        }
        if (!looked) {
            wanted = chip_wanted();
            looked = true;
        }
        if (wake(t, wanted)) {
            return t;
        }
    }
    return NULL;
}

/* The task to run, or NULL if nobody can. Higher priorities look first, so that they also
 * take first what both wait for. */
static struct task *choose(void)
{
    unsigned priority = prioritised ? TASK_PRIORITIES : 0;
    struct task *t = prioritised ? NULL : choose_of(0);

    while (t == NULL && priority > 0) {
        if (n_of_priority[--priority]) {
            t = choose_of(priority);
        }
    }
    return t;
}

/* What the hart has done since the last call was for this one. */
static inline void charge(uint64_t *spent)
{
    uint64_t now = hart_clock();

    *spent += now - hot.since;
    hot.since = now;
}

void sched_charge(uint64_t *spent)
{
    charge(spent);
}

/* What the hart has done was for `spent`; from here on it works for t's core, or for none.
 * The counter first, then the chip, always: so what both charge is the same. */
static inline void works_for(const struct task *t, uint64_t *spent)
{
    charge(spent);
    chip_works(t->work);
}

static inline void works_for_none(uint64_t *spent)
{
    charge(spent);
    chip_mark("scheduler");
}

/* Switches to t. What the hart has done since the last charge was for `spent`. */
__attribute__((always_inline)) static inline void run(struct context *from,
                                                      struct task *t, uint64_t *spent)
{
    hot.last = t;
    hot.switches++;
    running = t;
    task_window = t->window;
    task_ports = t->ports;
    works_for(t, spent);
    task_switch(from, &t->context);
}

static void switch_to_scheduler(struct task *self)
{
    running = NULL;
    task_switch(&self->context, &scheduler);
}

/* Switches to the task that has to run next, or to the scheduler. How long it takes to find
 * one depends on what the other cores do, so that is not charged to the core of `self`. */
__attribute__((noinline)) static void switch_away(struct task *self)
{
    struct task *next;

    assert(self == running);
    assert(self->state >= TASK_READY && self->state <= TASK_ENDED);
    assert(!irq_taken()); /* a handler might come here again */
    if (self->state != TASK_READY && self->state != TASK_ENDED) {
        wait_arm(self);
        if (self->until != SCHED_FOREVER) {
            n_timed++;
            wait_alarm(self->core, SCHED_FOREVER);
        }
    }
    if (!stack_ok(self)) {
        run_err = ERR_STACK;
    }
    works_for_none(&self->context.spent);
    next = run_err || hot.switches_left-- == 0 ? NULL : choose();
    assert(next == NULL || next->state == TASK_READY);
    if (next == NULL) {
        switch_to_scheduler(self);
    } else if (next != self) {
        run(&self->context, next, &scheduler.spent);
    } else {
        works_for(self, &scheduler.spent);
    }
}

/* The usual yield, to a neighbour that is ready too, is worth a shorter way; now and then
 * it goes the long one, which looks at everything. */
void sched_give_away(void)
{
    struct task *self = hot.last, *next = self + 1;

    next = next == hot.end ? tasks : next;
    if (self->state == TASK_READY && next->state == TASK_READY && hot.yields_left &&
        stack_quickly_ok(self)) {
        hot.yields_left--;
        run(&self->context, next, &self->context.spent);
    } else {
        switch_away(self);
    }
}

/* --- beginning and ending --- */

/* Where the list of its core's tasks points to t, or ends if t is NULL. */
static struct task **place_of(unsigned core, const struct task *t)
{
    struct task **place = &tasks_of[core];

    while (*place != t) {
        place = &(*place)->peer;
    }
    return place;
}

/* Its children, which are of its core, become its parent's. */
static void leave_children(struct task *t)
{
    int self = (int)(t - tasks);

    for (struct task *child = tasks_of[t->core]; child && t->children;
         child = child->peer) {
        if (child->parent == self) {
            child->parent = t->parent;
            t->children--;
            if (t->parent >= 0) {
                tasks[t->parent].children++;
            }
        }
    }
}

static void end_task(struct task *t)
{
    wait_leave_faults(t);
    leave_children(t);
    *place_of(t->core, t) = t->peer;
    t->peer = ended;
    ended = t;
    if (t->parent >= 0) {
        tasks[t->parent].children--;
    }
    if (!stack_whole(t) && run_err == 0) {
        run_err = ERR_STACK;
    }
    t->state = TASK_ENDED;
    n_of_priority[t->priority]--;
    n_left--;
}

void task_exit(void)
{
    if (running->leave) {
        __builtin_longjmp(running->leave, 1);
    }
    end_task(running);
    sched_give_away();
    __builtin_unreachable();
}

/* First thing on a task's stack. */
static void task_entry(void)
{
    __asm__ volatile(".cfi_undefined ra"); /* backtraces end here */
    running->fn(running->arg);
    task_exit();
}

bool sched_ended(unsigned slot, unsigned generation)
{
    return tasks[slot].state == TASK_ENDED || tasks[slot].generation != generation;
}

/* A new slot or, if there are some, that of an ended task: the hart looks at all of them. */
static unsigned free_slot(void)
{
    struct task *t = ended;

    if (n_tasks < SLOTS || t == NULL) {
        return n_tasks;
    }
    ended = t->peer;
    return (unsigned)(t - tasks);
}

int sched_begin(const char *name, unsigned core, void (*fn)(void *arg), void *arg)
{
    struct task *parent = running;
    unsigned slot = free_slot(), generation;
    struct task *t = &tasks[slot];

    if (slot == TASK_MAX) {
        return ERR_NOMEM;
    }
    generation = slot == n_tasks ? 0 : t->generation + 1;
    if (slot != n_tasks) {
        measure_task(t->name, t->context.spent); /* its owner before */
    }
    task_renew(t, name, core, fn, arg);
    *place_of(core, NULL) = t;
    t->tag = (slot + 1) << TAG_BITS;
    t->generation = generation;
    t->priority = parent ? parent->priority : TASK_NORMAL;
    t->parent = parent ? (int)(parent - tasks) : -1;
    if (parent) {
        parent->children++;
    }
    t->step = parent ? parent->step : 0;
    t->block = parent ? parent->block : 0;
    t->blocks = parent ? parent->blocks : 1;
    t->context.ra = (uintptr_t)task_entry;
    in_use |= 1u << core;
    n_tasks += slot == n_tasks;
    hot.end = tasks + n_tasks;
    n_of_priority[t->priority]++;
    n_left++;
    return (int)(generation << SLOT_BITS | slot);
}

int task_create(const char *name, unsigned core, void (*fn)(void *arg), void *arg)
{
    int task;

    if (running) {
        return ERR_BUSY;
    }
    if (core >= chip_cores()) {
        return ERR_ARG;
    }
    task = sched_begin(name, core, fn, arg);
    return task < 0 ? task : 0;
}

/* --- a run --- */

void sched_prioritise(unsigned priority)
{
    n_of_priority[running->priority]--;
    n_of_priority[priority]++;
    running->priority = priority;
    if (priority != TASK_NORMAL) {
        prioritised = true;
        hot.yields_left = 0;
    }
}

char *sched_text(void)
{
    return run_report->text;
}

void sched_stop(int err)
{
    struct task *self = running;

    run_report->task = self->name;
    run_err = err;
    works_for_none(&self->context.spent);
    switch_to_scheduler(self);
    __builtin_unreachable();
}

/* ERR_FAULT and the report if anything has stopped, on any core. */
static int find_fault(void)
{
    struct sched_report *report = run_report;

    for (uint32_t left = chip_wanted(); left; left &= left - 1) {
        unsigned c = (unsigned)__builtin_ctz(left);
        if (irq_fault(c) && !wait_supervised(c) && core_fault(c, &report->fault)) {
            report_fault(report);
            return ERR_FAULT;
        }
    }
    return 0;
}

/* Sets the alarms for the end of the run and for waits; also anew, since a task may have
 * reset its core. */
static void set_alarms(void)
{
    wait_alarm(0, watchdog_end());
    for (uint32_t left = n_timed ? in_use & ~1u : 0; left; left &= left - 1) {
        wait_alarm((unsigned)__builtin_ctz(left), SCHED_FOREVER);
    }
}

/* Nobody can run: sleeps until something may have changed. ERR_DEADLOCK if nothing can,
 * RUN_OVER if nothing needs to. */
static int idle(void)
{
    /* In this order: what ends after the first read is seen by the second. */
    uint32_t in_flight = chip_running();

    if (!in_flight && !chip_wanted() && !n_timed) {
        if (n_left == 0 && !chip_busy()) {
            return RUN_OVER;
        }
        report_deadlock(run_report);
        return ERR_DEADLOCK;
    }
    if (n_timed || watchdog_end() != SCHED_FOREVER) {
        set_alarms();
    }
    irq_arm_idle(in_flight); /* or a deadlock would sleep for ever */
    chip_mark("idle");
    charge(&scheduler.spent);
    stats.sleeps += irq_wait();
    charge(&hart_parts[HART_IDLE]);
    chip_mark("scheduler");
    irq_arm_idle(0);
    if (watchdog_end() != SCHED_FOREVER) {
        wait_alarm(0, SCHED_FOREVER);
    }
    return 0;
}

static void run_tasks(void)
{
    bool slept = false;

    charge(&hart_parts[HART_LAUNCH]);
    scheduler.spent = 0;
    while (run_err == 0) {
        struct task *next;
        run_err = find_fault();
        run_err = run_err ? run_err : watchdog_check(run_report);
        next = run_err ? NULL : choose();
        if (next) {
            hot.switches_left = FAULT_SWITCHES;
            hot.yields_left = prioritised ? 0 : FAULT_SWITCHES;
            slept = false;
            run(&scheduler, next, &scheduler.spent);
        } else if (run_err == 0) {
            stats.in_vain += slept;
            run_err = idle();
            slept = true;
        }
    }
    charge(&scheduler.spent);
    hart_parts[HART_SCHEDULER] += scheduler.spent;
}

static void end_tasks(void)
{
    for (unsigned i = 0; i < n_tasks; i++) {
        if (tasks[i].state != TASK_ENDED) {
            wait_disarm(&tasks[i]);
            end_task(&tasks[i]);
        }
        measure_task(tasks[i].name, tasks[i].context.spent);
    }
    for (; in_use; in_use &= in_use - 1) {
        unsigned core = (unsigned)__builtin_ctz(in_use);
        wait_alarm(core, SCHED_FOREVER);
        task_forget(core);
    }
    running = ended = NULL;
    n_tasks = n_left = n_timed = 0;
    prioritised = false;
}

void sched_drop(void)
{
    if (running) {
        return;
    }
    end_tasks();
    for (unsigned c = 0; c < chip_cores(); c++) {
        core_reset(c);
    }
    chip_reset();
}

int sched_run(struct sched_report *report)
{
    int err;

    memset(&report->fault, 0, sizeof(report->fault));
    report->task = NULL;
    report->text[0] = 0;
    if (running) {
        return ERR_BUSY;
    }
    run_report = report;
    sched_run_number++;
    measure_run();
    stats = (struct sched_stats){0};
    hot.last = tasks + n_tasks - 1;
    hot.switches = 0;
    run_err = 0;
    watchdog_begin();
    run_tasks();
    sched_limit(NULL, 0);
    err = run_err == RUN_OVER ? 0 : run_err;
    err = err == ERR_STACK ? stack_verdict(run_report) : err;
    chip_mark(NULL);
    if (err) {
        sched_drop();
    } else {
        end_tasks();
    }
    return err;
}

struct sched_stats sched_stats(void)
{
    stats.switches = hot.switches;
    return stats;
}
