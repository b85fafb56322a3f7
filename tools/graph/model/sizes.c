/* SPDX-License-Identifier: MIT
 *
 * See sizes.h.
 */
#include "tools/graph/model/sizes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/graph.h"

static struct sizes {
    const char *name;
    size_t length;
    int64_t size[SIZES_MOST];
    unsigned n, chosen;
    bool heard; /* an input has it */
} sizes[SIZES_MOST];
static unsigned n_sizes, n_combinations = 1;
static bool any; /* size does */
static const char *const *paths; /* of inputs, in order */
static unsigned n_paths;

void sizes_inputs(const char *const *path, unsigned n)
{
    paths = path;
    n_paths = n;
}

static bool is_of(const struct sizes *s, const char *name)
{
    return strlen(name) == s->length && memcmp(s->name, name, s->length) == 0;
}

int64_t graph_size(const struct graph *g, const struct tensor *t, unsigned d,
                   const char *name)
{
    const char *number = graph_text("%s.%u", t->name, d); /* for one without a name */

    for (unsigned i = 0; i < n_sizes; i++) {
        if (is_of(&sizes[i], number) || is_of(&sizes[i], name)) {
            sizes[i].heard = true;
            return sizes[i].size[sizes[i].chosen];
        }
    }
    name = graph_text("%s", name[0] ? name : number);
    if (g->n_inputs < n_paths && n_sizes < SIZES_MOST) {
        const struct tensor *in = graph_read_npy(paths[g->n_inputs]);
        if (in->shape.n != t->shape.n) {
            graph_die(g, "%s: it is %s, input '%s' has %u dimensions",
                      paths[g->n_inputs], shape_text(&in->shape), t->name, t->shape.n);
        }
        free(in->value); /* from here on it is a size as any */
        sizes[n_sizes++] =
            (struct sizes){name, strlen(name), {in->shape.dim[d]}, 1, 0, true};
        return in->shape.dim[d];
    }
    graph_die(g, "dimension %u of input '%s' has no size: --size %s=N", d, t->name, name);
}

void sizes_any(void)
{
    any = true;
}

void graph_sizes_heard(const struct graph *g)
{
    for (unsigned i = 0; i < n_sizes; i++) {
        if (!sizes[i].heard) {
            graph_die(g, "--size %s: no input has that dimension, or it has a size",
                      sizes[i].name);
        }
    }
}

/* A size from 1 on; 0: there is none, or it is larger than any may be. */
static int64_t read_size(const char *text, char **end)
{
    int64_t size = text[0] >= '0' && text[0] <= '9' ? strtoll(text, end, 10) : 0;

    return size <= INT32_MAX ? size : 0;
}

static bool read_sizes(const char *text, struct sizes *s)
{
    char *end = NULL;
    int64_t last, step = 1;

    do {
        int64_t first = last = read_size(text, &end);
        if (first > 0 && strncmp(end, "..", 2) == 0) {
            last = read_size(end + 2, &end);
            step = last > 0 && *end == ':' ? read_size(end + 1, &end) : 1;
        }
        if (first < 1 || last < first || step < 1 || (last - first) / step >= SIZES_MOST) {
            return false;
        }
        for (; first <= last && s->n < SIZES_MOST; first += step) {
            s->size[s->n++] = first;
        }
        text = end + 1;
    } while (*end == ',' && s->n < SIZES_MOST);
    return *end == '\0';
}

static void wrong(const char *word, const char *why)
{
    fprintf(stderr, "graph: --size %s: %s\n", word, why);
    exit(2);
}

void sizes_take(const char *word)
{
    const char *sign = strrchr(word, '=');
    struct sizes *s = &sizes[n_sizes];

    if (n_sizes == SIZES_MOST || !sign || sign == word || !read_sizes(sign + 1, s)) {
        wrong(word, "want NAME=N, NAME=N,N,.. or NAME=FIRST..LAST:STEP");
    }
    s->name = word;
    s->length = (size_t)(sign - word);
    for (unsigned i = 0; i < n_sizes; i++) {
        if (sizes[i].length == s->length && memcmp(sizes[i].name, word, s->length) == 0) {
            wrong(word, "that name has a size already");
        }
    }
    n_sizes++;
    n_combinations *= s->n;
    if (n_combinations > SIZES_MOST) {
        wrong(word, graph_text("%u combinations of sizes, at most %d", n_combinations,
                               SIZES_MOST));
    }
}

unsigned sizes_count(void)
{
    return n_combinations;
}

/* The last name runs first. */
void sizes_choose(unsigned combination)
{
    for (unsigned i = n_sizes; i-- > 0;) {
        sizes[i].chosen = combination % sizes[i].n;
        combination /= sizes[i].n;
    }
}

const char *sizes_path(const char *model)
{
    const char *path = model;

    for (unsigned i = 0; i < n_sizes; i++) {
        if (sizes[i].n > 1) {
            path = graph_text("%s%s %.*s=%lld", path, path == model ? ":" : ",",
                              (int)sizes[i].length, sizes[i].name,
                              (long long)sizes[i].size[sizes[i].chosen]);
        }
    }
    return path;
}
