/* SPDX-License-Identifier: MIT
 *
 * What is taken, or put, where indices say: kernels/index. Indices that are known before a run
 * are checked here, those of a run by the operator.
 */
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/steps/steps.h"

enum { COPIES = 256 /* kernels/graph/copy.c */ };

/* An index from -size to size - 1 as 0 to size - 1. */
static int64_t inside(const struct graph *g, const struct node *n, double index,
                      int64_t size)
{
    int64_t i = elem_whole(index);

    if (i < -size || i >= size) {
        node_die(g, n, "index %lld of %lld", (long long)i, (long long)size);
    }
    return i < 0 ? i + size : i;
}

/* Elements in front of an axis, and behind it. */
static void around(const struct shape *s, unsigned axis, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (unsigned d = 0; d < s->n; d++) {
        *outer *= d < axis ? s->dim[d] : 1;
        *inner *= d > axis ? s->dim[d] : 1;
    }
}

/* Truth as the bytes that it is: operators of the firmware take it for a type of its own. */
static struct tensor *as_bytes(struct tensor *t)
{
    if (t && t->type == ELEM_BOOL) {
        t = tensor_view(t, &t->shape);
        t->type = ELEM_U8;
    }
    return t;
}

/* A step of an operator with all operands that the node has. */
static void by_index(struct emit *e, struct node *n, const char *op, const char *options)
{
    struct group *s = operator_begin(e, n, op, options);

    for (unsigned i = 0; i < n->n_in; i++) {
        operator_in(e, s, as_bytes(n->in[i]));
    }
    operator_out(s, as_bytes(n->out[0]));
}

static unsigned axis_of(const struct graph *g, const struct node *n)
{
    return node_axis(g, n, node_int(n, "axis", 0), node_in(g, n, 0)->shape.n);
}

/* --- Gather --- */

static void gather_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0), *i = node_in(g, n, 1);
    unsigned axis = axis_of(g, n);
    struct shape to = {.n = x->shape.n + i->shape.n - 1};

    if (to.n > GRAPH_RANK) {
        node_die(g, n, "%u dimensions, at most %d", to.n, GRAPH_RANK);
    }
    memcpy(to.dim, x->shape.dim, axis * sizeof(to.dim[0]));
    memcpy(to.dim + axis, i->shape.dim, i->shape.n * sizeof(to.dim[0]));
    memcpy(to.dim + axis + i->shape.n, x->shape.dim + axis + 1,
           (x->shape.n - axis - 1) * sizeof(to.dim[0]));
    tensor_is(g, n, 0, x->type, &to);
}

static void gather_values(struct graph *g, struct node *n)
{
    const struct tensor *x = n->in[0], *index = n->in[1];
    unsigned axis = axis_of(g, n);
    int64_t outer, inner, size = x->shape.dim[axis];
    double *to = tensor_values(n->out[0]);

    around(&x->shape, axis, &outer, &inner);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t k = 0; k < tensor_count(index); k++) {
            int64_t i = inside(g, n, index->value[k], size);
            memcpy(to, x->value + (o * size + i) * inner, (size_t)inner * sizeof(*to));
            to += inner;
        }
    }
}

/* Of a few indices that are known: copies. */
static void pick(struct emit *e, struct node *n, const struct tensor *index,
                 unsigned axis)
{
    const struct shape *s = &n->in[0]->shape;
    int64_t outer, inner, size = s->dim[axis], count = tensor_count(index);
    struct copy c;

    around(s, axis, &outer, &inner);
    copy_begin(&c, e, n, n->out[0]);
    for (int64_t k = 0; k < count; k++) {
        copy_dim(&c, outer, size * inner, count * inner);
        copy_dim(&c, inner, 1, 1);
        copy_add(&c, n->in[0], inside(e->g, n, index->value[k], size) * inner, k * inner);
    }
}

static void gather_emit(struct emit *e, struct node *n)
{
    const struct tensor *index = n->in[1];
    unsigned axis = axis_of(e->g, n);

    if (index->value && tensor_count(index) <= COPIES) {
        pick(e, n, index, axis);
        return;
    }
    for (int64_t k = 0; index->value && k < tensor_count(index); k++) {
        (void)inside(e->g, n, index->value[k], n->in[0]->shape.dim[axis]);
    }
    by_index(e, n, "gather", graph_text("--axis %u", axis));
}

/* --- GatherElements, ScatterElements --- */

/* Of another dimension than the axis indices may have fewer than x: true. */
static bool along_axis(const struct graph *g, const struct node *n)
{
    const struct tensor *x = node_in(g, n, 0), *i = node_in(g, n, 1);
    unsigned axis = axis_of(g, n);
    bool part = false;

    for (unsigned d = 0; d < x->shape.n; d++) {
        if (i->shape.n != x->shape.n ||
            (d != axis && i->shape.dim[d] > x->shape.dim[d])) {
            node_die(g, n, "indices of %s into %s", shape_text(&i->shape),
                     shape_text(&x->shape));
        }
        part = part || (d != axis && i->shape.dim[d] != x->shape.dim[d]);
    }
    for (int64_t k = 0; i->value && k < tensor_count(i); k++) {
        (void)inside(g, n, i->value[k], x->shape.dim[axis]);
    }
    return part;
}

