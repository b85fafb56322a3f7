/* SPDX-License-Identifier: MIT
 *
 * Operators that are a few others: AffineGrid, Col2Im, MaxUnpool, DFT, STFT, Det, BitShift,
 * LpNormalization, TensorScatter, If.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/edit.h"
#include "tools/graph/model/lower.h"
#include "tools/graph/rules/window/window.h"

/* --- AffineGrid: a product of places, from -1 to 1, with theta --- */

static void affine_grid(struct graph *g, struct node *n)
{
    int64_t size[GRAPH_OPERANDS], all = 1;
    unsigned rank = node_ints(g, n, NULL, 1, size);
    bool aligned = node_int(n, "align_corners", 0) != 0;
    struct shape s = {.n = 2};
    struct lower l = lower_begin(g, n);
    const char *sizes = "";
    double *to;

    if (rank < 4 || rank > 5 ||
        tensor_count(node_in(g, n, 0)) != size[0] * (rank - 2) * (rank - 1)) {
        node_die(g, n, "theta of %s for %u sizes", shape_text(&node_in(g, n, 0)->shape),
                 rank);
    }
    for (unsigned d = 2; d < rank; d++) {
        if (size[d] < 1 || all > GRAPH_ELEMENTS / size[d]) {
            node_die(g, n, "a size of %lld", (long long)size[d]);
        }
        all *= size[d];
        sizes = graph_text("%s, %lld", sizes, (long long)size[d]);
    }
    s.dim[0] = all;
    s.dim[1] = rank - 1;
    to = lower_value(&l, "places", ELEM_F32, &s);
    for (int64_t i = 0; i < all; i++) {
        int64_t rest = i;
        for (unsigned d = rank; d-- > 2;) {
            double at = (double)(rest % size[d]), of = (double)size[d];
            *to++ = !aligned ? (2 * at + 1) / of - 1 : of > 1 ? 2 * at / (of - 1) - 1 : 0;
            rest /= size[d];
        }
        *to++ = 1;
    }
    lower_text(&l,
               "turned = Transpose($0; perm=[0, 2, 1])\nlike = CastLike(places, $0)\n"
               "at = MatMul(like, turned)\n@0 = Reshape(at, [%lld%s, %u])\n",
               (long long)size[0], sizes, rank - 2);
    lower_end(&l);
}

/* --- Col2Im: a transposed convolution by filters of one 1 --- */

enum { BLOCK_MOST = 1024 };

static void col2im(struct graph *g, struct node *n)
{
    static const char *const lists[] = {"strides", "dilations", "pads"};
    int64_t image[GRAPH_OPERANDS], block[GRAPH_OPERANDS], list[3][GRAPH_OPERANDS], k = 1,
                                                                                   c;
    unsigned rank = node_ints(g, n, NULL, 1, image);
    const struct shape *s = &node_in(g, n, 0)->shape;
    const char *out = "", *shape = "", *more = "", *attrs = "";
    struct lower l = lower_begin(g, n);
    struct shape of_w = {.n = rank + 2};
    double *to;

    if (s->n != 3 || rank < 1 || rank > WINDOW_RANK ||
        node_ints(g, n, NULL, 2, block) != rank) {
        node_die(g, n, "%u sizes for %s", rank, shape_text(s));
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned have = node_ints(g, n, lists[i], GRAPH_OPERANDS, list[i]);
        attrs = graph_text("%s, %s=[", attrs, lists[i]);
        for (unsigned d = 0; d < rank * (i == 2 ? 2 : 1); d++) {
            list[i][d] = d < have ? list[i][d] : i < 2;
            attrs = graph_text("%s%lld, ", attrs, (long long)list[i][d]);
        }
        attrs = graph_text("%s]", attrs);
    }
    for (unsigned d = 0; d < rank; d++) {
        int64_t extent = (block[d] - 1) * list[1][d] + 1;
        int64_t room = image[d] + list[2][d] + list[2][rank + d] - extent;
        if (block[d] < 1 || block[d] > BLOCK_MOST || list[0][d] < 1 || room < 0) {
            node_die(g, n, "no window of %lld in %lld", (long long)block[d],
                     (long long)image[d]);
        }
        k *= block[d];
        of_w.dim[2 + d] = block[d];
        out = graph_text("%s, %lld", out, (long long)(room / list[0][d] + 1));
        more = graph_text("%s%lld, ", more, (long long)(room % list[0][d]));
        shape = graph_text("%s, %lld", shape, (long long)image[d]);
    }
    c = s->dim[1] / k;
    of_w.dim[0] = c * k;
    of_w.dim[1] = 1;
    to = lower_value(&l, "one", ELEM_F32, &of_w);
    for (int64_t i = 0; i < c * k; i++) {
        to[i * k + i % k] = 1;
    }
    lower_text(&l,
               "x = Reshape($0, [%lld, %lld%s])\nw = CastLike(one, $0)\n"
               "y = ConvTranspose(x, w; group=%lld, output_padding=[%s]%s)\n"
               "@0 = Reshape(y, [%lld, %lld%s])\n",
               (long long)s->dim[0], (long long)(c * k), out, (long long)c, more, attrs,
               (long long)s->dim[0], (long long)c, shape);
    lower_end(&l);
}

