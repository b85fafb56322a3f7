/* SPDX-License-Identifier: MIT
 *
 * Events, followed; see follow.h.
 */
#include "tools/emu/trace/follow.h"

#include <stdlib.h>
#include <string.h>

enum { NONE_RUNS = 0, NAMES_FIRST = 64 };

/* Units that came together. */
struct units {
    struct by by;
    unsigned count;
};

struct sem {
    struct units *queue; /* those that came first, first */
    unsigned head, n, room;
};

struct lane {
    struct followed slot[PIPE_DEPTH]; /* by the number of the command */
    unsigned depth;
    uint64_t running, begin; /* number of what runs, or NONE_RUNS */
    uint64_t last, last_end; /* number of what ended last, and when */
};

struct follow {
    unsigned cores;
    struct lane lane[NPU_MAX_CORES][NPU_PIPES];
    struct sem sem[NPU_MAX_CORES + 1][SEM_CORE];
    struct by barrier[ROW_CHIP_BARRIER]; /* who posted the last unit that it took */
    struct by last;                      /* command that ended */
    char **name;
    unsigned n_names, names_room;
    struct hart_does does;
    struct followed ended;
    /* The launch that runs. */
    struct launched launch;
    unsigned begun; /* the name of what began last */
    uint64_t clocked;
    bool called, entered;
};

static void *grown(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);

    if (!p) {
        abort();
    }
    return p;
}

struct follow *follow_new(unsigned cores)
{
    struct follow *f = grown(NULL, sizeof(*f));

    memset(f, 0, sizeof(*f));
    f->cores = cores;
    follow_name(f, "");
    return f;
}

void follow_free(struct follow *f)
{
    for (unsigned c = 0; c <= NPU_MAX_CORES; c++) {
        for (unsigned s = 0; s < SEM_CORE; s++) {
            free(f->sem[c][s].queue);
        }
    }
    for (unsigned i = 0; i < f->n_names; i++) {
        free(f->name[i]);
    }
    free(f->name);
    free(f);
}

/* --- names --- */

unsigned follow_name(struct follow *f, const char *text)
{
    size_t bytes = strlen(text) + 1;

    for (unsigned i = 0; i < f->n_names; i++) {
        if (strcmp(f->name[i], text) == 0) {
            return i;
        }
    }
    if (f->n_names == f->names_room) {
        f->names_room = f->names_room ? 2 * f->names_room : NAMES_FIRST;
        f->name = grown(f->name, f->names_room * sizeof(*f->name));
    }
    f->name[f->n_names] = memcpy(grown(NULL, bytes), text, bytes);
    return f->n_names++;
}

const char *follow_text(const struct follow *f, unsigned name)
{
    return f->name[name];
}

/* --- the hart --- */

void follow_hart(struct follow *f, uint64_t now, unsigned name)
{
    f->does = (struct hart_does){.name = name, .since = now};
}

const struct hart_does *follow_does(const struct follow *f)
{
    return &f->does;
}

/* What ended in this cycle has raised the line that ends the hart's sleep. */
static void line(struct follow *f, const struct npu_event *e)
{
    if (e->level && f->does.woken.number == 0 && f->last.at == e->now) {
        f->does.woken = f->last;
    }
}

void follow_begins(struct follow *f, unsigned name)
{
    f->begun = name;
}

bool follow_ends(struct follow *f, struct launched *l)
{
    bool launched = f->called && f->entered;

    f->called = f->entered = false;
    f->launch.back = f->clocked;
    *l = f->launch;
    return launched;
}

/* The first look at the clock behind the price is that of who measures the launch, and the
 * last one before it ends. */
static void clocked(struct follow *f, const struct npu_event *e)
{
    f->clocked = e->now;
    if (f->called && !f->entered) {
        f->entered = true;
        f->launch.call = e->now - f->launch.price;
    }
}

static void called(struct follow *f, const struct npu_event *e)
{
    f->called = true;
    f->entered = false;
    f->launch.number++;
    f->launch.name = f->begun;
    f->launch.price = e->cycles;
}

