/* SPDX-License-Identifier: MIT
 *
 * Lists of numbers in options; see list.h.
 */
#include "kernels/move/list.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/limit.h"

int list_parse(const char *who, const char *option, const char *text, unsigned n,
               struct list *list)
{
    const char *at = text;
    char *end = NULL;

    list->n = 0;
    while (at && list->n < NPY_MAX_DIMS) {
        list->value[list->n++] = strtoll(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0')) {
            break;
        }
        at = *end == ',' ? end + 1 : NULL;
    }
    if (at || (text && list->n != n)) {
        fprintf(stderr, "%s: --%s %s: want %u numbers with commas between them\n", who,
                option, text, n);
        return ERR_ARG;
    }
    return 0;
}

void list_steps(const struct tensor *t, uint64_t step[NPY_MAX_DIMS])
{
    uint64_t all = 1;

    for (unsigned d = t->ndim; d-- > 0; all *= t->shape[d]) {
        step[d] = all;
    }
}

void list_index(const struct tensor *t, uint64_t i, uint64_t index[NPY_MAX_DIMS])
{
    for (unsigned d = t->ndim; d-- > 0; i /= t->shape[d]) {
        index[d] = i % t->shape[d];
    }
}

static bool has_nothing(const struct tensor *t)
{
    bool nothing = t->count == 0;

    for (unsigned d = 0; d < t->ndim; d++) {
        nothing = nothing || t->shape[d] == 0;
    }
    return nothing;
}

bool list_moves(enum type type)
{
    const unsigned types = 1u << TYPE_F32 | 1u << TYPE_F16 | 1u << TYPE_S32 |
                           1u << TYPE_S16 | 1u << TYPE_S8 | 1u << TYPE_U8 |
                           1u << TYPE_S64;

    return type < TYPE_COUNT && types >> type & 1;
}

int list_check(const struct op_call *c)
{
    enum type type = c->out[0].type;
    int err = list_moves(type) ? 0 : ERR_TYPE;

    for (unsigned i = 0; i < OP_IN && c->in[i].data && !err; i++) {
        err = c->in[i].type != type ? ERR_TYPE : has_nothing(&c->in[i]) ? ERR_ARG : 0;
    }
    return err ? err : has_nothing(&c->out[0]) ? ERR_ARG : 0;
}

struct move list_move(const struct op_call *c)
{
    const struct tensor *y = &c->out[0];
    struct move m = {.x = c->in[0].data,
                     .y = y->data,
                     .esize = type_bits(c->in[0].type) / 8,
                     .ndim = y->ndim};
    uint64_t step[NPY_MAX_DIMS];

    list_steps(y, step);
    for (unsigned d = 0; d < y->ndim; d++) {
        m.dim[d] = (struct move_dim){y->shape[d], 0, step[d]};
    }
    return m;
}

void list_work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->out[0]);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}
