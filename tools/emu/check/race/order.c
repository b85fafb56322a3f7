/* SPDX-License-Identifier: MIT
 *
 * What orders commands and the hart: pushes, semaphores, units of L0C, drains, resets.
 */
#include "tools/emu/check/race/agent.h"
#include "tools/emu/check/race/edge.h"

static const uint16_t NOBODY = UINT16_MAX; /* posts of a barrier unit: no lane's */

/* The clock, to be changed: a copy of its own if somebody else has it too. */
static struct clock *own(struct race *r, struct clock **clock)
{
    if ((*clock)->refs > 1) {
        struct clock *copy = clock_copy(&r->clocks, *clock);
        clock_put(&r->clocks, *clock);
        *clock = copy;
    }
    return *clock;
}

static void learn(struct race *r, struct clock *to, const struct stamp *from)
{
    clock_join(&r->clocks, to, from->clock);
    if (HOLDS(STORED)) {
        clock_reach(to, LANE_HART, from->hart);
    }
}

/* --- the hart --- */

/* Whether it knows of all that has ended. */
static bool is_behind(const struct race *r)
{
    for (unsigned c = 0; c < r->config.cores; c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (r->all->lane[lane_of(c, p)] < r->agent[c][p].ended) {
                return true;
            }
        }
    }
    return false;
}

bool race_settled(const struct race *r)
{
    bool settled = !race_hart_matters(r);

    for (unsigned c = 0; settled && r->task && c < r->config.cores; c++) {
        settled =
            r->hart[c] == r->all || !memcmp(r->hart[c]->lane, r->all->lane,
                                            r->clocks.lanes * sizeof(r->all->lane[0]));
    }
    return settled;
}

static void hart_learns(struct race *r, unsigned core, const struct clock *from)
{
    clock_join(&r->clocks, own(r, &r->all), from);
    if (r->task) {
        clock_join(&r->clocks, own(r, &r->hart[core]), from);
    }
    r->behind = r->queued || is_behind(r);
}

/* What the hart hands on, by a push or a post through a core's page. */
static struct stamp hart_stamp(struct race *r, unsigned core)
{
    bool alone = HOLDS(SCALARS) && (r->task || !HOLDS(OUTSIDE));
    struct stamp stamp = {clock_get(alone ? r->hart[core] : r->all), r->hart_serial};

    r->hart_told = true;
    return stamp;
}

void race_task(struct race *r, uint64_t name)
{
    if (name && !r->task && HOLDS(LAUNCH)) {
        for (unsigned c = 0; c < r->config.cores; c++) {
            clock_put(&r->clocks, r->hart[c]);
            r->hart[c] = clock_get(r->all);
        }
    }
    if (!name && r->task && !race_hart_matters(r) && HOLDS(LAUNCH)) {
        shadow_clear(&r->shadow);
        memset(r->cache, 0, sizeof(r->cache));
    }
    r->task = name;
}

void race_push(struct race *r, unsigned core, unsigned pipe, const struct race_site *site)
{
    struct agent *a = &r->agent[core][pipe];

    if (a->count < PIPE_DEPTH) {
        struct slot *slot = &a->slot[(a->head + a->count++) % PIPE_DEPTH];
        slot->site = *site;
        slot->site.task = r->task;
        slot->site.pushed = ++r->pushes;
        slot->from = hart_stamp(r, core);
        r->queued++;
    }
}

void race_drained(struct race *r, unsigned core, unsigned pipe)
{
    if (HOLDS(DRAINED)) {
        hart_learns(r, core, r->agent[core][pipe].clock);
    }
}

/* --- semaphores --- */

static struct fifo *fifo_of(struct race *r, unsigned core, unsigned sem)
{
    struct fifo *f =
        sem < SEM_CORE ? &r->sem[core][sem] : &r->sem[NPU_MAX_CORES][sem - SEM_CORE];

