/* SPDX-License-Identifier: MIT
 *
 * See tune.h. Ways to try are the words of the planner's own schedule with other tiles, numbers
 * of buffers and letters; the planner says which of them can be done.
 */
#include "tools/graph/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "tools/graph/trial.h"

enum {
    SETS = 1024,  /* of nodes that are apart */
    STEPS = 4096, /* with a schedule */
    WORD = 64,    /* bytes of one */
    TRIES = 1024, /* at most */
    OPTIONS = 16, /* of one number */
    LANES = 128,  /* what columns of a tile are a multiple of */
    BUFFERS = 4,
    LETTERS = 6,
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

static unsigned try_most, try_cores;

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

/* Words with strokes between as `layout A, layout B`; and back. */
static const char *schedule_of(const char *words)
{
    char *all = graph_text("%s", words);
    const char *text = "";

    for (char *word = strtok(all, "/"); word; word = strtok(NULL, "/")) {
        text = graph_text("%s%slayout %s", text, *text ? ", " : "", word);
    }
    return text;
}

static const char *words_of(const char *schedule)
{
    const char *words = "", *at = schedule;

    while ((at = strstr(at, "layout ")) != NULL) {
        at += strlen("layout ");
        words =
            graph_text("%s%s%.*s", words, *words ? "/" : "", (int)strcspn(at, ","), at);
    }
    return words;
}

const char *tune_words(const struct step *s)
{
    for (unsigned i = 0; i < tuned.n_steps; i++) {
        if (tuned.step[i].key == s->key) {
            return schedule_of(tuned.step[i].words);
        }
    }
    return NULL;
}

/* --- ways to try --- */

void tune_try(unsigned most, unsigned cores)
{
    try_most = most;
    try_cores = cores;
}

struct way {
    const char *schedule;
    uint64_t span;
};

struct tries {
    const struct step *s;
    const char *word[OPTIONS]; /* of the usual schedule */
    unsigned n_words, n;
    struct way way[TRIES];
};

/* The fastest in front; those that cannot be done are none. */
static void consider(struct tries *t, unsigned number, const char *word)
{
    const char *schedule = "";
    struct way w;
    unsigned i;

    for (i = 0; i < t->n_words; i++) {
        schedule = graph_text("%s%slayout %s", schedule, i ? ", " : "",
                              i == number ? word : t->word[i]);
    }
    for (i = 0; i < t->n; i++) {
        if (strcmp(t->way[i].schedule, schedule) == 0) {
            return;
        }
    }
    w.schedule = schedule;
    if (t->n == TRIES || strcmp(word, t->word[number]) == 0 ||
        !trial_span(step_with(t->s, schedule), try_cores, &w.span)) {
        return;
    }
    for (i = t->n++; i > 0 && w.span < t->way[i - 1].span; i--) {
        t->way[i] = t->way[i - 1];
    }
    t->way[i] = w;
}

static void add_option(uint64_t x, uint64_t unit, uint64_t *to, unsigned *n)
{
    x = x > unit ? (x + unit - 1) / unit * unit : x;
    if (x > 0 && x <= UINT32_MAX) {
        to[(*n)++] = x;
    }
}

/* Numbers about one, and those that give each core so many tiles of `all`. */
static unsigned options(uint64_t number, uint64_t all, uint64_t unit,
                        uint64_t to[OPTIONS])
{
    static const unsigned char share[][2] = {{1, 1}, {2, 1}, {4, 1}, {3, 2},
                                             {1, 2}, {1, 4}, {3, 4}, {1, 8}};
    enum { SHARES = sizeof(share) / sizeof(share[0]) };
    unsigned n = 0;

    for (unsigned i = 0; i < SHARES; i++) {
        add_option(number * share[i][0] / share[i][1], unit, to, &n);
    }
    for (uint64_t tiles = try_cores; tiles <= 4 * (uint64_t)try_cores;
         tiles += try_cores) {
        add_option((all + tiles - 1) / tiles, unit, to, &n);
    }
    return n;
}

/* A tile in a word: r8c1024p1040n2fsb012. */
struct tile {
    unsigned r, c, p, n;
    char letters[WORD], phases[WORD];
};

static bool read_tile(const char *word, struct tile *t)
{
    int at = 0;

    memset(t, 0, sizeof(*t));
    if (strlen(word) >= WORD ||
        sscanf(word, "r%uc%up%un%1u%n", &t->r, &t->c, &t->p, &t->n, &at) != 4 ||
        at == 0) {
        return false;
    }
    memcpy(t->letters, word + at, strspn(word + at, "afsobh"));
    strcpy(t->phases, word + at + strlen(t->letters));
    return true;
}

static void consider_tile(struct tries *t, unsigned number, const struct tile *w)
{
    consider(
        t, number,
        graph_text("r%uc%up%un%u%s%s", w->r, w->c, w->p, w->n, w->letters, w->phases));
}

/* With one letter more or less, in their order. */
static void consider_letters(struct tries *t, unsigned number, const struct tile *of)
{
    static const char all[LETTERS + 1] = "afsobh";

    for (unsigned i = 0; i < LETTERS; i++) {
        struct tile w = *of;
        unsigned n = 0;
        for (unsigned k = 0; k < LETTERS; k++) {
            if (!strchr(of->letters, all[k]) == (k == i)) {
                w.letters[n++] = all[k];
            }
        }
        w.letters[n] = '\0';
        consider_tile(t, number, &w);
    }
}

static void consider_word(struct tries *t, unsigned number, uint64_t elements)
{
    uint64_t rows[OPTIONS], columns[OPTIONS];
    unsigned n_rows, n_columns;
    struct tile of;

    if (!read_tile(t->word[number], &of)) {
        return;
    }
    consider_letters(t, number, &of);
    n_rows = options(of.r, elements / of.c, of.r > 8 ? 8 : 1, rows);
    n_columns = options(of.c, elements / of.r, LANES, columns);
    for (unsigned i = 0; i < n_rows; i++) {
        for (unsigned k = 0; k < n_columns; k++) {
            struct tile w = of;
            w.r = (unsigned)rows[i];
            w.c = (unsigned)columns[k];
            w.p = w.c == of.c ? of.p : (w.c + LANES - 1) / LANES * LANES;
            for (w.n = 1; w.n <= BUFFERS; w.n++) {
                consider_tile(t, number, &w);
            }
        }
    }
}

static struct step *one_more(const struct step *s, const char *schedule,
                             const char *words)
{
    struct step *more = graph_alloc(1, sizeof(*more));

    *more = *s;
    more->text = step_with(s, schedule).text;
    more->words = words;
    more->next = NULL;
    return more;
}

struct step *tune_tries(const struct step *s, const char *schedule)
{
    struct tries *t;
    struct step *first = NULL, **last = &first;
    uint64_t elements = 0;
    char *words;

