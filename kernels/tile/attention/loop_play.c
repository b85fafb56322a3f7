/* SPDX-License-Identifier: MIT
 *
 * A loop on its cores: each plays its items, step by step, by one task; see loop.h. What is
 * pushed in a turn of the hart's loop is, in this order,
 *
 *     the loads of a step some turns ahead
 *     the first product of the next step
 *     the way of what BEFORE of this step gives to L1, the second product
 *     BEFORE, AFTER of the step before, END and stores if that was an item's last, BESIDE
 *
 * The Vector's queue alone is ever full, since the others get a few commands a turn, and
 * what the Vector waits for has been pushed before: nobody can wait for ever.
 */
#include <stdio.h>
#include <string.h>

#include "hal/mte.h"
#include "kernels/tile/attention/loop_twice.h"
#include "sched/launch.h"

enum { A_FEW = PIPE_DEPTH / 4 };

/* A quarter of a queue is waited for: once for some pushes, and the pipe has the rest to do. */
void loop_wait_room(enum pipe pipe, unsigned n)
{
    struct pipe_port *port = &task_ports[pipe];

    while (pipe_refresh(port) < n) {
        (void)!task_wait_room(pipe, n > A_FEW ? n : A_FEW, SCHED_FOREVER);
    }
}

/* By one store: loop_bind() has looked at the commands. */
static void push_sequence(const struct sequence *s)
{
    loop_push(s->pipe, s->cmds, s->n);
}

static void patch_part(struct pieces_of *part, const struct loop_cursor *c,
                       const struct loop_plan *p)
{
    for (unsigned i = 0; i < part->part->n_patches; i++) {
        const struct loop_patch *patch = &part->part->patch[i];
        uint64_t batch = c->item / p->form.blocks;
        uint32_t at = patch->of == 0 ? c->tile * p->room.tile : c->block * LOOP_LANES;
        for (unsigned b = p->form.n_batch; b-- > 0 && patch->of >= 2;) {
            uint32_t size = p->form.k->dim[p->form.batch[b]].size;
            at = b + 2u == patch->of ? (uint32_t)(batch % size) : at;
            batch /= size;
        }
        part->cmd[part->begin + patch->command].vec_fill.value =
            part->part->cmd[patch->command].vec_fill.value + at * patch->factor;
    }
}

void loop_push_part(struct pieces_of *part, const struct loop_cursor *c,
                    const struct loop_plan *p)
{
    if (part->part->n_patches) {
        patch_part(part, c, p);
    }
    for (unsigned i = 0; i < part->n; i++) {
        loop_push(PIPE_V, part->seq[i].cmds, part->seq[i].n);
    }
}

static struct played *group_of(const struct loop_plan *p, struct loop_core *core,
                               unsigned g, const struct loop_cursor *c)
{
    return &core->group[g][c->tile == p->tiles - 1];
}

static uint64_t offset(const struct loop_form *f, const struct offsets *o,
                       const struct loop_cursor *c)
{
    uint64_t at = c->block * o->block, batch = f->n_batch ? c->item / f->blocks : 0;

    for (unsigned i = f->n_batch; i-- > 0 && batch;) {
        uint32_t size = f->k->dim[f->batch[i]].size;
        at += batch % size * o->batch[i];
        batch /= size;
    }
    return at;
}

uint64_t loop_address(const struct loop_plan *p, const void *tensor,
                      const struct offsets *o, const struct loop_cursor *c)
{
    return (uintptr_t)tensor + offset(&p->form, o, c);
}

static void set_query(const struct loop_plan *p, struct loop_core *core, unsigned tail,
                      const struct loop_cursor *c)
{
    const struct loop_form *f = &p->form;
    union cmd *cmd = core->group[GROUP_LOAD_Q][tail].cmd;

    cmd->nd2nz.src = (uintptr_t)core->call->in[f->q] + offset(f, &core->q, c);
    cmd->nd2nz.dst = p->room.l1_q + (uint32_t)(c->item % 2) * p->room.q_bytes;
    core->key.now = (uintptr_t)core->call->in[f->key] + offset(f, &core->key, c);
    core->v.now = (uintptr_t)core->call->in[f->v] + offset(f, &core->v, c);
}

