/* SPDX-License-Identifier: MIT
 *
 * Hardware semaphores: 0 to 63 are the core's, 64 to 127 the chip's. A take is all
 * or nothing, over both semaphores of a command at once.
 */
#include "tools/emu/model/state.h"

static uint8_t *sem_at(const struct npu *n, unsigned core, unsigned sem)
{
    return sem < SEM_CORE ? &n->s->core[core].sem[sem] : &n->s->sem[sem - SEM_CORE];
}

uint8_t sem_value(const struct npu *n, unsigned core, unsigned sem)
{
    return *sem_at(n, core, sem);
}

/* False, and nothing changes, if it would pass SEM_MAX. */
bool sem_post(struct npu *n, unsigned core, unsigned sem, unsigned count)
{
    uint8_t *value = sem_at(n, core, sem);

    if (*value + count > SEM_MAX) {
        return false;
    }
    *value = (uint8_t)(*value + count);
    return true;
}

bool sem_take(struct npu *n, unsigned core, const uint8_t *sems, const uint8_t *counts,
              unsigned length)
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
    for (unsigned i = 0; i < length; i++) {
        if (counts[i]) {
            *sem_at(n, core, sems[i]) =
                (uint8_t)(sem_value(n, core, sems[i]) - counts[i]);
        }
    }
    return true;
}
