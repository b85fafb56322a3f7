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
    const struct instance *instance[INSTANCES_MOST];
    uint32_t n_instances;
    uint32_t step;              /* of the hart */
    uint32_t barrier[BARRIERS]; /* the step that each barrier unit looks at */
    unsigned value[NPU_MAX_CORES + 1][SEM_CORE];
    uint64_t mark[NPU_MAX_CORES][ROW_UNIT_MARK];
    struct {
        uint32_t cmd[PIPE_DEPTH];
        unsigned head, count;
    } queue[NPU_MAX_CORES][NPU_PIPES];
    unsigned fewer[NPU_MAX_CORES]; /* units that are still left out */
    unsigned taken[NPU_MAX_CORES], by_hart[NPU_MAX_CORES]; /* of the edit's semaphore */
    uint32_t left, ordered;                                /* commands; instances */
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

/* By the hart, less what the edit leaves out. */
static void hart_posts(struct sim *m, unsigned core, unsigned sem, unsigned count)
{
    unsigned less = sem == m->edit->sem ? m->fewer[core] : 0;

    less = less < count ? less : count;
    m->fewer[core] -= less;
    m->by_hart[core] += sem == m->edit->sem ? count - less : 0;
    if (count > less) {
        post(m, core, RACE_HART, sem, count - less);
    }
}

static bool hart_takes(struct sim *m, unsigned core, unsigned sem, unsigned count)
{
    unsigned *value = value_of(m, core, sem);

    if (sem == m->edit->sem) {
        count -= m->edit->fewer < count ? m->edit->fewer : count;
    }
    if (*value < count) {
        return false;
    }
    *value -= count;
    m->taken[core] += sem == m->edit->sem ? count : 0;
    if (count) {
        race_take(m->race, core, RACE_HART, sem, count);
    }
    return true;
}

/* --- commands --- */

struct moves {
    uint8_t sem[MOVES];
    unsigned n[MOVES];
};

static uint32_t base_of(const struct segment *s, unsigned lane)
{
    return s
        ->base[lane % NPU_PIPES == LANE_RESULTS ? lane - LANE_RESULTS + PIPE_M : lane];
}

/* Whether an instance's side, `serial` in lane `of`, is command `number` of a pipe. */
static bool is_side(const struct sim *m, unsigned lane, uint32_t number, unsigned of,
                    uint32_t serial)
{
    bool results = lane % NPU_PIPES == PIPE_M && of == lane - PIPE_M + LANE_RESULTS;

    return (of == lane || results) && serial - base_of(m->s, of) == number;
}

/* The number of the last command of the edit's other pipe that is in an instance with
 * command `number` of a pipe; 0: it is in none. */
static uint32_t partner(const struct sim *m, unsigned lane, uint32_t number)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < m->n_instances; i++) {
        const struct instance *x = m->instance[i];
        uint32_t other = 0;
        if (is_side(m, lane, number, x->lane_a, x->serial_a)) {
            other = x->serial_b - base_of(m->s, x->lane_b);
        } else if (is_side(m, lane, number, x->lane_b, x->serial_b)) {
            other = x->serial_a - base_of(m->s, x->lane_a);
        }
        last = other > last ? other : last;
    }
    return last;
}

/* Whether the edit adds to command `number` of its pipe. */
static bool is_meant(const struct sim *m, const struct tape_cmd *c, uint32_t number,
                     const uint64_t *places, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (places[i] == tape_place(c)) {
            return !m->edit->some || partner(m, lane_of(c->core, c->pipe), number);
        }
    }
    return false;
}

static struct moves posts_of(const struct sim *m, const struct tape_cmd *c,
                             uint32_t number)
{
    const struct sim_edit *e = m->edit;
    struct moves moves = {{c->post_sem[0], c->post_sem[1], (uint8_t)e->sem},
                          {c->post_n[0], c->post_n[1], 0}};

    for (unsigned i = 0; i < 2 && c->pipe == e->pipe_post; i++) {
        if (moves.sem[i] == e->sem && moves.n[i]) {
            moves.n[i] = e->move_post ? 0 : e->one_post ? 1 : moves.n[i];
        }
    }
    moves.n[2] =
        c->pipe == e->pipe_post && is_meant(m, c, number, e->post_at, e->n_post_at);
    return moves;
}

