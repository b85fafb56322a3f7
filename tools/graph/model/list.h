/* SPDX-License-Identifier: MIT
 *
 * Sequences while a plan is made: lists of tensors.
 */
#ifndef GRAPH_LIST_H
#define GRAPH_LIST_H

#include "tools/graph/model/lower.h"

enum { LIST_MOST = 4096 };

/* What operand i has, in order; dies if it is no sequence. */
struct tensor *const *list_of(const struct graph *g, const struct node *n, unsigned i,
                              unsigned *count);
/* t is a sequence of these. */
void list_is(const struct graph *g, const struct node *n, struct tensor *t,
             struct tensor *const *at, unsigned count);
/* `to = Concat(..)` of any number of tensors; along an axis that they have not, if `fresh`. */
void list_join(struct lower *l, struct tensor *const *at, unsigned count, int64_t axis,
               bool fresh, const char *to);

#endif
