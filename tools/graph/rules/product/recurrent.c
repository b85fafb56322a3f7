/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU, LSTM: what their operands and attributes say, and where results go; cell.c has what
 * is computed.
 */
#include "tools/graph/rules/product/recurrent.h"

#include <string.h>
#include <strings.h>

enum { STEPS = 4096 /* that are unrolled */, WIDEST = 1 << 16 };
enum { X, W, R, BIAS, LENGTHS, FIRST, FIRST_C, PEEPHOLES, OPERANDS };

/* --- activations --- */

static const struct {
    const char *name;
    struct activation act;
    bool alpha, beta; /* that a list of numbers has */
} activations[] = {
    {"Sigmoid", {"sigmoid($0)", 0, 0}, false, false},
    {"Tanh", {"tanh($0)", 0, 0}, false, false},
    {"Relu", {"relu($0)", 0, 0}, false, false},
    {"Affine", {"$0 * $a + $b", 1, 0}, true, true},
    {"LeakyRelu", {"prelu($0, $a)", 0.01, 0}, true, false},
    {"ThresholdedRelu", {"where($0 > $a, $0, 0)", 1, 0}, true, false},
    {"ScaledTanh", {"tanh($0 * $b) * $a", 1, 1}, true, true},
    {"HardSigmoid", {"clip($0 * $a + $b, 0, 1)", 0.2, 0.5}, true, true},
    {"Elu", {"elu($0, $a)", 1, 0}, true, false},
    {"Softsign", {"$0 / (abs($0) + 1)", 0, 0}, false, false},
    {"Softplus", {"softplus($0)", 0, 0}, false, false},
};
enum { ACTIVATIONS = sizeof(activations) / sizeof(activations[0]) };

/* How many numbers of the lists have been used. */
struct numbers {
    size_t alpha, beta;
};

static void take(const struct attr *list, size_t *used, double *to)
{
    if (list && *used < list->n_floats) {
        *to = list->floats[(*used)++];
    }
}

static struct activation activation_of(const struct recurrent *r, const char *name,
                                       struct numbers *used)
{
    for (unsigned i = 0; i < ACTIVATIONS; i++) {
        struct activation act = activations[i].act;
        if (strcasecmp(activations[i].name, name) != 0) {
            continue;
        }
        if (activations[i].alpha) {
            take(node_attr(r->n, "activation_alpha"), &used->alpha, &act.alpha);
        }
        if (activations[i].beta) {
            take(node_attr(r->n, "activation_beta"), &used->beta, &act.beta);
        }
        return act;
    }
    node_die(r->e->g, r->n, "no activation '%s' is known", name);
}

/* --- sizes --- */

static int64_t gates_of(const struct node *n)
{
    return strcmp(n->op, "LSTM") == 0 ? 4 : strcmp(n->op, "GRU") == 0 ? 3 : 1;
}

