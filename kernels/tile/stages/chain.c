/* SPDX-License-Identifier: MIT
 *
 * Programs one behind the other; see chain.h.
 */
#include "kernels/tile/stages/chain.h"

#include "hal/chip.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"

int tile_chain_add(struct tile_chain *chain, const struct tile_kernel *k, unsigned cores,
                   struct tile_arena *arena, struct tile_error *error)
{
    unsigned i = chain->n;
    int err = tile_plan(&chain->plan[i], k, cores, arena, error);

    if (err) {
        return err;
    }
    chain->program[i] = k;
    chain->step[i] = tile_step(chain->plan[i], arena);
    chain->n++;
    return chain->step[i] ? 0
                          : tile_error_set(error, NULL, ERR_NOMEM, "the arena is full");
}

uint64_t tile_chain_scratch(const struct tile_chain *chain)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < chain->n; i++) {
        most = max_u64(most, tile_scratch(chain->plan[i]));
    }
    return most;
}

int tile_chain_run(const struct tile_chain *chain, const char *name, unsigned cores,
                   const struct tile_call *call, void *scratch,
                   struct sched_report *report)
{
    void *args[TILE_CHAIN];
    struct steps steps = {.args = args, .room = TILE_CHAIN, .n = chain->n};
    struct launch l = {.name = name, .kernel = tile_kernel, .steps = &steps};
    int err = cores > chip_cores() ? ERR_CORES : 0;

    for (unsigned i = 0; i < chain->n && !err; i++) {
        unsigned own = tile_cores(chain->plan[i]);
        err = tile_step_bind(chain->step[i], &call[i], scratch, report);
        args[i] = chain->step[i];
        l.cores = own > l.cores ? own : l.cores;
    }
    return err ? err : launch(&l, report);
}
