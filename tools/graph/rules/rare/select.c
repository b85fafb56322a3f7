/* SPDX-License-Identifier: MIT
 *
 * NonZero, Unique, Compress: how many they find is known in a run only. Results are as large as
 * they may become, what was found comes first, and a tensor has its number: counted.c.
 */
#include "tools/graph/rules/rare/select.h"

#include <string.h>

#include "tools/graph/model/edit.h"

enum { KEYS = 64 /* numbers of a row of Unique */ };

void select_found(const struct lower *l, unsigned i, unsigned axis)
{
    if (i < l->n->n_out && l->n->out[i]) {
        l->n->out[i]->count = lower_tensor(l, "count");
        l->n->out[i]->counted = (uint8_t)axis;
    }
}

void select_limit(const struct lower *l, int64_t rows)
{
    if (rows > 1 << 24) {
        node_die(l->g, l->n, "%lld to choose from", (long long)rows);
    }
}

void select_front(struct lower *l, int64_t rows)
{
    select_limit(l, rows);
    lower_text(l,
               "flags, order = TopK(flag, [%lld]; axis=0)\n"
               "sum = ReduceSum(flag; keepdims=0)\ncount = Cast(sum; to=7)\n",
               (long long)rows);
}

/* --- NonZero: (dimensions, found) --- */

static void non_zero_known(struct graph *g, struct node *n)
{
    const struct tensor *x = n->in[0];
    struct shape to = {.n = 2, .dim = {x->shape.n, 0}};
    int64_t at[GRAPH_RANK] = {0}, found = 0, count = tensor_count(x), e = 0;
    double *value;

    for (int64_t i = 0; i < count; i++) {
        to.dim[1] += x->value[i] != 0;
    }
    tensor_is(g, n, 0, ELEM_I64, &to);
    value = tensor_values(n->out[0]);
    for (; e < count; e++, (void)shape_step(&x->shape, at)) {
        for (unsigned d = 0; d < to.dim[0] && x->value[e] != 0; d++) {
            value[(int64_t)d * to.dim[1] + found] = (double)at[d];
        }
        found += x->value[e] != 0;
    }
    edit_delete(n);
}

static void non_zero(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);
    int64_t count = tensor_count(x), at[GRAPH_RANK] = {0};
    struct shape s = {.n = 2, .dim = {x->shape.n, count}};
    struct lower l;
    double *to;

    if (x->value || count == 0) {
        non_zero_known(g, n);
        return;
    }
    l = lower_begin(g, n);
    select_limit(&l, count);
    to = lower_value(&l, "places", ELEM_I64, &s);
    for (int64_t i = 0; i < count; i++, (void)shape_step(&x->shape, at)) {
        for (unsigned d = 0; d < x->shape.n; d++) {
            to[d * count + i] = (double)at[d];
        }
    }
    lower_text(&l, "truth = Cast($0; to=9)\nall = Reshape(truth, [-1])\n"
                   "flag = Cast(all; to=1)\n");
    select_front(&l, count);
    select_found(&l, 0, 1);
    lower_text(&l, "@0 = Gather(places, order; axis=1)\n");
    lower_end(&l);
}

/* --- Unique: rows in order, of which the first of equal ones stays --- */

/* Which dimension is number d where an axis is in front. */
static unsigned with_front(unsigned d, int64_t axis)
{
    return d == 0 ? (unsigned)axis : d <= axis ? d - 1 : d;
}

/* `rows`, (n, k); what brings an axis to the front, and back. */
static const char *rows_of(struct lower *l, const struct shape *s, int64_t axis,
                           int64_t n)
{
    const char *to = "";

    if (axis < 0) {
        lower_text(l, "rows = Reshape($0, [-1, 1])\n");
        return NULL;
    }
    for (unsigned d = 0; d < s->n; d++) {
        to = graph_text("%s%s%u", to, d ? ", " : "", with_front(d, axis));
    }
    lower_text(l, "front = Transpose($0; perm=[%s])\nrows = Reshape(front, [%lld, -1])\n",
               to, (long long)n);
    return to;
}

