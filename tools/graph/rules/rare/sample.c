/* SPDX-License-Identifier: MIT
 *
 * Images read at places that are computed: GridSample, RoiAlign, DeformConv, in other operators.
 * All do the same: for each place a few taps, an index and a weight of each, one Gather of all of
 * them out of the flat operand, and sums.
 *
 *     index, weight   (n, part, tap, place), parts of the channels that share places
 *     channel         where each image of a channel begins
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/rules/window/window.h"

enum { DIMS = 3, EXACT = 1 << 24 /* indices are computed in float32 */ };

/* An operand (n, c, sizes..). */
struct image {
    int64_t n, c, size[DIMS], all;
    unsigned rank;
};

static struct image image_of(const struct graph *g, const struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    struct image im = {.rank = s->n - 2, .all = 1};

    if (s->n < 3 || s->n > 2 + DIMS || !elem_is_float(n->in[0]->type)) {
        node_die(g, n, "samples of %s %s", elem_text(n->in[0]->type), shape_text(s));
    }
    im.n = s->dim[0];
    im.c = s->dim[1];
    for (unsigned d = 0; d < im.rank; d++) {
        im.size[d] = s->dim[2 + d];
        im.all *= im.size[d];
    }
    if (im.all < 1 || im.all > EXACT) {
        node_die(g, n, "%s has an image of more than %d elements, or none", shape_text(s),
                 EXACT);
    }
    return im;
}

/* `channel`: (n, parts, c / parts, 1, 1), n of them only if `images`. */
static void channels(const struct lower *l, const struct image *im, int64_t parts,
                     bool images)
{
    struct shape s = {.n = 5, .dim = {images ? im->n : 1, parts, im->c / parts, 1, 1}};
    double *to = lower_value(l, "channel", ELEM_I64, &s);

    for (int64_t i = 0; i < shape_count(&s); i++) {
        to[i] = (double)(i * im->all);
    }
}

/* Which of `each` taps of dimension d tap number i is, from `first` on: `tapD`, (taps, 1). */
static void taps(const struct lower *l, unsigned d, unsigned rank, int64_t each,
                 int64_t first)
{
    struct shape s = {.n = 2, .dim = {1, 1}};
    int64_t below = 1;
    double *to;

    for (unsigned k = 0; k < rank; k++) {
        s.dim[0] *= each;
        below *= k > d ? each : 1;
    }
    to = lower_value(l, graph_text("tap%u", d), ELEM_F32, &s);
    for (int64_t i = 0; i < s.dim[0]; i++) {
        to[i] = (double)(i / below % each + first);
    }
}

/* `flatD`, the sum of dimensions' places so far, takes up `iD` of dimension d, which is in
 * float32; the last one is `index`. */
static void flatten(struct lower *l, const struct image *im, unsigned d)
{
    if (d == 0) {
        lower_text(l, "flat0 = Identity(i0)\n");
    } else {
        lower_text(l, "row%u = Mul(flat%u, %lld.0)\nflat%u = Add(row%u, i%u)\n", d, d - 1,
                   (long long)im->size[d], d, d, d);
    }
    if (d + 1 == im->rank) {
        lower_text(l, "index = Cast(flat%u; to=7)\n", d);
    }
}

/* `weightD` is the product so far with `wD`. */
static void weigh(struct lower *l, unsigned d)
{
    lower_text(l, d ? "weight%u = Mul(weight%u, w%u)\n" : "weight%u = Identity(w0)\n", d,
               d - 1, d);
}

/* `taken`, (n, parts, c / parts, taps, places): elements times their weights. */
static void take(struct lower *l, const struct image *im)
{
    lower_text(l,
               "index5 = Unsqueeze(index, [2])\nat = Add(index5, channel)\n"
               "flat = Reshape($0, [-1])\nread = Gather(flat, at)\n"
               "wide = Cast(read; to=1)\nweight5 = Unsqueeze(weight%u, [2])\n"
               "taken = Mul(wide, weight5)\n",
               im->rank - 1);
}

