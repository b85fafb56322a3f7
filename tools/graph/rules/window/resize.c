/* SPDX-License-Identifier: MIT
 *
 * Resize, and Upsample before it: along each axis every element is a sum of elements of the
 * operand with weights that are known before a run, so it is a product with a matrix of them,
 * which is nearly empty; axes that stay as they are cost nothing, and those of which each element
 * is there several times are copied, where what lies behind them is long enough for that.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/graph/rules/product/product.h"

struct resize {
    const char *mode, *coordinates, *nearest;
    double cubic, outside; /* value beyond the edge: tf_crop_and_resize */
    bool exclude;          /* what lies beyond the edge has no weight */
    bool antialias;        /* of fewer elements: a mean of those that each stands for */
    double scale[GRAPH_RANK], from[GRAPH_RANK], to[GRAPH_RANK]; /* and the region */
    int64_t size[GRAPH_RANK];                                   /* of the result */
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

/* One factor for all axes that have a size: the picture keeps its proportions. */
static void keep_ratio(struct resize *r, const struct node *n, const int64_t *axis,
                       unsigned axes)
{
    bool smaller =
        strcmp(text_attr(n, "keep_aspect_ratio_policy", "stretch"), "not_larger") == 0;
    double scale = smaller ? INFINITY : 0;

    for (unsigned i = 0; i < axes; i++) {
        double one = r->scale[axis[i]];
        scale = smaller ? fmin(scale, one) : fmax(scale, one);
    }
    for (unsigned i = 0; i < axes; i++) {
        r->scale[axis[i]] = scale;
        r->size[axis[i]] =
            elem_whole(floor(scale * (double)n->in[0]->shape.dim[axis[i]] + 0.5));
    }
}

/* Axis i of those that are named, operands 1 to 3: region, scales, sizes. */
static void set_axis(const struct graph *g, const struct node *n, struct resize *r,
                     unsigned d, unsigned i, unsigned axes, unsigned scales)
{
    int64_t size = n->in[0]->shape.dim[d];
    bool scaled = has(n, scales), sized = !scaled && has(n, 3) && size;

    if (tensor_count(node_in(g, n, scaled || !sized ? scales : 3)) != axes) {
        node_die(g, n, "neither a scale nor a size for each dimension");
    }
    r->scale[d] = scaled  ? n->in[scales]->value[i]
                  : sized ? n->in[3]->value[i] / (double)size
                          : 0;
    if (!(r->scale[d] > 1e-6 && r->scale[d] < 1e6)) {
        node_die(g, n, "a scale of %g", r->scale[d]);
    }
    /* The product is one of float32, as in ONNX and onnxruntime: 10 by 1.3 is 13. */
    r->size[d] = scaled ? elem_whole(floor((double)((float)r->scale[d] * (float)size)))
                        : elem_whole(n->in[3]->value[i]);
    if (scales == 2 && has(n, 1)) {
        if (tensor_count(n->in[1]) != 2 * axes) {
            node_die(g, n, "a region of other dimensions");
        }
        r->from[d] = n->in[1]->value[i];
        r->to[d] = n->in[1]->value[i + axes];
        if (!(fabs(r->from[d]) < 1e6 && fabs(r->to[d]) < 1e6)) {
            node_die(g, n, "a region from %g to %g", r->from[d], r->to[d]);
        }
    }
}

/* Before opset 9 the scales of Upsample were an attribute. */
static void scales_of(struct node *n)
{
    const struct attr *a = node_attr(n, "scales");
    struct tensor *t;

    if (!a || has(n, 1)) {
        return;
    }
    t = tensor_new(n, "scales", ELEM_F32,
                   &(struct shape){.n = 1, .dim = {(int64_t)a->n_floats}});
    memcpy(tensor_values(t), a->floats, a->n_floats * sizeof(double));
    n->in[1] = t;
    n->n_in = 2;
}

