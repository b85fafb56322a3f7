/* SPDX-License-Identifier: MIT
 *
 * The critical path of a run, as `make profile` leaves it: critical.csv, a step a line, told in
 * tools/emu/README.md, "Profiles". Columns are found by their names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/words.h"

enum { LINE = 1024 };

enum column { FROM, TO, KIND, CORE, PIPE, CMD, WHAT, VIA, COLUMNS };
static const char *const names[COLUMNS] = {"from", "to",  "kind", "core",
                                           "pipe", "cmd", "what", "via"};

struct table {
    unsigned place[COLUMNS];
    char *cell[COLUMNS];
};

/* Cuts a line into its cells; false: it has fewer than the columns that are wanted. */
static bool cut(struct table *c, char *line)
{
    unsigned have = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (unsigned i = 0; line; i++) {
        char *cell = strsep(&line, ",");
        for (unsigned k = 0; k < COLUMNS; k++) {
            if (c->place[k] == i) {
                c->cell[k] = cell;
                have++;
            }
        }
    }
    return have == COLUMNS;
}

static bool find_columns(struct table *c, char *line)
{
    unsigned have = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (unsigned i = 0; line; i++) {
        const char *cell = strsep(&line, ",");
        for (unsigned k = 0; k < COLUMNS; k++) {
            if (strcmp(cell, names[k]) == 0) {
                c->place[k] = i;
                have++;
            }
        }
    }
    return have == COLUMNS;
}

static void add_step(struct trace *t, const struct table *c)
{
    struct step s = {.begin = strtoull(c->cell[FROM], NULL, 10),
                     .end = strtoull(c->cell[TO], NULL, 10),
                     .what = strcmp(c->cell[KIND], "hart") == 0 ? STEP_HART : STEP_CHIP,
                     .number = strtoull(c->cell[CMD], NULL, 10),
                     .core = (uint16_t)strtoul(c->cell[CORE], NULL, 10)};
    char what[256];

    snprintf(what, sizeof(what), "%s", c->cell[WHAT]);
    if (strcmp(c->cell[KIND], "price") == 0) {
        snprintf(what, sizeof(what), "price of a launch");
    } else if (s.what == STEP_CHIP && strcmp(c->cell[KIND], "command") != 0) {
        snprintf(what, sizeof(what), "%s%s%.200s", c->cell[KIND],
                 *c->cell[WHAT] ? ": " : "", c->cell[WHAT]);
    }
    if (strcmp(c->cell[KIND], "command") == 0) {
        s.what = word_pipe(c->cell[PIPE]);
    }
    s.text = text_of(&t->texts, what, strlen(what));
    s.via = text_of(&t->texts, c->cell[VIA], strlen(c->cell[VIA]));
    if (s.begin >= t->begin && s.end <= t->end && s.end > s.begin) {
        t->step = array_grow(t->step, t->steps, sizeof(t->step[0]));
        t->step[t->steps++] = s;
    }
}

bool trace_read_path(struct trace *t, const char *path, char *error, size_t room)
{
    FILE *in = fopen(path, "r");
    struct table table;
    char line[LINE];
    bool good = in != NULL;
    unsigned n = 1;

    if (!good) {
        snprintf(error, room, "%s: %s", path, strerror(errno));
        return false;
    }
    good = fgets(line, sizeof(line), in) && find_columns(&table, line);
    while (good && fgets(line, sizeof(line), in)) {
        n++;
        good = cut(&table, line);
        if (good) {
            add_step(t, &table);
        }
    }
    fclose(in);
    if (!good) {
        snprintf(error, room, "%s:%u: is no row of a critical path", path, n);
    }
    return good;
}
