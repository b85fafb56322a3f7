/* SPDX-License-Identifier: MIT
 *
 * NonMaxSuppression: of each class the best box again and again, without those that overlap it.
 */
#include <math.h>

#include "tools/graph/rules/rare/select.h"
#include "tools/graph/steps/steps.h"

enum {
    PICKS = 4096, /* of a class */
    LINE = 1500,  /* of boxes that UB has room for at once */
};

/* y1, x1, y2, x2: (b, n) each, of boxes (b, n, 4). */
static void corners(struct lower *l, const struct shape *boxes, bool centres)
{
    for (unsigned i = 0; i < 4; i++) {
        lower_text(l,
                   "p%u = Slice($0, [%u], [%u], [2])\nc%u = Reshape(p%u, [%lld, %lld])\n",
                   i, i, i + 1, i, i, (long long)boxes->dim[0], (long long)boxes->dim[1]);
    }
    lower_text(l, centres ? "w = Mul(c2, 0.5)\nh = Mul(c3, 0.5)\nx1 = Sub(c0, w)\n"
                            "x2 = Add(c0, w)\ny1 = Sub(c1, h)\ny2 = Add(c1, h)\n"
                          : "y1 = Min(c0, c2)\ny2 = Max(c0, c2)\nx1 = Min(c1, c3)\n"
                            "x2 = Max(c1, c3)\n");
    lower_text(l, "high = Sub(y2, y1)\nbroad = Sub(x2, x1)\narea = Mul(high, broad)\n");
}

static void suppression(struct graph *g, struct node *n)
{
    const struct shape *boxes = &node_in(g, n, 0)->shape, *s = &node_in(g, n, 1)->shape;
    int64_t most = node_maybe(n, 2) ? elem_whole(node_number(g, n, 2)) : 0, rows;
    struct shape of = {.n = 2, .dim = {0, 2}};
    bool centres = node_int(n, "center_point_box", 0) != 0;
    struct lower l = lower_begin(g, n);
    double *who;

    if (boxes->n != 3 || s->n != 3 || boxes->dim[2] != 4 || boxes->dim[0] != s->dim[0] ||
        boxes->dim[1] != s->dim[2]) {
        node_die(g, n, "boxes of %s with scores of %s", shape_text(boxes), shape_text(s));
    }
    most = most < s->dim[2] ? most : s->dim[2];
    rows = s->dim[0] * s->dim[1] * (most > 0 ? most : 0);
    if (most > PICKS) {
        node_die(g, n, "%lld boxes of a class, at most %d", (long long)most, PICKS);
    }
    select_limit(&l, rows);
    of.dim[0] = rows;
    who = lower_value(&l, "who", ELEM_I64, &of);
    for (int64_t i = 0; i < rows; i++) {
        who[2 * i] = (double)(i / most / s->dim[1]);
        who[2 * i + 1] = (double)(i / most % s->dim[1]);
    }
    if (rows == 0) {
        lower_text(&l, "@0 = Reshape(who, [0, 3]; allowzero=1)\n");
        lower_end(&l);
        return;
    }
    corners(&l, boxes, centres);
    lower_value(&l, "low", ELEM_F32, &(struct shape){0})[0] = -INFINITY;
    lower_text(&l,
               node_maybe(n, 3) ? "thr = Reshape($3, [1])\n" : "thr = Identity(0.0)\n");
    lower_text(&l, node_maybe(n, 4) ? "least = Reshape($4, [1])\n"
                                    : "least = Identity(low)\n");
    lower_text(
        &l,
        "good = Greater($1, least)\nscores = Where(good, $1, low)\n"
        "at, best = NonMaxSuppression_best(scores, y1, x1, y2, x2, thr, area; "
        "count=%lld)\n"
        "inside = Transpose(best; perm=[1, 2, 0])\nflat = Reshape(inside, [-1])\n"
        "found = Greater(flat, low)\nflag = Cast(found; to=1)\n"
        "places = Transpose(at; perm=[1, 2, 0])\ncolumn = Reshape(places, [-1, 1])\n"
        "all = Concat(who, column; axis=1)\n",
        (long long)most);
    select_front(&l, rows);
    select_found(&l, 0, 0);
    lower_text(&l, "@0 = Gather(all, order; axis=0)\n");
    lower_end(&l);
}

