/* SPDX-License-Identifier: MIT
 *
 * Which nodes are one program; see fuse.h. A node joins the program that has computed one of its
 * operands, if the planner can do the whole of it and nothing else has to be computed in between;
 * then programs join programs.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/graph/fuse/fuse.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/price/trial.h"

/* Whether what a node reads comes of a group, by way of others. */
static bool comes_of(const struct node *n, const struct group *group, unsigned pass)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        struct node *from = n->in[i] ? group_maker(n->in[i]) : NULL;
        if (!from || from->seen == pass) {
            continue;
        }
        from->seen = pass;
        if (from->group == group) {
            return true;
        }
        for (unsigned k = 0; from->group && k < from->group->n_nodes; k++) {
            if (comes_of(from->group->node[k], group, pass)) {
                return true;
            }
        }
    }
    return false;
}

/* Nothing that the node reads besides may wait for the group. */
static bool may_join(const struct node *n, const struct group *group)
{
    static unsigned pass;

    for (unsigned i = 0; i < n->n_in; i++) {
        struct node *from = n->in[i] ? group_maker(n->in[i]) : NULL;
        if (!from || from->group == group) {
            continue;
        }
        pass++;
        for (unsigned k = 0; from->group && k < from->group->n_nodes; k++) {
            if (comes_of(from->group->node[k], group, pass)) {
                return false;
            }
        }
    }
    return true;
}

/* --- joining --- */

static unsigned results(const struct emit *e, const struct group *group)
{
    unsigned n = 0;

    for (unsigned i = 0; i < group->n_made; i++) {
        n += group_gives(group, e->g, group->made[i].t);
    }
    return n;
}

/* The node's program as part of a copy of the group. */
static bool written(struct emit *e, struct node *n, struct group *copy,
                    const struct group *of, int binds)
{
    *copy = *of;
    e->join = copy;
    e->binds = binds;
    n->rule->emit(e, n);
    e->join = NULL;
    e->binds = BINDS_NONE;
    return !copy->wrong;
}

/* What the node's axes are in the group. */
static bool bound(struct emit *e, struct node *n, struct group *copy,
                  const struct group *group)
{
    memset(e->bound, NO_AXIS, sizeof(e->bound));
    e->shares = false;
    return written(e, n, copy, group, BINDS_MADE) &&
           (!e->shares || written(e, n, copy, group, BINDS_READ));
}

/* The node's own program, as if there were no others. */
static void alone(struct emit *e, struct node *n, struct step *s)
{
    struct group *own = graph_alloc(1, sizeof(*own)), none = {.body = ""};

    memset(e->bound, NO_AXIS, sizeof(e->bound));
    if (written(e, n, own, &none, BINDS_NONE)) {
        program_step(e, own, s);
    }
    n->group = NULL;
}

static struct candidate *candidate(struct emit *e, const struct node *n,
                                   const struct group *into, const char *nodes)
{
    struct candidate *c = graph_alloc(1, sizeof(*c));

    *c = (struct candidate){.node = n->name, .group = nodes, .into = into};
    *e->last_tried = c;
    e->last_tried = &c->next;
    return c;
}

/* Why measurements have them apart; NULL: they do not. */
static const char *measured_apart(const struct group *group, const struct node *n)
{
    const char *why = NULL;

    for (unsigned i = 0; i < group->n_nodes && !why; i++) {
        why = tune_apart(group->node[i], n);
    }
    return why;
}

/* What might become part of a group: the nodes of another one, or one that has none yet. */
struct addition {
    struct node *const *node;
    unsigned n;
    struct group *from;
};

static void belong(const struct addition *a, struct group *group)
{
    for (unsigned i = 0; i < a->n; i++) {
        a->node[i]->group = group;
    }
}

/* Its program as part of a copy of the group; false: copy->wrong, or it has to wait for what waits
 * for the group. */
static bool copied(struct emit *e, const struct addition *a, struct group *copy,
                   struct group *group)
{
    struct group *next = graph_alloc(1, sizeof(*next));
    bool good = true;

    *copy = *group;
    belong(a, group);
    for (unsigned i = 0; i < a->n && good; i++) {
        good = may_join(a->node[i], group);
    }
    for (unsigned i = 0; i < a->n && good; i++) {
        good = bound(e, a->node[i], next, copy) &&
               written(e, a->node[i], next, copy, BINDS_NONE);
        *copy = *next;
    }
    belong(a, a->from);
    free(next);
    return good;
}

static bool join(struct emit *e, const struct addition *a, struct group *group)
{
    struct group *copy = graph_alloc(1, sizeof(*copy)), was = *group;
    struct step before = {0}, by_itself = {0}, after = {0};
    struct candidate *c;
    bool good = false;

    for (unsigned i = 0; i < a->n; i++) {
        const char *apart = measured_apart(group, a->node[i]);
        if (apart) {
            candidate(e, a->node[i], group, group->node[0]->name)->why = apart;
            return false;
        }
    }
    if (!copied(e, a, copy, group)) {
        if (copy->wrong) {
            candidate(e, a->node[0], group, group->node[0]->name)->why = copy->wrong;
        }
        return false;
    }
    program_step(e, group, &before);
    if (a->from) {
        program_step(e, a->from, &by_itself);
    } else {
        alone(e, a->node[0], &by_itself);
    }
    *group = *copy; /* who computes what is asked for by its address */
    belong(a, group);
    if (results(e, group) <= PLAN_OUT) {
        c = candidate(e, a->node[0], group, before.nodes);
        c->node = a->from ? by_itself.nodes : c->node;
        program_step(e, group, &after);
        trial_weigh(&e->rule, &before, &by_itself, &after, c);
        c->why = c->known && tune_together(group) ? tune_together(group) : c->why;
        c->taken = c->taken || (c->known && tune_together(group));
        good = c->taken;
    }
    if (!good) {
        *group = was;
        belong(a, a->from);
    }
    return good;
}

/* A group as part of those that have computed what it reads. One by one its nodes were none,
 * where what two of them read would have been written besides. */
static void merge(struct emit *e, struct group *b)
{
    const struct addition all = {b->node, b->n_nodes, b};
    struct group *tried = NULL;
    bool good = !b->alone && !b->op && !b->before && b->n_nodes > 1;

    for (unsigned k = 0; k < all.n && good; k++) {
        for (unsigned i = 0; i < all.node[k]->n_in; i++) {
            struct node *from =
                all.node[k]->in[i] ? group_maker(all.node[k]->in[i]) : NULL;
            struct group *a = from ? from->group : NULL;
            if (!a || a == b || a == tried || a->alone) {
                continue;
            }
            tried = a;
            if (join(e, &all, a)) {
                b->n_nodes = 0;
                b->emitted = true;
                return;
            }
        }
    }
}

bool fuse_take(struct emit *e, struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        struct node *from = n->in[i] ? group_maker(n->in[i]) : NULL;
        if (from && from->group && !from->group->alone &&
            join(e, &(struct addition){&n, 1, NULL}, from->group)) {
            return true;
        }
    }
    return false;
}

void fuse_merge(struct emit *e)
{
    for (struct group *s = e->groups; s; s = s->next) {
        merge(e, s);
    }
}
