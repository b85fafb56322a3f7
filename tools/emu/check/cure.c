/* SPDX-License-Identifier: MIT
 *
 * What a race lacks; see cure.h. What may be added, sim.c tries.
 */
#include "tools/emu/check/cure.h"

#include "tools/emu/check/agent.h"
#include "tools/emu/check/sim.h"

enum { FIRST_MOST = 8, WORK_MOST = 20 << 20 };

/* A finding of two engines of one core, and what is tried for it. */
struct patient {
    const struct findings *f;
    const struct race *r;
    uint32_t finding;
    unsigned core;
    uint64_t work; /* steps that were gone through */
};

static uint64_t place(const struct record *x)
{
    return race_place(x->site.pc, x->site.caller);
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
        p->work += s->n_steps;
        if (s->broken || p->work > WORK_MOST ||
            !sim_orders(f, p->finding, last, p->r, edit)) {
            return false;
        }
    }
    return last != UINT32_MAX;
}

/* Commands of a place that a segment has, on the core. */
static unsigned count(const struct patient *p, const struct segment *s, uint64_t at)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < s->n_cmds; i++) {
        n += tape_place(&s->cmd[i]) == at && s->cmd[i].core == p->core;
    }
    return n;
}

static const struct segment *first_segment(const struct patient *p)
{
    uint32_t i = 0;

    while (i < p->f->n_instances && p->f->instance[i].finding != p->finding) {
        i++;
    }
    return i < p->f->n_instances ? &p->f->tape.segment[p->f->instance[i].segment] : NULL;
}

/* --- semaphores that are there --- */

static bool moves(const uint8_t *sem, const uint8_t *n, unsigned which)
{
    return (sem[0] == which && n[0]) || (sem[1] == which && n[1]);
}

/* A command of the pipe that posts or takes, of another place than `except`; NULL: none. */
static const struct tape_cmd *who_moves(const struct patient *p, const struct segment *s,
                                        unsigned pipe, unsigned sem, bool post,
                                        uint64_t except)
{
    for (uint32_t i = 0; i < s->n_cmds; i++) {
        const struct tape_cmd *c = &s->cmd[i];
        if (c->core == p->core && c->pipe == pipe && tape_place(c) != except &&
            moves(post ? c->post_sem : c->wait_sem, post ? c->post_n : c->wait_n, sem)) {
            return c;
        }
    }
    return NULL;
}

/* Whether the segment's commands or the hart take a semaphore anywhere. */
static bool is_taken(const struct segment *s, unsigned core, unsigned sem)
{
    for (uint32_t i = 0; i < s->n_cmds; i++) {
        const struct tape_cmd *c = &s->cmd[i];
        if (c->core == core && moves(c->wait_sem, c->wait_n, sem)) {
            return true;
        }
    }
    return false;
}

static struct cure with_semaphore(struct patient *p, const struct segment *s,
                                  const struct record *from, const struct record *to,
                                  unsigned sem)
{
    struct sim_edit edit = {
        .sem = sem, .pipe_post = pipe_of(from), .pipe_take = pipe_of(to)};
    bool posts = who_moves(p, s, pipe_of(from), sem, true, 0);
    bool takes = who_moves(p, s, pipe_of(to), sem, false, 0);
    struct cure cure = {.sem = sem, .n_post = 1, .n_take = 1};

    if (posts && !is_taken(s, p->core, sem)) {
        edit.take_at = place(to);
        edit.n_take = 1;
        cure.how = cures(p, &edit) ? CURE_TAKE : CURE_NONE;
        return cure;
    }
    cure.other =
        posts && takes ? who_moves(p, s, pipe_of(from), sem, true, place(from)) : NULL;
    if (cure.other) {
        edit.move_post = true;
        edit.post_at = place(from);
        edit.n_post = 1;
        cure.how = cures(p, &edit) ? CURE_POST : CURE_NONE;
    }
    if (posts && takes && cure.how == CURE_NONE) {
        cure.other = who_moves(p, s, pipe_of(to), sem, false, place(to));
        edit = (struct sim_edit){.sem = sem,
                                 .pipe_post = pipe_of(from),
                                 .pipe_take = pipe_of(to),
                                 .move_take = true,
                                 .take_at = place(to),
                                 .n_take = 1};
        cure.how = cure.other && cures(p, &edit) ? CURE_EARLY : CURE_NONE;
    }
    return cure;
}

static struct cure with_any(struct patient *p, const struct segment *s,
                            const struct record *from, const struct record *to)
{
    struct cure cure = {.how = CURE_NONE};

    for (unsigned sem = 0; sem < SEM_CORE && cure.how == CURE_NONE; sem++) {
        cure = with_semaphore(p, s, from, to, sem);
    }
    return cure;
}

/* --- a semaphore of its own --- */

/* As many units at first as can be: the hand-over is then as loose as it may be. */
static struct cure with_pair(struct patient *p, const struct segment *s,
                             const struct record *from, const struct record *to)
{
    unsigned posts = count(p, s, place(from)), takes = count(p, s, place(to));
    unsigned n_take = takes && posts > takes && posts % takes == 0 ? posts / takes : 1;
    unsigned n_post = posts && takes > posts && takes % posts == 0 ? takes / posts : 1;
    struct sim_edit edit = {.post_at = place(from),
                            .take_at = place(to),
                            .pipe_post = pipe_of(from),
                            .pipe_take = pipe_of(to),
                            .n_post = n_post,
                            .n_take = n_take};

    if (n_post > SEM_MAX || n_take > SEM_MAX || !sim_free_sem(s, &edit.sem)) {
        return (struct cure){.how = CURE_NONE};
    }
    for (int k = FIRST_MOST; k >= 0; k--) {
        edit.first = (unsigned)k * n_take;
        if (edit.first <= SEM_MAX && cures(p, &edit)) {
            return (struct cure){.how = CURE_PAIR,
                                 .first = edit.first,
                                 .n_post = n_post,
                                 .n_take = n_take};
        }
    }
    return (struct cure){.how = CURE_NONE};
}

/* In which order the program means two commands: that of a task, or that of the run. */
static bool is_turned(const struct record *a, const struct record *b)
{
    return a->site.task == b->site.task && a->site.pushed > b->site.pushed;
}

struct cure cure_of(const struct findings *f, uint32_t finding, const struct race *r)
{
    const struct finding *x = &f->finding[finding];
    struct patient p = {
        .f = f, .r = r, .finding = finding, .core = x->a.lane / NPU_PIPES};
    bool turned = is_turned(&x->a, &x->b);
    const struct segment *s = first_segment(&p);
    struct cure cure = {.how = CURE_NONE};

    if (!s || s->broken || !x->a.site.opcode || !x->b.site.opcode ||
        p.core != x->b.lane / NPU_PIPES || pipe_of(&x->a) == pipe_of(&x->b) ||
        place(&x->a) == place(&x->b)) {
        return cure;
    }
    for (unsigned i = 0; i < 4 && cure.how == CURE_NONE; i++) {
        const struct record *from = turned ? &x->b : &x->a, *to = turned ? &x->a : &x->b;
        cure = i < 2 ? with_any(&p, s, from, to) : with_pair(&p, s, from, to);
        cure.turned = turned;
        turned = !turned;
    }
    return cure;
}
