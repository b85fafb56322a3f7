/* SPDX-License-Identifier: MIT
 *
 * embedding, embedding_bag and embedding_grad: their descriptions.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/embedding/embedding.h"
#include "kernels/index/rows.h"

struct own {
    uint32_t mode, strategy, rows;
    int32_t padding;
    bool skip, from_end;
};

static struct embedding_rows rows_of(const struct op_call *c, const struct tensor *index,
                                     uint64_t rows)
{
    const struct own *o = (const void *)c->args;

    return (struct embedding_rows){.index = index->data,
                                   .n = (uint32_t)index->count,
                                   .rows = (uint32_t)rows,
                                   .padding = o->padding,
                                   .skip = o->skip,
                                   .from_end = o->from_end};
}

/* Made-up indices come into range: half of them as they fall, half near the first rows; where
 * they may, some count from the end. */
static void fold(const struct tensor *index, uint64_t rows, bool from_end)
{
    int32_t *i = index->data;

    for (uint64_t k = 0; k < index->count && index->path == NULL; k++) {
        uint32_t at = (uint32_t)i[k] % (uint32_t)rows;
        i[k] = (int32_t)(k % 2 ? at : at % 7 % (uint32_t)rows);
        i[k] -= from_end && k % 3 == 0 ? (int32_t)rows : 0;
    }
}

/* --- bags --- */

static struct embedding_bag bag_of(const struct op_call *c, uint32_t each)
{
    const struct own *o = (const void *)c->args;
    const struct tensor *table = &c->in[0];

    return (struct embedding_bag){.table = table->data,
                                  .y = c->out[0].data,
                                  .rows = rows_of(c, &c->in[1], table->shape[0]),
                                  .width = (uint32_t)table->shape[1],
                                  .each = each,
                                  .type = table->type,
                                  .mode = (enum embedding_bag_mode)o->mode,
                                  .cores = c->cores};
}

/* Without an option for padding. */
static struct embedding_bag embedding_of(const struct op_call *c)
{
    struct embedding_bag p = bag_of(c, 1);

    p.rows.padding = -1;
    return p;
}

static bool types_are_right(const struct op_call *c)
{
    enum type type = c->in[0].type;

    return (type == TYPE_F16 || type == TYPE_F32) && c->in[1].type == TYPE_S32;
}

static int bag_prepare(struct op_call *c)
{
    fold(&c->in[1], c->in[0].shape[0],
         ((const struct own *)(const void *)c->args)->from_end);
    return 0;
}

static int bag_run(const struct op_call *c, struct sched_report *report)
{
    struct embedding_bag p = bag_of(c, (uint32_t)c->in[1].shape[1]);

    report->text[0] = 0;
    return types_are_right(c) ? embedding_bag(&p, report) : ERR_TYPE;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct embedding_bag p = embedding_of(c);
    uint64_t row = p.width * type_bits(p.type) / 8;
    struct embedding_rows all = p.rows;

    report->text[0] = 0;
    if (p.rows.n == 0 || p.rows.rows == 0) {
        return ERR_ARG;
    }
    if (!types_are_right(c)) {
        return ERR_TYPE;
    }
    all.skip = false;
    if (embedding_wrong(&all) < all.n) {
        return embedding_bag(&p, report); /* which refuses, or leaves zeros */
    }
    return rows_gather("embedding",
                       &(struct rows){.x = p.table,
                                      .y = p.y,
                                      .row_bytes = row,
                                      .places = {.index = p.rows.index,
                                                 .depth = 1,
                                                 .axis = {{p.rows.rows, row}},
                                                 .outer = 1,
                                                 .n = p.rows.n,
                                                 .inner = 1,
                                                 .shared = true},
                                      .cores = p.cores},
                       report);
}

