/* SPDX-License-Identifier: MIT
 *
 * Tables of figures, compared row by row. Cycles are exact, so every figure that is another
 * one has a reason and is told; what rises by more than some percent is counted. Source of the
 * form: RFC 4180; cells beyond the header's belong to the last one, which is a sentence.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/table.h"

/* A figure that is not what it was. */
struct move {
    const struct row *row;
    const char *column, *was, *is;
    double percent; /* by which it rose */
    bool cost;
};

static void *want(void *p)
{
    if (!p) {
        fprintf(stderr, "compare: no memory\n");
        exit(2);
    }
    return p;
}

static char *whole_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    ssize_t n = f ? getdelim(&text, &room, '\0', f) : -1;

    if (n < 0) {
        fprintf(stderr, "compare: %s: %s\n", path,
                f ? "cannot be read" : strerror(errno));
        free(text);
        text = NULL;
    } else if ((size_t)n != strlen(text) || !feof(f)) {
        fprintf(stderr, "compare: %s: is no table\n", path);
        free(text);
        text = NULL;
    }
    if (f) {
        fclose(f);
    }
    return text;
}

/* Cuts a line into at most `most` cells, the last with all that is left; *rest: the next line. */
static unsigned cells(char *line, char **cell, unsigned most, char **rest)
{
    unsigned n = 0;
    char *in = line, *out;

    for (;;) {
        bool quoted = *in == '"';
        cell[n] = out = in += quoted;
        while (*in && (quoted || (*in != '\n' && (*in != ',' || n + 1 == most)))) {
            if (quoted && *in == '"' && *++in != '"') {
                quoted = false;
            } else {
                *out++ = *in++;
            }
        }
        n++;
        char end = *in;
        *rest = in + (end != '\0');
        out -= out > cell[n - 1] && out[-1] == '\r';
        *out = '\0';
        if (end != ',') {
            return n;
        }
        in++;
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* What less of is better: time. */
static bool is_cost(const char *column)
{
    return ends_with(column, "cycles") || ends_with(column, "instructions") ||
           ends_with(column, "(us)") || strcmp(column, "call to return") == 0 ||
           strcmp(column, "planning") == 0;
}

static char *row_name(const struct table *t, char *const *cell)
{
    size_t bytes = 1;
    char *name;

    for (unsigned i = 0; i < t->keys; i++) {
        bytes += strlen(cell[i]) + 1;
    }
    name = want(calloc(bytes, 1));
    for (unsigned i = 0; i < t->keys; i++) {
        strcat(strcat(name, i ? " " : ""), cell[i]);
    }
    return name;
}

static bool no_table(const struct table *t, const char *why)
{
    fprintf(stderr, "compare: %s: %s\n", t->path, why);
    return false;
}

static bool read_rows(struct table *t, char *at)
{
    while (*at) {
        char *next, **cell = want(calloc(t->columns, sizeof(cell[0])));
        unsigned n = cells(at, cell, t->columns, &next);
        if ((t->rows & (t->rows - 1)) == 0) {
            t->row =
                want(realloc(t->row, (t->rows ? 2 * t->rows : 1) * sizeof(t->row[0])));
        }
        t->row[t->rows++] = (struct row){
            .cell = cell,
            .name = n == t->columns ? row_name(t, cell) : want(strdup("")),
        };
        if (n != t->columns) {
            return no_table(t, "a row has other columns than the first line");
        }
        at = next;
    }
    return t->rows || no_table(t, "has no rows");
}

bool table_read(struct table *t, const char *path)
{
    char *next;

    *t = (struct table){.path = path, .text = whole_file(path)};
    if (!t->text) {
        return false;
    }
    t->columns = 1;
    for (const char *p = t->text; *p && *p != '\n'; p++) {
        t->columns += *p == ',';
    }
    t->column = want(calloc(t->columns, sizeof(t->column[0])));
    t->columns = cells(t->text, t->column, t->columns, &next);
    while (t->keys < t->columns && !is_cost(t->column[t->keys])) {
        t->keys++;
    }
    if (t->keys == 0 || t->keys == t->columns) {
        return no_table(t, "is no table of a benchmark or profile: no column of cycles");
    }
    return read_rows(t, next);
}

void table_free(struct table *t)
{
    for (unsigned i = 0; i < t->rows; i++) {
        free((char *)t->row[i].name);
        free(t->row[i].cell);
    }
    free(t->row);
    free(t->column);
    free(t->text);
    *t = (struct table){0};
}

int table_column(const struct table *t, const char *name)
{
    for (unsigned i = 0; i < t->columns; i++) {
        if (strcmp(t->column[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Rows of one name go by their order. */
static struct row *partner(struct table *t, const char *name)
{
    for (unsigned i = 0; i < t->rows; i++) {
        if (!t->row[i].paired && strcmp(t->row[i].name, name) == 0) {
            return &t->row[i];
        }
    }
    return NULL;
}

static bool number(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static struct move moved(const struct row *row, const char *column, const char *was,
                         const char *is)
{
    struct move m = {.row = row, .column = column, .was = was, .is = is};
    double a, b;

    if (number(was, &a) && number(is, &b)) {
        m.cost = is_cost(column);
        m.percent = a != 0 ? 100 * (b - a) / a : b > 0 ? 100 : -100;
    }
    return m;
}

/* What became slower, the most first; the rest as it comes. */
static int slower_first(const void *a, const void *b)
{
    const struct move *x = a, *y = b;
    double p = x->cost ? x->percent : 0, q = y->cost ? y->percent : 0;

    p = p > 0 ? p : 0;
    q = q > 0 ? q : 0;
    return p != q ? (p < q ? 1 : -1) : x->row != y->row ? (x->row < y->row ? -1 : 1) : 0;
}

static void print(const struct move *m, double percent)
{
    const char *what = "less";

    if (!m->cost) {
        what = "other";
    } else if (m->percent > 0) {
        what = m->percent > percent ? "slower" : "more";
    }
    printf("%-6s  %-32s %-18s %12s -> %-12s", what, m->row->name, m->column, m->was,
           m->is);
    printf(m->cost ? " %+.2f %%\n" : "\n", m->percent);
}

/* Rows of `t` that the other table has not. */
static unsigned alone(const struct table *t)
{
    unsigned n = 0;

    for (unsigned i = 0; i < t->rows; i++) {
        if (!t->row[i].paired) {
            printf("only in %s: %s\n", t->path, t->row[i].name);
            n++;
        }
    }
    return n;
}

unsigned table_compare(struct table *old, struct table *new, double percent)
{
    struct move *move = want(calloc((size_t)old->rows * old->columns, sizeof(move[0])));
    unsigned n = 0, rows = 0, pairs = 0, slower = 0;

    for (unsigned i = 0; i < old->rows; i++) {
        struct row *a = &old->row[i], *b = partner(new, a->name);
        unsigned before = n;
        if (!b) {
            continue;
        }
        a->paired = b->paired = true;
        pairs++;
        for (unsigned k = old->keys; k < old->columns; k++) {
            int c = table_column(new, old->column[k]);
            if (c >= 0 && strcmp(a->cell[k], b->cell[c]) != 0) {
                move[n++] = moved(a, old->column[k], a->cell[k], b->cell[c]);
            }
        }
        rows += n > before;
    }
    qsort(move, n, sizeof(move[0]), slower_first);
    for (unsigned i = 0; i < n; i++) {
        print(&move[i], percent);
        slower += move[i].cost && move[i].percent > percent;
    }
    free(move);
    unsigned others = alone(old) + alone(new);
    printf("%u of %u rows moved, %u figures slower by more than %g %%, %u rows of one "
           "side\n",
           rows, pairs, slower, percent, others);
    return slower;
}
