/* SPDX-License-Identifier: MIT
 *
 * Ways to compute a program; see tune.h. They are the words of the planner's own schedule with
 * other tiles, numbers of buffers, orders and cores; the planner says which of them can be done.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/tiles/script.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/price/trial.h"

enum {
    TRIES = 4096, /* at most */
    OPTIONS = 16, /* of one number */
    NEAR = 12,    /* of the best, about which more is looked at */
    LANES = 128,  /* what columns of a tile are a multiple of */
    FRACTAL = 16, /* the same of a product's */
    SLOTS = 4,    /* of L1, of a product's operand */
    BULK = 12,    /* tiles in a load, at most */
    APART = 3,    /* what is alike: recordings of the last two products are kept */
};

static unsigned try_most, try_cores;

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

/* --- ways to try --- */

void tune_try(unsigned most, unsigned cores)
{
    try_most = most;
    try_cores = cores;
}

struct tried {
    const char *schedule,
        *word; /* word number `number` is another than usual: that one */
    unsigned number;
    uint64_t cycles;
};

struct tries {
    const struct step *s;
    const char *usual, *word[OPTIONS]; /* the usual schedule, its words */
    unsigned n_words, n;
    struct tried way[TRIES];
};

/* The word of that number in a schedule, or NULL. */
static const char *word_of(const char *schedule, unsigned number)
{
    const char *at = schedule;

    for (unsigned i = 0; at && (at = strstr(at, "layout ")) != NULL; i++) {
        at += strlen("layout ");
        if (i == number) {
            return graph_text("%.*s", (int)strcspn(at, ","), at);
        }
    }
    return NULL;
}

/* The fastest in front; those that cannot be done, or are what another one is, are none. */
static void consider(struct tries *t, unsigned number, const char *word)
{
    const char *schedule = "";
    struct tried w = {.number = number};
    unsigned i;

    for (i = 0; i < t->n_words; i++) {
        schedule = graph_text("%s%slayout %s", schedule, i ? ", " : "",
                              i == number ? word : t->word[i]);
    }
    if (t->n == TRIES || strcmp(word, t->word[number]) == 0) {
        return;
    }
    w.schedule = trial_schedule(step_with(t->s, schedule), try_cores, &w.cycles);
    w.word = word_of(w.schedule, number);
    if (!w.word || strcmp(w.schedule, t->usual) == 0) {
        return;
    }
    for (i = 0; i < t->n; i++) {
        if (strcmp(t->way[i].schedule, w.schedule) == 0) {
            return;
        }
    }
    for (i = t->n++; i > 0 && w.cycles < t->way[i - 1].cycles; i--) {
        t->way[i] = t->way[i - 1];
    }
    t->way[i] = w;
}

