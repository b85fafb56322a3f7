/* SPDX-License-Identifier: MIT
 *
 * Reductions over any dimensions, and the position of the largest or smallest over one.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/lower.h"
#include "tools/graph/rules/reduce/reduce.h"
#include "tools/graph/steps/steps.h"

/* What is summed, how two are joined, and what the result is made of. */
struct reduce {
    const char *text; /* with $0: an expression to reduce, behind `|`: how, and of that */
    double (*each)(double x);
    double (*join)(double a, double b);
    double (*end)(double a, double count);
    double first;
};

static double same(double x)
{
    return x;
}
static double square(double x)
{
    return x * x;
}
static double add(double a, double b)
{
    return a + b;
}
static double times(double a, double b)
{
    return a * b;
}
static double as_it_is(double a, double count)
{
    (void)count;
    return a;
}
static double mean(double a, double count)
{
    return a / count;
}
static double root(double a, double count)
{
    (void)count;
    return sqrt(a);
}
static double logarithm(double a, double count)
{
    (void)count;
    return log(a);
}
/* log(exp(a) + exp(b)), of which nothing overflows. */
static double add_logs(double a, double b)
{
    double more = elem_max(a, b), less = elem_min(a, b);

    return isinf(more) ? more : more + log1p(exp(less - more));
}

static const struct reduce sum_of = {"$0|sum|$0", same, add, as_it_is, 0};
static const struct reduce mean_of = {"$0|mean|$0", same, add, mean, 0};
static const struct reduce max_of = {"$0|max|$0", same, elem_max, as_it_is, -INFINITY};
static const struct reduce min_of = {"$0|min|$0", same, elem_min, as_it_is, INFINITY};
static const struct reduce prod_of = {"$0|prod|$0", same, times, as_it_is, 1};
static const struct reduce l1_of = {"abs($0)|sum|$0", fabs, add, as_it_is, 0};
static const struct reduce l2_of = {"$0 * $0|sum|sqrt($0)", square, add, root, 0};
static const struct reduce squares_of = {"$0 * $0|sum|$0", square, add, as_it_is, 0};
static const struct reduce log_sum_of = {"$0|sum|log($0)", same, add, logarithm, 0};
static const struct reduce log_sum_exp_of = {
    .each = same, .join = add_logs, .end = as_it_is, .first = -INFINITY};
static const struct reduce any_of = {.text = "$0|any|$0"}, all_of = {.text = "$0|all|$0"};

uint32_t reduce_axes(const struct graph *g, const struct node *n)
{
    unsigned rank = n->in[0]->shape.n, count;
    bool none = node_int(n, "noop_with_empty_axes", 0) != 0;
    int64_t axis[GRAPH_OPERANDS];
    uint32_t all = (1u << rank) - 1, axes = 0;

    count = node_ints(g, n, "axes", 1, axis);
    if (count == 0) {
        return none ? 0 : all;
    }
    for (unsigned i = 0; i < count; i++) {
        axes |= 1u << node_axis(g, n, axis[i], rank);
    }
    return axes;
}

static struct shape without(const struct shape *s, uint32_t axes, bool keep)
{
    struct shape to = {0};

    for (unsigned d = 0; d < s->n; d++) {
        bool gone = axes >> d & 1;
        if (!gone || keep) {
            to.dim[to.n++] = gone ? 1 : s->dim[d];
        }
    }
    return to;
}

/* --- of whole numbers of 32 bits, by parts of them that float32 has exactly --- */

enum { WHOLE_SUM = 1 << 16 /* numbers of 8 bits in a sum of less than 2^24 */ };

/* Dimensions as a list; keepdims. */
static const char *over(const struct node *n, uint32_t axes)
{
    const char *list = "";

    for (unsigned d = 0; d < n->in[0]->shape.n; d++) {
        if (axes >> d & 1) {
            list = graph_text("%s%s%u", list, *list ? ", " : "", d);
        }
    }
    return graph_text("axes=[%s], keepdims=%d", list, node_int(n, "keepdims", 1) != 0);
}

