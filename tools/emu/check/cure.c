/* SPDX-License-Identifier: MIT
 *
 * What a race lacks; see cure.h. Here is what may be added, in the order in which it is
 * tried: first a wait for what is posted already, then that semaphores which go from the one
 * pipe to the other are used at other commands or hold less, then one more. sim.c tries.
 */
#include "tools/emu/check/cure.h"

#include "tools/emu/check/agent.h"
#include "tools/emu/check/sim.h"

enum { UNITS_MOST = 8, FEWER_MOST = 4, WORK_MOST = 16 << 20 };

static const struct cure nothing = {.how = CURE_NONE};

/* A finding of two engines of one core, and what is tried for it. */
struct patient {
    const struct findings *f;
    const struct race *r;
    uint32_t finding;
    unsigned core;
    const struct segment *s;        /* the first that has an instance */
    const struct record *from, *to; /* in the order that is tried */
    uint64_t *work;                 /* steps that were gone through */
};

static uint64_t place(const struct record *x)
{
    return race_place(x->site.pc, x->site.caller, x->site.opcode);
}

static unsigned pipe_of(const struct record *x)
{
    unsigned pipe = x->lane % NPU_PIPES;

    return pipe == LANE_RESULTS ? PIPE_M : pipe;
}

/* Whether an edit orders all instances, in each segment that has some. */
static bool cures(struct patient *p, const struct sim_edit *edit)
{
    const struct findings *f = p->f;
    uint32_t last = UINT32_MAX;

    for (uint32_t i = 0; i < f->n_instances; i++) {
        const struct instance *x = &f->instance[i];
        const struct segment *s = &f->tape.segment[x->segment];
        if (x->finding != p->finding || x->segment == last) {
            continue;
        }
        last = x->segment;
        *p->work += s->n_steps;
        if (s->broken || *p->work > WORK_MOST ||
            !sim_orders(f, p->finding, last, p->r, edit)) {
            return false;
        }
    }
    return last != UINT32_MAX;
}

static struct sim_edit edit_of(const struct patient *p, unsigned sem)
{
    return (struct sim_edit){
        .sem = sem, .pipe_post = pipe_of(p->from), .pipe_take = pipe_of(p->to)};
}

static unsigned units(const uint8_t *sem, const uint8_t *n, unsigned which)
{
    return (sem[0] == which ? n[0] : 0u) + (sem[1] == which ? n[1] : 0u);
}

/* A command of the pipe that posts or takes so many units or more, of another place than
 * `except`; NULL: none. */
static const struct tape_cmd *who(const struct patient *p, unsigned pipe, unsigned sem,
                                  bool post, unsigned least, uint64_t except)
{
    for (uint32_t i = 0; i < p->s->n_cmds; i++) {
        const struct tape_cmd *c = &p->s->cmd[i];
        unsigned n = post ? units(c->post_sem, c->post_n, sem)
                          : units(c->wait_sem, c->wait_n, sem);
        if (c->core == p->core && c->pipe == pipe && tape_place(c) != except &&
            n >= least) {
            return c;
        }
    }
    return NULL;
}

/* Whether commands of its place do. */
static bool takes(const struct patient *p, const struct record *x, unsigned sem)
{
    for (uint32_t i = 0; i < p->s->n_cmds; i++) {
        const struct tape_cmd *c = &p->s->cmd[i];
        if (tape_place(c) == place(x) && units(c->wait_sem, c->wait_n, sem)) {
            return true;
        }
    }
    return false;
}

/* Units that nobody takes. */
static bool has_left(const struct patient *p, unsigned sem)
{
    int left = p->s->value[p->core][sem];

    for (uint32_t i = 0; i < p->s->n_cmds; i++) {
        const struct tape_cmd *c = &p->s->cmd[i];
        if (c->core == p->core) {
            left += (int)units(c->post_sem, c->post_n, sem);
            left -= (int)units(c->wait_sem, c->wait_n, sem);
        }
    }
    for (uint32_t i = 0; i < p->s->n_steps; i++) {
        const struct tape_step *x = &p->s->step[i];
        if (x->core == p->core && x->sem == sem) {
            left += x->what == TAPE_POST   ? x->count
                    : x->what == TAPE_TAKE ? -x->count
                                           : 0;
        }
    }
    return left > 0;
}

/* --- semaphores that are there --- */

/* Places from which the second pipe races with the first one on this memory. */
static void add_places(const struct patient *p, struct sim_edit *edit)
{
    const struct finding *me = &p->f->finding[p->finding];

    for (uint32_t i = 0; i < p->f->n && edit->n_take_at < SIM_PLACES; i++) {
        const struct finding *x = &p->f->finding[i];
        const struct record *to = x->a.lane == p->to->lane ? &x->a : &x->b;
        const struct record *from = x->a.lane == p->to->lane ? &x->b : &x->a;
        bool known = to->lane != p->to->lane || from->lane != p->from->lane ||
                     x->mem != me->mem || !to->site.opcode;
        for (unsigned k = 0; k < edit->n_take_at; k++) {
            known |= edit->take_at[k] == place(to);
        }
        if (!known) {
            edit->take_at[edit->n_take_at++] = place(to);
        }
    }
}

/* A wait is missing: of all commands of the place, of all such places, of some commands. */
static struct cure with_wait(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_TAKE, .sem = sem};
    struct sim_edit edit = edit_of(p, sem);

    edit.take_at[0] = place(p->to);
    edit.n_take_at = 1;
    if (cures(p, &edit)) {
        return cure;
    }
    add_places(p, &edit);
    if (edit.n_take_at > 1 && cures(p, &edit)) {
        return cure;
    }
    edit.n_take_at = 1;
    edit.some = cure.some = true;
    return cures(p, &edit) ? cure : nothing;
}

