/* SPDX-License-Identifier: MIT
 *
 * The command `demo`: how much of each licence text reappears in each other one.
 *
 * Every text is cut into passages of WORDS words. A passage becomes a row of FEATURES
 * numbers: how often each pair of neighbouring words occurs in it (pairs are hashed to
 * columns), scaled to length 1. The product of that matrix with its transpose holds the
 * similarity of every passage with every other, 1 where they are equal; the Cube computes
 * it. A passage reappears in a text that has a passage with similarity MATCH or more.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/args.h"
#include "kernels/data.h"
#include "kernels/f16.h"
#include "kernels/matmul/matmul.h"
#include "kernels/operator.h"
#include "kernels/report.h"

enum { WORDS = 48, FEATURES = 1024, MAX_TEXTS = 8, MAX_PASSAGES = 2048, CHECKS = 256 };
#define MATCH 0.5f

static const char *const default_texts[] = {
    "/usr/share/common-licenses/GPL-1",      "/usr/share/common-licenses/GPL-2",
    "/usr/share/common-licenses/GPL-3",      "/usr/share/common-licenses/LGPL-2",
    "/usr/share/common-licenses/LGPL-2.1",   "/usr/share/common-licenses/MPL-2.0",
    "/usr/share/common-licenses/Apache-2.0",
};

struct demo {
    unsigned n_texts, n; /* texts, passages */
    const char *name[MAX_TEXTS];
    unsigned first[MAX_TEXTS + 1]; /* first passage of each text, and the end */
    uint16_t *a, *at;              /* (n, FEATURES) and its transpose */
    float *c;                      /* (n, n) */
};

/* --- texts to numbers --- */

static char *read_text(const char *path, size_t *len)
{
    int fd = host_open(path, HOST_READ);
    int64_t size = fd < 0 ? -1 : host_size(fd);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    bool ok = text && host_read(fd, text, (size_t)size) == 0;

    if (fd >= 0) {
        ok &= host_close(fd) == 0;
    }
    if (!ok) {
        fprintf(stderr, "demo: %s: %s\n", path,
                fd < 0 ? host_errno_text() : "cannot be read completely");
        free(text);
        return NULL;
    }
    *len = (size_t)size;
    return text;
}

/* Hash of the next word at *at, letters only and in lower case; 0 at the end. */
static uint32_t next_word(const char *text, size_t len, size_t *at)
{
    uint32_t hash = 2166136261u;

    while (*at < len && !isalpha((unsigned char)text[*at])) {
        (*at)++;
    }
    if (*at == len) {
        return 0;
    }
    while (*at < len && isalpha((unsigned char)text[*at])) {
        hash = (hash ^ (unsigned)tolower((unsigned char)text[*at])) * 16777619u;
        (*at)++;
    }
    return hash | 1;
}

/* Scales the counts to a row of length 1. */
static void store_row(uint16_t *row, const uint16_t *counts)
{
    float sum = 0;

    for (unsigned i = 0; i < FEATURES; i++) {
        sum += (float)counts[i] * (float)counts[i];
    }
    for (unsigned i = 0; i < FEATURES; i++) {
        row[i] = counts[i] ? f32_to_f16((float)counts[i] / sqrtf(sum)) : 0;
    }
}

static void add_passages(struct demo *d, const char *text, size_t len)
{
    uint16_t counts[FEATURES] = {0};
    uint32_t last = 0, word;
    unsigned words = 0;
    size_t at = 0;

    while ((word = next_word(text, len, &at)) != 0 && d->n < MAX_PASSAGES) {
        counts[((last * 31 + word) * 2654435761u) >> 22]++;
        last = word;
        if (++words == WORDS) {
            store_row(d->a + (size_t)d->n++ * FEATURES, counts);
            memset(counts, 0, sizeof(counts));
            words = 0;
            last = 0;
        }
    }
}

