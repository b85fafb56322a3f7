/* SPDX-License-Identifier: MIT
 *
 * Tensors that grow: repeated, padded, of squares of pixels.
 */
#include <string.h>

#include "tools/graph/steps/steps.h"

/* --- Tile --- */

static void tile_shape(struct graph *g, struct node *n)
{
    struct shape to = node_in(g, n, 0)->shape;
    int64_t times[GRAPH_OPERANDS];

    if (node_ints(g, n, NULL, 1, times) != to.n) {
        node_die(g, n, "repeats of other dimensions");
    }
    for (unsigned d = 0; d < to.n; d++) {
        to.dim[d] *= times[d];
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void tile_emit(struct emit *e, struct node *n)
{
    const struct shape *s = &n->in[0]->shape;
    int64_t x[GRAPH_RANK], y[GRAPH_RANK];
    struct copy c;

    shape_strides(s, x);
    shape_strides(&n->out[0]->shape, y);
    copy_begin(&c, e, n, n->out[0]);
    for (unsigned d = 0; d < s->n; d++) {
        copy_dim(&c, n->out[0]->shape.dim[d] / (s->dim[d] ? s->dim[d] : 1), 0,
                 y[d] * s->dim[d]);
        copy_dim(&c, s->dim[d], x[d], y[d]);
    }
    copy_add(&c, n->in[0], 0, 0);
}

/* --- DepthToSpace, SpaceToDepth --- */

static void space_shape(struct graph *g, struct node *n)
{
    struct shape to = node_in(g, n, 0)->shape;
    int64_t b = node_int(n, "blocksize", 1);
    bool up = strcmp(n->op, "DepthToSpace") == 0;

    if (to.n != 4 || b < 1 || b > 1024 ||
        (up ? to.dim[1] % (b * b) : to.dim[2] % b + to.dim[3] % b)) {
        node_die(g, n, "squares of %lld in %s", (long long)b, shape_text(&to));
    }
    to.dim[1] = up ? to.dim[1] / (b * b) : to.dim[1] * b * b;
    to.dim[2] = up ? to.dim[2] * b : to.dim[2] / b;
    to.dim[3] = up ? to.dim[3] * b : to.dim[3] / b;
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* Channels (b, b, c) or (c, b, b) of a pixel are a square of pixels of c. */
static void space_emit(struct emit *e, struct node *n)
{
    bool up = strcmp(n->op, "DepthToSpace") == 0;
    const struct attr *mode = node_attr(n, "mode");
    bool crd = mode && mode->s && strcmp(mode->s, "CRD") == 0;
    const struct shape *deep = up ? &n->in[0]->shape : &n->out[0]->shape;
    int64_t b = node_int(n, "blocksize", 1), h = deep->dim[2], w = deep->dim[3];
    int64_t channels = deep->dim[1] / (b * b), plane = h * w, row = w * b;
    int64_t of_square = crd ? plane : channels * plane,
            of_channel = crd ? b * b * plane : plane;
    int64_t size[6] = {deep->dim[0], channels, b, b, h, w};
    int64_t from[6] = {deep->dim[1] * plane, of_channel, b * of_square, of_square, w, 1};
    int64_t to[6] = {channels * plane * b * b, plane * b * b, row, 1, row * b, b};
    struct copy c;

    copy_begin(&c, e, n, n->out[0]);
    for (unsigned d = 0; d < 6; d++) {
        copy_dim(&c, size[d], up ? from[d] : to[d], up ? to[d] : from[d]);
    }
    copy_add(&c, n->in[0], 0, 0);
}

/* --- Pad --- */

struct pads {
    int64_t before[GRAPH_RANK], behind[GRAPH_RANK];
    double value;
    const char *mode;
};

/* From the middle of each axis to the size that operand 1 names. */
static struct pads pads_of_crop(const struct graph *g, const struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    int64_t axis[GRAPH_OPERANDS], size[GRAPH_OPERANDS];
    unsigned axes = node_ints(g, n, "axes", GRAPH_OPERANDS, axis);
    unsigned sizes = node_ints(g, n, NULL, 1, size);
    struct pads p = {.mode = "constant"};

    if (sizes != (axes ? axes : s->n)) {
        node_die(g, n, "%u sizes of %u dimensions", sizes, axes ? axes : s->n);
    }
    for (unsigned i = 0; i < sizes; i++) {
        unsigned d = node_axis(g, n, axes ? axis[i] : i, s->n);
        int64_t more = size[i] - s->dim[d];
        p.before[d] = more < 0 ? -(-more / 2) : more / 2;
        p.behind[d] = more - p.before[d];
    }
    return p;
}

static struct pads pads_of(const struct graph *g, const struct node *n)
{
    const struct attr *mode = node_attr(n, "mode");
    unsigned rank = node_in(g, n, 0)->shape.n;
    struct pads p = {.value = node_number_or(g, n, 2, "value", 0),
                     .mode = mode && mode->s ? mode->s : "constant"};
    int64_t list[GRAPH_OPERANDS], axis[GRAPH_OPERANDS];
    unsigned axes = node_ints(g, n, NULL, 3, axis), count, of = axes ? axes : rank;

    if (strcmp(n->op, "CenterCropPad") == 0) {
        return pads_of_crop(g, n);
    }
    count = node_ints(g, n, node_attr(n, "paddings") ? "paddings" : "pads", 1, list);
    if (count != 2 * of) {
        node_die(g, n, "%u pads of %u dimensions", count, of);
    }
    for (unsigned i = 0; i < of; i++) {
        unsigned d = node_axis(g, n, axes ? axis[i] : i, rank);
        p.before[d] = list[i];
        p.behind[d] = list[i + of];
    }
    return p;
}

/* How many elements of an axis a mode has for either pad. */
static int64_t most_pads(const struct pads *p, int64_t size)
{
    if (strcmp(p->mode, "edge") == 0) {
        return size ? INT32_MAX : 0;
    }
    if (strcmp(p->mode, "reflect") == 0) {
        return size - 1;
    }
    return strcmp(p->mode, "wrap") == 0 ? size : -1;
}

static void pad_shape(struct graph *g, struct node *n)
{
    struct pads p = pads_of(g, n);
    struct shape to = n->in[0]->shape;

    for (unsigned d = 0; d < to.n; d++) {
        int64_t most = most_pads(&p, to.dim[d]);
        if (strcmp(p.mode, "constant") != 0 &&
            (p.before[d] < 0 || p.behind[d] < 0 || p.before[d] > most ||
             p.behind[d] > most) &&
            (p.before[d] || p.behind[d])) {
            node_die(g, n, "pads of %s by mode '%s'", shape_text(&n->in[0]->shape),
                     p.mode);
        }
        to.dim[d] += p.before[d] + p.behind[d];
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* All of it the value, and x in its place, or what pads leave of x. */
static void pad_constant(struct emit *e, struct node *n, const struct pads *p)
{
    const struct shape *s = &n->in[0]->shape, *t = &n->out[0]->shape;
    int64_t x[GRAPH_RANK], y[GRAPH_RANK], from = 0, to = 0, left = 1;
    struct copy c;

    copy_begin(&c, e, n, n->out[0]);
    copy_dim(&c, tensor_count(n->out[0]), 0, 1);
    copy_fill(&c, p->value, 0);
    shape_strides(s, x);
    shape_strides(t, y);
    c.n = 0;
    for (unsigned d = 0; d < s->n; d++) {
        int64_t cut = p->before[d] < 0 ? -p->before[d] : 0;
        int64_t size = s->dim[d] - cut - (p->behind[d] < 0 ? -p->behind[d] : 0);
        left *= size > 0 ? size : 0;
        copy_dim(&c, size, x[d], y[d]);
        from += cut * x[d];
        to += (p->before[d] > 0 ? p->before[d] : 0) * y[d];
    }
    if (left) {
        struct copy second = c;
        copy_begin(&c, e, n, n->out[0]);
        c.n = second.n;
        memcpy(c.size, second.size, sizeof(c.size));
        memcpy(c.x, second.x, sizeof(c.x));
        memcpy(c.y, second.y, sizeof(c.y));
        copy_add(&c, n->in[0], from, to);
    }
}

/* One dimension, `edge`, `reflect` or `wrap`: what lies in front, x, what lies behind. */
static void pad_axis(struct emit *e, struct node *n, const struct pads *p, unsigned d,
                     struct tensor *from, struct tensor *to)
{
    bool edge = strcmp(p->mode, "edge") == 0, wrap = strcmp(p->mode, "wrap") == 0;
    int64_t size = from->shape.dim[d], all = to->shape.dim[d], outer, inner;
    int64_t first[3], count[3] = {p->before[d], size, p->behind[d]}, at = 0, step[3];
    struct copy c;

    shape_around(&from->shape, d, &outer, &inner);
    first[0] = edge ? 0 : wrap ? size - p->before[d] : p->before[d];
    first[1] = 0;
    first[2] = edge ? size - 1 : wrap ? 0 : size - 2;
    step[0] = step[2] = edge ? 0 : wrap ? 1 : -1;
    step[1] = 1;
    copy_begin(&c, e, n, to);
    for (unsigned i = 0; i < 3; i++) {
        if (count[i]) {
            copy_dim(&c, outer, size * inner, all * inner);
            copy_dim(&c, count[i], step[i] * inner, inner);
            copy_dim(&c, inner, 1, 1);
            copy_add(&c, from, first[i] * inner, at * inner);
        }
        at += count[i];
    }
}

static void pad_emit(struct emit *e, struct node *n)
{
    struct pads p = pads_of(e->g, n);
    struct tensor *from = n->in[0], *to;
    unsigned left = 0;

    if (strcmp(p.mode, "constant") == 0) {
        pad_constant(e, n, &p);
        return;
    }
    for (unsigned d = 0; d < from->shape.n; d++) {
        left += p.before[d] || p.behind[d];
    }
    for (unsigned d = 0; d < from->shape.n; d++) {
        if ((p.before[d] || p.behind[d]) || (left == 0 && d == 0)) {
            struct shape s = from->shape;
            s.dim[d] = n->out[0]->shape.dim[d];
            to = left > 1 ? tensor_new(n, graph_text("pad%u", d), from->type, &s)
                          : n->out[0];
            pad_axis(e, n, &p, d, from, to);
            from = to;
            left--;
        }
    }
}

const struct rule rules_space[] = {
    {.op = "Tile",
     .shape = tile_shape,
     .emit = tile_emit,
     .wants = 1 << 1,
     .alone = true},
    {.op = "Pad",
     .shape = pad_shape,
     .emit = pad_emit,
     .wants = 1 << 1 | 1 << 2 | 1 << 3,
     .alone = true},
    {.op = "CenterCropPad",
     .shape = pad_shape,
     .emit = pad_emit,
     .wants = 1 << 1,
     .alone = true},
    {.op = "DepthToSpace", .shape = space_shape, .emit = space_emit, .alone = true},
    {.op = "SpaceToDepth", .shape = space_shape, .emit = space_emit, .alone = true},
    {0},
};
