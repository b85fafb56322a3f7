/* SPDX-License-Identifier: MIT
 *
 * Attention as exporters write it,
 *
 *     softmax(scale q k' + mask) v
 *
 * of q, k and v as they lie in front of what brings their heads, or rows of k, elsewhere, and
 * its result as it will lie behind that: MatMul, Mul or Div by a number before or behind it,
 * Add of a mask or Where with one, Softmax over keys, zeros where that is NaN, MatMul; Cast,
 * Reshape and Transpose anywhere around.
 * Two ways: in stages, of which the scores are in memory, and the loop over keys of
 * kernels/ops/attention.tile, where they never are.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/fuse/pattern_attention.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/rules/product/product.h"

#define HIDDEN (-1e30) /* what is added to a score that counts for nothing, at most */

static bool is_number(const struct tensor *t)
{
    return t && t->value && tensor_count(t) == 1;
}

static bool is(const struct node *n, const char *op)
{
    return strcmp(n->op, op) == 0;
}

static bool is_cast(const struct node *n)
{
    return (is(n, "Cast") || is(n, "CastLike")) && elem_is_float(n->in[0]->type) &&
           elem_is_float(n->out[0]->type);
}

/* Mul by a number, or Div: of which operand, and by what; -1: it is none. */
static int scaled(const struct node *n, double *by)
{
    bool mul = is(n, "Mul"), div = is(n, "Div");
    int x = mul && is_number(n->in[0]) ? 1 : 0;

    if ((!mul && !div) || !is_number(n->in[!x]) || !elem_is_float(n->out[0]->type) ||
        n->in[x]->value || !shape_equal(&n->in[x]->shape, &n->out[0]->shape)) {
        return -1;
    }
    *by = mul ? n->in[!x]->value[0] : 1 / n->in[!x]->value[0];
    return isfinite(*by) ? x : -1;
}

/* The tensor that has all bytes of a view, and no others. */
static struct tensor *whole(struct tensor *t)
{
    while (t->alias && t->offset == 0 && tensor_count(t->alias) == tensor_count(t)) {
        t = t->alias;
    }
    return t;
}

/* --- backwards, from the softmax to the first product --- */

static bool chain_to(struct graph *g, struct attention *a, struct tensor *t)
{
    struct node *n, *by;
    unsigned operand;

    t = whole(t);
    n = t->alias || t->value ? NULL : t->from;
    if (!n || n->done || n->match || n->planes || a->n_chain == CHAIN ||
        !elem_is_float(t->type) || edit_readers(g, t, &by, &operand) != 1) {
        return false;
    }
    a->chain[a->n_chain] = n;
    a->at[a->n_chain++] = 0;
    if (is(n, "MatMul")) {
        return true;
    }
    if (is_cast(n) || is(n, "Mul") || is(n, "Div") || is(n, "Add") || is(n, "Where")) {
        unsigned at = a->n_chain - 1;
        for (unsigned i = 0; i < n->n_in; i++) {
            a->at[at] = (uint8_t)i;
            if (tensor_count(n->in[i]) == tensor_count(t) && chain_to(g, a, n->in[i])) {
                return true;
            }
            a->n_chain = at + 1;
        }
    }
    a->n_chain--;
    return false;
}

/* --- operands --- */

/* Axes of an operand of a product: of those of the product, by its own numbers. */
static bool bind(struct attention *a, struct operand *x, struct tensor *t,
                 const uint8_t *local, uint8_t *id)
{
    x->t = t;
    a->axes.list[a->axes.n_lists++] = &x->axes;
    for (unsigned d = 0; d < t->shape.n; d++) {
        uint8_t *to = &id[local[d]];
        if (t->shape.dim[d] == 1) {
            continue;
        }
        *to = *to == NO_AXIS ? axes_add(&a->axes, t->shape.dim[d]) : *to;
        if (!axes_put(&x->axes, *to)) {
            return false;
        }
    }
    return true;
}

