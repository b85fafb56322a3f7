/* SPDX-License-Identifier: MIT
 *
 * What a plan is, in words, stage by stage; see tile.h.
 */
#include "kernels/tile/plan/plan.h"
#include "kernels/tile/tile.h"

void tile_explain(const struct tile_plan *plan, FILE *to)
{
    for (const struct tile_plan *t = plan; t; t = t->next) {
        if (t->why) {
            fprintf(to, "stages   %s\n", t->why);
        }
        t->kind->explain(t, to);
    }
    if (plan->whole && plan->whole[0]) {
        fprintf(to, "schedule %s\n", plan->whole);
    }
}

const char *tile_schedule(const struct tile_plan *plan, bool products)
{
    return products ? plan->whole : plan->schedule;
}
