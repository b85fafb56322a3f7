/* SPDX-License-Identifier: MIT
 *
 * What is pushed in each turn of a core's loop in a running softmax; see loop_twice.h.
 */
#include "kernels/tile/attention/loop_twice.h"

enum { VALUES = TWICE_LAG + 1 };

struct walk {
    const struct loop_plan *p;
    const struct twice_sink *sink;
    void *of;
    struct twice_turns now, ahead; /* ahead: whose keys and values are loaded next */
    /* Whose second products are to come, a ring, from the oldest on; of how many the cast is in
     * L1 or beyond, in L0B; whether the one before them was an item's last. */
    struct loop_cursor value[VALUES];
    unsigned oldest, left, copied, loaded;
    bool out;
};

static unsigned tail_of(const struct walk *w, const struct loop_cursor *c)
{
    return c->tile == w->p->tiles - 1;
}

__attribute__((always_inline)) static inline void
push(const struct walk *w, enum twice_command which, const struct loop_cursor *c,
     unsigned variant)
{
    if (w->sink->core) {
        loop_push(twice_pipe(which),
                  &w->p->twice->cmd[which][tail_of(w, c)][variant], 1);
    } else {
        w->sink->command(w->of, which, tail_of(w, c), variant);
    }
}

/* Of the second products to come the i-th; the one before them. */
static struct loop_cursor *value(struct walk *w, unsigned i)
{
    return &w->value[(w->oldest + i) % VALUES];
}

static const struct loop_cursor *ended(struct walk *w)
{
    return value(w, VALUES - 1);
}

static void part(const struct walk *w, enum twice_part part, const struct loop_cursor *c)
{
    struct loop_core *core = w->sink->core;
    unsigned variant = c->which[c->tile] - 1u;

    if (core) {
        twice_push_part(part == TWICE_PART_LOOK   ? &core->step[variant]
                        : part == TWICE_PART_WORK ? &core->before[variant]
                                                  : &core->part[twice_parts[part]],
                        c, w->p);
    } else {
        w->sink->part(w->of, part, c);
    }
}

/* The oldest second product. */
static void second_product(struct walk *w)
{
    const struct loop_cursor *c = value(w, 0);

    push(w, TWICE_L0_V, c, (unsigned)(c->number % w->p->room.ring));
    push(w, TWICE_MMAD_VALUE, c,
         (c->first ? TWICE_FIRST : 0) | (c->last ? TWICE_LAST : 0) |
             (c->number % 2 ? TWICE_ODD : 0));
    if (c->last) {
        push(w, TWICE_FIX_VALUE, c, 0);
    }
    w->out = c->last;
    w->oldest++;
    w->left--;
    w->copied--;
    w->loaded--;
}

/* What a work has cast gets to L1 in the next turn, in the one behind that to L0B, where the
 * second product before has one as well, and then comes its own; sooner where nothing works. */
static void second_products(struct walk *w, bool works)
{
    if (w->left == TWICE_LAG || (!works && w->loaded)) {
        second_product(w);
    }
    if (w->loaded == 0 && w->copied) {
        push(w, TWICE_L0_P, value(w, 0), (unsigned)value(w, 0)->number % 2);
        w->loaded++;
    }
    if (w->copied < w->left) {
        push(w, TWICE_COPY_P, value(w, w->copied++), 0);
    }
}

static void push_work(const struct walk *w, const struct loop_cursor *c, unsigned others)
{
    push(w, TWICE_MMAD_WORK, c, (unsigned)c->item % 2 | others);
    push(w, TWICE_FIX_WORK, c, 0);
    if (c->last) {
        push(w, TWICE_MMAD_DONE, c, 0);
    }
}

static void push_look(const struct walk *w, const struct loop_cursor *c, unsigned others)
{
    push(w, TWICE_MMAD_LOOK, c, (unsigned)c->item % 2 | others);
    push(w, TWICE_FIX_LOOK, c, 0);
}

/* An item's last look comes first if its maximum is waited for. */
static bool look_first(const struct twice_turn *t)
{
    return t->look && t->look_at->last && !(t->work && t->work_at->first);
}

