/* SPDX-License-Identifier: MIT
 *
 * A segment once more; see sim.h. The hart's steps come in the order in which they are on
 * the tape, which is one that a scheduler may choose, and each waits for what it needs;
 * commands begin and end as soon as they may, and before the hart, which sees of a semaphore
 * what they leave. What orders them is the race check's matter.
 */
#include "tools/emu/check/cure/sim.h"

#include "tools/emu/check/race/agent.h"
#include "tools/emu/check/cure/edit.h"

static void post(struct sim *m, unsigned core, unsigned who, unsigned sem, unsigned count)
{
    unsigned *value = value_of(m, core, sem);

    *value += count;
    m->overflow |= *value > SEM_MAX;
    race_post(m->race, core, who, sem, count);
}

static void take(struct sim *m, unsigned core, unsigned who, unsigned sem, unsigned count)
{
    *value_of(m, core, sem) -= count;
    race_take(m->race, core, who, sem, count);
}

/* By the hart, less what the edit leaves out. */
static void hart_posts(struct sim *m, unsigned core, unsigned sem, unsigned count)
{
    unsigned owner = owner_of(core, sem),
             less = sem == m->edit->sem ? m->fewer[owner] : 0;

    less = less < count ? less : count;
    m->fewer[owner] -= less;
    m->by_hart[owner] += sem == m->edit->sem ? count - less : 0;
    if (count > less) {
        post(m, core, RACE_HART, sem, count - less);
    }
}

/* Before it tells another core it waits for its own, if the edit says so. */
static bool hart_tells(struct sim *m, const struct tape_step *x)
{
    if (m->edit->drain && x->sem >= SEM_CORE) {
        if (m->queue[x->core][m->edit->pipe_post].count) {
            return false;
        }
        race_drained(m->race, x->core, m->edit->pipe_post);
    }
    hart_posts(m, x->core, x->sem, x->count);
    return true;
}

/* By the hart, less what was not posted or is taken by commands with the edit. */
static bool hart_takes(struct sim *m, unsigned core, unsigned sem, unsigned count)
{
    unsigned owner = owner_of(core, sem), less = sem == m->edit->sem ? m->less[owner] : 0;

    less = less < count ? less : count;
    if (*value_of(m, core, sem) < count - less) {
        return false;
    }
    m->less[owner] -= less;
    m->taken[owner] += sem == m->edit->sem ? count - less : 0;
    if (count > less) {
        take(m, core, RACE_HART, sem, count - less);
    }
    return true;
}

/* --- commands --- */

static bool has(struct sim *m, unsigned core, const struct moves *moves)
{
    for (unsigned i = 0; i < MOVES; i++) {
        unsigned need = moves->n[i];
        for (unsigned k = 0; k < i; k++) {
            need += moves->sem[k] == moves->sem[i] ? moves->n[k] : 0;
        }
        if (moves->n[i] && *value_of(m, core, moves->sem[i]) < need) {
            return false;
        }
    }
    return true;
}

/* An Mmad needs units without a mark, the fixpipe such with one. */
static bool units_ready(const struct sim *m, const struct tape_cmd *c)
{
    const uint64_t *want = m->s->units[c->units - 1], *mark = m->mark[c->core];

    for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
        if (want[w] & (c->pipe == PIPE_M ? mark[w] : ~mark[w])) {
            return false;
        }
    }
    return true;
}

/* Waits for its units and hands them on; the clocks of a fixpipe when it has ended. */
static void units(struct sim *m, const struct tape_cmd *c, bool ended)
{
    const uint64_t *set = m->s->units[c->units - 1];

    if (!ended) {
        race_units_wait(m->race, c->core, c->pipe, set);
    }
    if (c->unit == UNIT_PASS && ended == (c->pipe == PIPE_FIX)) {
        race_units_pass(m->race, c->core, c->pipe, set);
        for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
            m->mark[c->core][w] =
                ended ? m->mark[c->core][w] & ~set[w] : m->mark[c->core][w] | set[w];
        }
    }
}

/* Instances of which this command is one side and knows of the other. */
static void look(struct sim *m, const struct tape_cmd *c)
{
    const struct clock *clock = m->race->agent[c->core][c->pipe].clock;
    uint32_t number = m->race->agent[c->core][c->pipe].serial;
    unsigned lane = lane_of(c->core, c->pipe);

    for (uint32_t i = 0; i < m->n_instances; i++) {
        const struct instance *x = m->instance[i];
        if (edit_is_side(m, lane, number, x->lane_a, x->serial_a)) {
            m->ordered +=
                clock->lane[x->lane_b] >= x->serial_b - edit_base(m->s, x->lane_b);
        } else if (edit_is_side(m, lane, number, x->lane_b, x->serial_b)) {
            m->ordered +=
                clock->lane[x->lane_a] >= x->serial_a - edit_base(m->s, x->lane_a);
        }
    }
}

