/* SPDX-License-Identifier: MIT
 *
 * The command `demo`: how much of each licence text reappears in each other one.
 *
 * Every text is cut into passages, which are rows of numbers (kernels/cli/text.h). The
 * product of that matrix with its transpose holds the similarity of every passage with
 * every other, 1 where they are equal; the Cube computes it. A passage reappears in a
 * text that has a passage with similarity MATCH or more.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/cli/args.h"
#include "kernels/cli/data.h"
#include "kernels/matmul/matmul.h"
#include "kernels/cli/operator.h"
#include "kernels/cli/report.h"
#include "kernels/cli/text.h"

enum { WORDS = 48 /* of a passage */, CHECKS = 256 };
#define MATCH 0.5f

struct demo {
    struct text_rows text;
    float *c; /* (n, n) */
};

/* --- the product and what it says --- */

/* Percentage of text i's passages that reappear in text j. */
static float reappears(const struct demo *d, unsigned i, unsigned j)
{
    unsigned found = 0;

    for (unsigned r = d->text.first[i]; r < d->text.first[i + 1]; r++) {
        float best = 0;
        for (unsigned s = d->text.first[j]; s < d->text.first[j + 1]; s++) {
            best = fmaxf(best, d->c[(size_t)r * d->text.n + s]);
        }
        found += best >= MATCH;
    }
    return 100.0f * (float)found / (float)(d->text.first[i + 1] - d->text.first[i]);
}

static void print_table(const struct demo *d)
{
    printf("passages of %d words of a text that reappear in another, in percent\n%-11s",
           WORDS, "");
    for (unsigned j = 0; j < d->text.n_texts; j++) {
        printf(" %10s", d->text.name[j]);
    }
    for (unsigned i = 0; i < d->text.n_texts; i++) {
        printf("\n%-11s", d->text.name[i]);
        for (unsigned j = 0; j < d->text.n_texts; j++) {
            printf(" %10.0f", (double)reappears(d, i, j));
        }
    }
    printf("\n");
}

static uint32_t reference(const void *arg, uint64_t i)
{
    const struct matmul *p = arg;

    return matmul_ref(p, (uint32_t)(i / p->n), (uint32_t)(i % p->n));
}

static int multiply(const struct demo *d)
{
    struct matmul p = {d->text.rows,  d->text.columns, d->c,     d->text.n, d->text.n,
                       TEXT_FEATURES, TYPE_F16,        TYPE_F32, 1};
    struct sched_report report;
    int err;

    pmu_start(0);
    err = matmul(&p, &report);
    if (err) {
        return report_error("demo", err, &report);
    }
    print_table(d);
    printf("\nmatmul on the Cube: (%u, %u) x (%u, %u), F16 -> F32\n", d->text.n,
           TEXT_FEATURES, TEXT_FEATURES, d->text.n);
    data_digest("demo", d->c, TYPE_F32, (uint64_t)d->text.n * d->text.n);
    report_pipes(1, (uint64_t)d->text.n * d->text.n * TEXT_FEATURES);
    if (data_check("demo", d->c, TYPE_F32, (uint64_t)d->text.n * d->text.n, CHECKS,
                   reference, &p)) {
        return RUN_CHECK;
    }
    printf("verified: %d elements spread over the product equal the hart's fused "
           "multiply-adds bit for bit\n",
           CHECKS);
    return RUN_OK;
}

static int run(int argc, char **argv)
{
    struct demo d = {0};
    const char *texts[TEXT_MAX];
    int n = args_parse(argc, argv, NULL, 0, texts, TEXT_MAX);
    int status =
        n < 0 ? RUN_INPUT : (int)text_read("demo", texts, (unsigned)n, WORDS, &d.text);

    if (status == RUN_OK) {
        d.c = data_alloc("demo", TYPE_F32, (uint64_t)d.text.n * d.text.n);
        status = d.c ? multiply(&d) : RUN_INPUT;
    }
    free(d.text.rows);
    free(d.text.columns);
    free(d.c);
    return status;
}

OPERATOR(demo, "[TEXT]...", "how much of each text reappears in the others (matmul)",
         run);