static bool first_product(struct attention *a, const struct node *n)
{
    const struct tensor *c = n->out[0];
    struct matrix_axes local;
    uint8_t id[GROUP_AXES];

    if (n->in[0]->shape.n < 2 || n->in[1]->shape.n < 2 ||
        n->in[0]->type != n->in[1]->type || !product_on_cube(n->in[0]->type)) {
        return false;
    }
    local = product_axes(n->in[0], n->in[1], c->shape.n);
    memset(id, NO_AXIS, sizeof(id));
    a->axes.list[a->axes.n_lists++] = &a->score;
    if (!bind(a, &a->q, n->in[0], local.a, id) ||
        !bind(a, &a->k, n->in[1], local.b, id)) {
        return false;
    }
    for (unsigned d = 0; d < c->shape.n; d++) {
        if (c->shape.dim[d] > 1 && !axes_put(&a->score, id[local.c[d]])) {
            return false;
        }
    }
    a->t = id[local.n];
    a->d = id[local.k];
    if (a->t == NO_AXIS || a->d == NO_AXIS) {
        return false;
    }
    a->keys = a->axes.size[a->t];
    a->depth = a->axes.size[a->d];
    return true;
}

/* Axes of the first n dimensions of t, beside those of the scores, which are of shape s; one of 1
 * is all of theirs. False: another size. */
static bool beside(const struct attention *a, struct axes_list *to,
                   const struct tensor *t, unsigned n, const struct shape *s)
{
    unsigned behind = s->n - t->shape.n, first;

    for (unsigned d = 0; d < n; d++) {
        unsigned count = axes_part(&a->axes, &a->score, s, d + behind, &first);
        if (t->shape.dim[d] != 1 && t->shape.dim[d] != s->dim[d + behind]) {
            return false;
        }
        for (unsigned i = 0; i < count && t->shape.dim[d] != 1; i++) {
            (void)axes_put(to, a->score.id[first + i]);
        }
    }
    return true;
}

/* The second one: scores of that shape beside v. */
static bool second_product(struct attention *a, const struct node *n)
{
    const struct shape *p = &n->in[0]->shape, *v = &n->in[1]->shape;

    if (p->n < 2 || v->n < 2 || v->n > p->n || n->in[0]->type != n->in[1]->type ||
        n->in[1]->type != a->q.t->type || v->dim[v->n - 1] == 1 ||
        !axes_fit(&a->axes, &a->score, p)) {
        return false;
    }
    a->v.t = n->in[1];
    a->axes.list[a->axes.n_lists++] = &a->v.axes;
    a->axes.list[a->axes.n_lists++] = &a->out;
    if (!beside(a, &a->v.axes, a->v.t, v->n - 2, p)) {
        return false;
    }
    a->e = axes_add(&a->axes, v->dim[v->n - 1]);
    a->out = a->score;
    a->out.n--;
    return axes_put(&a->v.axes, a->t) && axes_put(&a->v.axes, a->e) &&
           axes_put(&a->out, a->e);
}

/* What a Transpose does to dimensions, for axes_turn(); or how it is undone. */
static void order_of(const struct graph *g, const struct node *n,
                     unsigned order[GRAPH_RANK], bool back)
{
    const struct attr *perm = node_attr(n, "perm");
    unsigned rank = n->in[0]->shape.n;

    for (unsigned d = 0; d < rank; d++) {
        unsigned from = perm ? node_axis(g, n, perm->ints[d], rank) : rank - 1 - d;
        order[back ? d : from] = back ? from : d;
    }
}

/* Back to where its elements come from, through what scales and turns it. */
static bool source(struct graph *g, struct attention *a, struct operand *x,
                   struct match *m, bool scales)
{
    bool mine = true;

    for (;;) {
        struct tensor *t = whole(x->t);
        struct node *n = t->alias || t->value ? NULL : t->from, *by;
        unsigned order[GRAPH_RANK], operand;
        double factor = 1;
        int of = n && !n->done && scales ? scaled(n, &factor) : -1;
        if (!axes_fit(&a->axes, &x->axes, &t->shape)) {
            return false;
        }
        x->t = t;
        if (!n || n->done || (of < 0 && !is(n, "Transpose"))) {
            return true;
        }
        mine = mine && edit_readers(g, t, &by, &operand) == 1 && pattern_take(m, n);
        if (of >= 0) {
            a->scale *= factor;
            x->t = n->in[of];
        } else {
            order_of(g, n, order, true);
            axes_turn(&a->axes, &x->axes, &t->shape, order);
            x->t = n->in[0];
        }
    }
}