static bool run_head(struct sim *m, unsigned core, unsigned pipe)
{
    uint32_t at = m->queue[core][pipe].cmd[m->queue[core][pipe].head % PIPE_DEPTH];
    const struct tape_cmd *c = &m->s->cmd[at];
    uint32_t number = m->race->agent[core][pipe].serial + 1;
    struct moves takes = edit_takes(m, c, number), posts = edit_posts(m, c, number);

    if (!has(m, core, &takes) || (c->units && !units_ready(m, c))) {
        return false;
    }
    for (unsigned i = 0; i < MOVES; i++) {
        if (takes.n[i]) {
            unsigned owner = owner_of(core, takes.sem[i]);
            m->taken[owner] += takes.sem[i] == m->edit->sem ? takes.n[i] : 0;
            m->less[owner] += i == 2 && m->edit->more ? takes.n[i] : 0;
            take(m, core, pipe, takes.sem[i], takes.n[i]);
        }
    }
    race_begin(m->race, core, pipe, 0);
    if (c->units) {
        units(m, c, false);
    }
    race_end(m->race, core, pipe, 0);
    look(m, c);
    if (c->units) {
        units(m, c, true);
    }
    for (unsigned i = 0; i < MOVES; i++) {
        if (posts.n[i]) {
            post(m, core, pipe, posts.sem[i], posts.n[i]);
        }
    }
    m->queue[core][pipe].head++;
    m->queue[core][pipe].count--;
    m->queued[core]--;
    m->left--;
    return true;
}

static bool run_heads(struct sim *m)
{
    bool moved = false;

    for (unsigned c = 0; c < race_cores(m->race); c++) {
        for (unsigned p = 0; m->queued[c] && p < NPU_PIPES; p++) {
            while (m->queue[c][p].count && run_head(m, c, p)) {
                moved = true;
            }
        }
    }
    return moved;
}

/* --- barrier units --- */

/* What the unit does next: a take that it cannot do yet stops it. */
static bool run_barrier(struct sim *m, unsigned unit)
{
    bool moved = false;

    for (; m->barrier[unit] < m->s->n_steps; m->barrier[unit]++) {
        const struct tape_step *x = &m->s->step[m->barrier[unit]];
        if ((x->what != TAPE_TAKE && x->what != TAPE_POST) || x->by != unit) {
            continue;
        }
        if (x->what == TAPE_POST) {
            post(m, x->core, RACE_BARRIER, x->sem, x->count);
        } else if (*value_of(m, x->core, x->sem) < x->count) {
            return moved;
        } else {
            take(m, x->core, RACE_BARRIER, x->sem, x->count);
        }
        moved = true;
    }
    return moved;
}

/* That of the edit. */
static bool run_added(struct sim *m)
{
    const struct sim_edit *e = m->edit;

    if (!e->barrier || !m->arrive || *value_of(m, 0, e->sem) < m->arrive) {
        return false;
    }
    take(m, 0, RACE_BARRIER, e->sem, m->arrive);
    for (unsigned c = 0; c < race_cores(m->race); c++) {
        if (m->go >> c & 1) {
            post(m, c, RACE_BARRIER, e->go, 1);
        }
    }
    return true;
}

/* --- the hart --- */

static bool drained(const struct sim *m, const struct tape_step *x)
{
    for (unsigned c = 0; c < race_cores(m->race); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if ((x->core == NPU_CHIP || (x->core == c && x->pipe == p)) &&
                m->queue[c][p].count) {
                return false;
            }
        }
    }
    for (unsigned c = 0; c < race_cores(m->race); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (x->core == NPU_CHIP || (x->core == c && x->pipe == p)) {
                race_drained(m->race, c, p);
            }
        }
    }
    return true;
}

static bool push(struct sim *m, uint32_t at)
{
    const struct tape_cmd *c = &m->s->cmd[at];
    const struct race_site site = {.opcode = 1};
    unsigned head = m->queue[c->core][c->pipe].head,
             *n = &m->queue[c->core][c->pipe].count;

    if (*n == PIPE_DEPTH) {
        return false;
    }
    m->queue[c->core][c->pipe].cmd[(head + (*n)++) % PIPE_DEPTH] = at;
    m->queued[c->core]++;
    race_push(m->race, c->core, c->pipe, &site);
    return true;
}

