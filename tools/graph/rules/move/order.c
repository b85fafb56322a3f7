/* SPDX-License-Identifier: MIT
 *
 * Operators along an axis, in order: kernels/sort, kernels/scan.
 */
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/steps/steps.h"

/* --- TopK --- */

/* In order, even if `sorted` does not ask for that. */
static int64_t first_of(const struct graph *g, const struct node *n)
{
    const struct attr *k = node_attr(n, "k");

    (void)node_int(n, "sorted", 1);
    return k ? k->i : elem_whole(node_number(g, n, 1));
}

/* Whole numbers of 32 bits: by their lower halves, then, in that order, by the upper ones, since
 * equal ones keep theirs. Of fewer bits: as float32, which has them all. */
static void top_k_whole(struct graph *g, struct node *n, int64_t k)
{
    const struct tensor *x = n->in[0];
    bool wide = elem_is_wide(x->type);
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), x->shape.n);
    long long all = x->shape.dim[axis], first = k;
    int largest = node_int(n, "largest", 1) != 0;
    struct lower l = lower_begin(g, n);

    if (wide) {
        lower_halves(&l);
        lower_text(&l,
                   "sorted, at = TopK(low, [%lld]; axis=%u, largest=%d)\n"
                   "in_order = GatherElements(high, at; axis=%u)\n"
                   "best, which = TopK(in_order, [%lld]; axis=%u, largest=%d)\n"
                   "place = GatherElements(at, which; axis=%u)\n",
                   all, axis, largest, axis, first, axis, largest, axis);
    } else {
        lower_text(&l,
                   "wide = Cast($0; to=1)\n"
                   "best, place = TopK(wide, [%lld]; axis=%u, largest=%d)\n",
                   first, axis, largest);
    }
    if (n->out[0]) {
        lower_text(&l,
                   wide ? "@0 = GatherElements($0, place; axis=%u)\n"
                        : "@0 = CastLike(best, $0)\n",
                   axis);
    }
    if (n->n_out > 1 && n->out[1]) {
        lower_text(&l, "@1 = Identity(place)\n");
    }
    lower_end(&l);
}

static void top_k_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), x->shape.n);
    struct shape to = x->shape;
    int64_t k = first_of(g, n);

    if (k < 0 || k > x->shape.dim[axis]) {
        node_die(g, n, "the first %lld of %lld", (long long)k,
                 (long long)x->shape.dim[axis]);
    }
    if (elem_is_wide(x->type) || x->type == ELEM_I16 || x->type == ELEM_I8 ||
        x->type == ELEM_U8 || x->type == ELEM_BOOL) {
        top_k_whole(g, n, k);
        return;
    }
    if (x->type != ELEM_F32 && x->type != ELEM_F16) {
        node_die(g, n, "of %s", elem_text(x->type));
    }
    to.dim[axis] = k;
    tensor_is(g, n, 0, x->type, &to);
    tensor_is(g, n, 1, ELEM_I64, &to);
}

/* A result that nobody wants is there, too: the operator has two. */
static struct tensor *result(struct node *n, unsigned i, enum elem type)
{
    bool wanted = i < n->n_out && n->out[i];

    return wanted ? n->out[i] : tensor_new(n, "unused", type, &n->out[1 - i]->shape);
}

static void top_k_emit(struct emit *e, struct node *n)
{
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", -1), n->in[0]->shape.n);
    struct group *s = operator_begin(
        e, n, "top_k",
        graph_text("--axis %u --k %lld%s", axis, (long long)first_of(e->g, n),
                   node_int(n, "largest", 1) ? "" : " --smallest"));

    operator_in(e, s, n->in[0]);
    operator_out(s, result(n, 0, n->in[0]->type));
    operator_out(s, result(n, 1, ELEM_I64));
}

/* --- CumSum --- */

static void cumsum_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);

    if (x->type != ELEM_F32 && x->type != ELEM_F16 && x->type != ELEM_I32 &&
        x->type != ELEM_I64) {
        node_die(g, n, "of %s", elem_text(x->type));
    }
    (void)node_axis(g, n, elem_whole(node_number(g, n, 1)), x->shape.n);
    tensor_is(g, n, 0, x->type, &x->shape);
}

static void cumsum_emit(struct emit *e, struct node *n)
{
    struct group *s =
        operator_begin(e, n, "cumsum",
                       graph_text("--axis %.0f%s%s", n->in[1]->value[0],
                                  node_int(n, "exclusive", 0) ? " --exclusive" : "",
                                  node_int(n, "reverse", 0) ? " --reverse" : ""));

    operator_in(e, s, n->in[0]);
    operator_out(s, n->out[0]);
}

/* --- CumProd: by products with what lies 1, 2, 4, .. in front, 1 where there is nothing --- */

struct cumprod {
    struct lower l;
    const struct tensor *x;
    unsigned axis, count;
    bool back; /* from the end on */
};

/* A tensor so far along the axis, 1 where it comes from outside. */
static const char *shifted(struct cumprod *c, const char *of, int64_t far)
{
    struct shape s = c->x->shape;
    long long size = s.dim[c->axis];
    unsigned i = c->count++;
    double *one;

    s.dim[c->axis] = far;
    one = lower_value(&c->l, graph_text("one%u", i), c->x->type, &s);
    for (int64_t k = 0; k < shape_count(&s); k++) {
        one[k] = 1;
    }
    lower_text(&c->l,
               "rest%u = Slice(%s, [%lld], [%lld], [%u])\n"
               "far%u = Concat(%s%u, %s%u; axis=%u)\n",
               i, of, c->back ? (long long)far : 0, c->back ? size : size - far, c->axis,
               i, c->back ? "rest" : "one", i, c->back ? "one" : "rest", i, c->axis);
    return graph_text("far%u", i);
}

static void cumprod(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);
    unsigned axis = node_axis(g, n, elem_whole(node_number(g, n, 1)), x->shape.n);
    struct cumprod c = {.l = lower_begin(g, n), .x = x, .axis = axis};
    int64_t size = x->shape.dim[axis];
    const char *of = "$0";

    c.back = node_int(n, "reverse", 0) != 0;
    if (node_int(n, "exclusive", 0) && size) {
        of = shifted(&c, of, 1);
    }
    for (int64_t far = 1; far < size; far *= 2) {
        const char *before = shifted(&c, of, far);
        lower_text(&c.l, "y%u = Mul(%s, %s)\n", c.count, of, before);
        of = graph_text("y%u", c.count);
    }
    lower_text(&c.l, "@0 = Identity(%s)\n", of);
    lower_end(&c.l);
}

const struct rule rules_order[] = {
    {.op = "CumSum",
     .shape = cumsum_shape,
     .emit = cumsum_emit,
     .wants = 1 << 1,
     .alone = true},
    {.op = "CumProd", .shape = cumprod, .wants = 1 << 1},
    {.op = "TopK",
     .shape = top_k_shape,
     .emit = top_k_emit,
     .wants = 1 << 1,
     .alone = true,
     .optional = true},
    {0},
};
