/* SPDX-License-Identifier: MIT
 *
 * Groups that are an operator's step, and what is common to all steps; see steps.h.
 */
#include "tools/graph/steps/steps.h"

#include <string.h>

void group_put(struct emit *e, const struct node *n, struct group *group)
{
    group->before = n->group;
    *e->last_group = group;
    e->last_group = &group->next;
}

/* --- operators --- */

struct group *operator_begin(struct emit *e, struct node *n, const char *op,
                             const char *options)
{
    struct group *s = graph_alloc(1, sizeof(*s));

    *s = (struct group){
        .op = op, .text = options, .alone = true, .n_nodes = 1, .node = {n}};
    if (e->join) {
        e->join->wrong = "an operator";
        return s;
    }
    group_put(e, n, s);
    n->group = s;
    return s;
}

void operator_in(struct emit *e, struct group *s, struct tensor *t)
{
    if (s->n_in == PLAN_IN) {
        node_die(e->g, s->node[0], "more than %d operands", PLAN_IN);
    }
    if (!t) {
        node_die(e->g, s->node[0], "operand %u is missing", s->n_in);
    }
    s->in[s->n_in++].t = t;
}

void operator_out(struct group *s, struct tensor *t)
{
    s->made[s->n_made++].t = t;
}

/* --- steps --- */

uint64_t step_bytes(const struct step *s)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < s->n_in; i++) {
        bytes += tensor_bytes(s->in[i]);
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        bytes += tensor_bytes(s->out[i]);
    }
    return bytes;
}

struct step step_with(const struct step *s, const char *schedule)
{
    struct step with = *s;
    bool first = s->plain[strlen(s->plain) - 1] == '\n';

    with.text = graph_text("%s%s%s\n", s->plain, first ? "schedule " : ", ", schedule);
    return with;
}
