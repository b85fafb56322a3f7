/* SPDX-License-Identifier: MIT
 *
 * Einsum: products of operands, summed over what the result does not have. Of two operands with
 * one such dimension it is a product of matrices, if each has at most one dimension of its own;
 * else the Vector multiplies and sums. Operands whose dimensions are in another order than the
 * result's are brought into it first, and so are diagonals.
 */
#include <ctype.h>
#include <string.h>

#include "tools/graph/rules/product/product.h"

enum { OPERANDS = PLAN_IN, NONE = 255 };

/* A term: which axis each dimension is. */
struct term {
    unsigned n;
    uint8_t axis[GRAPH_RANK];
};

/* Axes: those of the result first, in its order, then those that are summed over. */
struct einsum {
    unsigned n_in, n_axes;
    struct term in[OPERANDS], out;
    int64_t size[GROUP_AXES];
};

/* While reading: letters, and dimensions of `...` from the last one on, by numbers of their own. */
struct reader {
    const struct graph *g;
    const struct node *n;
    const char *at;
    unsigned dots; /* dimensions of the longest `...` */
};

enum { LETTERS = 64, DOTS = 128 /* ids: a letter's code from 'A' on; of `...` */ };

static bool dots_here(const struct reader *r)
{
    return strncmp(r->at, "...", 3) == 0;
}

/* One term, of an operand of `rank` dimensions; or NONE: of the result. */
static struct term read_term(struct reader *r, unsigned rank)
{
    const char *end = r->at + strcspn(r->at, ",-");
    unsigned letters = 0, dots;
    struct term t = {0};

    for (const char *c = r->at; c < end; c++) {
        letters += isalpha((unsigned char)*c) != 0;
    }
    dots = rank == NONE ? r->dots : rank < letters ? 0 : rank - letters;
    for (; r->at < end; r->at++) {
        if (*r->at == ' ') {
            continue;
        }
        if (t.n + (dots_here(r) ? dots : 1) > GRAPH_RANK ||
            (!dots_here(r) && !isalpha((unsigned char)*r->at))) {
            node_die(r->g, r->n, "equation: '%s'", r->at);
        }
        if (dots_here(r)) {
            for (unsigned d = dots; d-- > 0;) {
                t.axis[t.n++] = (uint8_t)(DOTS + d);
            }
            r->dots = dots > r->dots ? dots : r->dots;
            r->at += 2;
        } else {
            t.axis[t.n++] = (uint8_t)(*r->at - 'A');
        }
    }
    if (rank != NONE && t.n != rank) {
        node_die(r->g, r->n, "equation: %u dimensions for an operand of %u", t.n, rank);
    }
    return t;
}

static unsigned times(const struct einsum *e, uint8_t id)
{
    unsigned n = 0;

    for (unsigned i = 0; i < e->n_in; i++) {
        for (unsigned d = 0; d < e->in[i].n; d++) {
            n += e->in[i].axis[d] == id;
        }
    }
    return n;
}

/* Without `->`: `...`, then letters that are there once, by the alphabet. */
static struct term implied(const struct reader *r, const struct einsum *e)
{
    struct term t = {0};

    for (unsigned d = r->dots; d-- > 0;) {
        t.axis[t.n++] = (uint8_t)(DOTS + d);
    }
    for (uint8_t id = 0; id < LETTERS; id++) {
        if (times(e, id) == 1 && t.n < GRAPH_RANK) {
            t.axis[t.n++] = id;
        }
    }
    return t;
}

/* Ids become numbers from 0 up, the result's first. */
static void number(const struct reader *r, struct einsum *e)
{
    uint8_t id[GROUP_AXES];
    struct term *terms[OPERANDS + 1] = {&e->out};

    for (unsigned i = 0; i < e->n_in; i++) {
        terms[i + 1] = &e->in[i];
    }
    for (unsigned i = 0; i <= e->n_in; i++) {
        for (unsigned d = 0; d < terms[i]->n; d++) {
            unsigned a = 0;
            while (a < e->n_axes && id[a] != terms[i]->axis[d]) {
                a++;
            }
            if (a == GROUP_AXES ||
                (i == 0 && (a < e->n_axes || !times(e, terms[i]->axis[d])) &&
                 terms[i]->axis[d] < DOTS)) {
                node_die(r->g, r->n, "equation: a result that there is not");
            }
            id[a] = terms[i]->axis[d];
            e->n_axes += a == e->n_axes;
            terms[i]->axis[d] = (uint8_t)a;
        }
    }
}

static struct einsum read_equation(const struct graph *g, const struct node *n)
{
    const struct attr *a = node_attr(n, "equation");
    struct reader r = {.g = g, .n = n, .at = a ? a->s : NULL};
    struct einsum e = {.n_in = n->n_in};

