/* SPDX-License-Identifier: MIT
 *
 * The command `mla_prolog`: fused and separate on the same data, and one table of both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/args.h"
#include "kernels/cli/data.h"
#include "kernels/lib/f16.h"
#include "kernels/mla_prolog/mla_prolog.h"
#include "kernels/mla_prolog/table.h"
#include "kernels/cli/operator.h"
#include "kernels/cli/report.h"
#include "kernels/cli/text.h"

static const char who[] = "mla_prolog";

enum {
    WORDS = 24,      /* of a passage */
    SMALL = 1 << 20, /* multiply-adds: every row is checked */
    ROWS = 4,        /* else so many */
};

struct command {
    const char *out_path;
    uint32_t m, n, k, cores, check, text, no_separate;
    struct npy a, b, bias; /* files, or made-up data */
    struct text_rows t;
    struct mla_prolog p;
    uint16_t *separate; /* out of the three launches */
};

static int bad(const char *text)
{
    fprintf(stderr, "%s: %s\n", who, text);
    return RUN_INPUT;
}

/* --- inputs --- */

static int read_files(struct command *c, const char *const *files)
{
    struct npy *in[] = {&c->a, &c->b, &c->bias};

    for (unsigned i = 0; i < 3; i++) {
        if (data_read(who, files[i], in[i])) {
            return RUN_INPUT;
        }
        if (in[i]->type != NPY_F2) {
            fprintf(stderr, "%s: %s is %s: want float16\n", who, files[i],
                    npy_type_name(in[i]->type));
            return RUN_INPUT;
        }
        if (in[i]->ndim != (i < 2 ? 2 : 1) || npy_count(in[i]) == 0 ||
            in[i]->shape[0] > INT32_MAX || in[i]->shape[1] > INT32_MAX) {
            fprintf(stderr, "%s: %s: want %s of 1 to %ld\n", who, files[i],
                    i < 2 ? "two dimensions" : "one dimension", (long)INT32_MAX);
            return RUN_INPUT;
        }
    }
    if (c->a.shape[1] != c->b.shape[0] || c->bias.shape[0] != c->b.shape[1]) {
        fprintf(stderr,
                "%s: %s (%zu, %zu), %s (%zu, %zu), %s (%zu): want (m, k), (k, n), (n)\n",
                who, files[0], c->a.shape[0], c->a.shape[1], files[1], c->b.shape[0],
                c->b.shape[1], files[2], c->bias.shape[0]);
        return RUN_INPUT;
    }
    c->p.m = (uint32_t)c->a.shape[0];
    c->p.k = (uint32_t)c->a.shape[1];
    c->p.n = (uint32_t)c->b.shape[1];
    c->p.a = c->a.data;
    c->p.b = c->b.data;
    c->p.bias = c->bias.data;
    return RUN_OK;
}

static int make_data(struct command *c)
{
    if (c->m == 0 || c->n == 0 || c->k == 0) {
        return bad("want three .npy files, or texts, or --m, --n and --k");
    }
    c->p.m = c->m;
    c->p.n = c->n;
    c->p.k = c->k;
    c->a.data = data_make(who, TYPE_F16, (uint64_t)c->m * c->k, 1);
    c->b.data = c->a.data ? data_make(who, TYPE_F16, (uint64_t)c->k * c->n, 2) : NULL;
    c->bias.data = c->b.data ? data_make(who, TYPE_F16, c->n, 3) : NULL;
    c->p.a = c->a.data;
    c->p.b = c->b.data;
    c->p.bias = c->bias.data;
    return c->bias.data ? RUN_OK : RUN_INPUT;
}

/* a: the passages of texts as rows; b: the same as columns; bias: how varied each is,
 * different pairs of words a word. */
static int make_text(struct command *c, const char *const *texts, int n)
{
    int status = (int)text_read(who, texts, (unsigned)n, WORDS, &c->t);
    uint16_t *bias = status ? NULL : data_alloc(who, TYPE_F16, c->t.n);

    if (bias == NULL) {
        return RUN_INPUT;
    }
    for (unsigned j = 0; j < c->t.n; j++) {
        unsigned pairs = 0;
        for (unsigned k = 0; k < TEXT_FEATURES; k++) {
            pairs += c->t.rows[(size_t)j * TEXT_FEATURES + k] != 0;
        }
        bias[j] = f32_to_f16((float)pairs / WORDS);
    }
    c->bias.data = bias;
    c->p.m = c->p.n = c->t.n;
    c->p.k = TEXT_FEATURES;
    c->p.a = c->t.rows;
    c->p.b = c->t.columns;
    c->p.bias = bias;
    printf("%u passages of %d words from %u texts, each as %d numbers\n", c->t.n, WORDS,
           c->t.n_texts, TEXT_FEATURES);
    return RUN_OK;
}

static int inputs(struct command *c, const char *const *operands, int n)
{
    bool sizes = c->m || c->n || c->k;

    if (sizes && (n || c->text)) {
        return bad("--m, --n and --k are for made-up data, not files");
    }
    if (sizes) {
        return make_data(c);
    }
    if (c->text || n == 0) {
        return make_text(c, operands, n);
    }
    return n == 3 ? read_files(c, operands) : bad("want three .npy files: a, b, bias");
}

