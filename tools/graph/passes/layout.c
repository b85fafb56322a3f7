/* SPDX-License-Identifier: MIT
 *
 * Which tensors have channels last, (n, h, w, c), as the firmware's operators for windows want
 * them. A convolution that one of these computes has its operand turned in front and its result
 * turned back behind; what computes each element alone, joins or reduces such tensors does so with
 * channels last too, on what was not turned back. So only what enters or leaves such a part of a
 * graph is turned: what turns back for nobody, the pass for dead nodes leaves out.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/edit.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/passes/pass.h"
#include "tools/graph/rules/elementwise/elementwise.h"
#include "tools/graph/rules/reduce/reduce.h"
#include "tools/graph/rules/rules.h"
#include "tools/graph/rules/window/window.h"

enum { RANK = 4 };

/* Dimension d of (n, h, w, c) in (n, c, h, w), and the other way round. */
static const int64_t to_last[RANK] = {0, 2, 3, 1}, to_plain[RANK] = {0, 3, 1, 2};

struct layout {
    struct graph *g;
    struct node **at; /* what links the node that is looked at */
};

/* --- nodes --- */

static bool is(const struct node *n, const char *op)
{
    return n->rule && strcmp(n->rule->op, op) == 0;
}

static void attr_ints(struct node *n, const char *name, size_t count, const int64_t *ints)
{
    struct attr *a = node_attr_put(n, name);

    a->n_ints = count;
    a->ints = ints;
}

/* (n, c, h, w) turned, and behind its channels so many of 0 that there are those of y. */
static void more_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0], *y = n->out[0], *planes;
    int64_t images = x->shape.dim[0], channels = y->shape.dim[RANK - 1];
    int64_t plane = x->shape.dim[2] * x->shape.dim[3], part = x->shape.dim[1] * plane,
            all = channels * plane;
    struct shape s = x->shape;
    struct copy c;

    s.dim[1] = channels;
    planes = tensor_new(n, "planes", x->type, &s);
    copy_begin(&c, e, n, planes);
    copy_dim(&c, images, 0, all);
    copy_dim(&c, all - part, 0, 1);
    copy_fill(&c, 0, part);
    if (images > 1 || !copy_lies_in(e, x, planes, 0)) {
        copy_dim(&c, images, part, all);
        copy_dim(&c, part, 1, 1);
        copy_add(&c, x, 0, 0);
    }
    copy_begin(&c, e, n, y);
    copy_dim(&c, images, all, all);
    copy_dim(&c, plane, 1, channels);
    copy_dim(&c, channels, plane, 1);
    copy_add(&c, planes, 0, 0);
}

static const struct rule rule_more = {.op = "channels", .emit = more_emit, .alone = true};

static struct node *put(struct graph *g, struct node **at, const struct node *of,
                        const char *op, struct tensor *from, struct tensor *to)
{
    struct node *n = edit_insert(g, at, op, of->name);

    edit_operand(n, from);
    edit_result(n, to);
    return n;
}

static struct node *put_turning(struct graph *g, struct node **at, const struct node *of,
                                struct tensor *from, struct tensor *to,
                                const int64_t *perm)
{
    struct node *n = put(g, at, of, "Transpose", from, to);

    attr_ints(n, "perm", RANK, perm);
    n->rule = rules_find(n->op);
    n->rule->shape(g, n);
    return n;
}

/* --- tensors --- */

/* The tensor that it is another name of. */
static struct tensor *own(struct tensor *t)
{
    while (t->alias && !t->offset && shape_equal(&t->alias->shape, &t->shape)) {
        t = t->alias;
    }
    return t;
}

/* It with channels last; NULL: nobody has turned it. */
static struct tensor *turned(struct tensor *t)
{
    return t && t->shape.n == RANK && !t->value && !t->count ? own(t)->last : NULL;
}

/* The same, turned in front of the node if need be. */
static struct tensor *turn(struct layout *l, struct tensor *t)
{
    const struct node *n = *l->at;
    struct tensor *last;

    t = own(t);
    last = t->last;
    if (!last) {
        last = graph_tensor(l->g, n, graph_text("%s.last", t->name));
        l->at = &put_turning(l->g, l->at, n, t, last, to_last)->next;
        t->last = last;
    }
    return last;
}

static struct shape shape_turned(const struct shape *s)
{
    struct shape to = {.n = RANK};

    for (unsigned d = 0; d < RANK; d++) {
        to.dim[d] = s->dim[to_last[d]];
    }
    return to;
}

