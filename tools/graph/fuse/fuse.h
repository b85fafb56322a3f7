/* SPDX-License-Identifier: MIT
 *
 * From nodes to steps: which nodes are one program, and in which order steps run.
 */
#ifndef GRAPH_FUSE_H
#define GRAPH_FUSE_H

#include "tools/graph/steps/steps.h"

/* Whether programs are there with any arithmetic that is worth a try, in front of the usual
 * one; not faster than that is not worth it. */
void fuse_ariths(bool wanted);
/* One that has no groups yet; rule NULL: each node by itself. */
struct emit *fuse_begin(struct graph *g, const struct rule_of_joining *rule);
/* Those of a node, the first one; NULL: it has become part of another, if it may. */
const struct group *fuse_node(struct emit *e, struct node *n, bool fuse);
/* The step of an operator's group, with the cycles of its copies. */
struct step fuse_operator_step(const struct group *group);
/* Steps of all nodes that are not done. */
struct emit *fuse_graph(struct graph *g, const struct rule_of_joining *rule);
/* Whether the node has become part of a group that computes one of its operands. */
bool fuse_take(struct emit *e, struct node *n);
/* Groups become parts of others, now that all nodes have one. */
void fuse_merge(struct emit *e);

#endif
