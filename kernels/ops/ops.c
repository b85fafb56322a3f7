/* SPDX-License-Identifier: MIT
 *
 * Operators from tile programs; see ops.h. That each can be read is what a test looks at:
 * here it is an assertion.
 */
#include "kernels/ops/ops.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/op/tile_op.h"

enum { CASES = 24 };

/* The one that is open. */
static struct {
    struct tile_program program;
    const char *cases[CASES + 1];
    unsigned n_cases;
    char path[64];
} now;

/* So many characters, in the arena. */
static char *copy(const char *text, size_t n)
{
    char *to = tile_alloc(&now.program.arena, n + 1);

    return to ? memcpy(to, text, n) : NULL;
}

/* What a comment says behind `word`; NULL: it says something else. */
static const char *behind(const char *comment, const char *word)
{
    size_t n = strlen(word);

    return strncmp(comment, word, n) == 0 && comment[n] == ' ' ? comment + n + 1 : NULL;
}

/* One line more of what NumPy does. */
static const char *add_line(const char *lines, const char *line, size_t n)
{
    size_t before = lines ? strlen(lines) + 1 : 0;
    char *to = tile_alloc(&now.program.arena, before + n + 1);

    if (to && lines) {
        memcpy(to, lines, before);
        to[before - 1] = '\n';
    }
    return to ? memcpy(to + before, line, n) - before : lines;
}

/* The axis that is meant unless --axis says another. */
static void set_axis(int axis)
{
    for (struct option *o = now.program.options; o->name; o++) {
        o->first = strcmp(o->name, "axis") == 0 ? axis : o->first;
    }
}

/* One comment, without its `# `. */
static void take(struct opdesc *op, const char *comment, size_t length, bool first)
{
    const char *end = comment + length, *word;

    if (first) {
        op->summary = copy(comment, length);
    } else if ((word = behind(comment, "numpy"))) {
        op->numpy = add_line(op->numpy, word, (size_t)(end - word));
    } else if ((word = behind(comment, "case")) && now.n_cases < CASES) {
        now.cases[now.n_cases++] = copy(word, (size_t)(end - word));
    } else if ((word = behind(comment, "ulps"))) {
        op->ulps = (unsigned)atoi(word);
    } else if ((word = behind(comment, "axis"))) {
        set_axis(atoi(word));
    }
}

static void read_text(const struct opdesc *entry)
{
    struct tile_program *p = &now.program;
    const char *at = entry->program;
    int err;

    snprintf(now.path, sizeof(now.path), "kernels/ops/%s.tile", entry->name);
    p->path = now.path;
    p->built_in = true;
    err = tile_describe(p, at, strlen(at), NULL);
    assert(!err);
    p->op.ulps = 2;
    now.n_cases = 0;
    for (bool first = true; at[0] == '#'; first = false) {
        size_t n = strcspn(at, "\n");
        take(&p->op, at + 2, n - 2, first);
        at += n + 1;
    }
    now.cases[now.n_cases] = NULL;
    p->op.cases = now.cases;
    p->described = p->arena.used;
}

const struct opdesc *ops_open(const struct opdesc *entry)
{
    struct tile_arena arena = now.program.arena;

    if (arena.base == NULL) {
        arena = (struct tile_arena){malloc(TILE_ARENA_BYTES), TILE_ARENA_BYTES, 0};
    }
    if (arena.base == NULL) {
        fprintf(stderr, "%s: no memory to read it; MEM= gives the machine more\n",
                entry->name);
        return NULL;
    }
    memset(&now.program, 0, sizeof(now.program));
    arena.used = 0;
    now.program.arena = arena;
    read_text(entry);
    return &now.program.op;
}
