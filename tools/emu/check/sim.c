/* SPDX-License-Identifier: MIT
 *
 * A segment once more; see sim.h. The hart's steps come in the order in which they are on
 * the tape, which is one that a scheduler may choose, and each waits for what it needs;
 * commands begin and end as soon as they may. What orders them is the race check's matter.
 */
#include "tools/emu/check/sim.h"

#include "tools/emu/check/agent.h"

enum { BARRIERS = ROW_CHIP_BARRIER, MOVES = 3 };

struct sim {
    const struct segment *s;
    const struct sim_edit *edit;
    struct race *race;
    const struct findings *f;
    uint32_t finding, segment;
    uint32_t step;              /* of the hart */
    uint32_t barrier[BARRIERS]; /* the step that each barrier unit looks at */
    unsigned value[NPU_MAX_CORES + 1][SEM_CORE];
    uint64_t mark[NPU_MAX_CORES][ROW_UNIT_MARK];
    struct {
        uint32_t cmd[PIPE_DEPTH];
        unsigned head, count;
        uint32_t ended; /* how many */
    } queue[NPU_MAX_CORES][NPU_PIPES];
    uint32_t left, wanted, ordered; /* commands; instances */
    bool overflow;
};

static unsigned *value_of(struct sim *m, unsigned core, unsigned sem)
{
    return sem < SEM_CORE ? &m->value[core][sem]
                          : &m->value[NPU_CHIP][(sem - SEM_CORE) % SEM_CORE];
}

static void post(struct sim *m, unsigned core, unsigned who, unsigned sem, unsigned count)
{
    unsigned *value = value_of(m, core, sem);

    *value += count;
    m->overflow |= *value > SEM_MAX;
    race_post(m->race, core, who, sem, count);
}

/* --- commands --- */

struct moves {
    uint8_t sem[MOVES];
    unsigned n[MOVES];
};

static struct moves posts_of(const struct sim *m, const struct tape_cmd *c)
{
    const struct sim_edit *e = m->edit;
    struct moves moves = {{c->post_sem[0], c->post_sem[1], (uint8_t)e->sem},
                          {c->post_n[0], c->post_n[1], 0}};

    for (unsigned i = 0; i < 2 && e->move_post && c->pipe == e->pipe_post; i++) {
        moves.n[i] = moves.sem[i] == e->sem ? 0 : moves.n[i];
    }
    moves.n[2] = e->post_at && tape_place(c) == e->post_at && c->pipe == e->pipe_post
                     ? e->n_post
                     : 0;
    return moves;
}

static struct moves takes_of(const struct sim *m, const struct tape_cmd *c)
{
    const struct sim_edit *e = m->edit;
    struct moves moves = {{c->wait_sem[0], c->wait_sem[1], (uint8_t)e->sem},
                          {c->wait_n[0], c->wait_n[1], 0}};

    for (unsigned i = 0; i < 2 && e->move_take && c->pipe == e->pipe_take; i++) {
        moves.n[i] = moves.sem[i] == e->sem ? 0 : moves.n[i];
    }
    moves.n[2] = e->take_at && tape_place(c) == e->take_at && c->pipe == e->pipe_take
                     ? e->n_take
                     : 0;
    return moves;
}

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

static uint32_t base_of(const struct segment *s, unsigned lane)
{
    return s
        ->base[lane % NPU_PIPES == LANE_RESULTS ? lane - LANE_RESULTS + PIPE_M : lane];
}

/* Instances of which this command is one side and knows of the other. */
static void look(struct sim *m, const struct tape_cmd *c)
{
    const struct clock *clock = m->race->agent[c->core][c->pipe].clock;
    uint32_t serial = m->race->agent[c->core][c->pipe].serial;
    unsigned lane = lane_of(c->core, c->pipe);
    unsigned results = c->pipe == PIPE_M ? lane_of(c->core, LANE_RESULTS) : lane;

    for (uint32_t i = 0; i < m->f->n_instances; i++) {
        const struct instance *x = &m->f->instance[i];
        uint32_t a = x->serial_a - base_of(m->s, x->lane_a);
        uint32_t b = x->serial_b - base_of(m->s, x->lane_b);
        if (x->finding != m->finding || x->segment != m->segment) {
            continue;
        }
        if ((x->lane_a == lane || x->lane_a == results) && a == serial) {
            m->ordered += clock->lane[x->lane_b] >= b;
        } else if ((x->lane_b == lane || x->lane_b == results) && b == serial) {
            m->ordered += clock->lane[x->lane_a] >= a;
        }
    }
}

