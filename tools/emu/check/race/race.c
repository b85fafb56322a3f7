/* SPDX-License-Identifier: MIT
 *
 * Commands and their accesses; see race.h. What orders them: order.c.
 *
 * All accesses of a command are judged when it ends: what is ordered behind it begins
 * later. One is judged sooner, the result of an Mmad that is handed on unit by unit, since
 * the fixpipe may have read and ended before it; it has a lane of its own, because who
 * knows of that result does not know that the Mmad has read its operands.
 */
#include "tools/emu/check/race/race.h"

#include "tools/emu/check/race/agent.h"
#include "tools/emu/check/race/edge.h"

struct race *race_new(const struct check_host *host, const struct race_config *config,
                      const struct race_report *report)
{
    struct race *r = host->alloc(host->ctx, sizeof(*r));

    r->config = *config;
    r->report = *report;
    r->arena.host = host;
    r->clocks = (struct clocks){.arena = &r->arena, .lanes = lane_of(config->cores, 0)};
    shadow_open(&r->shadow, host, config->profile, config->gm_base, config->gm_bytes);
    r->hart_serial = 1;
    r->all = clock_new(&r->clocks);
    for (unsigned c = 0; c < config->cores; c++) {
        r->hart[c] = clock_get(r->all);
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            r->agent[c][p].clock = clock_new(&r->clocks);
        }
    }
    return r;
}

void race_free(struct race *r)
{
    const struct check_host *host = r->arena.host;

    shadow_close(&r->shadow);
    arena_free(&r->arena);
    host->free(host->ctx, r, sizeof(*r));
}

unsigned race_cores(const struct race *r)
{
    return r->config.cores;
}

size_t race_bytes(const struct race *r)
{
    const struct records *records = &r->shadow.records;

    return sizeof(*r) + r->arena.used + r->shadow.arena.used +
           records->room * sizeof(*records->record) +
           records->set_room * sizeof(*records->set) +
           records->pool_room * sizeof(*records->pool);
}

#ifdef CHECK_EDGES
enum edge check_left_out = EDGES;
#endif

uint64_t race_touched(const struct race *r)
{
    return shadow_touched(&r->shadow);
}

/* --- commands --- */

void race_begin(struct race *r, unsigned core, unsigned pipe, uint64_t cycle)
{
    struct agent *a = &r->agent[core][pipe];

    a->serial++;
    a->cycle = cycle;
    if (a->count) {
        const struct stamp *from = &a->slot[a->head].from;
        if (HOLDS(PUSH)) {
            clock_join(&r->clocks, a->clock, from->clock);
        }
        if (HOLDS(STORED)) {
            clock_reach(a->clock, LANE_HART, from->hart);
        }
    }
    if (pipe == PIPE_M) {
        clock_reach(a->clock, lane_of(core, LANE_RESULTS), a->serial);
        if (!HOLDS(RESULTS)) {
            clock_reach(a->clock, lane_of(core, pipe), a->serial);
        }
    }
    clock_put(&r->clocks, a->posted);
    a->posted = NULL;
}

static void sweep(struct race *r)
{
    if (shadow_sweep(&r->shadow)) {
        memset(r->cache, 0, sizeof(r->cache));
    }
}

void race_end(struct race *r, unsigned core, unsigned pipe, uint64_t cycle)
{
    struct agent *a = &r->agent[core][pipe];

    a->ended = a->serial;
    a->cycle = cycle;
    if (HOLDS(ENDED)) {
        clock_reach(a->clock, lane_of(core, pipe), a->serial);
    }
    r->behind = true;
    sweep(r);
    if (a->count) {
        clock_put(&r->clocks, a->slot[a->head].from.clock);
        a->head = (a->head + 1) % PIPE_DEPTH;
        a->count--;
        r->queued--;
    }
}

/* --- their accesses --- */

/* Tells of a pair. The shadow calls it again for another cell of the same. */
static void met(struct toucher *t, uint32_t other, uint64_t addr)
{
    struct race *r = (struct race *)((char *)t - offsetof(struct race, toucher));
    const struct record *a = record_at(&r->shadow.records, other);
    const struct record *b = record_at(&r->shadow.records, t->name);
    struct race_pair pair = {.a = a,
                             .b = b,
                             .core = r->core,
                             .mem = r->operand.mem,
                             .addr = addr,
                             .inexact = a->kind == b->kind && a->kind & ACCESS_INEXACT};

    r->report.found(r->report.ctx, &pair);
}

void race_operand(struct race *r, unsigned core, unsigned pipe,
                  const struct race_operand *o)
{
    struct agent *a = &r->agent[core][pipe];
    const struct slot *slot = &a->slot[(a->head + PIPE_DEPTH - !o->results) % PIPE_DEPTH];
    struct record record = {.site = slot->site,
                            .lane = lane_of(core, o->results ? LANE_RESULTS : pipe),
                            .serial = a->serial,
                            .cycle = a->cycle,
                            .base = o->base,
                            .bytes = o->bytes,
                            .kind = o->kind,
                            .field = o->field};

    r->operand = *o;
    r->core = core;
    r->toucher = (struct toucher){.clock = a->clock,
                                  .name = record_add(&r->shadow.records, &record),
                                  .lane = record.lane,
                                  .kind = o->kind,
                                  .met = met};
    toucher_begin(&r->toucher);
}

void race_range(struct race *r, uint64_t first, uint64_t bytes)
{
    shadow_touch(&r->shadow, &r->toucher, r->core, r->operand.mem, first, bytes);
}

/* --- those of the hart --- */

bool race_hart_matters(const struct race *r)
{
    return r->queued || r->behind;
}

static uint32_t hart_record(struct race *r, const struct race_hart_access *a)
{
    uint64_t pc = a->site.pc;
    unsigned at = (unsigned)(pc >> 1) % HART_CACHE;

    if (r->cache[a->write][at].pc != pc ||
        r->cache[a->write][at].serial != r->hart_serial) {
        struct record record = {.site = a->site,
                                .lane = LANE_HART,
                                .serial = r->hart_serial,
                                .cycle = a->cycle,
                                .kind = a->write ? ACCESS_WRITE : ACCESS_READ};
        record.site.task = r->task;
        sweep(r);
        r->cache[a->write][at].pc = pc;
        r->cache[a->write][at].serial = r->hart_serial;
        r->cache[a->write][at].name = record_add(&r->shadow.records, &record);
    }
    return r->cache[a->write][at].name;
}

void race_hart(struct race *r, const struct race_hart_access *a)
{
    if (a->mem == NPU_MEM_GM && r->queued == 0 && !shadow_engine(&r->shadow, a->first)) {
        return; /* nobody has been there, and what comes is told by its push */
    }
    r->hart_serial += r->hart_told;
    r->hart_told = false;
    r->operand = (struct race_operand){.mem = (uint8_t)a->mem};
    r->core = a->core;
    r->toucher = (struct toucher){.clock = r->all,
                                  .heirs = r->hart,
                                  .n_heirs = r->task ? r->config.cores : 0,
                                  .name = hart_record(r, a),
                                  .lane = LANE_HART,
                                  .kind = a->write ? ACCESS_WRITE : ACCESS_READ,
                                  .met = met};
    toucher_begin(&r->toucher);
    shadow_touch(&r->shadow, &r->toucher, a->core, a->mem, a->first, a->bytes);
}
