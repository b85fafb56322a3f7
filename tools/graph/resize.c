/* SPDX-License-Identifier: MIT
 *
 * Resize, and Upsample before it: along each axis every element is a sum of elements of the
 * operand with weights that are known before a run, so it is a product with a matrix of them,
 * which is nearly empty; axes that stay as they are cost nothing.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/graph/emit.h"

struct resize {
    const char *mode, *coordinates, *nearest;
    double cubic, outside; /* value beyond the edge: tf_crop_and_resize */
    bool exclude;          /* what lies beyond the edge has no weight */
    double scale[GRAPH_RANK], from[GRAPH_RANK], to[GRAPH_RANK]; /* and the region */
};

static const char *text_attr(const struct node *n, const char *name,
                             const char *otherwise)
{
    const struct attr *a = node_attr(n, name);

    return a && a->s ? a->s : otherwise;
}

static bool has(const struct node *n, unsigned i)
{
    const struct tensor *t = node_maybe(n, i);

    return t && t->value && tensor_count(t) != 0;
}

static struct resize options(const struct graph *g, const struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    bool upsample = strcmp(n->op, "Upsample") == 0 || g->opset < 11;
    bool area = has(n, 1) && !upsample;
    unsigned scales = upsample ? 1 : 2;
    struct resize r = {
        .mode = text_attr(n, "mode", "nearest"),
        .coordinates = text_attr(n, "coordinate_transformation_mode",
                                 upsample ? "asymmetric" : "half_pixel"),
        .nearest =
            text_attr(n, "nearest_mode", upsample ? "floor" : "round_prefer_floor"),
        .cubic = node_float(n, "cubic_coeff_a", -0.75),
        .outside = node_float(n, "extrapolation_value", 0),
        .exclude = node_int(n, "exclude_outside", 0) != 0,
    };

    if (area && tensor_count(n->in[1]) != 2 * (int64_t)s->n) {
        node_die(g, n, "an area of %s", shape_text(&n->in[1]->shape));
    }
    for (unsigned d = 0; d < s->n; d++) {
        bool scaled = has(n, scales) && tensor_count(n->in[scales]) == s->n;
        r.scale[d] = scaled ? n->in[scales]->value[d]
                     : has(n, 3) && tensor_count(n->in[3]) == s->n && s->dim[d]
                         ? n->in[3]->value[d] / (double)s->dim[d]
                         : 0;
        r.from[d] = area ? n->in[1]->value[d] : 0;
        r.to[d] = area ? n->in[1]->value[d + s->n] : 1;
        if (!(r.scale[d] > 0 && r.scale[d] < 1e6)) {
            node_die(g, n, "neither a scale nor a size for each dimension");
        }
    }
    return r;
}

