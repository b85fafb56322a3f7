/* SPDX-License-Identifier: MIT
 *
 * matmul_q: c = s8 of scale x scales[column] x (a x b' + bias) + zero, as a network of whole
 * numbers has its fully connected layers.
 *
 * Numbers  Sums exact modulo 2^32. As the fixpipe has it a scale has 11 significant bits; exact,
 *          it is TFLite's arithmetic to the bit (kernels/conv/exact.h: |sum| below 2^30,
 *          which k up to 65535 keeps without a bias), 36 passes of the Vector.
 * How      A convolution with a filter of 1 x 1: a is a map of one column. What follows the sums
 *          there is that, so it is not here again.
 * Errors   ERR_ARG, ERR_TYPE, ERR_LOCAL: nothing was started.
 */
#include <stdio.h>

#include "kernels/conv/conv_op.h"

enum { SCALES = 3 /* operand */ };

static struct conv convolution(const struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;

    return (struct conv){.x = c->in[0].data,
                         .weight = c->in[1].data,
                         .bias = c->in[2].data,
                         .y = c->out[0].data,
                         .n = 1,
                         .h = (uint32_t)c->in[0].shape[0],
                         .w = 1,
                         .c = (uint32_t)c->in[0].shape[1],
                         .o = (uint32_t)c->in[1].shape[0],
                         .kh = 1,
                         .kw = 1,
                         .stride_h = 1,
                         .stride_w = 1,
                         .dilation_h = 1,
                         .dilation_w = 1,
                         .groups = 1,
                         .in = c->in[0].type,
                         .out = c->out[0].type,
                         .scale = o->scale,
                         .zero = o->zero,
                         .act = (enum conv_act)o->activation,
                         .cores = c->cores};
}

static int prepare(struct op_call *c)
{
    struct conv p = convolution(c);

    return conv_q_prepare(c, &p);
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct conv p = convolution(c);
    char why[CONV_TEXT];
    int err;

    report->text[0] = 0;
    conv_q_take(c, &p);
    err = c->in[SCALES].type != TYPE_F32 ? ERR_TYPE : conv_check(&p, why);
    p.weight = c->work[0];
    return err ? err : conv2d(&p, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct conv p = convolution(c);

    (void)out;
    conv_q_take(c, &p);
    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = conv_ref(&p, first + i);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    const uint64_t *a = c->in[0].shape;

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, &c->in[1]);
    work_matmul(w, TYPE_S8, a[0], c->in[1].shape[0], a[1]);
    conv_q_work(c, w);
}

#define AS_CONVOLUTION                                                                   \
    "dict(stride=1, stride_w=0, dilation=1, dilation_w=0, groups=1, pad=0, "             \
    "pad_left=-1, "                                                                      \
    "pad_bottom=-1, pad_right=-1)"

OPERATOR(matmul_q, .summary = "c = s8 of a x b' + bias, a scale of each column",
         .io = "a[m,k] b[n,k] bias[n] scales[n] -> c[m,n]",
         .types = "s8 s8 s32 f32 -> s8; s8 s8 s32 f32 -> f16", .prepare = prepare,
         .run = run, .ref = ref, .check = 64, .work = work,
         .options = OPTIONS(
             FLOAT(struct conv_own, scale, 0.001, -1e30, 1e30, "of all columns, too"),
             SIGNED(struct conv_own, zero, 0, -128, 127, "what 0 becomes"),
             CHOICE(struct conv_own, activation, "none|relu",
                    "with --exact 0 is the least, else it is before the offset"),
             FLAG(struct conv_own, exact, "TFLite's arithmetic to the bit")),
         .numpy = "conv2d_q(a[None, :, None], b[:, None, None], bias, scales, options "
                  "| " AS_CONVOLUTION ")[0, :, 0]",
         .cases = CASES("--m 1 --n 1 --k 1 --exact", "--m 17 --n 70 --k 33 --zero -3",
                        "--m 9 --n 130 --k 300 --exact --scale 3e-5 --zero 5",
                        "--m 1 --n 300 --k 40 --out f16",
                        "--m 70 --n 37 --k 129 --exact "
                        "--activation relu --zero -7"));