/* --- GridSample --- */

enum mode { NEAREST, LINEAR, CUBIC };

struct grid {
    struct image im;
    enum mode mode;
    bool aligned, border, reflection;
};

static bool is(const struct node *n, const char *attr, const char *a, const char *b)
{
    const struct attr *x = node_attr(n, attr);

    return x && x->s && (strcmp(x->s, a) == 0 || strcmp(x->s, b) == 0);
}

static struct grid grid_of(const struct graph *g, const struct node *n)
{
    struct grid q = {.im = image_of(g, n)};
    const struct attr *mode = node_attr(n, "mode"), *pad = node_attr(n, "padding_mode");

    q.mode = is(n, "mode", "nearest", "nearest") ? NEAREST
             : is(n, "mode", "bicubic", "cubic") ? CUBIC
                                                 : LINEAR;
    q.aligned = node_int(n, "align_corners", 0) != 0;
    q.border = is(n, "padding_mode", "border", "border");
    q.reflection = is(n, "padding_mode", "reflection", "reflection");
    if ((mode && q.mode == LINEAR && !is(n, "mode", "linear", "bilinear")) ||
        (pad && !q.border && !q.reflection && !is(n, "padding_mode", "zeros", "zeros"))) {
        node_die(g, n, "mode '%s', padding_mode '%s'", mode && mode->s ? mode->s : "",
                 pad && pad->s ? pad->s : "");
    }
    return q;
}

/* What lies beyond an edge from low on, high - low wide, is as far within: `to`. */
static void reflect(struct lower *l, const char *to, const char *from, double low,
                    double wide)
{
    if (wide == 0) {
        lower_text(l, "%s = Mul(%s, 0.0)\n", to, from);
        return;
    }
    lower_text(l,
               "%sa = Sub(%s, %.9g)\n%sb = Mul(%sa, %.9g)\n%sc = Floor(%sb)\n"
               "%sd = Mul(%sc, %.9g)\n%se = Sub(%sa, %sd)\n%sf = Sub(%se, %.9g)\n"
               "%sg = Abs(%sf)\n%s = Sub(%.9g, %sg)\n",
               to, from, low, to, to, 1 / (2 * wide), to, to, to, to, 2 * wide, to, to,
               to, to, to, wide, to, to, to, wide + low, to);
}

/* Where the grid is in dimension d, in elements: `uD`, (n, 1, 1, places). */
static void grid_place(struct lower *l, const struct grid *q, unsigned d)
{
    double size = (double)q->im.size[d], low = q->aligned ? 0 : -0.5;
    double wide = q->aligned ? size - 1 : size;
    unsigned of = q->im.rank - 1 - d;

    lower_text(
        l,
        "g%u = Slice(grid, [%u], [%u], [2])\nh%u = Reshape(g%u, [%lld, 1, 1, -1])\n"
        "m%u = Mul(h%u, %.9g)\np%u = Add(m%u, %.9g)\n",
        d, of, of + 1, d, d, (long long)q->im.n, d, d, wide / 2, d, d, (size - 1) / 2);
    lower_text(l, q->mode == NEAREST ? "r%u = Round(p%u)\n" : "r%u = Identity(p%u)\n", d,
               d);
    if (q->border) {
        lower_text(l,
                   "k%u = Clip(r%u, 0.0, %.9g)\nbelow%u = Less(r%u, %.9g)\n"
                   "above%u = Greater(r%u, %.9g)\nout%u = Or(below%u, above%u)\n"
                   "u%u = Where(out%u, k%u, r%u)\n",
                   d, d, size - 1, d, d, low, d, d, low + wide, d, d, d, d, d, d, d);
    } else if (q->reflection) {
        reflect(l, graph_text("u%u", d), graph_text("r%u", d), low, wide);
    } else {
        lower_text(l, "u%u = Identity(r%u)\n", d, d);
    }
}

