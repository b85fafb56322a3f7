/* SPDX-License-Identifier: MIT
 *
 * What `graph inspect` says of a model, on stdout.
 */
#ifndef GRAPH_INSPECT_H
#define GRAPH_INSPECT_H

#include "tools/graph/steps/steps.h"

struct inspection;

/* Of a graph that was read: whether all its operators are known; else what that comes to. */
bool inspect_support(const struct graph *g, struct inspection **made);
/* The rest, of its steps. */
void inspect_plan(struct inspection *i, const struct emit *e);

#endif
