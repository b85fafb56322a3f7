/* SPDX-License-Identifier: MIT
 *
 * Operators as graphs of others: nodes in place of one, from a text with a line for each,
 *
 *     q = Mul($0, scale)
 *     s = Softmax(q; axis=-1)
 *     a, b = Split(s; axis=1)
 *     @0 = Reshape(a, [0, -1])
 *
 * $0 is an operand of the node, @0 a result of it; 0.5 is a number of float32, 2i one of int64,
 * [0, -1] a list of such; nothing between two commas: left out. Attributes are whole numbers,
 * numbers with a point, lists of whole numbers, or words.
 */
#ifndef GRAPH_LOWER_H
#define GRAPH_LOWER_H

#include "tools/graph/model/graph.h"

struct lower {
    struct graph *g;
    struct node *n, *last;
    const char *names; /* what those of its tensors begin with */
    unsigned count;
};

struct lower lower_begin(struct graph *g, struct node *n);
/* A constant with that name in texts: zeros, to be filled in. */
double *lower_value(const struct lower *l, const char *name, enum elem type,
                    const struct shape *shape);
/* The tensor with that name in texts. */
struct tensor *lower_tensor(const struct lower *l, const char *name);
/* $0 and so on are these from here on: the node has become others'. */
void lower_reads(struct lower *l, struct tensor *const *in, unsigned n);
/* The next lines. */
void lower_text(struct lower *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `low` and `high`: the lower 16 bits of $0, which has 32, and what is above them in units of
 * `half`, as float32, which has both exactly. */
void lower_halves(struct lower *l);
/* All results are there: the node itself is done. */
void lower_end(const struct lower *l);

#endif