    if (!f->unit) {
        f->unit = arena_alloc(&r->arena, (SEM_MAX + 1) * sizeof(*f->unit));
        f->last = arena_alloc(&r->arena, sizeof(*f->last));
    }
    return f;
}

static struct unit *unit_at(const struct fifo *f, unsigned i)
{
    return &f->unit[(f->head + i) % (SEM_MAX + 1)];
}

/* Whether who learns from the stamp knows of `serial` in `lane`. */
static bool tells_of(const struct stamp *s, unsigned lane, uint32_t serial)
{
    return s->clock->lane[lane] >= serial || (lane == LANE_HART && s->hart >= serial);
}

/* Tells, once, if unit u could as well have come before the one that was taken last: its
 * poster did not know of that, so another timing may hand it to whoever took the other. */
static void look_for_mixed(struct race *r, unsigned core, unsigned sem, struct fifo *f,
                           const struct unit *u)
{
    if (u->lane != f->taken_lane && u->lane != NOBODY &&
        !tells_of(&u->stamp, f->taken_lane, f->taken)) {
        f->told = true;
        r->report.mixed(r->report.ctx, &(struct race_mixed){.core = core,
                                                            .sem = sem,
                                                            .lane_a = f->taken_lane,
                                                            .lane_b = u->lane});
    }
}

static void drop_first(struct race *r, struct fifo *f)
{
    clock_put(&r->clocks, unit_at(f, 0)->stamp.clock);
    f->head++;
    f->n--;
}

/* The oldest units of a semaphore leave; whoever takes them learns what came with them. */
static void take(struct race *r, unsigned core, unsigned sem, unsigned count,
                 struct clock *to)
{
    struct fifo *f = fifo_of(r, core, sem);

    while (count && f->n) {
        struct unit *u = unit_at(f, 0), newest = *unit_at(f, f->n - 1);
        if (!HOLDS(OLDEST)) {
            *unit_at(f, f->n - 1) = *u;
            *u = newest;
        }
        unsigned n = u->count < count ? u->count : count;
        learn(r, to, &u->stamp);
        if (u->lane != NOBODY) {
            f->taken = u->serial;
            f->taken_lane = u->lane;
        }
        u->count = (uint8_t)(u->count - n);
        count -= n;
        if (u->count == 0) {
            drop_first(r, f);
        }
    }
    for (unsigned i = 0; i < f->n && !f->told && f->taken; i++) {
        look_for_mixed(r, core, sem, f, unit_at(f, i));
    }
}

/* --- who takes --- */

/* Whether of units that are taken some come from another post than the last that were. */
static bool are_others(const struct fifo *f, unsigned count)
{
    for (unsigned i = 0, n = 0; i < f->n && n < count; n += unit_at(f, i++)->count) {
        const struct unit *u = unit_at(f, i);
        if (u->lane != NOBODY && (u->lane != f->taken_lane || u->serial != f->taken)) {
            return true;
        }
    }
    return false;
}

/* Whether a command learns of something by its push, or by what it takes beside. */
static bool comes_with(struct race *r, const struct race_want *w, const struct taker *of)
{
    const struct agent *a = &r->agent[w->core][w->who];
    struct fifo *f = fifo_of(r, w->core, w->beside);
    bool known = a->clock->lane[of->lane] >= of->serial ||
                 (a->count && tells_of(&a->slot[a->head].from, of->lane, of->serial));

    for (unsigned i = 0, n = 0; !known && i < f->n && n < w->n_beside;
         n += unit_at(f, i++)->count) {
        known = tells_of(&unit_at(f, i)->stamp, of->lane, of->serial);
    }
    return known;
}

static bool is_known(struct race *r, const struct race_want *w, const struct taker *of)
{
    const struct clock *hart = r->task ? r->hart[w->core] : r->all;

    return w->who < NPU_PIPES ? comes_with(r, w, of) : hart->lane[of->lane] >= of->serial;
}

