/* SPDX-License-Identifier: MIT
 *
 * What a task may call; see sched.h. Who runs while it waits: sched.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/irq.h"
#include "hal/sem.h"
#include "sched/task.h"

/* Commands after which a task lets others run; a power of two. */
#define BURST 16
/* Free slots for which a full queue's task is woken. */
#define WAKE_SLOTS (PIPE_DEPTH / 2)

unsigned task_core(void)
{
    return running->core;
}

const char *task_name(void)
{
    return running->name;
}

unsigned task_block(void)
{
    return running->block;
}

unsigned task_blocks(void)
{
    return running->blocks;
}

void task_priority(unsigned priority)
{
    sched_prioritise(priority < TASK_PRIORITIES ? priority : TASK_PRIORITIES - 1);
}

void task_tag(uint32_t tag)
{
    uint32_t task = (uint32_t)(running - sched_task(0)) + 1;

    running->tag = task << TAG_BITS | (tag & ((1u << TAG_BITS) - 1));
}

void task_yield(void)
{
    running->state = TASK_READY;
    sched_give_away();
}

void task_renew(struct task *t, const char *name, unsigned core, void (*fn)(void *arg),
                void *arg)
{
    t->name = name;
    t->fn = fn;
    t->arg = arg;
    t->core = core;
    t->work = chip_work(name, core);
    t->ports = pipe_ports[core];
    t->window = sem_window(core);
    t->low = t->stack + TASK_STACK_BYTES;
    t->context.sp = (uintptr_t)t->low;
    t->context.has_fs = t->context.spent = 0;
    t->state = TASK_READY;
    t->until = SCHED_FOREVER;
    t->children = 0;
    t->peer = NULL;
    t->leave = NULL;
    t->where = NULL;
    t->fault = NULL;
}

/* --- waiting --- */

static int wait_as(enum task_state state, unsigned what, unsigned count, uint64_t until)
{
    struct task *self = running;

    self->state = state;
    self->what = what;
    self->count = count;
    self->since = chip_cycle();
    self->until = until;
    self->result = 0;
    sched_give_away();
    return self->result;
}

void task_block_on(unsigned sem, unsigned count, const char *where)
{
    if (sem >= SEM_COUNT || count > SEM_MAX) {
        task_fail(ERR_ARG, where, "wait for %u of semaphore %u", count, sem);
    }
    running->where = where;
    running->wants[0] = (struct want){(uint16_t)sem, (uint16_t)count};
    running->n_wants = 1;
    running->all = true;
    wait_as(TASK_WAIT_SEM, sem, count, SCHED_FOREVER);
}

/* One more semaphore that all are wanted of: nothing of it needs no wait, twice the same
 * adds up. False: it never holds so many. */
static bool want_too(struct task *self, struct want want)
{
    unsigned i = 0;

    while (i < self->n_wants && self->wants[i].sem != want.sem) {
        i++;
    }
    if (i == self->n_wants && want.count) {
        self->wants[self->n_wants++] = (struct want){want.sem, 0};
    }
    if (want.count) {
        self->wants[i].count += want.count;
    }
    return want.count == 0 || self->wants[i].count <= SEM_MAX;
}

int task_wait_sems(const struct want *wants, unsigned n, bool all, uint64_t cycle,
                   const char *where)
{
    struct task *self = running;

    if (n == 0 || n > TASK_WANTS) {
        return ERR_ARG;
    }
    self->where = where;
    self->all = all;
    self->n_wants = 0;
    for (unsigned i = 0; i < n; i++) {
        if (wants[i].sem >= SEM_COUNT || wants[i].count > SEM_MAX ||
            (all && !want_too(self, wants[i]))) {
            return ERR_ARG;
        }
    }
    if (!all) {
        memcpy(self->wants, wants, n * sizeof(*wants));
        self->n_wants = n;
    }
    self->result = 0;
    if (wait_take(self)) {
        return self->result;
    }
    return wait_as(TASK_WAIT_SEM, wants[0].sem, wants[0].count, cycle);
}

int task_wait_room(enum pipe pipe, unsigned slots, uint64_t cycle)
{
    int err = 0;

    if (slots > PIPE_DEPTH || pipe_name(pipe)[0] == '?') {
        return ERR_ARG;
    }
    if (pipe_refresh(&task_ports[pipe]) < slots) {
        err = wait_as(TASK_WAIT_ROOM, pipe, slots, cycle);
        pipe_refresh(&task_ports[pipe]);
    }
    return err;
}

int task_wait_rooms(const uint8_t slots[NPU_PIPES], uint64_t cycle)
{
    bool some = false;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (slots[p] > PIPE_DEPTH || (slots[p] && pipe_name(p)[0] == '?')) {
            return ERR_ARG;
        }
        if (slots[p] && pipe_refresh(&task_ports[p]) >= slots[p]) {
            return 0;
        }
        some = some || slots[p];
    }
    memcpy(running->slots, slots, sizeof(running->slots));
    return some ? wait_as(TASK_WAIT_ROOMS, 0, 0, cycle) : 0;
}