/* --- MaxUnpool: elements where MaxPool has found them --- */

static void max_unpool(struct graph *g, struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    int64_t kernel[GRAPH_OPERANDS], stride[GRAPH_OPERANDS], pad[GRAPH_OPERANDS],
        want[GRAPH_OPERANDS];
    unsigned rank = node_ints(g, n, "kernel_shape", GRAPH_OPERANDS, kernel);
    unsigned strides = node_ints(g, n, "strides", GRAPH_OPERANDS, stride);
    unsigned pads = node_ints(g, n, "pads", GRAPH_OPERANDS, pad);
    unsigned wants = node_maybe(n, 2) ? node_ints(g, n, NULL, 2, want) : 0;
    struct lower l = lower_begin(g, n);
    const char *sizes = "", *rest = "";
    struct shape to = *s;

    if (rank + 2 != s->n || (wants && wants != s->n)) {
        node_die(g, n, "windows of %u dimensions for %s", rank, shape_text(s));
    }
    for (unsigned d = 0; d < s->n; d++) {
        unsigned k = d - 2;
        if (d >= 2) {
            to.dim[d] = (s->dim[d] - 1) * (k < strides ? stride[k] : 1) + kernel[k] -
                        (k < pads ? pad[k] : 0) - (rank + k < pads ? pad[rank + k] : 0);
        }
        sizes = graph_text("%s%s%lld", sizes, d ? ", " : "", (long long)to.dim[d]);
        rest = graph_text("%s, %lld", rest,
                          (long long)((wants ? want[d] : to.dim[d]) - to.dim[d]));
    }
    tensor_check(g, &(struct tensor){.name = n->name, .shape = to});
    (void)lower_value(&l, "zeros", n->in[0]->type,
                      &(struct shape){.n = 1, .dim = {shape_count(&to)}});
    lower_text(&l,
               "x = Reshape($0, [-1])\nat = Reshape($1, [-1])\n"
               "flat = ScatterElements(zeros, at, x; axis=0)\ny = Reshape(flat, [%s])\n",
               sizes);
    if (wants) {
        for (unsigned d = 0; d < s->n; d++) {
            rest = graph_text("%s%s", d ? "0, " : "", d ? rest : rest + 2);
        }
        lower_text(&l, "@0 = Pad(y, [0, %s])\n", rest);
    } else {
        lower_text(&l, "@0 = Identity(y)\n");
    }
    lower_end(&l);
}

/* --- DFT, STFT: products with matrices of cosines and sines --- */

enum { DFT_MOST = 4096, DFT_NUMBERS = 1 << 24 };

/* `turns`, (n parts, m 2): n numbers, complex if there are two parts, to m of `length`. */
static void turns(const struct lower *l, int64_t n, int64_t parts, int64_t m,
                  int64_t length, bool inverse)
{
    struct shape s = {.n = 2, .dim = {n * parts, m * 2}};
    double *to, full = 6.283185307179586;

    if (length < 1 || length > DFT_MOST || shape_count(&s) > DFT_NUMBERS) {
        node_die(l->g, l->n, "%lld numbers to %lld of %lld: a product is too large",
                 (long long)n, (long long)m, (long long)length);
    }
    to = lower_value(l, "turns", ELEM_F32, &s);
    for (int64_t i = 0; i < n * parts; i++) {
        for (int64_t k = 0; k < m; k++) {
            double angle = full * (double)(i / parts * k % length) / (double)length;
            double re = cos(angle) / (inverse ? (double)length : 1);
            double im = sin(inverse ? angle : -angle) / (inverse ? (double)length : 1);
            bool second = i % parts != 0;
            *to++ = second ? -im : re;
            *to++ = second ? re : im;
        }
    }
}

