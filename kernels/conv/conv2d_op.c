/* SPDX-License-Identifier: MIT
 *
 * What conv2d is, and what its kin share. The definition is in conv_ref.c.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "kernels/conv/conv_op.h"

struct conv conv_of(const struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;
    const uint64_t *x = c->in[0].shape, *weight = c->in[1].shape;
    int32_t pad = (int32_t)o->pad, left = o->pad_left < 0 ? pad : o->pad_left;

    return (struct conv){.x = c->in[0].data,
                         .weight = c->in[1].data,
                         .bias = c->in[2].data,
                         .y = c->out[0].data,
                         .n = (uint32_t)x[0],
                         .h = (uint32_t)x[1],
                         .w = (uint32_t)x[2],
                         .c = (uint32_t)x[3],
                         .o = (uint32_t)weight[0],
                         .kh = (uint32_t)weight[1],
                         .kw = (uint32_t)weight[2],
                         .stride_h = o->stride,
                         .stride_w = o->stride_w ? o->stride_w : o->stride,
                         .dilation_h = o->dilation,
                         .dilation_w = o->dilation_w ? o->dilation_w : o->dilation,
                         .groups = o->groups,
                         .pad_top = pad,
                         .pad_left = left,
                         .pad_bottom = o->pad_bottom < 0 ? pad : o->pad_bottom,
                         .pad_right = o->pad_right < 0 ? left : o->pad_right,
                         .in = c->in[0].type,
                         .out = c->out[0].type,
                         .scale = o->scale,
                         .zero = o->zero,
                         .act = (enum conv_act)o->activation,
                         .slope = o->slope,
                         .limit = o->limit < INFINITY ? o->limit : 0,
                         .add_last = o->add_last,
                         .cut = o->cut,
                         .cores = c->cores};
}

int conv_op_channels(const struct op_call *c, const struct conv *p)
{
    if (c->in[1].shape[3] * p->groups == p->c) {
        return 0;
    }
    fprintf(stderr, "%s: weight has %llu channels, want the %lu of x / %lu groups\n",
            c->op->name, (unsigned long long)c->in[1].shape[3], (unsigned long)p->c,
            (unsigned long)p->groups);
    return ERR_SHAPE;
}

int conv_op_shape(const struct op_call *c, const struct conv *p, struct tensor *out)
{
    char why[CONV_TEXT];
    int err = conv_op_channels(c, p);

    if (err) {
        return err;
    }
    err = conv_check(p, why);
    if (err) {
        fprintf(stderr, "%s: %s\n", c->op->name, why);
        return ERR_SHAPE;
    }
    out->shape[1] = conv_oh(p);
    out->shape[2] = conv_ow(p);
    return 0;
}

bool conv_op_room(struct op_call *c, const struct conv *p, uint64_t bytes)
{
    c->work[0] = data_alloc(c->op->name, p->in, bytes * 8 / type_bits(p->in));
    return c->work[0] != NULL;
}

int conv_op_packed(const struct op_call *c, int err, const struct sched_report *report)
{
    if (err) {
        fprintf(stderr, "%s: weights: %s\n%s\n", c->op->name, err_text(err),
                report->text);
    }
    return err;
}

/* The weights' fractals, which no launch that is measured makes. */
int conv_op_prepare(struct op_call *c, const struct conv *p)
{
    static struct sched_report report;
    char why[CONV_TEXT];
    int err = conv_check(p, why);

    if (err) {
        fprintf(stderr, "%s: %s\n", c->op->name, why);
        return err;
    }
    if (!conv_op_room(c, p, conv_packed_bytes(p))) {
        return ERR_NOMEM;
    }
    err = conv_pack(p, p->weight, c->work[0], &report);
    return conv_op_packed(c, err, &report);
}

/* Checks what nobody has checked yet, and gives it the packed weights. */
static int complete(const struct op_call *c, struct conv *p)
{
    char why[CONV_TEXT];
    int err = conv_check(p, why);

    if (err) {
        return err;
    }
    if (c->in[1].shape[3] * p->groups != p->c || c->out[0].shape[1] != conv_oh(p) ||
        c->out[0].shape[2] != conv_ow(p)) {
        return ERR_ARG;
    }
    p->weight = c->work[0];
    return 0;
}

int conv_op_run(const struct op_call *c, struct conv *p, struct sched_report *report)
{
    int err = complete(c, p);

    report->text[0] = 0;
    return err ? err : conv2d(p, report);
}

int conv_op_step(const struct op_call *c, struct conv *p, struct op_step *to)
{
    int err = complete(c, p);

    to->kernel = conv_step_block;
    to->free = conv_step_free;
    return err ? err : conv_step(p, &to->arg);
}

