/* SPDX-License-Identifier: MIT
 *
 * See window.h.
 */
#include "tools/graph/rules/window/window.h"

#include <string.h>

/* What is worth to be put apart: steps of so many at most, so many of them at least. */
enum { APART = 8, LEAST = 1024 };
enum { COPIES = 128 /* of a step */, MOST = 1 << 20 /* of a window's numbers */ };

static int64_t listed(const struct node *n, const char *name, size_t i, int64_t otherwise)
{
    const struct attr *a = node_attr(n, name);

    return a && i < a->n_ints ? a->ints[i] : otherwise;
}

/* Windows as many as there are places, rounded up where asked for. */
static int64_t places(const struct window *w, unsigned d, bool up)
{
    int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
    int64_t room = w->size[d] + w->before[d] + w->behind[d] - extent, s = w->stride[d];
    int64_t count = room < 0 ? 0 : (room + (up ? s - 1 : 0)) / s + 1;

    if (up && (count - 1) * s >= w->size[d] + w->before[d]) {
        count--; /* one that begins behind the end */
    }
    return count;
}

/* SAME_UPPER, SAME_LOWER: as many windows as steps, what is missing on both sides. */
static void same(struct window *w, unsigned d, bool lower)
{
    int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1, s = w->stride[d];
    int64_t all = ((w->size[d] + s - 1) / s - 1) * s + extent - w->size[d];

    all = all < 0 ? 0 : all;
    w->before[d] = lower ? all - all / 2 : all / 2;
    w->behind[d] = all - w->before[d];
}

struct window window_of(const struct graph *g, const struct node *n,
                        const struct shape *x, const int64_t *kernel)
{
    const struct attr *pad = node_attr(n, "auto_pad");
    struct window w = {.rank = x->n - 2, .n = x->dim[0], .c = x->dim[1]};

    if (x->n < 3 || w.rank > WINDOW_RANK) {
        node_die(g, n, "windows of %s", shape_text(x));
    }
    for (unsigned d = 0; d < w.rank; d++) {
        w.size[d] = x->dim[d + 2];
        if (w.size[d] == 0) {
            node_die(g, n, "windows of %s, which has no elements", shape_text(x));
        }
        w.kernel[d] = listed(n, "kernel_shape", d, kernel ? kernel[d] : 0);
        if (kernel && w.kernel[d] != kernel[d]) {
            node_die(g, n, "kernel_shape has %lld where the weights have %lld",
                     (long long)w.kernel[d], (long long)kernel[d]);
        }
        w.stride[d] = listed(n, "strides", d, 1);
        w.dilation[d] = listed(n, "dilations", d, 1);
        w.before[d] = listed(n, "pads", d, 0);
        w.behind[d] = listed(n, "pads", d + w.rank, 0);
        if (w.kernel[d] < 1 || w.kernel[d] > MOST || w.stride[d] < 1 ||
            w.stride[d] > MOST || w.dilation[d] < 1 || w.dilation[d] > MOST ||
            w.before[d] < 0 || w.before[d] > MOST || w.behind[d] < 0 ||
            w.behind[d] > MOST) {
            node_die(g, n, "a window that there is not");
        }
        if (pad && pad->s && strncmp(pad->s, "SAME", 4) == 0) {
            same(&w, d, strcmp(pad->s, "SAME_LOWER") == 0);
        }
        w.out[d] = places(&w, d, node_int(n, "ceil_mode", 0) != 0);
    }
    return w;
}

struct shape window_result(const struct window *w, int64_t channels)
{
    struct shape s = {.n = w->rank + 2, .dim = {w->n, channels}};

    memcpy(s.dim + 2, w->out, w->rank * sizeof(s.dim[0]));
    return s;
}

int64_t window_elements(const struct window *w)
{
    int64_t n = 1;

    for (unsigned d = 0; d < w->rank; d++) {
        n *= w->kernel[d];
    }
    return n;
}

int64_t window_count(const struct window *w)
{
    int64_t n = 1;

    for (unsigned d = 0; d < w->rank; d++) {
        n *= w->out[d];
    }
    return n;
}

/* What is missing to a multiple. */
static int64_t rest_of(int64_t size, int64_t step)
{
    return (step - size % step) % step;
}

struct tensor *window_padded(struct emit *e, struct node *n, const struct window *w,
                             struct tensor *x, double pad, const int64_t *between)
{
    struct shape s = {.n = w->rank + 2, .dim = {w->n, w->c}};
    int64_t from[GRAPH_RANK], to[GRAPH_RANK], first = 0, at = 0;
    struct tensor *t;
    struct copy c;

