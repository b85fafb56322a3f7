/* SPDX-License-Identifier: MIT
 *
 * What a race check was told, again; see journal.h.
 */
#include "tools/emu/check/race/journal.h"

#include "tools/emu/check/race/agent.h"

enum { FIRST_ROOM = 4096, ENTRIES_MOST = 16 << 20, NONE = WAITS_MOST };

void journal_open(struct journal *j, const struct check_host *host,
                  const struct race_config *config)
{
    *j = (struct journal){.host = host, .config = *config};
}

void journal_close(struct journal *j)
{
    if (j->entry) {
        j->host->free(j->host->ctx, j->entry, j->room * sizeof(*j->entry));
    }
    j->entry = NULL;
}

/* Rows of an access that are alike are one entry. */
static bool goes_on(struct entry *last, const struct entry *e)
{
    uint64_t step = e->at - last->at;

    if (e->what != ENTRY_RANGE || last->what != ENTRY_RANGE || e->bytes != last->bytes ||
        step > UINT32_MAX) {
        return false;
    }
    if (last->n == 1) {
        last->stride = (uint32_t)step;
    } else if (step != (uint64_t)last->n * last->stride) {
        return false;
    }
    last->n++;
    return true;
}

void journal_add(struct journal *j, const struct entry *e)
{
    if (j->full || (j->n && goes_on(&j->entry[j->n - 1], e))) {
        return;
    }
    if (j->n == j->room) {
        size_t room = j->room ? 2 * j->room : FIRST_ROOM;
        if (room > ENTRIES_MOST) {
            j->full = true;
            return;
        }
        j->entry = host_grow(j->host, j->entry, j->room * sizeof(*j->entry),
                             room * sizeof(*j->entry));
        j->room = room;
    }
    j->entry[j->n++] = *e;
}

/* --- once more --- */

struct replay {
    struct race *race;
    const struct wait *without; /* or NULL */
    uint64_t units[ROW_UNIT_MARK];
    bool races;
};

static void found(void *ctx, const struct race_pair *pair)
{
    struct replay *r = ctx;

    r->races |= !pair->inexact;
}

static void mixed(void *ctx, const struct race_mixed *m)
{
    (void)ctx, (void)m;
}

static const struct race_site *head_of(const struct race *r, const struct entry *e)
{
    const struct agent *a = &r->agent[e->core][e->pipe];

    return &a->slot[a->head].site;
}

static bool is_of(const struct wait *w, const struct race_site *site, unsigned sem)
{
    return w->pc == site->pc && w->caller == site->caller && w->sem == sem;
}

static void take(struct replay *r, const struct entry *e)
{
    if (r->without && e->pipe < NPU_PIPES &&
        is_of(r->without, head_of(r->race, e), e->sem)) {
        race_drop(r->race, e->core, e->sem, e->n);
    } else {
        race_take(r->race, e->core, e->pipe, e->sem, e->n);
    }
}

static void access_of(struct replay *r, const struct entry *e)
{
    struct race_hart_access hart = {.site.pc = 1,
                                    .core = e->core,
                                    .mem = e->pipe,
                                    .first = e->at,
                                    .bytes = e->bytes,
                                    .write = e->sem};
    struct race_operand operand = {
        .kind = e->sem, .mem = (uint8_t)e->n, .results = e->bytes, .bytes = 1};

    if (e->what == ENTRY_HART) {
        race_hart(r->race, &hart);
    } else if (e->what == ENTRY_OPERAND) {
        race_operand(r->race, e->core, e->pipe, &operand);
    } else {
        for (uint32_t i = 0; i < e->n; i++) {
            race_range(r->race, e->at + (uint64_t)i * e->stride, e->bytes);
        }
    }
}

