/* SPDX-License-Identifier: MIT
 *
 * Texts of a trace, each kept once, and arrays that grow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/trace.h"

static void *want(void *p)
{
    if (!p) {
        fprintf(stderr, "report: no memory\n");
        exit(2);
    }
    return p;
}

/* Doubles whenever n is a power of two, so who grows it by one keeps no capacity. */
void *array_grow(void *array, uint32_t n, size_t size)
{
    if (n != 0 && (n & (n - 1)) != 0) {
        return array;
    }
    return want(realloc(array, (n ? 2 * (size_t)n : 1) * size));
}

static uint32_t hash(const char *text, size_t bytes)
{
    uint32_t h = 2166136261;

    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ (uint8_t)text[i]) * 16777619;
    }
    return h ^ h >> 15;
}

static void enlarge(struct texts *t)
{
    t->room = t->room ? 2 * t->room : 1024;
    free(t->slot);
    t->slot = want(calloc(t->room, sizeof(t->slot[0])));
    for (uint32_t i = 1; i < t->n; i++) {
        uint32_t h = hash(t->text[i], strlen(t->text[i]));
        while (t->slot[h & (t->room - 1)]) {
            h++;
        }
        t->slot[h & (t->room - 1)] = i;
    }
}

uint32_t text_of(struct texts *t, const char *text, size_t bytes)
{
    uint32_t h = hash(text, bytes), i;

    if (t->n == 0) {
        t->text = array_grow(NULL, 0, sizeof(t->text[0]));
        t->text[t->n++] = want(strdup(""));
    }
    if (bytes == 0) {
        return 0;
    }
    if (2 * t->n >= t->room) {
        enlarge(t);
    }
    for (; (i = t->slot[h & (t->room - 1)]) != 0; h++) {
        if (strncmp(t->text[i], text, bytes) == 0 && t->text[i][bytes] == '\0') {
            return i;
        }
    }
    t->text = array_grow(t->text, t->n, sizeof(t->text[0]));
    t->text[t->n] = want(strndup(text, bytes));
    return t->slot[h & (t->room - 1)] = t->n++;
}

void trace_free(struct trace *t)
{
    for (uint32_t i = 0; i < t->texts.n; i++) {
        free((void *)t->texts.text[i]);
    }
    for (uint32_t i = 0; i < t->counters; i++) {
        free(t->counter[i].sample);
    }
    free(t->texts.text);
    free(t->texts.slot);
    free(t->command);
    free(t->edge);
    free(t->hart);
    free(t->launch);
    free(t->counter);
    free(t->allocation);
    free(t->step);
    *t = (struct trace){0};
}
