/* SPDX-License-Identifier: MIT
 *
 * What long rows take, from the contract's costs: the pushes of the core that has most of
 * them, pipe by pipe in their order, with their semaphores; see rows.h. Where chunks are
 * many, the rest takes as long as the groups before.
 */
#include "kernels/tile/cost/pipes.h"
#include "kernels/tile/softmax/rows.h"

enum {
    GROUPS = 6,
    MORE = 2, /* that are played; those of them that tell what one more takes */
};

static struct tile_cycles simulate_chunks(struct rows_plan *p, uint32_t chunks)
{
    static struct rows_core core;
    static struct pipes s;

    pipes_begin(&s);
    rows_build(p, &core);
    core.begin = 0;
    core.chunks = chunks;
    for (unsigned sem = 0; sem < ROWS_SEMS; sem++) {
        pipes_post(&s, sem, rows_units(p, sem));
    }
    rows_steps(p, &core, &s);
    return pipes_cycles(&s);
}

struct tile_cycles rows_predict(struct rows_plan *p)
{
    uint32_t chunks = 0, most = p->group * GROUPS, of = p->group * MORE;
    struct tile_cycles c, less;

    for (unsigned i = 0; i < p->stage.cores; i++) {
        chunks = chunks < p->core[i].chunks ? p->core[i].chunks : chunks;
    }
    c = simulate_chunks(p, chunks < most ? chunks : most);
    if (chunks > most) {
        less = simulate_chunks(p, most - of);
        pipes_more(&c, &less, chunks - most, of);
    }
    return c;
}
