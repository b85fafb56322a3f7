/* SPDX-License-Identifier: MIT
 *
 * cumsum: sums up to each element along an axis; --exclusive without it, --reverse from it on.
 *
 * Types, numbers, cost: cumsum.h. Where few elements lie beside each other but many lines do,
 * x is transposed so that lines are lanes, and y back again: two launches more (kernels/move).
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/cli/limit.h"
#include "kernels/index/op.h"
#include "kernels/move/move.h"
#include "kernels/scan/cumsum.h"

enum { FEW_LINES = 16 };

struct own {
    int32_t axis;
    bool exclusive, reverse;
};

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    unsigned axis;

    (void)number;
    (void)out;
    return axis_of(c, ((const struct own *)(const void *)c->args)->axis, &axis);
}

/* y (b, a, c) = x (a, b, c), of sizes as in x. */
static int turn(const struct op_call *c, const void *x, void *y, const uint64_t size[3],
                struct sched_report *report)
{
    struct move m = {.x = x,
                     .y = y,
                     .esize = type_bits(c->in[0].type) / 8,
                     .ndim = 3,
                     .dim = {{size[1], size[2], size[0] * size[2]},
                             {size[0], size[1] * size[2], size[2]},
                             {size[2], 1, 1}}};

    return move("cumsum", &m, 1, c->cores, report);
}

/* (outer, n, inner) as (n, outer, inner), one line of many lanes. */
static int run_turned(const struct op_call *c, struct cumsum *s,
                      struct sched_report *report)
{
    const uint64_t there[] = {s->outer, s->n, s->inner},
                   back[] = {s->n, s->outer, s->inner};
    uint64_t bytes = (c->in[0].count * (type_bits(s->type) / 8) + 511) / 512 * 512;
    char *room = malloc(2 * bytes);
    int err = room ? turn(c, s->x, room, there, report) : ERR_NOMEM;

    s->x = room;
    s->y = room + bytes;
    s->inner *= s->outer;
    s->outer = 1;
    err = err ? err : cumsum("cumsum", s, report);
    err = err ? err : turn(c, s->y, c->out[0].data, back, report);
    free(room);
    return err;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    const struct own *own = (const void *)c->args;
    const unsigned types = 1u << TYPE_F32 | 1u << TYPE_F16 | 1u << TYPE_S32;
    struct cumsum s;
    struct around a;
    int err = axis_check(c, types, own->axis, &a);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    s = (struct cumsum){.x = c->in[0].data,
                        .y = c->out[0].data,
                        .outer = a.outer,
                        .inner = a.inner,
                        .n = (uint32_t)a.n,
                        .exclusive = own->exclusive,
                        .reverse = own->reverse,
                        .type = c->in[0].type,
                        .cores = c->cores};
    return a.inner < CUMSUM_LANES && a.outer * a.inner >= FEW_LINES && a.outer > 1
               ? run_turned(c, &s, report)
               : cumsum("cumsum", &s, report);
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_vector(w, OP_VADD, TYPE_F32, c->in[0].count);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

/* n is a row of the result. Along the last axis each sum is the one before and one more. */
static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct own *own = (const void *)c->args;
    const struct tensor *x = &c->in[0];
    struct around a = around(x, axis_at(c, own->axis));
    double sum = 0, size = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = own->reverse ? n - 1 - i : i, e = first + at, k = e / a.inner % a.n;
        uint64_t done = own->reverse ? a.n - 1 - k : k, terms = done + !own->exclusive;
        uint64_t next = a.inner > 1 || i == 0 ? 0 : terms - 1;
        sum = next || terms == 0 ? sum : 0;
        size = next || terms == 0 ? size : 0;
        for (; next < terms; next++) {
            uint64_t j = own->reverse ? a.n - 1 - next : next;
            double v = tensor_number(x, e - k * a.inner + j * a.inner);
            sum += v;
            size += fabs(v);
        }
        want->value[at] = x->type == TYPE_S32 ? (int32_t)(uint32_t)(int64_t)sum : sum;
        want->bound[at] = x->type == TYPE_S32 ? 0 : size * ldexp((double)terms + 1, -24);
        if (c->out[out].type == TYPE_F16) {
            want->bound[at] += fabs(sum) * 0x1p-11 + 0x1p-25;
        }
    }
}

OPERATOR(cumsum, .summary = "the sums of all elements up to each along an axis",
         .io = "x[...] -> y[...]", .shape = shape,
         .types = "f32 -> f32; f16 -> f16; s32 -> s32", .run = run, .ref = ref,
         .tolerance = OP_BOUND, .whole_rows = true, .check = 64, .work = work,
         .options = OPTIONS(SIGNED(struct own, axis, -1, -8, 7, "of x"),
                            FLAG(struct own, exclusive, "without the element"),
                            FLAG(struct own, reverse, "from each to the last")),
         .numpy = "both = cumulated(x, options)\ny, bound = both",
         .cases = CASES("--n 1", "--shapes 7x5 --type f16",
                        "--shapes 5x40x3 --axis 1 --reverse",
                        "--shapes 3x50x90 --axis 1 --exclusive --type s32",
                        "--shapes 40x33 --exclusive --reverse --type f16",
                        "--n 5000 --exclusive --type s32", "--shapes 2x4500 --reverse",
                        "--shapes 9x1100 --axis 0"));
