/* SPDX-License-Identifier: MIT
 *
 * A running softmax on its cores: what loop_twice_turns.c says, pushed; see loop_twice.h.
 */
#include "kernels/tile/attention/loop_twice.h"
#include "sched/launch.h"

struct player {
    const struct loop_plan *p;
    struct loop_core *core;
    uint64_t begin; /* the item that fine[] of the core begins with */
    uint64_t key[2], v[2]; /* where those of an item begin, of which two are at work */
};

static union cmd *query(struct player *s, const struct loop_cursor *c, unsigned tail)
{
    const struct loop_plan *p = s->p;
    struct loop_core *core = s->core;
    const void *const *in = core->call->in;
    union cmd *cmd = core->group[GROUP_LOAD_Q][tail].cmd;

    s->key[c->item % 2] = loop_address(p, in[p->form.key], &core->key, c);
    s->v[c->item % 2] = loop_address(p, in[p->form.v], &core->v, c);
    cmd->nd2nz.src = loop_address(p, in[p->form.q], &core->q, c);
    cmd->nd2nz.dst =
        p->room.l1_q + (uint32_t)(c->item % TWICE_QUERIES) * p->room.q_bytes;
    return cmd;
}

static union cmd *keys(const struct player *s, const struct twice_turn *t,
                       const struct loop_cursor *c, unsigned tail)
{
    const struct loop_room *r = &s->p->room;
    union cmd *cmd = &s->core->group[GROUP_LOAD][tail].cmd[0];

    cmd->nd2nz.src = s->key[c->item % 2] + c->tile * s->core->next_key;
    cmd->nd2nz.dst = r->l1_k + (uint32_t)(t->number % r->ring) * r->k_bytes;
    return cmd;
}

static union cmd *values(const struct player *s, const struct loop_cursor *c,
                         unsigned tail)
{
    const struct loop_room *r = &s->p->room;
    union cmd *cmd = &s->core->group[GROUP_LOAD][tail].cmd[1];

    cmd->nd2nz.src = s->v[c->item % 2] + c->tile * s->core->next_v;
    cmd->nd2nz.dst = r->l1_v + (uint32_t)(c->number % r->ring) * r->v_bytes;
    return cmd;
}

static void play_load(void *of, enum loop_command which, const struct twice_turn *t)
{
    struct player *s = of;
    const struct loop_cursor *c = t->work ? t->work_at : t->look_at;
    bool tail = c->tile == s->p->tiles - 1;

    if (which == LOOP_LOAD_Q) {
        loop_push(PIPE_MTE2,
                  query(s, t->look_at, t->look_at->block == s->p->form.blocks - 1), 1);
        return;
    }
    (void)values(s, c, tail);
    loop_push(PIPE_MTE2, keys(s, t, c, tail), t->work ? 2 : 1);
}

/* Places in a ring one after the other. */
static inline uint32_t after(uint32_t slot, uint32_t ring)
{
    return slot + 1 == ring ? 0 : slot + 1;
}

/* The loads of turns that begin where this one does. */
struct loader {
    union cmd *cmd;
    uint64_t next_key, next_v;
    uint32_t k, v, n;
};

static void next_loads(struct loader *l, const struct loop_room *r)
{
    loop_push(PIPE_MTE2, l->cmd, l->n);
    l->k = after(l->k, r->ring);
    l->v = after(l->v, r->ring);
    l->cmd[0].nd2nz.src += l->next_key;
    l->cmd[0].nd2nz.dst = r->l1_k + l->k * r->k_bytes;
    l->cmd[1].nd2nz.src += l->next_v;
    l->cmd[1].nd2nz.dst = r->l1_v + l->v * r->v_bytes;
}

static struct loader loader_of(const struct player *s, const struct twice_turn *t)
{
    const struct loop_plan *p = s->p;
    const struct loop_cursor *c = t->work ? t->work_at : t->look_at;
    struct loader l = {s->core->group[GROUP_LOAD][0].cmd,
                       s->core->next_key,
                       s->core->next_v,
                       (uint32_t)(t->number % p->room.ring),
                       (uint32_t)(c->number % p->room.ring),
                       t->work ? 2 : 1};

    (void)keys(s, t, c, 0);
    (void)values(s, c, 0);
    return l;
}