static double bag_element(const struct op_call *c, const struct embedding_bag *p,
                          uint64_t bag, uint64_t column, double *bound)
{
    uint64_t all = 0;
    double y = 0, sizes = 0;

    for (uint64_t j = 0; j < p->each; j++) {
        int32_t at = p->rows.index[bag * p->each + j];
        double x;
        at += p->rows.from_end && at < 0 ? (int32_t)p->rows.rows : 0;
        if (at < 0 || (uint32_t)at >= p->rows.rows || at == p->rows.padding) {
            continue;
        }
        x = tensor_number(&c->in[0], (uint64_t)at * p->width + column);
        if (p->mode == BAG_MAX) {
            y = all == 0 || isnan(x) ? x : isnan(y) ? y : fmax(x, y);
        } else {
            y += x;
        }
        sizes += fabs(x);
        all++;
    }
    y = p->mode == BAG_MEAN && all ? y / (double)all : y;
    *bound = (p->type == TYPE_F16 ? 0x1p-11 : 0x1p-24) * fabs(y) + 0x1p-25;
    if (p->mode != BAG_MAX && sizes > (double)FLT_MAX) {
        *bound = INFINITY; /* a sum in F32 may be so, too */
    } else if (p->mode != BAG_MAX) {
        *bound += (double)(all + 2) * 0x1p-24 * sizes /
                  (p->mode == BAG_MEAN && all ? (double)all : 1);
    }
    return y;
}

static void refs(const struct op_call *c, const struct embedding_bag *p, uint64_t first,
                 uint64_t n, struct op_want *want)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t e = first + i;
        want->value[i] = bag_element(c, p, e / p->width, e % p->width, &want->bound[i]);
    }
}

static void bag_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                    struct op_want *want)
{
    struct embedding_bag p = bag_of(c, (uint32_t)c->in[1].shape[1]);

    (void)out;
    refs(c, &p, first, n, want);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct embedding_bag p = embedding_of(c);

    (void)out;
    refs(c, &p, first, n, want);
}

/* Each row that an index names once. */
static void work(const struct op_call *c, struct work *w)
{
    struct tensor rows = c->in[0];

    rows.count = c->in[1].count * c->in[0].shape[1];
    work_in(w, NPU_MEM_UB, &rows);
    work_in(w, NPU_MEM_UB, &c->in[1]);
    work_vector(w, OP_VADD, TYPE_F32, rows.count);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

#define SKIP FLAG(struct own, skip, "pass over indices that are out of range")
#define PADDING                                                                          \
    SIGNED(struct own, padding, -1, -1, 2147483647, "a row that takes no part")

OPERATOR(embedding, .summary = "the row of a table for each index",
         .io = "table[v,d] token[n] -> y[n,d]", .types = "f32 s32 -> f32; f16 s32 -> f16",
         .prepare = bag_prepare, .run = run, .ref = ref, .tolerance = OP_BOUND,
         .check = 4096, .work = work, .options = OPTIONS(SKIP),
         .numpy = "y, bound = table[token], 0 * table[token]",
         .cases = CASES("--v 1 --d 1 --n 1", "--v 30 --d 77 --n 100 --type f16",
                        "--v 9 --d 5000 --n 20 --skip"));

OPERATOR(
    embedding_bag, .summary = "of each bag of indices the sum, mean or maximum of rows",
    .io = "table[v,d] token[b,l] -> y[b,d]", .types = "f32 s32 -> f32; f16 s32 -> f16",
    .prepare = bag_prepare, .run = bag_run, .ref = bag_ref, .tolerance = OP_BOUND,
    .check = 4096, .work = work,
    .options = OPTIONS(CHOICE(struct own, mode, "sum|mean|max", "of rows"), PADDING, SKIP,
                       FLAG(struct own, from_end, "indices below 0 count from the end")),
    .numpy = "y, bound = bags(table, token, options)",
    .cases = CASES("--v 1 --d 1 --b 1 --l 1", "--v 30 --d 77 --b 9 --l 20 --type f16",
                   "--v 9 --d 500 --b 4 --l 70 --mode max --padding 3",
                   "--v 11 --d 130 --b 5 --l 9 --mode mean --padding 0 --from-end"));

/* --- the gradient --- */

static struct embedding_grad grad_of(const struct op_call *c)
{
    const struct own *o = (const void *)c->args;

    return (struct embedding_grad){.dx = c->in[0].data,
                                   .dw = c->out[0].data,
                                   .rows = rows_of(c, &c->in[1], o->rows),
                                   .width = (uint32_t)c->in[0].shape[1],
                                   .type = c->in[0].type,
                                   .form = (enum embedding_form)o->strategy,
                                   .cores = c->cores};
}

static int grad_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    out->shape[0] = ((const struct own *)(const void *)c->args)->rows;
    return 0;
}