/* Sizes, and dies unless all operands have them. */
static struct recurrent sizes(const struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, X), *w = node_in(g, n, W),
                        *u = node_in(g, n, R);
    struct recurrent r = {.n = n, .gates = gates_of(n)};
    const struct attr *way = node_attr(n, "direction");
    int64_t rows, want[OPERANDS];

    r.batch_first = node_int(n, "layout", 0) != 0;
    r.directions = way && way->s && strcmp(way->s, "bidirectional") == 0 ? 2 : 1;
    if (way && way->s && r.directions == 1 && strcmp(way->s, "forward") != 0 &&
        strcmp(way->s, "reverse") != 0) {
        node_die(g, n, "direction '%s'", way->s);
    }
    if (x->shape.n != 3 || w->shape.n != 3 || u->shape.n != 3) {
        node_die(g, n, "%s by weights of %s and %s", shape_text(&x->shape),
                 shape_text(&w->shape), shape_text(&u->shape));
    }
    r.t = x->shape.dim[r.batch_first];
    r.b = x->shape.dim[!r.batch_first];
    r.k = x->shape.dim[2];
    r.h = u->shape.dim[2];
    if (r.t < 1 || r.t > STEPS || r.k < 1 || r.k > WIDEST || r.h < 1 || r.h > WIDEST) {
        node_die(g, n, "%lld steps of %lld inputs to %lld units: 1 to %d, 1 to %d",
                 (long long)r.t, (long long)r.k, (long long)r.h, STEPS, WIDEST);
    }
    rows = r.directions * r.gates * r.h;
    want[X] = r.t * r.b * r.k;
    want[W] = rows * r.k;
    want[R] = rows * r.h;
    want[BIAS] = 2 * rows;
    want[LENGTHS] = r.b;
    want[FIRST] = want[FIRST_C] = r.directions * r.b * r.h;
    want[PEEPHOLES] = 3 * r.directions * r.h;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (i >= (r.gates == 4 ? OPERANDS : FIRST_C) ||
            (n->in[i] && tensor_count(n->in[i]) != want[i])) {
            node_die(g, n, "operand %u is %s for %lld units and %lld inputs", i,
                     n->in[i] ? shape_text(&n->in[i]->shape) : "one too many",
                     (long long)r.h, (long long)r.k);
        }
    }
    if (node_int(n, "hidden_size", r.h) != r.h) {
        node_die(g, n, "hidden_size is not %lld", (long long)r.h);
    }
    return r;
}

static void shape(struct graph *g, struct node *n)
{
    struct recurrent r = sizes(g, n);
    struct shape y = {.n = 4, .dim = {r.t, r.directions, r.b, r.h}};
    struct shape last = {.n = 3, .dim = {r.directions, r.b, r.h}};

    if (r.batch_first) {
        y = (struct shape){.n = 4, .dim = {r.b, r.t, r.directions, r.h}};
        last = (struct shape){.n = 3, .dim = {r.b, r.directions, r.h}};
    }
    tensor_is(g, n, 0, n->in[X]->type, &y);
    tensor_is(g, n, 1, n->in[X]->type, &last);
    tensor_is(g, n, 2, n->in[X]->type, &last);
}

/* --- layouts --- */

/* (a, b, .. of `inner` elements) as (b, a, ..). */
static struct tensor *swapped(const struct recurrent *r, struct tensor *from,
                              const char *what, int64_t a, int64_t b, int64_t inner)
{
    struct shape s = {.n = 3, .dim = {b, a, inner}};
    struct tensor *to;
    struct copy c;

    if (a == 1 || b == 1) {
        return tensor_view(from, &s);
    }
    to = tensor_new(r->n, what, from->type, &s);
    copy_begin(&c, r->e, r->n, to);
    copy_dim(&c, b, inner, a * inner);
    copy_dim(&c, a, b * inner, inner);
    copy_dim(&c, inner, 1, 1);
    copy_add(&c, from, 0, 0);
    return to;
}

/* The states that an operand holds, or zeros: (direction, b, h). */
static struct tensor *first(const struct recurrent *r, unsigned operand)
{
    struct shape s = {.n = 3, .dim = {r->directions, r->b, r->h}};
    struct tensor *t = node_maybe(r->n, operand);

    if (t && r->batch_first) {
        return swapped(r, t, "first", r->b, r->directions, r->h);
    }
    if (!t) {
        t = tensor_new(r->n, "zeros", r->x->type, &s);
        tensor_values(t);
    }
    return t;
}

/* The last states of all directions, as a result has them. */
static void give_last(const struct recurrent *r, struct tensor *const *of,
                      unsigned result)
{
    struct tensor *to = result < r->n->n_out ? r->n->out[result] : NULL;
    int64_t unit = r->batch_first ? r->h : r->b * r->h;
    int64_t row = r->batch_first ? r->directions * r->h : r->h;
    struct copy c;

    if (!to) {
        return;
    }
    copy_begin(&c, r->e, r->n, to);
    for (int64_t d = 0; d < r->directions; d++) {
        copy_dim(&c, r->b, r->h, row);
        copy_dim(&c, r->h, 1, 1);
        copy_add(&c, of[d], 0, d * unit);
    }
}