/* Units of the edit's semaphore that its first pipe has posted when the first post at or
 * behind its command `number` has come. */
static unsigned posted_with(const struct sim *m, unsigned core, uint32_t number)
{
    unsigned n = 0;
    uint32_t k = 0;

    for (uint32_t i = 0; i < m->s->n_cmds; i++) {
        const struct tape_cmd *c = &m->s->cmd[i];
        if (c->core == core && c->pipe == m->edit->pipe_post) {
            struct moves moves = posts_of(m, c, ++k);
            unsigned was = n;
            for (unsigned p = 0; p < MOVES; p++) {
                n += moves.sem[p] == m->edit->sem ? moves.n[p] : 0;
            }
            if (k >= number && n > was) {
                break;
            }
        }
    }
    return n;
}

/* What a command wants beside what is on the tape. */
static unsigned added(const struct sim *m, const struct tape_cmd *c, uint32_t number)
{
    const struct sim_edit *e = m->edit;
    unsigned want;

    if (c->pipe != e->pipe_take || !is_meant(m, c, number, e->take_at, e->n_take_at)) {
        return 0;
    }
    if (!e->some) {
        return 1;
    }
    want = m->by_hart[c->core] +
           posted_with(m, c->core, partner(m, lane_of(c->core, c->pipe), number));
    return want > m->taken[c->core] ? want - m->taken[c->core] : 0;
}

static struct moves takes_of(const struct sim *m, const struct tape_cmd *c,
                             uint32_t number)
{
    const struct sim_edit *e = m->edit;
    struct moves moves = {{c->wait_sem[0], c->wait_sem[1], (uint8_t)e->sem},
                          {c->wait_n[0], c->wait_n[1], 0}};

    for (unsigned i = 0; i < 2 && e->move_take && c->pipe == e->pipe_take; i++) {
        moves.n[i] = moves.sem[i] == e->sem ? 0 : moves.n[i];
    }
    moves.n[2] = added(m, c, number);
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

/* Instances of which this command is one side and knows of the other. */
static void look(struct sim *m, const struct tape_cmd *c)
{
    const struct clock *clock = m->race->agent[c->core][c->pipe].clock;
    uint32_t number = m->race->agent[c->core][c->pipe].serial;
    unsigned lane = lane_of(c->core, c->pipe);

    for (uint32_t i = 0; i < m->n_instances; i++) {
        const struct instance *x = m->instance[i];
        if (is_side(m, lane, number, x->lane_a, x->serial_a)) {
            m->ordered +=
                clock->lane[x->lane_b] >= x->serial_b - base_of(m->s, x->lane_b);
        } else if (is_side(m, lane, number, x->lane_b, x->serial_b)) {
            m->ordered +=
                clock->lane[x->lane_a] >= x->serial_a - base_of(m->s, x->lane_a);
        }
    }
}

static bool run_head(struct sim *m, unsigned core, unsigned pipe)
{
    uint32_t at = m->queue[core][pipe].cmd[m->queue[core][pipe].head % PIPE_DEPTH];
    const struct tape_cmd *c = &m->s->cmd[at];
    uint32_t number = m->race->agent[core][pipe].serial + 1;
    struct moves takes = takes_of(m, c, number), posts = posts_of(m, c, number);

    if (!has(m, core, &takes) || (c->units && !units_ready(m, c))) {
        return false;
    }
    for (unsigned i = 0; i < MOVES; i++) {
        if (takes.n[i]) {
            *value_of(m, core, takes.sem[i]) -= takes.n[i];
            m->taken[core] += takes.sem[i] == m->edit->sem ? takes.n[i] : 0;
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
            hart_posts(m, x->core, x->sem, x->count);
        }
        return true;
    default:
        return x->by != TAPE_HART || hart_takes(m, x->core, x->sem, x->count);
    }
}

/* --- all of it --- */

static void set_up(struct sim *m)
{
    race_task(m->race, m->s->task);
    for (unsigned c = 0; c < race_cores(m->race); c++) {
        m->fewer[c] = m->edit->fewer;
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
