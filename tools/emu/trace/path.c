/* SPDX-License-Identifier: MIT
 *
 * Critical paths; see path.h.
 */
#include "tools/emu/trace/path.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 256 };

/* A command that has ended. */
struct ran {
    uint64_t number, begin, end, issued;
    struct by by;
    const void *line;
    uint16_t opcode;
    uint8_t cause, sem;
};

struct done {
    struct hart_does does;
    uint64_t until;
    bool sleeps;
};

struct list {
    void *at;
    size_t n, room;
};

struct path {
    struct list ran[NPU_MAX_CORES][NPU_PIPES]; /* of struct ran, in order */
    struct list done;                          /* of struct done */
    struct list steps;                         /* of struct step, the last one first */
};

static void *append(struct list *l, size_t each)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : ROOM_FIRST;
        l->at = realloc(l->at, l->room * each);
        if (!l->at) {
            abort();
        }
    }
    return (char *)l->at + each * l->n++;
}

struct path *path_new(void)
{
    struct path *p = calloc(1, sizeof(*p));

    if (!p) {
        abort();
    }
    return p;
}

void path_free(struct path *p)
{
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned i = 0; i < NPU_PIPES; i++) {
            free(p->ran[c][i].at);
        }
    }
    free(p->done.at);
    free(p->steps.at);
    free(p);
}

void path_ended(struct path *p, const struct npu_event *e, const struct followed *c,
                const void *line)
{
    struct ran *r = append(&p->ran[e->core][e->pipe], sizeof(*r));

    *r = (struct ran){.number = e->number,
                      .begin = e->begin,
                      .end = e->end,
                      .issued = c->issued,
                      .by = c->by,
                      .line = line,
                      .opcode = e->cmd->head.opcode,
                      .cause = (uint8_t)c->cause};
    for (unsigned i = 0; i < c->n_waited && c->cause == CAUSE_SEM; i++) {
        if (c->waited[i].by.at == c->by.at) {
            r->sem = (uint8_t)c->waited[i].sem;
        }
    }
}

void path_hart(struct path *p, const struct hart_does *does, uint64_t now, bool sleeps)
{
    if (now > does->since) {
        *(struct done *)append(&p->done, sizeof(struct done)) =
            (struct done){*does, now, sleeps};
    }
}

/* --- the way back --- */

/* Where the way has come to: the cycle, and what leads on from there. */
struct walk {
    struct path *path;
    uint64_t at, first; /* first: behind the price */
    enum step_via via;
    unsigned sem, barrier;
    const struct ran *ran; /* a command that runs until `at`; NULL: the hart */
    unsigned core, pipe;   /* the command's */
};

/* The command of that number, or NULL. */
static const struct ran *find(const struct path *p, const struct by *by)
{
    const struct list *l = &p->ran[by->core][by->who];
    const struct ran *r = l->at;
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (r[mid].number < by->number) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < l->n && r[low].number == by->number ? &r[low] : NULL;
}

/* From `from` on it was this. */
static struct step *step(struct walk *w, enum step_kind kind, uint64_t from)
{
    static struct step nothing;
    struct step *s = &nothing;

    from = from > w->first ? from : w->first;
    if (from < w->at) {
        s = append(&w->path->steps, sizeof(*s));
    }
    *s = (struct step){.from = from,
                       .to = w->at,
                       .kind = kind,
                       .via = w->via,
                       .sem = w->sem,
                       .barrier = w->barrier,
                       .core = w->core,
                       .pipe = w->pipe};
    w->at = from < w->at ? from : w->at;
    return s;
}

static void lead(struct walk *w, enum step_via via)
{
    w->via = via;
    w->sem = w->barrier = 0;
}

/* To whom a command goes back, or something else that has waited: the hart, if nobody is
 * known. */
static void go_to(struct walk *w, const struct by *by)
{
    w->ran = by->who < NPU_PIPES && by->number ? find(w->path, by) : NULL;
    if (w->ran) {
        w->core = by->core;
        w->pipe = by->who;
    }
}

static void describe(struct step *s, const struct ran *r)
{
    s->number = r->number;
    s->opcode = r->opcode;
    s->line = r->line;
}

static void back_over_command(struct walk *w)
{
    static const enum step_via vias[] = {[CAUSE_PUSH] = VIA_PUSH,
                                         [CAUSE_SCALAR] = VIA_PUSH,
                                         [CAUSE_ORDER] = VIA_ORDER,
                                         [CAUSE_SEM] = VIA_SEM,
                                         [CAUSE_UNITS] = VIA_UNITS};
    const struct ran *r = w->ran;

    describe(step(w, STEP_COMMAND, r->begin), r);
    lead(w, VIA_ORDER);
    if (r->by.at < w->at) {
        describe(step(w, STEP_DELAY, r->by.at), r);
    }
    if (r->cause == CAUSE_SCALAR) {
        lead(w, VIA_PUSH);
        describe(step(w, STEP_SCALAR, r->issued), r);
    }
    lead(w, vias[r->cause]);
    w->sem = r->cause == CAUSE_SEM ? r->sem : 0;
    w->barrier = r->by.barrier;
    go_to(w, &r->by);
}

/* What the hart did last before the cycle. */
static const struct done *doing(const struct path *p, uint64_t at)
{
    const struct done *d = p->done.at;
    size_t low = 0, high = p->done.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (d[mid].does.since < at) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low ? &d[low - 1] : NULL;
}

static void back_over_hart(struct walk *w)
{
    const struct done *d = doing(w->path, w->at);

    if (!d) {
        step(w, STEP_HART, 0);
    } else if (d->sleeps && d->does.woken.number && d->does.woken.at <= w->at) {
        step(w, STEP_WAKE, d->does.woken.at);
        lead(w, VIA_LINE);
        go_to(w, &d->does.woken);
        if (w->ran) {
            return;
        }
        step(w, STEP_HART, d->does.since)->name = d->does.name;
    } else {
        step(w, STEP_HART, d->does.since)->name = d->does.name;
    }
    lead(w, VIA_HART);
}

/* Two commands of one cycle may stand before each other; more than all pipes of all cores
 * do not. */
static void walk_back(struct walk *w)
{
    unsigned still = 0;
    uint64_t before = w->at;

    while (w->at > w->first) {
        if (w->ran && still <= NPU_MAX_CORES * NPU_PIPES) {
            back_over_command(w);
        } else {
            w->ran = NULL;
            back_over_hart(w);
        }
        still = w->at == before ? still + 1 : 0;
        before = w->at;
    }
}

static void forget(struct path *p)
{
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned i = 0; i < NPU_PIPES; i++) {
            p->ran[c][i].n = 0;
        }
    }
    p->done.n = p->steps.n = 0;
}

void path_tell(struct path *p, const struct launched *l, path_told *told, void *ctx)
{
    struct walk w = {.path = p, .at = l->back, .first = l->call + l->price};
    const struct step *s;

    walk_back(&w);
    if (l->price) {
        w.first = l->call;
        lead(&w, VIA_HART);
        step(&w, STEP_PRICE, l->call);
    }
    s = p->steps.at;
    for (size_t i = p->steps.n; i-- > 0;) {
        told(ctx, &s[i]);
    }
    forget(p);
}
