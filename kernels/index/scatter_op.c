/* SPDX-License-Identifier: MIT
 *
 * scatter_elements:  y = x; then y[o, index[o, k, i], i] = .. op u[o, k, i]
 * scatter_nd:        y = x; then y[index[k, 0], index[k, 1], ..] = .. op u[k], rows of the
 *                    dimensions that are left
 *
 * as ONNX's ScatterElements and ScatterND have them, with --reduce for op: none (the row
 * replaces what is there, of two the later one), add, mul, max, min. An index from -size to
 * -1 counts from the end, others are refused, by position and value. Types, numbers, order,
 * cost and errors: rows.h; what is reduced is not U8 and not S64, a product not S8.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cli/limit.h"
#include "kernels/index/op.h"
#include "kernels/index/rows.h"
#include "kernels/move/list.h"

struct own {
    uint32_t reduce; /* enum rows_op */
    int32_t axis;    /* of scatter_elements alone */
};

static struct rows begin(const struct op_call *c)
{
    const struct own *own = (const void *)c->args;
    uint64_t esize = type_bits(c->in[0].type) / 8;

    return (struct rows){.x = c->in[2].data,
                         .y = c->out[0].data,
                         .base = c->in[0].data,
                         .row_bytes = esize,
                         .places = {.index = c->in[1].data, .depth = 1, .inner = 1},
                         .op = (enum rows_op)own->reduce,
                         .type = c->in[0].type,
                         .cores = c->cores};
}

/* Also whether there is such a reduction of the type, which nothing has asked yet. */
static int prepare(struct op_call *c, places_fn *places)
{
    const struct own *own = (const void *)c->args;
    enum type type = c->in[0].type;
    int err = index_prepare(c, places);

    if (!err && !rows_can((enum rows_op)own->reduce, type)) {
        fprintf(stderr, "%s: --reduce %s of %s\n", c->op->name,
                (const char *[]){"none", "add", "mul", "max", "min"}[own->reduce],
                type_name(type));
        err = ERR_TYPE;
    }
    return err;
}

static int shape(const struct op_call *c, places_fn *places, struct tensor *out)
{
    struct rows r;

    out->ndim = c->in[0].ndim;
    memcpy(out->shape, c->in[0].shape, sizeof(out->shape));
    return places(c, &r);
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[1]);
    work_in(w, NPU_MEM_UB, &c->in[2]);
    list_work(c, w);
}

/* What is there and what comes, in the type. */
static uint64_t combine(enum rows_op op, enum type type, uint64_t before, uint64_t with)
{
    double a = data_value(before, type), b = data_value(with, type);

    switch (op) {
    case ROWS_SET:
        return with;
    case ROWS_ADD:
        return data_round(a + b, type);
    case ROWS_MUL:
        if (type == TYPE_S32) {
            return (uint32_t)before * (uint32_t)with;
        }
        return data_round(a * b, type);
    default:
        if (isnan(a) || isnan(b)) {
            return data_round(NAN, type);
        }
        if (a == b) {
            return signbit(a) == (op == ROWS_MAX) ? with : before;
        }
        return (a < b) == (op == ROWS_MAX) ? with : before;
    }
}

#define REDUCE CHOICE(struct own, reduce, "none|add|mul|max|min", "what is there with u")

/* --- scatter_elements --- */

static int elements_places(const struct op_call *c, struct rows *r)
{
    const struct own *own = (const void *)c->args;
    const struct tensor *index = &c->in[1], *u = &c->in[2];
    unsigned axis;
    int err = axis_of(c, own->axis, &axis);

    *r = begin(c);
    r->y_rows = c->in[0].count;
    err = err ? err : index_elements(c, axis, r);
    if (!err && (u->ndim != index->ndim ||
                 memcmp(u->shape, index->shape, u->ndim * sizeof(u->shape[0])) != 0)) {
        err = no_match(c, "u", u);
    }
    return err;
}

static int elements_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    return shape(c, elements_places, out);
}

static int elements_run(const struct op_call *c, struct sched_report *report)
{
    return index_run(c, elements_places, rows_scatter, report);
}

static int elements_prepare(struct op_call *c)
{
    return prepare(c, elements_places);
}

static void elements_ref(const struct op_call *c, unsigned out, uint64_t first,
                         uint64_t n, struct op_want *want)
{
    const struct own *own = (const void *)c->args;
    const struct tensor *x = &c->in[0], *index = &c->in[1], *u = &c->in[2];
    unsigned axis = axis_at(c, own->axis);
    uint64_t at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        uint64_t to;
        list_index(&c->out[out], first + i, at);
        to = at[axis];
        want->bits[i] = data_bits(x->data, x->type, first + i);
        for (uint64_t k = 0; k < index->shape[axis]; k++) {
            uint64_t from = 0;
            at[axis] = k;
            for (unsigned d = 0; d < x->ndim; d++) {
                from = from * index->shape[d] + at[d];
            }
            if (index_at(c, from, x->shape[axis]) == to) {
                want->bits[i] = combine((enum rows_op)own->reduce, x->type, want->bits[i],
                                        data_bits(u->data, u->type, from));
            }
        }
    }
}