/* Result i has channels last from here on, and is turned back behind the node. */
static void give_turned(struct layout *l, struct node *n, unsigned i)
{
    struct tensor *plain = n->out[i],
                  *last = graph_tensor(l->g, n, graph_text("%s.last", plain->name));
    struct shape shape = shape_turned(&plain->shape);

    n->out[i] = last;
    last->from = n;
    tensor_is(l->g, n, i, plain->type, &shape);
    (void)put_turning(l->g, &n->next, n, last, plain, to_plain);
    plain->last = last;
}

/* A constant as it is broadcast to what has channels last. */
static struct tensor *constant(struct layout *l, const struct node *n, struct tensor *t)
{
    struct tensor *last;

    if (tensor_count(t) == 1) {
        return t;
    }
    last = graph_tensor(l->g, n, graph_text("%s.last", t->name));
    conv2d_last(t, last);
    return last;
}

/* --- what goes on with channels last --- */

/* The operand and weights of a convolution with so many channels, of which the last are 0. */
static void widen(struct layout *l, struct node *n, int64_t channels)
{
    struct tensor *x = n->in[0], *w = n->in[1];
    struct shape s = {RANK,
                      {x->shape.dim[0], x->shape.dim[2], x->shape.dim[3], channels}};
    size_t window = (size_t)(w->shape.dim[2] * w->shape.dim[3]);
    size_t of = (size_t)w->shape.dim[1] * window, to = (size_t)channels * window;
    double *filter = graph_alloc(to, sizeof(*filter)); /* zeros */
    struct tensor *more = graph_tensor(l->g, n, graph_text("%s.more", w->name)),
                  *last = graph_tensor(l->g, n, graph_text("%s.more", x->name));
    struct node *turning = put(l->g, l->at, n, "channels", x, last);

    turning->rule = &rule_more;
    tensor_is(l->g, turning, 0, x->type, &s);
    l->at = &turning->next;
    more->type = w->type;
    more->shape = w->shape;
    more->shape.dim[1] = channels;
    more->known = true;
    packed_buffer(more, more->type);
    for (size_t o = 0; o < (size_t)w->shape.dim[0]; o++) {
        packed_read(w, o * of, of, filter);
        packed_write(more, o * to, to, filter);
    }
    free(filter);
    n->in[0] = last;
    n->in[1] = more;
}

/* Convolutions of one element a window are products of what lies as it does; where it has channels
 * last already they are the operator's, too. */
static bool convolution(struct layout *l, struct node *n)
{
    struct window w;
    int64_t channels;

    if (!is(n, "Conv") || n->in[0]->shape.n != RANK) {
        return false;
    }
    w = window_of(l->g, n, &n->in[0]->shape, n->in[1]->shape.dim + 2);
    if (!conv2d_takes(n, &w) || (window_elements(&w) == 1 && !turned(n->in[0]))) {
        return false;
    }
    channels = turned(n->in[0]) ? w.c : conv2d_channels(n, &w);
    if (channels > w.c) {
        widen(l, n, channels);
    } else {
        n->in[0] = turn(l, n->in[0]);
    }
    n->rule = &rule_conv2d;
    give_turned(l, n, 0);
    return true;
}

static bool pool(struct layout *l, struct node *n)
{
    struct window w;

    if (!is(n, "MaxPool") || !turned(n->in[0])) {
        return false;
    }
    w = window_of(l->g, n, &n->in[0]->shape, NULL);
    if (!conv2d_pool_takes(n, &w)) {
        return false;
    }
    n->in[0] = turned(n->in[0]);
    n->rule = &rule_max_pool;
    give_turned(l, n, 0);
    return true;
}

static bool turns(const struct node *n, const int64_t perm[RANK])
{
    const struct attr *a = node_attr(n, "perm");

    return a && a->n_ints == RANK && memcmp(a->ints, perm, RANK * sizeof(*perm)) == 0;
}

/* What the model turns itself is there both ways. */
static bool turning(struct node *n)
{
    struct tensor *x = n->in[0], *y = n->out[0];

    if (!is(n, "Transpose") || x->shape.n != RANK || x->value) {
        return false;
    }
    if (turns(n, to_plain) && !own(y)->last) {
        own(y)->last = x;
        return true;
    }
    if (turns(n, to_last) && turned(x)) {
        edit_view(n, turned(x));
        return true;
    }
    return false;
}

