/* SPDX-License-Identifier: MIT
 *
 * Changes of a graph: what rules and passes do to nodes, in one place. After each of these
 *
 *  - nodes stand in the list behind those that compute what they read, g->last_node is the link of
 *    the last one;
 *  - `from` of a tensor is the node that computes it;
 *  - a node that is deleted stays in the list with `done` set, so that whoever walks the list may
 *    delete where it stands. No step computes it: its results have values, are views of other
 *    tensors, or nobody reads them.
 */
#ifndef GRAPH_EDIT_H
#define GRAPH_EDIT_H

#include "tools/graph/model/graph.h"

/* --- to insert --- */

/* A node without operands and results, in front of the node that *at links; the last one, if *at is
 * NULL. Infer (passes/infer.h) visits it only if it stands behind the node that is inferred now; a
 * pass sets rule, types and shapes itself. */
struct node *edit_insert(struct graph *g, struct node **at, const char *op,
                         const char *name);
/* The same of a node that is in no list. */
void edit_link(struct graph *g, struct node **at, struct node *n);
/* Takes the node that *from links out of its place and puts it in front of the one that *at links,
 * which stands earlier. */
void edit_move(struct graph *g, struct node **from, struct node **at);
/* One more operand; one more result, of which n becomes the node. NULL: it is left out. */
void edit_operand(struct node *n, struct tensor *t);
void edit_result(struct node *n, struct tensor *t);

/* --- to delete --- */

/* No step computes the node from here on. */
void edit_delete(struct node *n);
/* Result 0 has the bytes of `of`, and the node is deleted. */
void edit_view(struct node *n, struct tensor *of);

/* --- to replace --- */

/* The nodes that were put behind n compute its results: n is deleted, and has neither operands nor
 * results any more. Dies if an attribute of n was not asked for. */
void edit_replaced(const struct graph *g, struct node *n);
/* `to`, the only one that reads what `from` computes, computes both: it gets operator, rule,
 * operands and attributes of `from`, keeps its own results, and `from` is deleted. Whatever else
 * `to` had computed has to be in the attributes by then. */
void edit_absorb(struct node *to, struct node *from);
/* n, which goes on, has the work of `with` as well: its name says so, the earlier one in front. */
void edit_name(struct node *n, const struct node *first, const struct node *second);

/* --- who reads a tensor --- */

/* How many operands of nodes, deleted ones too, and outputs of the model are this very tensor. */
unsigned edit_uses(const struct graph *g, const struct tensor *t);
/* How many operands of nodes that are computed, and outputs, have bytes of t, views looked through.
 * *by is the last such node, *operand which of its operands; as they were if there is none. */
unsigned edit_readers(const struct graph *g, struct tensor *t, struct node **by,
                      unsigned *operand);
/* The only node that reads t, as it is; NULL: there are several, or an output does. */
struct node *edit_only_reader(const struct graph *g, struct tensor *t);

#endif