static void command(struct replay *r, const struct entry *e)
{
    const struct race_site site = {
        .pc = e->at, .caller = e->bytes, .opcode = (uint16_t)e->n};

    switch (e->what) {
    case ENTRY_PUSH:
        race_push(r->race, e->core, e->pipe, &site);
        break;
    case ENTRY_BEGIN:
        race_begin(r->race, e->core, e->pipe, 0);
        break;
    case ENTRY_END:
        race_end(r->race, e->core, e->pipe, 0);
        break;
    case ENTRY_UNITS:
        r->units[e->sem] = e->at;
        return;
    case ENTRY_WAITS:
        race_units_wait(r->race, e->core, e->pipe, r->units);
        break;
    default:
        race_units_pass(r->race, e->core, e->pipe, r->units);
        break;
    }
    memset(r->units, 0, sizeof(r->units));
}

static void drained(struct race *r, const struct entry *e)
{
    for (unsigned c = 0; c < race_cores(r); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (e->core == NPU_MAX_CORES || (e->core == c && e->pipe == p)) {
                race_drained(r, c, p);
            }
        }
    }
}

static void hart(struct replay *r, const struct entry *e)
{
    switch (e->what) {
    case ENTRY_TAKE:
        take(r, e);
        break;
    case ENTRY_POST:
        race_post(r->race, e->core, e->pipe, e->sem, e->n);
        break;
    case ENTRY_DRAINED:
        drained(r->race, e);
        break;
    case ENTRY_RESET_PIPE:
        race_reset_pipe(r->race, e->core, e->pipe);
        break;
    case ENTRY_RESET_CORE:
        race_reset_core(r->race, e->core);
        break;
    case ENTRY_RESET_CHIP:
        race_reset_chip(r->race);
        break;
    default:
        race_task(r->race, e->at);
        break;
    }
}

static void tell(struct replay *r, const struct entry *e)
{
    switch (e->what) {
    case ENTRY_PUSH:
    case ENTRY_BEGIN:
    case ENTRY_END:
    case ENTRY_UNITS:
    case ENTRY_WAITS:
    case ENTRY_PASSES:
        command(r, e);
        break;
    case ENTRY_OPERAND:
    case ENTRY_RANGE:
    case ENTRY_HART:
        access_of(r, e);
        break;
    default:
        hart(r, e);
        break;
    }
}

/* The number of the wait that an entry is of, which may be new; or NONE. */
static unsigned wait_of(struct journal *j, const struct replay *r, const struct entry *e)
{
    const struct race_site *site;
    unsigned i = 0;

    if (e->what != ENTRY_TAKE || e->pipe >= NPU_PIPES) {
        return NONE;
    }
    site = head_of(r->race, e);
    while (i < j->n_waits && !is_of(&j->wait[i], site, e->sem)) {
        i++;
    }
    if (i == j->n_waits && i < WAITS_MOST) {
        j->wait[j->n_waits++] = (struct wait){.pc = site->pc,
                                              .caller = site->caller,
                                              .core = e->core,
                                              .pipe = e->pipe,
                                              .sem = e->sem,
                                              .opcode = site->opcode};
    }
    return i;
}

/* Whether there is a race without a wait; NULL: with all, which are then counted. */
static bool races(struct journal *j, const struct wait *without)
{
    struct replay r = {.without = without};
    const struct race_report report = {.found = found, .mixed = mixed, .ctx = &r};

    r.race = race_new(j->host, &j->config, &report);
    for (size_t i = 0; i < j->n && !r.races; i++) {
        unsigned w = without ? NONE : wait_of(j, &r, &j->entry[i]);
        if (w != NONE) {
            j->wait[w].count++;
        }
        tell(&r, &j->entry[i]);
    }
    race_free(r.race);
    return r.races;
}

bool journal_judge(struct journal *j)
{
    j->n_waits = 0;
    if (j->full || races(j, NULL)) {
        return false;
    }
    for (unsigned i = 0; i < j->n_waits; i++) {
        struct wait *w = &j->wait[i];
        w->alone = true;
        for (unsigned k = 0; k < j->n_waits; k++) {
            w->alone &= k == i || j->wait[k].sem != w->sem;
        }
        w->redundant = !races(j, w);
    }
    return true;
}
