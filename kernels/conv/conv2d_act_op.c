/* SPDX-License-Identifier: MIT
 *
 * conv2d_act and conv2d_q: convolutions with what follows them in a network, in one launch.
 * See conv.h.
 */
#include <math.h>
#include <stdio.h>

#include "hal/chip.h"
#include "kernels/conv/conv_op.h"

enum { ADD = 3, SCALES = 3 /* operands */ };

/* --- conv2d_act: f16, the Vector behind the fixpipe --- */

static struct conv act_of(const struct op_call *c)
{
    struct conv p = conv_of(c);

    p.add = c->in[ADD].data;
    return p;
}

static int act_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct conv p = act_of(c);

    (void)number;
    return conv_op_shape(c, &p, out);
}

static int act_prepare(struct op_call *c)
{
    struct conv p = act_of(c);
    const uint64_t *y = c->out[0].shape, *add = c->in[ADD].shape;

    for (unsigned i = 0; i < 4 && p.add; i++) {
        if (add[i] != y[i]) {
            fprintf(stderr,
                    "%s: add is %llu x %llu x %llu x %llu, y %llu x %llu x %llu x "
                    "%llu\n",
                    c->op->name, (unsigned long long)add[0], (unsigned long long)add[1],
                    (unsigned long long)add[2], (unsigned long long)add[3],
                    (unsigned long long)y[0], (unsigned long long)y[1],
                    (unsigned long long)y[2], (unsigned long long)y[3]);
            return ERR_SHAPE;
        }
    }
    return conv_op_prepare(c, &p);
}

static bool act_takes(const struct op_call *c, const struct conv *p)
{
    return p->in == TYPE_F16 && (!p->add || c->in[ADD].type == TYPE_F16);
}

static int act_run(const struct op_call *c, struct sched_report *report)
{
    struct conv p = act_of(c);

    report->text[0] = 0;
    return act_takes(c, &p) ? conv_op_run(c, &p, report) : ERR_TYPE;
}

static int act_step(const struct op_call *c, struct op_step *to)
{
    struct conv p = act_of(c);

    return act_takes(c, &p) ? conv_op_step(c, &p, to) : ERR_TYPE;
}

static double activation(const struct conv *p, double x)
{
    switch (p->act) {
    case CONV_RELU:
        return x > 0 ? x : x != x ? x : 0;
    case CONV_LEAKY:
        return x < 0 ? x * p->slope : x;
    case CONV_SILU:
        return x / (1 + exp(-x));
    case CONV_SIGMOID:
        return 1 / (1 + exp(-x));
    case CONV_TANH:
        return tanh(x);
    case CONV_HARD_SWISH:
        return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    default:
        return x;
    }
}

/* The sums to the bit, then in fp64. */
static void act_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                    struct op_want *want)
{
    struct conv p = act_of(c), sums = p;
    double unit = p.out == TYPE_F16 ? 0x1p-11 : 0x1p-24;

    (void)out;
    sums.act = CONV_LINEAR;
    sums.limit = 0;
    sums.add = NULL;
    sums.out = TYPE_F32;
    for (uint64_t i = 0; i < n; i++) {
        double x = data_value(conv_ref(&sums, first + i), TYPE_F32), y;
        double add = p.add ? tensor_number(&c->in[ADD], first + i) : 0;
        y = activation(&p, p.add_last ? x : x + add);
        y = p.limit > 0 && y > (double)p.limit ? (double)p.limit : y;
        y += p.add_last ? add : 0;
        want->value[i] = y;
        want->bound[i] = unit * fabs(y) + 0x1p-22 * (fabs(x) + fabs(add)) + 0x1p-25;
    }
}

