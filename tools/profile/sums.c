/* SPDX-License-Identifier: MIT
 *
 * Sums over a trace.
 */
#include <stdlib.h>

#include "tools/profile/sums.h"

const char *cause_name(enum cause cause)
{
    static const char *const names[CAUSES] = {
        [CAUSE_SEM] = "semaphore",      [CAUSE_EMPTY] = "queue empty",
        [CAUSE_SHARED] = "bandwidth",   [CAUSE_L2] = "L2 miss",
        [CAUSE_BANK] = "bank conflict",
    };

    return names[cause];
}

/* Where a stall of that lane, cause, text and poster stands, or will stand, in the table of
 * numbers + 1, which is enlarged before it is half full. */
static uint32_t *find_stall(struct sums *s, const struct stall *stall)
{
    uint32_t h =
        (((stall->lane * 8 + stall->cause) * 16 + stall->by) * 65537 + stall->text) *
        2654435761u;
    uint32_t *at;

    for (h ^= h >> 15;; h++) {
        at = &s->table[h & (s->room - 1)];
        const struct stall *x = *at ? &s->stall[*at - 1] : NULL;
        if (!x || (x->lane == stall->lane && x->cause == stall->cause &&
                   x->text == stall->text && x->by == stall->by)) {
            return at;
        }
    }
}

static void enlarge_table(struct sums *s)
{
    s->room = s->room ? 2 * s->room : 1024;
    free(s->table);
    s->table = calloc(s->room, sizeof(s->table[0]));
    for (uint32_t i = 0; i < s->stalls; i++) {
        *find_stall(s, &s->stall[i]) = i + 1;
    }
}

static void add_stall(struct sums *s, const struct stall *stall)
{
    uint32_t *at;

    if (stall->cycles == 0) {
        return;
    }
    if (2 * s->stalls >= s->room) {
        enlarge_table(s);
    }
    s->lane[stall->lane].cause[stall->cause] += stall->cycles;
    at = find_stall(s, stall);
    if (*at == 0) {
        s->stall = array_grow(s->stall, s->stalls, sizeof(s->stall[0]));
        s->stall[s->stalls] = *stall;
        s->stall[s->stalls].cycles = 0;
        *at = ++s->stalls;
    }
    s->stall[*at - 1].cycles += stall->cycles;
}

/* What the hart did while a queue was empty. `at` goes on from call to call. */
static void blame(struct sums *s, const struct trace *t, uint32_t lane, uint64_t begin,
                  uint64_t end, uint32_t *at)
{
    while (*at < t->harts && t->hart[*at].end <= begin) {
        ++*at;
    }
    for (uint32_t i = *at; begin < end; i++) {
        uint64_t from = i < t->harts && t->hart[i].begin < end ? t->hart[i].begin : end;
        if (from > begin) { /* nobody has said what */
            add_stall(s, &(struct stall){lane, 0, 0, CAUSE_EMPTY, from - begin});
            begin = from;
        }
        if (begin < end) {
            uint64_t to = t->hart[i].end < end ? t->hart[i].end : end;
            add_stall(s, &(struct stall){lane, t->hart[i].name, 0, CAUSE_EMPTY,
                                         to > begin ? to - begin : 0});
            begin = to > begin ? to : begin;
        }
    }
}

/* What a command has waited for: the semaphore whose unit came last. */
static struct stall awaited(const struct trace *t, const struct command *c)
{
    struct stall stall = {.cause = CAUSE_SEM};
    uint64_t most = 0;

    for (uint32_t i = 0; i < c->waits; i++) {
        const struct edge *e = &t->edge[c->wait + i];
        if (e->cycles > most) {
            most = e->cycles;
            stall.text = e->sem;
            stall.by = e->from == BY_HART ? 0 : t->command[e->from].pipe;
        }
    }
    return stall;
}