/* The share of a tap `aD` away from the place. */
static void grid_weight(struct lower *l, const struct grid *q, unsigned d)
{
    if (q->mode == LINEAR) {
        lower_text(l, "v%u = Sub(1.0, a%u)\n", d, d);
    } else if (q->mode == CUBIC) { /* Keys' with -0.75 */
        lower_text(
            l,
            "c0%u = Mul(a%u, 1.25)\nc1%u = Sub(c0%u, 2.25)\nc2%u = Mul(c1%u, a%u)\n"
            "c3%u = Mul(c2%u, a%u)\nc4%u = Add(c3%u, 1.0)\n"
            "d0%u = Mul(a%u, -0.75)\nd1%u = Add(d0%u, 3.75)\nd2%u = Mul(d1%u, a%u)\n"
            "d3%u = Sub(d2%u, 6.0)\nd4%u = Mul(d3%u, a%u)\nd5%u = Add(d4%u, 3.0)\n"
            "near%u = LessOrEqual(a%u, 1.0)\nv%u = Where(near%u, c4%u, d5%u)\n",
            d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d,
            d, d, d, d, d, d);
    } else {
        lower_text(l, "v%u = Add(a%u, 1.0)\n", d, d);
    }
}

static void grid_dimension(struct lower *l, const struct grid *q, unsigned d)
{
    double size = (double)q->im.size[d];
    const char *whole = "s";

    grid_place(l, q, d);
    taps(l, d, q->im.rank,
         q->mode == CUBIC    ? 4
         : q->mode == LINEAR ? 2
                             : 1,
         q->mode == CUBIC ? -1 : 0);
    lower_text(
        l,
        "f%u = Floor(u%u)\ns%u = Add(f%u, tap%u)\nb%u = Sub(u%u, s%u)\na%u = Abs(b%u)\n",
        d, d, d, d, d, d, d, d, d, d);
    grid_weight(l, q, d);
    if (q->reflection) {
        reflect(l, graph_text("z%u", d), graph_text("s%u", d), q->aligned ? 0 : -0.5,
                q->aligned ? size - 1 : size);
        whole = "z";
    }
    lower_text(l, "i%u = Clip(%s%u, 0.0, %.9g)\n", d, whole, d, size - 1);
    if (q->border || q->reflection) {
        lower_text(l, "w%u = Identity(v%u)\n", d, d);
    } else {
        lower_text(l, "in%u = Equal(i%u, s%u)\nw%u = Where(in%u, v%u, 0.0)\n", d, d, d, d,
                   d, d);
    }
    flatten(l, &q->im, d);
    weigh(l, d);
}

static void grid_sample(struct graph *g, struct node *n)
{
    struct grid q = grid_of(g, n);
    const struct shape *s = &node_in(g, n, 1)->shape;
    struct lower l = lower_begin(g, n);
    const char *sizes = "";

    if (s->n != q.im.rank + 2 || s->dim[0] != q.im.n || s->dim[s->n - 1] != q.im.rank) {
        node_die(g, n, "a grid of %s for %s", shape_text(s),
                 shape_text(&n->in[0]->shape));
    }
    for (unsigned d = 1; d + 1 < s->n; d++) {
        sizes = graph_text("%s, %lld", sizes, (long long)s->dim[d]);
    }
    lower_text(&l, "wideg = Cast($1; to=1)\ngrid = Reshape(wideg, [%lld, -1, %u])\n",
               (long long)q.im.n, q.im.rank);
    for (unsigned d = 0; d < q.im.rank; d++) {
        grid_dimension(&l, &q, d);
    }
    channels(&l, &q.im, 1, true);
    take(&l, &q.im);
    lower_text(
        &l,
        "sum = ReduceSum(taken; axes=[3], keepdims=0)\nrounded = CastLike(sum, $0)\n"
        "@0 = Reshape(rounded, [%lld, %lld%s])\n",
        (long long)q.im.n, (long long)q.im.c, sizes);
    lower_end(&l);
}