/* Dimensions of s with two of them changed: `0, 2, 1, 3`. */
static const char *swapped(unsigned rank, unsigned a, unsigned b)
{
    const char *list = "";

    for (unsigned d = 0; d < rank; d++) {
        list = graph_text("%s%s%u", list, d ? ", " : "", d == a ? b : d == b ? a : d);
    }
    return list;
}

static void dft(struct graph *g, struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    int64_t parts = s->n > 1 ? s->dim[s->n - 1] : 0, length, have, m;
    bool inverse = node_int(n, "inverse", 0) != 0, half = node_int(n, "onesided", 0) != 0;
    double axis_of =
        g->opset >= 20 ? node_number_or(g, n, 2, "axis", -2) : node_float(n, "axis", 1);
    unsigned axis = node_axis(
        g, n, g->opset >= 20 ? elem_whole(axis_of) : node_int(n, "axis", 1), s->n);
    const char *list, *x = "swapped", *sizes = "";
    struct lower l = lower_begin(g, n);

    if ((parts != 1 && parts != 2) || axis + 1 == s->n ||
        (half && (inverse || parts == 2))) {
        node_die(g, n, "of %s along axis %u%s", shape_text(s), axis,
                 half ? ", onesided" : "");
    }
    length = node_maybe(n, 1) ? elem_whole(node_number(g, n, 1)) : s->dim[axis];
    have = s->dim[axis] < length ? s->dim[axis] : length;
    m = half ? length / 2 + 1 : length;
    list = swapped(s->n, axis, s->n - 2);
    turns(&l, have, parts, m, length, inverse);
    lower_text(&l, "swapped = Transpose($0; perm=[%s])\n", list);
    if (have < s->dim[axis]) {
        lower_text(&l, "cut = Slice(swapped, [0], [%lld], [%u])\n", (long long)have,
                   s->n - 2);
        x = "cut";
    }
    for (unsigned d = 0; d + 2 < s->n; d++) {
        sizes =
            graph_text("%s%lld, ", sizes, (long long)s->dim[d == axis ? s->n - 2 : d]);
    }
    lower_text(&l,
               "rows = Reshape(%s, [-1, %lld])\nlike = CastLike(turns, $0)\n"
               "sums = MatMul(rows, like)\napart = Reshape(sums, [%s%lld, 2])\n"
               "@0 = Transpose(apart; perm=[%s])\n",
               x, (long long)(have * parts), sizes, (long long)m, list);
    lower_end(&l);
}

static void stft(struct graph *g, struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    const struct tensor *window = node_maybe(n, 2);
    int64_t step = elem_whole(node_number(g, n, 1)), parts = s->n == 3 ? s->dim[2] : 0,
            frames, m;
    int64_t length = node_maybe(n, 3)                 ? elem_whole(node_number(g, n, 3))
                     : window && window->shape.n == 1 ? window->shape.dim[0]
                                                      : 0;
    bool half = node_int(n, "onesided", 1) != 0 && parts == 1;
    struct shape of = {.n = 2};
    struct lower l = lower_begin(g, n);
    double *to;

    if ((parts != 1 && parts != 2) || step < 1 || length < 1 || length > s->dim[1] ||
        (window && tensor_count(window) != length)) {
        node_die(g, n, "frames of %lld every %lld of %s", (long long)length,
                 (long long)step, shape_text(s));
    }
    frames = (s->dim[1] - length) / step + 1;
    m = half ? length / 2 + 1 : length;
    turns(&l, length, parts, m, length, false);
    of.dim[0] = frames;
    of.dim[1] = length;
    to = lower_value(&l, "places", ELEM_I64, &of);
    for (int64_t i = 0; i < frames * length; i++) {
        to[i] = (double)(i / length * step + i % length);
    }
    lower_text(&l, "frames = Gather($0, places; axis=1)\n");
    lower_text(&l, window
                       ? "weights = Reshape($2, [-1, 1])\nseen = Mul(frames, weights)\n"
                       : "seen = Identity(frames)\n");
    lower_text(&l,
               "rows = Reshape(seen, [-1, %lld])\nlike = CastLike(turns, $0)\n"
               "sums = MatMul(rows, like)\n@0 = Reshape(sums, [%lld, %lld, %lld, 2])\n",
               (long long)(length * parts), (long long)s->dim[0], (long long)frames,
               (long long)m);
    lower_end(&l);
}

