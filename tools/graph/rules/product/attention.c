/* SPDX-License-Identifier: MIT
 *
 * What transformers are made of, in other operators: Attention, RotaryEmbedding,
 * RMSNormalization, as opsets 23 and 24 define them.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/lower.h"

/* --- Attention --- */

/* Heads, rows and elements of a row of one of the operands, (b, heads, rows, d) or
 * (b, rows, heads d). */
struct heads {
    int64_t b, n, rows, d;
};

static struct heads heads_of(const struct graph *g, const struct node *n, unsigned i,
                             const char *attr)
{
    const struct shape *s = &node_in(g, n, i)->shape;
    int64_t heads = node_int(n, attr, 0);

    if (s->n == 4) {
        return (struct heads){s->dim[0], s->dim[1], s->dim[2], s->dim[3]};
    }
    if (s->n != 3 || heads < 1 || s->dim[2] % heads) {
        node_die(g, n, "%lld heads of %s", (long long)heads, shape_text(s));
    }
    return (struct heads){s->dim[0], heads, s->dim[1], s->dim[2] / heads};
}

/* An operand as (b, heads, rows, d). */
static void in_heads(struct lower *l, const char *name, unsigned i, struct heads h)
{
    if (l->n->in[i]->shape.n == 4) {
        lower_text(l, "%s = Identity($%u)\n", name, i);
    } else {
        lower_text(l,
                   "%sr = Reshape($%u, [%lld, %lld, %lld, %lld])\n"
                   "%s = Transpose(%sr; perm=[0, 2, 1, 3])\n",
                   name, i, (long long)h.b, (long long)h.rows, (long long)h.n,
                   (long long)h.d, name, name);
    }
}

/* `allNAME`: keys or values, `NAME`, behind those of steps before; a result, too. */
static struct heads with_past(struct lower *l, const char *name, unsigned past,
                              unsigned out, struct heads h)
{
    const struct tensor *t = node_maybe(l->n, past);

    if (t && t->shape.n != 4) {
        node_die(l->g, l->n, "'%s' is %s", t->name, shape_text(&t->shape));
    }
    if (t) {
        lower_text(l, "all%s = Concat($%u, %s; axis=2)\n", name, past, name);
    } else {
        lower_text(l, "all%s = Identity(%s)\n", name, name);
    }
    lower_text(l, "@%u = Identity(all%s)\n", out, name);
    h.rows += t ? t->shape.dim[2] : 0;
    return h;
}

/* Keys that are behind the length of their batch, or where rows are causal and none is of steps
 * before, those that the last row but so many does not see: it sees the last key, the one before
 * it one fewer. */
static const char *behind_length(struct lower *l, const char *scores, struct heads q,
                                 struct heads k, bool causal)
{
    struct shape s = {.n = 2, .dim = {causal ? q.rows : 1, k.rows}};
    double *to = lower_value(l, "place", ELEM_I64, &s);

    for (int64_t i = 0; i < s.dim[0] * k.rows; i++) {
        to[i] = (double)(i % k.rows + s.dim[0] - 1 - i / k.rows);
    }
    lower_text(l,
               "len = Reshape($6, [-1, 1, 1, 1])\ninside = Less(place, len)\n"
               "rest = Where(inside, 0.0, low)\nvalid = Add(%s, rest)\n",
               scores);
    return "valid";
}

/* 0 where a query sees a key, else -inf, added to scores (b, h, s, t): bias, or the same. */
static const char *biased(struct lower *l, const char *scores, struct heads q,
                          struct heads k)
{
    const struct tensor *mask = node_maybe(l->n, 3), *valid = node_maybe(l->n, 6);
    struct shape s = {.n = 2, .dim = {q.rows, k.rows}};
    bool causal = node_int(l->n, "is_causal", 0) != 0, old = node_maybe(l->n, 4) != NULL;
    int64_t past = old ? l->n->in[4]->shape.dim[2] : 0;
    double *to;