static void set_loads(const struct loop_plan *p, const struct loop_core *core,
                      struct played *load, const struct loop_cursor *c)
{
    const struct loop_room *r = &p->room;
    uint32_t slot = (uint32_t)c->number % r->ring;

    load->cmd[0].nd2nz.src = core->key.now + c->tile * core->next_key;
    load->cmd[0].nd2nz.dst = r->l1_k + slot * r->k_bytes;
    load->cmd[1].nd2nz.src = core->v.now + c->tile * core->next_v;
    load->cmd[1].nd2nz.dst = r->l1_v + slot * r->v_bytes;
}

static void push_loads(const struct loop_plan *p, struct loop_core *core,
                       const struct loop_cursor *c)
{
    struct played *load = group_of(p, core, GROUP_LOAD, c);
    unsigned last = c->block == p->form.blocks - 1;

    if (c->first) {
        set_query(p, core, last, c);
        push_sequence(&core->group[GROUP_LOAD_Q][last].seq);
    }
    set_loads(p, core, load, c);
    push_sequence(&load->seq);
}

static void set_inputs(const struct loop_plan *p, struct loop_core *core,
                       const struct loop_cursor *c)
{
    const struct loop_form *f = &p->form;
    uint32_t left = f->k->dim[f->s].size - c->block * LOOP_LANES;

    for (unsigned i = 0; i < f->n_inputs; i++) {
        const void *in = core->call->in[f->k->node[f->input[i]].index];
        loop_input_load(
            p, i, loop_address(p, in, &core->x[i], c) + c->tile * core->next_x[i],
            left < LOOP_LANES ? left : LOOP_LANES,
            c->tile == p->tiles - 1 ? p->tail : p->room.tile, &core->inputs[i]);
    }
}

void loop_push_inputs(const struct loop_plan *p, struct loop_core *core,
                      const struct loop_cursor *c)
{
    if (p->form.n_inputs) {
        set_inputs(p, core, c);
        push_sequence(&core->input);
    }
}

static void push_score(const struct loop_plan *p, struct loop_core *core,
                       const struct loop_cursor *c)
{
    const struct loop_room *r = &p->room;
    struct played *l0 = group_of(p, core, c->first ? GROUP_L0_FIRST : GROUP_L0, c);
    uint32_t slot = (uint32_t)c->number % r->ring;

    if (c->first) {
        l0->cmd[0].load2d.src = r->l1_q + (uint32_t)(c->item % 2) * r->q_bytes;
    }
    l0->cmd[c->first].load2d.src = r->l1_k + slot * r->k_bytes;
    push_sequence(&l0->seq);
    push_sequence(&group_of(p, core, GROUP_MMAD_S, c)->seq);
    push_sequence(&group_of(p, core, GROUP_FIX_S, c)->seq);
    loop_push_inputs(p, core, c);
}

static void push_value(const struct loop_plan *p, struct loop_core *core,
                       const struct loop_cursor *c)
{
    struct played *l0 = group_of(p, core, GROUP_L0_P, c);

    push_sequence(&group_of(p, core, GROUP_COPY_P, c)->seq);
    l0->cmd[0].load2d.src =
        p->room.l1_v + (uint32_t)c->number % p->room.ring * p->room.v_bytes;
    push_sequence(&l0->seq);
    push_sequence(&group_of(p, core, GROUP_MMAD_O, c)->seq);
    push_sequence(&group_of(p, core, GROUP_FIX_O, c)->seq);
}

/* Results of the item; the commands that store them. */
const union cmd *loop_set_stores(const struct loop_plan *p, struct loop_core *core,
                                 const struct loop_cursor *c)
{
    unsigned last = c->block == p->form.blocks - 1;

    for (unsigned i = 0; i < p->form.k->n_results; i++) {
        core->stores[last][core->store_at[i]].copy_out.dst =
            (uintptr_t)core->call->out[i] + offset(&p->form, &core->out[i], c);
    }
    return core->stores[last];
}