/* --- Det: of matrices up to 3 x 3, by their elements --- */

static void det(struct graph *g, struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    int64_t size = s->n < 2 ? 0 : s->dim[s->n - 1];
    struct lower l = lower_begin(g, n);
    const char *sizes = "";

    if (size < 1 || size > 3 || s->dim[s->n - 2] != size) {
        node_die(g, n, "of %s: matrices of 1 to 3 rows", shape_text(s));
    }
    for (unsigned d = 0; d + 2 < s->n; d++) {
        sizes = graph_text("%s%s%lld", sizes, d ? ", " : "", (long long)s->dim[d]);
    }
    lower_text(&l,
               "flat = Reshape($0, [-1, %lld])\nrows = Transpose(flat; perm=[1, 0])\n",
               (long long)(size * size));
    for (int64_t i = 0; i < size * size; i++) {
        lower_text(&l, "x%lld = Slice(rows, [%lld], [%lld], [0])\n", (long long)i,
                   (long long)i, (long long)i + 1);
    }
    if (size == 1) {
        lower_text(&l, "y = Identity(x0)\n");
    } else if (size == 2) {
        lower_text(&l, "a = Mul(x0, x3)\nb = Mul(x1, x2)\ny = Sub(a, b)\n");
    } else {
        for (unsigned i = 0; i < 3; i++) {
            unsigned j = (i + 1) % 3, k = (i + 2) % 3;
            lower_text(&l,
                       "a%u = Mul(x%u, x%u)\nb%u = Mul(x%u, x%u)\nc%u = Sub(a%u, b%u)\n"
                       "d%u = Mul(x%u, c%u)\n",
                       i, 3 + j, 6 + k, i, 3 + k, 6 + j, i, i, i, i, i, i);
        }
        lower_text(&l, "e = Add(d0, d1)\ny = Add(e, d2)\n");
    }
    lower_text(&l, "@0 = Reshape(y, [%s])\n", sizes);
    lower_end(&l);
}

/* --- BitShift: by powers of two --- */

/* 32 bits: behind all of them 0 is left. */
static void bit_shift_wide(struct lower *l, bool left)
{
    struct shape s = {.n = 1, .dim = {33}};
    double *to = lower_value(l, "powers", ELEM_I32, &s);

    for (int i = 0; i < 33; i++) {
        to[i] = i < 31 ? ldexp(1, i) : i == 32 && left ? 0 : -0x1p31;
    }
    lower_text(l,
               "x = Cast($0; to=6)\ny = Cast($1; to=7)\nm = Min(y, 32i)\n"
               "two = Gather(powers, m; axis=0)\nz = %s(x, two)\n@0 = CastLike(z, $0)\n",
               left ? "Mul" : "Div");
    lower_end(l);
}

/* 8 bits: in float32. */
static void bit_shift(struct graph *g, struct node *n)
{
    const struct attr *way = node_attr(n, "direction");
    bool left = way && way->s && strcmp(way->s, "LEFT") == 0;
    struct lower l = lower_begin(g, n);

    (void)node_in(g, n, 1);
    if (node_in(g, n, 0)->type == ELEM_U16 || n->in[0]->type == ELEM_U32 ||
        n->in[0]->type == ELEM_U64) {
        bit_shift_wide(&l, left);
        return;
    }
    if (n->in[0]->type != ELEM_U8) {
        node_die(g, n, "of %s", elem_text(n->in[0]->type));
    }
    lower_text(&l, "x = Cast($0; to=1)\ny = Cast($1; to=1)\nm = Min(y, 8.0)\n"
                   "p = Pow(2.0, m)\ntwo = Round(p)\n");
    lower_text(
        &l, left ? "wide = Mul(x, two)\nshare = Mul(wide, 0.00390625)\n"
                   "above = Floor(share)\noff = Mul(above, 256.0)\nz = Sub(wide, off)\n"
                 : "more = Add(x, 0.5)\nshare = Div(more, two)\nz = Floor(share)\n");
    lower_text(&l, "@0 = Cast(z; to=2)\n");
    lower_end(&l);
}

/* --- LpNormalization: by the norm of a line, whose largest is made 1 first, so that no square is
 * too large or small; zeros stay --- */

