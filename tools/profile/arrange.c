/* SPDX-License-Identifier: MIT
 *
 * Order among what has been read of a trace.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/profile/arrange.h"
#include "tools/profile/lane.h"
#include "tools/profile/words.h"

static int compare(const void *a, const void *b)
{
    const struct command *x = a, *y = b;

    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    return x->pipe != y->pipe ? x->pipe - y->pipe : x->number < y->number ? -1 : 1;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void hart_does(struct trace *t, const char *what, uint64_t begin, uint64_t end)
{
    if (end > begin) {
        t->hart = array_grow(t->hart, t->harts, sizeof(t->hart[0]));
        t->hart[t->harts++] = (struct range){
            .begin = begin, .end = end, .name = text_of(&t->texts, what, strlen(what))};
    }
}

/* What a launch takes of the chip, and what it does before and behind its tasks, which have
 * names. */
static void name_launches(struct trace *t)
{
    uint32_t named = t->harts;

    for (uint32_t i = 0; i < t->launches; i++) {
        const struct range *l = &t->launch[i];
        uint64_t first = l->back, last = l->call + l->price;
        if (l->number == 0) {
            continue;
        }
        for (uint32_t k = 0; k < named; k++) {
            const struct range *h = &t->hart[k];
            if (h->end > l->call && h->begin < l->back) {
                first = h->begin < first ? h->begin : first;
                last = h->end > last ? h->end : last;
            }
        }
        hart_does(t, "price of a launch", l->call, l->call + l->price);
        hart_does(t, "launch begins", l->call + l->price, first);
        hart_does(t, "launch ends", last, l->back);
    }
}

/* Without launches a run is what the commands and the hart took. */
static void bounds(struct trace *t)
{
    t->begin = t->command[0].begin;
    for (uint32_t i = 0; i < t->commands; i++) {
        t->end = t->command[i].end > t->end ? t->command[i].end : t->end;
    }
    for (uint32_t i = 0; i < t->launches; i++) {
        struct range *l = &t->launch[i];
        l->end = l->end == UINT64_MAX ? t->end : l->end;
        if (l->number) {
            t->begin = l->call && l->call < t->begin ? l->call : t->begin;
            t->end = l->back > t->end ? l->back : t->end;
        }
    }
}

/* What a counter holds in [begin, end): the last value before is that at its begin. */
static void cut_counter(struct counter *c, uint64_t begin, uint64_t end)
{
    uint32_t n = 0, kept = 0;

    for (uint32_t i = 0; i < c->n && c->sample[i].at < end; i++) {
        if (c->sample[i].at <= begin) {
            kept = 0;
        }
        n = kept++;
        c->sample[n] = c->sample[i];
        c->sample[n].at = c->sample[n].at > begin ? c->sample[n].at : begin;
    }
    c->n = kept;
}

/* Leaves launches `first` to `last` of a trace; false: it has not all of them. */
static bool cut(struct trace *t, unsigned first, unsigned last)
{
    uint32_t n = 0, found = 0;

    t->begin = UINT64_MAX;
    t->end = 0;
    for (uint32_t i = 0; i < t->launches; i++) {
        struct range l = t->launch[i];
        if (l.number >= first && l.number <= last && l.number) {
            t->begin = l.call < t->begin ? l.call : t->begin;
            t->end = l.back > t->end ? l.back : t->end;
            t->launch[found++] = l;
        }
    }
    t->launches = found;
    if (found != last - first + 1) {
        return false;
    }
    for (uint32_t i = 0; i < t->commands; i++) {
        if (t->command[i].begin >= t->begin && t->command[i].end <= t->end) {
            t->command[n++] = t->command[i];
        }
    }
    t->commands = n;
    n = 0;
    for (uint32_t i = 0; i < t->harts; i++) {
        if (t->hart[i].end > t->begin && t->hart[i].begin < t->end) {
            t->hart[n++] = t->hart[i];
        }
    }
    t->harts = n;
    for (uint32_t i = 0; i < t->counters; i++) {
        cut_counter(&t->counter[i], t->begin, t->end);
    }
    return t->commands != 0;
}

static uint32_t numbered(const struct trace *t, const struct lanes *lanes, unsigned core,
                         unsigned pipe, uint64_t n)
{
    return pipe ? lane_number(lanes, t, core, pipe, n) : LANE_NONE;
}

static int by_taker(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return x->to < y->to ? -1 : x->to > y->to;
}

/* What is stored after SET_ATOMIC is added up, until another SET_ATOMIC says otherwise. */
static void mark_atomics(struct trace *t, const struct lanes *lanes)
{
    for (uint32_t l = 0; l < lanes->n; l++) {
        bool atomic = false;
        for (uint32_t k = lanes->first[l]; k < lanes->first[l + 1]; k++) {
            struct command *c = &t->command[lanes->order[k]];
            if (strncmp(trace_text(t, c->name), "SET_ATOMIC", 10) == 0) {
                atomic = word_number(trace_text(t, c->shape), "op", 0) != ATOMIC_NONE;
            }
            c->atomic = atomic && c->to == NPU_MEM_GM;
        }
    }
}

static void make_edges(struct trace *t, const struct posts *posts)
{
    struct lanes lanes;

    lanes_make(&lanes, t);
    mark_atomics(t, &lanes);
    for (uint32_t i = 0; i < posts->n; i++) {
        const struct post *p = &posts->post[i];
        uint32_t to = numbered(t, &lanes, p->core, p->pipe, p->number);
        uint32_t from = numbered(t, &lanes, p->by_core, p->by_pipe, p->by_number);
        if (to == LANE_NONE) {
            continue; /* it has been cut off */
        }
        t->edge = array_grow(t->edge, t->edges, sizeof(t->edge[0]));
        t->edge[t->edges++] =
            (struct edge){from == LANE_NONE ? BY_HART : from, to, p->sem, p->cycles};
    }
    if (t->edges) {
        qsort(t->edge, t->edges, sizeof(t->edge[0]), by_taker);
    }
    for (uint32_t i = 0; i < t->edges; i++) {
        struct command *c = &t->command[t->edge[i].to];
        c->wait = c->waits++ ? c->wait : i;
    }
    lanes_free(&lanes);
}

const char *trace_arrange(struct trace *t, const struct posts *posts,
                          const struct window *window)
{
    if (t->commands == 0) {
        return "there is no command in it";
    }
    qsort(t->command, t->commands, sizeof(t->command[0]), compare);
    name_launches(t);
    if (t->harts) {
        qsort(t->hart, t->harts, sizeof(t->hart[0]), compare_ranges);
    }
    if (window->first == 0) {
        bounds(t);
        for (uint32_t i = 0; i < t->counters; i++) {
            cut_counter(&t->counter[i], t->begin, t->end + 1);
        }
    } else if (!cut(t, window->first, window->last)) {
        return "these launches are not in it";
    }
    make_edges(t, posts);
    return NULL;
}