/* As any other turns, by a store for each pipe. */
static void play_run(void *of, const struct twice_run *run)
{
    struct player *s = of;
    const struct loop_plan *p = s->p;
    const struct loop_twice *t = p->twice;
    const struct twice_turn *now = run->first;
    struct loop_cursor work = *now->work_at, look = *now->look_at;
    bool works = now->work, looks = now->look;
    unsigned kind = !works ? TWICE_LOOKS : looks ? TWICE_LOOKS_AND_WORKS : TWICE_WORKS;
    unsigned n = kind == TWICE_LOOKS_AND_WORKS ? 2 : 1;
    uint64_t item = works ? work.item : look.item;
    uint32_t ring = p->room.ring, k = (uint32_t)(now->number % ring);
    uint32_t v = (uint32_t)((work.number + ring - TWICE_LAG) % ring);
    bool first = run->value_first;
    struct loader l = {0};

    if (run->loads) {
        l = loader_of(s, run->ahead);
    }
    for (uint32_t i = 0; i < run->turns; i++) {
        if (works) {
            loop_push(PIPE_MTE3, &t->cmd[TWICE_COPY_P][0][0], 1);
        }
        loop_push(PIPE_MTE1, t->run_l0[k][v], works ? 3 : 1);
        loop_push(PIPE_M, t->run_m[kind][item % 2][v % 2][first], works ? n + 1 : n);
        loop_push(PIPE_FIX, t->run_fix[kind], n);
        if (i < run->loads) {
            next_loads(&l, &p->room);
        } else {
            run->load(run->walk);
        }
        if (works) {
            twice_push_part(&s->core->before[work.which[work.tile] - 1u], &work, p);
        }
        if (looks) {
            twice_push_part(&s->core->step[look.which[look.tile] - 1u], &look, p);
        }
        k = after(k, ring);
        v = after(v, ring);
        work.tile++;
        look.tile++;
        first = false;
    }
}

static void play_store(void *of, const struct loop_cursor *c)
{
    struct player *s = of;

    (void)loop_set_stores(s->p, s->core, c);
    s->core->stores[c->block == s->p->form.blocks - 1][0].copy_out.dst =
        (uintptr_t)&s->core->fine[c->item - s->begin];
    loop_push(PIPE_MTE3, s->core->stores[c->block == s->p->form.blocks - 1],
              s->core->store[0].n);
}

/* Whether all rows of an item will do. */
static bool is_fine(const struct player *s, uint64_t item)
{
    const struct loop_form *f = &s->p->form;
    uint32_t left = f->k->dim[f->s].size - (uint32_t)(item % f->blocks) * LOOP_LANES;
    uint64_t rows = left < LOOP_LANES ? (UINT64_C(1) << left) - 1 : UINT64_MAX;

    return (s->core->fine[item - s->begin] & rows) == rows;
}

/* Items of which rows will not do once more, those that follow each other at once. */
static void play_again(struct player *s, uint64_t end, const struct twice_sink *sink)
{
    uint64_t item = s->begin, next;

    task_drain();
    for (; item < end; item = next) {
        next = item + 1;
        if (is_fine(s, item)) {
            continue;
        }
        while (next < end && !is_fine(s, next)) {
            next++;
        }
        twice_walk(s->p, item, next, false, sink, s);
        task_drain();
    }
}

void twice_play(const struct loop_plan *p, struct loop_core *core)
{
    const struct twice_sink sink = {
        .run = play_run, .core = core, .load = play_load, .store = play_store};
    struct player s = {.p = p, .core = core};

    for (unsigned i = 0; i < TWICE_EMPTY; i++) {
        sched_label(task_core(), twice_empty[i].sem, twice_empty[i].of, "FREE");
        if (twice_empty[i].sem != TWICE_ITEM_FREE) {
            sched_label(task_core(), twice_empty[i].sem + 1u, twice_empty[i].of, "FULL");
        }
        task_post(twice_empty[i].sem, twice_units(p, i));
    }
    sched_label(task_core(), LOOP_O_FULL, "second product in UB", "FULL");
    for (uint64_t item = core->begin; item < core->end; item += TWICE_ITEMS) {
        uint64_t left = core->end - item;
        uint64_t end = left < TWICE_ITEMS ? core->end : item + TWICE_ITEMS;
        s.begin = item;
        twice_walk(p, item, end, !p->twice->looks_at_all, &sink, &s);
        if (!p->twice->looks_at_all) {
            play_again(&s, end, &sink);
        }
    }
}

void twice_finish(const struct loop_plan *p)
{
    task_drain();
    for (unsigned i = 0; i < TWICE_EMPTY; i++) {
        task_wait(twice_empty[i].sem, twice_units(p, i));
    }
}

/* --- before a launch --- */

/* Looks at the commands that all cores share, once. */
static int check_shared(const struct loop_plan *p, struct sched_report *report)
{
    struct loop_twice *t = p->twice;
    int err = 0;

    for (unsigned which = 0; which < TWICE_COMMANDS && !t->checked && !err; which++) {
        struct sequence s = {.name = "product",
                             .pipe = twice_pipe((enum twice_command)which),
                             .cmds = t->cmd[which][0],
                             .n = TWICE_TAILS * TWICE_VARIANTS};
        err = sequence_check(&s, report->text, sizeof(report->text));
    }
    if (!err && !t->checked) {
        twice_runs(p);
        t->checked = true;
    }
    return err;
}

int twice_check(const struct loop_plan *p, struct loop_core *core,
                const struct loop_cursor *c, struct sched_report *report)
{
    static const struct twice_turn first;
    struct player s = {.p = p, .core = core};
    int err = check_shared(p, report);

    for (unsigned tail = 0; tail < TWICE_TAILS && !err; tail++) {
        (void)query(&s, c, tail);
        (void)keys(&s, &first, c, tail);
        (void)values(&s, c, tail);
        err = loop_check(&core->group[GROUP_LOAD_Q][tail].seq, report);
        err = err ? err : loop_check(&core->group[GROUP_LOAD][tail].seq, report);
    }
    return err ? err : loop_check_parts(p, core, c, report);
}
