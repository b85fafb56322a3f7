/* SPDX-License-Identifier: MIT
 *
 * Tensors of which a run tells how many they have along one axis: select.c makes them as large
 * as they may become, and what stands behind those that were found is of no account. Operators
 * that compute each of them alone hand that on; the others are refused.
 */
#include <string.h>

#include "tools/graph/passes/infer.h"
#include "tools/graph/rules/elementwise/elementwise.h"

enum { NOWHERE = -1 };

static bool is(const struct node *n, const char *ops)
{
    const char *at = strstr(ops, n->op);
    size_t len = strlen(n->op);

    while (at && ((at != ops && at[-1] != ' ') || (at[len] && at[len] != ' '))) {
        at = strstr(at + 1, n->op);
    }
    return at != NULL;
}

static bool elementwise(const struct node *n)
{
    for (const struct rule *r = rules_elementwise; r->op; r++) {
        if (r == n->rule) {
            return true;
        }
    }
    return is(n, "Div Mod Pow Cast CastLike");
}

/* A view's dimension with as many elements in front of it and behind it. */
static int of_view(const struct shape *from, unsigned axis, const struct shape *to)
{
    int64_t outer, inner, before, behind;

    shape_around(from, axis, &outer, &inner);
    for (unsigned d = 0; d < to->n; d++) {
        shape_around(to, d, &before, &behind);
        if (to->dim[d] == from->dim[axis] && before == outer && behind == inner) {
            return (int)d;
        }
    }
    return NOWHERE;
}

static int of_transpose(const struct node *n, unsigned axis)
{
    const struct attr *perm = node_attr(n, "perm");
    unsigned rank = n->in[0]->shape.n;

    for (unsigned d = 0; d < rank; d++) {
        int64_t of = perm ? perm->ints[d] : (int64_t)(rank - 1 - d);
        if (of == (int64_t)axis || of + rank == (int64_t)axis) {
            return (int)d;
        }
    }
    return NOWHERE;
}

/* Indices of those that are found, or of something else in each of them. */
static int of_gather(const struct graph *g, const struct node *n, unsigned i,
                     unsigned axis)
{
    unsigned at = node_axis(g, n, node_int(n, "axis", 0), n->in[0]->shape.n);

    if (i == 1) {
        return (int)(at + axis);
    }
    return axis == at  ? NOWHERE
           : axis < at ? (int)axis
                       : (int)(axis + n->in[1]->shape.n - 1);
}

/* Which dimension of the result is that of operand i. */
static int behind(const struct graph *g, const struct node *n, unsigned i, unsigned axis)
{
    const struct shape *from = &n->in[i]->shape, *to = &n->out[0]->shape;
    int64_t list[GRAPH_OPERANDS];
    unsigned count, d = 0;

    if (elementwise(n)) {
        return (int)(axis + to->n - from->n);
    }
    if (is(n, "Identity Reshape Flatten Squeeze Unsqueeze") && i == 0) {
        return of_view(from, axis, to);
    }
    if (is(n, "Transpose")) {
        return of_transpose(n, axis);
    }
    if (is(n, "Gather")) {
        return of_gather(g, n, i, axis);
    }
    if (is(n, "GatherND") && i == 1 && axis + 1 < from->n &&
        !node_int(n, "batch_dims", 0)) {
        return (int)axis;
    }
    if (is(n, "Concat")) {
        d = node_axis(g, n, node_int(n, "axis", 0), to->n);
        return d == axis ? NOWHERE : (int)axis;
    }
    if (is(n, "Slice") && i == 0) {
        count = node_ints(g, n, "axes", 3, list);
        while (d < count && node_axis(g, n, list[d], from->n) != axis) {
            d++;
        }
        return count > 0 && d == count ? (int)axis : NOWHERE;
    }
    return NOWHERE;
}

/* CastLike: of that operand the type alone counts. */
static bool is_type(const struct node *n, unsigned i)
{
    return i == 1 && is(n, "CastLike");
}

/* Of the other operands a dimension that is broadcast has one element. */
static bool goes_with(const struct node *n, const struct tensor *t, int axis,
                      const struct tensor *count)
{
    int at = axis - (int)n->out[0]->shape.n + (int)t->shape.n;

    return t->count == count || at < 0 || t->shape.dim[at] == 1;
}

void infer_counted(const struct graph *g, struct node *n)
{
    struct tensor *out = n->out[0], *count = NULL;
    int axis = NOWHERE;

    for (unsigned i = 0; i < n->n_in; i++) {
        struct tensor *t = n->in[i];
        int to;
        if (!t || !t->count || is_type(n, i)) {
            continue;
        }
        to = out ? behind(g, n, i, t->counted) : NOWHERE;
        if (to == NOWHERE || (count && (count != t->count || axis != to))) {
            node_die(g, n, "how many '%s' has is known in a run only", t->name);
        }
        count = t->count;
        axis = to;
    }
    for (unsigned i = 0; i < n->n_in && count; i++) {
        bool alike = elementwise(n) || is(n, "Concat");
        if (alike && n->in[i] && !is_type(n, i) && !goes_with(n, n->in[i], axis, count)) {
            node_die(g, n, "'%s' has %lld where a run tells how many there are",
                     n->in[i]->name, (long long)out->shape.dim[axis]);
        }
    }
    if (count) {
        out->count = count;
        out->counted = (uint8_t)axis;
    }
}

void infer_counted_outputs(struct graph *g)
{
    g->n_left = g->n_outputs;
    for (unsigned i = 0; i < g->n_outputs; i++) {
        struct tensor *count = g->output[i]->count;
        unsigned k = g->n_outputs;
        while (count && k < g->n_left && g->output[k] != count) {
            k++;
        }
        if (count) {
            g->output[k] = count;
            g->n_left = k < g->n_left ? g->n_left : k + 1;
        }
    }
}
