/* SPDX-License-Identifier: MIT
 *
 * Stacks of tasks. Below each lies a guard whose every word is the stack's address while
 * nothing has gone wrong; two of its words are looked at in every switch, all when the
 * task ends. A stack that has grown too far has changed its upper end first, a transfer
 * or a store beyond what lies before it the lower end. A stack is all 0 where it has
 * never been used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/task.h"

#define GUARD_BYTES 512
#define GUARD_WORDS (GUARD_BYTES / 8)
/* What an allocator puts between two blocks, at most. */
#define HEADER_BYTES 32

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
    t->low = room + TASK_STACK_BYTES;
    if (old == NULL) {
        stack_repaint(t);
        sched_charge(&hart_parts[HART_STACKS]);
    }
    return true;
}

void stack_repaint(struct task *t)
{
    for (unsigned i = 0; i < GUARD_WORDS; i++) {
        guard_of(t)[i] = (uintptr_t)t->stack;
    }
}

bool stack_ok(struct task *t)
{
    char *sp = __builtin_frame_address(0);

    t->low = sp < t->low ? sp : t->low;
    return sp >= t->stack && guard_of(t)[0] == (uintptr_t)t->stack && stack_quickly_ok(t);
}

/* The first word of the guard from `i` up that is as it was, or is not. */
static unsigned find(const struct task *t, unsigned i, bool whole)
{
    while (i < GUARD_WORDS && (guard_of(t)[i] == (uintptr_t)t->stack) != whole) {
        i++;
    }
    return i;
}

bool stack_whole(const struct task *t)
{
    return t->low >= t->stack && find(t, 0, false) == GUARD_WORDS;
}

/* Whether the task itself has changed its guard. If it has come back from there since,
 * only what it has left tells. */
static bool grown_too_far(const struct task *t)
{
    const uint64_t *words = (const void *)t->stack;
    unsigned first = find(t, 0, false), end = find(t, first, true);
    uint64_t left = 0;

    if (t->low < t->stack) {
        return true;
    }
    if (report_writer(NULL, (uintptr_t)(guard_of(t) + first),
                      (uintptr_t)(guard_of(t) + end))) {
        return false;
    }
    for (unsigned i = 0; i < 8; i++) {
        left |= words[i];
    }
    return !stack_quickly_ok(t) && (first > 0 || left);
}

/* The stack that ends where the heap block of t's begins, or NULL. */
static const struct task *neighbour(const struct task *t)
{
    const char *begin = t->stack - GUARD_BYTES;

    for (unsigned i = 0; i < TASK_MAX; i++) {
        const struct task *other = sched_task(i);
        if (other->stack && other->stack + TASK_STACK_BYTES <= begin &&
            other->stack + TASK_STACK_BYTES + HEADER_BYTES >= begin) {
            return other;
        }
    }
    return NULL;
}

static void overwritten(const struct task *t, char *text)
{
    unsigned first = find(t, 0, false), end = find(t, first, true);
    uintptr_t begin = (uintptr_t)(guard_of(t) + first);
    const struct task *before = neighbour(t);

    sched_append(
        text, SCHED_TEXT,
        "\n  the guard below its stack is not as it was from 0x%llx to 0x%llx; its "
        "own stack pointer was not below 0x%llx",
        (unsigned long long)begin, (unsigned long long)(uintptr_t)(guard_of(t) + end) - 1,
        (unsigned long long)(uintptr_t)t->low);
    if (!report_writer(text, begin, (uintptr_t)(guard_of(t) + end))) {
        sched_append(
            text, SCHED_TEXT,
            "\n  no command that the pipes still know writes there: a store of the "
            "hart or an older transfer, beyond a heap array?");
    }
    sched_append(text, SCHED_TEXT, "\n  before it lies %s%s",
                 before ? "the stack of task "
                        : "what was allocated before the task began",
                 before ? before->name : "");
}

int stack_verdict(struct sched_report *report)
{
    char *text = report->text;
    int err = ERR_STACK;

    text[0] = 0;
    for (unsigned i = 0; i < sched_tasks() && text[0] == 0; i++) {
        struct task *t = sched_task(i);
        if (stack_whole(t)) {
            continue;
        }
        err = grown_too_far(t) ? ERR_STACK : ERR_GUARD;
        report->task = t->name;
        sched_append(text, SCHED_TEXT, "task %s, core %u: %s", t->name, t->core,
                     err_text(err));
        if (err == ERR_STACK) {
            sched_append(text, SCHED_TEXT, "\n  it has %u bytes (TASK_STACK_BYTES)",
                         TASK_STACK_BYTES);
        } else {
            overwritten(t, text);
        }
    }
    for (unsigned i = 0; i < sched_tasks(); i++) {
        stack_repaint(sched_task(i));
    }
    return err;
}

char *sched_stack(unsigned i)
{
    return i < TASK_MAX ? sched_task(i)->stack : NULL;
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
