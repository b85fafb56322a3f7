/* SPDX-License-Identifier: MIT
 *
 * What is made of a graph before its steps: each pass may be left out, and counts what it has
 * done.
 */
#ifndef GRAPH_PASS_H
#define GRAPH_PASS_H

#include "tools/graph/model/graph.h"

struct pass {
    const char *name, *what; /* `--no-NAME`; `identities: 3 operators whose ...` */
    unsigned (*run)(struct graph *g);
    bool off;
    unsigned count;
};
/* In the order in which they run; the last one has no name. */
extern struct pass passes[];

/* Leaves out the pass of that name; false: there is none. */
bool pass_off(const char *name);
/* All names: ", norms, common". */
const char *pass_names(void);
/* All that are not left out, over a graph with shapes and types. */
void pass_graph(struct graph *g);
/* A line for each, and how many parameters there were and are. */
void pass_report(FILE *to);

/* fold.c: normalisations as part of the weights beside them. */
unsigned pass_norms(struct graph *g);
/* bag.c. */
unsigned pass_bags(struct graph *g);
/* layout.c. */
unsigned pass_layout(struct graph *g);
/* tails.c. */
unsigned pass_tails(struct graph *g);

#endif
