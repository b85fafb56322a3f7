/* SPDX-License-Identifier: MIT
 *
 * Operators that bring elements to other places and compute nothing.
 */
#include <string.h>

#include "tools/graph/model/edit.h"
#include "tools/graph/steps/steps.h"

/* --- Transpose --- */

static void permutation(const struct graph *g, const struct node *n,
                        unsigned to[GRAPH_RANK])
{
    unsigned rank = node_in(g, n, 0)->shape.n;
    const struct attr *perm = node_attr(n, "perm");
    uint32_t seen = 0;

    if (perm && perm->n_ints != rank) {
        node_die(g, n, "a permutation of %zu of %u dimensions", perm->n_ints, rank);
    }
    for (unsigned d = 0; d < rank; d++) {
        to[d] = perm ? node_axis(g, n, perm->ints[d], rank) : rank - 1 - d;
        seen |= 1u << to[d];
    }
    if (seen != (1u << rank) - 1) {
        node_die(g, n, "a dimension is there twice");
    }
}

static void transpose_shape(struct graph *g, struct node *n)
{
    const struct shape *from = &node_in(g, n, 0)->shape;
    struct shape to = {.n = from->n};
    unsigned perm[GRAPH_RANK], last = 0;
    bool moves = false;

    permutation(g, n, perm);
    for (unsigned d = 0; d < from->n; d++) {
        to.dim[d] = from->dim[perm[d]];
        if (to.dim[d] != 1) { /* those of one element lie anywhere */
            moves |= perm[d] < last;
            last = perm[d];
        }
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
    if (!moves) {
        edit_view(n, n->in[0]);
    }
}

static void transpose_values(struct graph *g, struct node *n)
{
    int64_t stride[GRAPH_RANK], at[GRAPH_RANK] = {0}, e = 0;
    unsigned perm[GRAPH_RANK];
    double *to = tensor_values(n->out[0]);

    permutation(g, n, perm);
    shape_strides(&n->in[0]->shape, stride);
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        int64_t from = 0;
        for (unsigned d = 0; d < n->out[0]->shape.n; d++) {
            from += at[d] * stride[perm[d]];
        }
        to[e++] = n->in[0]->value[from];
    } while (shape_step(&n->out[0]->shape, at));
}

static void transpose_emit(struct emit *e, struct node *n)
{
    const struct shape *to = &n->out[0]->shape;
    int64_t x[GRAPH_RANK], y[GRAPH_RANK];
    unsigned perm[GRAPH_RANK];
    struct copy c;

    permutation(e->g, n, perm);
    shape_strides(&n->in[0]->shape, x);
    shape_strides(to, y);
    copy_begin(&c, e, n, n->out[0]);
    for (unsigned d = 0; d < to->n; d++) {
        copy_dim(&c, to->dim[d], x[perm[d]], y[d]);
    }
    copy_add(&c, n->in[0], 0, 0);
}

/* --- Concat, Split --- */

