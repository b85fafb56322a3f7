/* SPDX-License-Identifier: MIT
 *
 * Types and shapes of all tensors, and values where they are known; see infer.h.
 */
#include "tools/graph/passes/infer.h"

#include "tools/graph/model/dtype.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/rules/elementwise/small.h"
#include "tools/graph/rules/rules.h"

/* Those of a tensor without elements are. */
static bool values_known(const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        struct tensor *t = n->in[i];
        if (t && !t->value && (tensor_count(t) != 0 || !tensor_values(t))) {
            return false;
        }
    }
    return true;
}

static void load_values(const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i]) {
            packed_load(n->in[i]);
        }
    }
}

/* What is rounded to its type on the machine is so here. */
static void round_values(struct node *n)
{
    for (unsigned i = 0; i < n->n_out; i++) {
        struct tensor *t = n->out[i];
        if (t && t->value) {
            elem_round_all(dtype_known(t->type), t->value, (size_t)tensor_count(t));
        }
    }
}

/* A value that shapes depend on: the plan holds for what was given, and for nothing else.
 * What is computed of such values alone is computed here. */
static bool settled(struct graph *g, struct tensor *t)
{
    struct node *from = t->from;

    if (!t->value && t->given) {
        t->value = t->given->value;
        t->fixed = true;
    }
    if (t->value || !from || !from->rule->value) {
        return t->value;
    }
    for (unsigned i = 0; i < from->n_in; i++) {
        if (from->in[i] && !settled(g, from->in[i])) {
            return false;
        }
    }
    load_values(from);
    from->rule->value(g, from);
    round_values(from);
    edit_delete(from);
    return t->value;
}

static void fix_value(struct graph *g, const struct node *n, struct tensor *t)
{
    if (!settled(g, t)) {
        node_die(g, n, "'%s', which its shape depends on, is known in a run only: --in",
                 t->name);
    }
}

static bool given(const struct node *n)
{
    bool any = false;

    for (unsigned i = 0; i < n->n_out && (i == 0 || n->rule->optional); i++) {
        any = any || n->out[i];
    }
    return any;
}

static void infer_node(struct graph *g, struct node *n)
{
    n->rule = rules_find(n->op);
    if (!n->rule) {
        node_die(g, n, "no such operator of opset %d here%s", g->opset,
                 rules_why_not(n->op));
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] && !n->in[i]->known) {
            node_die(g, n, "nothing computes its operand '%s'", n->in[i]->name);
        }
        if (n->in[i] && n->in[i]->list && !n->rule->lists) {
            node_die(g, n, "'%s' is a sequence", n->in[i]->name);
        }
        if (n->in[i] && !packed_reads(n, i)) {
            packed_load(n->in[i]);
        }
        if (n->in[i] && i < 32 && (n->rule->wants & UINT32_C(1) << i)) {
            fix_value(g, n, n->in[i]);
        }
    }
    small_check(g, n);
    if (!given(n)) {
        node_die(g, n, "nobody is given its result");
    }
    n->rule->shape(g, n);
    if (n->n_out == 0) {
        return; /* others are in its place */
    }
    infer_counted(g, n);
    if (n->rule->value && values_known(n)) {
        load_values(n);
        n->rule->value(g, n);
        round_values(n);
        node_heard(g, n);
        edit_delete(n);
    }
}

/* What computes an operand of n and is still to come, or NULL. */
static struct node *ahead(const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct tensor *t = n->in[i];
        if (t && !t->known && t->from && !t->from->rule) {
            return t->from;
        }
    }
    return NULL;
}

/* Files may have nodes in any order: what exporters convert to float16 has its Casts at the
 * end. */
void infer_graph(struct graph *g)
{
    struct node *n, *first;

    for (struct node **at = &g->nodes; (n = *at) != NULL;) {
        first = ahead(n);
        if (!first) {
            infer_node(g, n);
            at = &n->next;
        } else if (first->brought || first == n) {
            node_die(g, n, "what it reads of node '%s' is computed of its own result",
                     first->name);
        } else {
            struct node **from = at;
            while (*from != first) {
                from = &(*from)->next;
            }
            edit_move(g, from, at);
            first->brought = true;
        }
    }
    for (unsigned i = 0; i < g->n_outputs; i++) {
        if (!g->output[i]->known) {
            graph_die(g, "nothing computes the output '%s'", g->output[i]->name);
        }
        if (g->output[i]->list) {
            graph_die(g, "output '%s' is a sequence, which no run leaves",
                      g->output[i]->name);
        }
    }
    infer_counted_outputs(g);
}