/* Four sums of 8 bits each; the uppermost ones have a sign. */
static void whole_sum(struct lower *l, uint32_t axes)
{
    const struct tensor *x = l->n->in[0];
    const char *list = over(l->n, axes);
    struct shape kept = without(&x->shape, axes, true);
    int64_t count = tensor_count(x) / (shape_count(&kept) ? shape_count(&kept) : 1);

    if (count > WHOLE_SUM) {
        node_die(l->g, l->n, "of %lld whole numbers: at most %d", (long long)count,
                 WHOLE_SUM);
    }
    lower_text(l, "byte = CastLike(256i, $0)\nx0 = Identity(of)\n");
    for (unsigned i = 0; i < 4; i++) {
        lower_text(l,
                   i < 3 ? "r%u = Mod(x%u, byte)\nd%u = Sub(x%u, r%u)\n"
                           "x%u = Div(d%u, byte)\n"
                         : "r%u = Identity(x%u)\n",
                   i, i, i, i, i, i + 1, i);
        lower_text(l,
                   "f%u = Cast(r%u; to=1)\ns%u = ReduceSum(f%u; %s)\n"
                   "w%u = CastLike(s%u, $0)\n",
                   i, i, i, i, list, i, i);
    }
    lower_text(l, "a3 = Mul(w3, byte)\nb2 = Add(a3, w2)\na2 = Mul(b2, byte)\n"
                  "b1 = Add(a2, w1)\na1 = Mul(b1, byte)\nsum = Add(a1, w0)\n");
}

/* The upper halves decide; of those that are equal the lower ones. */
static void whole_most(struct lower *l, uint32_t axes, bool most)
{
    const char *list = over(l->n, axes), *how = most ? "Max" : "Min";
    const char *all = graph_text("%.*s1", (int)strlen(list) - 1, list); /* keepdims=1 */

    lower_halves(l);
    lower_text(l,
               "first = Reduce%s(high; %s)\nis = Equal(high, first)\n"
               "some = Where(is, low, %s)\nsecond = Reduce%s(some; %s)\n",
               how, all, most ? "-1.0" : "65536.0", how, list);
    lower_text(l,
               "upper = Reduce%s(high; %s)\nhead = CastLike(upper, $0)\n"
               "tail = CastLike(second, $0)\nraised = Mul(head, half)\n"
               "@0 = Add(raised, tail)\n",
               how, list);
}

/* Whether it is one that can be computed so: other nodes are in its place then. */
static bool whole_reduce(struct graph *g, struct node *n)
{
    const struct reduce *r = n->rule->own;
    uint32_t axes = reduce_axes(g, n);
    struct lower l;

    if (!elem_is_wide(n->in[0]->type) || n->in[0]->value || axes == 0 ||
        !(r == &sum_of || r == &mean_of || r == &max_of || r == &min_of || r == &l1_of ||
          r == &squares_of)) {
        return false;
    }
    l = lower_begin(g, n);
    if (r == &max_of || r == &min_of) {
        whole_most(&l, axes, r == &max_of);
    } else {
        lower_text(&l, r == &l1_of        ? "of = Abs($0)\n"
                       : r == &squares_of ? "of = Mul($0, $0)\n"
                                          : "of = Identity($0)\n");
        whole_sum(&l, axes);
        if (r == &mean_of) {
            struct shape kept = without(&n->in[0]->shape, axes, true);
            lower_text(&l, "count = CastLike(%lldi, $0)\n@0 = Div(sum, count)\n",
                       (long long)(tensor_count(n->in[0]) / shape_count(&kept)));
        } else {
            lower_text(&l, "@0 = Identity(sum)\n");
        }
    }
    lower_end(&l);
    return true;
}

static void shape_of(struct graph *g, struct node *n)
{
    struct tensor *x = node_in(g, n, 0);
    struct shape to =
        without(&x->shape, reduce_axes(g, n), node_int(n, "keepdims", 1) != 0);

    if (tensor_count(x) == 0 || !whole_reduce(g, n)) {
        tensor_is(g, n, 0, x->type, &to);
    }
}