    if (mask) {
        int64_t have = mask->shape.n ? mask->shape.dim[mask->shape.n - 1] : 0;
        bool shorter = l->g->opset >= 24 && have < k.rows;
        if (have != k.rows && have != 1 && !shorter) {
            node_die(l->g, l->n, "a mask of %lld for %lld keys", (long long)have,
                     (long long)k.rows);
        }
        lower_text(l, mask->type == ELEM_BOOL ? "bias = Where($3, 0.0, low)\n"
                                              : "bias = Cast($3; to=1)\n");
        if (shorter) { /* nobody sees the keys behind it */
            lower_text(l, "all = Pad(bias, [0, %lld], low, [-1])\n",
                       (long long)(k.rows - have));
        }
        lower_text(l, "masked = Add(%s, %s)\n", scores, shorter ? "all" : "bias");
        scores = "masked";
    }
    if (causal && (old || !valid)) {
        to = lower_value(l, "sees", ELEM_F32, &s);
        for (int64_t i = 0; i < q.rows * k.rows; i++) {
            to[i] = i % k.rows <= i / k.rows + past ? 0 : -INFINITY;
        }
        lower_text(l, "causal = Add(%s, sees)\n", scores);
        scores = "causal";
    }
    if (valid) {
        scores = behind_length(l, scores, q, k, causal && !old);
    }
    return scores;
}

/* The sums of values by weights, in the shape of the first operand. */
static void weighted(struct lower *l, struct heads q, struct heads k, struct heads v)
{
    lower_text(l,
               "w = CastLike(weights, $0)\nws = Reshape(w, [%lld, %lld, %lld, %lld])\n"
               "y = MatMul(ws, allv)\nyh = Reshape(y, [%lld, %lld, %lld, %lld])\n",
               (long long)q.b, (long long)k.n, (long long)(q.n / k.n * q.rows),
               (long long)k.rows, (long long)q.b, (long long)q.n, (long long)q.rows,
               (long long)v.d);
    if (l->n->in[0]->shape.n == 3) {
        lower_text(l,
                   "yt = Transpose(yh; perm=[0, 2, 1, 3])\n"
                   "@0 = Reshape(yt, [%lld, %lld, %lld])\n",
                   (long long)q.b, (long long)q.rows, (long long)(q.n * v.d));
    } else {
        lower_text(l, "@0 = Identity(yh)\n");
    }
}

static void attention(struct graph *g, struct node *n)
{
    struct heads q = heads_of(g, n, 0, "q_num_heads"),
                 k = heads_of(g, n, 1, "kv_num_heads"),
                 v = heads_of(g, n, 2, "kv_num_heads");
    double scale = node_float(n, "scale", 1 / sqrt((double)q.d)),
           cap = node_float(n, "softcap", 0);
    int64_t mode = node_int(n, "qk_matmul_output_mode", 0), shares;
    struct lower l = lower_begin(g, n);
    const char *scores = "raw", *told[4] = {"raw", "raw"};

    (void)node_attr(n, "softmax_precision");
    if (k.n < 1 || q.n % k.n || k.n != v.n || q.d != k.d || k.rows != v.rows ||
        mode < 0 || mode > 3) {
        node_die(g, n, "%s, %s and %s have no attention", shape_text(&n->in[0]->shape),
                 shape_text(&n->in[1]->shape), shape_text(&n->in[2]->shape));
    }
    lower_value(&l, "low", ELEM_F32, &(struct shape){0})[0] = -INFINITY;
    in_heads(&l, "q", 0, q);
    in_heads(&l, "k", 1, k);
    in_heads(&l, "v", 2, v);
    k = with_past(&l, "k", 4, 1, k);
    v = with_past(&l, "v", 5, 2, v);
    /* Heads that share keys are rows of one product. */
    shares = q.n / k.n * q.rows;
    lower_text(&l,
               "kt = Transpose(allk; perm=[0, 1, 3, 2])\n"
               "qs = Reshape(q, [%lld, %lld, %lld, %lld])\nqk = MatMul(qs, kt)\n"
               "qf = Cast(qk; to=1)\nqh = Reshape(qf, [%lld, %lld, %lld, %lld])\n"
               "raw = Mul(qh, %.9g)\n",
               (long long)q.b, (long long)k.n, (long long)shares, (long long)q.d,
               (long long)q.b, (long long)q.n, (long long)q.rows, (long long)k.rows,
               scale);
    if (cap > 0) {
        lower_text(&l,
                   "less = Mul(raw, %.9g)\nbent = Tanh(less)\ncapped = Mul(bent, %.9g)\n",
                   1 / cap, cap);
        told[1] = scores = "capped";
    }
    told[2] = scores = biased(&l, scores, q, k);
    /* A mask or a length may hide all keys of a row. */
    lower_text(&l, "weights = %s(%s; axis=-1)\n",
               node_maybe(n, 3) || node_maybe(n, 6) ? "Softmax_hidden" : "Softmax", scores);
    told[3] = "weights";
    if (n->n_out > 3 && n->out[3]) {
        lower_text(&l, "@3 = CastLike(%s, $0)\n", told[mode]);
    }
    weighted(&l, q, k, v);
    lower_end(&l);
}

