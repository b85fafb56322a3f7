/* SPDX-License-Identifier: MIT
 *
 * lrn: its description, and the definition in fp64. See lrn.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/lrn/lrn.h"
#include "kernels/tile/op/tile_op.h"

struct own {
    uint32_t size;
    float alpha, beta, bias;
};

static struct lrn call_of(const struct op_call *c)
{
    const struct own *o = (const void *)c->args;
    const uint64_t *x = c->in[0].shape;

    return (struct lrn){.x = c->in[0].data,
                        .y = c->out[0].data,
                        .type = c->in[0].type,
                        .n = (uint32_t)x[0],
                        .c = (uint32_t)x[1],
                        .pixels = (uint32_t)(x[2] * x[3]),
                        .size = o->size,
                        .alpha = o->alpha,
                        .beta = o->beta,
                        .bias = o->bias,
                        .cores = c->cores};
}

static int prepare(struct op_call *c)
{
    struct lrn p = call_of(c);
    struct tile_chain_room *room = tile_chain_room(c, LRN_ARENA_BYTES);
    struct tile_error error;
    int err;

    if (room == NULL) {
        return ERR_NOMEM;
    }
    err = lrn_plan(&room->plan, &p, &room->arena, &error);
    if (err) {
        return tile_chain_refuse(c, err, &error);
    }
    c->work[1] = data_alloc(c->op->name, TYPE_U8, lrn_room(&room->plan, &p));
    if (c->work[1] == NULL) {
        return ERR_NOMEM;
    }
    memset(c->work[1], 0, lrn_room(&room->plan, &p));
    return 0;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct lrn p = call_of(c);
    const struct tile_chain_room *room = c->work[0];

    return lrn(&room->plan, &p, c->work[1], report);
}

/* Logarithm and power in F32: what they may be off grows with the exponent. */
static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct lrn p = call_of(c);
    double unit = p.type == TYPE_F16 ? 0x1p-11 : 0x1p-24;

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t e = first + i, pixel = e % p.pixels, plane = e / p.pixels;
        int64_t channel = (int64_t)(plane % p.c), image = (int64_t)(plane / p.c) * p.c;
        int64_t low = channel - (p.size - 1) / 2, high = channel + p.size / 2;
        double sum = 0, power;
        for (int64_t j = low < 0 ? 0 : low; j <= high && j < p.c; j++) {
            double x = tensor_number(&c->in[0], (uint64_t)(image + j) * p.pixels + pixel);
            sum += x * x;
        }
        power = log((double)p.bias + (double)p.alpha / p.size * sum) * (double)p.beta;
        want->value[i] = tensor_number(&c->in[0], e) * exp(-power);
        want->bound[i] =
            fabs(want->value[i]) * (unit + 0x1p-21 * (1 + fabs(power))) + 0x1p-25;
        if (sum > (double)FLT_MAX) {
            want->bound[i] = INFINITY; /* as the sum may be in F32 */
        }
    }
}

static void work(const struct op_call *c, struct work *w)
{
    const struct tile_chain_room *room = c->work[0];

    tile_chain_work(&room->plan, w);
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(lrn, .summary = "x by a power of the squares of near channels, channels first",
         .io = "x[n,c,h,w] -> y[n,c,h,w]", .types = "f32 -> f32; f16 -> f16",
         .prepare = prepare, .run = run, .ref = ref, .tolerance = OP_BOUND, .check = 64,
         .work = work,
         .options = OPTIONS(NUMBER(struct own, size, 5, 1, 65535, "channels of a window"),
                            FLOAT(struct own, alpha, 1e-4, 0, 1e30,
                                  "by that: of squares"),
                            FLOAT(struct own, beta, 0.75, -100, 100, "the power"),
                            FLOAT(struct own, bias, 1, 1e-30, 1e30, "added to squares")),
         .numpy = "y, bound = normalised(x, options)",
         .cases = CASES("--shapes 1x1x1x1", "--shapes 2x7x5x6 --alpha 0.5",
                        "--shapes 3x3x4x9 --size 4 --alpha 1 --type f16",
                        "--shapes 2x20x3x3 --size 9 --alpha 2 --beta 0.5 --bias 2"));
