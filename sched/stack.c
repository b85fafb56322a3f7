/* SPDX-License-Identifier: MIT
 *
 * Stacks of tasks. Below each lies a guard whose every word is the stack's address while
 * nothing has gone wrong; two of its words are looked at in every switch, all when the
 * task ends. A stack that has grown too far has changed its upper end first, a transfer
 * or a store beyond what lies before it the lower end. A stack is all 0 where it has
 * never been used since power-on.
 *
 * Each slot has its stack from the start, so that a task begins in the same time whatever
 * has run before it, and a first launch costs what the next one costs.
 */
#include <stdio.h>
#include <string.h>

#include "sched/task.h"

#define GUARD_BYTES 512
#define GUARD_WORDS (GUARD_BYTES / 8)

/* Neither loaded nor cleared (linker/npu.ld). */
static struct {
    uint64_t guard[GUARD_WORDS];
    char stack[TASK_STACK_BYTES];
} slots[TASK_MAX] __attribute__((section(".task_stacks"), aligned(16)));

static uint64_t *guard_of(const struct task *t)
{
    return (void *)(t->stack - GUARD_BYTES);
}

void sched_init(void)
{
    for (unsigned i = 0; i < TASK_MAX; i++) {
        sched_task(i)->stack = slots[i].stack;
        stack_repaint(sched_task(i));
    }
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

/* By their sum, which is half the work of comparing each: what changes the words and not
 * their sum is no overflow and no stray copy. */
bool stack_whole(const struct task *t)
{
    const uint64_t *g = guard_of(t);
    uint64_t sum = 0;

    static_assert(GUARD_WORDS % 8 == 0, "eight at a time");
    for (const uint64_t *end = g + GUARD_WORDS; g != end; g += 8) {
        sum += g[0] + g[1] + g[2] + g[3] + g[4] + g[5] + g[6] + g[7];
    }
    return t->low >= t->stack && sum == GUARD_WORDS * (uint64_t)(uintptr_t)t->stack;
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

static void overwritten(const struct task *t, char *text)
{
    unsigned first = find(t, 0, false), end = find(t, first, true);
    uintptr_t begin = (uintptr_t)(guard_of(t) + first);
    bool is_first = t->stack == slots[0].stack;

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
    sched_append(text, SCHED_TEXT, "\n  before it lies the stack of %s%s",
                 is_first ? "main" : "task ", is_first ? "" : (t - 1)->name);
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