    for (unsigned d = 0; d < w->rank; d++) { /* to where the last window ends */
        int64_t end =
            (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
        int64_t all = w->before[d] + (w->size[d] - 1) * between[d] + 1 + w->behind[d];
        s.dim[d + 2] = all > end ? all : end;
    }
    s.dim[s.n - 1] += rest_of(s.dim[s.n - 1], w->stride[w->rank - 1]);
    t = tensor_new(n, "padded", x->type, &s);
    tensor_check(e->g, t);
    copy_begin(&c, e, n, t);
    copy_dim(&c, tensor_count(t), 0, 1);
    copy_fill(&c, pad, 0);
    copy_begin(&c, e, n, t);
    shape_strides(&x->shape, from);
    shape_strides(&s, to);
    copy_dim(&c, w->n * w->c, from[1], to[1]);
    for (unsigned d = 0; d < w->rank; d++) {
        int64_t step = between[d], least = 0, most = w->size[d];
        if (w->before[d] < 0) { /* some are cut off */
            least = (step - 1 - w->before[d]) / step;
        }
        if (w->behind[d] < 0) {
            most -= (step - 1 - w->behind[d]) / step;
        }
        copy_dim(&c, most > least ? most - least : 0, from[d + 2], to[d + 2] * step);
        first += least * from[d + 2];
        at += (w->before[d] + least * step) * to[d + 2];
    }
    copy_add(&c, x, first, at);
    return t;
}

/* Whether a window reaches beyond x. */
static bool outside(const struct window *w)
{
    for (unsigned d = 0; d < w->rank; d++) {
        if (w->before[d] ||
            (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1 >
                w->size[d]) {
            return true;
        }
    }
    return false;
}

static bool may_be_apart(const struct tensor *x, int64_t step)
{
    return step > 1 && step <= APART && tensor_count(x) / step >= LEAST;
}

struct tensor *window_apart(struct emit *e, struct node *n, struct tensor *x,
                            int64_t step)
{
    int64_t rows = tensor_count(x) / step;
    struct tensor *t;
    struct copy c;

    if (!may_be_apart(x, step) || rest_of(x->shape.dim[x->shape.n - 1], step)) {
        return x;
    }
    t = tensor_new(n, "apart", x->type, &x->shape);
    copy_begin(&c, e, n, t);
    copy_dim(&c, step, 1, rows);
    copy_dim(&c, rows, step, 1);
    copy_add(&c, x, 0, 0);
    return t;
}

/* Where the elements of a window lie in x, or in what window_apart() makes of it. */
struct source {
    struct tensor *x;
    int64_t stride[GRAPH_RANK]; /* from an index to the next, as in x */
    int64_t step, apart;        /* from a part to the next; 0: it is x */
};

static struct source source_of(struct emit *e, struct node *n, const struct window *w,
                               struct tensor *x)
{
    struct source from = {.step = w->stride[w->rank - 1]};

    from.x = window_apart(e, n, x, from.step);
    shape_strides(&x->shape, from.stride);
    if (from.x != x) {
        from.apart = tensor_count(x) / from.step;
        for (unsigned d = 0; d + 1 < x->shape.n; d++) {
            from.stride[d] /= from.step;
        }
    }
    return from;
}

/* Element i of a row. */
static int64_t in_row(const struct source *from, int64_t i)
{
    return from->apart ? i % from->step * from->apart + i / from->step : i;
}

/* A copy for each element of a window: these do not overlap, as windows do. */
static void copy_columns(struct emit *e, struct node *n, const struct window *w,
                         const struct source *from, struct tensor *t)
{
    const int64_t *stride = from->stride;
    int64_t windows = window_count(w), all = window_elements(w);
    struct copy c;

    for (int64_t k = 0; k < all; k++) {
        int64_t rest = k, at = 0, to = windows;
        if (k % COPIES == 0) {
            copy_begin(&c, e, n, t);
        }
        for (unsigned d = w->rank; d-- > 0;) {
            int64_t i = rest % w->kernel[d] * w->dilation[d];
            at += d + 1 == w->rank ? in_row(from, i) : i * stride[d + 2];
            rest /= w->kernel[d];
        }
        copy_dim(&c, w->n * w->c, stride[1], windows * all);
        for (unsigned d = 0; d < w->rank; d++) {
            bool along = d + 1 == w->rank && from->apart;
            to /= w->out[d];
            copy_dim(&c, w->out[d], along ? 1 : stride[d + 2] * w->stride[d], to);
        }
        copy_add(&c, from->x, at, k * windows);
    }
}

struct tensor *window_columns(struct emit *e, struct node *n, const struct window *w,
                              struct tensor *x, double pad)
{
    static const int64_t ones[WINDOW_RANK] = {1, 1, 1};
    struct shape s = {.n = 4, .dim = {w->n, w->c, window_elements(w), window_count(w)}};
    int64_t step = w->stride[w->rank - 1];
    bool plain = window_elements(w) == 1;
    struct source source;
    struct tensor *t;

    for (unsigned d = 0; d < w->rank; d++) {
        plain = plain && w->stride[d] == 1;
    }
    if (outside(w) || (may_be_apart(x, step) && rest_of(w->size[w->rank - 1], step))) {
        x = window_padded(e, n, w, x, pad, ones);
    }
    if (plain) {
        return tensor_view(x, &s);
    }
    t = tensor_new(n, "columns", x->type, &s);
    tensor_check(e->g, t);
    source = source_of(e, n, w, x);
    copy_columns(e, n, w, &source, t);
    return t;
}