int task_wait_fault(struct fault *fault, uint64_t cycle)
{
    running->fault = fault;
    return wait_as(TASK_WAIT_FAULT, 0, 0, cycle);
}

void task_sleep_until(uint64_t cycle)
{
    wait_as(TASK_WAIT_TIME, 0, 0, cycle);
}

int task_spawn(const char *name, void (*fn)(void *arg), void *arg)
{
    int task = sched_begin(name, running->core, fn, arg);

    if (task < 0) {
        task_fail(task, name, "no more than %u tasks can live at one time", TASK_MAX);
    }
    return task;
}

void task_join(int task)
{
    unsigned slot = (unsigned)task & ((1u << SLOT_BITS) - 1);
    unsigned generation = (unsigned)task >> SLOT_BITS;

    static_assert(TASK_MAX <= 1 << SLOT_BITS, "task numbers");
    if (task >= 0 && slot < sched_tasks() && !sched_ended(slot, generation)) {
        wait_as(TASK_WAIT_TASK, slot, generation, SCHED_FOREVER);
    }
}

void task_join_all(void)
{
    int self = (int)(running - sched_task(0));

    while (running->children) { /* also those that ended ones have left */
        const struct task *t = tasks_of[running->core];

        while (t->parent != self) {
            t = t->peer;
        }
        wait_as(TASK_WAIT_TASK, (unsigned)(t - sched_task(0)), t->generation,
                SCHED_FOREVER);
    }
}

void task_drain(void)
{
    for (unsigned p = 0; p < NPU_PIPES && !core_idle(running->core); p++) {
        while (pipe_name(p)[0] != '?' && !pipe_idle(running->core, (enum pipe)p)) {
            (void)!task_wait_room((enum pipe)p, PIPE_DEPTH, SCHED_FOREVER);
        }
    }
}

/* --- commands --- */

__attribute__((noinline)) static _Noreturn void
post_too_much(unsigned sem, unsigned count, unsigned value, const char *where)
{
    char history[SCHED_TEXT / 2] = "";

    report_history(running->core, sem, history, sizeof(history));
    task_fail(ERR_SEM, where, "semaphore %u holds %u, %u more is above %u%s", sem, value,
              count, SEM_MAX, history);
}

void task_post_at(unsigned sem, unsigned count, const char *where)
{
    unsigned value;

    if (sem >= SEM_COUNT) {
        task_fail(ERR_ARG, where, "post to semaphore %u", sem);
    }
    value = sem_value(running->core, sem);
    if (value + count > SEM_MAX) {
        post_too_much(sem, count, value, where);
    }
    report_hart_posts(running->core, sem, where);
    sem_post(running->core, sem, count);
}

void task_make_room(enum pipe pipe, unsigned slots)
{
    struct pipe_port *port = &task_ports[pipe];
    unsigned wake = slots > WAKE_SLOTS ? slots : WAKE_SLOTS;

    if (port->room < slots) {
        while (pipe_refresh(port) < slots) {
            (void)!task_wait_room(pipe, wake, SCHED_FOREVER);
        }
    }
}

static void push(enum pipe pipe, const union cmd *cmd)
{
    task_make_room(pipe, 1);
    pipe_store(&task_ports[pipe], cmd);
}

/* As struct pipe_port has owed waits, but they are few; on which cores there are some. */
static uint32_t owed_posts[NPU_MAX_CORES][NPU_PIPES];
uint32_t task_owed_posts;

/* Pushes a command that does nothing but wait or post. */
static void push_nop(enum pipe pipe, uint64_t sync, uint64_t pc)
{
    union cmd nop;

    cmd_nop(&nop);
    nop.words[CMD_SYNC] = sync;
    nop.head.tag = running->tag;
    nop.head.pc = pc;
    push(pipe, &nop);
}

/* Pays the waits that are owed to the pipe. */
__attribute__((noinline)) static void pay(enum pipe pipe, uint64_t pc)
{
    uint32_t owed = task_ports[pipe].owed;

    task_ports[pipe].owed = 0;
    push_nop(pipe, owed, pc);
}

/* Bytes sem[0], sem[1], n[0], n[1], the lower half of CMD_SYNC. */
void task_owe(struct pipe_port *port, uint32_t wait)
{
    uint32_t owed = port->owed, sem = wait & 0xff, count = wait >> 16 & 0xff;
    unsigned first = owed >> 16 & 0xff, second = owed >> 24;

    static_assert(offsetof(struct cmd_head, wait_sem) % 8 == 0, "owed");
    static_assert(offsetof(struct cmd_head, wait_n) % 8 == 2, "owed");
    if (owed == 0) {
        port->owed = wait;
    } else if (second == 0 && (owed & 0xff) != sem) {
        port->owed = owed | wait << 8;
    } else if ((owed & 0xff) == sem && first + count <= SEM_MAX) {
        port->owed = owed + (count << 16);
    } else if (second && (owed >> 8 & 0xff) == sem && second + count <= SEM_MAX) {
        port->owed = owed + (count << 24);
    } else {
        pay((enum pipe)(port - task_ports), (uintptr_t)__builtin_return_address(0));
        port->owed = wait;
    }
}