    if (!r.at || n->n_in == 0 || n->n_in > OPERANDS) {
        node_die(g, n, "%u operands by '%s'", n->n_in, r.at ? r.at : "");
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        e.in[i] = read_term(&r, node_in(g, n, i)->shape.n);
        if (*r.at == ',' && i + 1 < n->n_in) {
            r.at++;
        }
    }
    if (*r.at == '-' && r.at[1] == '>') {
        r.at += 2;
        e.out = read_term(&r, NONE);
    } else {
        e.out = implied(&r, &e);
    }
    if (*r.at) {
        node_die(g, n, "equation: '%s'", r.at);
    }
    number(&r, &e);
    for (unsigned i = 0; i < GROUP_AXES; i++) {
        e.size[i] = 1;
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        for (unsigned d = 0; d < e.in[i].n; d++) {
            int64_t *size = &e.size[e.in[i].axis[d]], own = n->in[i]->shape.dim[d];
            if (*size != own && *size != 1 && own != 1) {
                node_die(g, n, "a dimension of %lld and of %lld", (long long)*size,
                         (long long)own);
            }
            *size = own == 1 ? *size : own;
        }
    }
    return e;
}

static void einsum_shape(struct graph *g, struct node *n)
{
    struct einsum e = read_equation(g, n);
    struct shape to = {.n = e.out.n};

    if (!elem_is_float(n->in[0]->type)) {
        node_die(g, n, "of %s", elem_text(n->in[0]->type));
    }
    for (unsigned d = 0; d < e.out.n; d++) {
        to.dim[d] = e.size[e.out.axis[d]];
    }
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* The operand with each axis once, by number; axis `but` may be anywhere. */
static struct tensor *ordered(struct emit *emit, struct node *n, struct tensor *x,
                              struct term *t, uint8_t but)
{
    int64_t stride[GRAPH_RANK], step[GROUP_AXES] = {0}, size[GROUP_AXES], to[GRAPH_RANK];
    struct shape s = {0};
    struct term in_order = {0};
    bool good = true;
    struct tensor *y;
    struct copy c;

    shape_strides(&x->shape, stride);
    for (unsigned d = 0, last = 0; d < t->n; d++) {
        good = good && step[t->axis[d]] == 0 && (t->axis[d] == but || t->axis[d] >= last);
        last = t->axis[d] == but ? last : t->axis[d];
        step[t->axis[d]] += stride[d];
        size[t->axis[d]] = x->shape.dim[d];
    }
    if (good) {
        return x;
    }
    for (uint8_t a = 0; a < GROUP_AXES; a++) {
        if (step[a]) {
            in_order.axis[in_order.n++] = a;
            s.dim[s.n++] = size[a];
        }
    }
    y = tensor_new(n, "ordered", x->type, &s);
    shape_strides(&s, to);
    copy_begin(&c, emit, n, y);
    for (unsigned d = 0; d < s.n; d++) {
        copy_dim(&c, s.dim[d], step[in_order.axis[d]], to[d]);
    }
    copy_add(&c, x, 0, 0);
    *t = in_order;
    return y;
}

static uint32_t axes_of(const struct einsum *e, const struct tensor *x, unsigned i)
{
    uint32_t axes = 0;

    for (unsigned d = 0; d < e->in[i].n; d++) {
        axes |= x->shape.dim[d] > 1 ? 1u << e->in[i].axis[d] : 0;
    }
    return axes;
}

/* The axis of a product of matrices, or NONE. */
static uint8_t product_axis(const struct einsum *e, const struct node *n, uint32_t summed)
{
    uint32_t a, b, both;

    if (e->n_in != 2) {
        return NONE;
    }
    a = axes_of(e, n->in[0], 0);
    b = axes_of(e, n->in[1], 1);
    both = a & b;
    return __builtin_popcount(summed) == 1 && (summed & both) == summed &&
                   __builtin_popcount(a & ~both) == 1 &&
                   __builtin_popcount(b & ~both) == 1
               ? (uint8_t)__builtin_ctz(summed)
               : NONE;
}

static void einsum_emit(struct emit *emit, struct node *n)
{
    struct einsum e = read_equation(emit->g, n);
    struct tensor *x[OPERANDS];
    uint32_t summed = 0;
    const char *expr = NULL;
    struct program p;
    uint8_t k;

    for (unsigned a = e.out.n; a < e.n_axes; a++) {
        summed |= e.size[a] > 1 ? 1u << a : 0;
    }
    k = product_axis(&e, n, summed);
    for (unsigned i = 0; i < e.n_in; i++) {
        x[i] = ordered(emit, n, n->in[i], &e.in[i], k);
    }
    p = program_begin(emit, n);
    if (k != NONE) {
        expr = product_of(&p, x[0], e.in[0].axis, x[1], e.in[1].axis, k, e.size[k]);
    }
    for (unsigned i = 0; k == NONE && i < e.n_in; i++) {
        const char *one = program_in(&p, x[i], e.in[i].axis);
        expr = expr ? graph_text("%s * %s", expr, one) : one;
    }
    if (k == NONE && summed) {
        expr = program_over(&p, "sum", summed, expr);
    }
    program_out(&p, n->out[0], e.out.axis, expr, false);
}

const struct rule rules_einsum[] = {
    {.op = "Einsum", .shape = einsum_shape, .emit = einsum_emit, .alone = true},
    {0},
};
