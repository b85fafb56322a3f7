/* SPDX-License-Identifier: MIT
 *
 * gather, of an axis:    y[.., index[..], ..] of x, the index' dimensions in its place
 * gather_elements:       y[o, k, i] = x[o, index[o, k, i], i]
 * gather_nd:             y[b, k] = x[b, index[b, k, 0], index[b, k, 1], ..], which is a row of
 *                        the dimensions that are left; b: the first --batch dimensions
 *
 * as ONNX's Gather, GatherElements, GatherND have them: an index from -size to -1 counts from
 * the end, others are refused, by position and value. Any type, bits are moved. Memory, cost
 * and errors: rows.h.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/cli/limit.h"
#include "kernels/index/op.h"
#include "kernels/index/rows.h"
#include "kernels/move/list.h"

static struct rows begin(const struct op_call *c)
{
    return (struct rows){.x = c->in[0].data,
                         .y = c->out[0].data,
                         .row_bytes = type_bits(c->in[0].type) / 8,
                         .places = {.index = c->in[1].data, .depth = 1, .inner = 1},
                         .cores = c->cores};
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[1]);
    list_work(c, w);
}

/* --- gather --- */

struct own {
    int32_t axis;
};

static int gather_places(const struct op_call *c, struct rows *r)
{
    const struct own *own = (const void *)c->args;
    struct around a;
    unsigned axis;
    int err = axis_of(c, own->axis, &axis);

    if (err) {
        return err;
    }
    a = around(&c->in[0], axis);
    *r = begin(c);
    r->row_bytes *= a.inner;
    r->places.axis[0].size = a.n;
    r->places.axis[0].step = r->row_bytes;
    r->places.outer = a.outer;
    r->places.outer_step = a.n * r->row_bytes;
    r->places.n = c->in[1].count;
    r->places.shared = true;
    return 0;
}

static int gather_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    const struct own *own = (const void *)c->args;
    const struct tensor *x = &c->in[0], *index = &c->in[1];
    unsigned axis;
    int err = axis_of(c, own->axis, &axis);

    (void)number;
    if (err) {
        return err;
    }
    out->ndim = x->ndim + index->ndim - 1;
    for (unsigned d = 0; d < out->ndim && d < NPY_MAX_DIMS; d++) {
        out->shape[d] = d < axis                 ? x->shape[d]
                        : d < axis + index->ndim ? index->shape[d - axis]
                                                 : x->shape[d + 1 - index->ndim];
    }
    return 0;
}

static int gather_run(const struct op_call *c, struct sched_report *report)
{
    return index_run(c, gather_places, rows_gather, report);
}

static int gather_prepare(struct op_call *c)
{
    return index_prepare(c, gather_places);
}

static void gather_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                       struct op_want *want)
{
    const struct tensor *x = &c->in[0], *index = &c->in[1];
    unsigned axis = axis_at(c, ((const struct own *)(const void *)c->args)->axis);
    uint64_t at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        uint64_t of = 0, from = 0;
        list_index(&c->out[out], first + i, at);
        for (unsigned d = 0; d < index->ndim; d++) {
            of = of * index->shape[d] + at[axis + d];
        }
        for (unsigned d = 0; d < x->ndim; d++) {
            from = from * x->shape[d] + (d == axis  ? index_at(c, of, x->shape[d])
                                         : d < axis ? at[d]
                                                    : at[d + index->ndim - 1]);
        }
        want->bits[i] = data_bits(x->data, x->type, from);
    }
}

OPERATOR(gather, .summary = "rows, or other parts, of x by index along an axis",
         .io = "x[*] index[*] -> y[*]", .shape = gather_shape, .types = INDEX_TYPES,
         .run = gather_run, .prepare = gather_prepare, .ref = gather_ref, .check = 4096,
         .work = work, .options = OPTIONS(SIGNED(struct own, axis, 0, -8, 7, "of x")),
         .numpy = "np.take(x, index, axis)",
         .cases = CASES("--shapes 1,1", "--shapes 5x7,3 --axis 1 --type f16",
                        "--shapes 9x4x5,2x3 --axis -2 --type s8",
                        "--shapes 300x40,500 --type s16", "--shapes 2x9000,3 --type s64",
                        "--shapes 7x3x11,40 --axis 2"));

/* --- gather_elements --- */

static int elements_places(const struct op_call *c, struct rows *r)
{
    const struct own *own = (const void *)c->args;
    unsigned axis;
    int err = axis_of(c, own->axis, &axis);

    *r = begin(c);
    return err ? err : index_elements(c, axis, r);
}

static int elements_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct rows r;

    (void)number;
    out->ndim = c->in[1].ndim;
    memcpy(out->shape, c->in[1].shape, sizeof(out->shape));
    return elements_places(c, &r);
}

static int elements_run(const struct op_call *c, struct sched_report *report)
{
    return index_run(c, elements_places, rows_gather, report);
}

static int elements_prepare(struct op_call *c)
{
    return index_prepare(c, elements_places);
}