static struct taker taker_of(struct race *r, const struct race_want *w,
                             const struct taker *last)
{
    const struct agent *a = &r->agent[w->core][w->who % NPU_PIPES];
    const struct race_site *lack = &last->lack[last->lack[0].pc == w->pc];

    if (w->who < NPU_PIPES) {
        return (struct taker){.site = a->slot[a->head].site,
                              .serial = a->serial + 1,
                              .lane = (uint16_t)lane_of(w->core, w->who)};
    }
    r->hart_serial++;
    return (struct taker){
        .site = lack->pc
                    ? *lack
                    : (struct race_site){.pc = w->pc, .caller = w->ra, .task = r->task},
        .serial = r->hart_serial,
        .lane = LANE_HART};
}

void race_lacks(struct race *r, const struct race_want *w)
{
    struct taker *last = fifo_of(r, w->core, w->sem)->last;

    if (last->lack[0].pc != w->pc) {
        last->lack[1] = last->lack[0];
    }
    last->lack[0] = (struct race_site){.pc = w->pc, .caller = w->ra, .task = r->task};
}

void race_contend(struct race *r, const struct race_want *w)
{
    struct fifo *f = fifo_of(r, w->core, w->sem);
    struct taker now = taker_of(r, w, f->last);

    if (f->last->serial && f->last->lane != now.lane && f->taken &&
        are_others(f, w->count) && !is_known(r, w, f->last)) {
        r->report.mixed(r->report.ctx, &(struct race_mixed){.core = w->core,
                                                            .sem = w->sem,
                                                            .lane_a = f->last->lane,
                                                            .lane_b = now.lane,
                                                            .takes = true,
                                                            .site_a = f->last->site,
                                                            .site_b = now.site});
    }
    if (now.lane != LANE_HART) { /* which still waits where it did */
        memcpy(now.lack, f->last->lack, sizeof(now.lack));
    }
    *f->last = now;
}

void race_drop(struct race *r, unsigned core, unsigned sem, unsigned count)
{
    struct clock *nobody = clock_new(&r->clocks);

    take(r, core, sem, count, nobody);
    clock_put(&r->clocks, nobody);
}

void race_take(struct race *r, unsigned core, unsigned who, unsigned sem, unsigned count)
{
    struct clock *got;

    if (who < NPU_PIPES && HOLDS(TAKEN)) {
        struct agent *a = &r->agent[core][who];
        r->used[core][sem].taken |= (uint16_t)(1u << who);
        clock_put(&r->clocks, a->posted);
        a->posted = NULL;
        take(r, core, sem, count, a->clock);
        return;
    }
    got = clock_new(&r->clocks);
    take(r, core, sem, count, got);
    if (who == RACE_BARRIER) {
        clock_put(&r->clocks, r->barrier.clock);
        r->barrier.clock = got;
        return;
    }
    if (who == RACE_HART && HOLDS(HART_TAKEN)) {
        hart_learns(r, core, got);
    }
    clock_put(&r->clocks, got);
}

static struct stamp stamp_of(struct race *r, unsigned core, unsigned who)
{
    struct agent *a;

    if (who == RACE_HART ? !HOLDS(HART_POSTED) : who == RACE_BARRIER && !HOLDS(BARRIER)) {
        return (struct stamp){clock_new(&r->clocks), 0};
    }
    if (who == RACE_HART) {
        return hart_stamp(r, core);
    }
    if (who == RACE_BARRIER) {
        r->barrier.clock = r->barrier.clock ? r->barrier.clock : clock_new(&r->clocks);
        return (struct stamp){clock_get(r->barrier.clock), 0};
    }
    a = &r->agent[core][who];
    a->posted = a->posted ? a->posted : clock_copy(&r->clocks, a->clock);
    return (struct stamp){clock_get(a->posted), 0};
}