/* An item's last. */
static void push_end(const struct loop_plan *p, struct loop_core *core,
                     const struct loop_cursor *c)
{
    loop_push_part(&core->part[PART_END], c, p);
    loop_push(PIPE_MTE3, loop_set_stores(p, core, c), core->store[0].n);
}

/* What a step leaves until the next one has begun. */
static void push_after(const struct loop_plan *p, struct loop_core *core,
                       const struct loop_cursor *c)
{
    if (!p->form.once) {
        loop_push_part(&core->part[PART_AFTER], c, p);
    }
    if (c->last) {
        push_end(p, core, c);
    }
}

static void push_step(const struct loop_plan *p, struct loop_core *core,
                      const struct loop_cursor *c, const struct loop_cursor *before)
{
    unsigned variant = c->which[c->tile] - 1u;

    if (p->form.value) {
        push_value(p, core, c);
    }
    if (!c->first) {
        loop_push_part(&core->step[variant], c, p);
        return;
    }
    if (c->number) {
        loop_push_part(&core->part[LOOP_SAVES], c, p);
    }
    loop_push_part(&core->part[LOOP_COLUMNS], c, p);
    loop_push_part(&core->before[variant], c, p);
    if (c->number) {
        push_after(p, core, before);
    }
    loop_push_part(&core->part[LOOP_PLANES], c, p);
    loop_push_part(&core->part[PART_BESIDE], c, p);
}

/* With nothing carried, BEFORE, which gives the Vector work for the time in which the hart pushes
 * what is ahead, then END of the item before. */
static void push_once(const struct loop_plan *p, struct loop_core *core,
                      const struct loop_cursor *c)
{
    unsigned variant = c->which[c->tile] - 1u;

    if (p->form.value) {
        push_value(p, core, c);
    }
    loop_push_part(c->number ? &core->step[variant] : &core->before[variant], c, p);
}

static const struct {
    uint8_t sem, units; /* 0: as many as tiles are in L1 */
} empty[] = {
    {LOOP_Q_FREE, 2},   {LOOP_K_FREE, 0},  {LOOP_V_FREE, 0},  {LOOP_L0K_FREE, 1},
    {LOOP_L0V_FREE, 1}, {LOOP_CS_FREE, 1}, {LOOP_CO_FREE, 1}, {LOOP_S_FREE, 1},
    {LOOP_O_FREE, 1},   {LOOP_P_FREE, 1},  {LOOP_LP_FREE, 1}, {LOOP_OUT_FREE, 1},
    {LOOP_X_FREE, 1},
};

static unsigned units_of(const struct loop_plan *p, unsigned i)
{
    return empty[i].units ? empty[i].units : p->room.ring;
}

static void label_sems(void)
{
    static const char *const names[LOOP_SEMS / 2] = {"first factor",
                                                     "keys",
                                                     "values",
                                                     "keys in L0",
                                                     "values in L0",
                                                     "first product",
                                                     "second product",
                                                     "first product in UB",
                                                     "second product in UB",
                                                     "cast",
                                                     "cast in L1",
                                                     "results",
                                                     "operands"};

    for (unsigned i = 0; i < LOOP_SEMS / 2; i++) {
        sched_label(task_core(), 2 * i + LOOP_Q_FREE, names[i], "FREE");
        sched_label(task_core(), 2 * i + LOOP_Q_FULL, names[i], "FULL");
    }
}

