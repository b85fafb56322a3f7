/* SPDX-License-Identifier: MIT
 *
 * A table of figures, as benchmarks and profiles leave it: the columns before the first that
 * is a cost name the row, what follows has been measured.
 */
#ifndef TOOLS_COMPARE_TABLE_H
#define TOOLS_COMPARE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct row {
    char **cell;
    const char *name; /* of the row: its first cells, with blanks between them */
    bool paired;
};

struct table {
    const char *path;
    char *text, **column;
    struct row *row;
    unsigned rows, columns, keys;
};

/* Reads a file of commas. False: one line on stderr has said why. */
bool table_read(struct table *t, const char *path);
void table_free(struct table *t);
/* Column of this name, or -1. */
int table_column(const struct table *t, const char *name);
/* Prints each figure that is another one, what became slower first; returns how many costs
 * rose by more than `percent`. */
unsigned table_compare(struct table *old, struct table *new, double percent);

#endif