/* All states, where the result has the batch in front. */
static void give_all(const struct recurrent *r)
{
    int64_t inner = r->directions * r->h;
    struct copy c;

    if (!r->batch_first || !r->n->out[0]) {
        return;
    }
    copy_begin(&c, r->e, r->n, r->n->out[0]);
    copy_dim(&c, r->b, r->h, r->t * inner);
    copy_dim(&c, r->t, r->b * inner, inner);
    copy_dim(&c, r->directions, r->b * r->h, r->h);
    copy_dim(&c, r->h, 1, 1);
    copy_add(&c, r->all, 0, 0);
}

/* --- the node --- */

static void functions(const struct recurrent *r, struct recurrent_pass *p,
                      struct numbers *used)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const struct attr *names = node_attr(r->n, "activations");
    unsigned count = r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1;

    if (names && names->n_strings != count * (size_t)r->directions) {
        node_die(r->e->g, r->n, "%zu activations", names->n_strings);
    }
    for (unsigned i = 0; i < count; i++) {
        const char *name = r->gates == 1 ? "Tanh" : usual[i];
        name = names ? names->strings[p->number * count + i] : name;
        p->act[i] = activation_of(r, name, used);
    }
}

/* Lengths that are known to be those of x change nothing. */
static struct tensor *lengths(const struct recurrent *r)
{
    struct tensor *t = node_maybe(r->n, LENGTHS);
    bool all = t && t->value;

    for (int64_t i = 0; all && i < r->b; i++) {
        all = t->value[i] >= (double)r->t;
    }
    return all ? NULL : t;
}

static void emit(struct emit *e, struct node *n)
{
    struct recurrent r = sizes(e->g, n);
    struct shape all = {.n = 4, .dim = {r.t, r.directions, r.b, r.h}};
    struct shape one = {.n = 2, .dim = {r.b, r.h}};
    const struct attr *way = node_attr(n, "direction");
    struct tensor *h[2], *c[2], *first_h, *first_c;
    struct numbers used = {0};

    (void)node_int(n, "output_sequence", 0); /* which results there are says it as well */
    r.e = e;
    r.clip = node_float(n, "clip", 0);
    r.apart = r.gates == 3 && node_int(n, "linear_before_reset", 0);
    r.couple = r.gates == 4 && node_int(n, "input_forget", 0);
    r.x = r.batch_first ? swapped(&r, n->in[X], "x", r.b, r.t, r.k) : n->in[X];
    r.lengths = lengths(&r);
    r.all =
        n->out[0] && !r.batch_first ? n->out[0] : tensor_new(n, "all", r.x->type, &all);
    first_h = first(&r, FIRST);
    first_c = r.gates == 4 ? first(&r, FIRST_C) : NULL;
    for (int64_t d = 0; d < r.directions; d++) {
        struct recurrent_pass p = {.r = &r, .number = d};
        p.back = d == 1 || (way && way->s && strcmp(way->s, "reverse") == 0);
        p.h = tensor_part(first_h, d * r.b * r.h, &one);
        p.c = first_c ? tensor_part(first_c, d * r.b * r.h, &one) : NULL;
        functions(&r, &p, &used);
        recurrent_run(&p);
        h[d] = p.h;
        c[d] = p.c;
    }
    give_all(&r);
    give_last(&r, h, 1);
    if (first_c) {
        give_last(&r, c, 2);
    }
}

const struct rule rules_recurrent[] = {
    {.op = "RNN", .shape = shape, .emit = emit, .alone = true, .optional = true},
    {.op = "GRU", .shape = shape, .emit = emit, .alone = true, .optional = true},
    {.op = "LSTM", .shape = shape, .emit = emit, .alone = true, .optional = true},
    {0},
};
