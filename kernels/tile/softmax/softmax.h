/* SPDX-License-Identifier: MIT
 *
 * A stage that is a softmax along long rows: what stages/ sees of this folder. rows.h tells how
 * rows go that L1 holds, spill.h how those that it does not.
 */
#ifndef KERNELS_TILE_SOFTMAX_SOFTMAX_H
#define KERNELS_TILE_SOFTMAX_SOFTMAX_H

#include "kernels/tile/plan/plan.h"

#define ROWS_WORD "l1" /* in a schedule */

extern const struct stage_kind rows_kind;
extern const struct stage_run rows_run;

/* False: the program is none, or no chunk of its rows fits. */
bool rows_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
               struct tile_arena *arena);

#endif