/* `core` is that of the semaphore where a barrier unit posts. */
void race_post(struct race *r, unsigned core, unsigned who, unsigned sem, unsigned count)
{
    struct fifo *f = fifo_of(r, core, sem);
    struct unit *u = unit_at(f, f->n);
    struct stamp stamp = stamp_of(r, core, who);

    if (f->n > SEM_MAX || count == 0) {
        clock_put(&r->clocks, stamp.clock);
        return;
    }
    *u = (struct unit){.stamp = stamp, .count = (uint8_t)count, .lane = NOBODY};
    if (who == RACE_HART) {
        u->lane = LANE_HART;
        u->serial = stamp.hart;
    } else if (who < NPU_PIPES) {
        r->used[core][sem].posted |= (uint16_t)(1u << who);
        u->lane = (uint16_t)lane_of(core, who);
        u->serial = r->agent[core][who].ended;
    }
    f->n++;
    if (f->taken && !f->told) {
        look_for_mixed(r, core, sem, f, u);
    }
}

void race_between(const struct race *r, unsigned from, unsigned to,
                  uint64_t sems[SEM_COUNT / 64])
{
    unsigned a = from / NPU_PIPES, b = to / NPU_PIPES;

    for (unsigned i = 0; i < SEM_COUNT; i++) {
        uint64_t goes = r->used[a][i].posted >> from % NPU_PIPES &
                        r->used[b][i].taken >> to % NPU_PIPES & (a == b || i >= SEM_CORE);
        sems[i / 64] |= goes << i % 64;
    }
}

/* --- units of L0C --- */

void race_units_wait(struct race *r, unsigned core, unsigned pipe, const uint64_t *units)
{
    struct clock *to = r->agent[core][pipe].clock, *last = NULL;

    if (!(pipe == PIPE_M ? HOLDS(GIVEN_BACK) : HOLDS(HANDED_ON))) {
        return;
    }
    for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
        for (uint64_t bits = units[w]; bits; bits &= bits - 1) {
            struct clock *mark = r->mark[core][w * 64 + (unsigned)__builtin_ctzll(bits)];
            if (mark && mark != last) {
                clock_join(&r->clocks, to, mark);
                last = mark;
            }
        }
    }
}

void race_units_pass(struct race *r, unsigned core, unsigned pipe, const uint64_t *units)
{
    struct clock *copy = clock_copy(&r->clocks, r->agent[core][pipe].clock);

    for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
        for (uint64_t bits = units[w]; bits; bits &= bits - 1) {
            struct clock **mark =
                &r->mark[core][w * 64 + (unsigned)__builtin_ctzll(bits)];
            clock_put(&r->clocks, *mark);
            *mark = clock_get(copy);
        }
    }
    clock_put(&r->clocks, copy);
}

/* --- resets --- */

/* Units that are dropped order nothing any more. */
static void empty(struct race *r, struct fifo *f)
{
    while (f->n && HOLDS(EMPTIED)) {
        drop_first(r, f);
    }
    f->taken = 0;
    if (f->last) {
        f->last->serial = 0;
    }
}

void race_reset_pipe(struct race *r, unsigned core, unsigned pipe)
{
    struct agent *a = &r->agent[core][pipe];

    while (a->count) {
        clock_put(&r->clocks, a->slot[a->head].from.clock);
        a->head = (a->head + 1) % PIPE_DEPTH;
        a->count--;
        r->queued--;
    }
    for (unsigned u = 0; u < UNITS && (pipe == PIPE_M || pipe == PIPE_FIX); u++) {
        clock_put(&r->clocks, r->mark[core][u]);
        r->mark[core][u] = NULL;
    }
    if (HOLDS(RESET)) {
        hart_learns(r, core, a->clock);
    }
}

void race_reset_core(struct race *r, unsigned core)
{
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        race_reset_pipe(r, core, p);
    }
    for (unsigned s = 0; s < SEM_CORE; s++) {
        empty(r, &r->sem[core][s]);
    }
}

void race_reset_chip(struct race *r)
{
    for (unsigned s = 0; s < SEM_CHIP; s++) {
        empty(r, &r->sem[NPU_MAX_CORES][s]);
    }
}
