/* SPDX-License-Identifier: MIT
 *
 * compare OLD NEW
 *
 * Two files of figures (CSV) of make bench, bench-tile, bench-matmul and their like: what moved,
 * and what got slower by more than 1 %. Two traces (.json, .json.gz): the first command at which
 * they part. Two folders of make profile: both. Exit status 1: something got slower by that
 * much, or, for two traces, they part; 2: what cannot be compared, as figures of different
 * machines.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/compare/table.h"
#include "tools/compare/traces.h"

enum { PERCENT = 1, PATH_ROOM = 4096 };
#define TRACE "trace.json.gz" /* of tools/profile/profile, in its folder */

static bool refuse(const char *path, const char *why)
{
    fprintf(stderr, "compare: %s: %s\n", path, why);
    return false;
}

/* A machine that `t` has rows of and `other` has none of, or NULL. */
static const char *machine_alone(const struct table *t, const struct table *other)
{
    int mine = table_column(t, "machine"), theirs = table_column(other, "machine");

    for (unsigned i = 0, k; i < t->rows; i++) {
        for (k = 0; k < other->rows; k++) {
            if (strcmp(t->row[i].cell[mine], other->row[k].cell[theirs]) == 0) {
                break;
            }
        }
        if (k == other->rows) {
            return t->row[i].cell[mine];
        }
    }
    return NULL;
}

static bool machines_of(const struct table *t, const struct table *other)
{
    const char *alone = machine_alone(t, other);

    if (alone) {
        fprintf(stderr, "compare: %s is of machine %s, %s is not\n", t->path, alone,
                other->path);
    }
    return alone == NULL;
}

static bool same_machines(const struct table *old, const struct table *new)
{
    if (table_column(old, "machine") < 0 || table_column(new, "machine") < 0) {
        return refuse(table_column(old, "machine") < 0 ? old->path : new->path,
                      "does not say of which machine it is");
    }
    if (!machines_of(old, new) || !machines_of(new, old)) {
        return false;
    }
    if (old->keys != new->keys) {
        return refuse(new->path, "has other columns");
    }
    for (unsigned i = 0; i < old->keys; i++) {
        if (strcmp(old->column[i], new->column[i]) != 0) {
            return refuse(new->path, "has other columns");
        }
    }
    return true;
}

/* Exit status; `folder`: traces have told of the machine. */
static int compare_tables(const char *old, const char *new, bool folder)
{
    struct table a = {0}, b = {0};
    int status = 2;

    if (table_read(&a, old) && table_read(&b, new) && (folder || same_machines(&a, &b))) {
        status = table_compare(&a, &b, PERCENT) != 0;
    }
    table_free(&a);
    table_free(&b);
    return status;
}

static bool same_chip(const struct side *old, const struct side *new)
{
    const struct trace *a = &old->trace, *b = &new->trace;

    if (a->profile == b->profile && a->timing == b->timing &&
        a->chip_cores == b->chip_cores) {
        return true;
    }
    fprintf(stderr,
            "compare: %s is of machine %s %s with %u cores, %s of %s %s with %u\n",
            old->path, npu_profile_name(a->profile), npu_timing_name(a->timing),
            a->chip_cores, new->path, npu_profile_name(b->profile),
            npu_timing_name(b->timing), b->chip_cores);
    return false;
}

static int compare_traces(const char *old, const char *new, bool folder)
{
    struct side a = {.path = old}, b = {.path = new};
    const struct window all = {0};
    char error[512] = "";
    int status = 2;

    if (!trace_read(&a.trace, old, &all, error, sizeof(error)) ||
        !trace_read(&b.trace, new, &all, error, sizeof(error))) {
        fprintf(stderr, "compare: %s\n", error);
    } else if (same_chip(&a, &b)) {
        status = traces_part(&a, &b) && !folder;
    }
    trace_free(&a.trace);
    trace_free(&b.trace);
    return status;
}

static const char *in(const char *folder, const char *name, char *path)
{
    snprintf(path, PATH_ROOM, "%s/%s", folder, name);
    return path;
}

static int compare_folders(const char *old, const char *new)
{
    char a[PATH_ROOM], b[PATH_ROOM];
    int status = compare_traces(in(old, TRACE, a), in(new, TRACE, b), true);

    return status ? status
                  : compare_tables(in(old, "OpBasicInfo.csv", a),
                                   in(new, "OpBasicInfo.csv", b), true);
}

static bool is_folder(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

static bool is_table(const char *path)
{
    size_t n = strlen(path);

    return n >= 4 && strcmp(path + n - 4, ".csv") == 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || argv[1][0] == '-' || !argv[1][0] || !argv[2][0]) {
        fprintf(stderr, "usage: compare OLD NEW, two .csv, two traces or two folders\n");
        return 2;
    }
    if (is_folder(argv[1]) != is_folder(argv[2]) ||
        is_table(argv[1]) != is_table(argv[2])) {
        refuse(argv[2], "is of another kind than OLD");
        return 2;
    }
    return is_folder(argv[1])  ? compare_folders(argv[1], argv[2])
           : is_table(argv[1]) ? compare_tables(argv[1], argv[2], false)
                               : compare_traces(argv[1], argv[2], false);
}
