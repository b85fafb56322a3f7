/* SPDX-License-Identifier: MIT
 *
 * matmul_q: c = s8 of scale x scales[column] x (a x b' + bias) + zero, as a network of whole
 * numbers has its fully connected layers.
 *
 * Numbers  Sums exact modulo 2^32. As the fixpipe has it a scale has 11 significant bits; exact,
 *          it is TFLite's arithmetic to the bit (kernels/conv/exact.h: |sum| below 2^30,
 *          which k up to 65535 keeps without a bias), 36 passes of the Vector; or ONNX's,
 *          QLinearMatMul's: round(fp32(sum) * (scale * scales[column])) + zero, to the nearest,
 *          ties to even, each step in fp32, 8 passes; then a, b and c may be U8, too.
 * How      A convolution with a filter of 1 x 1: a is a map of one column. What follows the sums
 *          there is that, so it is not here again. ONNX's is the Matmul object's
 *          (kernels/mm/finish.h).
 * Errors   ERR_ARG, ERR_TYPE, ERR_LOCAL: nothing was started.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "kernels/conv/conv_op.h"
#include "kernels/matmul/matmul.h"

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

/* --- ONNX's --- */

enum { TFLITE, ONNX };
enum { ONNX_PASSES = 8 /* of the Vector */ };

static bool is_onnx(const struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;

    return o->exact && o->rounding == ONNX;
}

static struct matmul product(const struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;

    return (struct matmul){.a = c->in[0].data,
                           .b = c->in[1].data,
                           .b_transposed = true,
                           .bias = c->in[2].data,
                           .c = c->out[0].data,
                           .scales = c->work[1],
                           .work = c->work[0],
                           .m = (uint32_t)c->in[0].shape[0],
                           .n = (uint32_t)c->in[1].shape[0],
                           .k = (uint32_t)c->in[0].shape[1],
                           .in = c->in[0].type,
                           .in_b = c->in[1].type,
                           .out = c->out[0].type,
                           .zero = o->zero,
                           .act.relu = o->activation ? FIX_RELU_PLAIN : FIX_RELU_NONE,
                           .cores = c->cores};
}

/* The scales, and room for operands that are made. */
static int prepare_onnx(struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;
    struct matmul p = product(c);
    uint64_t bytes = mm_made_bytes(matmul_asked(&p));
    float *scales = data_alloc(c->op->name, TYPE_F32, p.n);

    c->work[1] = scales;
    c->work[0] = bytes ? data_alloc(c->op->name, TYPE_U8, bytes) : NULL;
    if (scales == NULL || (bytes && c->work[0] == NULL)) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < p.n; i++) {
        scales[i] = o->scale * ((const float *)c->in[SCALES].data)[i];
        if (!isfinite(scales[i])) {
            fprintf(stderr, "%s: scales[%u] is no number\n", c->op->name, (unsigned)i);
            return ERR_ARG;
        }
    }
    return 0;
}

static bool is_u8(const struct op_call *c)
{
    return c->in[0].type == TYPE_U8 || c->in[1].type == TYPE_U8 ||
           c->out[0].type == TYPE_U8;
}

/* --- the operator --- */

/* What contradicts itself in the options, or NULL. */
static const char *contradiction(const struct op_call *c)
{
    const struct conv_own *o = (const void *)c->args;

    if (o->rounding == ONNX && !o->exact) {
        return "--rounding onnx wants --exact";
    }
    if (is_u8(c) && !is_onnx(c)) {
        return "u8 wants --exact --rounding onnx";
    }
    if (is_onnx(c) && c->out[0].type == TYPE_F16) {
        return "ONNX's are whole numbers, not f16";
    }
    if (o->zero > 127 && c->out[0].type != TYPE_U8) {
        return "--zero above 127 is of u8";
    }
    return NULL;
}

