/* SPDX-License-Identifier: MIT
 *
 * resize_linear: its description, and the definition in fp64. See resize.h.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/lib/f16.h"
#include "kernels/resize/resize.h"
#include "kernels/tile/op/tile_op.h"

struct own {
    uint32_t rows, columns;
    bool corners;
};

static const struct own *own_of(const struct op_call *c)
{
    return (const void *)c->args;
}

static struct resize call_of(const struct op_call *c)
{
    const uint64_t *x = c->in[0].shape;

    return (struct resize){.x = c->in[0].data,
                           .y = c->out[0].data,
                           .type = c->in[0].type,
                           .n = (uint32_t)x[0],
                           .h = (uint32_t)x[1],
                           .w = (uint32_t)x[2],
                           .c = (uint32_t)x[3],
                           .rows = own_of(c)->rows,
                           .columns = own_of(c)->columns,
                           .corners = own_of(c)->corners,
                           .cores = c->cores};
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    out->shape[1] = own_of(c)->rows;
    out->shape[2] = own_of(c)->columns;
    return 0;
}

static int prepare(struct op_call *c)
{
    struct resize p = call_of(c);
    struct tile_chain_room *room = tile_chain_room(c, RESIZE_ARENA_BYTES);
    struct tile_error error;
    int err;

    if (room == NULL) {
        return ERR_NOMEM;
    }
    err = resize_plan(&room->plan, &p, &room->arena, &error);
    if (err) {
        return tile_chain_refuse(c, err, &error);
    }
    c->work[1] = data_alloc(c->op->name, TYPE_U8, resize_room(&room->plan, &p));
    if (c->work[1] == NULL) {
        return ERR_NOMEM;
    }
    resize_weights(&p, c->work[1]);
    return 0;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct resize p = call_of(c);
    const struct tile_chain_room *room = c->work[0];

    report->text[0] = 0;
    if (c->out[0].type != p.type) {
        return ERR_TYPE;
    }
    if (c->out[0].shape[1] != p.rows || c->out[0].shape[2] != p.columns) {
        return ERR_ARG;
    }
    return resize(&room->plan, &p, c->work[1], report);
}

/* What the machine has of a weight may be 0. */
static double weight_of(const struct resize *p, uint32_t of_x, uint32_t of_y,
                        uint32_t from, uint32_t to)
{
    double weight = resize_weight(p->corners, of_x, of_y, from, to);
    float held =
        p->type == TYPE_F16 ? f16_to_f32(f32_to_f16((float)weight)) : (float)weight;

    return held == 0 ? 0 : weight;
}

/* Weights, and in F16 what lies between the steps, are rounded; as many sums have two terms. */
static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct resize p = call_of(c);
    double unit = p.type == TYPE_F16 ? 0x1p-11 : 0x1p-24;

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t e = first + i, at = e / p.c, image = at / p.columns / p.rows;
        uint32_t q = (uint32_t)(at % p.columns), r = (uint32_t)(at / p.columns % p.rows);
        double sum = 0, size = 0;
        for (uint32_t h = 0; h < p.h; h++) {
            double a = weight_of(&p, p.h, p.rows, h, r);
            for (uint32_t w = 0; a > 0 && w < p.w; w++) {
                uint64_t from = ((image * p.h + h) * p.w + w) * p.c + e % p.c;
                double weight = a * weight_of(&p, p.w, p.columns, w, q);
                double term = weight > 0 ? weight * tensor_number(&c->in[0], from) : 0;
                sum += term;
                size += fabs(term);
            }
        }
        want->value[i] = sum;
        want->bound[i] = 6 * unit * size + (p.type == TYPE_F16 ? 0x1p-23 : 0x1p-147);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    const struct tile_chain_room *room = c->work[0];

    tile_chain_work(&room->plan, w);
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(resize_linear, .summary = "x at other rows and columns, linear between its own",
         .io = "x[n,h,w,c] -> y[n,p,q,c]", .shape = shape,
         .types = "f32 -> f32; f16 -> f16", .prepare = prepare, .run = run, .ref = ref,
         .tolerance = OP_BOUND, .check = 64, .work = work,
         .options = OPTIONS(NUMBER(struct own, rows, 8, 1, 65535, "of y"),
                            NUMBER(struct own, columns, 8, 1, 65535, "of y"),
                            FLAG(struct own, corners,
                                 "those of x and y lie on each other")),
         .numpy = "y, bound = interpolated(x, rows, columns, options)",
         .cases = CASES("--n 1 --h 1 --w 1 --c 1", "--n 2 --h 3 --w 5 --c 7 --rows 7",
                        "--n 1 --h 9 --w 20 --c 20 --rows 4 --columns 33 --type f16",
                        "--n 2 --h 6 --w 7 --c 16 --rows 12 --columns 14 --corners",
                        "--n 2 --h 3 --w 4 --c 40 --rows 7 --columns 9 --data bits",
                        "--n 1 --h 8 --w 8 --c 9 --rows 4 --columns 16 --data special "
                        "--type f16",
                        "--n 2 --h 6 --w 17 --c 33 --rows 13 --columns 34 --type f16"));
