/* SPDX-License-Identifier: MIT
 *
 * Channels last: depth_to_space makes squares of block x block pixels of the channels of
 * one, space_to_depth the reverse:
 *
 *   y[n, h * block + i, w * block + j, c] = x[n, h, w, (i * block + j) * d + c]
 *
 * with d channels in y; TensorFlow's, and ONNX's mode DCR. Types of 1, 2, 4 and 8 bytes.
 */
#include <stdio.h>

#include "kernels/cli/limit.h"
#include "kernels/move/list.h"

struct own {
    uint32_t block;
};

static uint32_t block_of(const struct op_call *c)
{
    return ((const struct own *)(const void *)c->args)->block;
}

static int to_space_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    uint32_t b = block_of(c);

    (void)number;
    if (c->in[0].shape[3] % (b * b)) {
        fprintf(stderr, "%s: %llu channels are no multiple of %lu x %lu\n", c->op->name,
                (unsigned long long)c->in[0].shape[3], (unsigned long)b,
                (unsigned long)b);
        return ERR_SHAPE;
    }
    out->shape[1] = c->in[0].shape[1] * b;
    out->shape[2] = c->in[0].shape[2] * b;
    out->shape[3] = c->in[0].shape[3] / b / b;
    return 0;
}

static int to_depth_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    uint32_t b = block_of(c);

    (void)number;
    if (c->in[0].shape[1] % b || c->in[0].shape[2] % b) {
        fprintf(stderr, "%s: %llu x %llu pixels are no multiple of %lu\n", c->op->name,
                (unsigned long long)c->in[0].shape[1],
                (unsigned long long)c->in[0].shape[2], (unsigned long)b);
        return ERR_SHAPE;
    }
    out->shape[1] = c->in[0].shape[1] / b;
    out->shape[2] = c->in[0].shape[2] / b;
    out->shape[3] = c->in[0].shape[3] * b * b;
    return 0;
}

/* Between an array of fine pixels and one of coarse ones: n, h, i, w, j, c. */
static int run(const struct op_call *c, bool to_space, struct sched_report *report)
{
    const struct tensor *fine = to_space ? &c->out[0] : &c->in[0];
    const struct tensor *coarse = to_space ? &c->in[0] : &c->out[0];
    uint64_t b = block_of(c), w = coarse->shape[2], d = fine->shape[3], row = w * b * d;
    struct move m = list_move(c);
    int err = list_check(c);

    if (err) {
        return err;
    }
    if (fine->shape[0] != coarse->shape[0] || fine->shape[1] != coarse->shape[1] * b ||
        fine->shape[2] != w * b || coarse->shape[3] != d * b * b) {
        return ERR_ARG;
    }
    m.ndim = 6;
    m.dim[0] = (struct move_dim){fine->shape[0], coarse->shape[1] * b * row,
                                 coarse->shape[1] * b * row};
    m.dim[1] = (struct move_dim){coarse->shape[1], b * row, b * row};
    m.dim[2] = (struct move_dim){b, b * d, row};
    m.dim[3] = (struct move_dim){w, b * b * d, b * d};
    m.dim[4] = (struct move_dim){b, d, d};
    m.dim[5] = (struct move_dim){d, 1, 1};
    for (unsigned i = 2; i < 4 && !to_space; i++) {
        m.dim[i] = (struct move_dim){m.dim[i].size, m.dim[i].y_step, m.dim[i].x_step};
    }
    return move(c->op->name, &m, 1, c->cores, report);
}

static int to_space_run(const struct op_call *c, struct sched_report *report)
{
    return run(c, true, report);
}

static int to_depth_run(const struct op_call *c, struct sched_report *report)
{
    return run(c, false, report);
}

/* Element (n, h, w, c) of an array. */
static uint64_t bits_at(const struct tensor *t, uint64_t n, uint64_t h, uint64_t w,
                        uint64_t c)
{
    return data_bits(t->data, t->type,
                     ((n * t->shape[1] + h) * t->shape[2] + w) * t->shape[3] + c);
}

static void to_space_ref(const struct op_call *c, unsigned out, uint64_t first,
                         uint64_t n, struct op_want *want)
{
    uint64_t b = block_of(c), d = c->out[out].shape[3], at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        list_index(&c->out[out], first + i, at);
        want->bits[i] = bits_at(&c->in[0], at[0], at[1] / b, at[2] / b,
                                (at[1] % b * b + at[2] % b) * d + at[3]);
    }
}

static void to_depth_ref(const struct op_call *c, unsigned out, uint64_t first,
                         uint64_t n, struct op_want *want)
{
    uint64_t b = block_of(c), d = c->in[0].shape[3], at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        list_index(&c->out[out], first + i, at);
        want->bits[i] = bits_at(&c->in[0], at[0], at[1] * b + at[3] / d / b,
                                at[2] * b + at[3] / d % b, at[3] % d);
    }
}

OPERATOR(depth_to_space, .summary = "squares of pixels of the channels of one",
         .io = "x[n,h,w,c] -> y[n,p,q,d]", .shape = to_space_shape, .types = LIST_TYPES,
         .run = to_space_run, .ref = to_space_ref, .check = 4096, .work = list_work,
         .options = OPTIONS(NUMBER(struct own, block, 2, 1, 256, "pixels, each way")),
         .numpy = "x.reshape(n, h, w, block, block, -1).transpose(0, 1, 3, 2, 4, 5)"
                  ".reshape(n, h * block, w * block, -1)",
         .cases = CASES("--n 1 --h 1 --w 1 --c 4",
                        "--n 2 --h 3 --w 5 --c 18 --block 3 --type f16",
                        "--n 1 --h 40 --w 3 --c 4 --type u8",
                        "--n 2 --h 2 --w 5 --c 256 --block 4 --type f16"));

OPERATOR(space_to_depth, .summary = "channels of the pixels of squares",
         .io = "x[n,h,w,c] -> y[n,p,q,d]", .shape = to_depth_shape, .types = LIST_TYPES,
         .run = to_depth_run, .ref = to_depth_ref, .check = 4096, .work = list_work,
         .options = OPTIONS(NUMBER(struct own, block, 2, 1, 256, "pixels, each way")),
         .numpy = "x.reshape(n, h // block, block, w // block, block, c)"
                  ".transpose(0, 1, 3, 2, 4, 5).reshape(n, h // block, w // block, -1)",
         .cases = CASES("--n 1 --h 1 --w 1 --c 4 --block 1",
                        "--n 2 --h 6 --w 9 --c 5 --block 3 --type f16",
                        "--n 1 --h 40 --w 6 --c 1 --type u8",
                        "--n 1 --h 32 --w 64 --c 3 --type f16"));