/* `p`: where the rows are from, in order: by their last numbers, then, equal ones in that order,
 * by those before, and so on. */
static void sort_rows(struct lower *l, int64_t n, int64_t k)
{
    for (int64_t c = k; c-- > 0;) {
        bool first = c + 1 == k;
        lower_text(
            l, "c%lld = Slice(rows, [%lld], [%lld], [1])\nf%lld = Reshape(c%lld, [-1])\n",
            (long long)c, (long long)c, (long long)c + 1, (long long)c, (long long)c);
        if (!first) {
            lower_text(l, "g%lld = Gather(f%lld, p%lld; axis=0)\n", (long long)c,
                       (long long)c, (long long)c + 1);
        }
        lower_text(l, "v%lld, %c%lld = TopK(%c%lld, [%lld]; axis=0, largest=0)\n",
                   (long long)c, first ? 'p' : 'q', (long long)c, first ? 'f' : 'g',
                   (long long)c, (long long)n);
        if (!first) {
            lower_text(l, "p%lld = Gather(p%lld, q%lld; axis=0)\n", (long long)c,
                       (long long)c + 1, (long long)c);
        }
    }
    lower_text(l, "p = Identity(p0)\nsorted = Gather(rows, p; axis=0)\n");
}

/* `flag`: 1 for the first of equal rows; `rank`: which of those a row is. NaN equals NaN. */
static void first_of_equal(struct lower *l, int64_t n)
{
    bool floats = elem_is_float(l->n->in[0]->type);

    lower_value(l, "one", ELEM_F32, &(struct shape){.n = 1, .dim = {1}})[0] = 1;
    if (n > 1) {
        lower_text(l,
                   "a = Slice(sorted, [1], [%lld], [0])\n"
                   "b = Slice(sorted, [0], [%lld], [0])\nalike = Equal(a, b)\n",
                   (long long)n, (long long)n - 1);
        lower_text(l, floats ? "no_a = IsNaN(a)\nno_b = IsNaN(b)\n"
                               "neither = And(no_a, no_b)\nequal = Or(alike, neither)\n"
                             : "equal = Identity(alike)\n");
        lower_text(l, "other = Not(equal)\nnumber = Cast(other; to=1)\n"
                      "new = ReduceMax(number; axes=[1], keepdims=0)\n"
                      "flag = Concat(one, new; axis=0)\n");
    } else {
        lower_text(l, "flag = Identity(one)\n");
    }
    lower_text(l, "whole = Cast(flag; to=7)\nupto = CumSum(whole, 0i)\n"
                  "rank = Sub(upto, 1i)\n");
}

/* By where they come first in place of by value: `chosen` and `number` of `order` and `rank`. */
static void as_they_come(struct lower *l, int64_t n, bool sorted)
{
    struct shape s = {.n = 1, .dim = {n}};
    double *to = lower_value(l, "places", ELEM_I64, &s);

    for (int64_t i = 0; i < n; i++) {
        to[i] = (double)i;
    }
    (void)lower_value(l, "zeros", ELEM_I64, &s);
    if (sorted) {
        lower_text(l, "chosen = Identity(order)\nof = Identity(rank)\n");
        return;
    }
    lower_text(l,
               "begins = Gather(p, order; axis=0)\nis = Less(places, count)\n"
               "key = Where(is, begins, %lldi)\nwide = Cast(key; to=1)\n"
               "keys, turn = TopK(wide, [%lld]; axis=0, largest=0)\n"
               "chosen = Gather(order, turn; axis=0)\n"
               "back = ScatterElements(zeros, turn, places; axis=0)\n"
               "of = Gather(back, rank; axis=0)\n",
               (long long)n, (long long)n);
}

