/* SPDX-License-Identifier: MIT
 *
 * See list.h.
 */
#include "tools/graph/model/list.h"

struct tensor *const *list_of(const struct graph *g, const struct node *n, unsigned i,
                              unsigned *count)
{
    const struct tensor *t = node_in(g, n, i);

    if (!t->list) {
        node_die(g, n, "'%s' is no sequence", t->name);
    }
    *count = t->list->n;
    return t->list->at;
}

void list_is(const struct graph *g, const struct node *n, struct tensor *t,
             struct tensor *const *at, unsigned count)
{
    struct tensor **own = graph_alloc(count, sizeof(struct tensor *));
    struct list *list = graph_alloc(1, sizeof(*list));

    if (count > LIST_MOST) {
        node_die(g, n, "a sequence of %u, at most %d", count, LIST_MOST);
    }
    for (unsigned i = 0; i < count; i++) {
        own[i] = at[i];
    }
    *list = (struct list){count, own};
    t->list = list;
    t->known = true;
}

void list_join(struct lower *l, struct tensor *const *at, unsigned count, int64_t axis,
               bool fresh, const char *to)
{
    struct tensor *part[GRAPH_OPERANDS];
    unsigned each = 1, parts = 0;
    const char *operands = "";

    while ((count + each - 1) / each > GRAPH_OPERANDS) {
        each *= GRAPH_OPERANDS;
    }
    for (unsigned i = 0; i < count; i += each, parts++) {
        const char *name = graph_text("%s_%u", to, parts);
        if (each > 1) {
            list_join(l, at + i, count - i < each ? count - i : each, axis, fresh, name);
        } else if (fresh) {
            lower_reads(l, &at[i], 1);
            lower_text(l, "%s = Unsqueeze($0; axes=[%lld])\n", name, (long long)axis);
        }
        part[parts] = each > 1 || fresh ? lower_tensor(l, name) : at[i];
        operands = graph_text("%s%s$%u", operands, parts ? ", " : "", parts);
    }
    lower_reads(l, part, parts);
    lower_text(l, "%s = Concat(%s; axis=%lld)\n", to, operands, (long long)axis);
}
