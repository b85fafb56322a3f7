/* SPDX-License-Identifier: MIT
 *
 * Matrix products.
 */
#include <string.h>

#include "tools/graph/rules/product/product.h"

/* --- MatMul --- */

/* Both with at least two dimensions: a vector is a matrix of one row, of one column. */
static void matrix(const struct tensor *t, bool is_row, struct shape *s)
{
    *s = t->shape;
    if (s->n == 1) {
        s->dim[is_row ? 1 : 0] = t->shape.dim[0];
        s->dim[is_row ? 0 : 1] = 1;
        s->n = 2;
    }
}

struct shape product_result_shape(const struct graph *g, const struct node *n,
                                  const struct tensor *a, const struct tensor *b)
{
    struct shape x, y, to;
    int64_t rows, cols;

    matrix(a, true, &x);
    matrix(b, false, &y);
    if (a->shape.n == 0 || b->shape.n == 0 || x.dim[x.n - 1] != y.dim[y.n - 2]) {
        node_die(g, n, "%s and %s have no product", shape_text(&a->shape),
                 shape_text(&b->shape));
    }
    rows = x.dim[x.n - 2];
    cols = y.dim[y.n - 1];
    x.n -= 2;
    y.n -= 2;
    to = shape_broadcast(g, n, &x, &y);
    if (a->shape.n > 1) {
        to.dim[to.n++] = rows;
    }
    if (b->shape.n > 1) {
        to.dim[to.n++] = cols;
    }
    return to;
}

struct matrix_axes product_axes(const struct tensor *a, const struct tensor *b,
                                unsigned rank)
{
    unsigned ra = a->shape.n, rb = b->shape.n;
    uint8_t front = (uint8_t)(rank - (ra > 1) - (rb > 1)), at = 0;
    struct matrix_axes x = {
        .m = front, .n = (uint8_t)(front + 1), .k = (uint8_t)(front + 2)};

    for (unsigned d = 0; d + 2 < ra; d++) {
        x.a[d] = (uint8_t)(front - (ra - 2) + d);
    }
    for (unsigned d = 0; d + 2 < rb; d++) {
        x.b[d] = (uint8_t)(front - (rb - 2) + d);
    }
    for (; at < front; at++) {
        x.c[at] = at;
    }
    if (ra > 1) {
        x.a[ra - 2] = x.c[at++] = x.m;
    }
    if (rb > 1) {
        x.b[rb - 1] = x.c[at++] = x.n;
    }
    x.a[ra - 1] = x.k;
    x.b[rb > 1 ? rb - 2 : 0] = x.k;
    return x;
}

static void matmul_shape(struct graph *g, struct node *n)
{
    struct shape to = product_result_shape(g, n, node_in(g, n, 0), node_in(g, n, 1));

    tensor_is(g, n, 0, n->in[0]->type, &to);
}

static void matmul_emit(struct emit *e, struct node *n)
{
    struct tensor *a = n->in[0], *b = n->in[1];
    struct matrix_axes axes = product_axes(a, b, n->out[0]->shape.n);
    struct program p = program_begin(e, n);

    program_out(
        &p, n->out[0], axes.c,
        product_of(&p, a, axes.a, b, axes.b, axes.k, a->shape.dim[a->shape.n - 1]),
        false);
}

/* --- Gemm: alpha * a' b' + beta * c --- */

static void gemm_shape(struct graph *g, struct node *n)
{
    const struct shape *a = &node_in(g, n, 0)->shape, *b = &node_in(g, n, 1)->shape;
    unsigned ta = node_int(n, "transA", 0) != 0, tb = node_int(n, "transB", 0) != 0;
    struct shape to = {.n = 2};

    if (a->n != 2 || b->n != 2 || a->dim[!ta] != b->dim[tb]) {
        node_die(g, n, "%s and %s have no product", shape_text(a), shape_text(b));
    }
    to.dim[0] = a->dim[ta];
    to.dim[1] = b->dim[!tb];
    tensor_is(g, n, 0, n->in[0]->type, &to);
}

/* (k, m) as (m, k): neither programs without the Cube nor products by planes have a result whose
 * dimensions lie in no operand's order. */
static struct tensor *turned(struct emit *e, struct node *n, struct tensor *a)
{
    int64_t k = a->shape.dim[0], m = a->shape.dim[1];
    struct shape s = {.n = 2, .dim = {m, k}};
    struct tensor *t = tensor_new(n, "turned", a->type, &s);
    struct copy c;

    copy_begin(&c, e, n, t);
    copy_dim(&c, m, 1, k);
    copy_dim(&c, k, m, 1);
    copy_add(&c, a, 0, 0);
    return t;
}

static void gemm_emit(struct emit *e, struct node *n)
{
    enum { M, N, K };
    static const uint8_t of_a[][2] = {{M, K}, {K, M}}, of_b[][2] = {{K, N}, {N, K}};
    static const uint8_t of_c[] = {M, N};
    double alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);
    bool ta = node_int(n, "transA", 0) != 0, tb = node_int(n, "transB", 0) != 0;
    struct tensor *a = n->in[0], *c = node_maybe(n, 2);
    int64_t k = a->shape.dim[!ta];
    struct program p;
    const char *y;

    if (ta && tb && !product_on_cube(a->type)) {
        a = turned(e, n, a);
        ta = false;
    }
    p = program_begin(e, n);
    y = product_of(&p, a, of_a[ta], n->in[1], of_b[tb], K, k);
    if (alpha != 1) {
        y = graph_text("%s * %.9g", y, alpha);
    }
    if (c && beta != 0) {
        const char *z = program_in(&p, c, of_c + (2 - c->shape.n));
        y = beta == 1 ? graph_text("%s + %s", y, z)
                      : graph_text("%s + %s * %.9g", y, z, beta);
    }
    program_out(&p, n->out[0], of_c, y, false);
}

const struct rule rules_product[] = {
    {"MatMul", matmul_shape, .emit = matmul_emit},
    {"Gemm", gemm_shape, .emit = gemm_emit},
    {0},
};