static int outputs(struct command *c)
{
    uint64_t elements = (uint64_t)c->p.m * c->p.n;
    uint64_t work = mla_work_elements(&c->p);

    c->p.cores = c->cores;
    c->p.out = data_alloc(who, TYPE_F16, elements);
    if (c->p.out && (!c->no_separate || !mla_fits(&c->p))) {
        c->p.x = data_alloc(who, TYPE_F32, work);
        if (c->p.x == NULL) {
            return RUN_INPUT;
        }
    }
    if (c->p.out && !c->no_separate) {
        c->separate = data_alloc(who, TYPE_F16, elements);
        c->p.y = c->separate ? data_alloc(who, TYPE_F32, work) : NULL;
        return c->p.y ? RUN_OK : RUN_INPUT;
    }
    return c->p.out ? RUN_OK : RUN_INPUT;
}

/* --- launches --- */

static int launches(struct command *c, struct table *t)
{
    static const struct {
        const char *name;
        int (*run)(const struct mla_prolog *p, struct sched_report *report);
    } all[] = {{"fused", mla_fused},
               {"product", mla_product},
               {"layernorm", mla_layernorm},
               {"gelu", mla_gelu}};
    struct mla_prolog separate = c->p;
    static struct sched_report report; /* too large for a stack */

    separate.out = c->separate;
    for (unsigned i = 0; i < (c->no_separate ? 1 : 4); i++) {
        int err;
        table_start();
        err = all[i].run(i == 0 ? &c->p : &separate, &report);
        if (err) {
            return report_error(who, err, &report);
        }
        table_add(t, all[i].name,
                  i == 0   ? mla_spilled_bytes(&c->p)
                  : i == 1 ? (uint64_t)c->p.m * c->p.n * sizeof(float)
                           : 0);
    }
    return RUN_OK;
}

static int check(const struct command *c)
{
    const uint16_t *const outs[] = {c->p.out, c->separate};
    static const char *const names[] = {"fused", "separate"};
    bool small = (uint64_t)c->p.m * c->p.n * c->p.k <= SMALL;
    uint32_t rows = c->check != UINT32_MAX ? c->check : small ? c->p.m : ROWS;
    struct mla_difference d;
    int err = mla_check(&c->p, outs, c->no_separate ? 1 : 2, rows, &d);

    if (err == ERR_NOMEM) {
        return bad("no memory for the reference; MEM= gives the machine more");
    }
    if (err) {
        fprintf(stderr, "%s: %s: row %lu, column %lu is %g, want %g +- %g\n", who,
                names[d.which], (unsigned long)d.row, (unsigned long)d.column, d.got,
                d.want, d.bound);
        return RUN_CHECK;
    }
    rows = rows < c->p.m ? rows : c->p.m;
    if (rows) {
        printf("verified: %lu of %lu rows%s against double precision; largest error "
               "%.2f of its bound\n",
               (unsigned long)rows, (unsigned long)c->p.m,
               c->no_separate ? "" : " of both", d.worst);
    }
    return RUN_OK;
}

static int run_command(struct command *c, const char *const *operands, int n)
{
    size_t shape[2];
    struct table t = {0};
    int status = inputs(c, operands, n);

    status = status ? status : outputs(c);
    status = status ? status : launches(c, &t);
    if (status) {
        return status;
    }
    printf("out = gelu(layernorm(a x b + bias)): (%lu, %lu) x (%lu, %lu)\n",
           (unsigned long)c->p.m, (unsigned long)c->p.k, (unsigned long)c->p.k,
           (unsigned long)c->p.n);
    data_digest(who, c->p.out, TYPE_F16, (uint64_t)c->p.m * c->p.n);
    if (!c->no_separate) {
        data_digest("separate", c->separate, TYPE_F16, (uint64_t)c->p.m * c->p.n);
    }
    table_print(&t, &c->p);
    status = check(c);
    shape[0] = c->p.m;
    shape[1] = c->p.n;
    if (status == RUN_OK && c->out_path &&
        data_write(who, c->out_path, TYPE_F16, 2, shape, c->p.out)) {
        status = RUN_INPUT;
    }
    return status;
}

static int run(int argc, char **argv)
{
    struct command c = {.check = UINT32_MAX};
    const struct option options[] = {
        {"-o", OPTION_TEXT, &c.out_path, 0, 0},
        {"--text", OPTION_FLAG, &c.text, 0, 0},
        {"--m", OPTION_NUMBER, &c.m, 1, INT32_MAX},
        {"--n", OPTION_NUMBER, &c.n, 1, INT32_MAX},
        {"--k", OPTION_NUMBER, &c.k, 1, INT32_MAX},
        {"--cores", OPTION_NUMBER, &c.cores, 1, chip_cores()},
        {"--check", OPTION_NUMBER, &c.check, 0, UINT32_MAX - 1},
        {"--no-separate", OPTION_FLAG, &c.no_separate, 0, 0},
    };
    const char *operands[TEXT_MAX];
    int n = args_parse(argc, argv, options, sizeof(options) / sizeof(options[0]),
                       operands, TEXT_MAX);
    int status = n < 0 ? RUN_INPUT : run_command(&c, operands, n);

    free(c.a.data);
    free(c.b.data);
    free(c.bias.data);
    free(c.t.rows);
    free(c.t.columns);
    free(c.p.out);
    free(c.p.x);
    free(c.p.y);
    free(c.separate);
    return status;
}

OPERATOR(mla_prolog,
         "A.npy B.npy BIAS.npy [-o OUT.npy] | --m M --n N --k K | [--text TEXT...]"
         "  [--no-separate] [--cores N] [--check ROWS]",
         "out = gelu(layernorm(a x b + bias)), float16, in one launch and in three", run);