/* `part`: that of x which indices reach; its name. Without those of one dimension after the other
 * it is `part1`, .. */
static unsigned reached(struct lower *l, unsigned axis, unsigned of[GRAPH_RANK])
{
    const struct shape *x = &l->n->in[0]->shape, *i = &l->n->in[1]->shape;
    unsigned parts = 0;

    lower_text(l, "part0 = Identity($0)\n");
    for (unsigned d = 0; d < x->n; d++) {
        if (d != axis && i->dim[d] < x->dim[d]) {
            of[parts++] = d;
            lower_text(l, "part%u = Slice(part%u, [0], [%lld], [%u])\n", parts, parts - 1,
                       (long long)i->dim[d], d);
        }
    }
    return parts;
}

static void gather_elements_shape(struct graph *g, struct node *n)
{
    unsigned of[GRAPH_RANK], axis = axis_of(g, n);

    if (along_axis(g, n)) {
        struct lower l = lower_begin(g, n);
        unsigned last = reached(&l, axis, of);
        lower_text(&l, "@0 = GatherElements(part%u, $1; axis=%u)\n", last, axis);
        lower_end(&l);
        return;
    }
    tensor_is(g, n, 0, n->in[0]->type, &n->in[1]->shape);
}

static void gather_elements_emit(struct emit *e, struct node *n)
{
    by_index(e, n, "gather_elements", graph_text("--axis %u", axis_of(e->g, n)));
}

static const char *reduction(const struct graph *g, const struct node *n)
{
    const struct attr *a = node_attr(n, "reduction");
    const char *how = a && a->s ? a->s : "none";
    enum elem type = n->in[0]->type;
    bool narrow = type == ELEM_I8 || type == ELEM_U8 || type == ELEM_BOOL;

    if (strcmp(how, "none") != 0 && narrow) {
        node_die(g, n, "%s of %s", how, elem_text(type));
    }
    return strcmp(how, "none") == 0 ? "" : graph_text("--reduce %s", how);
}

static void updates(const struct graph *g, const struct node *n, const struct shape *want)
{
    const struct tensor *u = node_in(g, n, 2);

    if (!shape_equal(&u->shape, want) || u->type != n->in[0]->type) {
        node_die(g, n, "updates of %s %s for %s %s", elem_text(u->type),
                 shape_text(&u->shape), elem_text(n->in[0]->type), shape_text(want));
    }
}

/* What indices do not reach goes behind what they do, dimension by dimension. */
static void scatter_part(struct graph *g, struct node *n)
{
    unsigned of[GRAPH_RANK], axis = axis_of(g, n), last;
    const struct attr *how = node_attr(n, "reduction");
    struct lower l = lower_begin(g, n);
    const struct shape *x = &n->in[0]->shape, *i = &n->in[1]->shape;

    last = reached(&l, axis, of);
    lower_text(&l, "new%u = ScatterElements(part%u, $1, $2; axis=%u, reduction=%s)\n",
               last, last, axis, how && how->s ? how->s : "none");
    while (last > 0) {
        unsigned d = of[--last];
        lower_text(&l,
                   "rest%u = Slice(part%u, [%lld], [%lld], [%u])\n"
                   "new%u = Concat(new%u, rest%u; axis=%u)\n",
                   last, last, (long long)i->dim[d], (long long)x->dim[d], d, last,
                   last + 1, last, d);
    }
    lower_text(&l, "@0 = Identity(new0)\n");
    lower_end(&l);
}

static void scatter_elements_shape(struct graph *g, struct node *n)
{
    bool part = along_axis(g, n);

    updates(g, n, &n->in[1]->shape);
    if (part) {
        scatter_part(g, n);
        return;
    }
    tensor_is(g, n, 0, n->in[0]->type, &n->in[0]->shape);
}

static void scatter_elements_emit(struct emit *e, struct node *n)
{
    by_index(e, n, "scatter_elements",
             graph_text("--axis %u %s", axis_of(e->g, n), reduction(e->g, n)));
}

/* --- GatherND, ScatterND --- */

/* Dimensions of x that a tuple of indices names. */
static unsigned depth_of(const struct graph *g, const struct node *n, unsigned batch)
{
    const struct tensor *x = node_in(g, n, 0), *i = node_in(g, n, 1);
    int64_t depth = i->shape.n > batch ? i->shape.dim[i->shape.n - 1] : 0;
    bool fits = depth > 0 && depth <= (int64_t)x->shape.n - batch;

    for (unsigned d = 0; d < batch && fits; d++) {
        fits = i->shape.dim[d] == x->shape.dim[d];
    }
    if (!fits) {
        node_die(g, n, "indices of %s into %s", shape_text(&i->shape),
                 shape_text(&x->shape));
    }
    for (int64_t k = 0; i->value && k < tensor_count(i); k++) {
        (void)inside(g, n, i->value[k], x->shape.dim[batch + k % depth]);
    }
    return (unsigned)depth;
}