static uint64_t multiple(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

static void add_option(uint64_t x, uint64_t unit, uint64_t *to, unsigned *n)
{
    x = x > unit ? multiple(x, unit) : x;
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

/* --- of tiles --- */

static void consider_tile(struct tries *t, unsigned number, const struct way *w,
                          const struct placing *p)
{
    char word[TILE_NAME_BYTES];

    if (script_way_word(w, p, word, sizeof(word))) {
        consider(t, number, graph_text("%s", word));
    }
}

/* With one of what a way has besides its tile otherwise: buffers, values of columns, loads of
 * several tiles, where all that lies. */
static void consider_others(struct tries *t, unsigned number, const struct way *of,
                            const struct placing *placing)
{
    struct placing p = *placing;
    struct way w = *of;

    w.apart = !w.apart;
    consider_tile(t, number, &w, &p);
    w = *of;
    w.far = !w.far;
    consider_tile(t, number, &w, &p);
    w = *of;
    w.single = !w.single;
    consider_tile(t, number, &w, &p);
    w = *of;
    for (w.spread = SPREAD_NONE; w.spread <= SPREAD_FIRST; w.spread++) {
        consider_tile(t, number, &w, &p);
    }
    w = *of;
    for (w.bulk = 0; w.bulk <= BULK; w.bulk++) {
        consider_tile(t, number, &w, &p);
    }
    p.banks = !p.banks;
    consider_tile(t, number, of, &p);
    p = *placing;
    p.behind = !p.behind;
    consider_tile(t, number, of, &p);
}

/* The same of the usual one, and of the fastest so far. */
static void consider_nearest(struct tries *t, unsigned number, const struct way *usual,
                             const struct placing *placing)
{
    const char *near[NEAR];
    struct placing p;
    struct way w;
    unsigned n = 0;

    consider_others(t, number, usual, placing);
    for (unsigned i = 0; i < t->n && n < NEAR; i++) {
        if (t->way[i].number == number) {
            near[n++] = t->way[i].word;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (script_read_way(near[i], &w, &p)) {
            consider_others(t, number, &w, &p);
        }
    }
}

static void consider_word(struct tries *t, unsigned number, uint64_t elements)
{
    uint64_t rows[OPTIONS], columns[OPTIONS];
    unsigned n_rows, n_columns;
    struct placing placing;
    struct way of;

    if (!script_read_way(t->word[number], &of, &placing)) {
        return;
    }
    n_rows = options(of.rows, elements / of.cols, of.rows > 8 ? 8 : 1, rows);
    n_columns = options(of.cols, elements / of.rows, LANES, columns);
    for (unsigned i = 0; i < n_rows; i++) {
        for (unsigned k = 0; k < n_columns; k++) {
            struct way w = of;
            w.rows = (uint32_t)rows[i];
            w.cols = (uint32_t)columns[k];
            w.pitch = w.cols == of.cols ? of.pitch : (uint32_t)multiple(w.cols, LANES);
            w.bulk = 0;
            for (w.ring = 1; w.ring <= PLAN_RING; w.ring++) {
                consider_tile(t, number, &w, &placing);
            }
        }
    }
    consider_nearest(t, number, &of, &placing);
}

/* --- of products --- */

static void consider_tiling(struct tries *t, unsigned number, const struct mm_tiling *w)
{
    char word[TILE_NAME_BYTES];

    if (script_tiling_word(w, word, sizeof(word))) {
        consider(t, number, graph_text("%s", word));
    }
}

/* What is in L1, in which order: nothing stays, a or b; rows as they are, or a at one time. */
static void consider_orders(struct tries *t, unsigned number, struct mm_tiling w)
{
    for (unsigned stays = 0; stays < 3; stays++) {
        for (unsigned rows = 0; rows < 3; rows++) {
            w.a_stays = stays == 1;
            w.b_stays = stays == 2;
            w.rows = rows != 0;
            w.a_whole = rows == 2;
            consider_tiling(t, number, &w);
        }
    }
}

/* Parts of a side of which each core has as many tiles as every other, or of sizes about one. */
static unsigned side_options(uint32_t number, uint32_t side, uint64_t to[OPTIONS])
{
    unsigned n = 0;

    for (uint64_t pieces = 1; pieces <= 8; pieces++) {
        add_option((side + pieces - 1) / pieces, FRACTAL, to, &n);
    }
    add_option(number, FRACTAL, to, &n);
    add_option((uint64_t)2 * number, FRACTAL, to, &n);
    add_option(number / 2, FRACTAL, to, &n);
    return n;
}

/* Tiles of other sizes; what L1 and L0 have of them is worked out. */
static void consider_sizes(struct tries *t, unsigned number, const struct cold_product *s,
                           struct mm_tiling w)
{
    uint64_t m[OPTIONS], n[OPTIONS];
    unsigned n_m = side_options(w.m, s->m, m), n_n = side_options(w.n, s->n, n);

    w.slice = w.a_slots = w.b_slots = 0;
    for (unsigned i = 0; i < n_m; i++) {
        for (unsigned j = 0; j < n_n; j++) {
            w.m = (uint32_t)m[i];
            w.n = w.columns = (uint32_t)n[j];
            consider_orders(t, number, w);
            w.columns = (uint32_t)multiple(w.n / 2, FRACTAL);
            consider_orders(t, number, w);
        }
    }
}

/* One with other chunks and slices of k, more buffers, on fewer cores. */
static void consider_near(struct tries *t, unsigned number, const struct cold_product *s,
                          const struct mm_tiling *of)
{
    struct mm_tiling w;

    for (uint32_t chunks = 1; chunks <= 8; chunks++) {
        w = *of;
        w.k = (uint32_t)multiple((s->k + chunks - 1) / chunks, 2 * FRACTAL);
        w.slice = w.a_slots = w.b_slots = 0;
        consider_tiling(t, number, &w);
        for (uint16_t slots = 2; slots <= SLOTS; slots++) {
            w.a_slots = w.a_stays ? 0 : slots;
            w.b_slots = w.b_stays ? 0 : slots;
            consider_tiling(t, number, &w);
        }
    }
    for (uint32_t slices = 1; slices <= 4; slices++) {
        w = *of;
        w.slice = (uint32_t)multiple(w.k / slices, 2 * FRACTAL);
        consider_tiling(t, number, &w);
    }
    for (uint32_t cores = 1; cores < try_cores; cores++) {
        w = *of;
        w.shares = cores;
        consider_tiling(t, number, &w);
    }
}

static void consider_product(struct tries *t, unsigned number,
                             const struct cold_product *s)
{
    struct mm_tiling usual, near[NEAR];
    unsigned n = 0;

    if (!script_read_tiling(t->word[number], &usual)) {
        return;
    }
    consider_near(t, number, s, &usual);
    consider_sizes(t, number, s, usual);
    for (unsigned i = 0; i < t->n && n < NEAR; i++) {
        n += t->way[i].number == number && script_read_tiling(t->way[i].word, &near[n]);
    }
    for (unsigned i = 0; i < n; i++) {
        consider_near(t, number, s, &near[i]);
    }
}

/* --- all --- */

struct step *tune_candidate(const struct step *s, const char *text, const char *words)
{
    struct step *more = graph_alloc(1, sizeof(*more));

    *more = *s;
    more->text = text;
    more->words = words;
    more->next = NULL;
    return more;
}

static void split_words(struct tries *t, const char *words)
{
    char *all = graph_text("%s", words);

    for (char *w = strtok(all, "/"); w && t->n_words < OPTIONS; w = strtok(NULL, "/")) {
        t->word[t->n_words++] = w;
    }
}

/* Most elements of an operand or a result. */
static uint64_t elements_of(const struct step *s)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < s->n_in + s->n_out; i++) {
        const struct tensor *of = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        uint64_t n = (uint64_t)tensor_count(of);
        most = n > most ? n : most;
    }
    return most;
}

struct step *tune_cuts(const struct emit *e, const struct step *s)
{
    for (const struct step *other = e->steps; other; other = other->next) {
        if (other != s && other->key == s->key && other->words) {
            return NULL;
        }
    }
    return try_most ? tune_cut_tries(s, s->group->conv, try_most, try_cores) : NULL;
}

struct step *tune_tries(const struct step *s)
{
    struct cold_product shape[OPTIONS];
    unsigned n_products = 0, product = 0, most;
    const char *schedule;
    struct tries *t;
    struct step *first = NULL, **last = &first;

    if (!try_most) {
        return NULL;
    }
    schedule = trial_schedule_text(s, try_cores, shape, OPTIONS, &n_products);
    if (!schedule) {
        return NULL;
    }
    t = graph_alloc(1, sizeof(*t));
    t->s = s;
    t->usual = schedule;
    split_words(t, words_of(schedule));
    for (unsigned i = 0; i < t->n_words; i++) {
        if (t->word[i][0] != 'm') {
            consider_word(t, i, elements_of(s));
        } else if (product < n_products) {
            consider_product(t, i, &shape[product++]);
        }
    }
    *last = tune_candidate(s, s->text, "again");
    most = t->n < try_most ? t->n : try_most;
    for (unsigned turn = 0; turn < APART; turn++) {
        for (unsigned i = turn; i < most; i += APART) {
            last = &(*last)->next;
            *last = tune_candidate(s, step_with(s, t->way[i].schedule).text,
                                   words_of(t->way[i].schedule));
        }
    }
    return first;
}
