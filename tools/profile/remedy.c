/* SPDX-License-Identifier: MIT
 *
 * Buffers, waits and atomics: what semaphores cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/remedy.h"
#include "tools/profile/words.h"

enum { SEMS_TRIED = 8 /* of those that are waited for longest */ };

/* A semaphore of all cores, by the number in its name. */
struct sem {
    unsigned number;
    uint32_t text;   /* of one core */
    uint32_t first;  /* an edge that a command has posted */
    uint64_t waited; /* cycles, of all cores */
    uint32_t units,
        n; /* that the hart posted before any command did, of the first core; edges */
    bool begun;  /* a command of the first core has posted */
    bool useful; /* it has ordered two that touch the same bytes, or nobody knows */
};

static unsigned number_of(const struct trace *t, uint32_t text)
{
    return (unsigned)atoi(trace_text(t, text) + strlen("semaphore "));
}

/* Whether the bytes of two operands may have some in common. */
static bool meet(uint8_t mem, uint64_t at, uint64_t bytes, uint8_t other, uint64_t at2,
                 uint64_t bytes2)
{
    return mem == other && at < at2 + bytes2 && at2 < at + bytes;
}

/* Whether what one posts may be what the other waits for. Commands that move nothing stand
 * for others. */
static bool related(const struct command *a, const struct command *b)
{
    bool known = a->to <= NPU_MEM_GM && b->to <= NPU_MEM_GM && a->from <= NPU_MEM_GM &&
                 b->from <= NPU_MEM_GM;

    return !known || a->pipe == PIPE_M || b->pipe == PIPE_M ||
           meet(a->to, a->dst, a->written, b->to, b->dst, b->written) ||
           meet(a->to, a->dst, a->written, b->from, b->src, b->read) ||
           meet(a->from, a->src, a->read, b->to, b->dst, b->written);
}

static struct sem *sem_of(struct sem *all, unsigned *n, unsigned number, uint32_t text)
{
    for (unsigned i = 0; i < *n; i++) {
        if (all[i].number == number) {
            return &all[i];
        }
    }
    all[*n] = (struct sem){.number = number, .text = text};
    return &all[(*n)++];
}

static int most_waited(const void *a, const void *b)
{
    const struct sem *x = a, *y = b;

    return x->waited < y->waited ? 1 : x->waited > y->waited ? -1 : 0;
}

/* All semaphores, the one that is waited for longest first. */
static unsigned find_sems(const struct trial *x, struct sem *all)
{
    const struct trace *t = x->t;
    unsigned n = 0;

    for (uint32_t e = 0; e < t->edges; e++) {
        const struct edge *edge = &t->edge[e];
        struct sem *s = sem_of(all, &n, number_of(t, edge->sem), edge->sem);
        s->waited += edge->cycles;
        s->n++;
        if (edge->from != BY_HART) {
            const struct command *from = &t->command[edge->from];
            s->first = s->begun ? s->first : e;
            s->begun = true;
            s->useful |= related(from, &t->command[edge->to]) ||
                         (from->atomic && t->command[edge->to].atomic);
        } else if (!s->begun && edge->sem == s->text) {
            s->units++;
        }
    }
    if (n) {
        qsort(all, n, sizeof(all[0]), most_waited);
    }
    return n;
}

static void mark(struct trial *x, unsigned number, uint32_t more)
{
    for (uint32_t e = 0; e < x->t->edges; e++) {
        if (number_of(x->t, x->t->edge[e].sem) == number) {
            x->more[x->t->edge[e].sem] = more;
        }
    }
}

/* A ring of buffers: the hart has posted as many units as there are buffers, then the
 * consumer gives one back for each that the producer takes. */
static bool is_ring(const struct sem *s)
{
    return s->units && s->begun && s->n > s->units + 1;
}

static void name_ring(const struct trial *x, const struct sem *s, char *text)
{
    const struct trace *t = x->t;
    const struct edge *e = &t->edge[s->first];
    const struct command *from = &t->command[e->from], *to = &t->command[e->to];
    char which[32] = "its only buffer";

    if (s->units > 1) {
        snprintf(which, sizeof(which), "one of its %u buffers", s->units);
    }
    snprintf(text, ADVICE_TEXT,
             "%s (%s, %s) waits for %s (%s) to give back %s in %s: %ju cycles for "
             "semaphore %u",
             pipe_name(to->pipe), trace_text(t, to->name), trace_text(t, to->line),
             pipe_name(from->pipe), trace_text(t, from->name), which, word_memory(to->to),
             (uintmax_t)s->waited, s->number);
}