/* Of scores (b, c, n) again and again the best one, and its place, (count, b, c); then all that
 * overlap it by more than a share are out. A step each. */
static void best_shape(struct graph *g, struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    struct shape to = {.n = 3, .dim = {node_int(n, "count", 0), s->dim[0], s->dim[1]}};

    for (unsigned i = 1; i < 7; i++) {
        const struct shape *box = &node_in(g, n, i)->shape;
        if (s->n != 3 || (i != 5 && (box->n != 2 || box->dim[0] != s->dim[0] ||
                                     box->dim[1] != s->dim[2]))) {
            node_die(g, n, "of %s and %s", shape_text(s), shape_text(box));
        }
    }
    tensor_is(g, n, 0, ELEM_I64, &to);
    tensor_is(g, n, 1, ELEM_F32, &to);
}

/* One of (count, b, c). */
static struct tensor *one_of(struct tensor *all, int64_t i)
{
    struct shape s = {.n = 2, .dim = {all->shape.dim[1], all->shape.dim[2]}};
    struct tensor *t = tensor_view(all, &s);

    t->offset = i * s.dim[0] * s.dim[1];
    return t;
}

static const uint8_t of_boxes[] = {0, 2};

/* What the boxes have at the one that is hit. */
static const char *at_hit(struct program *p, const char *hit, const char *box)
{
    box = program_over(p, "sum", 1u << 2, graph_text("where(%s, %s, 0.0)", hit, box));
    return program_line(p, box);
}

/* Which elements two boxes have in common: box[0 .. 3] and best[0 .. 3]. */
static const char *common(struct program *p, const char *const *box,
                          const char *const *best)
{
    const char *side[2];

    for (unsigned i = 0; i < 2; i++) {
        side[i] = graph_text("max(min(%s, %s) - max(%s, %s), 0)", box[2 + i], best[2 + i],
                             box[i], best[i]);
    }
    return program_line(p, graph_text("%s * %s", side[0], side[1]));
}

static const char *area(const char *const *best)
{
    return graph_text("(%s - %s) * (%s - %s)", best[2], best[0], best[3], best[1]);
}

/* `scores`, but -inf for the one that is hit and for those that have more than a share of it. */
static const char *left(struct program *p, const char *scores, const char *hit,
                        const char *both, const char *of_best)
{
    const char *of_box = program_in(p, p->n->in[6], of_boxes);
    const char *most = program_in(p, p->n->in[5], program_axes + 3);

    return graph_text("where(or(%s, %s / (%s + %s - %s) > %s), -inf, %s)", hit, both,
                      of_box, of_best, both, most, scores);
}

/* One program, whose row has to fit into UB. */
static void pick(struct emit *e, struct node *n, struct tensor *scores, int64_t i,
                 struct tensor *next)
{
    bool one = scores->shape.dim[2] == 1;
    struct program p = program_begin(e, n);
    const char *s = program_in(&p, scores, program_axes), *box[4], *best[4], *most, *at,
               *hit;

    most = program_line(&p, program_over(&p, "max", 1u << 2, s));
    at = program_line(&p, one ? graph_text("s32(where(%s == %s, 0, 0))", s, s)
                              : program_over(&p, "argmax", 1u << 2, s));
    program_out(&p, one_of(n->out[0], i), program_axes, at, false);
    program_out(&p, one_of(n->out[1], i), program_axes, most, false);
    if (!next) {
        return;
    }
    hit = program_line(&p, graph_text("where(%s == %s, 1, 0)", program_index(&p, 2), at));
    hit = graph_text("%s != 0", hit);
    for (unsigned k = 0; k < 4; k++) {
        box[k] = program_in(&p, n->in[1 + k], of_boxes);
        best[k] = at_hit(&p, hit, box[k]);
    }
    program_out(&p, next, program_axes,
                left(&p, s, hit, common(&p, box, best), area(best)), false);
}