static void concat_shape(struct graph *g, struct node *n)
{
    struct shape to = node_in(g, n, 0)->shape;
    unsigned axis = node_axis(g, n, node_int(n, "axis", 0), to.n);

    for (unsigned i = 1; i < n->n_in; i++) {
        struct shape of = node_in(g, n, i)->shape, as = to;
        as.dim[axis] = of.n == to.n ? of.dim[axis] : 0;
        if (!shape_equal(&of, &as)) {
            node_die(g, n, "%s does not go behind %s", shape_text(&of), shape_text(&to));
        }
        if (elem_machine(n->in[i]->type) != elem_machine(n->in[0]->type)) {
            node_die(g, n, "%s does not go behind %s", elem_text(n->in[i]->type),
                     elem_text(n->in[0]->type));
        }
        to.dim[axis] += of.dim[axis];
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void concat_values(struct graph *g, struct node *n)
{
    const struct shape *s = &n->out[0]->shape;
    unsigned axis = node_axis(g, n, node_int(n, "axis", 0), s->n);
    double *to = tensor_values(n->out[0]);
    int64_t outer, inner;

    shape_around(s, axis, &outer, &inner);
    for (int64_t o = 0; o < outer; o++) {
        for (unsigned i = 0; i < n->n_in; i++) {
            int64_t count = n->in[i]->shape.dim[axis] * inner;
            memcpy(to, n->in[i]->value + o * count, (size_t)count * sizeof(*to));
            to += count;
        }
    }
}

/* One without copies is there, too: who reads the result waits for its operands. */
static void concat_emit(struct emit *e, struct node *n)
{
    const struct shape *s = &n->out[0]->shape;
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", 0), s->n);
    int64_t outer, inner, at = 0;
    struct copy c;

    shape_around(s, axis, &outer, &inner);
    copy_begin(&c, e, n, n->out[0]);
    for (unsigned i = 0; i < n->n_in; i++) {
        int64_t part = n->in[i]->shape.dim[axis] * inner, begin = at;
        at += part;
        if (part == 0 || (outer == 1 && copy_lies_in(e, n->in[i], n->out[0], begin))) {
            continue;
        }
        if (c.step->n_in == PLAN_IN) { /* so many in a step */
            copy_begin(&c, e, n, n->out[0]);
        }
        copy_dim(&c, outer, part, s->dim[axis] * inner);
        copy_dim(&c, part, 1, 1);
        copy_add(&c, n->in[i], 0, begin);
    }
}

/* What the results, which may be left out, have of the axis. */
static unsigned split_sizes(const struct graph *g, struct node *n,
                            int64_t size[GRAPH_OPERANDS])
{
    const struct shape *s = &n->in[0]->shape;
    unsigned axis = node_axis(g, n, node_int(n, "axis", 0), s->n);
    unsigned count = node_ints(g, n, "split", 1, size);

    if (count && count != n->n_out) {
        node_die(g, n, "%u parts for %u results", count, n->n_out);
    }
    for (unsigned i = 0; i < n->n_out && count == 0; i++) {
        int64_t even = (s->dim[axis] + n->n_out - 1) / n->n_out;
        int64_t rest = s->dim[axis] - (int64_t)i * even;
        size[i] = rest < even ? rest : even;
    }
    return axis;
}

static void split_shape(struct graph *g, struct node *n)
{
    struct tensor *x = node_in(g, n, 0);
    int64_t size[GRAPH_OPERANDS], all, sum = 0, outer, inner, at = 0;
    unsigned axis = split_sizes(g, n, size);
    bool views;

    all = x->shape.dim[axis];
    if (node_int(n, "num_outputs", n->n_out) != n->n_out) {
        node_die(g, n, "num_outputs of %u results", n->n_out);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        struct shape to = x->shape;
        to.dim[axis] = size[i];
        sum += size[i];
        tensor_is(g, n, i, x->type, &to);
    }
    if (sum != all) {
        node_die(g, n, "parts of %lld of %lld", (long long)sum, (long long)all);
    }
    shape_around(&x->shape, axis, &outer, &inner);
    views = outer == 1;
    for (unsigned i = 0; i < n->n_out && views; i++) {
        views = tensor_has_part(x, size[i] * inner);
    }
    for (unsigned i = 0; i < n->n_out && views; at += size[i++] * inner) {
        if (n->out[i]) {
            tensor_is_part(n->out[i], x, at);
        }
    }
    if (views) {
        edit_delete(n);
    }
}

static void split_values(struct graph *g, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    int64_t size[GRAPH_OPERANDS], outer, inner, at = 0;
    unsigned axis = split_sizes(g, n, size);

    shape_around(s, axis, &outer, &inner);
    for (unsigned i = 0; i < n->n_out; i++) {
        int64_t part = size[i] * inner;
        double *to = n->out[i] ? tensor_values(n->out[i]) : NULL;
        for (int64_t o = 0; o < outer && to; o++) {
            memcpy(to + o * part, n->in[0]->value + o * s->dim[axis] * inner + at,
                   (size_t)part * sizeof(*to));
        }
        at += part;
    }
}

static void split_emit(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    int64_t size[GRAPH_OPERANDS], outer, inner, at = 0;
    unsigned axis = split_sizes(e->g, n, size);
    struct copy c;

    shape_around(s, axis, &outer, &inner);
    for (unsigned i = 0; i < n->n_out; i++) {
        int64_t part = size[i] * inner;
        if (part && n->out[i]) {
            copy_begin(&c, e, n, n->out[i]);
            copy_dim(&c, outer, s->dim[axis] * inner, part);
            copy_dim(&c, part, 1, 1);
            copy_add(&c, n->in[0], at, 0);
        }
        at += part;
    }
}

/* --- Slice --- */

struct range {
    int64_t first[GRAPH_RANK], step[GRAPH_RANK];
    struct shape shape;
};

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct range ranges(const struct graph *g, const struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    int64_t from[GRAPH_OPERANDS], to[GRAPH_OPERANDS], axis[GRAPH_OPERANDS];
    int64_t step[GRAPH_OPERANDS];
    unsigned count = node_ints(g, n, "starts", 1, from);
    unsigned n_axes = node_ints(g, n, "axes", 3, axis), n_steps;
    struct range r = {.shape = *s};

    n_steps = node_ints(g, n, NULL, 4, step);
    if (node_ints(g, n, "ends", 2, to) != count || (n_axes && n_axes != count) ||
        (n_steps && n_steps != count) || count > s->n) {
        node_die(g, n, "lists of different lengths");
    }
    for (unsigned d = 0; d < s->n; d++) {
        r.step[d] = 1;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned d = node_axis(g, n, n_axes ? axis[i] : (int64_t)i, s->n);
        int64_t size = s->dim[d], by = n_steps ? step[i] : 1;
        int64_t a = from[i] < 0 ? from[i] + size : from[i];
        int64_t b = to[i] < 0 && to[i] > INT64_MIN / 2 ? to[i] + size : to[i];
        if (by == 0 || by > INT32_MAX || by < INT32_MIN) {
            node_die(g, n, "a step of %lld", (long long)by);
        }
        a = by > 0 ? between(a, 0, size) : between(a, 0, size - 1);
        b = by > 0 ? between(b, 0, size) : between(b, -1, size - 1);
        r.first[d] = a;
        r.step[d] = by;
        r.shape.dim[d] = size == 0 ? 0
                         : by > 0  ? (b > a ? (b - a + by - 1) / by : 0)
                                   : (a > b ? (a - b - by - 1) / -by : 0);
    }
    return r;
}

/* Whether it is one piece of x, which begins with element *first: of all dimensions but one the
 * whole, or, of those in front of that, one index. */
static bool is_part(const struct range *r, const struct shape *x, int64_t *first)
{
    int64_t stride[GRAPH_RANK];
    unsigned d = 0;
    bool is = true;

    shape_strides(x, stride);
    while (d < x->n && r->shape.dim[d] == 1) {
        d++;
    }
    for (unsigned i = d; i < x->n; i++) {
        is = is && r->step[i] == 1 && (i == d || r->shape.dim[i] == x->dim[i]);
    }
    *first = 0;
    for (unsigned i = 0; i < x->n; i++) {
        *first += r->first[i] * stride[i];
    }
    return is && shape_count(&r->shape) > 0;
}

static void slice_shape(struct graph *g, struct node *n)
{
    struct range r = ranges(g, n);
    int64_t first;

    tensor_is(g, n, 0, n->in[0]->type, &r.shape);
    if (is_part(&r, &n->in[0]->shape, &first) && tensor_has_part(n->in[0], first)) {
        tensor_is_part(n->out[0], n->in[0], first);
        edit_delete(n);
    }
}

static void slice_values(struct graph *g, struct node *n)
{
    struct range r = ranges(g, n);
    int64_t stride[GRAPH_RANK], at[GRAPH_RANK] = {0}, e = 0;
    double *to = tensor_values(n->out[0]);

    shape_strides(&n->in[0]->shape, stride);
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        int64_t from = 0;
        for (unsigned d = 0; d < r.shape.n; d++) {
            from += (r.first[d] + at[d] * r.step[d]) * stride[d];
        }
        to[e++] = n->in[0]->value[from];
    } while (shape_step(&r.shape, at));
}

static void slice_emit(struct emit *e, struct node *n)
{
    struct range r = ranges(e->g, n);
    int64_t x[GRAPH_RANK], y[GRAPH_RANK], first = 0;
    struct copy c;

    shape_strides(&n->in[0]->shape, x);
    shape_strides(&r.shape, y);
    copy_begin(&c, e, n, n->out[0]);
    for (unsigned d = 0; d < r.shape.n; d++) {
        first += r.first[d] * x[d];
        copy_dim(&c, r.shape.dim[d], r.step[d] * x[d], y[d]);
    }
    copy_add(&c, n->in[0], first, 0);
}

/* --- Expand --- */

static void expand_shape(struct graph *g, struct node *n)
{
    int64_t size[GRAPH_OPERANDS];
    struct shape to = {.n = node_ints(g, n, NULL, 1, size)};

    if (to.n > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", to.n, GRAPH_RANK);
    }
    memcpy(to.dim, size, to.n * sizeof(size[0]));
    to = shape_broadcast(g, n, &node_in(g, n, 0)->shape, &to);
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void expand_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    int64_t at[GRAPH_RANK] = {0}, e = 0;

    (void)g;
    if (tensor_count(n->out[0]) == 0) {
        return;
    }
    do {
        to[e++] = n->in[0]->value[shape_at(&n->in[0]->shape, &n->out[0]->shape, at)];
    } while (shape_step(&n->out[0]->shape, at));
}

/* What is repeated and what is not, one after the other: whether a program would nest more loops
 * than a sequence of commands does. */
static bool nests_deep(const struct shape *x, const struct shape *y)
{
    enum { LOOPS = 4 };
    unsigned loops = 0;
    int was = -1;

    for (unsigned d = 0; d < y->n; d++) {
        int repeats = d + x->n < y->n || x->dim[d + x->n - y->n] == 1;
        if (y->dim[d] != 1) {
            loops += repeats != was;
            was = repeats;
        }
    }
    return loops > LOOPS;
}

static void expand_by_copies(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape, *to = &n->out[0]->shape;
    int64_t x[GRAPH_RANK], y[GRAPH_RANK];
    unsigned more = to->n - s->n;
    struct copy c;

    shape_strides(s, x);
    shape_strides(to, y);
    copy_begin(&c, e, n, n->out[0]);
    for (unsigned d = 0; d < to->n; d++) {
        bool repeats = d < more || s->dim[d - more] == 1;
        copy_dim(&c, to->dim[d], repeats ? 0 : x[d - more], y[d]);
    }
    copy_add(&c, n->in[0], 0, 0);
}

static void expand_program(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    unsigned rank = n->out[0]->shape.n;
    const uint8_t *axes = program_axes_of(n->in[0], rank);
    const char *x = program_in(&p, n->in[0], axes);

    x = n->out[0]->type == ELEM_BOOL ? program_line(&p, graph_text("where(%s, 1, 0)", x))
                                     : x;
    x = program_spread(&p, x, n->in[0], axes, n->out[0], program_axes);
    program_out(&p, n->out[0], program_axes, x, false);
}

static void expand_emit(struct emit *e, struct node *n)
{
    if (nests_deep(&n->in[0]->shape, &n->out[0]->shape)) {
        expand_by_copies(e, n);
    } else {
        expand_program(e, n);
    }
}

const struct rule rules_move[] = {
    {.op = "Transpose",
     .shape = transpose_shape,
     .value = transpose_values,
     .emit = transpose_emit,
     .alone = true},
    {.op = "Concat",
     .shape = concat_shape,
     .value = concat_values,
     .emit = concat_emit,
     .alone = true},
    {.op = "Split",
     .shape = split_shape,
     .value = split_values,
     .emit = split_emit,
     .wants = 1 << 1,
     .alone = true},
    {.op = "Slice",
     .shape = slice_shape,
     .value = slice_values,
     .emit = slice_emit,
     .wants = 0x1e,
     .alone = true},
    {.op = "Expand",
     .shape = expand_shape,
     .value = expand_values,
     .emit = expand_emit,
     .wants = 1 << 1},
    {0},
};