void trial_rings(struct trial *x, uint32_t times)
{
    struct sem *all = calloc(SEM_COUNT, sizeof(*all));
    unsigned n = find_sems(x, all);

    for (unsigned i = 0; i < n; i++) {
        if (is_ring(&all[i])) {
            mark(x, all[i].number, times * all[i].units);
        }
    }
    free(all);
}

/* One buffer more: of all that have one, and of each that is waited for. */
void try_buffers(struct trial *x)
{
    struct sem *all = calloc(SEM_COUNT, sizeof(*all));
    unsigned n = find_sems(x, all), singles = 0;
    struct change change = {.more = x->more};
    struct remedy *r;

    trial_reset(x);
    for (unsigned i = n; i-- > 0;) {
        if (is_ring(&all[i]) && all[i].units == 1) {
            mark(x, all[i].number, 1);
            singles = i + 1; /* in the end the one that is waited for longest */
        }
    }
    if (singles && (r = trial_add(x, "single buffer", trial_saves(x, &change))) != NULL) {
        name_ring(x, &all[singles - 1], r->why);
        snprintf(r->help, sizeof(r->help),
                 "Two buffers a queue: the next tile comes while this one is worked on.");
    }
    for (unsigned i = 0; i < n && i < SEMS_TRIED; i++) {
        if (is_ring(&all[i]) && all[i].units > 1 && all[i].waited) {
            trial_reset(x);
            mark(x, all[i].number, 1);
            r = trial_add(x, "buffers", trial_saves(x, &change));
            if (r) {
                name_ring(x, &all[i], r->why);
                snprintf(r->help, sizeof(r->help), "One buffer more, %u.",
                         all[i].units + 1);
            }
        }
    }
    free(all);
}

/* A semaphore that never orders two commands which touch the same bytes. */
void try_waits(struct trial *x)
{
    struct sem *all = calloc(SEM_COUNT, sizeof(*all));
    unsigned n = find_sems(x, all);
    const struct trace *t = x->t;

    for (unsigned i = 0; i < n && i < SEMS_TRIED; i++) {
        struct change change = {.drop = x->drop};
        struct remedy *r;
        if (all[i].useful || !all[i].begun || all[i].waited == 0) {
            continue;
        }
        trial_reset(x);
        for (uint32_t e = 0; e < t->edges; e++) {
            x->drop[e] = number_of(t, t->edge[e].sem) == all[i].number;
        }
        r = trial_add(x, "redundant wait", trial_saves(x, &change));
        if (r) {
            const struct edge *e = &t->edge[all[i].first];
            const struct command *from = &t->command[e->from], *to = &t->command[e->to];
            snprintf(
                r->why, sizeof(r->why),
                "%s (%s, %s) waits %ju cycles for %s of %s, with which it has no byte in "
                "common (semaphore %u)",
                pipe_name(to->pipe), trace_text(t, to->name), trace_text(t, to->line),
                (uintmax_t)all[i].waited, trace_text(t, from->name),
                pipe_name(from->pipe), all[i].number);
            snprintf(r->help, sizeof(r->help),
                     "Leave the wait out, if CHECK=redundant says the same.");
        }
    }
    free(all);
}

/* Atomic stores that wait for each other. */
void try_atomics(struct trial *x)
{
    const struct trace *t = x->t;
    struct change change = {.drop = x->drop};
    uint32_t first = NO_ONE, n = 0;
    struct remedy *r;

    trial_reset(x);
    for (uint32_t e = 0; e < t->edges; e++) {
        const struct edge *edge = &t->edge[e];
        if (edge->from != BY_HART && t->command[edge->from].atomic &&
            t->command[edge->to].atomic) {
            x->drop[e] = true;
            first = n++ ? first : e;
        }
    }
    if (n && (r = trial_add(x, "serialised atomics", trial_saves(x, &change))) != NULL) {
        const struct command *c = &t->command[t->edge[first].to];
        snprintf(r->why, sizeof(r->why),
                 "%u atomic stores (%s, %s) wait for others that are atomic as well (%s)",
                 n, trace_text(t, c->name), trace_text(t, c->line),
                 trace_text(t, t->edge[first].sem));
        snprintf(r->help, sizeof(r->help),
                 "Let them go at once: each is whole by itself, in any order.");
    }
}
