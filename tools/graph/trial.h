/* SPDX-License-Identifier: MIT
 *
 * What the firmware's planner would say of a program, asked on the host.
 */
#ifndef GRAPH_TRIAL_H
#define GRAPH_TRIAL_H

#include "tools/graph/emit.h"

/* Whether a group is worth what it is: `after` is `before` with one more node. The planner has
 * to be able to do it, in no more cycles than both apart. */
bool trial_better(struct emit *e, const struct group *before, const struct group *after,
                  struct node *n);

#endif
