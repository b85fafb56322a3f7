/* SPDX-License-Identifier: MIT
 *
 * slice: y = x[starts[0]:stops[0]:steps[0], ..] with steps from 1 up; negative starts and
 * stops count from the end, as in NumPy, and what is left out is all of x.
 * expand: y = x as often as `repeats` says, one behind the other along each dimension.
 *
 * Types of 1, 2, 4 and 8 bytes, any number of dimensions.
 */
#include <stdio.h>

#include "kernels/cli/limit.h"
#include "kernels/move/list.h"

struct range {
    const char *starts, *stops, *steps;
};

/* What of a dimension is taken: from, how many, how far apart. */
struct part {
    uint64_t first[NPY_MAX_DIMS], count[NPY_MAX_DIMS], step[NPY_MAX_DIMS];
};

static int64_t inside(int64_t at, uint64_t size)
{
    at = at < 0 ? at + (int64_t)size : at;
    return at < 0 ? 0 : at > (int64_t)size ? (int64_t)size : at;
}

static int part_of(const struct op_call *c, struct part *part)
{
    const struct range *own = (const void *)c->args;
    const struct tensor *x = &c->in[0];
    struct list starts, stops, steps;

    if (list_parse(c->op->name, "starts", own->starts, x->ndim, &starts) ||
        list_parse(c->op->name, "stops", own->stops, x->ndim, &stops) ||
        list_parse(c->op->name, "steps", own->steps, x->ndim, &steps)) {
        return ERR_ARG;
    }
    for (unsigned d = 0; d < x->ndim; d++) {
        int64_t first = starts.n ? inside(starts.value[d], x->shape[d]) : 0;
        int64_t stop =
            stops.n ? inside(stops.value[d], x->shape[d]) : (int64_t)x->shape[d];
        int64_t step = steps.n ? steps.value[d] : 1;
        if (step < 1 || stop <= first) {
            fprintf(stderr,
                    "%s: dimension %u: nothing from %lld to %lld in steps of %lld\n",
                    c->op->name, d, (long long)first, (long long)stop, (long long)step);
            return ERR_SHAPE;
        }
        part->first[d] = (uint64_t)first;
        part->step[d] = (uint64_t)step;
        part->count[d] = (uint64_t)((stop - first + step - 1) / step);
    }
    return 0;
}

static int slice_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct part part;

    (void)number;
    if (part_of(c, &part)) {
        return ERR_SHAPE;
    }
    for (unsigned d = 0; d < out->ndim; d++) {
        out->shape[d] = part.count[d];
    }
    return 0;
}

static int slice_run(const struct op_call *c, struct sched_report *report)
{
    struct move m = list_move(c);
    uint64_t step[NPY_MAX_DIMS], at = 0;
    struct part part;
    int err = list_check(c);

    err = err ? err : part_of(c, &part);
    if (err) {
        return err;
    }
    list_steps(&c->in[0], step);
    for (unsigned d = 0; d < m.ndim; d++) {
        at += part.first[d] * step[d];
        m.dim[d].x_step = part.step[d] * step[d];
    }
    m.x = (const char *)m.x + at * m.esize;
    return move("slice", &m, 1, c->cores, report);
}

static void slice_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                      struct op_want *want)
{
    const struct tensor *x = &c->in[0];
    uint64_t index[NPY_MAX_DIMS];
    struct part part;

    if (part_of(c, &part)) {
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        list_index(&c->out[out], first + i, index);
        for (unsigned d = 0; d < x->ndim; d++) {
            at = at * x->shape[d] + part.first[d] + index[d] * part.step[d];
        }
        want->bits[i] = data_bits(x->data, x->type, at);
    }
}

