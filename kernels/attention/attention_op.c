/* SPDX-License-Identifier: MIT
 *
 * self_attention and cross_attention: their descriptions, and the definition in fp64 of what
 * the projections have made in F16. See attention.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/attention/attention.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/lib/f16.h"
#include "kernels/tile/op/tile_op.h"

struct own {
    uint32_t heads, seed;
    float scale, drop;
    bool causal;
};

/* work[0]: the plan, the arena that it lies in, and what the reference has of the image that
 * it was at for each head, k (t, width). */
struct room {
    struct attention_plan plan;
    struct tile_arena arena;
    _Alignas(16) char bytes[ATTENTION_ARENA_BYTES];
    double parts[]; /* of each head: the image + 1, or 0; k */
};

static struct attention call_of(const struct op_call *c, bool cross)
{
    const struct own *o = (const void *)c->args;
    const uint64_t *x = c->in[0].shape, *w = c->in[cross ? 2 : 1].shape;
    uint64_t u = cross ? w[1] : w[1] / 3;
    uint32_t width = (uint32_t)(u / o->heads);

    return (struct attention){.x = c->in[0].data,
                              .context = cross ? c->in[1].data : NULL,
                              .w = c->in[cross ? 2 : 1].data,
                              .w_kv = cross ? c->in[3].data : NULL,
                              .bias = c->in[cross ? 4 : 2].data,
                              .y = c->out[0].data,
                              .n = (uint32_t)x[0],
                              .s = (uint32_t)x[1],
                              .t = (uint32_t)(cross ? c->in[1].shape[1] : x[1]),
                              .e = (uint32_t)x[2],
                              .f = cross ? (uint32_t)c->in[1].shape[2] : 0,
                              .heads = o->heads,
                              .width = width,
                              .scale = o->scale > 0 ? o->scale : (float)(1 / sqrt(width)),
                              .causal = o->causal,
                              .drop = o->drop,
                              .seed = o->seed,
                              .cores = c->cores};
}

static uint64_t head_doubles(const struct attention *p)
{
    return 1 + (uint64_t)p->t * p->width;
}

/* Columns of all heads, by the weights and as the others have them. */
static int shape_as(const struct op_call *c, struct tensor *out, bool cross)
{
    const struct own *o = (const void *)c->args;
    const struct tensor *bias = &c->in[cross ? 4 : 2];
    uint64_t columns = c->in[cross ? 2 : 1].shape[1];
    uint64_t u = cross ? columns : columns / 3;

    if ((!cross && columns % 3) || u % o->heads || u == 0) {
        fprintf(stderr, "%s: %llu columns are not those of q%s of %lu heads\n",
                c->op->name, (unsigned long long)columns, cross ? "" : ", k and v",
                (unsigned long)o->heads);
        return ERR_SHAPE;
    }
    if ((cross && c->in[3].shape[1] != 2 * u) ||
        (bias->data && bias->shape[0] != 3 * u)) {
        fprintf(stderr, "%s: want %llu columns of k and v, a bias of %llu\n", c->op->name,
                2 * (unsigned long long)u, 3 * (unsigned long long)u);
        return ERR_SHAPE;
    }
    out->shape[2] = u;
    return 0;
}

static int prepare_as(struct op_call *c, bool cross)
{
    struct attention p = call_of(c, cross);
    uint64_t parts = (uint64_t)p.heads * head_doubles(&p);
    struct room *room =
        data_alloc(c->op->name, TYPE_U8, sizeof(*room) + parts * sizeof(double));
    struct tile_error error;
    int err;

    c->work[0] = room;
    if (room == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t h = 0; h < p.heads; h++) {
        room->parts[h * head_doubles(&p)] = 0;
    }
    room->arena = (struct tile_arena){.base = room->bytes, .size = sizeof(room->bytes)};
    err = attention_plan(&room->plan, &p, &room->arena, &error);
    if (err) {
        return tile_chain_refuse(c, err, &error);
    }
    c->work[1] = data_alloc(c->op->name, TYPE_U8, attention_room(&room->plan, &p));
    return c->work[1] ? 0 : ERR_NOMEM;
}

static int run_as(const struct op_call *c, struct sched_report *report, bool cross)
{
    struct attention p = call_of(c, cross);
    const struct room *room = c->work[0];

    report->text[0] = 0;
    for (unsigned i = 0; i < OP_IN; i++) {
        if (c->in[i].data && c->in[i].count == 0) {
            return ERR_ARG;
        }
    }
    return attention(&room->plan, &p, c->work[1], report);
}

