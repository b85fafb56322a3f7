/* SPDX-License-Identifier: MIT
 *
 * Reductions over any dimensions.
 */
#ifndef GRAPH_REDUCE_H
#define GRAPH_REDUCE_H

#include "tools/graph/model/graph.h"

/* Which dimensions of its operand a reduction is over, bit d. */
uint32_t reduce_axes(const struct graph *g, const struct node *n);

#endif