/* --- two taps of each dimension of a place `uD`, (n, parts, 1, places) --- */

/* Weights of 0 where it lies outside: beyond -1 or size, if `far`, else where the tap does. */
static void linear(struct lower *l, const struct image *im, unsigned d, bool far)
{
    double size = (double)im->size[d];

    taps(l, d, im->rank, 2, 0);
    if (far) {
        lower_text(l,
                   "y%u = Clip(u%u, 0.0, %.9g)\nlow%u = GreaterOrEqual(u%u, -1.0)\n"
                   "high%u = LessOrEqual(u%u, %.9g)\nin%u = And(low%u, high%u)\n",
                   d, d, size - 1, d, d, d, d, size, d, d, d);
    } else {
        lower_text(l, "y%u = Identity(u%u)\n", d, d);
    }
    lower_text(
        l,
        "f%u = Floor(y%u)\ns%u = Add(f%u, tap%u)\nb%u = Sub(y%u, s%u)\na%u = Abs(b%u)\n"
        "v%u = Sub(1.0, a%u)\ni%u = Clip(s%u, 0.0, %.9g)\n",
        d, d, d, d, d, d, d, d, d, d, d, d, d, d, size - 1);
    if (!far) {
        lower_text(l, "in%u = Equal(i%u, s%u)\n", d, d, d);
    }
    lower_text(l, "w%u = Where(in%u, v%u, 0.0)\n", d, d, d);
    flatten(l, im, d);
    weigh(l, d);
}

/* --- RoiAlign --- */

enum { ROI_MOST = 1024, ROI_SAMPLES = 64 };

struct roi {
    struct image im;
    int64_t out[2], ratio;
    double scale, offset;
    bool is_max, half;
};

static struct roi roi_of(const struct graph *g, const struct node *n)
{
    const struct attr *how = node_attr(n, "coordinate_transformation_mode");
    const struct attr *mode = node_attr(n, "mode");
    struct roi r = {
        .im = image_of(g, n),
        .out = {node_int(n, "output_height", 1), node_int(n, "output_width", 1)},
        .ratio = node_int(n, "sampling_ratio", 0),
        .scale = node_float(n, "spatial_scale", 1)};

    r.half = how ? how->s && strcmp(how->s, "half_pixel") == 0 : g->opset >= 16;
    r.offset = r.half ? 0.5 : 0;
    r.is_max = mode && mode->s && strcmp(mode->s, "max") == 0;
    if (r.ratio < 1) {
        node_die(g, n,
                 "how often it samples depends on values of '%s': sampling_ratio from 1",
                 n->in[1] ? n->in[1]->name : "");
    }
    if (r.im.rank != 2 || r.out[0] < 1 || r.out[1] < 1 || r.out[0] > ROI_MOST ||
        r.out[1] > ROI_MOST || r.ratio > ROI_SAMPLES) {
        node_die(g, n, "%lld x %lld of %s", (long long)r.out[0], (long long)r.out[1],
                 shape_text(&n->in[0]->shape));
    }
    return r;
}

