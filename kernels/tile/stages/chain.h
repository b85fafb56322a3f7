/* SPDX-License-Identifier: MIT
 *
 * Programs that are steps of one launch, each behind the one before, for operators that are
 * several of them: what a step leaves for a later one lies where the calls say.
 */
#ifndef KERNELS_TILE_STAGES_CHAIN_H
#define KERNELS_TILE_STAGES_CHAIN_H

#include "kernels/tile/tile.h"

enum { TILE_CHAIN = 3 /* steps, at most */ };

struct tile_chain {
    unsigned n;
    const struct tile_kernel *program[TILE_CHAIN];
    struct tile_plan *plan[TILE_CHAIN];
    struct tile_step *step[TILE_CHAIN];
};

/* Plans a kernel as the next step; the arena keeps what that needs. */
MUST_CHECK int tile_chain_add(struct tile_chain *chain, const struct tile_kernel *k,
                              unsigned cores, struct tile_arena *arena,
                              struct tile_error *error);
/* Bytes that the steps want by themselves, one after the other. */
uint64_t tile_chain_scratch(const struct tile_chain *chain);
/* One call for each step. cores: as they were planned for; ERR_CORES: the chip has fewer. */
MUST_CHECK int tile_chain_run(const struct tile_chain *chain, const char *name,
                              unsigned cores, const struct tile_call *call, void *scratch,
                              struct sched_report *report);

#endif
