/* SPDX-License-Identifier: MIT
 *
 * Hardware semaphores: 0 to 63 are the core's, 64 to 127 the chip's. A take is all
 * or nothing, over both semaphores of a command at once. The barrier units of the chip
 * see a post at once, before any command or the hart can take what it added.
 */
#include "tools/emu/model/machine/sem.h"

#include "tools/emu/model/machine/state/defect.h"
#include "tools/emu/model/machine/event.h"

static uint8_t *sem_at(const struct npu *n, unsigned core, unsigned sem)
{
    return sem < SEM_CORE ? &n->s->core[core].sem[sem] : &n->s->sem[sem - SEM_CORE];
}

uint8_t sem_value(const struct npu *n, unsigned core, unsigned sem)
{
    return *sem_at(n, core, sem);
}

static struct sem_user barrier_user(unsigned unit)
{
    return (struct sem_user){NPU_CHIP, NPU_BY_BARRIER, (uint8_t)unit};
}

/* Posts the targets of a barrier unit that has taken its count. */
static void barrier_release(struct npu *n, unsigned unit)
{
    uint64_t reg = n->s->barrier[unit];
    unsigned target = (unsigned)field_get(CHIP_BARRIER_TARGET, reg);
    uint32_t cores = (uint32_t)field_get(CHIP_BARRIER_CORES, reg);
    struct sem_user by = barrier_user(unit);

    for (unsigned c = 0; c < n->s->cores; c++) {
        if ((cores >> c & 1) && !sem_post(n, by, c, target, 1)) {
            core_fail(
                n, c, NPU_ERR_SEM_OVERFLOW,
                &(struct reg_access){.offset = CHIP_BARRIER + 8 * unit, .value = reg});
        }
    }
}

void barrier_run(struct npu *n, unsigned sem)
{
    uint8_t *value = &n->s->sem[sem - SEM_CORE];

    for (unsigned unit = 0; unit < ROW_CHIP_BARRIER; unit++) {
        uint64_t reg = n->s->barrier[unit];
        unsigned count = (unsigned)field_get(CHIP_BARRIER_COUNT, reg);
        while (count && field_get(CHIP_BARRIER_WATCH, reg) == sem - SEM_CORE &&
               *value >= count) {
            *value = (uint8_t)(*value - count);
            event_sem(n, NPU_TAKES, barrier_user(unit),
                      (struct sem_units){NPU_CHIP, sem, count, *value});
            barrier_release(n, unit);
        }
    }
}

/* False, and nothing changes, if it would pass SEM_MAX. */
bool sem_post(struct npu *n, struct sem_user by, unsigned core, unsigned sem,
              unsigned count)
{
    unsigned value = sem_value(n, core, sem) + count;

    if (defect_stuck(n->s, core, sem)) {
        return true;
    }

    if (value > SEM_MAX) {
        return false;
    }
    if (count) {
        *sem_at(n, core, sem) = (uint8_t)value;
        event_sem(n, NPU_POSTS, by, (struct sem_units){core, sem, count, value});
    }
    if (sem >= SEM_CORE) {
        barrier_run(n, sem);
    }
    return true;
}

bool sem_has(const struct npu *n, unsigned core, const uint8_t *sems,
             const uint8_t *counts, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        unsigned need = counts[i];
        for (unsigned j = 0; j < i; j++) {
            need += sems[j] == sems[i] ? counts[j] : 0u;
        }
        if (counts[i] && sem_value(n, core, sems[i]) < need) {
            return false;
        }
    }
    return true;
}

bool sem_take(struct npu *n, unsigned core, const uint8_t *sems, const uint8_t *counts,
              unsigned length)
{
    if (!sem_has(n, core, sems, counts, length)) {
        return false;
    }
    for (unsigned i = 0; i < length; i++) {
        if (counts[i] && !defect_stuck(n->s, core, sems[i])) {
            *sem_at(n, core, sems[i]) -= counts[i];
        }
    }
    return true;
}

void sem_taken(const struct npu *n, struct sem_user by, unsigned core,
               const uint8_t *sems, const uint8_t *counts, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        unsigned value = counts[i] ? sem_value(n, core, sems[i]) : 0u;
        for (unsigned j = i + 1; j < length; j++) {
            value += sems[j] == sems[i] ? counts[j] : 0u;
        }
        if (counts[i]) {
            event_sem(n, NPU_TAKES, by,
                      (struct sem_units){core, sems[i], counts[i], value});
        }
    }
}
