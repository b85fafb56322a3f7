/* SPDX-License-Identifier: MIT
 *
 * A stage that is a product: of two parameters by the Matmul object, and of what is computed
 * of it by the fixpipe, on its way out of L0C. Private to the planner.
 */
#ifndef KERNELS_TILE_PRODUCT_H
#define KERNELS_TILE_PRODUCT_H

#include "kernels/mm/mm.h"
#include "kernels/tile/plan.h"

/* A dimension that is neither rows nor columns of a tile: elements from one index to the
 * next in a, b and c; 0: it does not have it. */
struct product_outer {
    uint8_t dim;
    uint32_t size;
    uint64_t a, b, c;
};

/* How a DOT is done: the rows and the columns of c are runs of dimensions that lie there one
 * behind the other, as they do in the operand that has them. */
struct product {
    struct mm mm;
    const struct tile_node *dot;
    uint8_t a, b, bias;      /* parameters; bias: its number + 1, 0: none */
    tile_dims rows, columns; /* of those with more than one element */
    struct product_outer outer[TILE_DIMS];
    unsigned n_outer, n_batch; /* the last n_batch of them are the object's batch */
    const void *in[TILE_PARAMS];
    void *out;
};

/* Of a kernel whose one DOT has parameters as operands. ERR_LOCAL: what is computed of the
 * product is not to be had with it, but might be in a stage of its own. */
int product_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
                 struct tile_arena *arena, struct tile_error *error);
void product_bind(struct product *p, const struct tile_call *call);
void product_play(const struct tile_plan *t);
void product_explain(const struct tile_plan *t, FILE *to);

/* product_shape.c: what c, a tensor of the DOT's dimensions, comes to for the object. */
int product_shape(struct product *p, const struct tile_kernel *k,
                  const struct tile_tensor *c, struct tile_error *error);
/* The fixpipe can make the one result of the DOT: sets what the object is to do. */
bool product_by_fixpipe(struct product *p, const struct tile_kernel *k);

#endif