static void elements_ref(const struct op_call *c, unsigned out, uint64_t first,
                         uint64_t n, struct op_want *want)
{
    const struct tensor *x = &c->in[0];
    unsigned axis = axis_at(c, ((const struct own *)(const void *)c->args)->axis);
    uint64_t at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        uint64_t from = 0;
        list_index(&c->out[out], first + i, at);
        at[axis] = index_at(c, first + i, x->shape[axis]);
        for (unsigned d = 0; d < x->ndim; d++) {
            from = from * x->shape[d] + at[d];
        }
        want->bits[i] = data_bits(x->data, x->type, from);
    }
}

OPERATOR(gather_elements, .summary = "an element of x for each index along an axis",
         .io = "x[*] index[*] -> y[*]", .shape = elements_shape, .types = INDEX_TYPES,
         .run = elements_run, .prepare = elements_prepare, .ref = elements_ref,
         .check = 4096, .work = work,
         .options = OPTIONS(SIGNED(struct own, axis, 0, -8, 7, "of x")),
         .numpy = "np.take_along_axis(x, index, axis)",
         .cases = CASES("--shapes 1,1", "--shapes 5x7,5x3 --axis 1 --type f16",
                        "--shapes 9x4x5,9x2x5 --axis -2 --type s8",
                        "--shapes 30x40,70x40 --type s16",
                        "--shapes 2x900,2x30 --axis 1 --type s64",
                        "--shapes 7x3x11,7x3x40 --axis 2"));

/* --- gather_nd --- */

struct nd {
    uint32_t batch;
};

static int nd_places(const struct op_call *c, struct rows *r)
{
    const struct tensor *x = &c->in[0], *index = &c->in[1];
    unsigned batch = ((const struct nd *)(const void *)c->args)->batch, depth;
    bool fits = index->ndim > batch && x->ndim > batch;

    depth = fits ? (unsigned)index->shape[index->ndim - 1] : 0;
    fits = fits && depth > 0 && depth <= x->ndim - batch;
    for (unsigned d = 0; d < batch && fits; d++) {
        fits = index->shape[d] == x->shape[d];
    }
    if (!fits) {
        return no_match(c, "index", index);
    }
    *r = begin(c);
    for (unsigned d = batch + depth; d < x->ndim; d++) {
        r->row_bytes *= x->shape[d];
    }
    r->places.depth = depth;
    r->places.outer_step = r->row_bytes;
    for (unsigned d = depth; d-- > 0;) {
        r->places.axis[d].size = x->shape[batch + d];
        r->places.axis[d].step = r->places.outer_step;
        r->places.outer_step *= x->shape[batch + d];
    }
    r->places.outer = 1;
    for (unsigned d = 0; d < batch; d++) {
        r->places.outer *= x->shape[d];
    }
    r->places.n = index->count / depth / r->places.outer;
    return 0;
}

static int nd_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    const struct tensor *x = &c->in[0], *index = &c->in[1];
    unsigned batch = ((const struct nd *)(const void *)c->args)->batch, at;
    struct rows r;
    int err = nd_places(c, &r);

    (void)number;
    if (err) {
        return err;
    }
    out->ndim = index->ndim - 1;
    at = batch + r.places.depth;
    memcpy(out->shape, index->shape, sizeof(out->shape));
    for (; at < x->ndim; at++, out->ndim++) {
        if (out->ndim < NPY_MAX_DIMS) {
            out->shape[out->ndim] = x->shape[at];
        }
    }
    return 0;
}

static int nd_run(const struct op_call *c, struct sched_report *report)
{
    return index_run(c, nd_places, rows_gather, report);
}

static int nd_prepare(struct op_call *c)
{
    return index_prepare(c, nd_places);
}

static void nd_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want)
{
    const struct tensor *x = &c->in[0], *index = &c->in[1];
    unsigned batch = ((const struct nd *)(const void *)c->args)->batch;
    uint64_t depth = index->shape[index->ndim - 1], at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        uint64_t tuple = 0, from = 0;
        list_index(&c->out[out], first + i, at);
        for (unsigned d = 0; d + 1 < index->ndim; d++) {
            tuple = tuple * index->shape[d] + at[d];
        }
        for (unsigned d = 0; d < x->ndim; d++) {
            uint64_t e = d < batch ? at[d]
                         : d < batch + depth
                             ? index_at(c, tuple * depth + d - batch, x->shape[d])
                             : at[index->ndim - 1 + d - batch - depth];
            from = from * x->shape[d] + e;
        }
        want->bits[i] = data_bits(x->data, x->type, from);
    }
}

OPERATOR(gather_nd, .summary = "rows of x by the tuples of indices that index ends with",
         .io = "x[*] index[*] -> y[*]", .shape = nd_shape, .types = INDEX_TYPES,
         .run = nd_run, .prepare = nd_prepare, .ref = nd_ref, .check = 4096, .work = work,
         .options = OPTIONS(NUMBER(struct nd, batch, 0, 0, 7, "dimensions in common")),
         .numpy = "gathered(x, index, batch)",
         .cases = CASES("--shapes 1,1", "--shapes 5x7,3x2 --type f16",
                        "--shapes 9x4x5,9x2x1 --batch 1 --type s8",
                        "--shapes 30x4x90,70x2 --type s16",
                        "--shapes 2x3x5x7,2x3x4x2 --batch 2 --type s64",
                        "--shapes 7x3x11,2x40x2"));
