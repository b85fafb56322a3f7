/* SPDX-License-Identifier: MIT
 *
 * One hart is the scalar units of all cores. Its clock counts its instructions, and a cycle
 * of the engines is as many of them as cores share it (CHIP_SHARE): so all of them together
 * get one instruction a cycle each. What one alone gets is kept here: while the hart works
 * for a core (CHIP_TRACE), each instruction is a cycle of that core's scalar unit, and a
 * command that it pushes begins no sooner than in the cycle that its unit has come to. A
 * unit that sleeps goes on when the core's line rises; one that has only waited for the hart
 * to come round has lost nothing. The price of a launch goes by while the hart's clock
 * stands. Under TIMING=v1 none of this: all cores always share.
 *
 * Invariant: no unit is ahead of the instructions that the hart can have retired.
 */
#include "tools/emu/model/machine/hart.h"

#include "tools/emu/model/machine/state/defect.h"
#include "tools/emu/model/machine/event.h"

static uint64_t clock_now(const struct npu *n)
{
    return n->host->clock ? n->host->clock(n->ctx) : 0;
}

/* A hart that is free of charge has so many instructions for one. */
enum { FREE = 1 << 16 };

static uint64_t times(const struct npu *n)
{
    return n->s->free_hart ? FREE : 1;
}

/* Instructions of a cycle. */
static uint64_t in_cycle(const struct npu *n)
{
    return (n->s->hart.share ? n->s->hart.share : 1) * times(n);
}

static bool counts(const struct npu *n)
{
    return n->s->timing != TIMING_v1 && n->host->clock;
}

uint64_t npu_cycle(const struct npu *n, uint64_t clock)
{
    const struct npu_hart *h = &n->s->hart;

    return h->cycle + (clock - h->clock) / in_cycle(n) + n->s->hart_late;
}

uint64_t npu_clock(const struct npu *n, uint64_t cycle)
{
    const struct npu_hart *h = &n->s->hart;
    uint64_t cycles = cycle - n->s->hart_late - h->cycle;

    return cycles <= ((uint64_t)INT64_MAX - h->clock) / in_cycle(n)
               ? h->clock + cycles * in_cycle(n)
               : (uint64_t)INT64_MAX;
}

/* The first instruction of this cycle is where cycles of the new length would begin if
 * there had been no others: so software finds it from the clock alone. */
static void share(struct npu *n, unsigned cores)
{
    struct npu_hart *h = &n->s->hart;
    uint64_t now = clock_now(n);

    h->share = cores;
    h->clock = now - now % in_cycle(n);
    h->cycle = n->s->now - n->s->hart_late;
}

void hart_reset(struct npu *n)
{
    n->s->hart.of = 0;
    n->s->hart.since = clock_now(n);
    share(n, n->s->cores);
}

void hart_share(struct npu *n, uint64_t value)
{
    uint64_t cores = field_get(CHIP_SHARE_CORES, value);

    if (value & CHIP_SHARE_LAUNCH) {
        event_called(n, counts(n) ? cost(n->s, COST_LAUNCH) : 0);
        defect_launch(n->s);
    }
    if (!counts(n)) {
        return;
    }
    if (value & CHIP_SHARE_LAUNCH) {
        npu_advance(n, n->s->now + cost(n->s, COST_LAUNCH));
    }
    share(n, cores != 0 && cores <= n->s->cores ? (unsigned)cores : n->s->cores);
    n->s->hart.since = clock_now(n);
    for (unsigned c = 0; c < n->s->cores; c++) {
        n->s->core[c].scalar = n->s->now;
    }
}

uint64_t hart_scalar(const struct npu *n, unsigned core)
{
    const struct npu_hart *h = &n->s->hart;

    return h->of == core + 1 && counts(n)
               ? n->s->core[core].scalar + (clock_now(n) - h->since) / times(n)
               : 0;
}

void hart_works(struct npu *n, unsigned of)
{
    struct npu_hart *h = &n->s->hart;

    if (!counts(n)) {
        return;
    }
    if (h->of) {
        n->s->core[h->of - 1].scalar = hart_scalar(n, h->of - 1);
    }
    h->of = of <= n->s->cores ? of : 0;
    h->since = clock_now(n);
}

void hart_wanted(struct npu *n, unsigned core)
{
    struct npu_core *c = &n->s->core[core];

    if (counts(n) && n->s->hart.of != core + 1 && c->scalar < n->s->now) {
        c->scalar = n->s->now;
    }
}

uint64_t hart_ahead(const struct npu_state *s)
{
    return (s->now + 1) * s->cores;
}
