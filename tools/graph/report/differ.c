/* SPDX-License-Identifier: MIT
 *
 * graph differ: a model's run with groups beside one without, in the folders (record.h) that the
 * script `debug` leaves, with their explain.txt.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/report/differ.h"
#include "tools/graph/report/record.h"

enum { LINE = 4096, SLOWER = 2 /* percent, that are none */ };

/* --- tensors --- */

/* The last that has a name, since a tensor may be written in parts; l->n: none. */
static unsigned last(const struct record *l, const char *name)
{
    unsigned found = l->n;

    for (unsigned i = 0; i < l->n; i++) {
        found = strcmp(l->name[i], name) == 0 ? i : found;
    }
    return found;
}

/* Of those that both have; whether one is off, which the others then follow from. */
static bool tell_tensors(const struct record *a, const struct record *b, double tolerance)
{
    unsigned n = 0;
    double worst = 0;

    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = last(b, a->name[i]);
        if (k < b->n && last(a, a->name[i]) == i) {
            struct tensor *x = record_tensor(a, i), *y = record_tensor(b, k);
            double off = shape_equal(&x->shape, &y->shape)
                             ? record_error(x->value, y->value, tensor_count(y))
                             : 0;
            n++;
            worst = fmax(worst, off);
            if (off > tolerance) {
                printf("first wrong tensor: '%s', %.1e of its largest element off, %.1e "
                       "allowed\n  its group computes in another order or type: "
                       "explain.txt says in which step it is; --no-fusion does without\n",
                       a->name[i], off, tolerance);
                return true;
            }
            free(x->value);
            free(y->value);
        }
    }
    printf("tensors: %u that both runs have are within %.1e, the worst %.1e\n", n,
           tolerance, worst);
    return false;
}

/* --- groups --- */

/* Whether all nodes of `part` are among those of `of`, `A+B+C` both. */
static bool among(const char *part, const char *of)
{
    size_t n = strcspn(part, "+"), m;

    for (const char *at = of; *at; at += m + (at[m] == '+')) {
        m = strcspn(at, "+");
        if (m == n && strncmp(at, part, n) == 0) {
            return part[n] == '\0' || among(part + n + 1, of);
        }
    }
    return false;
}

static unsigned long long cycles_of(const struct record *l, const char *group)
{
    unsigned long long sum = 0;

    for (unsigned i = 0; i < l->n; i++) {
        sum += among(l->name[i], group) ? l->number[i] : 0;
    }
    return sum;
}

/* What explain.txt says of a step: `limit ..: NODES`. */
static const char *limit_of(const char *folder, const char *nodes)
{
    const char *path = graph_text("%s/explain.txt", folder), *found = "not known";
    FILE *f = fopen(path, "r");
    char line[LINE];

    if (!f) {
        record_fail(path, strerror(errno));
    }
    while (fgets(line, sizeof(line), f)) {
        char *limit = strstr(line, ", limit "),
             *name = limit ? strstr(limit, ": ") : NULL;
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "step ", 5) == 0 && name && strcmp(name + 2, nodes) == 0) {
            *name = '\0';
            found = graph_text("%s", limit + strlen(", limit "));
        }
    }
    (void)fclose(f);
    return found;
}

static const char *advice(const char *limit)
{
    static const struct {
        const char *begins, *says;
    } table[] = {
        {"the hart",
         "the pipes' queues are empty while it issues: sizes that make fewer, "
         "larger tiles, or --no-fusion"},
        {"V", "its stores wait for it: what several results share may be computed twice, "
              "see its program"},
        {"MTE2", "V waits for what is loaded: --rule bytes keeps groups that save loads"},
        {"MTE3", "buffers wait for their way out: fewer results, or fp16"},
        {"the Cube", "all else waits for it: sizes that are multiples of 16"},
    };

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strncmp(limit, table[i].begins, strlen(table[i].begins)) == 0) {
            return table[i].says;
        }
    }
    return "tools/profile says where its cycles went";
}

static void tell_groups(const struct record *a, const struct record *b)
{
    unsigned groups = 0;

    for (unsigned i = 0; i < a->n; i++) {
        unsigned long long fused = cycles_of(a, a->name[i]);
        unsigned long long apart = cycles_of(b, a->name[i]);
        const char *limit;
        if (!strchr(a->name[i], '+')) {
            continue;
        }
        groups++;
        if (fused * 100 > apart * (100 + SLOWER)) {
            limit = limit_of(a->folder, a->name[i]);
            printf("first group slower than its pieces: %s, %llu cycles, apart %llu\n"
                   "  limit %s: %s\n",
                   a->name[i], fused, apart, limit, advice(limit));
            return;
        }
    }
    printf("groups: none of %u is slower than its pieces\n", groups);
}

int differ(const char *fused, const char *plain, double tolerance)
{
    bool wrong = tell_tensors(record_read(fused, "tensors", false),
                              record_read(plain, "tensors", false), tolerance);

    tell_groups(record_read(fused, "steps", true), record_read(plain, "steps", true));
    return wrong;
}