static void lp_normalization(struct graph *g, struct node *n)
{
    int64_t p = node_int(n, "p", 2);
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), node_in(g, n, 0)->shape.n);
    struct lower l = lower_begin(g, n);

    if (p != 1 && p != 2) {
        node_die(g, n, "p is %lld: 1 or 2", (long long)p);
    }
    lower_text(&l,
               "x = Cast($0; to=1)\nsize = Abs(x)\nmost = ReduceMax(size; axes=[%u])\n"
               "unit = Clip(most, 1e-30, 1e38)\nz = Div(x, unit)\n"
               "norm = ReduceL%lld(z; axes=[%u])\n"
               "none = Equal(norm, 0.0)\nby = Where(none, 1.0, norm)\n"
               "y = Div(z, by)\n@0 = CastLike(y, $0)\n",
               axis, (long long)p, axis);
    lower_end(&l);
}

/* --- TensorScatter: rows of a cache from where each of the batch says --- */

static void tensor_scatter(struct graph *g, struct node *n)
{
    const struct shape *cache = &node_in(g, n, 0)->shape, *s = &node_in(g, n, 1)->shape;
    unsigned axis = node_axis(g, n, node_int(n, "axis", -2), cache->n);
    const struct attr *mode = node_attr(n, "mode");
    bool circular = mode && mode->s && strcmp(mode->s, "circular") == 0;
    struct shape row = {.n = cache->n}, like = *cache;
    struct lower l = lower_begin(g, n);
    const char *batch = "", *sizes = "";
    double *to;

    like.dim[axis] = s->n == cache->n ? s->dim[axis] : 0;
    if (axis == 0 || !shape_equal(s, &like) || s->dim[axis] > cache->dim[axis] ||
        (mode && !circular && !(mode->s && strcmp(mode->s, "linear") == 0))) {
        node_die(g, n, "rows of %s along axis %u of %s", shape_text(s), axis,
                 shape_text(cache));
    }
    for (unsigned d = 0; d < s->n; d++) {
        row.dim[d] = d == axis ? s->dim[d] : 1;
        batch = graph_text("%s%s", batch, d ? ", 1" : "-1");
        sizes = graph_text("%s%s%lld", sizes, d ? ", " : "", (long long)s->dim[d]);
    }
    to = lower_value(&l, "row", ELEM_I64, &row);
    for (int64_t i = 0; i < s->dim[axis]; i++) {
        to[i] = (double)i;
    }
    lower_text(&l,
               node_maybe(n, 2) ? "first = Reshape($2, [%s])\nplace = Add(first, row)\n"
                                : "place = Identity(row)\n",
               batch);
    if (circular) {
        lower_text(&l, "inside = Mod(place, %lldi)\n", (long long)cache->dim[axis]);
    }
    lower_text(&l, "all = Expand(%s, [%s])\n@0 = ScatterElements($0, all, $1; axis=%u)\n",
               circular ? "inside" : "place", sizes, axis);
    lower_end(&l);
}

/* --- If: the branch that a condition, which is known, says --- */

static void branch(struct graph *g, struct node *n)
{
    const struct attr *then = node_attr(n, "then_branch"),
                      *other = node_attr(n, "else_branch");
    const struct attr *taken = node_number(g, n, 0) != 0 ? then : other;
    struct inlined as = {.name = n->name, .out = n->out, .n_out = n->n_out};

    if (!taken || !taken->graph) {
        node_die(g, n, "a branch is missing");
    }
    for (unsigned i = n->n_out; i-- > 0;) {
        as.name = n->out[i] ? n->out[i]->name : as.name;
    }
    (void)graph_inline(g, n, taken, &as);
    edit_replaced(g, n);
}

const struct rule rules_rewrite[] = {
    {.op = "If", .shape = branch, .wants = 1 << 0, .optional = true},
    {.op = "AffineGrid", .shape = affine_grid, .wants = 1 << 1},
    {.op = "Col2Im", .shape = col2im, .wants = 1 << 1 | 1 << 2},
    {.op = "MaxUnpool", .shape = max_unpool, .wants = 1 << 2},
    {.op = "DFT", .shape = dft, .wants = 1 << 1 | 1 << 2},
    {.op = "STFT", .shape = stft, .wants = 1 << 1 | 1 << 3},
    {.op = "Det", .shape = det},
    {.op = "LpNormalization", .shape = lp_normalization},
    {.op = "TensorScatter", .shape = tensor_scatter},
    {.op = "BitShift", .shape = bit_shift},
    {0},
};
