/* SPDX-License-Identifier: MIT
 *
 * The order of a run, and what it would take under other costs.
 */
#include <stdlib.h>

#include "tools/profile/order.h"

static void *zeroed(uint32_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);

    if (!p) {
        abort();
    }
    return p;
}

/* --- how it was --- */

static void order_lanes(struct order *o)
{
    struct lanes lanes;

    lanes_make(&lanes, o->t);
    for (uint32_t l = 0; l < lanes.n; l++) {
        uint32_t before = NO_ONE;
        for (uint32_t k = lanes.first[l]; k < lanes.first[l + 1]; k++) {
            o->before[lanes.order[k]] = before;
            before = lanes.order[k];
        }
    }
    lanes_free(&lanes);
}

static void order_edges(struct order *o)
{
    const struct trace *t = o->t;
    uint32_t sum = 0;

    for (uint32_t e = 0; e < t->edges; e++) {
        o->place[e] = o->first_unit[t->edge[e].sem + 1]++;
    }
    for (uint32_t i = 0; i <= t->texts.n; i++) {
        sum += o->first_unit[i];
        o->first_unit[i] = sum;
    }
    for (uint32_t e = 0; e < t->edges; e++) {
        o->unit[o->first_unit[t->edge[e].sem] + o->place[e]] = e;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct push *x = a, *y = b;

    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return x->command < y->command ? -1 : x->command > y->command;
}

/* Commands by their ends, for who woke the hart. */
static const struct command *sorted;
static int by_end(const void *a, const void *b)
{
    uint64_t x = sorted[*(const uint32_t *)a].end, y = sorted[*(const uint32_t *)b].end;

    return x < y ? -1 : x > y;
}

/* Cycles of [from, to) in which the price of a launch went by. */
static uint64_t prices(const struct trace *t, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < t->launches; i++) {
        uint64_t begin = t->launch[i].call, end = begin + t->launch[i].price;
        begin = begin > from ? begin : from;
        end = end < to ? end : to;
        sum += end > begin ? end - begin : 0;
    }
    return sum;
}

/* How many commands have ended by a cycle. */
static uint32_t ended(const struct trace *t, const uint32_t *ends, uint64_t by)
{
    uint32_t low = 0, high = t->commands;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->command[ends[middle]].end <= by) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* When the hart slept: what of it was before each time. */
struct sleeps {
    struct range *range;
    uint64_t *sum; /* cycles of those before it */
    uint32_t n;
};

static void sleeps_make(struct sleeps *s, const struct trace *t, uint32_t idle)
{
    s->range = zeroed(t->harts, sizeof(s->range[0]));
    s->sum = zeroed(t->harts, sizeof(s->sum[0]));
    s->n = 0;
    for (uint32_t i = 0; i < t->harts; i++) {
        if (t->hart[i].name == idle) {
            s->range[s->n] = t->hart[i];
            s->sum[s->n + 1] = s->sum[s->n] + t->hart[i].end - t->hart[i].begin;
            s->n++;
        }
    }
}

