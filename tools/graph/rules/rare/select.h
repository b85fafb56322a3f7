/* SPDX-License-Identifier: MIT
 *
 * Results of which a run tells how many there are: lines that bring what is found to the front.
 */
#ifndef GRAPH_SELECT_H
#define GRAPH_SELECT_H

#include "tools/graph/model/lower.h"

/* Dies if there are too many to choose from, before their places are written down. */
void select_limit(const struct lower *l, int64_t rows);
/* `order`: places of the rows whose `flag` is 1, then of those where it is 0; `count` of the
 * former. */
void select_front(struct lower *l, int64_t rows);
/* Result i has as many along an axis as `count` says. */
void select_found(const struct lower *l, unsigned i, unsigned axis);

#endif
