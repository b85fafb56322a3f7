/* SPDX-License-Identifier: MIT
 *
 * Operators whose result has the bytes of their operand in another shape, which cost nothing,
 * and those whose result is known before a run.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/model/list.h"
#include "tools/graph/steps/steps.h"

/* The result has the bytes of operand 0. */
static void view(struct node *n)
{
    edit_view(n, n->in[0]);
}

static void view_values(struct graph *g, struct node *n)
{
    (void)g;
    n->out[0]->value = n->in[0]->value;
}

/* Elements stay as many as they were. */
static void reshaped(struct graph *g, struct node *n, const struct shape *to)
{
    if (shape_count(to) != tensor_count(n->in[0])) {
        node_die(g, n, "%s is no shape for %s", shape_text(to),
                 shape_text(&n->in[0]->shape));
    }
    tensor_is(g, n, 0, n->in[0]->type, to);
    view(n);
}

static void reshape(struct graph *g, struct node *n)
{
    const struct shape *from = &node_in(g, n, 0)->shape;
    struct shape to = {0};
    int64_t size[GRAPH_OPERANDS], rest = 1, open = -1;
    unsigned count = node_ints(g, n, "shape", 1, size);
    bool nothing = node_int(n, "allowzero", 0); /* is a size */

    if (count > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", count, GRAPH_RANK);
    }
    to.n = count;
    for (unsigned d = 0; d < count; d++) {
        if (size[d] == 0 && !nothing) {
            size[d] = d < from->n ? from->dim[d] : 0;
        }
        open = size[d] == -1 ? (int64_t)d : open;
        if (size[d] < -1 || (size[d] > 0 && rest > GRAPH_ELEMENTS / size[d])) {
            node_die(g, n, "a size of %lld", (long long)size[d]);
        }
        rest *= size[d] == -1 ? 1 : size[d];
        to.dim[d] = size[d];
    }
    if (open >= 0) {
        to.dim[open] = rest ? shape_count(from) / rest : 0;
    }
    reshaped(g, n, &to);
}

static void flatten(struct graph *g, struct node *n)
{
    const struct shape *from = &node_in(g, n, 0)->shape;
    int64_t axis = node_int(n, "axis", 1);
    struct shape to = {.n = 2, .dim = {1, 1}};

    axis = axis < 0 ? axis + from->n : axis;
    if (axis < 0 || axis > from->n) {
        node_die(g, n, "axis %lld of %u dimensions", (long long)node_int(n, "axis", 1),
                 from->n);
    }
    for (unsigned d = 0; d < from->n; d++) {
        to.dim[d < axis ? 0 : 1] *= from->dim[d];
    }
    reshaped(g, n, &to);
}

static bool among(const struct graph *g, const struct node *n, const int64_t *axis,
                  unsigned count, unsigned d, unsigned rank)
{
    for (unsigned i = 0; i < count; i++) {
        if (node_axis(g, n, axis[i], rank) == d) {
            return true;
        }
    }
    return false;
}

static void squeeze(struct graph *g, struct node *n)
{
    const struct shape *from = &node_in(g, n, 0)->shape;
    int64_t axis[GRAPH_OPERANDS];
    unsigned count = node_ints(g, n, "axes", 1, axis);
    struct shape to = {0};

    for (unsigned d = 0; d < from->n; d++) {
        bool out = count ? among(g, n, axis, count, d, from->n) : from->dim[d] == 1;
        if (!out) {
            to.dim[to.n++] = from->dim[d];
        }
    }
    reshaped(g, n, &to);
}

static void unsqueeze(struct graph *g, struct node *n)
{
    const struct shape *from = &node_in(g, n, 0)->shape;
    int64_t axis[GRAPH_OPERANDS];
    unsigned count = node_ints(g, n, "axes", 1, axis), at = 0;
    struct shape to = {.n = from->n + count};

    if (to.n > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", to.n, GRAPH_RANK);
    }
    for (unsigned d = 0; d < to.n; d++) {
        bool one = among(g, n, axis, count, d, to.n);
        to.dim[d] = one || at == from->n ? 1 : from->dim[at++];
    }
    reshaped(g, n, &to);
}

static void identity(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);

    if (x->list) {
        list_is(g, n, n->out[0], x->list->at, x->list->n);
        edit_replaced(g, n);
        return;
    }
    reshaped(g, n, &x->shape);
}

static bool is_zero(const struct tensor *t)
{
    return t && t->value && tensor_count(t) == 1 && t->value[0] == 0;
}

/* In inference a Dropout does nothing, and all are kept. */
static void dropout(struct graph *g, struct node *n)
{
    const struct tensor *training = node_maybe(n, 2), *ratio = node_maybe(n, 1);

    if (training && !is_zero(training) && !is_zero(ratio)) {
        node_die(g, n, "in training it wants NumPy's own random numbers");
    }
    reshaped(g, n, &node_in(g, n, 0)->shape);
    tensor_is(g, n, 1, ELEM_BOOL, &n->in[0]->shape);
    if (n->n_out > 1 && n->out[1]) {
        double *mask = tensor_values(n->out[1]);
        for (int64_t i = 0; i < tensor_count(n->out[1]); i++) {
            mask[i] = 1;
        }
    }
}

/* --- known before a run --- */