/* --- RotaryEmbedding --- */

/* (b, s, h, d) or (b, h, s, d), of each head the first r elements, in pairs (a, b) that lie half of
 * r apart or side by side: (a cos - b sin, a sin + b cos). */
static void rotary(struct graph *g, struct node *n)
{
    struct heads x = heads_of(g, n, 0, "num_heads");
    bool flat = n->in[0]->shape.n == 3, pairs = node_int(n, "interleaved", 0) != 0;
    long long r = node_int(n, "rotary_embedding_dim", 0), half, axis = flat ? 2 : 1;
    struct lower l = lower_begin(g, n);
    static const char *const name[] = {"cos", "sin"};

    r = r ? r : x.d;
    half = r / 2;
    if (r < 2 || r % 2 || r > x.d) {
        node_die(g, n, "rotates %lld of %lld", r, (long long)x.d);
    }
    (void)node_int(n, "num_heads", 0);
    for (unsigned i = 0; i < 2; i++) {
        const char *from = graph_text("$%u", 1 + i);
        if (node_maybe(n, 3)) {
            lower_text(&l, "%sp = Gather(%s, $3; axis=0)\n", name[i], from);
            from = graph_text("%sp", name[i]);
        }
        lower_text(&l, "%s = Unsqueeze(%s, [%lld])\n", name[i], from, axis);
    }
    if (flat) {
        lower_text(&l, "x = Reshape($0, [%lld, %lld, %lld, %lld])\n", (long long)x.b,
                   (long long)x.rows, (long long)x.n, (long long)x.d);
    } else {
        lower_text(&l, "x = Identity($0)\n");
    }
    lower_text(&l,
               "a = Slice(x, [%d], [%lld], [3], [%d])\nb = Slice(x, [%lld], [%lld], [3], "
               "[%d])\n",
               0, pairs ? r : half, pairs ? 2 : 1, pairs ? 1 : half, r, pairs ? 2 : 1);
    lower_text(&l, "ac = Mul(a, cos)\nbs = Mul(b, sin)\nu = Sub(ac, bs)\n"
                   "as = Mul(a, sin)\nbc = Mul(b, cos)\nv = Add(as, bc)\n");
    if (pairs) {
        long long rows = flat ? x.rows : x.n, columns = flat ? x.n : x.rows;
        lower_text(&l,
                   "u5 = Unsqueeze(u, [4])\nv5 = Unsqueeze(v, [4])\n"
                   "uv = Concat(u5, v5; axis=4)\n"
                   "turned = Reshape(uv, [%lld, %lld, %lld, %lld])\n",
                   (long long)x.b, rows, columns, r);
    } else {
        lower_text(&l, "turned = Concat(u, v; axis=3)\n");
    }
    if (r < x.d) {
        lower_text(
            &l,
            "rest = Slice(x, [%lld], [%lld], [3])\nall = Concat(turned, rest; axis=3)\n",
            r, (long long)x.d);
    }
    lower_text(&l,
               flat ? "@0 = Reshape(%s, [%lld, %lld, %lld])\n" : "@0 = Identity(%s)\n",
               r < x.d ? "all" : "turned", (long long)x.b, (long long)x.rows,
               (long long)(x.n * x.d));
    lower_end(&l);
}

/* --- RMSNormalization: x / sqrt(mean(x x) + eps) scale, in float32 --- */

static void rms(struct graph *g, struct node *n)
{
    unsigned rank = node_in(g, n, 0)->shape.n;
    unsigned axis = node_axis(g, n, node_int(n, "axis", -1), rank);
    struct lower l = lower_begin(g, n);
    const char *axes = "";

    (void)node_in(g, n, 1);
    for (unsigned d = axis; d < rank; d++) {
        axes = graph_text("%s%s%u", axes, d > axis ? ", " : "", d);
    }
    lower_text(
        &l,
        "x = Cast($0; to=1)\nq = Mul(x, x)\nm = ReduceMean(q; axes=[%s], keepdims=1)\n"
        "e = Add(m, %.9g)\nr = Sqrt(e)\nz = Div(x, r)\nt = CastLike(z, $0)\n"
        "@0 = Mul(t, $1)\n",
        axes, node_float(n, "epsilon", 1e-5));
    lower_end(&l);
}

const struct rule rules_attention[] = {
    {.op = "Attention", .shape = attention},
    {.op = "RotaryEmbedding", .shape = rotary},
    {.op = "RMSNormalization", .shape = rms},
    {0},
};
