/* SPDX-License-Identifier: MIT
 *
 * Passes; see pass.h.
 */
#include "tools/graph/passes/pass.h"

#include <string.h>

#include "tools/graph/fuse/pattern.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/rules/product/product.h"

/* --- nodes that compute the same --- */

/* Constants are the same by value: those that differ do so early. */
static bool same_tensor(struct tensor *a, struct tensor *b)
{
    if (a == b) {
        return true;
    }
    if (!a || !b || a->type != b->type || !shape_equal(&a->shape, &b->shape)) {
        return false;
    }
    if (a->value && b->value) {
        return packed_same(a, b);
    }
    return tensor_root(a) == tensor_root(b) && tensor_offset(a) == tensor_offset(b);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_strings(const struct attr *a, const struct attr *b)
{
    bool same = a->n_strings == b->n_strings;

    for (size_t i = 0; same && i < a->n_strings; i++) {
        same = same_text(a->strings[i], b->strings[i]);
    }
    return same;
}

/* Of none there need not be an address. */
static bool same_bytes(const void *a, const void *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

static bool same_attr(const struct attr *a, const struct attr *b)
{
    return strcmp(a->name, b->name) == 0 && a->i == b->i &&
           memcmp(&a->f, &b->f, sizeof(a->f)) == 0 && same_text(a->s, b->s) &&
           a->n_ints == b->n_ints && a->n_floats == b->n_floats &&
           same_bytes(a->ints, b->ints, a->n_ints * sizeof(*a->ints)) &&
           same_bytes(a->floats, b->floats, a->n_floats * sizeof(*a->floats)) &&
           same_strings(a, b) && same_tensor(a->t, b->t);
}

static bool same_node(const struct node *a, const struct node *b)
{
    bool same = a->rule == b->rule && a->n_in == b->n_in && a->n_out == b->n_out &&
                a->n_attrs == b->n_attrs && strcmp(a->op, b->op) == 0;

    for (unsigned i = 0; same && i < a->n_in; i++) {
        same = same_tensor(a->in[i], b->in[i]);
    }
    for (unsigned i = 0; same && i < a->n_attrs; i++) {
        same = same_attr(&a->attr[i], &b->attr[i]);
    }
    for (unsigned i = 0; same && i < a->n_out; i++) {
        same = a->out[i] || !b->out[i];
    }
    return same;
}

static unsigned common(struct graph *g)
{
    unsigned count = 0;

    for (struct node *n = g->nodes; n; n = n->next) {
        const struct node *first = g->nodes;
        while (!n->done && first != n && (first->done || !same_node(first, n))) {
            first = first->next;
        }
        if (n->done || first == n) {
            continue;
        }
        for (unsigned i = 0; i < n->n_out; i++) {
            if (n->out[i]) {
                n->out[i]->alias = first->out[i];
            }
        }
        edit_delete(n);
        count++;
    }
    return count;
}

/* --- nodes that nobody wants --- */

static bool node_wanted(const struct graph *g, const struct node *n)
{
    struct node *by;
    unsigned operand;

    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i] && edit_readers(g, n->out[i], &by, &operand)) {
            return true;
        }
    }
    return false;
}

/* Until there are no more: what only they read is not wanted either. */
static unsigned dead(struct graph *g)
{
    unsigned count = 0, before;

    do {
        before = count;
        for (struct node *n = g->nodes; n; n = n->next) {
            if (!n->done && !node_wanted(g, n)) {
                edit_delete(n);
                count++;
            }
        }
    } while (count > before);
    return count;
}

/* --- all --- */

struct pass passes[] = {
    {.name = "norms",
     .what = "normalisations in the weights beside them",
     .run = pass_norms},
    {.name = "common", .what = "nodes that compute what others do", .run = common},
    {.name = "bags", .what = "bags of rows whose rows nobody wants", .run = pass_bags},
    {.name = "layout",
     .what = "nodes whose results have channels last",
     .run = pass_layout},
    {.name = "dead", .what = "nodes whose results nobody wants", .run = dead},
    {.name = "tails",
     .what = "nodes that are the end of a convolution",
     .run = pass_tails},
    {.name = "patterns",
     .what = "groups of nodes that a pattern describes",
     .run = pattern_find},
    {.name = "planes",
     .what = "nodes whose products of F32 are by planes of F16",
     .run = product_planes},
    {0},
};

static int64_t before, after;

bool pass_off(const char *name)
{
    for (struct pass *p = passes; p->name; p++) {
        if (strcmp(p->name, name) == 0) {
            p->off = true;
            return true;
        }
    }
    return false;
}

const char *pass_names(void)
{
    const char *names = "";

    for (const struct pass *p = passes; p->name; p++) {
        names = graph_text("%s, %s", names, p->name);
    }
    return names;
}

/* Elements of constants that nodes read which are computed in a run. */
static int64_t parameters(const struct graph *g)
{
    int64_t count = 0;

    for (const struct node *n = g->nodes; n; n = n->next) {
        for (unsigned i = 0; !n->done && i < n->n_in; i++) {
            const struct tensor *t = n->in[i];
            bool seen = !t || !t->value;
            for (const struct node *m = g->nodes; !seen && m != n; m = m->next) {
                for (unsigned k = 0; !m->done && !seen && k < m->n_in; k++) {
                    seen = m->in[k] == t;
                }
            }
            count += seen ? 0 : tensor_count(t);
        }
    }
    return count;
}

void pass_graph(struct graph *g)
{
    before = parameters(g);
    for (struct pass *p = passes; p->name; p++) {
        p->count = p->off ? 0 : p->run(g);
    }
    after = parameters(g);
}

void pass_report(FILE *to)
{
    for (const struct pass *p = passes; p->name; p++) {
        fprintf(to, p->off ? "%s: left out\n" : "%s: %u %s\n", p->name, p->count,
                p->what);
    }
    fprintf(to, "parameters: %lld, were %lld\n", (long long)after, (long long)before);
}
