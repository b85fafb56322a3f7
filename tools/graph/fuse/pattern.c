/* SPDX-License-Identifier: MIT
 *
 * See pattern.h.
 */
#include "tools/graph/fuse/pattern.h"

#include <string.h>

#include "tools/graph/fuse/fuse.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/price/trial.h"

static const struct pattern *const patterns[] = {&pattern_attention};
enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

/* --- finding --- */

bool pattern_take(struct match *m, struct node *n)
{
    bool good = m->n_nodes < GROUP_NODES && !n->match;

    for (unsigned i = 0; i < m->n_nodes && good; i++) {
        good = m->node[i] != n;
    }
    if (good) {
        m->node[m->n_nodes++] = n;
    }
    return good;
}

/* In the graph's order. */
static void sort(const struct graph *g, struct match *m)
{
    unsigned at = 0;

    for (struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = at; i < m->n_nodes; i++) {
            if (m->node[i] == n) {
                m->node[i] = m->node[at];
                m->node[at++] = n;
            }
        }
    }
}

static bool is_at(const struct pattern *p, const struct node *n)
{
    return strcmp(n->op, p->at[0]) == 0 || (p->at[1] && strcmp(n->op, p->at[1]) == 0);
}

unsigned pattern_find(struct graph *g)
{
    unsigned count = 0;

    for (struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; i < PATTERNS && !n->done && !n->match; i++) {
            struct match *m = graph_alloc(1, sizeof(*m));
            m->pattern = patterns[i];
            if (!is_at(patterns[i], n) || !patterns[i]->find(g, n, m)) {
                continue;
            }
            sort(g, m);
            for (unsigned k = 0; k < m->n_nodes; k++) {
                m->node[k]->match = m;
            }
            count++;
        }
    }
    return count;
}

/* --- whether it is worth it --- */

static void belong(struct graph *g, const struct match *m, struct group *group)
{
    if (m->view) {
        m->view->alias = group ? m->is : NULL;
        group_forget_readers(g);
    }
    for (unsigned i = 0; i < m->n_nodes; i++) {
        m->node[i]->group = group;
    }
}

/* Steps of groups, about; false: some cannot be done. */
static bool price_of(const struct emit *e, struct price *sum)
{
    for (struct group *group = e->groups; group; group = group->next) {
        struct step s = {0};
        const char *schedule;
        uint64_t cycles = 0;
        if (group->wrong) {
            return false;
        }
        if (group->op) {
            s = fuse_operator_step(group);
            cycles = s.cycles;
        } else if (group->n_nodes) {
            program_step(e, group, &s);
            if (s.n_out && trial_step(&s, &cycles, &schedule)) {
                return false;
            }
        }
        sum->cycles += cycles;
        sum->bytes += step_bytes(&s);
    }
    return true;
}

/* What becomes of the nodes without the pattern. */
static bool price_without(const struct emit *of, const struct match *m,
                          struct price *price)
{
    struct emit *e = fuse_begin(of->g, &of->rule);
    bool good;

    for (unsigned i = 0; i < m->n_nodes; i++) {
        (void)fuse_node(e, m->node[i], true);
    }
    fuse_merge(e);
    good = price_of(e, price);
    belong(of->g, m, NULL);
    return good;
}

/* The nodes' program, as part of a group that has none yet or of its own. */
static struct group *written(struct emit *e, const struct match *m,
                             const struct pattern_variant *way)
{
    struct program p = program_begin(e, m->node[0]);

    for (unsigned i = 1; i < m->n_nodes; i++) {
        p.group->node[p.group->n_nodes++] = m->node[i];
    }
    belong(e->g, m, p.group);
    if (!way->write(&p, m)) {
        p.group->wrong = "no way for these";
    }
    return p.group;
}

/* Why that way cannot be; NULL, with its price. */
static const char *try_way(struct emit *e, const struct match *m,
                           const struct pattern_variant *way, struct price *price)
{
    struct group *own = graph_alloc(1, sizeof(*own));
    struct step s = {0};
    const char *schedule, *why;

    own->body = "";
    e->join = own;
    e->binds = BINDS_NONE;
    memset(e->bound, NO_AXIS, sizeof(e->bound));
    (void)written(e, m, way);
    e->join = NULL;
    why = own->wrong;
    if (!why) {
        program_step(e, own, &s);
        price->bytes = step_bytes(&s);
        why = trial_step(&s, &price->cycles, &schedule);
    }
    belong(e->g, m, NULL);
    return why;
}

static const char *names(const struct match *m)
{
    const char *all = m->node[0]->name;

    for (unsigned i = 1; i < m->n_nodes; i++) {
        all = graph_text("%s+%s", all, m->node[i]->name);
    }
    return all;
}

static const char *measured_apart(const struct match *m)
{
    const char *why = NULL;

    for (unsigned i = 0; i < m->n_nodes; i++) {
        for (unsigned k = 0; k < i && !why; k++) {
            why = tune_apart(m->node[i], m->node[k]);
        }
    }
    return why;
}

/* The cheapest way; NULL: there is none, and c->why. */
static const struct pattern_variant *best_way(struct emit *e, const struct match *m,
                                              struct candidate *c)
{
    const struct pattern_variant *best = NULL, *way = m->pattern->way;

    c->why = measured_apart(m);
    if (c->why) {
        return NULL;
    }
    for (; way < m->pattern->way + PATTERN_VARIANTS && way->name; way++) {
        struct price price;
        const char *why = try_way(e, m, way, &price);
        if (why) {
            c->why = graph_text("%s%s%s: %s", c->why ? c->why : "", c->why ? "; " : "",
                                way->name, why);
        } else if (!best || price.cycles < c->after.cycles) {
            best = way;
            c->after = price;
        }
    }
    return best;
}

static void weigh(struct emit *e, const struct match *m)
{
    struct candidate *c = graph_alloc(1, sizeof(*c));
    const struct pattern_variant *way;
    struct group *group;

    *c = (struct candidate){.node = names(m), .group = m->pattern->name};
    *e->last_tried = c;
    e->last_tried = &c->next;
    way = best_way(e, m, c);
    if (!way) {
        return;
    }
    c->known = price_without(e, m, &c->before);
    if (c->known) {
        trial_decide(&e->rule, c);
    } else {
        c->taken = true;
        c->why = "without it they cannot be done";
    }
    group = graph_alloc(1, sizeof(*group));
    memcpy(group->node, m->node, sizeof(m->node));
    group->n_nodes = m->n_nodes;
    if (!c->taken && tune_together(group)) {
        c->taken = true;
        c->why = tune_together(group);
    }
    c->why = graph_text("%s, %s", way->name, c->why);
    c->into = c->taken ? written(e, m, way) : NULL;
}

void pattern_groups(struct emit *e)
{
    for (struct node *n = e->g->nodes; n; n = n->next) {
        if (n->match && n->match->node[0] == n && !n->done) {
            weigh(e, n->match);
        }
    }
}
