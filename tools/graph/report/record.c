/* SPDX-License-Identifier: MIT
 *
 * See record.h.
 */
#include "tools/graph/report/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

void record_fail(const char *path, const char *why)
{
    fprintf(stderr, "graph: %s: %s\n", path, why);
    exit(2);
}

/* `  NODES KIND NUMBER cycles`, or `PLACE BYTES NAME`. */
static bool take(struct record *l, char *line, bool cycles)
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

struct record *record_read(const char *folder, const char *file, bool cycles)
{
    const char *path = graph_text("%s/%s", folder, file);
    struct record *l = graph_alloc(1, sizeof(*l));
    FILE *f = fopen(path, "r");
    char line[LINE];

    if (!f) {
        record_fail(path, strerror(errno));
    }
    l->folder = folder;
    while (l->n < RECORD_MOST && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        (void)take(l, line, cycles);
    }
    (void)fclose(f);
    return l;
}

struct tensor *record_tensor(const struct record *l, unsigned i)
{
    return graph_read_npy_at(graph_text("%s/all", l->folder), l->number[i]);
}

double record_error(const double *a, const double *b, int64_t n)
{
    double most = 0, largest = 0;

    for (int64_t i = 0; i < n; i++) {
        double x = a[i], y = b[i], d = x == y ? 0 : fabs(x - y);
        if (isnan(x) && isnan(y)) {
            continue;
        }
        most = isnan(d) ? INFINITY : fmax(most, d);
        largest = isfinite(y) ? fmax(largest, fabs(y)) : largest;
    }
    return most > 0 && largest > 0 ? most / largest : most;
}
