/* SPDX-License-Identifier: MIT
 *
 * top_k: the k largest elements along an axis, or smallest, in order, and where they were.
 * sort:  all of them, smallest first, or largest.
 *
 * Types, order of equal ones and of NaN, cost: sort.h. Where the axis is not the last one x is
 * transposed before and results after, three launches more (kernels/move).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/limit.h"
#include "kernels/index/op.h"
#include "kernels/move/move.h"
#include "kernels/sort/sort.h"

struct own {
    int32_t axis;
    uint32_t k; /* 0: sort, which has no such option */
    bool smallest, descending;
};

static bool takes_smallest(const struct own *own)
{
    return own->k ? own->smallest : !own->descending;
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    const struct own *own = (const void *)c->args;
    unsigned axis;
    int err = axis_of(c, own->axis, &axis);

    (void)number;
    if (err || own->k == 0) {
        return err;
    }
    if (own->k > c->in[0].shape[axis]) {
        fprintf(stderr, "%s: --k %lu of %llu\n", c->op->name, (unsigned long)own->k,
                (unsigned long long)c->in[0].shape[axis]);
        return ERR_SHAPE;
    }
    out->shape[axis] = own->k;
    return 0;
}

/* y (outer, b, a) = x (outer, a, b) */
static int turn(const struct op_call *c, const void *x, void *y, enum type type,
                const struct around *of, struct sched_report *report)
{
    struct move m = {.x = x,
                     .y = y,
                     .esize = type_bits(type) / 8,
                     .ndim = 3,
                     .dim = {{of->outer, of->n * of->inner, of->n * of->inner},
                             {of->inner, 1, of->n},
                             {of->n, of->inner, 1}}};

    return move(c->op->name, &m, 1, c->cores, report);
}

/* Along an axis that is not the last one: `room` for x and both results. */
static int run_turned(const struct op_call *c, struct sort *s, char *room,
                      const struct around *a, struct sched_report *report)
{
    uint64_t esize = type_bits(s->type) / 8, x = a->outer * a->n * a->inner * esize;
    const struct around back = {a->outer, a->inner, s->k};
    int err = turn(c, s->x, room, s->type, a, report);

    s->x = room;
    s->index = (int32_t *)(void *)(room + (x + 511) / 512 * 512);
    s->values = s->index + (s->lines * s->k + 127) / 128 * 128;
    err = err ? err : sort(c->op->name, s, report);
    err = err ? err : turn(c, s->values, c->out[0].data, s->type, &back, report);
    return err ? err : turn(c, s->index, c->out[1].data, TYPE_S32, &back, report);
}

static int run(const struct op_call *c, struct sched_report *report)
{
    const struct own *own = (const void *)c->args;
    struct around a;
    struct sort s;
    uint64_t runs, turned;
    char *room;
    int err = axis_check(c, 1u << TYPE_F32 | 1u << TYPE_F16, own->axis, &a);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    s = (struct sort){.x = c->in[0].data,
                      .values = c->out[0].data,
                      .index = c->out[1].data,
                      .lines = a.outer * a.inner,
                      .n = (uint32_t)a.n,
                      .k = own->k ? own->k : (uint32_t)a.n,
                      .smallest = takes_smallest(own),
                      .type = c->in[0].type,
                      .cores = c->cores};
    runs = sort_runs(&s);
    turned = a.inner > 1 ? s.lines * (s.n * 4 + s.k * 8) + 1024 : 0;
    room = runs + turned ? malloc(runs + turned) : NULL;
    if (runs + turned && !room) {
        return ERR_NOMEM;
    }
    s.runs = room ? room + turned / 8 * 8 : NULL;
    err =
        a.inner > 1 ? run_turned(c, &s, room, &a, report) : sort(c->op->name, &s, report);
    free(room);
    return err;
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_vector(w, OP_VSORT32, c->in[0].type, c->in[0].count);
    work_out(w, NPU_MEM_UB, &c->out[0]);
    work_out(w, NPU_MEM_UB, &c->out[1]);
}

/* --- the definition --- */

/* What the C library's sort compares: elements of a line, which lie `step` apart. */
static struct {
    const struct tensor *x;
    uint64_t first, step;
    bool smallest;
} line;

static double element(uint32_t i)
{
    return tensor_number(line.x, line.first + i * line.step);
}

static int compare(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    double p = element(i), q = element(j);
    bool above = isnan(p) ? !isnan(q) : p > q, below = isnan(q) ? !isnan(p) : q > p;

    return above || below ? (above != line.smallest ? -1 : 1) : i < j ? -1 : 1;
}

/* n is a row of the result; along the last axis that is all of a line. */
static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct own *own = (const void *)c->args;
    const struct tensor *x = &c->in[0];
    struct around a = around(x, axis_at(c, own->axis));
    uint64_t k = c->out[out].count / a.outer / a.inner;
    uint32_t *order = malloc(a.n * sizeof(*order));

    want->no_memory = order == NULL;
    for (uint64_t i = 0; i < n && order; i++) {
        uint64_t e = first + i, j = e / a.inner % k;
        if (i == 0 || a.inner > 1) {
            for (uint32_t p = 0; p < a.n; p++) {
                order[p] = p;
            }
            line.x = x;
            line.first = e / a.inner / k * a.n * a.inner + e % a.inner;
            line.step = a.inner;
            line.smallest = takes_smallest(own);
            qsort(order, a.n, sizeof(*order), compare);
        }
        want->bits[i] =
            out ? order[j]
                : data_bits(x->data, x->type, line.first + order[j] * line.step);
    }
    free(order);
}

#define AXIS SIGNED(struct own, axis, -1, -8, 7, "of x")

OPERATOR(top_k,
         .summary = "the k largest along an axis, or smallest, and where they were",
         .io = "x[...] -> v[...] i[...]", .shape = shape,
         .types = "f32 -> f32 s32; f16 -> f16 s32", .run = run, .ref = ref,
         .whole_rows = true, .check = 64, .work = work,
         .options = OPTIONS(AXIS, NUMBER(struct own, k, 1, 1, INT32_MAX, "how many"),
                            FLAG(struct own, smallest, "the smallest, smallest first")),
         .numpy = "both = ordered(x, options['axis'], options['k'], "
                  "not options['smallest'])\n"
                  "v, i = both",
         .cases = CASES("--n 1", "--shapes 7x5 --k 3 --type f16",
                        "--shapes 5x40x3 --axis 1 --k 7 --smallest",
                        "--shapes 70x33 --k 5 --smallest --type f16",
                        "--n 5000 --k 100 --smallest", "--n 200 --k 200 --data special",
                        "--shapes 2x4500 --k 90"));

OPERATOR(sort, .summary = "x in order along an axis, smallest first, and where each was",
         .io = "x[...] -> v[...] i[...]", .shape = shape,
         .types = "f32 -> f32 s32; f16 -> f16 s32", .run = run, .ref = ref,
         .whole_rows = true, .check = 64, .work = work,
         .options = OPTIONS(AXIS, FLAG(struct own, descending, "largest first")),
         .numpy = "both = ordered(x, options['axis'], None, options['descending'])\n"
                  "v, i = both",
         .cases = CASES("--n 1", "--shapes 7x5 --type f16",
                        "--shapes 2x70x3 --axis 1 --descending",
                        "--n 300 --data special --descending --type f16",
                        "--n 200 --data special", "--n 9000",
                        "--n 5000 --type f16 --descending"));