static int grad_prepare(struct op_call *c)
{
    struct embedding_grad p = grad_of(c);

    fold(&c->in[1], p.rows.rows, false);
    if (p.form && embedding_grad_cycles(&p, p.form) == 0) {
        fprintf(stderr, "%s: --strategy cube of %s: it takes f16 alone\n", c->op->name,
                type_name(p.type));
        return ERR_TYPE;
    }
    return 0;
}

static int grad_run(const struct op_call *c, struct sched_report *report)
{
    struct embedding_grad p = grad_of(c);

    report->text[0] = 0;
    if (c->out[0].shape[0] != p.rows.rows) {
        return ERR_ARG;
    }
    return types_are_right(c) ? embedding_grad(&p, report) : ERR_TYPE;
}

/* Whether the Cube multiplies token k by 0 for a row: another one of its chunk is of the
 * row's tile. */
static bool is_multiplied(const struct embedding_rows *r, uint32_t k, uint64_t row)
{
    uint32_t first = k / EMBEDDING_SQUARE * EMBEDDING_SQUARE;

    for (uint32_t i = first; i < r->n && i < first + EMBEDDING_SQUARE; i++) {
        int32_t other = embedding_row(r, i);
        if (other >= 0 && (uint32_t)other / EMBEDDING_SQUARE == row / EMBEDDING_SQUARE) {
            return true;
        }
    }
    return false;
}

/* In order, as fp32: every form gives these bits, the Cube of finite dx. */
static void grad_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                     struct op_want *want)
{
    struct embedding_grad p = grad_of(c);
    bool cube = (p.form ? p.form : embedding_grad_form(&p)) == EMBEDDING_CUBE;

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = (first + i) / p.width, column = (first + i) % p.width;
        float sum = 0;
        for (uint32_t k = 0; k < p.rows.n && !isnan(sum); k++) {
            bool mine = embedding_row(&p.rows, k) == (int64_t)row;
            float x = 0;
            if (mine || cube) {
                x = (float)tensor_number(&c->in[0], k * p.width + column);
            }
            sum += mine ? x : isfinite(x) || !is_multiplied(&p.rows, k, row) ? 0 : NAN;
        }
        want->bits[i] = data_round((double)sum, TYPE_F32);
    }
}

static void grad_work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_in(w, NPU_MEM_UB, &c->in[1]);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(
    embedding_grad, .summary = "the sum of the rows of dx for each row of a table",
    .io = "dx[n,d] token[n] -> dw[v,d]", .shape = grad_shape,
    .types = "f32 s32 -> f32; f16 s32 -> f32", .prepare = grad_prepare, .run = grad_run,
    .ref = grad_ref, .check = 1024, .work = grad_work,
    .options = OPTIONS(NUMBER(struct own, rows, 100, 1, 2147483647, "of the table"),
                       CHOICE(struct own, strategy, "auto|atomic|sorted|cube",
                              "how; auto: the fastest"),
                       PADDING, SKIP),
    .numpy = "rows_added(dx, token, rows, padding)",
    .cases = CASES("--n 1 --d 1 --rows 1", "--n 200 --d 40 --strategy sorted --rows 100",
                   "--n 300 --d 77 --type f16 --strategy cube --rows 300",
                   "--n 70 --d 4100 --strategy sorted --type f16 --padding 3 --rows 40",
                   "--n 90 --d 33 --strategy atomic --type f16 --padding 0 --rows 55",
                   "--n 500 --d 20 --strategy atomic --rows 900",
                   "--n 150 --d 300 --type f16 --strategy cube --rows 17",
                   "--n 64 --d 16 --type f16 --rows 100"));
