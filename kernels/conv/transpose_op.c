/* SPDX-License-Identifier: MIT
 *
 * conv_transpose and its definition; see transpose.h.
 */
#include <stdio.h>

#include "kernels/conv/conv_op.h"
#include "kernels/conv/transpose.h"
#include "kernels/lib/f16.h"

enum { BLOCK = 16 /* channels that are added up one behind the other */ };

static struct conv_transpose transpose_of(const struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;
    int32_t wide = o->output_pad_w;

    return (struct conv_transpose){.p = conv_of(c),
                                   .more_h = o->output_pad,
                                   .more_w = wide < 0 ? o->output_pad : (uint32_t)wide};
}

/* What is wrong; told on stderr. */
static int check(const struct op_call *c, const struct conv_transpose *t)
{
    char why[CONV_TEXT];
    int err = conv_op_channels(c, &t->p);

    if (err) {
        return err;
    }
    err = conv_transpose_check(t, why);
    if (err) {
        fprintf(stderr, "%s: %s\n", c->op->name, why);
    }
    return err ? ERR_SHAPE : 0;
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct conv_transpose t = transpose_of(c);

    (void)number;
    if (check(c, &t)) {
        return ERR_SHAPE;
    }
    out->shape[1] = conv_transpose_oh(&t);
    out->shape[2] = conv_transpose_ow(&t);
    return 0;
}

static int prepare(struct op_call *c)
{
    static struct sched_report report;
    struct conv_transpose t = transpose_of(c);

    if (!conv_op_room(c, &t.p, conv_transpose_packed_bytes(&t))) {
        return ERR_NOMEM;
    }
    return conv_op_packed(c, conv_transpose_pack(&t, t.p.weight, c->work[0], &report),
                          &report);
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct conv_transpose t = transpose_of(c);
    char why[CONV_TEXT];
    int err = conv_transpose_check(&t, why);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    if (c->in[1].shape[3] * t.p.groups != t.p.c ||
        c->out[0].shape[1] != conv_transpose_oh(&t) ||
        c->out[0].shape[2] != conv_transpose_ow(&t)) {
        return ERR_ARG;
    }
    t.p.weight = c->work[0];
    return conv_transpose(&t, report);
}

/* --- the definition --- */

/* An element of y, and what has been added up for it. */
struct place {
    const struct conv *p;
    int64_t n, row, col;
    uint64_t o;
    float sum;      /* of F16 */
    uint32_t whole; /* of S8 */
};

/* x at, or 0 where there is none, times the weight at. */
static void add_one(struct place *e, bool there, uint64_t x, uint64_t weight)
{
    if (e->p->in == TYPE_S8) {
        const int8_t *from = e->p->x, *by = e->p->weight;
        e->whole += (uint32_t)((there ? from[x] : 0) * by[weight]);
    } else {
        const uint16_t *from = e->p->x, *by = e->p->weight;
        e->sum = fmaf(there ? f16_to_f32(from[x]) : 0, f16_to_f32(by[weight]), e->sum);
    }
}

/* Channels [first, first + BLOCK) of the group under tap (r, s), if it is one of the place's. */
static bool add(struct place *e, uint32_t r, uint32_t s, uint32_t first)
{
    const struct conv *p = e->p;
    int64_t down = e->row + p->pad_top - (int64_t)r * p->dilation_h;
    int64_t across = e->col + p->pad_left - (int64_t)s * p->dilation_w;
    int64_t h = down / p->stride_h, w = across / p->stride_w;
    bool there = down >= 0 && across >= 0 && h < p->h && w < p->w;
    uint32_t in = p->c / p->groups;
    uint64_t from = e->o / (p->o / p->groups) * in;

    if (down % p->stride_h != 0 || across % p->stride_w != 0) {
        return false;
    }
    for (uint32_t i = first; i < first + BLOCK; i++) {
        if (i < in) {
            add_one(e, there, (uint64_t)((e->n * p->h + h) * p->w + w) * p->c + from + i,
                    ((e->o * p->kh + r) * p->kw + s) * in + i);
        } else {
            e->sum += 0.0f;
        }
    }
    return true;
}