static void resize_shape(struct graph *g, struct node *n)
{
    struct resize r = options(g, n);
    struct shape to = node_in(g, n, 0)->shape;

    for (unsigned d = 0; d < to.n; d++) {
        to.dim[d] = (int64_t)floor(r.scale[d] * (double)to.dim[d] + 1e-9);
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* Where element i of an axis lies in the operand's. */
static double place(const struct resize *r, unsigned d, int64_t i, int64_t size)
{
    const char *how = r->coordinates;
    double last = (double)(size - 1), x = (double)i, to_size = r->scale[d] * (double)size;

    if (strcmp(how, "align_corners") == 0) {
        return to_size == 1 ? 0 : x * last / (to_size - 1);
    }
    if (strcmp(how, "asymmetric") == 0) {
        return x / r->scale[d];
    }
    if (strcmp(how, "tf_crop_and_resize") == 0) {
        return to_size == 1 ? 0.5 * (r->from[d] + r->to[d]) * last
                            : r->from[d] * last + x * (r->to[d] - r->from[d]) * last /
                                                      (double)(to_size - 1);
    }
    if (strcmp(how, "pytorch_half_pixel") == 0 && to_size == 1) {
        return 0;
    }
    if (strcmp(how, "tf_half_pixel_for_nn") == 0) {
        return (x + 0.5) / r->scale[d];
    }
    return (x + 0.5) / r->scale[d] - 0.5;
}

static int64_t nearest(const struct resize *r, double x)
{
    return strcmp(r->nearest, "floor") == 0               ? (int64_t)floor(x)
           : strcmp(r->nearest, "ceil") == 0              ? (int64_t)ceil(x)
           : strcmp(r->nearest, "round_prefer_ceil") == 0 ? (int64_t)floor(x + 0.5)
                                                          : (int64_t)ceil(x - 0.5);
}

/* Keys' kernel of a distance. */
static double cubic(double a, double x)
{
    x = fabs(x);
    return x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
           : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                   : 0;
}

/* Weights of one element, `size` of them. */
static void weigh(const struct resize *r, double x, int64_t size, double *to)
{
    int64_t first = (int64_t)floor(x), taps = strcmp(r->mode, "cubic") == 0 ? 4 : 2;
    double sum = 0, w[4];

    if (strcmp(r->mode, "nearest") == 0) {
        int64_t at = nearest(r, x);
        to[at < 0 ? 0 : at >= size ? size - 1 : at] = 1;
        return;
    }
    first -= taps == 4;
    for (int64_t i = 0; i < taps; i++) {
        bool inside = first + i >= 0 && first + i < size;
        double away = x - (double)(first + i);
        w[i] = taps == 4 ? cubic(r->cubic, away) : 1 - fabs(away);
        w[i] = r->exclude && !inside ? 0 : w[i];
        sum += w[i];
    }
    for (int64_t i = 0; i < taps; i++) {
        int64_t at = first + i;
        to[at < 0 ? 0 : at >= size ? size - 1 : at] += w[i] / (r->exclude ? sum : 1);
    }
}

/* (to, size) weights of an axis; *outside: 1 where the result is the value of beyond. */
static struct tensor *weights(const struct node *n, const struct resize *r, unsigned d,
                              struct tensor **outside)
{
    int64_t size = n->in[0]->shape.dim[d], to = n->out[0]->shape.dim[d];
    struct tensor *w = graph_alloc(1, sizeof(*w)), *o = graph_alloc(1, sizeof(*o));

    *w = (struct tensor){.name = graph_text("%s.weights%u", n->name, d),
                         .type = ELEM_F32,
                         .known = true,
                         .shape = {.n = 2, .dim = {to, size}}};
    *o = (struct tensor){.name = graph_text("%s.outside%u", n->name, d),
                         .type = ELEM_F32,
                         .known = true,
                         .shape = {.n = 1, .dim = {to}}};
    tensor_values(w);
    tensor_values(o);
    *outside = NULL;
    for (int64_t i = 0; i < to; i++) {
        double x = place(r, d, i, size);
        bool crop = strcmp(r->coordinates, "tf_crop_and_resize") == 0;
        if (crop && (x < 0 || x > (double)(size - 1))) {
            o->value[i] = 1;
            *outside = o;
        } else {
            weigh(r, x, size, &w->value[i * size]);
        }
    }
    return w;
}

static bool stays(const struct node *n, const struct resize *r, unsigned d)
{
    return n->in[0]->shape.dim[d] == n->out[0]->shape.dim[d] && r->scale[d] == 1 &&
           strcmp(r->coordinates, "tf_crop_and_resize") != 0;
}

/* One axis: (a, size, b) to (a, to, b). */
static void resize_axis(struct emit *e, struct node *n, const struct resize *r,
                        unsigned d, struct tensor *from, struct tensor *to)
{
    enum { A, K, B, I };
    static const uint8_t of_from[] = {A, K, B}, of_to[] = {A, I, B}, of_w[] = {I, K},
                         of_outside[] = {I};
    struct shape s = {.n = 3, .dim = {1, from->shape.dim[d], 1}}, t;
    struct tensor *outside, *w = weights(n, r, d, &outside);
    struct program p = program_begin(e, n);
    const char *x, *y;

    for (unsigned k = 0; k < from->shape.n; k++) {
        s.dim[0] *= k < d ? from->shape.dim[k] : 1;
        s.dim[2] *= k > d ? from->shape.dim[k] : 1;
    }
    t = s;
    t.dim[1] = to->shape.dim[d];
    x = program_in(&p, tensor_view(from, &s), of_from);
    y = program_in(&p, w, of_w);
    x = program_over(&p, "sum", 1u << K, graph_text("%s * %s", x, y));
    if (outside) {
        x = graph_text("where(%s == 1, %.9g, %s)", program_in(&p, outside, of_outside),
                       r->outside, x);
    }
    program_out(&p, tensor_view(to, &t), of_to, x, false);
}

static void resize_emit(struct emit *e, struct node *n)
{
    struct resize r = options(e->g, n);
    struct tensor *from = n->in[0], *to;
    unsigned left = 0;

    for (unsigned d = 0; d < from->shape.n; d++) {
        left += !stays(n, &r, d);
    }
    for (unsigned d = from->shape.n; d-- > 0;) {
        if (stays(n, &r, d) && (left || d)) {
            continue;
        }
        to = n->out[0];
        if (left > 1) {
            to = graph_alloc(1, sizeof(*to));
            *to = *from;
            to->name = graph_text("%s.%u", n->name, d);
            to->alias = NULL;
            to->value = NULL;
            to->id = 0;
            to->shape.dim[d] = n->out[0]->shape.dim[d];
        }
        resize_axis(e, n, &r, d, from, to);
        from = to;
        left -= left > 0;
    }
}

const struct rule rules_resize[] = {
    {.op = "Resize",
     .shape = resize_shape,
     .emit = resize_emit,
     .wants = 0xe,
     .alone = true},
    {.op = "Upsample",
     .shape = resize_shape,
     .emit = resize_emit,
     .wants = 1 << 1,
     .alone = true},
    {0},
};
