/* SPDX-License-Identifier: MIT
 *
 * What max_pool and avg_pool are: their descriptions, and poolings by definition.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/pool/pool.h"

struct own {
    uint32_t kernel, kernel_w, stride, stride_w, dilation, pad;
    int32_t pad_left, pad_bottom, pad_right;
    bool global, include_pad;
};

static struct pool parameters(const struct op_call *c, bool mean)
{
    const struct own *o = (const void *)c->args;
    const uint64_t *x = c->in[0].shape;
    int32_t pad = (int32_t)o->pad, left = o->pad_left < 0 ? pad : o->pad_left;
    struct pool p = {.x = c->in[0].data,
                     .y = c->out[0].data,
                     .n = (uint32_t)x[0],
                     .h = (uint32_t)x[1],
                     .w = (uint32_t)x[2],
                     .c = (uint32_t)x[3],
                     .kh = o->kernel,
                     .kw = o->kernel_w ? o->kernel_w : o->kernel,
                     .stride_h = o->stride,
                     .stride_w = o->stride_w ? o->stride_w : o->stride,
                     .dilation_h = o->dilation,
                     .dilation_w = o->dilation,
                     .pad_top = (uint32_t)pad,
                     .pad_left = (uint32_t)left,
                     .pad_bottom = (uint32_t)(o->pad_bottom < 0 ? pad : o->pad_bottom),
                     .pad_right = (uint32_t)(o->pad_right < 0 ? left : o->pad_right),
                     .type = c->in[0].type,
                     .mean = mean,
                     .include_pad = o->include_pad,
                     .cores = c->cores};

    if (o->global) {
        p.kh = p.h;
        p.kw = p.w;
    }
    return p;
}

static int shape_of(const struct op_call *c, bool mean, struct tensor *out)
{
    struct pool p = parameters(c, mean);
    char why[POOL_TEXT];

    if (pool_check(&p, why)) {
        fprintf(stderr, "%s: %s\n", c->op->name, why);
        return ERR_SHAPE;
    }
    out->shape[1] = pool_oh(&p);
    out->shape[2] = pool_ow(&p);
    return 0;
}

/* What nobody has checked yet. */
static int check(const struct op_call *c, const struct pool *p)
{
    char why[POOL_TEXT];
    int err = pool_check(p, why);

    if (!err && c->out[0].type != p->type) {
        err = ERR_TYPE;
    }
    if (!err && (c->out[0].shape[1] != pool_oh(p) || c->out[0].shape[2] != pool_ow(p))) {
        err = ERR_ARG;
    }
    return err;
}

static int run(const struct op_call *c, bool mean, struct sched_report *report)
{
    struct pool p = parameters(c, mean);
    int err = check(c, &p);

    report->text[0] = 0;
    return err ? err : pool(&p, report);
}

static int step(const struct op_call *c, bool mean, struct op_step *to)
{
    struct pool p = parameters(c, mean);
    int err = check(c, &p);

    to->kernel = pool_step_block;
    to->free = free;
    return err ? err : pool_step(&p, &to->arg);
}

/* Each element of x, of y and of the rows between them once, by the Vector. */
static void work(const struct op_call *c, bool mean, struct work *w)
{
    struct pool p = parameters(c, mean);
    enum type sum = mean ? TYPE_F32 : p.type;
    uint64_t rows = (uint64_t)p.n * pool_oh(&p) * p.c;

    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_vector(w, mean ? OP_VADD : OP_VMAX, sum, rows * p.w * (p.kh - 1));
    work_vector(w, mean ? OP_VADD : OP_VMAX, sum, rows * pool_ow(&p) * (p.kw - 1));
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

/* What is in the window of an element of y: numbers of x, at most kh * kw. */
struct window {
    double max, sum, size; /* size: sum of magnitudes */
    uint32_t n;
};

static struct window window_of(const struct op_call *c, const struct pool *p, uint64_t i)
{
    struct window w = {.max = -INFINITY};
    uint64_t ow = pool_ow(p), oh = pool_oh(p), channel = i % p->c, q = i / p->c % ow;
    uint64_t row = i / p->c / ow % oh, image = i / p->c / ow / oh;

    for (uint32_t r = 0; r < p->kh; r++) {
        for (uint32_t s = 0; s < p->kw; s++) {
            int64_t y = (int64_t)(row * p->stride_h + r * p->dilation_h) - p->pad_top;
            int64_t x = (int64_t)(q * p->stride_w + s * p->dilation_w) - p->pad_left;
            double v;
            if (y < 0 || y >= p->h || x < 0 || x >= p->w) {
                continue;
            }
            v = tensor_number(&c->in[0],
                              ((image * p->h + (uint64_t)y) * p->w + (uint64_t)x) * p->c +
                                  channel);
            w.max = isnan(v) || isnan(w.max)                   ? NAN
                    : v > w.max || (v == w.max && !signbit(v)) ? v
                                                               : w.max;
            w.sum += v;
            w.size += fabs(v);
            w.n++;
        }
    }
    return w;
}

static int max_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    return shape_of(c, false, out);
}