static void sum_lane(struct sums *s, const struct trace *t, uint32_t lane)
{
    const struct lanes *l = &s->lanes;
    struct lane_sum *sum = &s->lane[lane];
    uint64_t done = t->begin;
    struct stall waited;
    uint32_t at = 0;

    for (uint32_t k = l->first[lane]; k < l->first[lane + 1]; k++) {
        const struct command *c = &t->command[l->order[k]];
        uint64_t head =
            c->begin - (c->waited < c->begin - done ? c->waited : c->begin - done);
        uint64_t lost = c->lost + c->missed + c->banks;
        blame(s, t, lane, done, head, &at);
        sum->before += k == l->first[lane] ? head - done : 0;
        waited = awaited(t, c);
        waited.lane = lane;
        waited.cycles = c->begin - head;
        add_stall(s, &waited);
        add_stall(s, &(struct stall){lane, 0, 0, CAUSE_SHARED, c->lost});
        add_stall(s, &(struct stall){lane, 0, 0, CAUSE_L2, c->missed});
        add_stall(s, &(struct stall){lane, 0, 0, CAUSE_BANK, c->banks});
        sum->busy += c->end - c->begin - lost;
        sum->commands++;
        sum->read += c->read;
        sum->written += c->written;
        sum->ops += c->ops;
        done = c->end;
    }
    sum->after = t->end - done;
    blame(s, t, lane, done, t->end, &at);
}

static void add_path(struct sums *s, const struct command *c)
{
    uint32_t i;

    for (i = 0; i < s->paths; i++) {
        if (s->path[i].from == c->from && s->path[i].to == c->to) {
            break;
        }
    }
    if (i == s->paths) {
        s->path = array_grow(s->path, i, sizeof(s->path[0]));
        s->path[s->paths++] = (struct path){.from = c->from, .to = c->to};
    }
    s->path[i].commands++;
    s->path[i].bytes += c->written ? c->written : c->read;
    s->path[i].cycles += c->end - c->begin;
}

/* Commands by line and name, which `table` finds: numbers of lines + 1. */
static void add_line(struct sums *s, uint32_t *table, uint32_t room,
                     const struct command *c)
{
    uint32_t h = (c->line * 31 + c->name) * 2654435761u >> 7;
    struct line *l;

    while (table[h % room] && (s->line[table[h % room] - 1].line != c->line ||
                               s->line[table[h % room] - 1].name != c->name)) {
        h++;
    }
    if (table[h % room] == 0) {
        s->line = array_grow(s->line, s->lines, sizeof(s->line[0]));
        s->line[s->lines++] =
            (struct line){.line = c->line, .pipe = c->pipe, .name = c->name};
        table[h % room] = s->lines;
    }
    l = &s->line[table[h % room] - 1];
    l->commands++;
    l->cycles += c->end - c->begin;
    l->waited += c->waited;
    l->lost += c->lost + c->missed + c->banks;
    l->bytes += c->written ? c->written : c->read;
    l->ops += c->ops;
}

static int longest(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;

    return x->cycles < y->cycles ? 1 : x->cycles > y->cycles ? -1 : 0;
}

static int hottest(const void *a, const void *b)
{
    const struct line *x = a, *y = b;

    return x->cycles < y->cycles ? 1 : x->cycles > y->cycles ? -1 : 0;
}

void sums_make(struct sums *s, const struct trace *t)
{
    uint32_t room = 2 * t->commands + 1, *table = calloc(room, sizeof(*table));

    *s = (struct sums){0};
    lanes_make(&s->lanes, t);
    s->lane = calloc(s->lanes.n + 1, sizeof(s->lane[0]));
    for (uint32_t lane = 0; lane < s->lanes.n; lane++) {
        sum_lane(s, t, lane);
    }
    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        add_line(s, table, room, c);
        if (c->from <= NPU_MEM_GM) {
            add_path(s, c);
        }
    }
    free(table);
    free(s->table);
    s->table = NULL;
    if (s->stalls) {
        qsort(s->stall, s->stalls, sizeof(s->stall[0]), longest);
    }
    qsort(s->line, s->lines, sizeof(s->line[0]), hottest);
}

void sums_free(struct sums *s)
{
    lanes_free(&s->lanes);
    free(s->lane);
    free(s->stall);
    free(s->path);
    free(s->line);
    *s = (struct sums){0};
}
