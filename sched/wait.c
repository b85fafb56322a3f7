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

/* Tasks that have armed a semaphore, that wait for room in a queue. */
static uint8_t armed[NPU_MAX_CORES][SEM_COUNT];
static uint8_t crowd[NPU_MAX_CORES][NPU_PIPES];

static void arm_sem(unsigned core, unsigned sem, unsigned count)
{
    unsigned least = armed[core][sem]++ ? sem_armed(core, sem) : 0;

    sem_arm(core, sem, least && least < count ? least : count);
}

/* The lesser of what is armed already, 0 for none, and what t wants of a semaphore. */
static unsigned least_armed(const struct task *t, unsigned sem, unsigned least)
{
    for (unsigned i = 0; t->state == TASK_WAIT_SEM && i < t->n_wants; i++) {
        unsigned count = t->wants[i].count;
        if (t->wants[i].sem == sem && (!t->all || t->what == sem)) {
            least = least && least < count ? least : count;
        }
    }
    return least;
}

static void disarm_sem(const struct task *self, unsigned sem)
{
    unsigned core = self->core, least = 0;

    if (--armed[core][sem]) {
        for (const struct task *t = tasks_of[core]; t; t = t->peer) {
            least = t == self ? least : least_armed(t, sem, least);
        }
    }
    sem_arm(core, sem, least);
}

/* Slots of a queue that t waits for. */
static unsigned slots_of(const struct task *t, unsigned pipe)
{
    if (t->state == TASK_WAIT_ROOM) {
        return t->what == pipe ? t->count : 0;
    }
    return t->state == TASK_WAIT_ROOMS ? t->slots[pipe] : 0;
}

/* Sets the slots that wake the tasks which wait for room, except `self`; of these there
 * are as many as `others` says, and one more, if it is not 0, wants `least`. */
static void arm_room(unsigned core, unsigned pipe, const struct task *self,
                     unsigned others, unsigned least)
{
    for (const struct task *t = tasks_of[core]; others && t; t = t->peer) {
        unsigned slots = t == self ? 0 : slots_of(t, pipe);
        least = slots && (least == 0 || slots < least) ? slots : least;
    }
    pipe_arm(core, (enum pipe)pipe, least);
}

static void arm_rooms(const struct task *t)
{
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (t->slots[p]) {
            arm_room(t->core, p, t, crowd[t->core][p]++, t->slots[p]);
        }
    }
}

static void disarm_rooms(const struct task *t)
{
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (t->slots[p]) {
            arm_room(t->core, p, t, --crowd[t->core][p], 0);
        }
    }
}

static bool room_in_any(const struct task *t)
{
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (t->slots[p] && pipe_free(t->core, (enum pipe)p) >= t->slots[p]) {
            return true;
        }
    }
    return false;
}

bool wait_supervised(unsigned core)
{
    const struct task *t = tasks_of[core];

    while (t && t->fault == NULL) {
        t = t->peer;
    }
    return t != NULL;
}

void wait_leave_faults(struct task *t)
{
    if (t->fault) {
        t->fault = NULL;
        if (!wait_supervised(t->core)) {
            irq_arm_fault(t->core, true);
        }
    }
}

/* The core's line tells of faults while a supervisor other than `self` waits for them. */
static void arm_fault(unsigned core, const struct task *self)
{
    bool waits = false;

    for (const struct task *t = tasks_of[core]; t && !waits; t = t->peer) {
        waits = t != self && t->state == TASK_WAIT_FAULT;
    }
    irq_arm_fault(core, waits);
}

void wait_alarm(unsigned core, uint64_t until)
{
    for (const struct task *t = tasks_of[core]; t; t = t->peer) {
        until = t->until < until ? t->until : until;
    }
    irq_alarm(core, until == SCHED_FOREVER ? 0 : until);
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
        arm_room(t->core, t->what, t, crowd[t->core][t->what]++, t->count);
    } else if (t->state == TASK_WAIT_ROOMS) {
        arm_rooms(t);
    } else if (t->state == TASK_WAIT_FAULT) {
        arm_fault(t->core, NULL);
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
        arm_room(t->core, t->what, t, --crowd[t->core][t->what], 0);
    } else if (t->state == TASK_WAIT_ROOMS) {
        disarm_rooms(t);
    } else if (t->state == TASK_WAIT_FAULT) {
        arm_fault(t->core, t); /* what it knows of would keep the line up */
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
        if (sem_try_take(t->core, t->wants[i].sem, t->wants[i].count) != 0) {
            while (i-- > 0) {
                sem_post(t->core, t->wants[i].sem, t->wants[i].count);
            }
            return false;
        }
    }
    return true;
}

bool wait_take(struct task *t)
{
    if (t->all) {
        return first_want(t, false) == t->n_wants && take_all(t);
    }
    for (unsigned i = 0; i < t->n_wants; i++) {
        if (sem_try_take(t->core, t->wants[i].sem, t->wants[i].count) == 0) {
            t->result = (int)i;
            return true;
        }
    }
    return false;
}

static bool sems_over(struct task *t)
{
    if (wait_take(t)) {
        return true;
    }
    if (t->all) {
        wait_disarm(t); /* another one may lack now */
        wait_arm(t);
    }
    return false;
}

bool wait_over(struct task *t)
{
    switch (t->state) {
    case TASK_WAIT_SEM:
        /* One semaphore, the usual case. */
        return t->n_wants == 1
                   ? sem_try_take(t->core, t->wants[0].sem, t->wants[0].count) == 0
                   : sems_over(t);
    case TASK_WAIT_ROOM:
        return pipe_free(t->core, (enum pipe)t->what) >= t->count;
    case TASK_WAIT_ROOMS:
        return room_in_any(t);
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
