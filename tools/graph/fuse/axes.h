/* SPDX-License-Identifier: MIT
 *
 * Dimensions of several tensors, followed through what gives them another shape or order: each
 * tensor has a list of axes, outermost first, and a dimension of it is some of them, those of one
 * element none. Where a shape cuts an axis in two it is so in all lists.
 */
#ifndef GRAPH_AXES_H
#define GRAPH_AXES_H

#include "tools/graph/model/graph.h"

enum { AXES = 16, AXES_LISTS = 8 };

struct axes_list {
    unsigned n;
    uint8_t id[AXES];
};

struct axes {
    unsigned n, n_lists;
    int64_t size[AXES];
    struct axes_list *list[AXES_LISTS]; /* all that know of the axes */
};

/* Another axis; AXES: there are too many. */
uint8_t axes_add(struct axes *x, int64_t size);
/* Behind the others, one of the list's. */
bool axes_put(struct axes_list *l, uint8_t id);
/* Dimensions of that shape are whole axes of the list; false: they cannot be. */
bool axes_fit(struct axes *x, const struct axes_list *l, const struct shape *s);
/* Which dimension d is, of a shape that fits: so many from *first on. */
unsigned axes_part(const struct axes *x, const struct axes_list *l, const struct shape *s,
                   unsigned d, unsigned *first);
/* Dimension d of the list becomes order[d], of a shape that fits. */
void axes_turn(const struct axes *x, struct axes_list *l, const struct shape *s,
               const unsigned *order);

#endif