static void first_products(struct walk *w, const struct twice_turn *t)
{
    const struct loop_cursor *look = t->look_at, *work = t->work_at;
    bool begins = t->work && work->first, both = t->look && t->work;
    bool before = look_first(t);

    if (t->look && look->first) {
        push(w, TWICE_L0_Q, look, (unsigned)(look->item % TWICE_QUERIES));
    }
    push(w, TWICE_L0_K, t->work ? work : look,
         (unsigned)(t->number % w->p->room.ring) | (begins ? TWICE_BIAS : 0));
    if (begins) {
        push(w, TWICE_L0_BIAS, work, 0);
    }
    if (before) {
        push_look(w, look, both ? TWICE_THEN : 0);
    }
    if (t->work) {
        push_work(w, work, !both ? 0 : before ? TWICE_BEHIND : TWICE_THEN);
    }
    if (t->look && !before) {
        push_look(w, look, both ? TWICE_BEHIND : 0);
    }
}

static void loads(const struct walk *w, const struct twice_turn *t)
{
    if (t->look && t->look_at->first) {
        w->sink->load(w->of, LOOP_LOAD_Q, t);
    }
    w->sink->load(w->of, LOOP_LOAD_K, t);
    if (t->work && w->sink->core == NULL) { /* keys and values are one store */
        w->sink->load(w->of, LOOP_LOAD_V, t);
    }
}

/* An item's results, once its last second product has gone to UB. */
static void results(struct walk *w)
{
    if (w->out) {
        part(w, TWICE_PART_OUT, ended(w));
        w->sink->store(w->of, ended(w));
        w->out = false;
    }
}

static void look(struct walk *w, const struct loop_cursor *c)
{
    part(w, TWICE_PART_LOOK, c);
    if (c->last) {
        part(w, TWICE_PART_TOP, c);
        push(w, TWICE_COPY_BIAS, c, 0);
    }
}

static void work(struct walk *w, const struct loop_cursor *c)
{
    part(w, TWICE_PART_WORK, c);
    results(w);
    if (c->last && !w->p->twice->ones) {
        part(w, TWICE_PART_SUM, c);
    }
}

static void on_vector(struct walk *w, const struct twice_turn *t)
{
    if (t->work && t->work_at->first && !w->p->twice->ones) {
        part(w, TWICE_PART_FILL_SUM, t->work_at);
    }
    if (t->look && t->look_at->first) {
        part(w, TWICE_PART_FILL_TOP, t->look_at);
    }
    if (look_first(t)) {
        look(w, t->look_at);
    }
    if (t->work) {
        work(w, t->work_at);
    }
    results(w);
    if (t->look && !look_first(t)) {
        look(w, t->look_at);
    }
}

static bool has_last(struct walk *w)
{
    bool last = false;

    for (unsigned i = 0; i < w->left; i++) {
        last = last || value(w, i)->last;
    }
    return last;
}

static void push_turn(struct walk *w, const struct twice_turn *t)
{
    first_products(w, t);
    second_products(w, t->work);
    /* A sum by the Vector has one place: the item before has to be done with it. */
    while (t->work && t->work_at->last && !w->p->twice->ones && has_last(w)) {
        second_products(w, false);
    }
}

/* --- turns of one kind --- */

/* Whole tiles from this one on that are followed by another one, or with `more` by none. */
static uint32_t whole_tiles(const struct walk *w, const struct loop_cursor *c,
                            uint32_t more)
{
    uint32_t n = c->steps - 1 + more, last = w->p->tiles - 1 - c->tile, i = 0;

    n = n < last ? n : last;
    i = w->p->form.loop->condition ? 0 : n;
    while (i < n && c->which[c->tile + i]) {
        i++;
    }
    return c->first ? 0 : i;
}

/* Turns that do the same of the same items as the next one, with nothing that begins; with
 * `more` the last one of them may be an item's last. */
static uint32_t alike(const struct walk *w, const struct twice_turns *t, uint32_t more,
                      struct twice_turn *next)
{
    const struct loop_cursor *look = &t->look, *work = &t->work;
    uint32_t n = UINT32_MAX, of_look, of_work;

    next->look = !look->done && look->item <= work->item + 1;
    next->work = look->done || look->item > work->item;
    if (work->done ||
        (next->look && next->work &&
         (look->item != work->item + 1 || !twice_same_keys(t) || look->tile != work->tile))) {
        return 0;
    }
    of_look = next->look ? whole_tiles(w, look, more) : n;
    of_work = next->work ? whole_tiles(w, work, more) : n;
    n = of_look < of_work ? of_look : of_work;
    next->look_at = look;
    next->work_at = work;
    next->number = t->number;
    return n;
}

static void skip(struct loop_cursor *c, uint32_t turns)
{
    c->tile += turns - 1;
    c->steps -= turns - 1;
    c->number += turns - 1;
    c->last = c->steps == 1;
}

