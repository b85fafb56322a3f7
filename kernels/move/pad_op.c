/* SPDX-License-Identifier: MIT
 *
 * pad: y = x with `before` and `after` elements of a value around it along each dimension.
 * concat: y = a, b and, where they are, c and d, one behind the other along the middle of
 * three dimensions; arrays of more are of three, too, whatever axis it is, because their
 * rows lie side by side.
 *
 * Types of 1, 2, 4 and 8 bytes; the value as NumPy would convert a float64.
 */
#include <stdio.h>

#include "kernels/cli/limit.h"
#include "kernels/move/list.h"

struct own {
    const char *before, *after;
    float value;
};

static int sides_of(const struct op_call *c, struct list *before, struct list *after)
{
    const struct own *own = (const void *)c->args;
    unsigned n = c->in[0].ndim;

    if (list_parse(c->op->name, "before", own->before, n, before) ||
        list_parse(c->op->name, "after", own->after, n, after)) {
        return ERR_ARG;
    }
    for (unsigned d = 0; d < n; d++) {
        before->value[d] = before->n ? before->value[d] : 0;
        after->value[d] = after->n ? after->value[d] : 0;
        if (before->value[d] < 0 || after->value[d] < 0 || before->value[d] > INT32_MAX ||
            after->value[d] > INT32_MAX) {
            fprintf(stderr, "%s: dimension %u: pads of %lld and %lld\n", c->op->name, d,
                    (long long)before->value[d], (long long)after->value[d]);
            return ERR_ARG;
        }
    }
    return 0;
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct list before, after;

    (void)number;
    if (sides_of(c, &before, &after)) {
        return ERR_SHAPE;
    }
    for (unsigned d = 0; d < out->ndim; d++) {
        out->shape[d] += (uint64_t)(before.value[d] + after.value[d]);
    }
    return 0;
}

static uint64_t value_of(const struct op_call *c)
{
    return data_round((double)((const struct own *)(const void *)c->args)->value,
                      c->in[0].type);
}

/* A slab of y that is all padding: dimension d from `first` on, those before it as far as x
 * goes, those behind it whole. */
static struct move slab(const struct op_call *c, const struct list *before, unsigned d,
                        uint64_t first, uint64_t count)
{
    struct move m = list_move(c);
    uint64_t at = first * m.dim[d].y_step;

    m.x = NULL;
    m.value = value_of(c);
    m.dim[d].size = count;
    for (unsigned e = 0; e < d; e++) {
        m.dim[e].size = c->in[0].shape[e];
        at += (uint64_t)before->value[e] * m.dim[e].y_step;
    }
    m.y = (char *)m.y + at * m.esize;
    return m;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct move moves[1 + 2 * NPY_MAX_DIMS];
    struct list before, after;
    uint64_t step[NPY_MAX_DIMS], at = 0;
    unsigned n = 1;
    int err = list_check(c);

    err = err ? err : sides_of(c, &before, &after);
    if (err) {
        return err;
    }
    moves[0] = list_move(c);
    list_steps(&c->in[0], step);
    for (unsigned d = 0; d < c->in[0].ndim; d++) {
        uint64_t first = (uint64_t)before.value[d], size = c->in[0].shape[d];
        moves[0].dim[d].x_step = step[d];
        moves[0].dim[d].size = size;
        at += first * moves[0].dim[d].y_step;
        if (first) {
            moves[n++] = slab(c, &before, d, 0, first);
        }
        if (after.value[d]) {
            moves[n++] = slab(c, &before, d, first + size, (uint64_t)after.value[d]);
        }
    }
    moves[0].y = (char *)moves[0].y + at * moves[0].esize;
    return move("pad", moves, n, c->cores, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct tensor *x = &c->in[0];
    uint64_t index[NPY_MAX_DIMS];
    struct list before, after;

    if (sides_of(c, &before, &after)) {
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        bool there = true;
        list_index(&c->out[out], first + i, index);
        for (unsigned d = 0; d < x->ndim; d++) {
            uint64_t of_x = index[d] - (uint64_t)before.value[d];
            there = there && of_x < x->shape[d];
            at = at * x->shape[d] + of_x;
        }
        want->bits[i] = there ? data_bits(x->data, x->type, at) : value_of(c);
    }
}

OPERATOR(
    pad, .summary = "y = x with a value around it", .io = "x[...] -> y[...]",
    .shape = shape, .types = LIST_TYPES, .run = run, .ref = ref, .check = 4096,
    .work = list_work,
    .options = OPTIONS(TEXT(struct own, before, NULL, "elements, of each dimension; 0"),
                       TEXT(struct own, after, NULL, "likewise, behind x"),
                       FLOAT(struct own, value, 0, -1e38, 1e38, "of the padding")),
    .numpy = "np.pad(x, padded(x.ndim, before, after), constant_values=value)",
    .cases = CASES("--shapes 1 --after 2", "--shapes 3x5 --before 1,2 --type f16",
                   "--shapes 4x6x7 --before 0,1,2 --after 3,0,1 --value -7 --type s8",
                   "--shapes 20x300 --before 2,0 --after 0,5 --type s64 --value 3",
                   "--shapes 5000 --before 70 --after 7000 --value 1.5"));

/* --- concat --- */

enum { PARTS = 4 };

static int concat_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    out->shape[1] = 0;
    for (unsigned i = 0; i < PARTS && c->in[i].data; i++) {
        out->shape[1] += c->in[i].shape[1];
    }
    return 0;
}

