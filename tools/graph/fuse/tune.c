/* SPDX-License-Identifier: MIT
 *
 * Files of measurements and what they say; see tune.h.
 */
#include "tools/graph/fuse/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "tools/graph/price/trial.h"

enum {
    SETS = 1024,  /* of nodes that are apart */
    STEPS = 4096, /* with a schedule */
};

/* What is said of a program. */
struct keyed {
    uint32_t key;
    const char *words;
};

static struct {
    struct set {
        const char *nodes, *why;
    } apart[SETS], together[SETS];
    struct keyed step[STEPS], arith[STEPS];
    unsigned n_apart, n_together, n_steps, n_ariths;
} tuned;

/* --- the file --- */

static _Noreturn void wrong(const char *path, unsigned line, const char *why)
{
    fprintf(stderr, "graph: %s:%u: %s\n", path, line, why);
    exit(2);
}

/* Words for a program, one more; false: there is no room. */
static bool keep(struct keyed *list, unsigned *n, const char *key, const char *words)
{
    char *end;

    if (*n == STEPS) {
        return false;
    }
    list[*n].key = (uint32_t)strtoul(key, &end, 16);
    list[(*n)++].words = graph_text("%s", words);
    return *end == '\0';
}

/* The same of nodes. */
static bool keep_set(struct set *list, unsigned *n, const char *nodes, const char *why)
{
    if (*n == SETS) {
        return false;
    }
    list[(*n)++] = (struct set){graph_text("%s", nodes), why};
    return true;
}

/* One line; false: it is none. */
static bool take_line(char *line)
{
    const char *kind = strtok(line, " \n"), *key = strtok(NULL, " \n"),
               *words = strtok(NULL, " \n"), *more = strtok(NULL, " \n");
    const char *given = graph_text("%s%s", kind ? kind : "", words ? " WORDS" : "");

    if (!key || more) {
        return false;
    }
    if (strcmp(given, "step WORDS") == 0) {
        return keep(tuned.step, &tuned.n_steps, key, words);
    }
    if (strcmp(given, "arith WORDS") == 0) {
        return (strcmp(words, "f16") == 0 || strcmp(words, "cube") == 0) &&
               keep(tuned.arith, &tuned.n_ariths, key, words);
    }
    if (strcmp(given, "together") == 0) {
        return keep_set(tuned.together, &tuned.n_together, key,
                        "measured as faster together");
    }
    return (strcmp(given, "apart") == 0 &&
            keep_set(tuned.apart, &tuned.n_apart, key, "measured as faster apart")) ||
           (strcmp(given, "mended") == 0 &&
            keep_set(tuned.apart, &tuned.n_apart, key, "measured as more exact apart"));
}

void tune_read(const char *path)
{
    struct graph g = {.path = path};
    FILE *f = graph_open(&g);
    char *line = NULL;
    size_t size = 0;
    unsigned n = 1;

    if (getline(&line, &size, f) < 0 || strncmp(line, "tuned ", 6) != 0) {
        wrong(path, n, "is no file of tools/graph/tune");
    }
    line[strcspn(line, "\n")] = '\0';
    if (npu_profile_find(line + 6) != (int)chip_profile()) {
        wrong(path, n, "is of another profile");
    }
    while (getline(&line, &size, f) >= 0) {
        n++;
        if (!take_line(line)) {
            wrong(path, n, "is none of its lines");
        }
    }
    free(line);
    (void)fclose(f);
}

static uint32_t key_of(const char *text)
{
    return plan_crc(0, text, strlen(text));
}

uint32_t tune_name(const struct node *n)
{
    return key_of(n->name);
}

const char *tune_apart(const struct node *a, const struct node *b)
{
    char x[9], y[9];

    snprintf(x, sizeof(x), "%08x", tune_name(a));
    snprintf(y, sizeof(y), "%08x", tune_name(b));
    for (unsigned i = 0; i < tuned.n_apart; i++) {
        if (strstr(tuned.apart[i].nodes, x) && strstr(tuned.apart[i].nodes, y)) {
            return tuned.apart[i].why;
        }
    }
    return NULL;
}

static bool all_in(const struct group *group, const char *nodes)
{
    for (unsigned i = 0; i < group->n_nodes; i++) {
        char name[9];
        snprintf(name, sizeof(name), "%08x", tune_name(group->node[i]));
        if (!strstr(nodes, name)) {
            return false;
        }
    }
    return true;
}

const char *tune_together(const struct group *group)
{
    for (unsigned i = 0; i < tuned.n_together; i++) {
        if (all_in(group, tuned.together[i].nodes)) {
            return tuned.together[i].why;
        }
    }
    return NULL;
}

enum arith tune_arith(const struct step *s)
{
    for (unsigned i = 0; i < tuned.n_ariths; i++) {
        if (tuned.arith[i].key == s->key) {
            return tuned.arith[i].words[0] == 'f' ? ARITH_F16 : ARITH_CUBE;
        }
    }
    return ARITH_USUAL;
}

/* Words with strokes between as `layout A, layout B`. */
static const char *schedule_of(const char *words)
{
    char *all = graph_text("%s", words);
    const char *text = "";

    for (char *word = strtok(all, "/"); word; word = strtok(NULL, "/")) {
        text = graph_text("%s%slayout %s", text, *text ? ", " : "", word);
    }
    return text;
}

const char *tune_cut(const struct step *s)
{
    for (unsigned i = 0; i < tuned.n_steps; i++) {
        if (tuned.step[i].key == s->key) {
            return tuned.step[i].words;
        }
    }
    return NULL;
}

const char *tune_words(const struct step *s)
{
    const char *words = tune_cut(s);

    return words ? schedule_of(words) : NULL;
}

/* --- keys --- */

void tune_keys(const struct emit *e, FILE *to)
{
    for (const struct step *s = e->steps; s; s = s->next) {
        fprintf(to, s->key ? "%08x" : "-", s->key);
        fprintf(to, " %s ", s->words ? s->words : "-");
        for (unsigned i = 0; i < s->group->n_nodes; i++) {
            fprintf(to, "%s%08x", i ? "," : "", tune_name(s->group->node[i]));
        }
        fprintf(to, "\n");
    }
}