/* Depthwise each block of channels is a product with a diagonal for each tap, for which each
 * window comes to L0A. */
void conv_op_work(const struct op_call *c, const struct conv *p, struct work *w)
{
    bool apart = conv_is_depthwise(p);
    uint64_t pixels = (uint64_t)p->n * conv_oh(p) * conv_ow(p), taps = p->kh * p->kw;
    uint32_t block = type_c0(p->in),
             groups = apart ? (p->c + block - 1) / block : p->groups;

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, &c->in[1]);
    for (uint32_t g = 0; g < groups; g++) {
        work_matmul(w, p->in, pixels, apart ? block : p->o / p->groups,
                    taps * (apart ? block : p->c / p->groups));
    }
    if (apart) {
        w->cycles[PIPE_MTE1] +=
            (double)(pixels * taps * groups) * MTE_BLOCK / chip_cost(COST_L1_L0A_RATE);
    }
    w->macs = pixels * p->o * taps * (p->c / p->groups);
}

/* --- conv2d: nothing but the fixpipe --- */

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct conv p = conv_of(c);

    (void)number;
    return conv_op_shape(c, &p, out);
}

static int prepare(struct op_call *c)
{
    struct conv p = conv_of(c);

    return conv_op_prepare(c, &p);
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct conv p = conv_of(c);

    return conv_op_run(c, &p, report);
}

static int step(const struct op_call *c, struct op_step *to)
{
    struct conv p = conv_of(c);

    return conv_op_step(c, &p, to);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct conv p = conv_of(c);

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = conv_ref(&p, first + i);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    struct conv p = conv_of(c);

    conv_op_work(c, &p, w);
    work_out(w, NPU_MEM_L0C, &c->out[0]);
}

OPERATOR(
    conv2d, .summary = "y = act(convolution of x + bias), channels last",
    .io = "x[n,h,w,c] weight[o,kh,kw,i] bias?[o] -> y[n,oh,ow,o]", .shape = shape,
    .types = "f16 f16 f32 -> f16; f16 f16 f32 -> f32; s8 s8 s32 -> s32; "
             "s8 s8 s32 -> s8; s8 s8 s32 -> f16",
    .prepare = prepare, .run = run, .step = step, .ref = ref, .check = 64, .work = work,
    .options = OPTIONS(CONV_WINDOW, CONV_SCALE,
                       CHOICE(struct conv_own, activation, "none|relu|leaky",
                              "behind the bias"),
                       CONV_LIMIT, CONV_CUT),
    .numpy = "conv2d(x, weight, bias, options)",
    .cases = CASES(
        "--n 1 --h 1 --w 1 --c 1 --o 1 --kh 1 --kw 1 --i 1",
        "--n 2 --h 5 --w 6 --c 3 --o 5 --kh 3 --kw 2 --i 3 --pad 1 --pad-right 0",
        "--n 2 --h 5 --w 6 --c 4 --o 3 --kh 2 --kw 2 --i 4 --pad 1",
        "--shapes 2x9x10x40,70x3x3x40,70 --pad 1 --cut n32k16r4c6m16l2p",
        "--shapes 1x9x10x40,70x3x3x40,70 --cut n48r3m16b1x2p",
        "--n 1 --h 9 --w 7 --c 6 --o 8 --kh 3 --kw 3 --i 3 --groups 2 --stride 2",
        "--n 1 --h 11 --w 9 --c 40 --o 35 --kh 2 --kw 3 --i 40 --dilation 2 "
        "--dilation-w 3 --activation relu --type s8 --out s8 --zero 5 --scale 1e-4",
        "--n 3 --h 4 --w 3 --c 33 --o 17 --kh 1 --kw 1 --i 33 --out f32",
        "--shapes 1x6x5x20,3x2x2x20 --type s8",
        "--shapes 2x13x17x4,19x6x6x4,19 --stride 2 --pad 2",
        "--shapes 2x9x11x40,24x1x1x20,24 --groups 2 --stride 2 --stride-w 3",
        "--shapes 1x9x10x8,40x3x2x8 --pad 1 --type s8 --stride-w 2",
        "--n 1 --h 7 --w 5 --c 18 --o 21 --kh 3 --kw 3 --i 18 --activation leaky "
        "--slope 0.25 --limit 1.5",
        "--n 1 --h 9 --w 37 --c 20 --o 20 --kh 3 --kw 3 --i 1 --groups 20 --pad 1",
        "--n 2 --h 13 --w 8 --c 40 --o 40 --kh 3 --kw 2 --i 1 --groups 40 --stride 2"));