/* --- semaphores --- */

static struct sem *sem_of(struct follow *f, const struct npu_event *e)
{
    return &f->sem[e->sem_core][e->sem % SEM_CORE];
}

static struct by who(const struct follow *f, const struct npu_event *e)
{
    struct by by = {.core = (uint8_t)e->core, .who = (uint8_t)e->pipe, .at = e->now};

    if (e->pipe == NPU_BY_BARRIER) {
        by = f->barrier[e->barrier];
        by.barrier = (uint8_t)(e->barrier + 1);
        by.at = e->now;
    } else if (e->pipe < NPU_PIPES) {
        by.number = e->number;
    }
    return by;
}

static void posts(struct follow *f, const struct npu_event *e)
{
    struct sem *s = sem_of(f, e);

    if (s->head + s->n == s->room) {
        if (s->head > s->room / 2) {
            memmove(s->queue, s->queue + s->head, s->n * sizeof(*s->queue));
            s->head = 0;
        } else {
            s->room = s->room ? 2 * s->room : 4;
            s->queue = grown(s->queue, s->room * sizeof(*s->queue));
        }
    }
    s->queue[s->head + s->n++] = (struct units){who(f, e), e->count};
}

/* Takes units out; who posted the last of them. */
static struct by take_units(struct sem *s, unsigned count)
{
    struct by by = {0};

    while (count && s->n) {
        struct units *u = &s->queue[s->head];
        unsigned some = u->count < count ? u->count : count;
        by = u->by;
        u->count -= some;
        count -= some;
        if (u->count == 0) {
            s->head++;
            s->n--;
        }
    }
    s->head = s->n ? s->head : 0;
    return by;
}

static void takes(struct follow *f, const struct npu_event *e)
{
    struct by by = take_units(sem_of(f, e), e->count);
    struct followed *c;

    if (e->pipe == NPU_BY_BARRIER) {
        f->barrier[e->barrier] = by;
    }
    if (e->pipe >= NPU_PIPES) {
        return;
    }
    c = &f->lane[e->core][e->pipe].slot[e->number % PIPE_DEPTH];
    if (c->number == e->number && c->n_waited < 2) {
        c->waited[c->n_waited++] = (struct waited){.sem = e->sem, .by = by};
    }
}

unsigned follow_units(const struct follow *f, unsigned core, unsigned sem)
{
    const struct sem *s = &f->sem[core][sem % SEM_CORE];
    unsigned units = 0;

    for (unsigned i = 0; i < s->n; i++) {
        units += s->queue[s->head + i].count;
    }
    return units;
}

/* --- commands --- */

static void pushed(struct follow *f, const struct npu_event *e)
{
    struct lane *l = &f->lane[e->core][e->pipe];

    l->depth++;
    l->slot[e->number % PIPE_DEPTH] =
        (struct followed){.number = e->number, .issued = e->now, .task = f->does.name};
}

/* Whom a command that waited for units of L0C may have waited for: between Cube and
 * fixpipe, the other one's command that runs or has just ended. */
static struct by across(const struct follow *f, const struct npu_event *e)
{
    unsigned other = e->pipe == PIPE_M ? PIPE_FIX : PIPE_M;
    const struct lane *l = &f->lane[e->core][other];
    bool runs = l->running != NONE_RUNS && e->pipe == PIPE_FIX;

    return (struct by){.core = (uint8_t)e->core,
                       .who = (uint8_t)other,
                       .number = runs ? l->running : l->last,
                       .at = runs ? e->now : l->last_end};
}

static void begins(struct follow *f, const struct npu_event *e)
{
    struct lane *l = &f->lane[e->core][e->pipe];
    struct followed *c = &l->slot[e->number % PIPE_DEPTH];

    if (c->number != e->number) { /* it was there before anybody listened */
        *c = (struct followed){.number = e->number, .issued = e->known};
    }
    l->running = e->number;
    l->begin = e->now;
    c->n_waited = 0;
    c->units = e->unit != UNIT_NONE ? across(f, e) : (struct by){0};
}

