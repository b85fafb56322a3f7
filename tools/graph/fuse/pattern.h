/* SPDX-License-Identifier: MIT
 *
 * Patterns: nodes that one program computes which they would not become one by one, because
 * between them are some that bring elements to other places, or because a program of another kind
 * does the same. A pattern is a row of a table: the operator of a node that each has, or another
 * one, a function that finds the others around it, and ways to compute them, as programs. The one
 * that takes the fewest cycles is beside what becomes of the nodes without the pattern, by the rule
 * of joining; explain.txt has what both would cost.
 */
#ifndef GRAPH_PATTERN_H
#define GRAPH_PATTERN_H

#include "tools/graph/steps/steps.h"

enum { PATTERN_VARIANTS = 4 };

/* What a pattern has found. */
struct match {
    const struct pattern *pattern;
    struct node *node[GROUP_NODES]; /* all that it computes, in any order */
    unsigned n_nodes;
    struct tensor *is, *view; /* a result that is one with more dimensions, of its nodes' group */
    void *own;                /* of the pattern */
};

/* One way: *p is a program that has begun, of the nodes; false: it is none for these. */
struct pattern_variant {
    const char *name;
    bool (*write)(struct program *p, const struct match *m);
};

struct pattern {
    const char *name, *at[2];
    bool (*find)(struct graph *g, struct node *at, struct match *m);
    struct pattern_variant way[PATTERN_VARIANTS];
};

extern const struct pattern pattern_attention; /* pattern_attention.c */

/* The pass: nodes that are those of a pattern know it. */
unsigned pattern_find(struct graph *g);
/* Groups of all that are worth it, before any other node has one. */
void pattern_groups(struct emit *e);
/* One more node; false: there are too many, or another has it. */
bool pattern_take(struct match *m, struct node *n);

#endif