static void loop_play(const struct tile_plan *t)
{
    const struct loop_plan *p = loop_of(t);
    struct loop_core *core = &p->core[task_block()];
    struct loop_cursor load, score, now, before;

    if (task_block() >= p->stage.cores || core->begin == core->end) {
        return;
    }
    if (p->twice) {
        twice_play(p, core);
        return;
    }
    label_sems();
    for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        task_post(empty[i].sem, units_of(p, i));
    }
    if (p->form.ones) {
        push_sequence(&core->group[GROUP_ONES][0].seq);
    }
    load = score = now = before = loop_begin(p, core->begin, core->end);
    for (unsigned i = 0; i + 1 < p->room.ring && !load.done; i++) {
        push_loads(p, core, &load);
        loop_next(p, &load);
        if (i == 0) {
            push_score(p, core, &score);
            loop_next(p, &score);
            loop_push_part(&core->part[LOOP_ONCE], &now, p);
        }
    }
    if (p->form.once && !score.done) {
        push_score(p, core, &score);
        loop_next(p, &score);
    }
    for (; !now.done; before = now, loop_next(p, &now)) {
        if (p->form.once) {
            push_once(p, core, &now);
        }
        if (!load.done) {
            push_loads(p, core, &load);
            loop_next(p, &load);
        }
        if (!score.done) {
            push_score(p, core, &score);
            loop_next(p, &score);
        }
        if (!p->form.once) {
            push_step(p, core, &now, &before);
        } else if (now.number) {
            push_after(p, core, &before);
        }
    }
    loop_push_part(&core->part[LOOP_SAVES], &before, p);
    push_after(p, core, &before);
}

static void loop_finish(const struct tile_plan *t)
{
    const struct loop_plan *p = loop_of(t);
    const struct loop_core *core = &p->core[task_block()];

    if (task_block() >= p->stage.cores || core->begin == core->end) {
        return;
    }
    if (p->twice) {
        twice_finish(p);
        return;
    }
    task_drain();
    for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        task_wait(empty[i].sem, units_of(p, i));
    }
}

/* --- before a launch --- */

int loop_check(struct sequence *s, struct sched_report *report)
{
    return s->n == 0 || s->checked == s->cmds
               ? 0
               : sequence_check(s, report->text, sizeof(report->text));
}

static int check_pieces(struct pieces_of *of, struct sched_report *report)
{
    int err = 0;

    for (unsigned i = 0; i < of->n && !err; i++) {
        err = loop_check(&of->seq[i], report);
    }
    return err;
}

int loop_check_parts(const struct loop_plan *p, struct loop_core *core,
                     const struct loop_cursor *c, struct sched_report *report)
{
    int err = 0;

    for (unsigned i = 0; i < LOOP_PARTS && !err; i++) {
        err = check_pieces(&core->part[i], report);
    }
    for (unsigned i = 0; i < p->n_variants && !err; i++) {
        err = check_pieces(&core->before[i], report);
        err = err ? err : check_pieces(&core->step[i], report);
    }
    set_inputs(p, core, c);
    err = err ? err : loop_check(&core->input, report);
    for (unsigned last = 0; last < 2 && !err; last++) {
        for (unsigned i = 0; i < p->form.k->n_results; i++) {
            core->stores[last][core->store_at[i]].copy_out.dst =
                (uintptr_t)core->call->out[i];
        }
        if (p->twice) {
            core->stores[last][0].copy_out.dst = (uintptr_t)core->fine;
        }
        err = loop_check(&core->store[last], report);
    }
    return err;
}

/* Looks at all commands, once; those with an address in GM have that of the call. */
static int check_core(const struct loop_plan *p, struct loop_core *core,
                      const struct loop_cursor *c, struct sched_report *report)
{
    int err = 0;

    for (unsigned tail = 0; tail < 2; tail++) {
        set_query(p, core, tail, c);
        set_loads(p, core, &core->group[GROUP_LOAD][tail], c);
        for (unsigned g = 0; g < GROUPS && !err; g++) {
            bool there = g < GROUP_COPY_P || p->form.value;
            err = there ? loop_check(&core->group[g][tail].seq, report) : 0;
        }
    }
    return err ? err : loop_check_parts(p, core, c, report);
}

static int loop_bind(const struct tile_plan *t, const struct tile_call *call,
                     struct sched_report *report)
{
    const struct loop_plan *p = loop_of(t);
    int err = 0;

    for (unsigned c = 0; c < p->stage.cores && !err; c++) {
        struct loop_core *core = &p->core[c];
        core->call = call;
        if (core->begin < core->end) {
            struct loop_cursor first = loop_begin(p, core->begin, core->end);
            err = p->twice ? twice_check(p, core, &first, report)
                           : check_core(p, core, &first, report);
        }
    }
    return err;
}

const struct stage_run loop_run = {
    .kind = &loop_kind, .bind = loop_bind, .play = loop_play, .finish = loop_finish};
