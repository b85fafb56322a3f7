/* SPDX-License-Identifier: MIT
 *
 * graph differ: a model's run with groups beside one without, as the script `debug` leaves them
 * in two folders: tensors in `all`, where and what they are in `tensors`, cycles in `steps`, and
 * explain.txt.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/graph.h"
#include "tools/graph/differ.h"

enum { MOST = 4096, LINE = 4096, SLOWER = 2 /* percent, that are none */ };

/* Of a file a line each: a tensor's place and name, or a step's nodes and cycles. */
struct list {
    const char *folder;
    unsigned n;
    char *name[MOST];
    unsigned long long number[MOST];
};

static _Noreturn void fail(const char *path, const char *why)
{
    fprintf(stderr, "graph: %s: %s\n", path, why);
    exit(2);
}

/* `  NODES KIND NUMBER cycles`, or `PLACE BYTES NAME`. */
static bool take(struct list *l, char *line, bool cycles)
{
    char *end = strrchr(line, ' '), *name = line, *number;

    if (cycles) {
        if (strncmp(line, "  ", 2) != 0 || !end || strcmp(end, " cycles") != 0) {
            return false;
        }
        *end = '\0';
        number = strrchr(line, ' ');
        name = line + 2;
        l->number[l->n] = strtoull(number, NULL, 10);
        name[strcspn(name, " ")] = '\0';
    } else {
        l->number[l->n] = strtoull(line, &name, 10);
        if (name == line || *name != ' ' || !(name = strchr(name + 1, ' '))) {
            return false;
        }
        name++;
    }
    l->name[l->n++] = graph_text("%s", name);
    return true;
}

static struct list *list(const char *folder, const char *file, bool cycles)
{
    const char *path = graph_text("%s/%s", folder, file);
    struct list *l = graph_alloc(1, sizeof(*l));
    FILE *f = fopen(path, "r");
    char line[LINE];

    if (!f) {
        fail(path, strerror(errno));
    }
    l->folder = folder;
    while (l->n < MOST && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        (void)take(l, line, cycles);
    }
    (void)fclose(f);
    return l;
}

/* --- tensors --- */

static struct tensor *tensor(const struct list *l, unsigned i)
{
    return graph_read_npy_at(graph_text("%s/all", l->folder), l->number[i]);
}

/* Largest difference by the largest element of b; what is infinite or NaN in both is alike. */
static double error(const struct tensor *a, const struct tensor *b)
{
    double most = 0, largest = 0;

    for (int64_t i = 0; i < tensor_count(b); i++) {
        double x = a->value[i], y = b->value[i], d = x == y ? 0 : fabs(x - y);
        if (isnan(x) && isnan(y)) {
            continue;
        }
        most = isnan(d) ? INFINITY : fmax(most, d);
        largest = isfinite(y) ? fmax(largest, fabs(y)) : largest;
    }
    return most > 0 && largest > 0 ? most / largest : most;
}

/* The last that has a name, since a tensor may be written in parts; l->n: none. */
static unsigned last(const struct list *l, const char *name)
{
    unsigned found = l->n;

    for (unsigned i = 0; i < l->n; i++) {
        found = strcmp(l->name[i], name) == 0 ? i : found;
    }
    return found;
}

/* Of those that both have; whether one is off, which the others then follow from. */
static bool tell_tensors(const struct list *a, const struct list *b, double tolerance)
{
    unsigned n = 0;
    double worst = 0;

    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = last(b, a->name[i]);
        if (k < b->n && last(a, a->name[i]) == i) {
            struct tensor *x = tensor(a, i), *y = tensor(b, k);
            double off = shape_equal(&x->shape, &y->shape) ? error(x, y) : 0;
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

static unsigned long long cycles_of(const struct list *l, const char *group)
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
        fail(path, strerror(errno));
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

static void tell_groups(const struct list *a, const struct list *b)
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
    bool wrong = tell_tensors(list(fused, "tensors", false),
                              list(plain, "tensors", false), tolerance);

    tell_groups(list(fused, "steps", true), list(plain, "steps", true));
    return wrong;
}
