/* SPDX-License-Identifier: MIT
 *
 * Texts as matrices; see text.h.
 */
#include "kernels/cli/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/lib/ascii.h"
#include "kernels/lib/f16.h"

static const char *const default_texts[] = {
    "/usr/share/common-licenses/GPL-1",      "/usr/share/common-licenses/GPL-2",
    "/usr/share/common-licenses/GPL-3",      "/usr/share/common-licenses/LGPL-2",
    "/usr/share/common-licenses/LGPL-2.1",   "/usr/share/common-licenses/MPL-2.0",
    "/usr/share/common-licenses/Apache-2.0",
};

static char *read_text(const char *who, const char *path, size_t *len)
{
    int fd = host_open(path, HOST_READ);
    int64_t size = fd < 0 ? -1 : host_size(fd);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    bool ok = text && host_read(fd, text, (size_t)size) == 0;

    if (fd >= 0) {
        ok &= host_close(fd) == 0;
    }
    if (!ok) {
        fprintf(stderr, "%s: %s: %s\n", who, path,
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

    while (*at < len && !is_letter(text[*at])) {
        (*at)++;
    }
    if (*at == len) {
        return 0;
    }
    while (*at < len && is_letter(text[*at])) {
        hash = (hash ^ (unsigned char)lower(text[*at])) * 16777619u;
        (*at)++;
    }
    return hash | 1;
}

/* Scales the counts to a row of length 1. */
static void store_row(uint16_t *row, const uint16_t *counts)
{
    float sum = 0;

    for (unsigned i = 0; i < TEXT_FEATURES; i++) {
        sum += (float)counts[i] * (float)counts[i];
    }
    for (unsigned i = 0; i < TEXT_FEATURES; i++) {
        row[i] = counts[i] ? f32_to_f16((float)counts[i] / sqrtf(sum)) : 0;
    }
}

static void add_passages(struct text_rows *t, const char *text, size_t len)
{
    uint16_t counts[TEXT_FEATURES] = {0};
    uint32_t last = 0, word;
    unsigned words = 0;
    size_t at = 0;

    while ((word = next_word(text, len, &at)) != 0 && t->n < TEXT_MAX_ROWS) {
        counts[((last * 31 + word) * 2654435761u) >> 22]++;
        last = word;
        if (++words == t->words) {
            store_row(t->rows + (size_t)t->n++ * TEXT_FEATURES, counts);
            memset(counts, 0, sizeof(counts));
            words = 0;
            last = 0;
        }
    }
}

static enum run_status add_text(const char *who, struct text_rows *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len;
    char *text = read_text(who, path, &len);

    if (text == NULL) {
        return RUN_INPUT;
    }
    t->name[t->n_texts] = slash ? slash + 1 : path;
    t->first[t->n_texts++] = t->n;
    add_passages(t, text, len);
    t->first[t->n_texts] = t->n;
    free(text);
    if (t->first[t->n_texts - 1] == t->n) {
        fprintf(stderr, "%s: %s has fewer than %d words (or there are too many texts)\n",
                who, path, (int)t->words);
        return RUN_INPUT;
    }
    return RUN_OK;
}

static enum run_status transpose(const char *who, struct text_rows *t)
{
    t->columns = data_alloc(who, TYPE_F16, (uint64_t)t->n * TEXT_FEATURES);
    if (t->columns == NULL) {
        return RUN_INPUT;
    }
    for (unsigned i = 0; i < t->n; i++) {
        for (unsigned k = 0; k < TEXT_FEATURES; k++) {
            t->columns[(size_t)k * t->n + i] = t->rows[(size_t)i * TEXT_FEATURES + k];
        }
    }
    return RUN_OK;
}

enum run_status text_read(const char *who, const char *const *paths, unsigned n,
                          unsigned words, struct text_rows *t)
{
    enum run_status status = RUN_OK;

    *t = (struct text_rows){.words = words};
    if (n > TEXT_MAX) {
        fprintf(stderr, "%s: at most %d texts\n", who, TEXT_MAX);
        return RUN_INPUT;
    }
    if (n == 0) {
        paths = default_texts;
        n = sizeof(default_texts) / sizeof(default_texts[0]);
    }
    t->rows = data_alloc(who, TYPE_F16, (uint64_t)TEXT_MAX_ROWS * TEXT_FEATURES);
    for (unsigned i = 0; t->rows && i < n && status == RUN_OK; i++) {
        status = add_text(who, t, paths[i]);
    }
    return t->rows == NULL ? RUN_INPUT : status ? status : transpose(who, t);
}

int text_operands(struct op_call *call, const char *const *paths, unsigned n,
                  unsigned words, struct text_rows *t)
{
    enum run_status status = text_read(call->op->name, paths, n, words, t);
    uint64_t count = (uint64_t)t->n * TEXT_FEATURES;

    call->in[0] = (struct tensor){.type = TYPE_F16,
                                  .ndim = 2,
                                  .shape = {t->n, TEXT_FEATURES},
                                  .count = count,
                                  .data = t->rows,
                                  .path = "texts"};
    call->in[1] = (struct tensor){.type = TYPE_F16,
                                  .ndim = 2,
                                  .shape = {TEXT_FEATURES, t->n},
                                  .count = count,
                                  .data = t->columns,
                                  .path = "texts"};
    return status == RUN_OK ? 0 : ERR_FORMAT;
}
