/* SPDX-License-Identifier: MIT
 *
 * What a program computes of given operands in double precision, all of its values, with
 * operations of the interpreter (kernels/tile/ref/ref.h). Twice, if wanted: as it stands, and with
 * values that are tensors of the model rounded to their types.
 */
#ifndef GRAPH_DOUBLE_H
#define GRAPH_DOUBLE_H

#include "kernels/tile/ir/ir.h"
#include "tools/graph/model/graph.h"

struct doubles {
    const struct tile_kernel *k;
    struct double_value {
        const double *at;
        double *own;             /* the same, or NULL: it is another's */
        int64_t step[TILE_DIMS]; /* elements to the next in a dimension */
        bool rounded;            /* something that it is made of was */
    } value[TILE_NODES + 1];
};

/* The values of a kernel, not lowered, whose sizes are known, of operands in[]. NULL, or why
 * there are none. round NULL: casts among floating types are none. Else it says of each node to
 * which type its value is rounded (ELEM_NONE: it is not), sums of products are rounded to F32
 * term by term with the index ascending, as the Cube does, and *exact has what that does not
 * change. */
const char *double_compute(struct doubles *d, const struct tile_kernel *k,
                           const double *const *in, const enum elem *round,
                           const struct doubles *exact);
/* Result i, in the order of its tensor: as many elements as that has. To be freed. */
double *double_result(const struct doubles *d, unsigned i);
void double_free(struct doubles *d);

#endif
