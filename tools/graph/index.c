/* SPDX-License-Identifier: MIT
 *
 * Operators whose results depend on where an element lies.
 */
#include <string.h>

#include "tools/graph/emit.h"

static void same_shape(struct graph *g, struct node *n)
{
    tensor_is(g, n, 0, node_in(g, n, 0)->type, &n->in[0]->shape);
}

/* --- Trilu --- */

static void trilu_emit(struct emit *e, struct node *n)
{
    static const char *const dims[] = {"b", "m", "n"};
    struct tensor *x = n->in[0], *k = node_maybe(n, 1);
    unsigned rank = x->shape.n;
    struct shape s = {.n = 3, .dim = {1}};
    bool upper = node_int(n, "upper", 1) != 0, mask = x->type == ELEM_BOOL;
    struct program p;
    const char *v;

    if (rank < 2) {
        node_die(e->g, n, "of %s", shape_text(&x->shape));
    }
    for (unsigned d = 0; d < rank; d++) {
        int64_t *to = &s.dim[d + 2 < rank ? 0 : d + 3 - rank];
        *to = d + 2 < rank ? *to * x->shape.dim[d] : x->shape.dim[d];
    }
    p = program_begin(e, n);
    v = program_in(&p, tensor_view(x, &s), dims);
    v = mask ? graph_text("where(%s, 1, 0)", v) : v;
    program_out(&p, tensor_view(n->out[0], &s), dims,
                graph_text("where(%s - %s %s %lld, %s, 0)", s.dim[2] == 1 ? "0 * m" : "n",
                           s.dim[1] == 1 ? "0 * n" : "m",
                           upper ? ">=" : "<=", k ? (long long)k->value[0] : 0, v),
                false);
    program_end(&p);
}

static void trilu_values(struct graph *g, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    int64_t rows = s->dim[s->n - 2], columns = s->dim[s->n - 1];
    int64_t k = n->n_in > 1 && n->in[1] ? (int64_t)n->in[1]->value[0] : 0;
    bool upper = node_int(n, "upper", 1) != 0;
    double *to = tensor_values(n->out[0]);

    (void)g;
    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        int64_t d = i % columns - i / columns % rows;
        to[i] = (upper ? d >= k : d <= k) ? n->in[0]->value[i] : 0;
    }
}

/* --- OneHot --- */

static void one_hot_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0), *values = node_in(g, n, 2);
    struct shape to = {.n = x->shape.n + 1};
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), to.n);

    if (to.n > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", to.n, GRAPH_RANK);
    }
    for (unsigned d = 0, at = 0; d < to.n; d++) {
        to.dim[d] = d == axis ? (int64_t)node_in(g, n, 1)->value[0] : x->shape.dim[at++];
    }
    tensor_is(g, n, 0, values->type, &to);
}

static void one_hot_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0];
    unsigned rank = n->out[0]->shape.n;
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", -1), rank);
    int64_t depth = n->out[0]->shape.dim[axis];
    struct program p = program_begin(e, n);
    const char *dims[GRAPH_RANK], *v;

    if (elem_is_float(n->out[0]->type) && depth == 1) {
        node_die(e->g, n, "of one class");
    }
    for (unsigned d = 0, at = 0; d < rank; d++) {
        if (d != axis) {
            dims[at++] = program_dims[d];
        }
    }
    v = program_in(&p, x, dims);
    v = program_line(
        &p, x->type == ELEM_I64 || x->type == ELEM_I32 ? v : graph_text("s32(%s)", v));
    v = graph_text("where(where(%s < 0, %s + %lld, %s) == %s, %.9g, %.9g)", v, v,
                   (long long)depth, v, program_index(&p, depth, program_dims[axis]),
                   n->in[2]->value[1], n->in[2]->value[0]);
    program_out(&p, n->out[0], program_dims, v, false);
    program_end(&p);
}

/* --- GatherElements: element k of the axis of x where k is the index --- */

static void gather_elements_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0), *i = node_in(g, n, 1);
    unsigned axis = node_axis(g, n, node_int(n, "axis", 0), x->shape.n);

    for (unsigned d = 0; d < x->shape.n; d++) {
        if (i->shape.n != x->shape.n ||
            (d != axis && i->shape.dim[d] != x->shape.dim[d])) {
            node_die(g, n, "indices of %s into %s", shape_text(&i->shape),
                     shape_text(&x->shape));
        }
    }
    tensor_is(g, n, 0, x->type, &i->shape);
}

static void gather_elements_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0], *index = n->in[1];
    unsigned rank = x->shape.n;
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", 0), rank);
    const char *dims[GRAPH_RANK], *v, *i;
    struct program p;

    if (!elem_is_float(x->type) || x->shape.dim[axis] == 1) {
        node_die(e->g, n, "of %s %s", elem_text(x->type), shape_text(&x->shape));
    }
    for (unsigned d = 0; d < rank; d++) {
        dims[d] = d == axis ? "k" : program_dims[d];
    }
    p = program_begin(e, n);
    v = program_in(&p, x, dims);
    i = program_in(&p, index, program_dims);
    i = program_line(&p, graph_text("where(%s < 0, %s + %lld, %s)", i, i,
                                    (long long)x->shape.dim[axis], i));
    program_out(&p, n->out[0], program_dims,
                graph_text("sum(where(k == %s, %s, 0), k)", i, v), false);
    program_end(&p);
}

/* --- CumSum: the sum of those that do not lie behind --- */

static void cumsum_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0];
    unsigned axis = node_axis(e->g, n, (int64_t)n->in[1]->value[0], x->shape.n);
    bool less = node_int(n, "exclusive", 0) != 0, back = node_int(n, "reverse", 0) != 0;
    const char *dims[GRAPH_RANK], *v;
    struct program p = program_begin(e, n);

    for (unsigned d = 0; d < x->shape.n; d++) {
        dims[d] = d == axis ? "k" : program_dims[d];
    }
    v = program_in(&p, x, dims);
    v = x->shape.dim[axis] == 1
            ? graph_text(less ? "0 * %s" : "%s", v)
            : graph_text("sum(where(k %s%s %s, %s, 0), k)", back ? ">" : "<",
                         less ? "" : "=", program_dims[axis], v);
    program_out(&p, n->out[0], program_dims, v, false);
    program_end(&p);
}

const struct rule rules_index[] = {
    {"Trilu", same_shape, trilu_values, trilu_emit, .wants = 1 << 1},
    {.op = "OneHot",
     .shape = one_hot_shape,
     .emit = one_hot_emit,
     .wants = 1 << 1 | 1 << 2},
    {.op = "GatherElements",
     .shape = gather_elements_shape,
     .emit = gather_elements_emit},
    {.op = "CumSum", .shape = same_shape, .emit = cumsum_emit, .wants = 1 << 1},
    {0},
};
