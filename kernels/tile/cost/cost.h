/* SPDX-License-Identifier: MIT
 *
 * The cycles of a command of the Vector, of MTE2 or of MTE3 on the chip that runs, as if
 * nothing else drew from the shared paths: the numbers and the arithmetic are the
 * contract's (hal/contract/cost.h), which the model reads too.
 */
#ifndef KERNELS_TILE_COST_COST_H
#define KERNELS_TILE_COST_COST_H

#include "hal/contract/contract.h"

/* What a plan is predicted to take on the core that has most to do, in cycles: from its
 * first command to its last; each pipe's work. */
struct tile_cycles {
    uint64_t span, v, mte2, mte3;
};

/* What a pipe's commands have set for those behind them. */
struct tile_costs {
    bool counter; /* the mask is a count */
    uint64_t count;
    uint32_t bank_wait, row_least, in_fixed, in_rate, out_fixed, out_rate, unaligned;
};

/* As a reset of the pipes leaves it. */
void tile_costs_init(struct tile_costs *c);
/* Cycles of the command; *c then has what it has set. 0: not a command that this knows. */
uint64_t tile_cost(struct tile_costs *c, const union cmd *cmd);
/* How much longer a transfer takes because rows begin between two lines of L2, where the
 * tensor begins with one and tiles are `step` bytes apart: cycles, on average. */
uint64_t tile_unaligned(const struct tile_costs *c, const union cmd *cmd, uint64_t step);
/* Repeats of a command of the Vector with elements of so many bytes. */
uint64_t tile_repeats(const struct tile_costs *c, unsigned esize, unsigned repeat);

#endif
