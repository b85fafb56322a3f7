/* SPDX-License-Identifier: MIT
 *
 * Where two traces part: launch by launch and pipe by pipe, for pipes are in order. Cycles count
 * from the call of the launch, because what the hart does before it is another matter; without
 * launches from the first command. Addresses in GM are the heap's and say nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/traces.h"
#include "tools/profile/lane.h"
#include "tools/profile/words.h"

/* A command of a trace as the other side is to have it. */
struct spot {
    const struct command *command; /* NULL: this side has none */
    uint64_t at;                   /* cycles from its launch's call to its begin */
};

/* On the way through the commands of one pipe. */
struct walk {
    const struct trace *trace;
    const struct lanes *lanes;
    uint32_t k, end; /* of lanes->order */
    uint32_t ranges; /* that are behind us */
    uint32_t launch; /* whose command is the next one, 0: of none */
    uint64_t call;
};

/* The earliest pair that differs so far. */
struct found {
    bool any;
    uint32_t launch;
    uint64_t at;
    struct spot old, new;
};

static bool same_work(const struct side *old, const struct command *a,
                      const struct side *new, const struct command *b)
{
    return strcmp(trace_text(&old->trace, a->name), trace_text(&new->trace, b->name)) ==
               0 &&
           strcmp(trace_text(&old->trace, a->shape), trace_text(&new->trace, b->shape)) ==
               0 &&
           a->from == b->from && a->to == b->to &&
           (a->from == NPU_MEM_GM || a->src == b->src) &&
           (a->to == NPU_MEM_GM || a->dst == b->dst);
}

static bool same_time(const struct spot *a, const struct spot *b)
{
    return a->at == b->at &&
           a->command->end - a->command->begin == b->command->end - b->command->begin;
}

static void keep(struct found *f, uint32_t launch, struct spot old, struct spot new)
{
    uint64_t at = !old.command                      ? new.at
                  : !new.command || old.at < new.at ? old.at
                                                    : new.at;

    if (!f->any || launch < f->launch || (launch == f->launch && at < f->at)) {
        *f = (struct found){true, launch, at, old, new};
    }
}

static struct walk walk(const struct side *s, const struct lanes *l, uint32_t slot)
{
    struct walk w = {.trace = &s->trace, .lanes = l, .call = s->trace.begin};
    uint32_t lane = slot < l->slots ? l->of[slot] : LANE_NONE;

    if (lane != LANE_NONE) {
        w.k = l->first[lane];
        w.end = l->first[lane + 1];
    }
    return w;
}

/* The next command and, in `launch`, what launch has issued it: the last that was called. */
static struct spot next(struct walk *w)
{
    const struct trace *t = w->trace;
    struct spot s = {0};

    if (w->k == w->end) {
        w->launch = UINT32_MAX;
        return s;
    }
    s.command = &t->command[w->lanes->order[w->k]];
    for (; w->ranges < t->launches; w->ranges++) {
        const struct range *l = &t->launch[w->ranges];
        if (l->number && l->call > s.command->begin) {
            break;
        }
        if (l->number) {
            w->launch = l->number;
            w->call = l->call;
        }
    }
    s.at = s.command->begin - w->call;
    return s;
}

static void compare_pipe(const struct side *old, struct walk a, const struct side *new,
                         struct walk b, struct found *work, struct found *time)
{
    bool parted = false;

    for (;; a.k++, b.k++) {
        struct spot x = next(&a), y = next(&b);
        uint32_t launch = a.launch < b.launch ? a.launch : b.launch;
        if (!x.command && !y.command) {
            return;
        }
        x.command = a.launch == launch ? x.command : NULL;
        y.command = b.launch == launch ? y.command : NULL;
        if (!x.command || !y.command || !same_work(old, x.command, new, y.command)) {
            keep(work, launch, x, y);
            return;
        }
        if (!parted && !same_time(&x, &y)) {
            keep(time, launch, x, y);
            parted = true;
        }
    }
}

static void print_side(const struct side *s, const struct spot *p)
{
    const struct command *c = p->command;
    const struct trace *t = &s->trace;

    printf("  %s: ", s->path);
    if (!c) {
        printf("none in this launch and pipe\n");
        return;
    }
    printf("%s %ju of core %u, %s %s\n", pipe_name(c->pipe), (uintmax_t)c->number,
           c->core, trace_text(t, c->name), trace_text(t, c->shape));
    printf("    %s, cycle %ju: +%ju, %ju long", c->line ? trace_text(t, c->line) : "?",
           (uintmax_t)c->begin, (uintmax_t)p->at, (uintmax_t)(c->end - c->begin));
    printf(", pushed %ju before", (uintmax_t)(c->begin - c->issued));
    for (uint32_t i = 0; i < c->waits; i++) {
        const struct edge *e = &t->edge[c->wait + i];
        if (e->cycles) {
            printf(", waited %ju for %s", (uintmax_t)e->cycles, trace_text(t, e->sem));
        }
    }
    putchar('\n');
}

static void print(const char *what, const struct side *old, const struct side *new,
                  const struct found *f)
{
    if (!f->any) {
        printf("no command %s\n", what);
        return;
    }
    printf("first command %s: launch %u, %ju cycles behind its call\n", what, f->launch,
           (uintmax_t)f->at);
    print_side(old, &f->old);
    print_side(new, &f->new);
}

bool traces_part(const struct side *old, const struct side *new)
{
    struct found work = {0}, time = {0};
    struct lanes a, b;

    lanes_make(&a, &old->trace);
    lanes_make(&b, &new->trace);
    for (uint32_t slot = 0; slot < a.slots || slot < b.slots; slot++) {
        compare_pipe(old, walk(old, &a, slot), new, walk(new, &b, slot), &work, &time);
    }
    print("at another time", old, new, &time);
    print("that is another one", old, new, &work);
    lanes_free(&a);
    lanes_free(&b);
    return work.any || time.any;
}
