/* SPDX-License-Identifier: MIT
 *
 * What a race lacks; see cure.h. Here is what may be added, in the order in which it is
 * tried: first a wait for what is posted already, then that semaphores which go from the one
 * pipe to the other are used at other commands or hold less, then one more. sim.c tries.
 */
#include "tools/emu/check/cure/cure.h"

#include "tools/emu/check/race/agent.h"
#include "tools/emu/check/cure/sim.h"

enum { UNITS_MOST = 8, FEWER_MOST = 4, WORK_MOST = 16 << 20 };

static const struct cure nothing = {.how = CURE_NONE};

/* A finding of two engines, and what is tried for it. */
struct patient {
    const struct findings *f;
    const struct race *r;
    uint32_t finding;
    unsigned first_sem;      /* of those that both have: the core's own, or the chip's */
    const struct segment *s; /* the first that has an instance */
    const struct record *from, *to; /* in the order that is tried */
    uint64_t *work;                 /* steps that were gone through */
};

static uint64_t place(const struct record *x)
{
    return race_place(x->site.pc, x->site.caller, x->site.opcode);
}

static unsigned core_of(const struct record *x)
{
    return x->lane / NPU_PIPES;
}

/* Of two cores; then only what all commands of the two places do is tried. */
static bool is_across(const struct patient *p)
{
    return p->first_sem != 0;
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

/* A command of the first pipe that posts so many units or more, of the second one that
 * takes them, of another place than `except`; NULL: none. */
static const struct tape_cmd *who(const struct patient *p, unsigned sem, bool post,
                                  unsigned least, uint64_t except)
{
    const struct record *x = post ? p->from : p->to;

    for (uint32_t i = 0; i < p->s->n_cmds; i++) {
        const struct tape_cmd *c = &p->s->cmd[i];
        unsigned n = post ? units(c->post_sem, c->post_n, sem)
                          : units(c->wait_sem, c->wait_n, sem);
        if (c->core == core_of(x) && c->pipe == pipe_of(x) && tape_place(c) != except &&
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
    unsigned core = core_of(p->from);
    bool any = sem >= SEM_CORE; /* any core's commands move it */
    int left = p->s->value[any ? NPU_CHIP : core][sem % SEM_CORE];

    for (uint32_t i = 0; i < p->s->n_cmds; i++) {
        const struct tape_cmd *c = &p->s->cmd[i];
        if (any || c->core == core) {
            left += (int)units(c->post_sem, c->post_n, sem);
            left -= (int)units(c->wait_sem, c->wait_n, sem);
        }
    }
    for (uint32_t i = 0; i < p->s->n_steps; i++) {
        const struct tape_step *x = &p->s->step[i];
        if ((any || x->core == core) && x->sem == sem) {
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
    if (is_across(p)) {
        return nothing;
    }
    add_places(p, &edit);
    if (edit.n_take_at > 1 && cures(p, &edit)) {
        return cure;
    }
    edit.n_take_at = 1;
    edit.some = cure.some = true;
    return cures(p, &edit) ? cure : nothing;
}

/* It waits, for a unit too few. */
static struct cure with_more(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_MORE, .sem = sem};
    struct sim_edit edit = edit_of(p, sem);

    edit.more = true;
    edit.take_at[edit.n_take_at++] = place(p->to);
    return takes(p, p->to, sem) && cures(p, &edit) ? cure : nothing;
}

/* It is posted too often. */
static struct cure with_one_post(struct patient *p, unsigned sem)
{
    struct cure cure = {.how = CURE_TWICE, .sem = sem, .other = who(p, sem, true, 2, 0)};
    struct sim_edit edit = edit_of(p, sem);

    edit.one_post = true;
    return cure.other && cures(p, &edit) ? cure : nothing;
}

/* It is posted by the wrong command. */
static struct cure with_other_post(struct patient *p, unsigned sem)
{
    struct cure cure = {
        .how = CURE_POST, .sem = sem, .other = who(p, sem, true, 1, place(p->from))};
    struct sim_edit edit = edit_of(p, sem);

    edit.move_post = true;
    edit.post_at[edit.n_post_at++] = place(p->from);
    return cure.other && cures(p, &edit) ? cure : nothing;
}

/* The wrong command waits for it. */
static struct cure with_other_wait(struct patient *p, unsigned sem)
{
    struct cure cure = {
        .how = CURE_EARLY, .sem = sem, .other = who(p, sem, false, 1, place(p->to))};
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

    for (unsigned i = p->first_sem; i < p->first_sem + SEM_CORE; i++) {
        if (has_left(p, i) && (who(p, i, true, 1, 0) || who(p, i, false, 1, 0))) {
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
    {with_one_post, true},   {with_wait, false},      {with_more, true},
    {with_other_post, true}, {with_other_wait, true}, {with_fewer, true},
};

static struct cure with_any(struct patient *p, unsigned i)
{
    struct cure cure = nothing;

    for (unsigned k = 0; k < SEM_CORE && cure.how == CURE_NONE; k++) {
        unsigned sem = p->first_sem + k;
        bool fits = tries[i].taken ? who(p, sem, false, 1, 0) != NULL
                                   : has_left(p, sem) && !takes(p, p->to, sem);
        if (fits && who(p, sem, true, 1, 0)) {
            cure = tries[i].try(p, sem);
        }
    }
    return cure;
}

/* --- between cores --- */

/* The hart tells another core of what has not ended. */
static struct cure with_drain(struct patient *p)
{
    struct sim_edit edit = edit_of(p, SEM_COUNT);

    edit.drain = true;
    return cures(p, &edit) ? (struct cure){.how = CURE_DRAIN} : nothing;
}

/* All cores meet between the two commands. */
static struct cure with_barrier(struct patient *p)
{
    struct sim_edit edit = edit_of(p, 0);

    edit.barrier = true;
    edit.post_at[edit.n_post_at++] = place(p->from);
    edit.take_at[edit.n_take_at++] = place(p->to);
    return sim_free_sem(p->s, SEM_CORE, &edit.sem) && sim_free_sem(p->s, 0, &edit.go) &&
                   cures(p, &edit)
               ? (struct cure){.how = CURE_BARRIER}
               : nothing;
}

/* --- a semaphore of its own --- */

/* Whether one core alone does the first, and one alone the second. */
static bool is_one_way(const struct patient *p)
{
    uint32_t from = sim_cores(p->s, place(p->from)), to = sim_cores(p->s, place(p->to));

    return !(from & (from - 1)) && !(to & (to - 1));
}

/* As many units at first as can be: the hand-over is then as loose as it may be. */
static struct cure with_pair(struct patient *p)
{
    struct cure cure = {.how = CURE_PAIR};
    struct sim_edit edit = edit_of(p, 0);

    if (is_across(p) && !is_one_way(p)) {
        return with_barrier(p);
    }
    if (!sim_free_sem(p->s, p->first_sem, &edit.sem)) {
        return nothing;
    }
    edit.post_at[edit.n_post_at++] = place(p->from);
    edit.take_at[edit.n_take_at++] = place(p->to);
    for (cure.units = is_across(p) ? 1 : UNITS_MOST + 1; cure.units-- > 0;) {
        edit.first = cure.units;
        if (cures(p, &edit)) {
            return cure;
        }
    }
    if (is_across(p)) {
        return nothing;
    }
    edit.first = cure.units = 0;
    edit.some = cure.some = true;
    return cures(p, &edit) ? cure : nothing;
}

/* Whether a core's commands of place b come first, of one whose commands are of both. */
static bool is_second_first(const struct segment *s, uint64_t a, uint64_t b)
{
    uint32_t of_a = 0, of_b = 0;

    for (uint32_t i = 0; i < s->n_cmds; i++) {
        uint32_t core = 1u << s->cmd[i].core;
        of_a |= tape_place(&s->cmd[i]) == a ? core : 0;
        of_b |= tape_place(&s->cmd[i]) == b ? core : 0;
        if (of_a & of_b) {
            return tape_place(&s->cmd[i]) == a;
        }
    }
    return false;
}

/* In which order the program means two commands: that of a task, that of a core which does
 * both, or that of the run. */
static bool is_turned(const struct patient *p, const struct record *a,
                      const struct record *b)
{
    return is_across(p) ? is_second_first(p->s, place(a), place(b))
                        : a->site.task == b->site.task && a->site.pushed > b->site.pushed;
}

static const struct segment *first_segment(const struct findings *f, uint32_t finding)
{
    uint32_t i = 0;

    while (i < f->n_instances && f->instance[i].finding != finding) {
        i++;
    }
    return i < f->n_instances ? &f->tape.segment[f->instance[i].segment] : NULL;
}

/* Two commands of one place are what each core does: nothing has to come first. And where the
 * record is not of that order in which they raced, nothing can be told from it. */
static bool is_treated(struct patient *p, const struct finding *x)
{
    const struct sim_edit none = {.sem = SEM_COUNT};

    return p->s && !p->s->broken && x->a.site.opcode && x->b.site.opcode &&
           (is_across(p) ? place(&x->a) != place(&x->b)
                         : pipe_of(&x->a) != pipe_of(&x->b)) &&
           !cures(p, &none);
}

/* The i-th thing that may be wrong. */
static struct cure with(struct patient *p, unsigned i)
{
    const unsigned n = sizeof(tries) / sizeof(tries[0]);

    if (i < n) {
        return with_any(p, i);
    }
    return i > n ? with_pair(p) : is_across(p) ? with_drain(p) : nothing;
}

struct cure cure_of(const struct findings *f, uint32_t finding, const struct race *r,
                    uint64_t *work)
{
    const unsigned ways = sizeof(tries) / sizeof(tries[0]) + 2;
    const struct finding *x = &f->finding[finding];
    struct patient p = {.f = f,
                        .r = r,
                        .finding = finding,
                        .first_sem = core_of(&x->a) != core_of(&x->b) ? SEM_CORE : 0,
                        .s = first_segment(f, finding),
                        .work = work};
    struct cure cure = nothing;
    bool turned;

    if (!is_treated(&p, x)) {
        return nothing;
    }
    turned = is_turned(&p, &x->a, &x->b);
    for (unsigned i = 0; i < 2 * ways && cure.how == CURE_NONE; i++) {
        p.from = turned ? &x->b : &x->a;
        p.to = turned ? &x->a : &x->b;
        cure = with(&p, i / 2);
        cure.turned = turned;
        turned = !turned;
    }
    return cure;
}