static void values(struct graph *g, struct node *n)
{
    const struct reduce *r = n->rule->own;
    const struct tensor *x = n->in[0];
    uint32_t axes = reduce_axes(g, n);
    struct shape kept = without(&x->shape, axes, true);
    double *to = tensor_values(n->out[0]);
    int64_t at[GRAPH_RANK] = {0}, e = 0, count = tensor_count(n->out[0]);

    for (int64_t i = 0; i < count; i++) {
        to[i] = r->first;
    }
    if (tensor_count(x) != 0) {
        do {
            double *one = &to[shape_at(&kept, &x->shape, at)];
            *one = r->join(*one, r->each(x->value[e++]));
        } while (shape_step(&x->shape, at));
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = r->end(to[i], count ? (double)tensor_count(x) / (double)count : 0);
    }
}

/* Numbers of the axes that are left. */
static void left(const struct node *n, uint32_t axes, uint8_t to[GRAPH_RANK])
{
    unsigned rank = 0;

    for (uint8_t d = 0; d < n->in[0]->shape.n; d++) {
        if (!(axes >> d & 1) || node_int(n, "keepdims", 1)) {
            to[rank++] = d;
        }
    }
}

/* Of conditions the largest is whether one holds, the smallest whether all do. */
static const struct reduce *reduce_of(const struct node *n)
{
    const struct reduce *r = n->rule->own;
    bool is_bool = n->in[0]->type == ELEM_BOOL;

    return is_bool && r == &max_of ? &any_of : is_bool && r == &min_of ? &all_of : r;
}

static void emit(struct emit *e, struct node *n)
{
    const struct reduce *r = reduce_of(n);
    uint32_t axes = reduce_axes(e->g, n);
    struct program p = program_begin(e, n);
    const char *value = program_in(&p, n->in[0], program_axes);
    const char *bar = strchr(r->text, '|'), *last = strrchr(r->text, '|') + 1;
    uint8_t kept[GRAPH_RANK];

    value = program_text_with(graph_text("%.*s", (int)(bar - r->text), r->text), &value,
                              NULL);
    value =
        program_over(&p, graph_text("%.*s", (int)(last - bar) - 2, bar + 1), axes, value);
    left(n, axes, kept);
    program_out(&p, n->out[0], kept, program_text_with(last, &value, NULL),
                n->out[0]->type == ELEM_BOOL);
}

/* The squares of float32 leave its range where x does not: of x by the largest, or by the end of
 * what has a reciprocal. */
static void l2_emit(struct emit *e, struct node *n)
{
    uint32_t axes = reduce_axes(e->g, n);
    struct program p;
    const char *x, *most, *sum;
    uint8_t kept[GRAPH_RANK];

    if (n->in[0]->type != ELEM_F32) {
        emit(e, n);
        return;
    }
    p = program_begin(e, n);
    x = program_in(&p, n->in[0], program_axes);
    most = program_over(&p, "max", axes, graph_text("abs(%s)", x));
    most = program_line(&p, graph_text("clip(%s, 1e-30, 1.7e38)", most));
    x = program_line(&p, graph_text("%s * rec(%s)", x, most));
    sum = program_over(&p, "sum", axes, graph_text("%s * %s", x, x));
    left(n, axes, kept);
    program_out(&p, n->out[0], kept, graph_text("sqrt(%s) * %s", sum, most), false);
}

/* Less the largest, so that nothing overflows, unless that is infinite. */
static void log_sum_exp_emit(struct emit *e, struct node *n)
{
    uint32_t axes = reduce_axes(e->g, n);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *most, *sum;
    uint8_t kept[GRAPH_RANK];

    most = program_line(&p, program_over(&p, "max", axes, x));
    most = program_line(&p, graph_text("where(abs(%s) == inf, 0.0, %s)", most, most));
    sum = program_over(&p, "sum", axes, graph_text("exp(%s - %s)", x, most));
    left(n, axes, kept);
    program_out(&p, n->out[0], kept, graph_text("log(%s) + %s", sum, most), false);
}

/* The Vector has no product over elements: its logarithm is a sum, its sign counted. Within some
 * 2^-20 of the sum of |log x|; 0 where one is. */