/* Where of a line the best one is, and its box. */
static void pick_line(struct emit *e, struct node *n, struct tensor *scores, int64_t i,
                      struct tensor *const *corner)
{
    struct tensor *at = one_of(n->out[0], i), *most = one_of(n->out[1], i);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, scores, program_axes), *hit;

    program_out(&p, most, program_axes, program_over(&p, "max", 1u << 2, x), false);
    p = program_begin(e, n);
    x = program_in(&p, scores, program_axes);
    x = graph_text("where(%s == %s, f32(%s), 16777216.0)", x,
                   program_in(&p, most, program_axes), program_index(&p, 2));
    program_out(&p, at, program_axes, program_over(&p, "min", 1u << 2, x), false);
    p = program_begin(e, n);
    hit = graph_text("%s == %s", program_count(&p, 2, scores->shape.dim[2]),
                     program_in(&p, at, program_axes));
    for (unsigned k = 0; k < 4; k++) {
        x = program_in(&p, n->in[1 + k], of_boxes);
        program_out(&p, corner[k], program_axes, at_hit(&p, hit, x), false);
    }
}

/* The same in several, each of which takes a row piece by piece. */
static void pick_long(struct emit *e, struct node *n, struct tensor *scores, int64_t i,
                      struct tensor *next)
{
    const struct shape *s = &scores->shape;
    struct shape few = {.n = 2, .dim = {s->dim[0], s->dim[1]}};
    struct tensor *corner[4], *both = tensor_new(n, "both", ELEM_F32, s),
                              *size = tensor_new(n, "area", ELEM_F32, &few);
    const char *box[4], *best[4], *hit;
    struct program p;

    for (unsigned k = 0; k < 4; k++) {
        corner[k] = tensor_new(n, graph_text("corner%u", k), ELEM_F32, &few);
    }
    pick_line(e, n, scores, i, corner);
    if (!next) {
        return;
    }
    p = program_begin(e, n);
    for (unsigned k = 0; k < 4; k++) {
        box[k] = program_in(&p, n->in[1 + k], of_boxes);
        best[k] = program_in(&p, corner[k], program_axes);
    }
    program_out(&p, both, program_axes, common(&p, box, best), false);
    program_out(&p, size, program_axes, area(best), false);
    p = program_begin(e, n);
    hit = graph_text("%s == %s", program_count(&p, 2, s->dim[2]),
                     program_in(&p, one_of(n->out[0], i), program_axes));
    program_out(&p, next, program_axes,
                left(&p, program_in(&p, scores, program_axes), hit,
                     program_in(&p, both, program_axes),
                     program_in(&p, size, program_axes)),
                false);
}

static void best_emit(struct emit *e, struct node *n)
{
    struct tensor *scores = n->in[0], *next;
    int64_t count = n->out[0]->shape.dim[0];

    for (int64_t i = 0; i < count; i++, scores = next) {
        next = i + 1 == count ? NULL
                              : tensor_new(n, graph_text("left%lld", (long long)i),
                                            ELEM_F32, &scores->shape);
        if (scores->shape.dim[2] > LINE) {
            pick_long(e, n, scores, i, next);
        } else {
            pick(e, n, scores, i, next);
        }
    }
}

const struct rule rules_suppress[] = {
    {.op = "NonMaxSuppression", .shape = suppression, .wants = 1 << 2},
    {.op = "NonMaxSuppression_best",
     .shape = best_shape,
     .emit = best_emit,
     .alone = true},
    {0},
};
