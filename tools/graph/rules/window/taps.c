/* SPDX-License-Identifier: MIT
 *
 * Windows without columns. Where each channel is by itself, what lies at one place of all
 * windows is the padded operand itself, read from that place on: a tensor of the same size that
 * begins later. So a program takes a few of these, and no element is copied once for each window
 * that holds it. What it computes where no window begins is left out at the end.
 *
 * With steps larger than one the padded operand is as many tensors as there are steps: in each
 * what lies so far apart is side by side.
 */
#include "tools/graph/rules/window/conv_lower.h"

#include <string.h>

#include "tools/graph/model/packed.h"

/* --- the padded operand --- */

/* Elements of a dimension of each of these tensors. */
static int64_t extent(const struct window *w, unsigned d)
{
    int64_t all = w->before[d] + w->size[d] + w->behind[d];
    int64_t end =
        (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;

    all = all > end ? all : end;
    return (all + w->stride[d] - 1) / w->stride[d];
}

static struct shape extents(const struct window *w)
{
    struct shape s = {.n = w->rank};

    for (unsigned d = 0; d < w->rank; d++) {
        s.dim[d] = extent(w, d);
    }
    return s;
}

/* Places of tap k in each dimension, in steps of `of` from the last. */
static void places(int64_t k, const int64_t *of, unsigned rank, int64_t *at)
{
    for (unsigned d = rank; d-- > 0;) {
        at[d] = k % of[d];
        k /= of[d];
    }
}

/* Where tap k begins. */
static int64_t begin_of(const struct window *w, int64_t k)
{
    struct shape s = extents(w);
    int64_t at[WINDOW_RANK], stride[GRAPH_RANK], tensor = 0, from = 0;

    places(k, w->kernel, w->rank, at);
    shape_strides(&s, stride);
    for (unsigned d = 0; d < w->rank; d++) {
        int64_t i = at[d] * w->dilation[d];
        tensor = tensor * w->stride[d] + i % w->stride[d];
        from += i / w->stride[d] * stride[d];
    }
    return tensor * w->n * w->c * shape_count(&s) + from;
}

/* Copies what lies in one of the tensors; of x, or of what window_apart() has made of it. */
static void copy_phase(struct copy *c, const struct window *w, struct tensor *x,
                       bool apart, int64_t number, const struct shape *s)
{
    int64_t phase[WINDOW_RANK], from[GRAPH_RANK], to[GRAPH_RANK], first = 0, at;

    at = number * w->n * w->c * shape_count(s);
    places(number, w->stride, w->rank, phase);
    shape_strides(&x->shape, from);
    shape_strides(s, to);
    for (unsigned d = 0; apart && d + 1 < x->shape.n; d++) {
        from[d] /= w->stride[w->rank - 1];
    }
    copy_dim(c, w->n * w->c, from[1], shape_count(s));
    for (unsigned d = 0; d < w->rank; d++) {
        int64_t step = w->stride[d];
        int64_t i = ((phase[d] - w->before[d]) % step + step) % step;
        if (i >= w->size[d]) {
            c->n = 0; /* it has pads alone */
            return;
        }
        bool along = apart && d + 1 == w->rank;
        copy_dim(c, (w->size[d] - i + step - 1) / step, along ? 1 : from[d + 2] * step,
                 to[d]);
        first += i * (along ? tensor_count(x) / step : from[d + 2]);
        at += (w->before[d] + i) / step * to[d];
    }
    copy_add(c, x, first, at);
}

static struct tensor *spread(struct emit *e, struct node *n, const struct window *w,
                             struct tensor *x, double pad)
{
    struct shape s = extents(w), all = {.n = 1};
    int64_t tensors = 1, one = w->n * w->c * shape_count(&s);
    struct tensor *t, *from = window_apart(e, n, x, w->stride[w->rank - 1]);
    struct copy c;

    for (unsigned d = 0; d < w->rank; d++) {
        tensors *= w->stride[d];
    }
    all.dim[0] = tensors * one;
    for (int64_t k = 0; k < window_elements(w); k++) { /* to where the last one ends */
        int64_t end = begin_of(w, k) + one;
        all.dim[0] = end > all.dim[0] ? end : all.dim[0];
    }
    t = tensor_new(n, "spread", x->type, &all);
    tensor_check(e->g, t);
    copy_begin(&c, e, n, t);
    copy_dim(&c, all.dim[0], 0, 1);
    copy_fill(&c, pad, 0);
    copy_begin(&c, e, n, t);
    for (int64_t i = 0; i < tensors; i++) {
        copy_phase(&c, w, from, from != x, i, &s);
    }
    return t;
}

/* --- taps --- */

bool taps_take(const struct window *w)
{
    int64_t tensors = 1, domain = 1;

    for (unsigned d = 0; d < w->rank; d++) {
        tensors *= w->stride[d];
        domain *= extent(w, d);
    }
    /* Few enough for a step, and most of what is computed is a window. */
    return window_elements(w) > 1 && window_elements(w) <= TAPS_MAX && tensors <= 64 &&
           window_count(w) > 0 && domain < 2 * window_count(w);
}

struct taps taps_begin(struct emit *e, struct node *n, const struct window *w,
                       struct tensor *x, double pad)
{
    struct shape s = extents(w);
    struct taps t = {.e = e, .n = n, .w = w};

    t.from = spread(e, n, w, x, pad);
    t.domain = (struct shape){.n = 3, .dim = {w->n, w->c, shape_count(&s)}};
    return t;
}

struct tensor *taps_at(const struct taps *t, int64_t k)
{
    struct tensor *view = tensor_view(t->from, &t->domain);

    view->offset = begin_of(t->w, k);
    return view;
}

void taps_end(const struct taps *t, struct tensor *result, struct tensor *y)
{
    struct shape s = extents(t->w);
    int64_t from[GRAPH_RANK], to[GRAPH_RANK];
    struct copy c;

    shape_strides(&s, from);
    shape_strides(&y->shape, to);
    copy_begin(&c, t->e, t->n, y);
    copy_dim(&c, t->w->n * t->w->c, shape_count(&s), to[1]);
    for (unsigned d = 0; d < t->w->rank; d++) {
        copy_dim(&c, t->w->out[d], from[d], to[d + 2]);
    }
    copy_add(&c, result, 0, 0);
}

/* --- depthwise convolutions --- */

/* Of each channel its weight at tap k. */
static struct tensor *weights_of(const struct tensor *w, const struct node *n, int64_t k,
                                 int64_t all)
{
    struct shape s = {.n = 1, .dim = {w->shape.dim[0]}};
    struct tensor *t =
        tensor_new(n, graph_text("weights%lld", (long long)k), w->type, &s);
    double *to = tensor_values(t);

    packed_load(w);
    for (int64_t c = 0; c < s.dim[0]; c++) {
        to[c] = w->value[c * all + k];
    }
    return t;
}

/* Sums of a few taps at a time, as many operands as a program may have. */
void conv_lower_taps(const struct conv_lowering *c)
{
    enum { N, C, W };
    static const uint8_t of_x[] = {N, C, W}, of_w[] = {C};
    struct node *n = c->n;
    struct taps t = taps_begin(c->e, n, &c->window, c->x, c->pad);
    struct tensor *sum = NULL, *bias = c->bias;
    int64_t all = window_elements(&c->window), k = 0;

    while (k < all) {
        struct program p = program_begin(c->e, n);
        const char *expr = sum    ? program_in(&p, sum, of_x)
                           : bias ? program_in(&p, bias, of_w)
                                  : NULL;
        for (unsigned room = PLAN_IN - (expr != NULL); k < all && room >= 2; room -= 2) {
            const char *x = program_in(&p, taps_at(&t, k), of_x);
            x = graph_text("%s * %s", x,
                           program_in(&p, weights_of(c->weight, n, k++, all), of_w));
            expr = expr ? graph_text("%s + %s", expr, x) : x;
        }
        sum = tensor_new(n, graph_text("sum%lld", (long long)k),
                         k == all ? n->out[0]->type : ELEM_F32, &t.domain);
        program_out(&p, sum, of_x, expr, false);
        p.group->alone = true;
    }
    taps_end(&t, sum, n->out[0]);
}

/* --- pools --- */

/* A value of each window as one of each place. */
static struct tensor *placed(const struct taps *t, const struct tensor *windows)
{
    struct shape s = extents(t->w), flat = {.n = 1, .dim = {shape_count(&s)}};
    struct tensor *to = tensor_new(t->n, "placed", windows->type, &flat);
    int64_t at[GRAPH_RANK] = {0}, stride[GRAPH_RANK], i = 0;

    shape_strides(&s, stride);
    tensor_values(to);
    do {
        int64_t place = 0;
        for (unsigned d = 0; d < s.n; d++) {
            place += at[d] * stride[d];
        }
        to->value[place] = windows->value[i++];
    } while (shape_step(&windows->shape, at));
    return to;
}

void taps_pool(struct emit *e, struct node *n, const struct window *w, double pad,
               struct tensor *share)
{
    enum { N, C, W };
    static const uint8_t of_x[] = {N, C, W}, of_s[] = {W};
    struct taps t = taps_begin(e, n, w, n->in[0], pad);
    int64_t all = window_elements(w), k = 0;
    struct tensor *so_far = NULL;

    while (k < all) {
        struct program p = program_begin(e, n);
        unsigned room = PLAN_IN - (share != NULL) - (so_far != NULL);
        const char *expr = so_far ? program_in(&p, so_far, of_x) : NULL;
        for (; k < all && room; room--) {
            const char *x = program_in(&p, taps_at(&t, k++), of_x);
            expr = !expr   ? x
                   : share ? graph_text("%s + %s", expr, x)
                           : graph_text("max(%s, %s)", expr, x);
        }
        if (k == all && share) {
            expr = graph_text("(%s) * %s", expr, program_in(&p, placed(&t, share), of_s));
        }
        so_far = tensor_new(n, graph_text("pool%lld", (long long)k),
                            k < all && share ? ELEM_F32 : n->out[0]->type, &t.domain);
        program_out(&p, so_far, of_x, expr, false);
        p.group->alone = true;
    }
    taps_end(&t, so_far, n->out[0]);
}