static struct resize options(const struct graph *g, const struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    bool upsample = strcmp(n->op, "Upsample") == 0 || g->opset < 11;
    struct resize r = {
        .mode = text_attr(n, "mode", "nearest"),
        .coordinates = text_attr(n, "coordinate_transformation_mode",
                                 upsample ? "asymmetric" : "half_pixel"),
        .nearest =
            text_attr(n, "nearest_mode", upsample ? "floor" : "round_prefer_floor"),
        .cubic = node_float(n, "cubic_coeff_a", -0.75),
        .outside = node_float(n, "extrapolation_value", 0),
        .exclude = node_int(n, "exclude_outside", 0) != 0,
        .antialias = node_int(n, "antialias", 0) != 0,
    };
    int64_t axis[GRAPH_OPERANDS];
    unsigned axes = node_ints(g, n, "axes", GRAPH_OPERANDS, axis);

    for (unsigned d = 0; d < s->n; d++) {
        r.scale[d] = r.to[d] = 1;
        r.size[d] = s->dim[d];
        axis[d] = axes ? axis[d] : d;
    }
    axes = axes ? axes : s->n;
    for (unsigned i = 0; i < axes; i++) {
        axis[i] = node_axis(g, n, axis[i], s->n);
        for (unsigned k = 0; k < i; k++) {
            if (axis[k] == axis[i]) {
                node_die(g, n, "axis %lld twice", (long long)axis[i]);
            }
        }
        set_axis(g, n, &r, (unsigned)axis[i], i, axes, upsample ? 1 : 2);
    }
    if (strcmp(text_attr(n, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0 &&
        !has(n, upsample ? 1 : 2)) {
        keep_ratio(&r, n, axis, axes);
    }
    return r;
}

static void resize_shape(struct graph *g, struct node *n)
{
    struct shape to = node_in(g, n, 0)->shape;
    struct resize r;

    scales_of(n);
    r = options(g, n);

    for (unsigned d = 0; d < to.n; d++) {
        to.dim[d] = r.size[d];
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* Where element i of an axis lies in the operand's, by its length, that of the result and the
 * scale. */
static double place(const struct resize *r, unsigned d, int64_t i, int64_t size)
{
    const char *how = r->coordinates;
    double last = (double)(size - 1), x = (double)i, to = (double)r->size[d];

    if (strcmp(how, "align_corners") == 0) {
        return to == 1 ? 0 : x * last / (to - 1);
    }
    if (strcmp(how, "asymmetric") == 0) {
        return x / r->scale[d];
    }
    if (strcmp(how, "tf_crop_and_resize") == 0) {
        return to == 1 ? 0.5 * (r->from[d] + r->to[d]) * last
                       : r->from[d] * last + x * (r->to[d] - r->from[d]) * last / (to - 1);
    }
    if (strcmp(how, "pytorch_half_pixel") == 0 && to == 1) {
        return 0;
    }
    if (strcmp(how, "tf_half_pixel_for_nn") == 0) {
        return (x + 0.5) / r->scale[d];
    }
    if (strcmp(how, "half_pixel_symmetric") == 0) {
        return (double)size / 2 * (1 - to / (r->scale[d] * (double)size)) +
               (x + 0.5) / r->scale[d] - 0.5;
    }
    return (x + 0.5) / r->scale[d] - 0.5;
}

/* The same with each step rounded to float32 where onnxruntime does so: which of two elements is
 * the nearest depends on that where the place is halfway between them, and so does whether it is
 * inside. */
static double place_f32(const struct resize *r, unsigned d, int64_t i, int64_t size)
{
    const char *how = r->coordinates;
    float last = (float)(size - 1), x = (float)i, to = (float)r->size[d];
    float from = (float)r->from[d], end = (float)r->to[d], scale = (float)r->scale[d], y;

    if (strcmp(how, "align_corners") == 0) {
        y = x * last;
        return to == 1 ? 0 : (double)(y / (to - 1));
    }
    if (strcmp(how, "asymmetric") == 0) {
        return (double)(x / scale);
    }
    if (strcmp(how, "tf_crop_and_resize") == 0) {
        y = x * (end - from);
        y = y * last / (to - 1);
        from = to == 1 ? 0.5f * (from + end) : from;
        from *= last;
        return to == 1 ? (double)from : (double)(from + y);
    }
    if (strcmp(how, "pytorch_half_pixel") == 0 && to == 1) {
        return 0;
    }
    y = (x + 0.5f) / scale;
    if (strcmp(how, "tf_half_pixel_for_nn") == 0) {
        return (double)y;
    }
    if (strcmp(how, "half_pixel_symmetric") == 0) {
        float beside = (float)size / 2 * (1 - to / (scale * (float)size));
        return (double)(float)((double)beside + ((double)x + 0.5) / (double)scale - 0.5);
    }
    return (double)(y - 0.5f);
}

/* What is so near to a half that rounding may have moved it is one, as in onnxruntime 1.30. */
static int64_t nearest(const struct resize *r, double x)
{
    double below = floor(x);

    if (strcmp(r->nearest, "floor") == 0) {
        return (int64_t)below;
    }
    if (strcmp(r->nearest, "ceil") == 0) {
        return (int64_t)ceil(x);
    }
    if (fabs(x - below - 0.5) <= 1e-6) {
        return (int64_t)below + (strcmp(r->nearest, "round_prefer_ceil") == 0);
    }
    return (int64_t)floor(x + 0.5);
}

/* Keys' kernel of a distance. */
static double cubic(double a, double x)
{
    x = fabs(x);
    return x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
           : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                   : 0;
}

/* What an element has at a distance from where it is wanted. */
static double kernel(const struct resize *r, double away)
{
    return strcmp(r->mode, "cubic") == 0 ? cubic(r->cubic, away)
                                         : fmax(0, 1 - fabs(away));
}

/* The element that stands for one beyond either end. */
static int64_t within(int64_t i, int64_t size)
{
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

/* Weights of one element of axis d, `size` of them. */
static void weigh(const struct resize *r, unsigned d, double x, int64_t size, double *to)
{
    double near = r->antialias && r->scale[d] < 1 ? r->scale[d] : 1, sum = 0;
    double reach = (strcmp(r->mode, "cubic") == 0 ? 2 : 1) / near;
    int64_t first = (int64_t)ceil(x - reach), last = (int64_t)floor(x + reach);

    if (strcmp(r->mode, "nearest") == 0) {
        to[within(nearest(r, x), size)] = 1;
        return;
    }
    for (int64_t i = first; i <= last; i++) {
        bool beyond = i < 0 || i >= size;
        sum += r->exclude && beyond ? 0 : kernel(r, (x - (double)i) * near);
    }
    for (int64_t i = first; i <= last; i++) {
        bool beyond = i < 0 || i >= size;
        if (!r->exclude || !beyond) {
            to[within(i, size)] += kernel(r, (x - (double)i) * near) / sum;
        }
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
        bool crop = strcmp(r->coordinates, "tf_crop_and_resize") == 0;
        bool exact = !crop && strcmp(r->mode, "nearest") != 0;
        double x = exact ? place(r, d, i, size) : place_f32(r, d, i, size);
        if (crop && (x < 0 || x > (double)(size - 1))) {
            o->value[i] = 1;
            *outside = o;
        } else {
            weigh(r, d, x, size, &w->value[i * size]);
        }
    }
    return w;
}

/* Weights become those of float16, for its Cube; what they have besides, of float16 as well, or
 * NULL: nothing. */
static struct tensor *rest_of(struct tensor *w)
{
    struct tensor *rest = graph_alloc(1, sizeof(*rest));
    bool any = false;

    *rest = *w;
    rest->name = graph_text("%s.rest", w->name);
    rest->type = w->type = ELEM_F16;
    rest->value = NULL;
    tensor_values(rest);
    for (int64_t i = 0; i < tensor_count(w); i++) {
        double x = elem_round(ELEM_F16, w->value[i]);
        rest->value[i] = elem_round(ELEM_F16, w->value[i] - x);
        w->value[i] = x;
        any = any || rest->value[i] != 0;
    }
    return any ? rest : NULL;
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
    struct tensor *outside, *w = weights(n, r, d, &outside), *rest, *view;
    struct program p = program_begin(e, n);
    const char *x;

    for (unsigned k = 0; k < from->shape.n; k++) {
        s.dim[0] *= k < d ? from->shape.dim[k] : 1;
        s.dim[2] *= k > d ? from->shape.dim[k] : 1;
    }
    t = s;
    t.dim[1] = to->shape.dim[d];
    view = tensor_view(from, &s);
    rest = from->type == ELEM_F16 ? rest_of(w) : NULL;
    if (from->type == w->type) {
        x = product_of(&p, view, of_from, w, of_w, K, s.dim[1]);
        if (rest) {
            x = graph_text("%s + %s", x,
                           product_of(&p, view, of_from, rest, of_w, K, s.dim[1]));
        }
    } else {
        x = program_in(&p, view, of_from);
        x = graph_text("%s * %s", x, program_in(&p, w, of_w));
        x = program_over(&p, "sum", 1u << K, x);
    }
    if (outside) {
        x = graph_text("where(%s == 1, %.9g, %s)", program_in(&p, outside, of_outside),
                       r->outside, x);
    }
    program_out(&p, tensor_view(to, &t), of_to, x, false);
}

/* How often each element is there, one behind the other; 0: that is not all. */
static int64_t times(const struct node *n, const struct resize *r, unsigned d)
{
    int64_t size = n->in[0]->shape.dim[d], to = n->out[0]->shape.dim[d];
    int64_t by = size ? to / size : 0;
    bool same = by > 0 && by * size == to && strcmp(r->mode, "nearest") == 0 &&
                strcmp(r->coordinates, "tf_crop_and_resize") != 0;

    for (int64_t i = 0; i < to && same; i++) {
        same = within(nearest(r, place_f32(r, d, i, size)), size) == i / by;
    }
    return same ? by : 0;
}

/* The same axis by copies; false: that would be one of few bytes for each element. */
static bool repeat_axis(struct emit *e, struct node *n, const struct resize *r,
                        unsigned d, struct tensor *from, struct tensor *to)
{
    int64_t by = times(n, r, d), outer, inner, size = from->shape.dim[d];
    struct copy c;

    shape_around(&from->shape, d, &outer, &inner);
    if (by == 0 || inner * (int64_t)elem_bytes(elem_machine(from->type)) < PART_BYTES) {
        return false;
    }
    copy_begin(&c, e, n, to);
    copy_dim(&c, outer * size, inner, by * inner);
    copy_dim(&c, by, 0, inner);
    copy_dim(&c, inner, 1, 1);
    copy_add(&c, from, 0, 0);
    return true;
}

static void resize_emit(struct emit *e, struct node *n)
{
    struct resize r = options(e->g, n);
    struct tensor *from = n->in[0], *to;
    unsigned left = 0;
    bool copies;

    for (unsigned d = 0; d < from->shape.n; d++) {
        left += !stays(n, &r, d);
    }
    copies = left == 0; /* all axes stay: along the first */
    for (unsigned d = from->shape.n; d-- > 0;) {
        if (stays(n, &r, d) && !(copies && d == 0)) {
            continue;
        }
        to = n->out[0];
        if (left > 1) {
            to = graph_alloc(1, sizeof(*to));
            *to = *from;
            to->name = graph_text("%s.%u", n->name, d);
            to->alias = NULL; /* from may be a part of another */
            to->offset = 0;
            to->value = NULL;
            to->id = 0;
            to->shape.dim[d] = n->out[0]->shape.dim[d];
        }
        if (!repeat_axis(e, n, &r, d, from, to)) {
            resize_axis(e, n, &r, d, from, to);
        }
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
