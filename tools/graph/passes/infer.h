/* SPDX-License-Identifier: MIT
 *
 * Types and shapes of all tensors, and values of those that are known before a run.
 */
#ifndef GRAPH_INFER_H
#define GRAPH_INFER_H

#include "tools/graph/model/graph.h"

/* Over a graph that was read; dies if it is none that a machine can compute. */
void infer_graph(struct graph *g);

/* counted.c: the result of a node has as many as its operands, or dies. */
void infer_counted(const struct graph *g, struct node *n);
/* What tells how many there are is left by a run, too. */
void infer_counted_outputs(struct graph *g);

#endif