/* The tuples' places, then what a tuple names. */
static struct shape rows_of(const struct graph *g, const struct node *n, unsigned batch)
{
    unsigned depth = depth_of(g, n, batch);
    const struct shape *x = &n->in[0]->shape;
    struct shape to = n->in[1]->shape;

    to.n--;
    for (unsigned d = batch + depth; d < x->n; d++) {
        if (to.n == GRAPH_RANK) {
            node_die(g, n, "more than %d dimensions", GRAPH_RANK);
        }
        to.dim[to.n++] = x->dim[d];
    }
    return to;
}

static unsigned batch_of(const struct graph *g, const struct node *n)
{
    int64_t batch = node_int(n, "batch_dims", 0);

    if (batch < 0 || batch >= node_in(g, n, 0)->shape.n) {
        node_die(g, n, "%lld dimensions in common", (long long)batch);
    }
    return (unsigned)batch;
}

static void gather_nd_shape(struct graph *g, struct node *n)
{
    struct shape to = rows_of(g, n, batch_of(g, n));

    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void gather_nd_emit(struct emit *e, struct node *n)
{
    by_index(e, n, "gather_nd", graph_text("--batch %u", batch_of(e->g, n)));
}

static void scatter_nd_shape(struct graph *g, struct node *n)
{
    struct shape rows = rows_of(g, n, 0);

    updates(g, n, &rows);
    tensor_is(g, n, 0, n->in[0]->type, &n->in[0]->shape);
}

static void scatter_nd_emit(struct emit *e, struct node *n)
{
    by_index(e, n, "scatter_nd", reduction(e->g, n));
}

/* --- ReverseSequence: of each of a batch the first elements backwards --- */

static void reverse_axes(const struct graph *g, const struct node *n, unsigned *batch,
                         unsigned *time)
{
    const struct tensor *x = node_in(g, n, 0), *length = node_in(g, n, 1);

    *batch = node_axis(g, n, node_int(n, "batch_axis", 1), x->shape.n);
    *time = node_axis(g, n, node_int(n, "time_axis", 0), x->shape.n);
    if (*batch == *time || length->shape.n != 1 ||
        length->shape.dim[0] != x->shape.dim[*batch]) {
        node_die(g, n, "%s of %s", shape_text(&length->shape), shape_text(&x->shape));
    }
}

static void reverse_shape(struct graph *g, struct node *n)
{
    unsigned batch, time;

    reverse_axes(g, n, &batch, &time);
    tensor_is(g, n, 0, n->in[0]->type, &n->in[0]->shape);
}

/* Where each element comes from, then these. */
static void reverse_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0], *from = tensor_new(n, "from", ELEM_I32, &x->shape);
    unsigned batch, time;
    struct program p = program_begin(e, n);
    const char *length, *at;
    struct group *s;

    reverse_axes(e->g, n, &batch, &time);
    length = program_in(&p, n->in[1], program_axes + batch);
    at = program_count(&p, (uint8_t)time, x->shape.dim[time]);
    at = program_line(
        &p, graph_text("where(%s < %s, %s - 1 - %s, %s)", at, length, length, at, at));
    at = program_spread(&p, at, n->in[1], program_axes + batch, from, program_axes);
    program_out(&p, from, program_axes, at, false);
    s = operator_begin(e, n, "gather_elements", graph_text("--axis %u", time));
    operator_in(e, s, as_bytes(x));
    operator_in(e, s, from);
    operator_out(s, as_bytes(n->out[0]));
}

const struct rule rules_gather[] = {
    {.op = "Gather",
     .shape = gather_shape,
     .value = gather_values,
     .emit = gather_emit,
     .alone = true},
    {.op = "GatherElements",
     .shape = gather_elements_shape,
     .emit = gather_elements_emit,
     .alone = true},
    {.op = "Scatter",
     .shape = scatter_elements_shape,
     .emit = scatter_elements_emit,
     .alone = true},
    {.op = "ScatterElements",
     .shape = scatter_elements_shape,
     .emit = scatter_elements_emit,
     .alone = true},
    {.op = "GatherND", .shape = gather_nd_shape, .emit = gather_nd_emit, .alone = true},
    {.op = "ScatterND",
     .shape = scatter_nd_shape,
     .emit = scatter_nd_emit,
     .alone = true},
    {.op = "ReverseSequence",
     .shape = reverse_shape,
     .emit = reverse_emit,
     .alone = true},
    {0},
};
