/* SPDX-License-Identifier: MIT
 *
 * Operators whose results depend on where an element lies.
 */
#include <string.h>

#include "tools/graph/steps/steps.h"

/* --- Trilu --- */

static void trilu_shape(struct graph *g, struct node *n)
{
    if (node_in(g, n, 0)->shape.n < 2) {
        node_die(g, n, "of %s", shape_text(&n->in[0]->shape));
    }
    tensor_is(g, n, 0, n->in[0]->type, &n->in[0]->shape);
}

static void trilu_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0];
    int64_t k = elem_whole(node_number_or(e->g, n, 1, NULL, 0));
    uint8_t rank = (uint8_t)x->shape.n;
    bool upper = node_int(n, "upper", 1) != 0, mask = x->type == ELEM_BOOL;
    struct program p = program_begin(e, n);
    const char *v = program_in(&p, x, program_axes), *row, *column;

    v = mask ? graph_text("where(%s, 1, 0)", v) : v;
    row = program_index(&p, (uint8_t)(rank - 2));
    column = program_index(&p, (uint8_t)(rank - 1));
    program_out(&p, n->out[0], program_axes,
                graph_text("where(%s - %s %s %lld, %s, 0)", column, row,
                           upper ? ">=" : "<=", (long long)k, v),
                false);
}

static void trilu_values(struct graph *g, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    int64_t rows = s->dim[s->n - 2], columns = s->dim[s->n - 1];
    int64_t k = elem_whole(node_number_or(g, n, 1, NULL, 0));
    bool upper = node_int(n, "upper", 1) != 0;
    double *to = tensor_values(n->out[0]);

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
    int64_t depth = elem_whole(node_number(g, n, 1));

    if (to.n > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", to.n, GRAPH_RANK);
    }
    if (tensor_count(values) != 2) {
        node_die(g, n, "'%s' is %s", values->name, shape_text(&values->shape));
    }
    for (unsigned d = 0, at = 0; d < to.n; d++) {
        to.dim[d] = d == axis ? depth : x->shape.dim[at++];
    }
    tensor_is(g, n, 0, values->type, &to);
}

static void one_hot_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0];
    uint8_t rank = (uint8_t)n->out[0]->shape.n, axes[GRAPH_RANK];
    uint8_t axis = (uint8_t)node_axis(e->g, n, node_int(n, "axis", -1), rank);
    int64_t depth = n->out[0]->shape.dim[axis];
    struct program p = program_begin(e, n);
    const char *v;

    for (uint8_t d = 0, at = 0; d < rank; d++) {
        if (d != axis) {
            axes[at++] = d;
        }
    }
    v = program_in(&p, x, axes);
    v = program_line(
        &p, elem_is_wide(x->type) && !x->value ? v : graph_text("s32(%s)", v));
    v = graph_text("where(where(%s < 0, %s + %lld, %s) == %s, %.9g, %.9g)", v, v,
                   (long long)depth, v, program_count(&p, axis, depth),
                   n->in[2]->value[1], n->in[2]->value[0]);
    program_out(&p, n->out[0], program_axes, v, false);
}

const struct rule rules_index[] = {
    {"Trilu", trilu_shape, trilu_values, trilu_emit, .wants = 1 << 1},
    {.op = "OneHot",
     .shape = one_hot_shape,
     .emit = one_hot_emit,
     .wants = 1 << 1 | 1 << 2},
    {0},
};