static void act_work(const struct op_call *c, struct work *w)
{
    static const enum op sigmoid[] = {OP_VMULS, OP_VEXP, OP_VADDS, OP_VREC, OP_VMUL};
    static const enum op swish[] = {OP_VMULS, OP_VADDS, OP_VMAXS, OP_VMINS, OP_VMUL};
    struct conv p = act_of(c);
    uint64_t n = c->out[0].count;
    bool tail = p.act >= CONV_SILU || p.add;

    conv_op_work(c, &p, w);
    if (!tail) {
        work_out(w, NPU_MEM_L0C, &c->out[0]);
        return;
    }
    for (unsigned i = 0; i < 5; i++) {
        if (p.act == CONV_HARD_SWISH) {
            work_vector(w, swish[i], TYPE_F32, n);
        } else if (p.act == CONV_SILU || (p.act == CONV_SIGMOID && i < 4)) {
            work_vector(w, sigmoid[i], TYPE_F32, n);
        }
    }
    if (p.act == CONV_TANH) {
        work_vector(w, OP_VTANH, TYPE_F32, n);
    } else if (p.act == CONV_RELU || p.act == CONV_LEAKY) {
        work_vector(w, OP_VRELU, TYPE_F32, n);
    }
    if (p.limit > 0) {
        work_vector(w, OP_VMINS, TYPE_F32, n);
    }
    if (p.add) {
        work_in(w, NPU_MEM_UB, &c->in[ADD]);
        work_vector(w, OP_VCONV, TYPE_F32, n);
        work_vector(w, OP_VADD, TYPE_F32, n);
    }
    work_vector(w, OP_VCONV, TYPE_F32, n);
    w->cycles[PIPE_FIX] += (double)n * 4 / chip_cost(COST_L0C_UB_RATE);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(conv2d_act, .summary = "y = act(convolution of x + bias + add), channels last",
         .io = "x[n,h,w,c] weight[o,kh,kw,i] bias?[o] add?[n,oh,ow,o] -> y[n,oh,ow,o]",
         .shape = act_shape, .types = "f16 f16 f32 f16 -> f16; f16 f16 f32 f16 -> f32",
         .prepare = act_prepare, .run = act_run, .step = act_step, .ref = act_ref,
         .tolerance = OP_BOUND, .check = 64, .work = act_work,
         .options = OPTIONS(
             CONV_WINDOW,
             CHOICE(struct conv_own, activation,
                    "none|relu|leaky|silu|sigmoid|tanh|hard_swish", "of the sums"),
             CONV_LIMIT, CONV_CUT,
             FLAG(struct conv_own, add_last, "add behind the activation, not before it")),
         .numpy = "y, bound = conv2d_act(x, weight, bias, add, options)",
         .cases = CASES(
             "--shapes 1x1x1x1,1x1x1x1 --activation tanh",
             "--shapes 2x9x7x18,21x3x3x18,21,2x9x7x21 --pad 1 --activation relu",
             "--shapes 1x12x11x32,48x3x3x32,48,1x6x6x48 --pad 1 --stride 2 --activation "
             "silu --add-last --out f32",
             "--shapes 3x4x3x33,17x1x1x33,17 --activation sigmoid",
             "--shapes 1x9x37x16,16x3x3x1,16 --groups 16 --pad 1 --activation hard_swish",
             "--shapes 1x5x6x640,40x3x3x640,40,1x5x6x40 --pad 1 --activation leaky "
             "--limit 2",
             "--shapes 1x19x23x12,32x3x3x12,32 --pad 1 --activation silu"));

/* --- conv2d_q: s8, a scale of each output channel --- */

void conv_q_take(const struct op_call *c, struct conv *p)
{
    const struct conv_own *o = (const void *)c->args;

    p->scales = c->in[SCALES].data;
    p->words = o->exact ? NULL : c->work[1];
    p->exact = o->exact ? c->work[1] : NULL;
}

int conv_q_prepare(struct op_call *c, struct conv *p)
{
    const struct conv_own *o = (const void *)c->args;
    int err;

    c->work[1] = data_alloc(c->op->name, TYPE_S32,
                            o->exact ? conv_exact_numbers(p) : 2 * (uint64_t)p->o);
    if (c->work[1] == NULL) {
        return ERR_NOMEM;
    }
    conv_q_take(c, p);
    err = conv_op_prepare(c, p);
    if (!err && o->exact) {
        conv_exact_table(p, c->work[1]);
    } else if (!err) {
        conv_words(p, c->work[1]);
    }
    return err;
}

static struct conv q_of(const struct op_call *c)
{
    struct conv p = conv_of(c);

    conv_q_take(c, &p);
    return p;
}

static int q_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct conv p = q_of(c);

    (void)number;
    return conv_op_shape(c, &p, out);
}

static int q_prepare(struct op_call *c)
{
    struct conv p = conv_of(c);

    return conv_q_prepare(c, &p);
}

static int q_run(const struct op_call *c, struct sched_report *report)
{
    struct conv p = q_of(c);

    report->text[0] = 0;
    return c->in[SCALES].type != TYPE_F32 ? ERR_TYPE : conv_op_run(c, &p, report);
}

static void q_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                  struct op_want *want)
{
    struct conv p = q_of(c);

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = conv_ref(&p, first + i);
    }
}

void conv_q_work(const struct op_call *c, struct work *w)
{
    const struct conv_own *o = (const void *)c->args;

    if (!o->exact) {
        work_out(w, NPU_MEM_L0C, &c->out[0]);
        return;
    }
    for (unsigned i = 0; i < CONV_EXACT_PASSES; i++) {
        work_vector(w, OP_VMUL, TYPE_S32, c->out[0].count);
    }
    w->cycles[PIPE_FIX] += (double)c->out[0].count * 4 / chip_cost(COST_L0C_UB_RATE);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

static void q_work(const struct op_call *c, struct work *w)
{
    struct conv p = q_of(c);

    conv_op_work(c, &p, w);
    conv_q_work(c, w);
}

OPERATOR(conv2d_q,
         .summary = "y = s8 of convolution of x + bias, a scale of each channel",
         .io = "x[n,h,w,c] weight[o,kh,kw,i] bias[o] scales[o] -> y[n,oh,ow,o]",
         .shape = q_shape, .types = "s8 s8 s32 f32 -> s8; s8 s8 s32 f32 -> f16",
         .prepare = q_prepare, .run = q_run, .ref = q_ref, .check = 64, .work = q_work,
         .options = OPTIONS(
             CONV_WINDOW, CONV_CUT,
             FLOAT(struct conv_own, scale, 0.001, -1e30, 1e30, "of all channels, too"),
             SIGNED(struct conv_own, zero, 0, -128, 127, "what 0 becomes"),
             CHOICE(struct conv_own, activation, "none|relu",
                    "with --exact 0 is the least, else it is before the "
                    "offset"),
             FLAG(struct conv_own, exact, "TFLite's arithmetic to the bit")),
         .numpy = "conv2d_q(x, weight, bias, scales, options)",
         .cases = CASES(
             "--shapes 1x1x1x1,1x1x1x1,1,1 --exact",
             "--shapes 2x5x6x20,37x3x3x20,37,37 --pad 1 --zero -3",
             "--shapes 1x11x9x40,70x2x3x40,70,70 --dilation 2 --exact --activation relu "
             "--zero 5",
             "--shapes 1x9x8x33,130x3x3x33,130,130 --exact --scale 3e-5"));