static void unique(struct graph *g, struct node *n)
{
    const struct shape *s = &node_in(g, n, 0)->shape;
    const struct attr *axis = node_attr(n, "axis");
    int64_t at = axis ? (int64_t)node_axis(g, n, axis->i, s->n) : -1;
    int64_t all = shape_count(s), rows = axis ? s->dim[at] : all;
    struct lower l = lower_begin(g, n);
    const char *perm, *sizes = "", *back = "";
    double *ones;

    if (rows < 1 || all / rows > KEYS) {
        node_die(g, n, "rows of %lld numbers: 1 to %d",
                 (long long)(rows ? all / rows : 0), KEYS);
    }
    perm = rows_of(&l, s, at, rows);
    sort_rows(&l, rows, all / rows);
    first_of_equal(&l, rows);
    select_front(&l, rows);
    select_found(&l, 0, at < 0 ? 0 : (unsigned)at);
    select_found(&l, 1, 0);
    select_found(&l, 3, 0);
    as_they_come(&l, rows, node_int(n, "sorted", 1) != 0);
    lower_text(&l, "y = Gather(sorted, chosen; axis=0)\n");
    for (unsigned d = 0; d < s->n && perm; d++) {
        sizes = graph_text("%s%s%lld", sizes, d ? ", " : "",
                           (long long)s->dim[with_front(d, at)]);
        back = graph_text("%s%s%lld", back, d ? ", " : "",
                          (long long)(d < at    ? d + 1
                                      : d == at ? 0
                                                : d));
    }
    if (perm) {
        lower_text(&l, "as = Reshape(y, [%s])\n@0 = Transpose(as; perm=[%s])\n", sizes,
                   back);
    } else {
        lower_text(&l, "@0 = Reshape(y, [-1])\n");
    }
    ones = lower_value(&l, "ones", ELEM_I64, &(struct shape){.n = 1, .dim = {rows}});
    for (int64_t i = 0; i < rows; i++) {
        ones[i] = 1;
    }
    lower_text(&l, "@1 = Gather(p, chosen; axis=0)\n"
                   "@2 = ScatterElements(zeros, p, of; axis=0)\n"
                   "@3 = ScatterElements(zeros, of, ones; axis=0, reduction=add)\n");
    lower_end(&l);
}

/* --- Compress: rows whose condition holds --- */

static void chosen(const struct lower *l, const struct tensor *c)
{
    struct shape s = {.n = 1};
    double *to;

    for (int64_t i = 0; i < tensor_count(c); i++) {
        s.dim[0] += c->value[i] != 0;
    }
    to = lower_value(l, "order", ELEM_I64, &s);
    for (int64_t i = 0; i < tensor_count(c); i++) {
        if (c->value[i] != 0) {
            *to++ = (double)i;
        }
    }
}

static void compress(struct graph *g, struct node *n)
{
    const struct attr *axis = node_attr(n, "axis");
    const struct tensor *x = node_in(g, n, 0), *c = node_in(g, n, 1);
    unsigned at = axis ? node_axis(g, n, axis->i, x->shape.n) : 0;
    int64_t all = axis ? x->shape.dim[at] : tensor_count(x), rows = tensor_count(c);
    struct lower l = lower_begin(g, n);

    if (rows > all || rows == 0) {
        node_die(g, n, "%lld conditions for %lld", (long long)rows, (long long)all);
    }
    if (c->value) {
        chosen(&l, c);
    } else {
        lower_text(&l, "list = Reshape($1, [-1])\nflag = Cast(list; to=1)\n");
        select_front(&l, rows);
        select_found(&l, 0, at);
    }
    lower_text(&l, axis ? "x = Identity($0)\n" : "x = Reshape($0, [-1])\n");
    lower_text(&l, "@0 = Gather(x, order; axis=%u)\n", at);
    lower_end(&l);
}

const struct rule rules_select[] = {
    {.op = "NonZero", .shape = non_zero},
    {.op = "Unique", .shape = unique, .optional = true},
    {.op = "Compress", .shape = compress},
    {0},
};