static uint32_t element(const struct conv_transpose *t, uint64_t i)
{
    const struct conv *p = &t->p;
    uint64_t oh = conv_transpose_oh(t), ow = conv_transpose_ow(t);
    struct place e = {.p = p,
                      .n = (int64_t)(i / p->o / ow / oh),
                      .row = (int64_t)(i / p->o / ow % oh),
                      .col = (int64_t)(i / p->o % ow),
                      .o = i % p->o};
    bool any = false;

    if (p->bias && p->in == TYPE_S8) {
        e.whole = ((const uint32_t *)p->bias)[e.o];
    } else if (p->bias) {
        e.sum = ((const float *)p->bias)[e.o];
    }
    for (uint32_t first = 0; first < p->c / p->groups; first += BLOCK) {
        for (uint32_t r = p->kh; r-- > 0;) {
            for (uint32_t s = p->kw; s-- > 0;) {
                any = add(&e, r, s, first) || any;
            }
        }
    }
    e.sum += any ? -0.0f : 0.0f; /* without taps it is bias + 0 x 0 */
    return p->in == TYPE_S8 ? conv_ref_whole(p, (uint32_t)e.o, e.whole)
                            : conv_ref_finish(p, e.sum);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct conv_transpose t = transpose_of(c);

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = element(&t, first + i);
    }
}

/* x and the weights once, and a product for each part. */
static void work(const struct op_call *c, struct work *w)
{
    struct conv_transpose t = transpose_of(c);
    struct conv_part part;
    struct conv p;

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, &c->in[1]);
    w->macs = 0;
    for (uint32_t i = 0; i < conv_transpose_parts(&t); i++) {
        conv_transpose_part(&t, i, &p, &part);
        uint64_t pixels = (uint64_t)p.n * conv_oh(&p) * conv_ow(&p);
        uint32_t k = p.kh * p.kw * (p.c / p.groups);
        for (uint32_t g = 0; g < p.groups && !part.empty; g++) {
            work_matmul(w, p.in, pixels, p.o / p.groups, k);
        }
    }
    work_out(w, NPU_MEM_L0C, &c->out[0]);
}

OPERATOR(
    conv_transpose,
    .summary = "y = act(transposed convolution of x + bias), channels last",
    .io = "x[n,h,w,c] weight[o,kh,kw,i] bias?[o] -> y[n,oh,ow,o]", .shape = shape,
    .types = "f16 f16 f32 -> f16; f16 f16 f32 -> f32; s8 s8 s32 -> s32; "
             "s8 s8 s32 -> s8; s8 s8 s32 -> f16",
    .prepare = prepare, .run = run, .ref = ref, .check = 64, .work = work,
    .options = OPTIONS(
        CONV_WINDOW, CONV_SCALE,
        NUMBER(struct conv_own, output_pad, 0, 0, 254, "rows more of y, and columns"),
        SIGNED(struct conv_own, output_pad_w, -1, -1, 254, "-1: as --output-pad"),
        CHOICE(struct conv_own, activation, "none|relu|leaky", "behind the bias"),
        CONV_LIMIT),
    .numpy = "conv_transpose(x, weight, bias, options)",
    .cases = CASES(
        "--shapes 1x1x1x1,1x1x1x1", "--shapes 2x5x6x20,7x4x4x20,7 --stride 2 --pad 1",
        "--shapes 1x4x5x33,18x3x3x33 --stride 2 --output-pad 1 --out f32",
        "--shapes 1x7x9x16,40x2x2x8,40 --stride 2 --groups 2 --activation relu",
        "--shapes 1x6x5x3,5x1x2x3,5 --stride 3 --stride-w 2 --output-pad-w 1",
        "--shapes 1x5x4x18,6x3x3x18,6 --stride 2 --dilation 3 --pad 2 --pad-right 0",
        "--shapes 3x3x4x24,20x3x3x6 --groups 4 --pad 1 --dilation-w 2",
        "--shapes 2x5x6x40,9x4x3x40,9 --stride 2 --pad 1 --type s8 --out s8 --zero -3 "
        "--scale 2e-4 --activation relu",
        "--shapes 1x3x4x33,18x2x3x33 --stride 3 --type s8 --out f16",
        "--shapes 1x4x3x8,4x3x3x4,4 --groups 2 --stride 2 --dilation 2 --type s8",
        "--shapes 1x9x8x16,16x5x4x16,16 --stride 4 --dilation 2 --pad 7 "
        "--activation leaky --limit 2",
        "--shapes 1x3x40x320,24x3x3x320,24 --stride 1 --stride-w 2 --pad 2"));
