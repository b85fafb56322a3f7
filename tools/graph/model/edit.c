/* SPDX-License-Identifier: MIT
 *
 * See edit.h.
 */
#include "tools/graph/model/edit.h"

#include <string.h>

void edit_link(struct graph *g, struct node **at, struct node *n)
{
    n->next = *at;
    *at = n;
    if (!n->next) {
        g->last_node = &n->next;
    }
}

struct node *edit_insert(struct graph *g, struct node **at, const char *op,
                         const char *name)
{
    struct node *n = graph_alloc(1, sizeof(*n));

    n->op = op;
    n->name = name;
    edit_link(g, at, n);
    return n;
}

void edit_move(struct graph *g, struct node **from, struct node **at)
{
    struct node *n = *from;

    *from = n->next;
    if (!n->next) {
        g->last_node = from;
    }
    edit_link(g, at, n);
}

void edit_operand(struct node *n, struct tensor *t)
{
    n->in[n->n_in++] = t;
}

void edit_result(struct node *n, struct tensor *t)
{
    n->out[n->n_out++] = t;
    if (t) {
        t->from = n;
    }
}

void edit_delete(struct node *n)
{
    n->done = true;
}

void edit_view(struct node *n, struct tensor *of)
{
    n->out[0]->alias = of;
    edit_delete(n);
}

void edit_replaced(const struct graph *g, struct node *n)
{
    node_heard(g, n);
    n->n_in = n->n_out = 0;
    edit_delete(n);
}

void edit_absorb(struct node *to, struct node *from)
{
    edit_name(to, from, to);
    to->op = from->op;
    to->rule = from->rule;
    memcpy(to->in, from->in, sizeof(to->in));
    to->n_in = from->n_in;
    to->attr = from->attr;
    to->n_attrs = from->n_attrs;
    edit_delete(from);
}

void edit_name(struct node *n, const struct node *first, const struct node *second)
{
    n->name = graph_text("%s+%s", first->name, second->name);
}

unsigned edit_uses(const struct graph *g, const struct tensor *t)
{
    unsigned uses = 0;

    for (unsigned i = 0; i < g->n_left; i++) {
        uses += g->output[i] == t;
    }
    for (const struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; i < n->n_in; i++) {
            uses += n->in[i] == t;
        }
    }
    return uses;
}

unsigned edit_readers(const struct graph *g, struct tensor *t, struct node **by,
                      unsigned *operand)
{
    const struct tensor *root = tensor_root(t);
    unsigned readers = 0;

    for (unsigned i = 0; i < g->n_left; i++) {
        readers += tensor_root(g->output[i]) == root;
    }
    for (struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; i < n->n_in && !n->done; i++) {
            if (n->in[i] && tensor_root(n->in[i]) == root) {
                readers++;
                *by = n;
                *operand = i;
            }
        }
    }
    return readers;
}

struct node *edit_only_reader(const struct graph *g, struct tensor *t)
{
    struct node *by = NULL;
    unsigned operand = 0;

    return edit_readers(g, t, &by, &operand) == 1 && by && by->in[operand] == t ? by
                                                                                : NULL;
}
