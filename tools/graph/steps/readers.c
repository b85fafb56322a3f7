/* SPDX-License-Identifier: MIT
 *
 * Who computes a tensor, and who reads it; see steps.h.
 */
#include <stdlib.h>

#include "tools/graph/steps/steps.h"

/* Whether t has the bytes of `of`. */
static bool is_of(const struct tensor *t, const struct tensor *of)
{
    for (; t; t = t->alias) {
        if (t == of) {
            return true;
        }
    }
    return false;
}

/* A node that reads a tensor, or a view of it. */
struct reader {
    const struct node *n;
    const struct reader *next;
};

static unsigned readers; /* how often they have been looked for */

void group_forget_readers(struct graph *g)
{
    free(g->readers);
    g->readers = NULL;
}

static void find_readers(struct graph *g)
{
    size_t count = 0;

    for (const struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; i < n->n_in; i++) {
            for (const struct tensor *t = n->in[i]; t; t = t->alias) {
                count++;
            }
        }
    }
    g->readers = graph_alloc(count, sizeof(*g->readers));
    readers++;
    count = 0;
    for (const struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; i < n->n_in; i++) {
            for (struct tensor *t = n->in[i]; t; t = t->alias) {
                const struct reader *next = t->readers == readers ? t->reader : NULL;
                g->readers[count] = (struct reader){n, next};
                t->reader = &g->readers[count++];
                t->readers = readers;
            }
        }
    }
}

bool group_gives(const struct group *group, struct graph *g, const struct tensor *t)
{
    if (group->alone) { /* several steps of one node hand on to each other */
        return true;
    }
    for (unsigned i = 0; i < g->n_left; i++) {
        if (is_of(g->output[i], t)) {
            return true;
        }
    }
    if (!g->readers) {
        find_readers(g);
    }
    for (const struct reader *r = t->readers == readers ? t->reader : NULL; r;
         r = r->next) {
        for (unsigned i = 0; !r->n->done && r->n->group != group && i < r->n->n_in; i++) {
            if (is_of(r->n->in[i], t)) { /* it may be a copy, which nobody reads */
                return true;
            }
        }
    }
    return false;
}

struct node *group_maker(struct tensor *t)
{
    const struct tensor *of = tensor_root(t);

    return of->value || !of->from || of->from->done ? NULL : of->from;
}