/* It is posted too often. */
static struct cure with_one_post(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_TWICE,
                        .sem = sem,
                        .other = who(p, pipe_of(p->from), sem, true, 2, 0)};
    struct sim_edit edit = edit_of(p, sem);

    edit.one_post = true;
    return cure.other && cures(p, &edit) ? cure : nothing;
}

/* It is posted by the wrong command. */
static struct cure with_other_post(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_POST,
                        .sem = sem,
                        .other = who(p, pipe_of(p->from), sem, true, 1, place(p->from))};
    struct sim_edit edit = edit_of(p, sem);

    edit.move_post = true;
    edit.post_at[edit.n_post_at++] = place(p->from);
    return cure.other && cures(p, &edit) ? cure : nothing;
}

/* The wrong command waits for it. */
static struct cure with_other_wait(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_EARLY,
                        .sem = sem,
                        .other = who(p, pipe_of(p->to), sem, false, 1, place(p->to))};
    struct sim_edit edit = edit_of(p, sem);

    edit.move_take = true;
    edit.take_at[edit.n_take_at++] = place(p->to);
    return cure.other && cures(p, &edit) ? cure : nothing;
}

/* It lets through too many. */
static struct cure with_fewer(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_FEWER, .sem = sem};
    struct sim_edit edit = edit_of(p, sem);

    for (unsigned i = 0; i < SEM_CORE; i++) {
        if (has_left(p, i) && (who(p, edit.pipe_post, i, true, 1, 0) ||
                               who(p, edit.pipe_take, i, true, 1, 0))) {
            return nothing; /* a wait is missing rather */
        }
    }
    for (edit.fewer = 1; edit.fewer <= FEWER_MOST; edit.fewer++) {
        cure.units = edit.fewer;
        if (cures(p, &edit)) {
            return cure;
        }
    }
    return nothing;
}

/* What may be wrong with a semaphore, the likeliest first, and of which. */
static const struct {
    struct cure (*try)(struct patient *p, unsigned sem);
    bool taken; /* by the second pipe; else one of which units are left, and not by to */
} tries[] = {
    {with_one_post, true},   {with_wait, false}, {with_other_post, true},
    {with_other_wait, true}, {with_fewer, true},
};

static struct cure with_any(struct patient *p, unsigned i)
{
    struct cure cure = nothing;

    for (unsigned sem = 0; sem < SEM_CORE && cure.how == CURE_NONE; sem++) {
        bool fits = tries[i].taken ? who(p, pipe_of(p->to), sem, false, 1, 0) != NULL
                                   : has_left(p, sem) && !takes(p, p->to, sem);
        if (fits && who(p, pipe_of(p->from), sem, true, 1, 0)) {
            cure = tries[i].try(p, sem);
        }
    }
    return cure;
}

/* --- a semaphore of its own --- */

/* As many units at first as can be: the hand-over is then as loose as it may be. */
static struct cure with_pair(struct patient *p)
{
    struct cure cure = {.how = CURE_PAIR};
    struct sim_edit edit = edit_of(p, 0);

    if (!sim_free_sem(p->s, &edit.sem)) {
        return nothing;
    }
    edit.post_at[edit.n_post_at++] = place(p->from);
    edit.take_at[edit.n_take_at++] = place(p->to);
    for (cure.units = UNITS_MOST + 1; cure.units-- > 0;) {
        edit.first = cure.units;
        if (cures(p, &edit)) {
            return cure;
        }
    }
    edit.first = cure.units = 0;
    edit.some = cure.some = true;
    return cures(p, &edit) ? cure : nothing;
}

/* In which order the program means two commands: that of a task, or that of the run. */
static bool is_turned(const struct record *a, const struct record *b)
{
    return a->site.task == b->site.task && a->site.pushed > b->site.pushed;
}

static const struct segment *first_segment(const struct findings *f, uint32_t finding)
{
    uint32_t i = 0;

    while (i < f->n_instances && f->instance[i].finding != finding) {
        i++;
    }
    return i < f->n_instances ? &f->tape.segment[f->instance[i].segment] : NULL;
}

struct cure cure_of(const struct findings *f, uint32_t finding, const struct race *r,
                    uint64_t *work)
{
    const struct finding *x = &f->finding[finding];
    struct patient p = {.f = f,
                        .r = r,
                        .finding = finding,
                        .core = x->a.lane / NPU_PIPES,
                        .s = first_segment(f, finding),
                        .work = work};
    bool turned = is_turned(&x->a, &x->b);
    const unsigned n = sizeof(tries) / sizeof(tries[0]);
    struct cure cure = nothing;

    if (!p.s || p.s->broken || !x->a.site.opcode || !x->b.site.opcode ||
        p.core != x->b.lane / NPU_PIPES || pipe_of(&x->a) == pipe_of(&x->b)) {
        return cure;
    }
    for (unsigned i = 0; i < 2 * (n + 1) && cure.how == CURE_NONE; i++) {
        p.from = turned ? &x->b : &x->a;
        p.to = turned ? &x->a : &x->b;
        cure = i / 2 < n ? with_any(&p, i / 2) : with_pair(&p);
        cure.turned = turned;
        turned = !turned;
    }
    return cure;
}