static int prepare(struct op_call *c)
{
    const char *no = contradiction(c);
    struct conv p;

    if (no) {
        fprintf(stderr, "%s: %s\n", c->op->name, no);
        return ERR_ARG;
    }
    p = convolution(c);
    return is_onnx(c) ? prepare_onnx(c) : conv_q_prepare(c, &p);
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct matmul onnx = product(c);
    struct conv p = convolution(c);
    char why[CONV_TEXT];
    int err;

    if (is_onnx(c)) {
        return matmul(&onnx, report);
    }
    report->text[0] = 0;
    conv_q_take(c, &p);
    err = c->in[SCALES].type != TYPE_F32 ? ERR_TYPE : conv_check(&p, why);
    p.weight = c->work[0];
    return err ? err : conv2d(&p, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct matmul onnx = product(c);
    struct conv p = convolution(c);

    (void)out;
    conv_q_take(c, &p);
    for (uint64_t i = first; i < first + n; i++) {
        want->bits[i - first] =
            is_onnx(c) ? matmul_ref(&onnx, (uint32_t)(i / onnx.n), (uint32_t)(i % onnx.n))
                       : conv_ref(&p, i);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    const uint64_t *a = c->in[0].shape;

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, &c->in[1]);
    work_matmul(w, TYPE_S8, a[0], c->in[1].shape[0], a[1]);
    if (is_onnx(c)) {
        for (unsigned i = 0; i < ONNX_PASSES; i++) {
            work_vector(w, OP_VMUL, TYPE_F32, c->out[0].count);
        }
        w->cycles[PIPE_FIX] +=
            (double)c->out[0].count * sizeof(int32_t) / chip_cost(COST_L0C_UB_RATE);
        work_out(w, NPU_MEM_UB, &c->out[0]);
    } else {
        conv_q_work(c, w);
    }
}

#define AS_CONVOLUTION                                                                   \
    "dict(stride=1, stride_w=0, dilation=1, dilation_w=0, groups=1, pad=0, "             \
    "pad_left=-1, "                                                                      \
    "pad_bottom=-1, pad_right=-1)"

OPERATOR(
    matmul_q, .summary = "c = s8 of a x b' + bias, a scale of each column",
    .io = "a[m,k] b[n,k] bias[n] scales[n] -> c[m,n]",
    .types = "s8 s8 s32 f32 -> s8; s8 s8 s32 f32 -> f16; s8 s8 s32 f32 -> u8; "
             "u8 s8 s32 f32 -> u8; u8 s8 s32 f32 -> s8; u8 u8 s32 f32 -> u8; "
             "u8 u8 s32 f32 -> s8; s8 u8 s32 f32 -> s8; s8 u8 s32 f32 -> u8",
    .prepare = prepare, .run = run, .ref = ref, .check = 64, .work = work,
    .options =
        OPTIONS(FLOAT(struct conv_own, scale, 0.001, -1e30, 1e30, "of all columns, too"),
                SIGNED(struct conv_own, zero, 0, -128, 255, "what 0 becomes"),
                CHOICE(struct conv_own, activation, "none|relu",
                       "with --exact 0 is the least, else it is before the offset"),
                FLAG(struct conv_own, exact, "arithmetic of others, to the bit"),
                CHOICE(struct conv_own, rounding, "tflite|onnx", "with --exact: whose")),
    .numpy = "(lambda y: np.clip((y.clip(0) if options['activation'] == 'relu' else y) "
             "+ zero, *limits(options['out'])))(np.rint(product(a, b.T, bias)"
             ".astype(np.float32) * (np.float32(scale) * scales))) "
             "if options['rounding'] == 'onnx' else conv2d_q(a[None, :, None], b[:, "
             "None, None], bias, scales, options "
             "| " AS_CONVOLUTION ")[0, :, 0]",
    .cases =
        CASES("--m 1 --n 1 --k 1 --exact", "--m 17 --n 70 --k 33 --zero -3",
              "--m 9 --n 130 --k 300 --exact --scale 3e-5 --zero 5",
              "--m 1 --n 300 --k 40 --out f16",
              "--m 33 --n 70 --k 129 --exact --rounding onnx --type u8,u8 --zero 128",
              "--m 20 --n 130 --k 33 --exact --rounding onnx --activation relu "
              "--scale 0.037 --zero -7",
              "--m 70 --n 37 --k 129 --exact "
              "--activation relu --zero -7"));