/* What the pipe has stood still for, from the end of the command before on. */
static void judge(struct followed *c, const struct lane *l, const struct npu_event *e)
{
    uint64_t ready = e->head_since > e->known ? e->head_since : e->known, last = ready;
    bool order = l->last && l->last_end == e->head_since && e->known <= e->head_since;

    c->empty = l->last && ready > l->last_end ? ready - l->last_end : 0;
    c->cause = order ? CAUSE_ORDER : e->known > c->issued ? CAUSE_SCALAR : CAUSE_PUSH;
    c->by = order
                ? (struct by){(uint8_t)e->core, (uint8_t)e->pipe, 0, l->last, l->last_end}
                : (struct by){.core = (uint8_t)e->core, .who = NPU_BY_HART, .at = ready};
    for (unsigned i = 0; i < c->n_waited; i++) {
        struct waited *w = &c->waited[i];
        w->cycles = w->by.at > ready ? w->by.at - ready : 0;
        if (w->by.at > last) {
            last = w->by.at;
            c->cause = CAUSE_SEM;
            c->by = w->by;
        }
    }
    c->sem = last - ready;
    if (e->begin > last) {
        bool units = c->units.number != 0;
        *(units ? &c->marks : &c->delay) = e->begin - last;
        c->cause = units ? CAUSE_UNITS : c->cause;
        c->by = units ? c->units : c->by;
    }
}

static void ends(struct follow *f, const struct npu_event *e)
{
    struct lane *l = &f->lane[e->core][e->pipe];
    struct followed *c = &l->slot[e->number % PIPE_DEPTH];

    if (c->number != e->number) {
        *c = (struct followed){.number = e->number, .issued = e->known};
    }
    judge(c, l, e);
    f->ended = *c;
    f->last = (struct by){(uint8_t)e->core, (uint8_t)e->pipe, 0, e->number, e->now};
    l->last = e->number;
    l->last_end = e->now;
    l->running = NONE_RUNS;
    l->depth -= l->depth != 0;
}

static void empty_pipe(struct lane *l)
{
    memset(l->slot, 0, sizeof(l->slot));
    l->depth = 0;
    l->running = NONE_RUNS;
    l->last = 0;
}

static void resets(struct follow *f, const struct npu_event *e)
{
    bool all = e->pipe >= NPU_PIPES;

    for (unsigned p = 0; p < NPU_PIPES && e->core != NPU_CHIP; p++) {
        if (all || p == e->pipe) {
            empty_pipe(&f->lane[e->core][p]);
        }
    }
    for (unsigned s = 0; s < SEM_CORE && all; s++) {
        f->sem[e->core][s].n = f->sem[e->core][s].head = 0;
    }
}

const struct followed *follow_ended(const struct follow *f)
{
    return &f->ended;
}

unsigned follow_depth(const struct follow *f, unsigned core, unsigned pipe)
{
    return f->lane[core][pipe].depth;
}

uint64_t follow_running(const struct follow *f, unsigned core, unsigned pipe)
{
    const struct lane *l = &f->lane[core][pipe];

    return l->running == NONE_RUNS ? NPU_NEVER : l->begin;
}

void follow_event(struct follow *f, const struct npu_event *e)
{
    static void (*const heard[])(struct follow *, const struct npu_event *) = {
        [NPU_PUSHED] = pushed, [NPU_BEGINS] = begins, [NPU_ENDS] = ends,
        [NPU_TAKES] = takes,   [NPU_POSTS] = posts,   [NPU_RESETS] = resets,
        [NPU_LINE] = line,     [NPU_CALLED] = called, [NPU_CLOCKED] = clocked,
    };

    if (e->what < sizeof(heard) / sizeof(heard[0]) && heard[e->what]) {
        heard[e->what](f, e);
    }
}
