/* SPDX-License-Identifier: MIT
 *
 * Which nodes are one program, and the order of steps; see emit.h. A node joins the program
 * that has computed one of its operands, if the planner can do the whole of it and nothing
 * else has to be computed in between.
 */
#include "tools/graph/emit.h"

#include <string.h>

#include "tools/graph/trial.h"
#include "tools/graph/tune.h"

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

/* --- who wants what --- */

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

bool group_gives(const struct group *group, const struct graph *g, const struct tensor *t)
{
    if (group->alone) { /* several steps of one node hand on to each other */
        return true;
    }
    for (unsigned i = 0; i < g->n_outputs; i++) {
        if (is_of(g->output[i], t)) {
            return true;
        }
    }
    for (const struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; !n->done && n->group != group && i < n->n_in; i++) {
            if (n->in[i] && is_of(n->in[i], t)) {
                return true;
            }
        }
    }
    return false;
}

/* The node that computes a tensor, views looked through; NULL: input or constant. */
static struct node *maker(struct tensor *t)
{
    const struct tensor *of = tensor_root(t);

    return of->value || !of->from || of->from->done ? NULL : of->from;
}

/* Whether what a node reads comes of a group, by way of others. */
static bool comes_of(const struct node *n, const struct group *group, unsigned pass)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        struct node *from = n->in[i] ? maker(n->in[i]) : NULL;
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
        struct node *from = n->in[i] ? maker(n->in[i]) : NULL;
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
                    const struct group *of, bool binds)
{
    *copy = *of;
    e->join = copy;
    e->binds = binds;
    n->rule->emit(e, n);
    e->join = NULL;
    e->binds = false;
    return !copy->wrong;
}

/* The node's own program, as if there were no others. */
static void alone(struct emit *e, struct node *n, struct step *s)
{
    struct group *own = graph_alloc(1, sizeof(*own)), none = {.body = ""};

    memset(e->bound, NO_AXIS, sizeof(e->bound));
    if (written(e, n, own, &none, false)) {
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

static bool measured_apart(const struct group *group, const struct node *n)
{
    for (unsigned i = 0; i < group->n_nodes; i++) {
        if (tune_apart(group->node[i], n)) {
            return true;
        }
    }
    return false;
}

static bool join(struct emit *e, struct node *n, struct group *group)
{
    struct group *copy = graph_alloc(1, sizeof(*copy)), was = *group;
    struct step before = {0}, by_itself = {0}, after = {0};
    bool good;

    if (!group->alone && measured_apart(group, n)) {
        candidate(e, n, group, group->node[0]->name)->why = "measured as faster apart";
        return false;
    }
    memset(e->bound, NO_AXIS, sizeof(e->bound));
    good = !group->alone && may_join(n, group) && written(e, n, copy, group, true) &&
           written(e, n, copy, group, false);
    n->group = NULL;
    if (!good) {
        if (!group->alone && copy->wrong) {
            candidate(e, n, group, group->node[0]->name)->why = copy->wrong;
        }
        return false;
    }
    program_step(e, group, &before);
    alone(e, n, &by_itself);
    *group = *copy; /* who computes what is asked for by its address */
    n->group = group;
    good = results(e, group) <= PLAN_OUT;
    if (good) {
        struct candidate *c = candidate(e, n, group, before.nodes);
        program_step(e, group, &after);
        trial_weigh(&e->rule, &before, &by_itself, &after, c);
        good = c->taken;
    }
    if (!good) {
        *group = was;
        n->group = NULL;
    }
    return good;
}

static bool empty(const struct node *n)
{
    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i] && tensor_count(n->out[i]) != 0) {
            return false;
        }
    }
    return true;
}

static void emit_node(struct emit *e, struct node *n, bool fuse)
{
    struct group **own;

    if (!n->rule->emit) {
        node_die(e->g, n, "the machine has no operator for it");
    }
    for (unsigned i = 0; fuse && !n->rule->alone && i < n->n_in; i++) {
        struct node *from = n->in[i] ? maker(n->in[i]) : NULL;
        if (from && from->group && join(e, n, from->group)) {
            return;
        }
    }
    own = e->last_group;
    n->rule->emit(e, n);
    for (struct group *s = *own; s; s = s->next) {
        s->alone |= n->rule->alone;
        if (s->wrong) {
            node_die(e->g, n, "%s", s->wrong);
        }
    }
}