/* --- forwards --- */

/* A mask of the scores, which are of that shape. */
static bool add_mask(struct attention *a, struct tensor *t, const struct shape *s,
                     unsigned how, double number)
{
    struct mask *m = &a->mask[a->n_masks];

    if (a->n_masks == MASKS || t->shape.n > s->n) {
        return false;
    }
    *m = (struct mask){.x.t = t, .how = how, .number = number};
    a->n_masks++;
    a->axes.list[a->axes.n_lists++] = &m->x.axes;
    return beside(a, &m->x.axes, t, t->shape.n, s);
}

/* What a node of the chain does to the scores. */
static bool applied(struct attention *a, const struct node *n, unsigned at)
{
    const struct shape *s = &n->out[0]->shape;
    double by;
    int of = scaled(n, &by);

    if (!axes_fit(&a->axes, &a->score, &n->in[at]->shape) ||
        !axes_fit(&a->axes, &a->score, s)) {
        return false;
    }
    if (is_cast(n)) {
        return true;
    }
    if (of >= 0) {
        a->scale *= by;
        return a->n_masks == 0 && (unsigned)of == at;
    }
    if (is(n, "Add")) {
        return add_mask(a, n->in[!at], s, MASK_ADD, 0);
    }
    if (is(n, "Where") && at > 0 && is_number(n->in[3 - at])) {
        return add_mask(a, n->in[0], s, at == 1 ? MASK_KEEP : MASK_HIDE,
                        n->in[3 - at]->value[0]);
    }
    return false;
}

/* Whether the softmax is over the scores' last axis, which is the keys. */
static bool over_keys(const struct graph *g, const struct attention *a,
                      const struct node *n)
{
    unsigned rank = n->in[0]->shape.n;
    int64_t axis = node_int(n, "axis", g->opset < 13 ? 1 : -1);

    return node_axis(g, n, axis, rank) == rank - 1 && a->score.n > 0 &&
           a->score.id[a->score.n - 1] == a->t && a->axes.size[a->t] == a->keys;
}

/* Where(IsNaN(p), 0, p): *p becomes its result. */
static bool guarded(struct graph *g, struct attention *a, struct tensor **p,
                    struct match *m)
{
    struct node *n = g->nodes, *where = NULL, *by;
    unsigned at;

    while (n &&
           (n->done || !is(n, "IsNaN") || tensor_root(n->in[0]) != tensor_root(*p))) {
        n = n->next;
    }
    if (!n || edit_readers(g, *p, &by, &at) != 2 ||
        edit_readers(g, n->out[0], &where, &at) != 1 || !where || at != 0 ||
        !is(where, "Where") || !is_number(where->in[1]) || where->in[1]->value[0] != 0 ||
        tensor_root(where->in[2]) != tensor_root(*p) ||
        tensor_count(where->out[0]) != tensor_count(*p)) {
        return false;
    }
    a->zeros = true;
    *p = where->out[0];
    return pattern_take(m, n) && pattern_take(m, where);
}

/* From the softmax to the second product and what turns that. */
static bool behind(struct graph *g, struct attention *a, struct node *softmax,
                   struct match *m)
{
    struct tensor *t = softmax->out[0];
    struct node *n = NULL;
    unsigned at = 0, order[GRAPH_RANK];