/* --- by the definition --- */

/* A column of a projection of row `row` of x (.., in), of weights with `columns` of them. */
static double project(const uint16_t *x, uint64_t row, uint32_t in, const uint16_t *w,
                      uint64_t columns, uint64_t column, const float *bias)
{
    double sum = bias ? (double)*bias : 0;

    for (uint32_t i = 0; i < in; i++) {
        sum += (double)f16_to_f32(x[row * in + i]) *
               (double)f16_to_f32(w[i * columns + column]);
    }
    return (double)f16_to_f32(f32_to_f16((float)sum));
}

/* Part 0, 1, 2 of q, k, v: of image n its row, column j of head h. */
static double part_of(const struct attention *p, unsigned part, uint32_t n, uint32_t row,
                      uint32_t h, uint32_t j)
{
    uint64_t u = (uint64_t)p->heads * p->width, column = h * p->width + j;
    const float *bias = p->bias ? (const float *)p->bias + part * u + column : NULL;

    if (!p->context) {
        return project(p->x, (uint64_t)n * p->s + row, p->e, p->w, 3 * u,
                       part * u + column, bias);
    }
    if (part == 0) {
        return project(p->x, (uint64_t)n * p->s + row, p->e, p->w, u, column, bias);
    }
    return project(p->context, (uint64_t)n * p->t + row, p->f, p->w_kv, 2 * u,
                   (part - 1) * u + column, bias);
}

/* Whether the generator drops element i of the softmax. */
static bool is_dropped(const struct attention *p, uint64_t i)
{
    uint32_t h = (uint32_t)i * 2654435761u + p->seed * 2246822507u;

    for (unsigned round = 0; round < 2; round++) {
        h *= 2 * h + 1;
        h = (h << 16) + (uint32_t)((int32_t)h >> 16);
    }
    h *= 2 * h + 1;
    return (double)(int32_t)h < ((double)p->drop - 0.5) * 4294967296.0;
}

/* k of a head of an image. */
static const double *keys_of(const struct attention *p, struct room *room, uint32_t n,
                             uint32_t h)
{
    double *head = room->parts + h * head_doubles(p);
    uint64_t size = (uint64_t)p->t * p->width;

    for (uint64_t i = 0; i < size && head[0] != n + 1.0; i++) {
        head[1 + i] =
            part_of(p, 1, n, (uint32_t)(i / p->width), h, (uint32_t)(i % p->width));
    }
    head[0] = n + 1.0;
    return head + 1;
}

/* An element of y and how far it may be off: roundings to F16 of the softmax and the result,
 * and of q, k and v, which the projections may round to the other side. */
static void element(const struct attention *p, struct room *room, double *q, uint64_t i,
                    double *value, double *bound)
{
    uint32_t j = (uint32_t)(i % p->width), h = (uint32_t)(i / p->width % p->heads);
    uint64_t row = i / p->width / p->heads;
    uint32_t n = (uint32_t)(row / p->s), s = (uint32_t)(row % p->s);
    uint32_t keys = p->causal && s + 1 < p->t ? s + 1 : p->t;
    uint64_t place = (((uint64_t)n * p->heads + h) * p->s + s) * p->t;
    const double *key = keys_of(p, room, n, h);
    double top = -INFINITY, off = 0, sum = 0, y = 0, size = 0;

    for (uint32_t d = 0; d < p->width; d++) {
        q[d] = part_of(p, 0, n, s, h, d);
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t t = 0; t < keys; t++) {
            double x = 0, squares = 0, e, v;
            for (uint32_t d = 0; d < p->width; d++) {
                double product = q[d] * key[(uint64_t)t * p->width + d];
                x += product;
                squares += product * product;
            }
            x *= (double)p->scale;
            if (pass == 0) {
                top = fmax(top, x);
                off = fmax(off, fabs((double)p->scale) * sqrt(squares));
                continue;
            }
            e = exp(x - top);
            sum += e;
            if (p->drop > 0 && is_dropped(p, place + t)) {
                continue;
            }
            v = part_of(p, 2, n, t, h, j);
            y += e * v;
            size += e * fabs(v);
        }
    }
    sum *= 1 - (double)p->drop;
    *value = y / sum;
    *bound = size / sum * (0x1p-10 + 0x1p-11 * off) + 0x1p-11 * fabs(*value) + 0x1p-24;
}