/* `uD` of each sample: where the region begins, and shares of what one result has of it. */
static void roi_places(struct lower *l, const struct roi *r, unsigned d)
{
    int64_t results = r->out[0] * r->out[1], each = r->ratio * r->ratio;
    struct shape s = {.n = 1, .dim = {results * each}};
    double *to = lower_value(l, graph_text("step%u", d), ELEM_F32, &s);
    unsigned from = d == 0 ? 1 : 0; /* x1, y1, x2, y2 */

    for (int64_t i = 0; i < s.dim[0]; i++) {
        int64_t o = i / each, k = i % each;
        o = d == 0 ? o / r->out[1] : o % r->out[1];
        k = d == 0 ? k / r->ratio : k % r->ratio;
        to[i] = (double)o + ((double)k + 0.5) / (double)r->ratio;
    }
    for (unsigned i = 0; i < 2; i++) {
        lower_text(
            l,
            "e%u%u = Slice($1, [%u], [%u], [1])\nf4%u%u = Unsqueeze(e%u%u, [2, 3])\n"
            "t%u%u = Cast(f4%u%u; to=1)\nm%u%u = Mul(t%u%u, %.9g)\n"
            "n%u%u = Sub(m%u%u, %.9g)\n",
            d, i, from + 2 * i, from + 2 * i + 1, d, i, d, i, d, i, d, i, d, i, d, i,
            r->scale, d, i, d, i, r->offset);
    }
    lower_text(l, "size%u = Sub(n%u1, n%u0)\n", d, d, d);
    lower_text(l,
               r->half ? "least%u = Identity(size%u)\n" : "least%u = Max(size%u, 1.0)\n",
               d, d);
    lower_text(
        l, "bin%u = Mul(least%u, %.9g)\nq%u = Mul(bin%u, step%u)\nu%u = Add(q%u, n%u0)\n",
        d, d, 1 / (double)r->out[d], d, d, d, d, d, d);
}

static void roi_align(struct graph *g, struct node *n)
{
    struct roi r = roi_of(g, n);
    const struct shape *s = &node_in(g, n, 1)->shape;
    int64_t each = r.ratio * r.ratio, results = r.out[0] * r.out[1];
    struct lower l = lower_begin(g, n);

    (void)node_in(g, n, 2);
    if (s->n != 2 || s->dim[1] != 4) {
        node_die(g, n, "regions of %s", shape_text(s));
    }
    for (unsigned d = 0; d < 2; d++) {
        roi_places(&l, &r, d);
        linear(&l, &r.im, d, true);
    }
    channels(&l, &r.im, 1, false);
    lower_text(
        &l,
        "of = Mul($2, %lldi)\nof5 = Reshape(of, [-1, 1, 1, 1, 1])\n"
        "index5 = Unsqueeze(index, [2])\nfrom = Add(index5, of5)\n"
        "at = Add(from, channel)\nflat = Reshape($0, [-1])\nread = Gather(flat, at)\n"
        "wide = Cast(read; to=1)\nweight5 = Unsqueeze(weight1, [2])\n"
        "taken = Mul(wide, weight5)\nsamples = %s(taken; axes=[3], keepdims=0)\n"
        "apart = Reshape(samples, [%lld, %lld, %lld, %lld])\n"
        "all = %s(apart; axes=[3], keepdims=0)\nrounded = CastLike(all, $0)\n"
        "@0 = Reshape(rounded, [%lld, %lld, %lld, %lld])\n",
        (long long)(r.im.c * r.im.all), r.is_max ? "ReduceMax" : "ReduceSum",
        (long long)s->dim[0], (long long)r.im.c, (long long)results, (long long)each,
        r.is_max ? "ReduceMax" : "ReduceMean", (long long)s->dim[0], (long long)r.im.c,
        (long long)r.out[0], (long long)r.out[1]);
    lower_end(&l);
}

/* --- DeformConv: a convolution whose elements lie where offsets say --- */

/* Where element k of a window lies without an offset in dimension d: `base`, (k, windows). */
static void base(const struct lower *l, const struct window *w, unsigned d)
{
    struct shape s = {.n = 2, .dim = {window_elements(w), window_count(w)}};
    double *to = lower_value(l, graph_text("base%u", d), ELEM_F32, &s);

    for (int64_t i = 0; i < shape_count(&s); i++) {
        int64_t k = i / s.dim[1], p = i % s.dim[1];
        for (unsigned e = w->rank; e-- > d;) {
            to[i] = (double)(p % w->out[e] * w->stride[e] - w->before[e] +
                             k % w->kernel[e] * w->dilation[e]);
            k /= w->kernel[e];
            p /= w->out[e];
        }
    }
}

