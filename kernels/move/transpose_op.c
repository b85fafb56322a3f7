/* SPDX-License-Identifier: MIT
 *
 * y = x with its dimensions in another order: y[i[perm[0]], i[perm[1]], ..] = x[i[0], i[1], ..]
 *
 * Types of 1, 2, 4 and 8 bytes, any number of dimensions; without --perm the reverse order.
 */
#include <stdio.h>

#include "kernels/cli/limit.h"
#include "kernels/move/list.h"

struct own {
    const char *perm;
};

static int perm_of(const struct op_call *c, struct list *perm)
{
    const struct own *own = (const void *)c->args;
    unsigned n = c->in[0].ndim, seen = 0;

    if (list_parse(c->op->name, "perm", own->perm, n, perm)) {
        return ERR_ARG;
    }
    for (unsigned d = 0; perm->n < n; d++) {
        perm->value[perm->n++] = n - 1 - d;
    }
    for (unsigned d = 0; d < n; d++) {
        int64_t from = perm->value[d];
        if (from < 0 || from >= n || seen >> from & 1) {
            fprintf(stderr, "%s: --perm %s: want each of 0 to %u once\n", c->op->name,
                    own->perm, n - 1);
            return ERR_ARG;
        }
        seen |= 1u << from;
    }
    return 0;
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct list perm;

    (void)number;
    if (perm_of(c, &perm)) {
        return ERR_SHAPE;
    }
    out->ndim = c->in[0].ndim;
    for (unsigned d = 0; d < out->ndim; d++) {
        out->shape[d] = c->in[0].shape[perm.value[d]];
    }
    return 0;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct move m = list_move(c);
    uint64_t step[NPY_MAX_DIMS];
    struct list perm;
    int err = list_check(c);

    err = err ? err : perm_of(c, &perm);
    if (err) {
        return err;
    }
    list_steps(&c->in[0], step);
    for (unsigned d = 0; d < m.ndim; d++) {
        m.dim[d].x_step = step[perm.value[d]];
    }
    return move("transpose", &m, 1, c->cores, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct tensor *x = &c->in[0];
    uint64_t index[NPY_MAX_DIMS], of_x[NPY_MAX_DIMS];
    struct list perm;

    if (perm_of(c, &perm)) {
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        list_index(&c->out[out], first + i, index);
        for (unsigned d = 0; d < x->ndim; d++) {
            of_x[perm.value[d]] = index[d];
        }
        for (unsigned d = 0; d < x->ndim; d++) {
            at = at * x->shape[d] + of_x[d];
        }
        want->bits[i] = data_bits(x->data, x->type, at);
    }
}

OPERATOR(transpose, .summary = "y = x with its dimensions in another order",
         .io = "x[...] -> y[...]", .shape = shape, .types = LIST_TYPES, .run = run,
         .ref = ref, .check = 4096, .work = list_work,
         .options = OPTIONS(TEXT(struct own, perm, NULL,
                                 "dimension of x that each of y is; reversed")),
         .numpy = "np.transpose(x, [int(d) for d in perm.split(',')] if perm else None)",
         .cases = CASES("--shapes 1", "--shapes 3x5 --type f16",
                        "--shapes 2x3x4x5 --perm 0,2,3,1 --type s8",
                        "--shapes 70x33 --type u8", "--shapes 37x300 --type f16",
                        "--shapes 3x130x9 --perm 2,0,1 --type s64",
                        "--shapes 2x3x4x5x6 --perm 4,2,0,1,3", "--shapes 300x70",
                        "--shapes 1100x3 --type f16",
                        "--shapes 2x300x70 --perm 0,2,1 --type s8",
                        "--shapes 4x5645 --type f16", "--shapes 3x8x33 --perm 0,2,1",
                        "--shapes 2x2x1001 --perm 0,2,1 --type u8",
                        "--shapes 16x1500 --type f16"));