static int max_run(const struct op_call *c, struct sched_report *report)
{
    return run(c, false, report);
}

static int max_step(const struct op_call *c, struct op_step *to)
{
    return step(c, false, to);
}

static void max_work(const struct op_call *c, struct work *w)
{
    work(c, false, w);
}

static void max_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                    struct op_want *want)
{
    struct pool p = parameters(c, false);

    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = data_round(window_of(c, &p, first + i).max, c->out[out].type);
    }
}

static int mean_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    return shape_of(c, true, out);
}

static int mean_run(const struct op_call *c, struct sched_report *report)
{
    return run(c, true, report);
}

static int mean_step(const struct op_call *c, struct op_step *to)
{
    return step(c, true, to);
}

static void mean_work(const struct op_call *c, struct work *w)
{
    work(c, true, w);
}

/* A rounding for each addition, one of the reciprocal, one of the product, one to y's type. */
static void mean_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                     struct op_want *want)
{
    struct pool p = parameters(c, true);

    for (uint64_t i = 0; i < n; i++) {
        struct window w = window_of(c, &p, first + i);
        double of = p.include_pad ? (double)p.kh * p.kw : w.n;
        want->value[i] = w.sum / of;
        want->bound[i] =
            w.size / of * ldexp(w.n + 2, -24) +
            fabs(want->value[i]) * (c->out[out].type == TYPE_F16 ? 0x1p-11 : 0) +
            (c->out[out].type == TYPE_F16 ? 0x1p-25 : 0x1p-149);
        if (w.size > (double)FLT_MAX) {
            want->bound[i] = INFINITY; /* as a sum in F32 may be before it is divided */
        }
    }
}

#define POOL_OPTIONS                                                                     \
    NUMBER(struct own, kernel, 2, 1, 32767, "rows, and columns"),                        \
        NUMBER(struct own, kernel_w, 0, 0, 32767, "columns; 0: as rows"),                \
        NUMBER(struct own, stride, 1, 1, 32767, "rows, and columns"),                    \
        NUMBER(struct own, stride_w, 0, 0, 32767, "columns; 0: as rows"),                \
        NUMBER(struct own, dilation, 1, 1, 255, "rows, and columns"),                    \
        NUMBER(struct own, pad, 0, 0, 255, "above x, and on each side"),                 \
        SIGNED(struct own, pad_left, -1, -1, 255, "-1: as --pad"),                       \
        SIGNED(struct own, pad_bottom, -1, -1, 255, "-1: as --pad"),                     \
        SIGNED(struct own, pad_right, -1, -1, 255, "-1: as --pad-left"),                 \
        FLAG(struct own, global, "the window is all of a map")

OPERATOR(
    max_pool, .summary = "the largest in each window, channels last",
    .io = "x[n,h,w,c] -> y[n,oh,ow,c]", .shape = max_shape,
    .types = "f16 -> f16; f32 -> f32; s32 -> s32; s16 -> s16", .run = max_run,
    .step = max_step, .ref = max_ref, .check = 1024, .work = max_work,
    .options = OPTIONS(POOL_OPTIONS), .numpy = "pooled(x, options, largest)",
    .cases = CASES("--n 1 --h 1 --w 1 --c 1 --kernel 1",
                   "--n 1 --h 7 --w 9 --c 3 --kernel 3 --stride 2 --pad 1 --type f32",
                   "--n 2 --h 4 --w 30 --c 20 --kernel 1 --stride 3 --type s16",
                   "--n 1 --h 9 --w 12 --c 70 --kernel 3 --kernel-w 2 --dilation 2",
                   "--n 2 --h 5 --w 6 --c 33 --global --type s32",
                   "--n 1 --h 14 --w 18 --c 40 --kernel 5 --pad 2 --data special"));

OPERATOR(
    avg_pool, .summary = "the mean of each window, channels last",
    .io = "x[n,h,w,c] -> y[n,oh,ow,c]", .shape = mean_shape,
    .types = "f16 -> f16; f32 -> f32", .run = mean_run, .step = mean_step,
    .ref = mean_ref, .tolerance = OP_BOUND, .check = 1024, .work = mean_work,
    .options = OPTIONS(POOL_OPTIONS,
                       FLAG(struct own, include_pad, "pads count as zeros")),
    .numpy = "y = pooled(x, options, np.mean)\n"
             "bound = pooled(abs(x), options, np.mean) * "
             "(2.0**-10 if options['out'] == np.float16 else 2.0**-18) + 2.0**-25",
    .cases = CASES("--n 1 --h 1 --w 1 --c 1 --kernel 1",
                   "--n 1 --h 7 --w 9 --c 3 --kernel 3 --stride 2 --pad 1 --type f32",
                   "--n 2 --h 4 --w 30 --c 20 --kernel 1 --stride 3",
                   "--n 1 --h 9 --w 12 --c 70 --kernel 3 --pad 1 --include-pad",
                   "--n 2 --h 7 --w 7 --c 130 --global",
                   "--n 1 --h 14 --w 18 --c 40 --kernel 5 --pad 2 --dilation 2"));