    (void)guarded(g, a, &t, m);
    while (edit_readers(g, t, &n, &at) == 1 && n && at == 0 && is_cast(n) &&
           pattern_take(m, n)) {
        t = n->out[0];
    }
    if (edit_readers(g, t, &n, &at) != 1 || !n || at != 0 || !is(n, "MatMul") ||
        n->planes || !pattern_take(m, n) || !second_product(a, n)) {
        return false;
    }
    t = n->out[0];
    n = NULL;
    if (edit_readers(g, t, &n, &at) == 1 && n && is(n, "Transpose") &&
        axes_fit(&a->axes, &a->out, &n->in[0]->shape) && pattern_take(m, n)) {
        order_of(g, n, order, false);
        axes_turn(&a->axes, &a->out, &n->in[0]->shape, order);
        t = n->out[0];
    }
    a->result = t;
    return true;
}

/* A result with a dimension for each axis. */
static void apart(struct attention *a, struct match *m)
{
    m->view = a->result;
    m->is = graph_alloc(1, sizeof(*m->is));
    *m->is = *a->result;
    m->is->shape.n = a->out.n;
    for (unsigned i = 0; i < a->out.n; i++) {
        m->is->shape.dim[i] = a->axes.size[a->out.id[i]];
    }
    a->result = m->is;
}

/* Each dimension of the result is one axis, and all sizes are what they were. */
static bool settled(struct attention *a, struct match *m)
{
    const struct shape *s = &a->result->shape;
    unsigned first, most = 0;

    for (unsigned d = 0; d < s->n; d++) {
        unsigned n = axes_part(&a->axes, &a->out, s, d, &first);
        most = n > most ? n : most;
    }
    if (a->out.n > GRAPH_RANK) {
        return false;
    }
    if (most > 1) {
        apart(a, m);
    }
    return a->axes.size[a->t] == a->keys && a->axes.size[a->d] == a->depth &&
           a->q.axes.n <= GRAPH_RANK && a->k.axes.n <= GRAPH_RANK &&
           a->v.axes.n <= GRAPH_RANK;
}

/* A constant that hides the keys behind a row's number, and adds 0 to the others; where there is
 * another mask, which may hide all that a row sees, hides them from that, too. */
static bool is_causal(const struct attention *a, const struct mask *m)
{
    const struct axes_list *l = &m->x.axes;
    int64_t keys = a->keys, count = tensor_count(m->x.t);
    double hidden = a->n_masks == 1 ? HIDDEN : -INFINITY;

    for (const struct mask *by = m + 1; by < a->mask + a->n_masks; by++) {
        if (by->how != MASK_ADD && by->number != -INFINITY) {
            return false;
        }
    }
    if (m->how != MASK_ADD || !m->x.t->value || l->n != 2 || l->id[1] != a->t ||
        count == 0) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        double v = m->x.t->value[i];
        if (i % keys <= i / keys ? v != 0 : !(v <= hidden)) {
            return false;
        }
    }
    return true;
}

static bool find(struct graph *g, struct node *softmax, struct match *m)
{
    struct attention *a = graph_alloc(1, sizeof(*a));
    unsigned i;

    m->own = a;
    a->scale = 1;
    a->hidden = is(softmax, "Softmax_hidden");
    if (!chain_to(g, a, softmax->in[0]) || !pattern_take(m, softmax) ||
        !first_product(a, a->chain[a->n_chain - 1])) {
        return false;
    }
    for (i = a->n_chain; i > 0; i--) {
        if (!pattern_take(m, a->chain[i - 1]) ||
            (i < a->n_chain && !applied(a, a->chain[i - 1], a->at[i - 1]))) {
            return false;
        }
    }
    if (!axes_fit(&a->axes, &a->score, &softmax->in[0]->shape) ||
        !over_keys(g, a, softmax) || !behind(g, a, softmax, m) ||
        !source(g, a, &a->q, m, true) || !source(g, a, &a->k, m, true) ||
        !source(g, a, &a->v, m, false) || !settled(a, m)) {
        return false;
    }
    for (i = 0; i < a->n_masks; i++) {
        a->mask[i].how = is_causal(a, &a->mask[i]) ? MASK_CAUSAL : a->mask[i].how;
    }
    return true;
}

const struct pattern pattern_attention = {
    .name = "attention",
    .at = {"Softmax", "Softmax_hidden"},
    .find = find,
    .way = {{"as a loop", pattern_attention_as_loop}, {"in stages", pattern_attention_in_stages}}};