static void prod_emit(struct emit *e, struct node *n)
{
    uint32_t axes = reduce_axes(e->g, n);
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes), *size, *below;
    uint8_t kept[GRAPH_RANK];

    if (!elem_is_float(n->in[0]->type)) {
        node_die(e->g, n, "of %s", elem_text(n->in[0]->type));
    }
    size = program_over(&p, "sum", axes, graph_text("log(abs(%s))", x));
    size = program_line(&p, graph_text("exp(%s)", size));
    below = program_over(&p, "sum", axes, graph_text("where(%s < 0, 1.0, 0.0)", x));
    below = program_line(&p, below);
    left(n, axes, kept);
    program_out(&p, n->out[0], kept,
                graph_text("where(%s - 2 * floor(%s / 2) == 1, -%s, %s)", below, below,
                           size, size),
                false);
}

/* --- ArgMax, ArgMin --- */

static void arg_shape(struct graph *g, struct node *n)
{
    struct tensor *x = node_in(g, n, 0);
    unsigned axis = node_axis(g, n, node_int(n, "axis", 0), x->shape.n);
    int keep = node_int(n, "keepdims", 1) != 0;
    struct shape to = without(&x->shape, 1u << axis, keep);
    struct lower l;

    if (!elem_is_wide(x->type) || shape_count(&to) == 0) {
        tensor_is(g, n, 0, ELEM_I64, &to);
        return;
    }
    l = lower_begin(g, n); /* where the one is */
    lower_text(&l,
               "best = Reduce%s($0; axes=[%u])\nis = Equal($0, best)\n"
               "one = Cast(is; to=1)\n"
               "@0 = ArgMax(one; axis=%u, keepdims=%d, select_last_index=%d)\n",
               strcmp(n->op, "ArgMax") == 0 ? "Max" : "Min", axis, axis, keep,
               node_int(n, "select_last_index", 0) != 0);
    lower_end(&l);
}

static void arg_emit(struct emit *e, struct node *n)
{
    struct tensor *x = n->in[0];
    unsigned axis = node_axis(e->g, n, node_int(n, "axis", 0), x->shape.n);
    bool last = node_int(n, "select_last_index", 0) != 0;
    bool is_max = strcmp(n->op, "ArgMax") == 0;
    struct program p = program_begin(e, n);
    const char *value = program_in(&p, x, program_axes), *at;
    uint8_t kept[GRAPH_RANK];

    at = program_index(&p, (uint8_t)axis);
    if (x->shape.dim[axis] == 1) {
        value = graph_text("s32(where(%s == %s, 0, 0))", value, value);
    } else if (last) { /* the largest index of those that are equal */
        value = graph_text(
            "where(or(%s == %s, %s), %s, -1)", value,
            program_over(&p, is_max ? "max" : "min", 1u << axis, value),
            elem_is_float(x->type) ? graph_text("%s != %s", value, value) : "false", at);
        value = program_over(&p, "max", 1u << axis, value);
    } else {
        value = program_over(&p, is_max ? "argmax" : "argmin", 1u << axis, value);
    }
    left(n, 1u << axis, kept);
    program_out(&p, n->out[0], kept, value, false);
}

const struct rule rules_reduce[] = {
    {"ReduceSum", shape_of, values, emit, .wants = 1 << 1, .own = &sum_of},
    {"ReduceMean", shape_of, values, emit, .wants = 1 << 1, .own = &mean_of},
    {"ReduceMax", shape_of, values, emit, .wants = 1 << 1, .own = &max_of},
    {"ReduceMin", shape_of, values, emit, .wants = 1 << 1, .own = &min_of},
    {"ReduceProd", shape_of, values, prod_emit, .wants = 1 << 1, .own = &prod_of},
    {"ReduceL1", shape_of, values, emit, .wants = 1 << 1, .own = &l1_of},
    {"ReduceL2", shape_of, values, l2_emit, .wants = 1 << 1, .own = &l2_of},
    {"ReduceSumSquare", shape_of, values, emit, .wants = 1 << 1, .own = &squares_of},
    {"ReduceLogSum", shape_of, values, emit, .wants = 1 << 1, .own = &log_sum_of},
    {"ReduceLogSumExp", shape_of, values, log_sum_exp_emit, .wants = 1 << 1,
     .own = &log_sum_exp_of},
    {"ArgMax", arg_shape, .emit = arg_emit},
    {"ArgMin", arg_shape, .emit = arg_emit},
    {0},
};
