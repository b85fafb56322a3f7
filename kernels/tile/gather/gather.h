/* SPDX-License-Identifier: MIT
 *
 * A stage that copies rows of a tensor by their indices.
 */
#ifndef KERNELS_TILE_GATHER_GATHER_H
#define KERNELS_TILE_GATHER_GATHER_H

#include "kernels/tile/plan/plan.h"

extern const struct stage_kind gather_kind;
extern const struct stage_run gather_run;

/* Of a kernel whose one result is a GATHER; as plan_tiles(). */
int gather_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
                struct tile_arena *arena, struct tile_error *error);

#endif
