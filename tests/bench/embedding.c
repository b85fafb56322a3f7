/* SPDX-License-Identifier: MIT
 *
 * The gradient of an embedding, f16 on one core: cycles from call to return of each form
 * beside what was expected, at points of tokens, vocabulary, width and how indices fall. The
 * exit status is 1 if what is chosen is the fastest in less than 95 % of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/check.h"
#include "kernels/cli/op.h"
#include "kernels/embedding/embedding.h"
#include "sched/measure.h"

enum { TOKENS = 16384, WIDTH = 1280, MOST = 40 << 20 /* elements of dw */ };

static const uint32_t tokens[] = {64, 1024, TOKENS};
static const uint32_t rows[] = {16, 128, 1000, 4000, 30000, 250000};
static const uint32_t widths[] = {16, 128, WIDTH};

static const char *const names[EMBEDDING_FORMS] = {"auto", "atomic", "sorted", "cube"};

/* A number below n, the same on every run: each as often, or by Zipf's law. */
static uint32_t index_below(uint32_t n, bool zipf, uint32_t *seed)
{
    double u;

    *seed = *seed * 1664525 + 1013904223;
    u = (double)(*seed >> 8) / 0x1p24;
    return zipf ? (uint32_t)fmin(pow(n, u) - 1, n - 1) : (uint32_t)(u * n);
}

/* Cycles of a form; 0: it failed. */
static uint64_t measured(const struct embedding_grad *p, enum embedding_form form)
{
    static struct sched_report report;
    struct embedding_grad as = *p;
    struct launch_report r;

    as.form = form;
    measure_start();
    if (embedding_grad(&as, &report) != 0) {
        fprintf(stderr, "bench-embedding: %s: %s\n", names[form], report.text);
        return 0;
    }
    measure_read(&r);
    return r.call;
}

/* Whether the form that is chosen is the fastest; below 0: one failed. */
static int point(const struct embedding_grad *p, const char *fall)
{
    enum embedding_form chosen = embedding_grad_form(p), best = EMBEDDING_ATOMIC;
    uint64_t cycles[EMBEDDING_FORMS];

    printf("%lu,%lu,%lu,%s", (unsigned long)p->rows.n, (unsigned long)p->rows.rows,
           (unsigned long)p->width, fall);
    for (unsigned i = EMBEDDING_ATOMIC; i < EMBEDDING_FORMS; i++) {
        cycles[i] = measured(p, (enum embedding_form)i);
        if (cycles[i] == 0) {
            return -1;
        }
        best = cycles[i] < cycles[best] || i == EMBEDDING_ATOMIC ? i : best;
        printf(",%llu,%llu", (unsigned long long)cycles[i],
               (unsigned long long)embedding_grad_cycles(p, (enum embedding_form)i));
    }
    printf(",%s,%s\n", names[chosen], names[best]);
    return chosen == best;
}

static int bench_embedding(int argc, char **argv)
{
    uint16_t *dx = data_make(argv[0], TYPE_F16, TOKENS * WIDTH, 1);
    float *dw = data_alloc(argv[0], TYPE_F32, MOST);
    int32_t *index = malloc(TOKENS * sizeof(*index));
    unsigned points = 0, right = 0;
    uint32_t seed = 1;

    (void)argc;
    printf("tokens,rows,width,indices,atomic,expected,sorted,expected,cube,expected,chosen,"
           "fastest\n");
    for (unsigned i = 0; dx && dw && index && i < 3 * 6 * 3 * 2; i++) {
        struct embedding_grad p = {.dx = dx,
                                   .dw = dw,
                                   .rows = {.index = index, .padding = -1},
                                   .width = widths[i / 2 % 3],
                                   .type = TYPE_F16};
        bool zipf = i % 2;
        int is;
        p.rows.n = tokens[i / 6 % 3];
        p.rows.rows = rows[i / 18];
        if ((uint64_t)p.rows.rows * p.width > MOST || (i / 18 == 3 && zipf)) {
            continue;
        }
        for (uint32_t k = 0; k < p.rows.n; k++) {
            index[k] = (int32_t)index_below(p.rows.rows, zipf, &seed);
        }
        is = point(&p, zipf ? "zipf" : "uniform");
        if (is < 0) {
            break;
        }
        points++;
        right += (unsigned)is;
    }
    free(dx);
    free(dw);
    free(index);
    printf("# the fastest is chosen at %u of %u points\n", right, points);
    return points == 0 || right * 100 < points * 95 ? RUN_CHECK : RUN_OK;
}

COMMAND(benchembedding, "", "cycles of an embedding's gradient in each form",
        bench_embedding);
