/* SPDX-License-Identifier: MIT
 *
 * Commands by pipe.
 */
#include <stdlib.h>

#include "tools/profile/lane.h"

static uint32_t slot_of(const struct command *c)
{
    return c->core * (uint32_t)NPU_PIPES + c->pipe;
}

void lanes_make(struct lanes *l, const struct trace *t)
{
    uint32_t slots = t->cores * (uint32_t)NPU_PIPES;
    uint32_t *count = calloc(slots + 1, sizeof(*count)), sum = 0;

    *l = (struct lanes){.slots = slots};
    l->of = malloc((slots + 1) * sizeof(*l->of));
    l->first = malloc((slots + 1) * sizeof(*l->first));
    l->core = malloc((slots + 1) * sizeof(*l->core));
    l->pipe = malloc((slots + 1) * sizeof(*l->pipe));
    l->order = malloc((t->commands + 1) * sizeof(*l->order));
    for (uint32_t i = 0; i < t->commands; i++) {
        count[slot_of(&t->command[i])]++;
    }
    for (uint32_t s = 0; s < slots; s++) {
        l->of[s] = count[s] ? l->n : LANE_NONE;
        if (count[s]) {
            l->core[l->n] = (uint16_t)(s / NPU_PIPES);
            l->pipe[l->n] = (uint8_t)(s % NPU_PIPES);
            l->first[l->n++] = sum;
        }
        sum += count[s];
        count[s] = sum - count[s];
    }
    l->first[l->n] = sum;
    for (uint32_t i = 0; i < t->commands; i++) {
        l->order[count[slot_of(&t->command[i])]++] = i;
    }
    free(count);
}

void lanes_free(struct lanes *l)
{
    free(l->of);
    free(l->first);
    free(l->core);
    free(l->pipe);
    free(l->order);
    *l = (struct lanes){0};
}

/* Numbers of a lane ascend, since its commands run in the order in which they were pushed. */
uint32_t lane_number(const struct lanes *l, const struct trace *t, unsigned core,
                     unsigned pipe, uint64_t number)
{
    uint32_t slot = core * (uint32_t)NPU_PIPES + pipe;
    uint32_t lane = slot < l->slots ? l->of[slot] : LANE_NONE, low, high;

    if (lane == LANE_NONE) {
        return LANE_NONE;
    }
    low = l->first[lane];
    high = l->first[lane + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->command[l->order[middle]].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < l->first[lane + 1] && t->command[l->order[low]].number == number
               ? l->order[low]
               : LANE_NONE;
}