static void ref_as(const struct op_call *c, uint64_t first, uint64_t n,
                   struct op_want *want, bool cross)
{
    struct attention p = call_of(c, cross);
    double *q = malloc(p.width * sizeof(*q));

    want->no_memory = q == NULL;
    for (uint64_t i = 0; i < n && q; i++) {
        element(&p, c->work[0], q, first + i, &want->value[i], &want->bound[i]);
    }
    free(q);
}

/* --- what there is to do --- */

/* Products and the loop; of GM what the formula reads and writes, each once. */
static void work_as(const struct op_call *c, struct work *w)
{
    const struct room *room = c->work[0];

    tile_chain_work(&room->plan.chain, w);
    for (unsigned i = 0; i < OP_IN && c->in[i].count; i++) {
        work_in(w, NPU_MEM_L1, &c->in[i]);
    }
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

#define KIND(name, cross)                                                                \
    static int name##_shape(const struct op_call *c, unsigned number,                    \
                            struct tensor *out)                                          \
    {                                                                                    \
        (void)number;                                                                    \
        return shape_as(c, out, cross);                                                  \
    }                                                                                    \
    static int name##_prepare(struct op_call *c)                                         \
    {                                                                                    \
        return prepare_as(c, cross);                                                     \
    }                                                                                    \
    static int name##_run(const struct op_call *c, struct sched_report *report)          \
    {                                                                                    \
        return run_as(c, report, cross);                                                 \
    }                                                                                    \
    static void name##_ref(const struct op_call *c, unsigned out, uint64_t first,        \
                           uint64_t n, struct op_want *want)                             \
    {                                                                                    \
        (void)out;                                                                       \
        ref_as(c, first, n, want, cross);                                                \
    }

KIND(self, false)
KIND(cross, true)

/* clang-format off */
#define ATTENTION_OPTIONS                                                                \
    OPTIONS(NUMBER(struct own, heads, 1, 1, 65535, "side by side in columns"),           \
            FLOAT(struct own, scale, 0, 0, 1e30, "of q k'; 0: 1 / sqrt(width of a head)"), \
            FLAG(struct own, causal, "row s sees keys 0 to s alone"),                    \
            FLOAT(struct own, drop, 0, 0, 0.999, "share of the softmax that is dropped"), \
            NUMBER(struct own, seed, 0, 0, INT32_MAX, "which, as of dropout"))
/* clang-format on */

OPERATOR(
    self_attention,
    .summary = "attention of all heads of x, with q, k and v of one product, one launch",
    .io = "x[n,s,e] w[e,p] bias?[p] -> y[n,s,u]", .shape = self_shape,
    .types = "f16 f16 f32 -> f16", .prepare = self_prepare, .run = self_run,
    .ref = self_ref, .tolerance = OP_BOUND, .check = 2, .cost = 2e4, .work = work_as,
    .options = ATTENTION_OPTIONS,
    .numpy = "y, bound = attended(x, x, w[:, :w.shape[1] // 3], w[:, w.shape[1] // 3:], "
             "bias, options)",
    .cases = CASES("--shapes 1x1x1,1x3", "--shapes 2x37x33,33x192,192 --heads 4",
                   "--shapes 1x70x48,48x240 --heads 1 --causal",
                   "--shapes 1x65x16,16x96,96 --heads 2 --drop 0.3 --seed 7",
                   "--shapes 1x20x40,40x768,768 --scale 0.02"));

OPERATOR(
    cross_attention,
    .summary = "attention of all heads of x to a context, projections within the launch",
    .io = "x[n,s,e] c[n,t,f] w[e,u] kv[f,r] bias?[p] -> y[n,s,u]", .shape = cross_shape,
    .types = "f16 f16 f16 f16 f32 -> f16", .prepare = cross_prepare, .run = cross_run,
    .ref = cross_ref, .tolerance = OP_BOUND, .check = 2, .cost = 2e4, .work = work_as,
    .options = ATTENTION_OPTIONS,
    .numpy = "y, bound = attended(x, c, w, kv, bias, options)",
    .cases = CASES("--shapes 1x1x1,1x1x1,1x1,1x2",
                   "--shapes 1x67x40,1x77x24,40x160,24x320,480 --heads 2",
                   "--shapes 2x9x16,2x33x16,16x48,16x96 --heads 3 --drop 0.5",
                   "--shapes 1x5x16,1x130x32,16x64,32x128,192 --heads 1 --causal"));
