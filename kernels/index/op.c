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

int axis_of(const struct op_call *c, int32_t option, unsigned *axis)
{
    int32_t ndim = (int32_t)c->in[0].ndim;

    if (option < -ndim || option >= ndim) {
        fprintf(stderr, "%s: --axis %ld of %ld dimensions\n", c->op->name, (long)option,
                (long)ndim);
        return ERR_SHAPE;
    }
    *axis = (unsigned)(option < 0 ? option + ndim : option);
    return 0;
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

int index_types(const struct op_call *c)
{
    const unsigned types = 1u << TYPE_F32 | 1u << TYPE_F16 | 1u << TYPE_S32 |
                           1u << TYPE_S16 | 1u << TYPE_S8 | 1u << TYPE_U8 |
                           1u << TYPE_S64;
    enum type type = c->in[0].type;

    if (type >= TYPE_COUNT || !(types >> type & 1) || c->out[0].type != type ||
        c->in[1].type != TYPE_S32 || (c->in[2].data && c->in[2].type != type)) {
        return ERR_TYPE;
    }
    return c->in[0].count == 0 || c->in[1].count == 0 || c->out[0].count == 0 ? ERR_ARG
                                                                              : 0;
}

void index_fold(const struct op_call *c, const struct places *p)
{
    int32_t *index = c->in[1].data;

    for (uint64_t i = 0; c->in[1].path == NULL && i < c->in[1].count; i++) {
        int64_t size = (int64_t)p->axis[i % p->depth].size;
        if (index[i] < -size || index[i] >= size) {
            index[i] = (int32_t)((int64_t)(uint32_t)index[i] % (2 * size) - size);
        }
    }
}

int index_check(const struct op_call *c, const struct places *p,
                struct sched_report *report)
{
    uint64_t wrong = places_wrong(p), at[NPY_MAX_DIMS];
    const struct tensor *t = &c->in[1];
    char *text = report->text, *end = text + sizeof(report->text);
    long size;

    if (wrong == places_indices(p)) {
        return 0;
    }
    if (t->path == NULL) {
        index_fold(c, p);
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

uint64_t index_at(const struct op_call *c, uint64_t at, uint64_t size)
{
    double i = tensor_number(&c->in[1], at);

    return (uint64_t)(i < 0 ? i + (double)size : i);
}