static void skip_run(struct twice_turns *t, const struct twice_turn *kind, uint32_t turns)
{
    if (kind->look) {
        skip(&t->look, turns);
    }
    if (kind->work) {
        skip(&t->work, turns);
    }
    t->number += turns - 1;
    twice_next(t, kind); /* the last one leads on as any other */
}

static void load_ahead(void *of)
{
    struct walk *w = of;
    struct twice_turn next;

    if (twice_turn(&w->ahead, &next)) {
        loads(w, &next);
        twice_next(&w->ahead, &next);
    }
}

/* The turns have been played, by other means. */
static void skip_turns(struct walk *w, const struct twice_turn *kind, uint32_t turns)
{
    for (uint32_t i = turns < TWICE_LAG ? turns : TWICE_LAG; kind->work && i > 0; i--) {
        *value(w, TWICE_LAG) = w->now.work;
        skip(value(w, TWICE_LAG), turns - i + 1);
        w->oldest++;
    }
    skip_run(&w->now, kind, turns);
}

static uint32_t loads_of(const struct walk *w, const struct twice_turns *ahead,
                         const struct twice_turn *now, uint32_t turns,
                         struct twice_turn *then)
{
    uint32_t loads = alike(w, ahead, 1, then);

    if (then->look != now->look || then->work != now->work) {
        loads = 0;
    }
    return loads < turns ? loads : turns;
}

/* Second products may go with turns that do the same: nothing ends in them, and but for the
 * next one nothing begins. */
static bool goes_on(struct walk *w)
{
    bool begins = false;

    for (unsigned i = 1; i < w->left; i++) {
        begins = begins || value(w, i)->first;
    }
    return w->left == 0 || (w->left == TWICE_LAG && w->loaded == 1 &&
                            w->copied == TWICE_LAG - 1 && !begins && !has_last(w));
}

/* Turns without a beginning or an end, if what comes next is such. */
static void run(struct walk *w)
{
    struct twice_turn now, then;
    struct twice_turns ahead;
    uint32_t turns, loads;

    if (!goes_on(w)) {
        return;
    }
    turns = alike(w, &w->now, 0, &now);
    if (turns == 0 || now.work != (w->left != 0)) {
        return;
    }
    ahead = w->ahead;
    loads = loads_of(w, &ahead, &now, turns, &then);
    if (loads) {
        skip_run(&w->ahead, &then, loads);
    }
    w->sink->run(w->of, &(struct twice_run){.turns = turns,
                                            .loads = loads,
                                            .first = &now,
                                            .ahead = &then,
                                            .value_first = w->left && value(w, 0)->first,
                                            .load = load_ahead,
                                            .walk = w});
    skip_turns(w, &now, turns);
}

/* The same for who wants to know of each turn, and leaves out those that are as others. */
static void leap(struct walk *w)
{
    struct twice_turn now = {0}, then;
    uint32_t turns = alike(w, &w->now, 0, &now);
    bool of_run = turns && goes_on(w) && now.work == (w->left != 0);

    if (now.look_at == NULL) { /* the next turn cannot begin one */
        now.look = now.work = false;
    }
    if (!w->sink->turn(w->of, &now, of_run ? turns : 0)) {
        return;
    }
    turns = loads_of(w, &w->ahead, &now, turns - 1, &then);
    if (turns) {
        w->sink->leap(w->of, turns);
        skip_run(&w->ahead, &then, turns);
        skip_turns(w, &now, turns);
    }
}

void twice_walk(const struct loop_plan *p, uint64_t begin, uint64_t end, bool guess,
                const struct twice_sink *sink, void *of)
{
    struct walk w = {.p = p, .sink = sink, .of = of};
    struct twice_turn turn;

    w.now = w.ahead = twice_begin(p, begin, end, guess);
    part(&w, TWICE_PART_ONCE, &w.now.work);
    if (p->twice->ones) {
        push(&w, TWICE_ONES, &w.now.work, 0);
    }
    if (p->form.k->dim[p->form.s].size % LOOP_LANES) {
        push(&w, TWICE_CLEAR, &w.now.work, 0);
    }
    for (unsigned i = 0; i + TWICE_LAG < p->room.ring; i++) {
        load_ahead(&w);
    }
    for (;;) {
        if (sink->core) {
            run(&w);
        } else {
            leap(&w);
        }
        if (!twice_turn(&w.now, &turn)) {
            break;
        }
        push_turn(&w, &turn);
        load_ahead(&w);
        on_vector(&w, &turn);
        if (turn.work) {
            *value(&w, w.left++) = *turn.work_at;
        }
        twice_next(&w.now, &turn);
    }
    while (w.left) {
        second_products(&w, false);
        results(&w);
    }
}