OPERATOR(slice, .summary = "y = x[start:stop:step, ..]", .io = "x[...] -> y[...]",
         .shape = slice_shape, .types = LIST_TYPES, .run = slice_run, .ref = slice_ref,
         .check = 4096, .work = list_work,
         .options = OPTIONS(TEXT(struct range, starts, NULL, "of each dimension; 0"),
                            TEXT(struct range, stops, NULL, "of each; its size"),
                            TEXT(struct range, steps, NULL, "of each, from 1 up; 1")),
         .numpy = "x[sliced(x.ndim, starts, stops, steps)]",
         .cases = CASES("--shapes 1", "--shapes 7x5 --starts 1,2 --stops 6,-1 --type f16",
                        "--shapes 40x30x7 --starts 3,-20,1 --steps 2,1,1 --type s8",
                        "--shapes 300x8 --steps 1,3 --type s16",
                        "--shapes 9000 --starts 5 --steps 7",
                        "--shapes 9x4x150 --starts 1,1,1 --type s64"));

/* --- expand --- */

struct times {
    const char *repeats;
};

static int repeats_of(const struct op_call *c, struct list *repeats)
{
    const struct times *own = (const void *)c->args;
    int err = list_parse(c->op->name, "repeats", own->repeats, c->in[0].ndim, repeats);

    for (unsigned d = 0; d < repeats->n && !err; d++) {
        if (repeats->value[d] < 1 || repeats->value[d] > INT32_MAX) {
            fprintf(stderr, "%s: --repeats %s: want numbers from 1 up\n", c->op->name,
                    own->repeats);
            err = ERR_ARG;
        }
    }
    for (unsigned d = repeats->n; d < c->in[0].ndim && !err; d++) {
        repeats->value[d] = 1;
    }
    return err;
}

static int expand_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    struct list repeats;

    (void)number;
    if (repeats_of(c, &repeats)) {
        return ERR_SHAPE;
    }
    for (unsigned d = 0; d < out->ndim; d++) {
        out->shape[d] *= (uint64_t)repeats.value[d];
    }
    return 0;
}

/* Each dimension is two: how often, and that of x. */
static int expand_run(const struct op_call *c, struct sched_report *report)
{
    struct move m = list_move(c), twice = m;
    uint64_t step[NPY_MAX_DIMS];
    struct list repeats;
    int err = list_check(c);

    err = err ? err : repeats_of(c, &repeats);
    if (err) {
        return err;
    }
    list_steps(&c->in[0], step);
    twice.ndim = 2 * m.ndim;
    for (unsigned d = 0; d < m.ndim; d++) {
        uint64_t size = c->in[0].shape[d];
        twice.dim[2 * d] =
            (struct move_dim){(uint64_t)repeats.value[d], 0, size * m.dim[d].y_step};
        twice.dim[2 * d + 1] = (struct move_dim){size, step[d], m.dim[d].y_step};
    }
    return move("expand", &twice, 1, c->cores, report);
}

static void expand_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                       struct op_want *want)
{
    const struct tensor *x = &c->in[0];
    uint64_t index[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        list_index(&c->out[out], first + i, index);
        for (unsigned d = 0; d < x->ndim; d++) {
            at = at * x->shape[d] + index[d] % x->shape[d];
        }
        want->bits[i] = data_bits(x->data, x->type, at);
    }
}

OPERATOR(expand, .summary = "y = x as often as wanted along each dimension",
         .io = "x[...] -> y[...]", .shape = expand_shape, .types = LIST_TYPES,
         .run = expand_run, .ref = expand_ref, .check = 4096, .work = list_work,
         .options = OPTIONS(TEXT(struct times, repeats, NULL, "of each dimension; 1")),
         .numpy = "np.tile(x, [int(n) for n in repeats.split(',')] if repeats else 1)",
         .cases = CASES("--shapes 1 --repeats 3", "--shapes 2x5 --repeats 3,2 --type f16",
                        "--shapes 4x1x9 --repeats 1,7,2 --type s8",
                        "--shapes 3x500 --repeats 2,3 --type s64",
                        "--shapes 2x3x4 --type s16", "--shapes 20x1 --repeats 1,100"));