/* Number of sleeps that begin before a cycle. */
static uint32_t sleeps_before(const struct sleeps *s, uint64_t at)
{
    uint32_t low = 0, high = s->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->range[middle].begin < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Cycles of sleep before one. */
static uint64_t slept_by(const struct sleeps *s, uint64_t at)
{
    uint32_t n = sleeps_before(s, at);
    uint64_t over = n && s->range[n - 1].end > at ? s->range[n - 1].end - at : 0;

    return s->sum[n] - over;
}

/* Of what was between two pushes, what the hart was awake, and who has woken it last. */
static void find_waker(struct push *p, const struct trace *t, const struct sleeps *s,
                       uint64_t from, const uint32_t *ends)
{
    uint64_t slept = slept_by(s, p->at) - slept_by(s, from), up;
    uint32_t before;

    if (p->command != NO_ONE && t->command[p->command].behind) {
        slept = 0; /* the scalar unit works meanwhile */
    }
    p->awake = p->at - from - slept;
    if (slept == 0) {
        return;
    }
    up = s->range[sleeps_before(s, p->at) - 1].end;
    up = up < p->at ? up : p->at;
    before = ended(t, ends, up);
    if (before) {
        p->waker = ends[before - 1];
        p->lag = up - t->command[p->waker].end;
        p->since = p->at - up;
    }
}

/* The first push of a launch, and the return of the last one, come when all that was before
 * has ended. */
static void after_all(struct push *p, const struct trace *t, const uint32_t *ends)
{
    uint32_t before = ended(t, ends, p->at);

    p->waker = before ? ends[before - 1] : NO_ONE;
    p->lag = before ? p->at - t->command[p->waker].end : 0;
    p->since = 0;
    p->awake = t->harts ? p->awake : 0;
}

/* The points of the hart's way, in the order of time. */
static void list_pushes(struct order *o)
{
    const struct trace *t = o->t;

    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        o->push_of[i] = NO_ONE;
        if (c->issued <= c->begin) {
            uint64_t at = c->issued > t->begin ? c->issued : t->begin;
            o->push[o->pushes++] = (struct push){.command = i, .at = at};
        }
    }
    o->push[o->pushes++] = (struct push){.command = NO_ONE, .at = t->end};
    qsort(o->push, o->pushes, sizeof(o->push[0]), by_time);
}

static void order_pushes(struct order *o)
{
    struct trace *t = (struct trace *)o->t;
    uint32_t *last = zeroed(t->cores, sizeof(*last));
    uint32_t *ends = zeroed(t->commands, sizeof(*ends));
    struct sleeps sleeps;

    list_pushes(o);
    sleeps_make(&sleeps, t, text_of(&t->texts, "idle", 4));
    for (uint32_t i = 0; i < t->commands; i++) {
        ends[i] = i;
    }
    sorted = t->command;
    qsort(ends, t->commands, sizeof(*ends), by_end);
    for (uint32_t c = 0; c < t->cores; c++) {
        last[c] = NO_ONE;
    }
    for (uint32_t k = 0; k < o->pushes; k++) {
        struct push *p = &o->push[k];
        uint32_t core = p->command == NO_ONE ? 0 : t->command[p->command].core;
        p->before = p->command == NO_ONE && k ? k - 1 : last[core];
        p->waker = NO_ONE;
        uint64_t from = p->before == NO_ONE ? t->begin : o->push[p->before].at;
        find_waker(p, t, &sleeps, from, ends);
        p->price = prices(t, from, p->at);
        p->price = p->price < p->awake ? p->price : p->awake;
        p->inner = p->before != NO_ONE && p->command != NO_ONE && p->price == 0;
        if (!p->inner && p->at > t->begin) {
            after_all(p, t, ends);
        }
        last[core] = k;
        if (p->command != NO_ONE) {
            o->push_of[p->command] = k;
        }
    }
    free(sleeps.range);
    free(sleeps.sum);
    free(last);
    free(ends);
}

/* --- how it would be --- */

struct now {
    uint64_t at;
    enum reason reason;
    uint32_t from;
};

static void later(struct now *now, uint64_t at, enum reason reason, uint32_t from)
{
    if (at > now->at || now->reason == FROM_START) {
        *now = (struct now){at, reason, from};
    }
}

static void replay_push(struct order *o, struct push *p, const struct change *ch)
{
    uint64_t share = ch && p->inner ? 100 - ch->percent : 100;
    uint64_t from = p->before == NO_ONE ? o->t->begin : o->push[p->before].now;

    p->now = from + p->price + (p->awake - p->price) * share / 100;
    p->woken = false;
    if (p->waker != NO_ONE) {
        uint64_t at = o->end[p->waker] + p->lag + p->since * share / 100;
        p->woken = at >= p->now;
        p->now = p->woken ? at : p->now;
    }
}

