/* SPDX-License-Identifier: MIT
 *
 * A stage that is a loop over tiles with two products in it, as attention is: what stages/ sees
 * of this folder. loop.h tells how it is done.
 */
#ifndef KERNELS_TILE_ATTENTION_ATTENTION_H
#define KERNELS_TILE_ATTENTION_ATTENTION_H

#include "kernels/tile/plan/plan.h"

extern const struct stage_kind loop_kind;
extern const struct stage_run loop_run;

/* Of a kernel with a loop; as tile_plan(). */
int loop_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
              struct tile_arena *arena, struct tile_error *error);

#endif