static int add_text(struct demo *d, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len;
    char *text = read_text(path, &len);

    if (text == NULL) {
        return RUN_INPUT;
    }
    d->name[d->n_texts] = slash ? slash + 1 : path;
    d->first[d->n_texts++] = d->n;
    add_passages(d, text, len);
    d->first[d->n_texts] = d->n;
    free(text);
    if (d->first[d->n_texts - 1] == d->n) {
        fprintf(stderr,
                "demo: %s has fewer than %d words (or there are too many texts)\n", path,
                WORDS);
        return RUN_INPUT;
    }
    return RUN_OK;
}

static int transpose(struct demo *d)
{
    d->at = data_alloc("demo", TYPE_F16, (uint64_t)d->n * FEATURES);
    d->c = data_alloc("demo", TYPE_F32, (uint64_t)d->n * d->n);
    if (d->at == NULL || d->c == NULL) {
        return RUN_INPUT;
    }
    for (unsigned i = 0; i < d->n; i++) {
        for (unsigned k = 0; k < FEATURES; k++) {
            d->at[(size_t)k * d->n + i] = d->a[(size_t)i * FEATURES + k];
        }
    }
    return RUN_OK;
}

/* --- the product and what it says --- */

/* Percentage of text i's passages that reappear in text j. */
static float reappears(const struct demo *d, unsigned i, unsigned j)
{
    unsigned found = 0;

    for (unsigned r = d->first[i]; r < d->first[i + 1]; r++) {
        float best = 0;
        for (unsigned s = d->first[j]; s < d->first[j + 1]; s++) {
            best = fmaxf(best, d->c[(size_t)r * d->n + s]);
        }
        found += best >= MATCH;
    }
    return 100.0f * (float)found / (float)(d->first[i + 1] - d->first[i]);
}

static void print_table(const struct demo *d)
{
    printf("passages of %d words of a text that reappear in another, in percent\n%-11s",
           WORDS, "");
    for (unsigned j = 0; j < d->n_texts; j++) {
        printf(" %10s", d->name[j]);
    }
    for (unsigned i = 0; i < d->n_texts; i++) {
        printf("\n%-11s", d->name[i]);
        for (unsigned j = 0; j < d->n_texts; j++) {
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
    struct matmul p = {d->a, d->at, d->c, d->n, d->n, FEATURES, TYPE_F16, TYPE_F32, 1};
    struct sched_report report;
    int err;

    pmu_start(0);
    err = matmul(&p, &report);
    if (err) {
        return report_error("demo", err, &report);
    }
    print_table(d);
    printf("\nmatmul on the Cube: (%u, %u) x (%u, %u), F16 -> F32\n", d->n, FEATURES,
           FEATURES, d->n);
    data_digest("demo", d->c, TYPE_F32, (uint64_t)d->n * d->n);
    report_pipes(1, (uint64_t)d->n * d->n * FEATURES);
    if (data_check("demo", d->c, TYPE_F32, (uint64_t)d->n * d->n, CHECKS, reference,
                   &p)) {
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
    int n_defaults = (int)(sizeof(default_texts) / sizeof(default_texts[0]));
    const char *given[MAX_TEXTS];
    int n_given = args_parse(argc, argv, NULL, 0, given, MAX_TEXTS);
    const char *const *texts = n_given > 0 ? given : default_texts;
    int n = n_given > 0 ? n_given : n_defaults;
    int status = RUN_OK;

    if (n_given < 0) {
        return RUN_INPUT;
    }
    d.a = data_alloc("demo", TYPE_F16, (uint64_t)MAX_PASSAGES * FEATURES);
    for (int i = 0; d.a && i < n && status == RUN_OK; i++) {
        status = add_text(&d, texts[i]);
    }
    status = d.a == NULL ? RUN_INPUT : status ? status : transpose(&d);
    status = status ? status : multiply(&d);
    free(d.a);
    free(d.at);
    free(d.c);
    return status;
}

OPERATOR(demo, "[TEXT]...", "how much of each text reappears in the others (matmul)",
         run);
