/* SPDX-License-Identifier: MIT
 *
 * What a task can wait for. Each kind is armed in the device when the wait begins, so
 * that the core's line is up exactly while somebody on it can go on, and looked at again
 * only while the line is up. Where several tasks wait for one semaphore or queue, the one
 * that wants least is armed.
 */
#include "hal/chip.h"
#include "hal/irq.h"
#include "hal/sem.h"
#include "sched/task.h"

/* Tasks that have armed a semaphore. */
static uint8_t armed[NPU_MAX_CORES][SEM_COUNT];

static void arm_sem(unsigned core, unsigned sem, unsigned count)
{
    unsigned least = armed[core][sem]++ ? sem_armed(core, sem) : 0;

    sem_arm(core, sem, least && least < count ? least : count);
}

/* Whether t has armed this semaphore; *count is what it wants of it. */
static bool has_armed(const struct task *t, unsigned sem, unsigned *count)
{
    if (t->state != TASK_WAIT_SEM) {
        return false;
    }
    for (unsigned i = 0; i < t->n_wants; i++) {
        *count = t->wants[i].count;
        if (t->wants[i].sem == sem && (!t->all || t->what == sem)) {
            return true;
        }
    }
    return false;
}

static void disarm_sem(const struct task *self, unsigned sem)
{
    unsigned core = self->core, least = 0, count;

    if (--armed[core][sem]) {
        for (unsigned i = 0; i < sched_tasks(); i++) {
            const struct task *t = sched_task(i);
            if (t != self && t->core == core && has_armed(t, sem, &count)) {
                least = least && least < count ? least : count;
            }
        }
    }
    sem_arm(core, sem, least);
}

/* Sets the slots that wake the tasks which wait for room, except `self`. */
static void arm_room(unsigned core, unsigned pipe, const struct task *self)
{
    unsigned least = 0;

    for (unsigned i = 0; i < sched_tasks(); i++) {
        const struct task *t = sched_task(i);
        if (t != self && t->core == core && t->state == TASK_WAIT_ROOM &&
            t->what == pipe) {
            least = least && least < t->count ? least : t->count;
        }
    }
    pipe_arm(core, (enum pipe)pipe, least);
}

/* Index of the first semaphore that lacks (all) or can be taken (any), or n_wants. */
static unsigned first_want(const struct task *t, bool ready)
{
    unsigned i = 0;

    while (i < t->n_wants &&
           (sem_value(t->core, t->wants[i].sem) >= t->wants[i].count) != ready) {
        i++;
    }
    return i;
}

void wait_arm(struct task *t)
{
    unsigned first;

    if (t->state == TASK_WAIT_ROOM) {
        arm_room(t->core, t->what, NULL);
    } else if (t->state == TASK_WAIT_SEM && t->all) {
        first = first_want(t, false);
        first = first == t->n_wants ? 0 : first;
        t->what = t->wants[first].sem;
        t->count = t->wants[first].count;
        arm_sem(t->core, t->what, t->count);
    } else if (t->state == TASK_WAIT_SEM) {
        for (unsigned i = 0; i < t->n_wants; i++) {
            arm_sem(t->core, t->wants[i].sem, t->wants[i].count);
        }
    }
}

void wait_disarm(struct task *t)
{
    if (t->state == TASK_WAIT_ROOM) {
        arm_room(t->core, t->what, t);
    } else if (t->state == TASK_WAIT_SEM && t->all) {
        disarm_sem(t, t->what);
    } else if (t->state == TASK_WAIT_SEM) {
        for (unsigned i = 0; i < t->n_wants; i++) {
            disarm_sem(t, t->wants[i].sem);
        }
    }
}

/* All or nothing: gives back what it has if an engine was faster with the rest. */
static bool take_all(const struct task *t)
{
    for (unsigned i = 0; i < t->n_wants; i++) {
        if (!sem_try_take(t->core, t->wants[i].sem, t->wants[i].count)) {
            while (i-- > 0) {
                sem_post(t->core, t->wants[i].sem, t->wants[i].count);
            }
            return false;
        }
    }
    return true;
}

static bool sems_over(struct task *t)
{
    if (t->all) {
        if (first_want(t, false) == t->n_wants && take_all(t)) {
            return true;
        }
        wait_disarm(t); /* another one may lack now */
        wait_arm(t);
        return false;
    }
    for (unsigned i = 0; i < t->n_wants; i++) {
        if (sem_try_take(t->core, t->wants[i].sem, t->wants[i].count)) {
            t->result = (int)i;
            return true;
        }
    }
    return false;
}

bool wait_over(struct task *t)
{
    switch (t->state) {
    case TASK_WAIT_SEM:
        /* One semaphore, the usual case. */
        return t->n_wants == 1 ? sem_try_take(t->core, t->wants[0].sem, t->wants[0].count)
                               : sems_over(t);
    case TASK_WAIT_ROOM:
        return pipe_free(t->core, (enum pipe)t->what) >= t->count;
    case TASK_WAIT_FAULT:
        return irq_fault(t->core) && core_fault(t->core, t->fault);
    case TASK_READY:
    case TASK_WAIT_TASK:
    case TASK_WAIT_TIME:
    case TASK_ENDED:
    default:
        return false;
    }
}
