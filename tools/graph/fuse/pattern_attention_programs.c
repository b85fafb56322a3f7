/* SPDX-License-Identifier: MIT
 *
 * Attention as a program: in stages, of which the scores are in memory, and as the loop over keys
 * of kernels/ops/attention.tile, where they never are.
 */
#include "tools/graph/fuse/pattern_attention.h"
#include "tools/graph/rules/product/product.h"

/* A tensor with a dimension for each axis. */
static struct tensor *view(const struct attention *a, const struct operand *x)
{
    struct shape s = {.n = x->axes.n};

    for (unsigned i = 0; i < s.n; i++) {
        s.dim[i] = a->axes.size[x->axes.id[i]];
    }
    return tensor_view(x->t, &s);
}

static const char *masked(struct program *p, const struct attention *a, const char *score,
                          bool loop)
{
    for (unsigned i = 0; i < a->n_masks; i++) {
        const struct mask *m = &a->mask[i];
        const char *x, *number = graph_text("%.9g", m->number);
        if (m->how == MASK_CAUSAL && loop) {
            uint8_t row = m->x.axes.id[0];
            x = graph_text("%s <= %s", program_index(p, a->t), program_index(p, row));
            score = graph_text("where(%s, %s, -inf)", x, score);
            continue;
        }
        x = program_in(p, view(a, &m->x), m->x.axes.id);
        score = m->how == MASK_KEEP   ? graph_text("where(%s, %s, %s)", x, score, number)
                : m->how == MASK_HIDE ? graph_text("where(%s, %s, %s)", x, number, score)
                                      : graph_text("%s + %s", score, x);
    }
    return score;
}

static void give(struct program *p, const struct attention *a, const char *expr)
{
    uint8_t axis[GRAPH_RANK] = {0};
    unsigned first;

    for (unsigned d = 0; d < a->result->shape.n; d++) {
        if (axes_part(&a->axes, &a->out, &a->result->shape, d, &first)) {
            axis[d] = a->out.id[first];
        }
    }
    program_out(p, a->result, axis, expr, false);
}

static const char *product(struct program *p, const struct attention *a)
{
    const char *x = product_of(p, view(a, &a->q), a->q.axes.id, view(a, &a->k),
                               a->k.axes.id, a->d, a->depth);

    return a->scale == 1 ? x : graph_text("%s * (%.9g)", x, a->scale);
}

bool pattern_attention_in_stages(struct program *p, const struct match *m)
{
    const struct attention *a = m->own;
    const char *x = program_line(p, product(p, a)), *top, *sum;
    struct product_operand given = {.type = a->q.t->type}, v;

    x = a->n_masks ? program_line(p, masked(p, a, x, false)) : x;
    top = program_over(p, "max", 1u << a->t, x);
    x = program_line(p, graph_text("%s - %s", x, a->hidden ? program_finite(top) : top));
    sum = program_over(p, "sum", 1u << a->t, graph_text("exp(%s)", x));
    sum = a->hidden ? program_positive(sum) : sum;
    given.hi = program_line(p, graph_text("exp(%s) * rec(%s)", x, sum));
    if (a->zeros) {
        given.hi =
            program_line(p, graph_text("where(isnan(%s), 0, %s)", given.hi, given.hi));
    }
    v = product_in(p, view(a, &a->v), a->v.axes.id);
    give(p, a, product_text(p, given, v, a->t));
    return true;
}

/* `[d0, d1]` of a list but for one axis. */
static const char *dims(struct program *p, const struct axes_list *l, uint8_t but)
{
    const char *text = "";

    for (unsigned i = 0; i < l->n; i++) {
        if (l->id[i] != but) {
            text = graph_text("%s%s%s", text, *text ? ", " : "[",
                              program_index(p, l->id[i]));
        }
    }
    return *text ? graph_text("%s]", text) : text;
}

/* ` while t <= s` where a mask says so. */
static const char *tiles(struct program *p, const struct attention *a)
{
    const char *only = "";

    for (unsigned i = 0; i < a->n_masks; i++) {
        const struct mask *m = &a->mask[i];
        if (m->how == MASK_CAUSAL) {
            only = graph_text(" while %s <= %s", program_index(p, a->t),
                              program_index(p, m->x.axes.id[0]));
        }
    }
    return only;
}

bool pattern_attention_as_loop(struct program *p, const struct match *m)
{
    const struct attention *a = m->own;
    const char *x = product(p, a), *rows, *given = "p", *v, *t, *most;

    v = program_in(p, view(a, &a->v), a->v.axes.id);
    x = masked(p, a, x, true);
    t = program_index(p, a->t);
    rows = dims(p, &a->score, a->t);
    most = graph_text("max(x, %s)", t);
    most = a->hidden ? program_finite(most) : most;
    if (a->q.t->type != ELEM_F32) {
        given = graph_text("%s(p)", program_type(a->q.t));
    }
    p->group->body =
        graph_text("%s    loop %s%s carry m = -inf%s, l = 0%s, acc = 0%s\n"
                   "        x = %s\n        top = max(m, %s)\n"
                   "        p = exp(x - top)\n        r = exp(m - top)\n"
                   "        l = l * r + sum(p, %s)\n"
                   "        acc = acc * r + dot(%s, %s, %s)\n        m = top\n    end\n",
                   p->group->body, t, tiles(p, a), rows, rows, dims(p, &a->out, NO_AXIS),
                   x, most, t, given, v, t);
    give(p, a,
         a->zeros    ? "where(l > 0, acc * rec(l), 0)"
         : a->hidden ? graph_text("acc * rec(%s)", program_positive("l"))
                     : "acc * rec(l)");
    return true;
}