static void deform_places(struct lower *l, const struct image *im, const struct window *w,
                          int64_t parts)
{
    for (unsigned d = 0; d < im->rank; d++) {
        base(l, w, d);
        lower_text(l,
                   "t%u = Slice(offsets, [%u], [%u], [3])\n"
                   "o%u = Reshape(t%u, [%lld, %lld, %lld, %lld])\n"
                   "p%u = Add(o%u, base%u)\nu%u = Reshape(p%u, [%lld, %lld, 1, -1])\n",
                   d, d, d + 1, d, d, (long long)im->n, (long long)parts,
                   (long long)window_elements(w), (long long)window_count(w), d, d, d, d,
                   d, (long long)im->n, (long long)parts);
        linear(l, im, d, false);
    }
}

static void deform_conv(struct graph *g, struct node *n)
{
    struct image im = image_of(g, n);
    const struct shape *of_w = &node_in(g, n, 1)->shape;
    int64_t parts = node_int(n, "offset_group", 1), groups = node_int(n, "group", 1), k,
            all;
    struct lower l = lower_begin(g, n);
    struct window w;
    const char *sizes = "", *columns = "taps";

    if (of_w->n != im.rank + 2 || parts < 1 || im.c % parts || groups < 1 ||
        of_w->dim[1] * groups != im.c) {
        node_die(g, n, "weights of %s for %s", shape_text(of_w),
                 shape_text(&n->in[0]->shape));
    }
    w = window_of(g, n, &n->in[0]->shape, of_w->dim + 2);
    (void)node_attr(n, "kernel_shape");
    k = window_elements(&w);
    all = window_count(&w);
    if (tensor_count(node_in(g, n, 2)) != im.n * parts * k * im.rank * all) {
        node_die(g, n, "offsets of %s", shape_text(&n->in[2]->shape));
    }
    for (unsigned d = 0; d < w.rank; d++) {
        sizes = graph_text("%s, %lld", sizes, (long long)w.out[d]);
    }
    lower_text(&l,
               "wide2 = Cast($2; to=1)\noffsets = Reshape(wide2, [%lld, %lld, %lld, %u, "
               "%lld])\n",
               (long long)im.n, (long long)parts, (long long)k, im.rank, (long long)all);
    deform_places(&l, &im, &w, parts);
    channels(&l, &im, parts, true);
    take(&l, &im);
    lower_text(&l, "taps = ReduceSum(taken; axes=[3], keepdims=0)\n");
    if (node_maybe(n, 4)) {
        lower_text(
            &l,
            "wide4 = Cast($4; to=1)\nmask = Reshape(wide4, [%lld, %lld, 1, %lld])\n"
            "shares = Mul(taps, mask)\n",
            (long long)im.n, (long long)parts, (long long)(k * all));
        columns = "shares";
    }
    lower_text(
        &l,
        "rounded = CastLike(%s, $0)\ncolumns = Reshape(rounded, [%lld, %lld, %lld])\n"
        "filter = Reshape($1, [%lld, %lld, 1])\n"
        "sums = Conv(columns, filter, %s; group=%lld)\n"
        "@0 = Reshape(sums, [%lld, %lld%s])\n",
        columns, (long long)im.n, (long long)(im.c * k), (long long)all,
        (long long)of_w->dim[0], (long long)(of_w->dim[1] * k),
        node_maybe(n, 3) ? "$3" : "", (long long)groups, (long long)im.n,
        (long long)of_w->dim[0], sizes);
    lower_end(&l);
}

const struct rule rules_sample[] = {
    {.op = "DeformConv", .shape = deform_conv},
    {.op = "GridSample", .shape = grid_sample},
    {.op = "RoiAlign", .shape = roi_align},
    {0},
};