static bool run_head(struct sim *m, unsigned core, unsigned pipe)
{
    uint32_t at = m->queue[core][pipe].cmd[m->queue[core][pipe].head % PIPE_DEPTH];
    const struct tape_cmd *c = &m->s->cmd[at];
    struct moves takes = takes_of(m, c), posts = posts_of(m, c);

    if (!has(m, core, &takes) || (c->units && !units_ready(m, c))) {
        return false;
    }
    for (unsigned i = 0; i < MOVES; i++) {
        if (takes.n[i]) {
            *value_of(m, core, takes.sem[i]) -= takes.n[i];
            race_take(m->race, core, pipe, takes.sem[i], takes.n[i]);
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
    m->left--;
    return true;
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
            *value_of(m, x->core, x->sem) -= x->count;
            race_take(m->race, x->core, RACE_BARRIER, x->sem, x->count);
        }
        moved = true;
    }
    return moved;
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
        if (x->by == TAPE_HART) {
            post(m, x->core, RACE_HART, x->sem, x->count);
        }
        return true;
    default:
        if (x->by == TAPE_HART) {
            if (*value_of(m, x->core, x->sem) < x->count) {
                return false;
            }
            *value_of(m, x->core, x->sem) -= x->count;
            race_take(m->race, x->core, RACE_HART, x->sem, x->count);
        }
        return true;
    }
}

/* --- all of it --- */

static void set_up(struct sim *m)
{
    race_task(m->race, m->s->task);
    for (unsigned c = 0; c < NPU_MAX_CORES + 1; c++) {
        unsigned core = c == NPU_CHIP ? 0 : c, from = c == NPU_CHIP ? SEM_CORE : 0;
        for (unsigned i = 0; i < SEM_CORE && (c == NPU_CHIP || c < race_cores(m->race));
             i++) {
            if (m->s->value[c][i]) {
                post(m, core, RACE_HART, from + i, m->s->value[c][i]);
            }
        }
    }
    for (unsigned c = 0; c < race_cores(m->race) && m->edit->first; c++) {
        post(m, c, RACE_HART, m->edit->sem, m->edit->first);
    }
    m->left = m->s->n_cmds;
    for (uint32_t i = 0; i < m->f->n_instances; i++) {
        m->wanted += m->f->instance[i].finding == m->finding &&
                     m->f->instance[i].segment == m->segment;
    }
}

static void run(struct sim *m)
{
    bool moved = true;

    while (moved && !m->overflow) {
        moved = false;
        while (m->step < m->s->n_steps && run_step(m)) {
            m->step++;
            moved = true;
        }
        for (unsigned c = 0; c < race_cores(m->race); c++) {
            for (unsigned p = 0; p < NPU_PIPES; p++) {
                while (m->queue[c][p].count && run_head(m, c, p)) {
                    moved = true;
                }
            }
        }
        for (unsigned u = 0; u < BARRIERS; u++) {
            moved |= run_barrier(m, u);
        }
    }
}

static void nothing(void *ctx, unsigned core, unsigned sem, unsigned a, unsigned b)
{
    (void)ctx, (void)core, (void)sem, (void)a, (void)b;
}

bool sim_orders(const struct findings *f, uint32_t finding, uint32_t segment,
                const struct race *r, const struct sim_edit *edit)
{
    const struct race_report report = {.mixed = nothing};
    struct race_config config = r->config;
    struct sim *m = f->host->alloc(f->host->ctx, sizeof(*m));
    bool good;

    config.gm_bytes = 0; /* nothing is touched */
    *m = (struct sim){.s = &f->tape.segment[segment],
                      .edit = edit,
                      .f = f,
                      .finding = finding,
                      .segment = segment};
    m->race = race_new(f->host, &config, &report);
    set_up(m);
    run(m);
    good = !m->overflow && m->left == 0 && m->step == m->s->n_steps &&
           m->ordered == m->wanted;
    race_free(m->race);
    f->host->free(f->host->ctx, m, sizeof(*m));
    return good;
}

bool sim_free_sem(const struct segment *s, unsigned *sem)
{
    bool used[SEM_CORE] = {false};

    for (uint32_t i = 0; i < s->n_cmds; i++) {
        for (unsigned k = 0; k < 2; k++) {
            used[s->cmd[i].wait_sem[k] % SEM_CORE] |= s->cmd[i].wait_n[k] != 0;
            used[s->cmd[i].post_sem[k] % SEM_CORE] |= s->cmd[i].post_n[k] != 0;
        }
    }
    for (uint32_t i = 0; i < s->n_steps; i++) {
        used[s->step[i].sem % SEM_CORE] |= s->step[i].count != 0;
    }
    for (*sem = 0; *sem < SEM_CORE && used[*sem]; ++*sem) {
    }
    return *sem < SEM_CORE;
}