static bool computes_each(const struct node *n)
{
    static const struct rule *const families[] = {rules_elementwise, rules_cast};

    for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (const struct rule *r = families[i]; r->op; r++) {
            if (n->rule == r) {
                return true;
            }
        }
    }
    return false;
}

/* Element by element, of what has channels last and constants. */
static bool elements(struct layout *l, struct node *n)
{
    bool good = computes_each(n), any = false;

    for (unsigned i = 0; i < n->n_out && good; i++) {
        good = n->out[i] && n->out[i]->shape.n == RANK;
    }
    for (unsigned i = 0; i < n->n_in && good; i++) {
        any = any || turned(n->in[i]);
        good =
            !n->in[i] || turned(n->in[i]) ||
            (n->in[i]->value && n->in[i]->shape.n <= RANK && tensor_count(n->in[i]) > 0);
    }
    if (!good || !any) {
        return false;
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        struct tensor *last = turned(n->in[i]);
        n->in[i] = last || !n->in[i] ? last : constant(l, n, n->in[i]);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        give_turned(l, n, i);
    }
    return true;
}

/* Concat and Split along an axis of what has channels last. */
static bool parts(struct layout *l, struct node *n)
{
    bool joins = is(n, "Concat"), good = joins;
    unsigned of = joins ? n->n_in : 1, axis;

    good = good || is(n, "Split");
    for (unsigned i = 0; i < of && good; i++) {
        good = turned(n->in[i]);
    }
    for (unsigned i = 0; i < n->n_out && good; i++) {
        good = n->out[i] && !n->out[i]->value;
    }
    if (!good) {
        return false;
    }
    axis = node_axis(l->g, n, node_int(n, "axis", 0), RANK);
    node_attr_put(n, "axis")->i = axis == 0 ? 0 : axis == 1 ? 3 : axis - 1;
    for (unsigned i = 0; i < of; i++) {
        n->in[i] = turned(n->in[i]);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        n->out[i]->alias = NULL; /* of channels one behind the other parts were views */
        n->out[i]->offset = 0;
        give_turned(l, n, i);
    }
    n->done = false; /* the part is computed after all */
    return true;
}

/* Scales and sizes stay in the order in which they are: axes say of what. */
static bool resize(struct layout *l, struct node *n)
{
    int64_t axis[GRAPH_OPERANDS], *of;
    unsigned axes;

    if ((!is(n, "Resize") && !is(n, "Upsample")) || !turned(n->in[0])) {
        return false;
    }
    axes = node_ints(l->g, n, "axes", GRAPH_OPERANDS, axis);
    of = graph_alloc(RANK, sizeof(*of));
    for (unsigned i = 0; i < RANK; i++) {
        of[i] = to_plain[i < axes ? node_axis(l->g, n, axis[i], RANK) : i];
    }
    attr_ints(n, "axes", axes ? axes : RANK, of);
    n->in[0] = turned(n->in[0]);
    give_turned(l, n, 0);
    return true;
}

/* Of all places of a channel; what is left of each lies as before. */
static bool reduction(struct layout *l, struct node *n)
{
    static const char *const ops[][2] = {{"GlobalAveragePool", "ReduceMean"},
                                         {"GlobalMaxPool", "ReduceMax"},
                                         {"ReduceMean", "ReduceMean"},
                                         {"ReduceMax", "ReduceMax"}};
    static const int64_t axes[] = {1, 2};
    const char *op = NULL;

    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        bool global = i < 2;
        if (strcmp(n->op, ops[i][0]) == 0 && turned(n->in[0]) &&
            (global || reduce_axes(l->g, n) == (1u << 2 | 1u << 3))) {
            op = ops[i][1];
        }
    }
    if (!op) {
        return false;
    }
    n->op = op;
    n->rule = rules_find(op);
    n->in[0] = turned(n->in[0]);
    n->n_in = 1;
    attr_ints(n, "axes", 2, axes);
    if (n->out[0]->shape.n == RANK) {
        give_turned(l, n, 0);
    }
    return true;
}

unsigned pass_layout(struct graph *g)
{
    struct layout l = {g, &g->nodes};
    unsigned count = 0;

    for (; *l.at; l.at = &(*l.at)->next) {
        struct node *n = *l.at;
        bool cut = is(n, "Split");
        if ((!n->done || cut) && n->n_in && n->in[0]) {
            count += turning(n) || convolution(&l, n) || pool(&l, n) || elements(&l, n) ||
                     parts(&l, n) || resize(&l, n) || reduction(&l, n);
        }
    }
    return count;
}
