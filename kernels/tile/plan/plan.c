/* SPDX-License-Identifier: MIT
 *
 * What planners of all kinds of stages share; see plan.h.
 */
#include "kernels/tile/plan/plan.h"

enum { LOOK_CYCLES = 2000 /* of the hart for prepare(), in most stages */ };

void plan_begin(struct tile_plan *t)
{
    for (unsigned i = 0; i < TILE_PARAMS; i++) {
        t->in[i] = (struct origin){OF_PARAM, (uint8_t)i, 0};
    }
    for (unsigned i = 0; i < TILE_RESULTS; i++) {
        t->out[i] = (struct origin){OF_RESULT, (uint8_t)i, 0};
    }
}

static bool starved;

void *plan_heap(void *block)
{
    starved = starved || block == NULL;
    return block;
}

/* Whoever found no memory for a way takes it for one that cannot be, and the next is taken:
 * a plan that is right, but slow, and whose results may be rounded otherwise. */
int plan_fed(int err, struct tile_error *error)
{
    if (starved) {
        *error = (struct tile_error){
            .text = "no memory for a plan; MEM= gives the machine more"};
        err = ERR_NOMEM;
    }
    starved = false;
    return err;
}

uint64_t plan_look_cycles(const struct tile_plan *before, const struct tile_plan *t)
{
    uint64_t hidden = before ? before->predicted.span : 0;
    uint64_t all = t->kind->prepare_cycles ? t->kind->prepare_cycles(t) : 0;

    hidden = hidden < LOOK_CYCLES ? hidden : LOOK_CYCLES;
    return all > hidden ? all - hidden : 0;
}