static int concat_run(const struct op_call *c, struct sched_report *report)
{
    struct move moves[PARTS];
    const struct tensor *y = &c->out[0];
    uint64_t done = 0;
    unsigned n = 0;
    int err = list_check(c);

    for (; n < PARTS && c->in[n].data; n++) {
        const uint64_t *s = c->in[n].shape;
        moves[n] = list_move(c);
        moves[n].x = c->in[n].data;
        moves[n].y = (char *)y->data + done * moves[n].esize;
        moves[n].dim[0] = (struct move_dim){s[0], s[1] * s[2], y->shape[1] * y->shape[2]};
        moves[n].dim[1] = (struct move_dim){s[1], s[2], s[2]};
        moves[n].dim[2] = (struct move_dim){s[2], 1, 1};
        done += s[1] * s[2];
    }
    if (err || done != y->shape[1] * y->shape[2]) {
        return err ? err : ERR_ARG;
    }
    return move("concat", moves, n, c->cores, report);
}

static void concat_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                       struct op_want *want)
{
    uint64_t index[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        const struct tensor *t = c->in;
        list_index(&c->out[out], first + i, index);
        for (; index[1] >= t->shape[1]; t++) {
            index[1] -= t->shape[1];
        }
        want->bits[i] =
            data_bits(t->data, t->type,
                      (index[0] * t->shape[1] + index[1]) * t->shape[2] + index[2]);
    }
}

OPERATOR(concat, .summary = "y = a, b, c, d one behind the other along the middle",
         .io = "a[p,m,q] b[p,n,q] c?[p,l,q] d?[p,j,q] -> y[p,k,q]", .shape = concat_shape,
         .types =
             "f32 f32 f32 f32 -> f32; f16 f16 f16 f16 -> f16; s32 s32 s32 s32 -> s32; "
             "s16 s16 s16 s16 -> s16; s8 s8 s8 s8 -> s8; u8 u8 u8 u8 -> u8; "
             "s64 s64 s64 s64 -> s64",
         .run = concat_run, .ref = concat_ref, .check = 4096, .work = list_work,
         .numpy = "np.concatenate([v for v in (a, b, c, d) if v is not None], 1)",
         .cases = CASES("--p 1 --m 1 --n 1 --l 1 --j 1 --q 1",
                        "--shapes 3x2x5,3x7x5 --type f16",
                        "--shapes 1x40x30,1x9x30,1x1x30 --type s8",
                        "--shapes 50x3x1,50x2x1,50x1x1,50x4x1 --type s64",
                        "--p 2 --m 100 --n 20 --l 5 --j 1 --q 17"));