OPERATOR(scatter_elements, .summary = "x with u at the indices along an axis",
         .io = "x[*] index[*] u[*] -> y[*]", .shape = elements_shape,
         .types = SCATTER_TYPES, .run = elements_run, .prepare = elements_prepare,
         .ref = elements_ref, .check = 4096, .work = work,
         .options = OPTIONS(REDUCE, SIGNED(struct own, axis, 0, -8, 7, "of x")),
         .numpy = "scattered(x, index, u, axis, reduce)",
         .cases = CASES("--shapes 1,1,1", "--shapes 5x7,5x3,5x3 --axis 1 --type f16",
                        "--shapes 9x4x5,9x2x5,9x2x5 --axis -2 --type s8",
                        "--shapes 30x40,70x40,70x40 --type s16 --reduce add",
                        "--shapes 7x3x11,7x3x5,7x3x5 --axis 2 --reduce mul",
                        "--shapes 2x90,2x30,2x30 --axis 1 --type s64",
                        "--shapes 20x30,40x30,40x30 --reduce max"));

/* --- scatter_nd --- */

static int nd_places(const struct op_call *c, struct rows *r)
{
    const struct tensor *x = &c->in[0], *index = &c->in[1], *u = &c->in[2];
    unsigned depth = index->ndim ? (unsigned)index->shape[index->ndim - 1] : 0;
    bool fits =
        depth > 0 && depth <= x->ndim && u->ndim == index->ndim - 1 + x->ndim - depth;

    if (depth == 0 || depth > x->ndim) {
        return no_match(c, "index", index);
    }
    *r = begin(c);
    for (unsigned d = 0; d < u->ndim && fits; d++) {
        fits = u->shape[d] == (d + 1 < index->ndim
                                   ? index->shape[d]
                                   : x->shape[depth + d - (index->ndim - 1)]);
    }
    if (!fits) {
        return no_match(c, "u", u);
    }
    for (unsigned d = depth; d < x->ndim; d++) {
        r->row_bytes *= x->shape[d];
    }
    r->y_rows = 1;
    for (unsigned d = depth; d-- > 0; r->y_rows *= x->shape[d]) {
        r->places.axis[d].size = x->shape[d];
        r->places.axis[d].step = r->y_rows * r->row_bytes;
    }
    r->places.depth = depth;
    r->places.outer = 1;
    r->places.n = index->count / depth;
    return 0;
}

static int nd_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    return shape(c, nd_places, out);
}

static int nd_run(const struct op_call *c, struct sched_report *report)
{
    return index_run(c, nd_places, rows_scatter, report);
}

static int nd_prepare(struct op_call *c)
{
    return prepare(c, nd_places);
}

static void nd_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want)
{
    const struct own *own = (const void *)c->args;
    const struct tensor *x = &c->in[0], *index = &c->in[1], *u = &c->in[2];
    uint64_t depth = index->shape[index->ndim - 1], row = 1;

    (void)out;
    for (unsigned d = (unsigned)depth; d < x->ndim; d++) {
        row *= x->shape[d];
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t e = first + i;
        want->bits[i] = data_bits(x->data, x->type, e);
        for (uint64_t k = 0; k < index->count / depth; k++) {
            uint64_t to = 0;
            for (unsigned d = 0; d < depth; d++) {
                to = to * x->shape[d] + index_at(c, k * depth + d, x->shape[d]);
            }
            if (to == e / row) {
                want->bits[i] = combine((enum rows_op)own->reduce, x->type, want->bits[i],
                                        data_bits(u->data, u->type, k * row + e % row));
            }
        }
    }
}

OPERATOR(scatter_nd, .summary = "x with rows u at the tuples of indices",
         .io = "x[*] index[*] u[*] -> y[*]", .shape = nd_shape, .types = SCATTER_TYPES,
         .run = nd_run, .prepare = nd_prepare, .ref = nd_ref, .check = 4096, .work = work,
         .options = OPTIONS(REDUCE), .numpy = "scattered_rows(x, index, u, reduce)",
         .cases = CASES("--shapes 1,1x1,1", "--shapes 5x7,3x2,3 --type f16",
                        "--shapes 9x4x5,2x3x1,2x3x4x5 --type s8 --reduce min",
                        "--shapes 30x90,70x1,70x90 --type s16 --reduce mul",
                        "--shapes 3x9000,4x1,4x9000 --reduce mul",
                        "--shapes 2x3x5x7,4x2,4x5x7 --type s64",
                        "--shapes 20x33,40x1,40x33 --reduce add"));