/* Who posts the unit that an edge takes, with more units at first. */
static uint32_t poster(const struct order *o, uint32_t e, const struct change *ch)
{
    const struct edge *edge = &o->t->edge[e];

    if (ch && ch->more) {
        uint32_t more = ch->more[edge->sem];
        if (o->place[e] < more) {
            return BY_HART;
        }
        e = o->unit[o->first_unit[edge->sem] + o->place[e] - more];
    }
    return o->t->edge[e].from;
}

static struct now ready(const struct order *o, uint32_t i, const struct change *ch)
{
    const struct command *c = &o->t->command[i];
    struct now now = {o->t->begin, FROM_START, NO_ONE};

    if (o->push_of[i] != NO_ONE) {
        later(&now, o->push[o->push_of[i]].now, FROM_HART, NO_ONE);
    }
    if (o->before[i] != NO_ONE) {
        later(&now, o->end[o->before[i]], FROM_PIPE, o->before[i]);
    }
    for (uint32_t e = c->wait; e < c->wait + c->waits; e++) {
        uint32_t from = ch && ch->drop && ch->drop[e] ? BY_HART : poster(o, e, ch);
        if (from != BY_HART) {
            later(&now, o->end[from], FROM_SEM, from);
        }
    }
    return now;
}

/* Goes through pushes and commands in the order of the run, in which nothing waits for
 * what comes later. */
uint64_t order_replay(struct order *o, const struct change *ch)
{
    const struct trace *t = o->t;
    uint32_t k = 0;

    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        while (k < o->pushes && o->push[k].at <= c->begin &&
               o->push[k].command != NO_ONE) {
            replay_push(o, &o->push[k++], ch);
        }
        struct now now = ready(o, i, ch);
        o->reason[i] = (uint8_t)now.reason;
        o->from[i] = now.from;
        o->begin[i] = now.at + (uint64_t)o->rest[i];
        o->end[i] = o->begin[i] + (ch && ch->cycles ? ch->cycles[i] : c->end - c->begin);
    }
    for (; k < o->pushes; k++) {
        replay_push(o, &o->push[k], ch);
    }
    return o->push[o->pushes - 1].now;
}

/* The first time: what nothing explains is found out. */
static void explain(struct order *o)
{
    const struct trace *t = o->t;

    for (uint32_t k = 0; k < o->pushes; k++) {
        o->push[k].now = o->push[k].at;
    }
    for (uint32_t i = 0; i < t->commands; i++) {
        o->begin[i] = t->command[i].begin;
        o->end[i] = t->command[i].end;
    }
    for (uint32_t i = 0; i < t->commands; i++) {
        o->rest[i] = (int64_t)(t->command[i].begin - ready(o, i, NULL).at);
    }
}

void order_make(struct order *o, const struct trace *t)
{
    *o = (struct order){.t = t};
    o->before = zeroed(t->commands, sizeof(o->before[0]));
    o->unit = zeroed(t->edges, sizeof(o->unit[0]));
    o->place = zeroed(t->edges, sizeof(o->place[0]));
    o->first_unit = zeroed(t->texts.n + 2, sizeof(o->first_unit[0]));
    o->push = zeroed(t->commands + 1, sizeof(o->push[0]));
    o->push_of = zeroed(t->commands, sizeof(o->push_of[0]));
    o->rest = zeroed(t->commands, sizeof(o->rest[0]));
    o->begin = zeroed(t->commands, sizeof(o->begin[0]));
    o->end = zeroed(t->commands, sizeof(o->end[0]));
    o->reason = zeroed(t->commands, sizeof(o->reason[0]));
    o->from = zeroed(t->commands, sizeof(o->from[0]));
    order_lanes(o);
    order_edges(o);
    order_pushes(o);
    explain(o);
    order_replay(o, NULL);
}

void order_free(struct order *o)
{
    void *all[] = {o->before, o->unit,  o->place, o->first_unit, o->push, o->push_of,
                   o->rest,   o->begin, o->end,   o->reason,     o->from};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(all[i]);
    }
    *o = (struct order){0};
}