static bool run_step(struct sim *m)
{
    const struct tape_step *x = &m->s->step[m->step];

    switch (x->what) {
    case TAPE_PUSH:
        return push(m, x->arg);
    case TAPE_TASK:
        race_task(m->race, x->arg);
        return true;
    case TAPE_DRAIN:
        return drained(m, x);
    case TAPE_POST:
        return x->by != TAPE_HART || hart_tells(m, x);
    default:
        return x->by != TAPE_HART || hart_takes(m, x->core, x->sem, x->count);
    }
}

/* --- all of it --- */

static void set_up(struct sim *m)
{
    race_task(m->race, m->s->task);
    for (unsigned c = 0; c < OWNERS; c++) {
        m->fewer[c] = m->less[c] = m->edit->fewer;
    }
    for (unsigned c = 0; c < NPU_MAX_CORES + 1; c++) {
        unsigned core = c == NPU_CHIP ? 0 : c, from = c == NPU_CHIP ? SEM_CORE : 0;
        for (unsigned i = 0; i < SEM_CORE && (c == NPU_CHIP || c < race_cores(m->race));
             i++) {
            if (m->s->value[c][i]) {
                hart_posts(m, core, from + i, m->s->value[c][i]);
            }
        }
    }
    for (unsigned c = 0; c < race_cores(m->race) && m->edit->first; c++) {
        post(m, c, RACE_HART, m->edit->sem, m->edit->first);
    }
    m->left = m->s->n_cmds;
    if (m->edit->barrier) {
        uint32_t arrive = sim_cores(m->s, m->edit->post_at[0]);
        m->go = sim_cores(m->s, m->edit->take_at[0]);
        for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
            m->arrive += arrive >> c & 1;
        }
    }
}

static void run(struct sim *m)
{
    bool moved = true;

    while (moved && !m->overflow) {
        moved = run_heads(m) | run_added(m);
        for (unsigned u = 0; u < BARRIERS; u++) {
            moved |= run_barrier(m, u);
        }
        if (!moved && m->step < m->s->n_steps && run_step(m)) {
            m->step++;
            moved = true;
        }
    }
}

static void nothing(void *ctx, const struct race_mixed *m)
{
    (void)ctx, (void)m;
}

bool sim_orders(const struct findings *f, uint32_t finding, uint32_t segment,
                const struct race *r, const struct sim_edit *edit)
{
    const struct race_report report = {.mixed = nothing};
    struct race_config config = r->config;
    struct sim *m = f->host->alloc(f->host->ctx, sizeof(*m));
    bool good;

    config.gm_bytes = 0; /* nothing is touched */
    m->s = &f->tape.segment[segment];
    m->edit = edit;
    for (uint32_t i = 0; i < f->n_instances && m->n_instances < INSTANCES_MOST; i++) {
        if (f->instance[i].finding == finding && f->instance[i].segment == segment) {
            m->instance[m->n_instances++] = &f->instance[i];
        }
    }
    m->race = race_new(f->host, &config, &report);
    set_up(m);
    run(m);
    good = !m->overflow && m->left == 0 && m->step == m->s->n_steps &&
           m->ordered == m->n_instances;
    race_free(m->race);
    f->host->free(f->host->ctx, m, sizeof(*m));
    return good;
}

bool sim_free_sem(const struct segment *s, unsigned first, unsigned *sem)
{
    bool used[SEM_COUNT] = {false};

    for (uint32_t i = 0; i < s->n_cmds; i++) {
        for (unsigned k = 0; k < 2; k++) {
            used[s->cmd[i].wait_sem[k] % SEM_COUNT] |= s->cmd[i].wait_n[k] != 0;
            used[s->cmd[i].post_sem[k] % SEM_COUNT] |= s->cmd[i].post_n[k] != 0;
        }
    }
    for (uint32_t i = 0; i < s->n_steps; i++) {
        used[s->step[i].sem % SEM_COUNT] |= s->step[i].count != 0;
    }
    for (*sem = first; *sem < first + SEM_CORE && used[*sem]; ++*sem) {
    }
    return *sem < first + SEM_CORE;
}

uint32_t sim_cores(const struct segment *s, uint64_t place)
{
    uint32_t cores = 0;

    for (uint32_t i = 0; i < s->n_cmds; i++) {
        cores |= (uint32_t)(tape_place(&s->cmd[i]) == place) << s->cmd[i].core;
    }
    return cores;
}