bool task_owe_post(struct pipe_port *port, uint32_t post)
{
    uint32_t *owed = &owed_posts[running->core][port - task_ports];

    if (*owed >> 24) {
        return false;
    }
    *owed |= *owed ? post << 8 : post;
    task_owed_posts |= 1u << running->core;
    port->room = 0; /* brings task_issue to issue_slowly */
    return true;
}

uint32_t task_forget_posts(unsigned core)
{
    uint32_t first = 0;

    for (unsigned p = 0; p < NPU_PIPES && task_owed_posts >> core & 1; p++) {
        first = first ? first : owed_posts[core][p];
        owed_posts[core][p] = 0;
    }
    task_owed_posts &= ~(1u << core);
    return first;
}

void task_forget(unsigned core)
{
    pipe_forget(core);
    tpipe_forget(core);
    (void)task_forget_posts(core);
}

void task_owe_wait(enum pipe pipe, unsigned sem, unsigned count)
{
    task_owe(&task_ports[pipe], sem | count << 16);
}

__attribute__((noinline)) static void issue_slowly(enum pipe pipe, union cmd *cmd)
{
    struct pipe_port *port = &task_ports[pipe];
    uint64_t own = cmd->words[CMD_SYNC];
    uint32_t *posts = &owed_posts[running->core][pipe];

    if (port->owed && (uint32_t)own) {
        pay(pipe, cmd->head.pc); /* in front of it */
    }
    task_make_room(pipe, 1);
    cmd->words[CMD_SYNC] = own | port->owed;
    port->owed = 0;
    pipe_store(port, cmd);
    cmd->words[CMD_SYNC] = own;
    if (*posts) {
        uint64_t sync = (uint64_t)*posts << 32;
        *posts = 0;
        push_nop(pipe, sync, cmd->head.pc); /* behind it */
    }
}

/* The caller may issue the command again, so it keeps only its own waits. */
__attribute__((noinline)) void task_issue(enum pipe pipe, union cmd *cmd)
{
    struct pipe_port *port = &task_ports[pipe];
    uint64_t own = cmd->words[CMD_SYNC];
    uint32_t owed = port->owed;

    cmd->head.pc = (uintptr_t)__builtin_return_address(0);
    cmd->head.tag = running->tag;
    if (port->room == 0 || (owed && (uint32_t)own)) {
        issue_slowly(pipe, cmd);
        return;
    }
    if (owed) {
        port->owed = 0;
        cmd->words[CMD_SYNC] = own | owed;
        pipe_store(port, cmd);
        cmd->words[CMD_SYNC] = own;
    } else {
        pipe_store(port, cmd);
    }
    if (port->room % BURST == 0) {
        task_yield(); /* or an empty pipe would wait until this one is full */
    }
}

static void stamp(union cmd *cmds, unsigned count, uintptr_t pc)
{
    for (unsigned i = 0; i < count; i++) {
        cmds[i].head.tag = running->tag;
        cmds[i].head.pc = cmds[i].head.pc ? cmds[i].head.pc : pc;
    }
}

__attribute__((noinline)) static void issue_many_slowly(enum pipe pipe, union cmd *cmds,
                                                        unsigned count, const char *where,
                                                        uintptr_t pc)
{
    struct task *self = running;

    if (count == 0 || count > PIPE_DEPTH) {
        task_fail(ERR_SEQUENCE, where, "%u commands at one time, %s holds 1 to %u", count,
                  pipe_name(pipe), PIPE_DEPTH);
    }
    if (cmds[0].head.tag != self->tag || cmds[count - 1].head.tag != self->tag) {
        stamp(cmds, count, pc);
    }
    if (task_ports[pipe].owed) {
        pay(pipe, pc);
    }
    task_make_room(pipe, count);
    pipe_store_many(&task_ports[pipe], cmds, count);
}

__attribute__((noinline)) void task_issue_many_at(enum pipe pipe, union cmd *cmds,
                                                  unsigned count, const char *where)
{
    struct pipe_port *port = &task_ports[pipe];
    uint32_t tag = running->tag, last = count - 1;

    if (last < port->room && port->owed == 0 && cmds[0].head.tag == tag &&
        cmds[last].head.tag == tag) {
        pipe_store_many(port, cmds, count); /* at least one, and there is room */
    } else {
        issue_many_slowly(pipe, cmds, count, where,
                          (uintptr_t)__builtin_return_address(0));
    }
}

/* --- mistakes --- */

void task_fail(int err, const char *where, const char *format, ...)
{
    char *text = sched_text();
    va_list args;

    text[0] = 0;
    sched_append(text, SCHED_TEXT, "task %s, core %u, %s: %s\n  ", running->name,
                 running->core, where, err_text(err));
    va_start(args, format);
    vsnprintf(text + strlen(text), SCHED_TEXT - strlen(text), format, args);
    va_end(args);
    sched_stop(err);
}
