/* SPDX-License-Identifier: MIT
 *
 * Batch normalisations as part of the weights beside them: behind a product
 *
 *     gamma (w x + b - mean) / sqrt(var + eps) + beta  =  (w s) x + (b - mean) s + beta
 *
 * with s = gamma / sqrt(var + eps) of each channel, and in front of one
 *
 *     w (s x + t) + b  =  (w s) x + b + sum of w t,  t = beta - mean s
 *
 * where no pads are: these are zeros of what the normalisation gives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/edit.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/passes/pass.h"

/* Of each channel what it is multiplied by, and what is added. */
struct line {
    int64_t channels;
    double *by, *more;
};

static bool line_of(const struct node *n, struct line *l)
{
    bool good = !n->done && strcmp(n->op, "BatchNormalization") == 0 && n->n_in == 5;

    for (unsigned i = 1; good && i < 5; i++) {
        good = n->in[i] && n->in[i]->value;
    }
    for (unsigned i = 1; good && i < n->n_out; i++) {
        good = !n->out[i];
    }
    if (!good) {
        return false;
    }
    l->channels = tensor_count(n->in[1]);
    l->by = graph_alloc((size_t)l->channels, sizeof(double));
    l->more = graph_alloc((size_t)l->channels, sizeof(double));
    for (int64_t c = 0; c < l->channels; c++) {
        double eps = node_float(n, "epsilon", 1e-5);
        l->by[c] = n->in[1]->value[c] / sqrt(n->in[4]->value[c] + eps);
        l->more[c] = n->in[2]->value[c] - n->in[3]->value[c] * l->by[c];
    }
    return true;
}

/* --- products, by the dimensions of their weights --- */

struct weights {
    struct node *n;
    const struct tensor *w, *bias;
    int64_t groups, in, out; /* channels of x and of the result */
    enum { AS_CONV, AS_TRANSPOSED, AS_ROWS, AS_COLUMNS } order;
};

static bool weights_of(struct node *n, struct weights *p)
{
    bool conv = strcmp(n->op, "Conv") == 0, back = strcmp(n->op, "ConvTranspose") == 0;
    bool gemm = strcmp(n->op, "Gemm") == 0;
    const struct tensor *w = node_maybe(n, 1), *bias = node_maybe(n, 2);

    if (n->done || !(conv || back || gemm) || !w || !w->value || (bias && !bias->value) ||
        (gemm && (node_int(n, "transA", 0) || node_float(n, "beta", 1) != 1)) ||
        (gemm && bias && bias->shape.n && bias->shape.dim[bias->shape.n - 1] == 1)) {
        return false;
    }
    *p = (struct weights){.n = n, .w = w, .bias = bias};
    p->groups = gemm ? 1 : node_int(n, "group", 1);
    p->order = conv ? AS_CONV : back ? AS_TRANSPOSED : AS_COLUMNS;
    if (gemm && node_int(n, "transB", 0)) {
        p->order = AS_ROWS;
    }
    p->in = n->in[0]->shape.dim[1];
    p->out = n->out[0]->shape.dim[1];
    return !bias || tensor_count(bias) == p->out;
}

/* The channels that filter i of the weights joins. */
static void channels_of(const struct weights *p, int64_t i, int64_t *in, int64_t *out)
{
    int64_t m = p->out / p->groups, c = p->in / p->groups;

    switch (p->order) {
    case AS_CONV:
        *out = i / c;
        *in = i % c + *out / m * c;
        break;
    case AS_TRANSPOSED:
        *in = i / m;
        *out = i % m + *in / c * m;
        break;
    case AS_ROWS:
        *out = i / c;
        *in = i % c;
        break;
    default:
        *in = i / m;
        *out = i % m;
        break;
    }
}

/* Weights that nobody reads any more, and which no view has, need no memory. */
static void forget(const struct graph *g, const struct tensor *w)
{
    struct tensor *own = NULL;

    for (struct tensor *t = g->tensors; t; t = t->next) {
        if (t == w) {
            own = t;
        } else if (t->value == w->value) {
            return;
        }
    }
    if (own && !own->from && !own->input && edit_uses(g, own) == 0) {
        packed_free(own->value, own->packed);
        own->value = NULL;
        own->packed = NULL;
    }
}