static void constant(struct graph *g, struct node *n)
{
    const struct attr *a = n->n_attrs == 1 ? n->attr : NULL;
    struct shape one = {.n = 1};
    double *to;

    if (!a || (!a->t && strncmp(a->name, "value", 5) != 0) || a->s) {
        node_die(g, n, "a constant of a kind that the machine has not");
    }
    if (a->t) {
        tensor_is(g, n, 0, a->t->type, &a->t->shape);
        n->out[0]->value = a->t->value;
        if (a->t->value) {
            edit_delete(n);
        }
        return;
    }
    one.n = strcmp(a->name, "value_ints") == 0 || strcmp(a->name, "value_floats") == 0;
    one.dim[0] = (int64_t)(a->n_ints + a->n_floats);
    tensor_is(g, n, 0, strstr(a->name, "float") ? ELEM_F32 : ELEM_I64, &one);
    to = tensor_values(n->out[0]);
    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        if (a->n_ints || a->n_floats) {
            to[i] = a->n_ints ? (double)a->ints[i] : a->floats[i];
        } else {
            to[i] = strstr(a->name, "float") ? a->f : (double)a->i;
        }
    }
    edit_delete(n);
}

static void constant_of_shape(struct graph *g, struct node *n)
{
    const struct attr *a = node_attr(n, "value");
    int64_t size[GRAPH_OPERANDS];
    struct shape shape = {.n = node_ints(g, n, NULL, 0, size)};
    double *to;

    if (shape.n > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", shape.n, GRAPH_RANK);
    }
    if (a && a->t && (!a->t->value || tensor_count(a->t) != 1)) {
        node_die(g, n, "a value of %s", shape_text(&a->t->shape));
    }
    memcpy(shape.dim, size, shape.n * sizeof(size[0]));
    tensor_is(g, n, 0, a && a->t ? a->t->type : ELEM_F32, &shape);
    to = tensor_values(n->out[0]);
    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        to[i] = a && a->t ? a->t->value[0] : 0;
    }
    edit_delete(n);
}

static void shape(struct graph *g, struct node *n)
{
    const struct shape *of = &node_in(g, n, 0)->shape;
    int64_t rank = of->n, from = node_int(n, "start", 0), to = node_int(n, "end", rank);
    struct shape list = {.n = 1};

    from = from < 0 ? from + rank : from;
    to = to < 0 ? to + rank : to;
    from = from < 0 ? 0 : from > rank ? rank : from;
    to = to < from ? from : to > rank ? rank : to;
    list.dim[0] = to - from;
    tensor_is(g, n, 0, ELEM_I64, &list);
    tensor_values(n->out[0]);
    for (int64_t d = from; d < to; d++) {
        n->out[0]->value[d - from] = (double)of->dim[d];
    }
    edit_delete(n);
}

static void size(struct graph *g, struct node *n)
{
    struct shape none = {0};

    tensor_is(g, n, 0, ELEM_I64, &none);
    tensor_values(n->out[0])[0] = (double)tensor_count(node_in(g, n, 0));
    edit_delete(n);
}

static void range(struct graph *g, struct node *n)
{
    double first = node_number(g, n, 0), end = node_number(g, n, 1);
    double step = node_number(g, n, 2), count = (end - first) / step;
    struct shape list = {.n = 1};

    list.dim[0] = count > 0 ? elem_whole(ceil(count)) : 0;
    tensor_is(g, n, 0, n->in[0]->type, &list);
    tensor_values(n->out[0]);
    for (int64_t i = 0; i < list.dim[0]; i++) {
        n->out[0]->value[i] = first + (double)i * step;
    }
    edit_delete(n);
}

static void eye(struct graph *g, struct node *n)
{
    const struct tensor *like = node_in(g, n, 0);
    const struct attr *type = node_attr(n, "dtype");
    int64_t k = node_int(n, "k", 0);

    if (like->shape.n != 2) {
        node_die(g, n, "of a matrix, not %s", shape_text(&like->shape));
    }
    tensor_is(g, n, 0, type ? dtype_of(type->i) : like->type, &like->shape);
    tensor_values(n->out[0]);
    for (int64_t i = 0; i < like->shape.dim[0]; i++) {
        if (i + k >= 0 && i + k < like->shape.dim[1]) {
            n->out[0]->value[i * like->shape.dim[1] + i + k] = 1;
        }
    }
    edit_delete(n);
}

const struct rule rules_view[] = {
    {.op = "Reshape", .shape = reshape, .value = view_values, .wants = 1 << 1},
    {.op = "Flatten", .shape = flatten, .value = view_values},
    {.op = "Squeeze", .shape = squeeze, .value = view_values, .wants = 1 << 1},
    {.op = "Unsqueeze", .shape = unsqueeze, .value = view_values, .wants = 1 << 1},
    {.op = "Identity", .shape = identity, .value = view_values, .lists = true},
    {.op = "Dropout", .shape = dropout, .value = view_values},
    {.op = "Constant", .shape = constant},
    {.op = "ConstantOfShape", .shape = constant_of_shape, .wants = 1 << 0},
    {.op = "Shape", .shape = shape},
    {.op = "Size", .shape = size},
    {.op = "Range", .shape = range, .wants = 1 << 0 | 1 << 1 | 1 << 2},
    {.op = "EyeLike", .shape = eye},
    {0},
};
