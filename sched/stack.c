/* SPDX-License-Identifier: MIT
 *
 * Stacks of tasks. Below each lies a guard whose every word is the stack's address while
 * nothing has gone wrong; two of its words are looked at in every switch, all when the
 * task ends. A stack is all 0 where it has never been used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/task.h"

#define GUARD_BYTES 512

static uint64_t *guard_of(const struct task *t)
{
    return (void *)(t->stack - GUARD_BYTES);
}

/* Stacks stay with their slot, so that only the first owner pays for clearing. */
bool stack_get(struct task *t, char *old)
{
    char *room = old;

    if (old == NULL) {
        sched_charge(running ? &running->context.spent : &hart_parts[HART_LAUNCH]);
        room = aligned_alloc(16, GUARD_BYTES + TASK_STACK_BYTES);
        if (room == NULL) {
            return false;
        }
        room += GUARD_BYTES;
        memset(room, 0, TASK_STACK_BYTES);
    }
    t->stack = room;
    if (old == NULL) {
        stack_repaint(t);
        sched_charge(&hart_parts[HART_STACKS]);
    }
    return true;
}

void stack_repaint(struct task *t)
{
    for (unsigned i = 0; i < GUARD_BYTES / 8; i++) {
        guard_of(t)[i] = (uintptr_t)t->stack;
    }
}

bool stack_ok(const struct task *t)
{
    if ((char *)__builtin_frame_address(0) < t->stack) {
        guard_of(t)[0] = 0; /* a large frame has leapt over the guard: as if it had not */
    }
    return guard_of(t)[0] == (uintptr_t)t->stack && stack_quickly_ok(t);
}

bool stack_whole(const struct task *t)
{
    unsigned i = 0;

    while (i < GUARD_BYTES / 8 && guard_of(t)[i] == (uintptr_t)t->stack) {
        i++;
    }
    return i == GUARD_BYTES / 8;
}

int stack_overflow(struct sched_report *report)
{
    for (unsigned i = 0; i < sched_tasks(); i++) {
        struct task *t = sched_task(i);
        if (!stack_whole(t)) {
            report->task = t->name;
            snprintf(report->text, SCHED_TEXT,
                     "task %s, core %u: %s\n  it has %u bytes (TASK_STACK_BYTES)",
                     t->name, t->core, err_text(ERR_STACK), TASK_STACK_BYTES);
            stack_repaint(t);
        }
    }
    return ERR_STACK;
}

unsigned sched_stack_used(unsigned i)
{
    const struct task *t = i < TASK_MAX ? sched_task(i) : NULL;
    unsigned unused = 0;

    if (t == NULL || t->stack == NULL) {
        return 0;
    }
    while (unused < TASK_STACK_BYTES && t->stack[unused] == 0) {
        unused++;
    }
    return TASK_STACK_BYTES - unused;
}