/* Filters f to f + n - 1, and what they have of the bias; both in double precision until they are
 * of their type. */
static void fold_filters(const struct weights *p, const struct line *l, bool in_front,
                         int64_t f, int64_t n, int64_t inner, double *w, double *bias)
{
    double alpha = node_float(p->n, "alpha", 1);

    packed_read(p->w, (size_t)(f * inner), (size_t)(n * inner), w);
    for (int64_t at = 0; at < n * inner; at += inner) {
        int64_t in, out;
        double by;
        channels_of(p, f++, &in, &out);
        by = l->by[in_front ? in : out];
        for (int64_t i = at; i < at + inner; i++) {
            bias[out] += in_front ? alpha * w[i] * l->more[in] : 0;
            w[i] *= by;
        }
    }
}

/* Other weights and a bias. */
static void replace(const struct graph *g, const struct weights *p, const struct line *l,
                    bool in_front)
{
    struct shape s = {.n = 1, .dim = {p->out}};
    struct tensor *w = tensor_new(p->n, "weights", p->w->type, &p->w->shape), *bias;
    int64_t inner = 1, filters, n;
    double *some;

    for (unsigned d = 2; d < w->shape.n; d++) {
        inner *= w->shape.dim[d];
    }
    bias = tensor_new(p->n, "bias", p->w->type, &s);
    tensor_values(bias);
    for (int64_t o = 0; o < p->out; o++) {
        double b = p->bias ? p->bias->value[o] : 0;
        bias->value[o] = in_front ? b : b * l->by[o] + l->more[o];
    }
    packed_buffer(w, w->type);
    filters = inner ? tensor_count(w) / inner : 0;
    n = inner < PACKED_PART ? PACKED_PART / (inner ? inner : 1) : 1;
    some = graph_alloc((size_t)(n * inner), sizeof(*some));
    for (int64_t f = 0; f < filters; f += n) {
        n = n < filters - f ? n : filters - f;
        fold_filters(p, l, in_front, f, n, inner, some, bias->value);
        elem_round_all(w->type, some, (size_t)(n * inner));
        packed_write(w, (size_t)(f * inner), (size_t)(n * inner), some);
    }
    free(some);
    elem_round_all(bias->type, bias->value, (size_t)p->out);
    p->n->in[1] = w;
    p->n->in[2] = bias;
    p->n->n_in = 3;
    forget(g, p->w);
}

static bool has_pads(const struct node *n)
{
    const struct attr *pads = node_attr(n, "pads"), *automatic = node_attr(n, "auto_pad");

    for (size_t i = 0; pads && i < pads->n_ints; i++) {
        if (pads->ints[i]) {
            return true;
        }
    }
    return automatic && automatic->s && strncmp(automatic->s, "SAME", 4) == 0;
}

static bool fold_behind(struct graph *g, struct node *norm, const struct line *l)
{
    struct tensor *x = norm->in[0];
    struct weights p;

    if (!x->from || x->alias || !weights_of(x->from, &p) || p.out != l->channels ||
        edit_uses(g, x) != 1) {
        return false;
    }
    replace(g, &p, l, false);
    edit_name(p.n, p.n, norm);
    edit_view(norm, x);
    return true;
}

static bool fold_in_front(struct graph *g, struct node *norm, const struct line *l)
{
    struct tensor *y = norm->out[0];
    struct weights p;

    for (struct node *n = norm->next; n; n = n->next) {
        if (n->n_in && n->in[0] == y) {
            if (edit_uses(g, y) != 1 || !weights_of(n, &p) || has_pads(n) ||
                p.order == AS_TRANSPOSED || p.in != l->channels) {
                return false;
            }
            replace(g, &p, l, true);
            edit_name(n, norm, n);
            n->in[0] = norm->in[0];
            edit_delete(norm);
            return true;
        }
    }
    return false;
}

unsigned pass_norms(struct graph *g)
{
    unsigned count = 0;
    struct line l;

    for (struct node *n = g->nodes; n; n = n->next) {
        count += line_of(n, &l) && (fold_behind(g, n, &l) || fold_in_front(g, n, &l));
    }
    return count;
}