    if (!try_most || !schedule) {
        return NULL;
    }
    t = graph_alloc(1, sizeof(*t));
    t->s = s;
    words = graph_text("%s", words_of(schedule));
    for (char *w = strtok(words, "/"); w && t->n_words < OPTIONS; w = strtok(NULL, "/")) {
        t->word[t->n_words++] = w;
    }
    for (unsigned i = 0; i < s->n_in + s->n_out; i++) {
        const struct tensor *of = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        uint64_t n = (uint64_t)tensor_count(of);
        elements = n > elements ? n : elements;
    }
    for (unsigned i = 0; i < t->n_words; i++) {
        consider_word(t, i, elements);
    }
    *last = one_more(s, schedule, "again");
    for (unsigned i = 0; i < t->n && i < try_most; i++) {
        last = &(*last)->next;
        *last = one_more(s, t->way[i].schedule, words_of(t->way[i].schedule));
    }
    return first;
}

void tune_keys(const struct emit *e, FILE *to)
{
    for (const struct step *s = e->steps; s; s = s->next) {
        fprintf(to, s->op ? "-" : "%08x", s->key);
        fprintf(to, " %s ", s->words ? s->words : "-");
        for (unsigned i = 0; i < s->group->n_nodes; i++) {
            fprintf(to, "%s%08x", i ? "," : "", tune_name(s->group->node[i]));
        }
        fprintf(to, "\n");
    }
}
