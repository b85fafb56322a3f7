/* SPDX-License-Identifier: MIT
 *
 * Axes and indices of operators; see op.h.
 */
#include "kernels/index/op.h"

#include <stdio.h>

#include "kernels/cli/io.h"
#include "kernels/move/list.h"

struct around around(const struct tensor *t, unsigned axis)
{
    struct around a = {1, t->shape[axis], 1};

    for (unsigned d = 0; d < t->ndim; d++) {
        a.outer *= d < axis ? t->shape[d] : 1;
        a.inner *= d > axis ? t->shape[d] : 1;
    }
    return a;
}

unsigned axis_at(const struct op_call *c, int32_t option)
{
    return (unsigned)(option < 0 ? option + (int32_t)c->in[0].ndim : option);
}

int axis_of(const struct op_call *c, int32_t option, unsigned *axis)
{
    int32_t ndim = (int32_t)c->in[0].ndim;

    if (option < -ndim || option >= ndim) {
        fprintf(stderr, "%s: --axis %ld of %ld dimensions\n", c->op->name, (long)option,
                (long)ndim);
        return ERR_SHAPE;
    }
    *axis = axis_at(c, option);
    return 0;
}

int axis_check(const struct op_call *c, unsigned types, int32_t option, struct around *a)
{
    enum type type = c->in[0].type;
    unsigned axis;
    int err = type >= TYPE_COUNT || !(types >> type & 1) || c->out[0].type != type
                  ? ERR_TYPE
              : c->in[0].count == 0 || c->out[0].count == 0 ? ERR_ARG
                                                            : 0;

    err = err ? err : axis_of(c, option, &axis);
    if (!err) {
        *a = around(&c->in[0], axis);
    }
    return err;
}

int no_match(const struct op_call *c, const char *name, const struct tensor *t)
{
    fprintf(stderr, "%s: %s ", c->op->name, name);
    io_print_shape(stderr, t->ndim, t->shape);
    fprintf(stderr, " does not go with x ");
    io_print_shape(stderr, c->in[0].ndim, c->in[0].shape);
    fputc('\n', stderr);
    return ERR_SHAPE;
}

static int types_check(const struct op_call *c)
{
    enum type type = c->in[0].type;

    if (!list_moves(type) || c->out[0].type != type || c->in[1].type != TYPE_S32 ||
        (c->in[2].data && c->in[2].type != type)) {
        return ERR_TYPE;
    }
    return c->in[0].count == 0 || c->in[1].count == 0 || c->out[0].count == 0 ? ERR_ARG
                                                                              : 0;
}

void index_fold(const struct tensor *t, const struct places *p)
{
    int32_t *index = t->data;

    for (uint64_t i = 0; t->path == NULL && i < t->count; i++) {
        int64_t size = (int64_t)p->axis[i % p->depth].size;
        if (index[i] < -size || index[i] >= size) {
            index[i] = (int32_t)((int64_t)(uint32_t)index[i] % (2 * size) - size);
        }
    }
}

int index_check(const struct tensor *t, const struct places *p,
                struct sched_report *report)
{
    uint64_t wrong = places_wrong(p), at[NPY_MAX_DIMS];
    char *text = report->text, *end = text + sizeof(report->text);
    long size;

    if (wrong == places_indices(p)) {
        return 0;
    }
    if (t->path == NULL) {
        index_fold(t, p);
        return 0;
    }
    list_index(t, wrong, at);
    size = (long)p->axis[wrong % p->depth].size;
    text += snprintf(text, (size_t)(end - text), "index");
    for (unsigned d = 0; d < t->ndim; d++) {
        text += snprintf(text, (size_t)(end - text), "%s%llu", d ? ", " : " (",
                         (unsigned long long)at[d]);
    }
    snprintf(text, (size_t)(end - text), "%s is %ld, want %ld to %ld", t->ndim ? ")" : "",
             (long)p->index[wrong], -size, size - 1);
    return ERR_ARG;
}

int index_elements(const struct op_call *c, unsigned axis, struct rows *r)
{
    const struct tensor *x = &c->in[0], *index = &c->in[1];
    struct around a;

    for (unsigned d = 0; d < x->ndim; d++) {
        if (index->ndim != x->ndim || (d != axis && index->shape[d] != x->shape[d])) {
            return no_match(c, "index", index);
        }
    }
    a = around(x, axis);
    r->places.axis[0].size = a.n;
    r->places.axis[0].step = a.inner * r->row_bytes;
    r->places.outer = a.outer;
    r->places.outer_step = a.n * a.inner * r->row_bytes;
    r->places.n = index->shape[axis];
    r->places.inner = a.inner;
    r->places.inner_step = r->row_bytes;
    return 0;
}

int index_prepare(const struct op_call *c, places_fn *places)
{
    struct rows r;
    int err = places(c, &r);

    if (!err) {
        index_fold(&c->in[1], &r.places);
    }
    return err;
}

int index_run(const struct op_call *c, places_fn *places,
              int (*rows)(const char *name, const struct rows *r,
                          struct sched_report *report),
              struct sched_report *report)
{
    struct rows r;
    int err = types_check(c);

    report->text[0] = 0;
    err = err ? err : places(c, &r);
    err = err ? err : index_check(&c->in[1], &r.places, report);
    return err ? err : rows(c->op->name, &r, report);
}

uint64_t index_at(const struct op_call *c, uint64_t at, uint64_t size)
{
    double i = tensor_number(&c->in[1], at);

    return (uint64_t)(i < 0 ? i + (double)size : i);
}