/* --- steps --- */

static uint64_t bytes_of(const struct tensor *t)
{
    size_t bytes = t->type == ELEM_I64 ? 4 : elem_bytes(t->type); /* on the machine */

    return (uint64_t)tensor_count(t) * bytes;
}

uint64_t step_bytes(const struct step *s)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < s->n_in; i++) {
        bytes += bytes_of(s->in[i]);
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        bytes += bytes_of(s->out[i]);
    }
    return bytes;
}

struct step step_with(const struct step *s, const char *schedule)
{
    struct step with = *s;

    with.text =
        graph_text("%s%s%s\n", s->plain, s->group->exact ? ", " : "schedule ", schedule);
    return with;
}

/* The schedule goes with the program where it leads to the same plan, so that the firmware need
 * not search; or one that measurements have told. Returns the planner's own. */
static const char *predict(struct emit *e, struct step *s)
{
    const char *schedule, *own, *words, *why = trial_step(s, &s->cycles, &schedule);
    struct step with;
    uint64_t cycles;

    if (why) {
        node_die(e->g, s->group->node[0], "%s", why);
    }
    own = schedule;
    s->plain = s->text;
    s->key = trial_key(s);
    words = tune_words(s);
    if (schedule || words) {
        with = step_with(s, words ? words : schedule);
        if (!trial_step(&with, &cycles, &schedule) && (words || cycles == s->cycles)) {
            *s = with;
            s->tuned = words != NULL;
        }
    }
    s->cycles = trial_behind(s, &e->recorded);
    s->limit = trial_limit(s);
    return own;
}

static void put_step(struct emit *e, struct group *group)
{
    struct step *s = graph_alloc(1, sizeof(*s));
    const char *own = NULL;

    if (group->op) {
        *s = (struct step){.op = group->op,
                           .text = group->text,
                           .nodes = group->node[0]->name,
                           .n_in = group->n_in,
                           .n_out = group->n_made};
        for (unsigned i = 0; i < s->n_in; i++) {
            s->in[i] = group->in[i].t;
        }
        for (unsigned i = 0; i < s->n_out; i++) {
            s->out[i] = group->made[i].t;
        }
        s->cycles = group->moves ? price_copies(group->moves, group->n_moves) : 0;
        e->recorded = group->moves ? e->recorded : 0;
    } else {
        program_step(e, group, s);
        s->group = group;
        own = s->n_out ? predict(e, s) : NULL;
    }
    s->group = group;
    if (s->n_out) {
        *e->last = s;
        s->next = own ? tune_tries(s, own) : NULL;
        while (*e->last) {
            e->last = &(*e->last)->next;
        }
    }
}

/* Behind those that compute what it reads. */
static void emit_steps(struct emit *e, struct group *group)
{
    if (group->emitted) {
        return;
    }
    group->emitted = true;
    if (group->before) {
        emit_steps(e, group->before);
    }
    for (unsigned k = 0; k < group->n_nodes; k++) {
        const struct node *n = group->node[k];
        for (unsigned i = 0; i < n->n_in; i++) {
            struct node *from = n->in[i] ? maker(n->in[i]) : NULL;
            if (from && from->group) {
                emit_steps(e, from->group);
            }
        }
    }
    put_step(e, group);
}

struct emit *emit_graph(struct graph *g, const struct rule_of_joining *rule)
{
    struct emit *e = graph_alloc(1, sizeof(*e));

    *e = (struct emit){
        .g = g, .last = &e->steps, .last_group = &e->groups, .last_tried = &e->tried};
    if (rule) {
        e->rule = *rule;
    }
    for (struct node *n = g->nodes; n; n = n->next) {
        n->done = n->done || empty(n);
        if (!n->done) {
            emit_node(e, n, rule != NULL);
            node_heard(g, n);
        }
    }
    for (struct group *s = e->groups; s; s = s->next) {
        emit_steps(e, s);
    }
    return e;
}
