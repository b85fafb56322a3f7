/* SPDX-License-Identifier: MIT
 *
 * The tiles of a core from the first to the last, pipe by pipe, with the contract's costs
 * and the semaphores; see search.h. Since each pipe takes its commands in the order in which
 * they are issued, and each wait here finds a post that came before, what is simulated is
 * an execution: the plan cannot deadlock, and this is what it takes.
 */
#include <limits.h>
#include <string.h>

#include "kernels/tile/tiles/bulk.h"
#include "kernels/tile/tiles/search.h"

enum {
    HART_TILE = 150, /* instructions of the hart for a tile, about */
    HART_COMMAND = 8,
    PERIOD = 24, /* tiles; a multiple of every ring */
};

struct segment {
    uint64_t cycles; /* since the segment before */
    struct sync sync;
};

struct simulation {
    const struct order *o;
    struct tile_costs costs;
    unsigned ring;
    uint64_t load[VARIANTS][TILE_PARAMS], store[VARIANTS][TILE_RESULTS];
    uint64_t load_all[VARIANTS];
    struct segment segment[PLAN_RING][PLAN_SYNCS];
    uint64_t rest[PLAN_RING];              /* behind the last segment */
    uint64_t posted[PLAN_SEMS][PLAN_RING]; /* when, by position */
    uint64_t mte2, v, mte3, hart, busy_v, busy_in, busy_out;
    struct bulk_cycles bulk;
    uint64_t mte1, l1_full[BULK_SLOTS], l1_free[BULK_SLOTS];
    uint64_t hart_tile, number, skipped;
};

/* The first command from `from` on that waits or posts. */
static unsigned next_sync(const struct order *o, unsigned from)
{
    unsigned next = UINT_MAX;

    for (unsigned j = 0; j < o->n_syncs; j++) {
        unsigned command = o->sync[j].command;
        next = command >= from && command < next ? command : next;
    }
    return next;
}

/* Ends a segment with each wait, or each post, of a command. */
static void end_segments(struct simulation *s, unsigned position, unsigned command,
                         bool post, unsigned *k, uint64_t *cycles)
{
    for (unsigned j = 0; j < s->o->n_syncs; j++) {
        const struct sync *sync = &s->o->sync[j];
        if (sync->command == command && sync->post == post) {
            s->segment[position][(*k)++] = (struct segment){*cycles, *sync};
            *cycles = 0;
        }
    }
}

/* The Vector's cycles of a position between what it waits for and what it posts. */
static void segments(struct simulation *s, const struct emit *e, unsigned position)
{
    struct tile_costs costs = s->costs;
    const union cmd *cmd = e->body.cmd + position * e->body.n;
    unsigned k = 0, next = next_sync(s->o, 0);
    uint64_t cycles = 0;

    for (unsigned i = 0; i < e->body.n; i++) {
        bool here = i == next;
        if (here) {
            end_segments(s, position, i, false, &k, &cycles);
        }
        cycles += tile_cost(&costs, &cmd[i]);
        if (here) {
            end_segments(s, position, i, true, &k, &cycles);
            next = next_sync(s->o, i + 1);
        }
    }
    s->rest[position] = cycles;
}

/* When a semaphore was posted last for a position; of what is there once, for any. */
static uint64_t *posted(struct simulation *s, uint8_t sem, unsigned position)
{
    return &s->posted[sem][s->o->copies[sem] == 1 ? 0 : position];
}

/* What a tile waits for in L1, of which the first one of a load begins that. */
static void bring(struct simulation *s, uint64_t number)
{
    const struct bulk_cycles *b = &s->bulk;
    unsigned slot = number / b->tiles % BULK_SLOTS;

    if (number % b->tiles == 0) {
        uint64_t cycles = number / b->tiles < b->whole ? b->load : b->rest;
        s->mte2 = later(s->mte2, s->l1_free[slot]) + cycles;
        s->l1_full[slot] = s->mte2;
    }
    s->mte1 = later(s->mte1, s->l1_full[slot]);
}

/* Loads of a tile, or its moves, by a pipe that is free at `in`: when it is again. */
static inline uint64_t load(struct simulation *s, uint64_t in, unsigned position,
                            unsigned variant)
{
    const struct order *o = s->o;

    for (unsigned l = 0; l < o->n_loads; l++) {
        in = o->load_free[l] ? later(in, *posted(s, o->load_free[l], position)) : in;
        in += s->load[variant][l];
        *posted(s, o->load_full[l], position) = in;
    }
    return in;
}

/* Tile `number` of the core. */
static void tile(struct simulation *s, uint64_t number, unsigned variant)
{
    const struct order *o = s->o;
    unsigned position = (unsigned)(number % s->ring);

    s->hart += s->hart_tile;
    s->mte2 = later(s->mte2, s->hart - s->hart_tile);
    if (s->bulk.tiles == 0) {
        s->mte2 = load(s, s->mte2, position, variant);
        s->busy_in += s->load_all[variant];
    } else {
        bring(s, number);
        s->mte1 = load(s, s->mte1, position, variant);
        s->l1_free[number / s->bulk.tiles % BULK_SLOTS] = s->mte1;
    }
    s->v = later(s->v, s->hart - s->hart_tile / 2);
    for (unsigned i = 0; i < o->n_syncs; i++) {
        const struct segment *g = &s->segment[position][i];
        s->v += g->cycles;
        s->busy_v += g->cycles;
        if (g->sync.post) {
            *posted(s, g->sync.sem, position) = s->v;
        } else {
            s->v = later(s->v, *posted(s, g->sync.sem, position));
        }
    }
    s->v += s->rest[position];
    s->busy_v += s->rest[position];
    for (unsigned t = 0; t < o->n_stores; t++) {
        s->mte3 = o->store_out[t] ? later(s->mte3, *posted(s, o->store_out[t], position))
                                  : s->mte3;
        s->mte3 += s->store[variant][t];
        s->busy_out += s->store[variant][t];
        *posted(s, o->store_free[t], position) = s->mte3;
    }
}

/* Before the first tile: what is loaded and made once. */
static void preamble(struct simulation *s, const struct emit *e,
                     const struct loops *loops)
{
    struct tile_costs costs = s->costs;
    uint64_t v = 0;

    for (unsigned b = 0; b < e->n_buffers; b++) {
        if (e->buffer[b].load && e->buffer[b].always) {
            union cmd cmd;
            loops_command(
                loops,
                &(struct transfer){.tensor = &e->p->k->param[e->buffer[b].load - 1]},
                &cmd);
            s->busy_in += tile_cost(&costs, &cmd);
            v = 1;
        }
    }
    s->mte2 = s->busy_in;
    for (unsigned i = 0; i < e->pre.n; i++) {
        v += tile_cost(&costs, &e->pre.cmd[i]);
    }
    s->busy_v = v;
    s->v = s->mte2 + v;
}

/* Of a tile of a tensor, which is loaded or stored. */
static uint64_t transfer_cycles(struct simulation *s, const struct loops *loops,
                                const struct transfer *x)
{
    union cmd cmd;

    loops_command(loops, x, &cmd);
    return tile_cost(&s->costs, &cmd) +
           tile_unaligned(&s->costs, &cmd, loops_stride(loops, 0, x->tensor));
}

static void costs_of_variant(struct simulation *s, const struct emit *e,
                             const struct loops *loops, unsigned variant)
{
    for (unsigned l = 0; l < s->o->n_loads; l++) {
        const struct buffer *b = &e->buffer[s->o->load[l] - 1];
        s->load[variant][l] =
            s->bulk.tiles
                ? s->bulk.move[variant][l]
                : transfer_cycles(s, loops,
                                  &(struct transfer){&e->p->k->param[b->load - 1], false,
                                                     (uint8_t)variant, 0});
    }
    for (unsigned l = 0; l < s->o->n_loads; l++) {
        s->load_all[variant] += s->load[variant][l];
    }
    for (unsigned t = 0; t < s->o->n_stores; t++) {
        const struct buffer *b = &e->buffer[s->o->store[t] - 1];
        s->store[variant][t] =
            transfer_cycles(s, loops,
                            &(struct transfer){&e->p->k->result[b->store - 1].tensor,
                                               true, (uint8_t)variant, 0});
        if (e->p->k->result[s->o->store_result[t]].adds) {
            s->store[variant][t] += 2; /* atomics on, and off */
        }
    }
}

/* Where tiles are many they repeat what a period of them does. */
static void play_tiles(struct simulation *s, uint64_t tiles, unsigned variant)
{
    uint64_t alike = tiles > 4 * PERIOD ? (tiles - 3 * PERIOD) / PERIOD : 0;
    struct simulation was;

    tiles -= alike * PERIOD;
    if (s->bulk.tiles && variant == 0) {
        s->bulk.whole -= alike * (PERIOD / s->bulk.tiles);
    }
    while (tiles > PERIOD) {
        tile(s, s->number++, variant);
        tiles--;
    }
    was = *s;
    while (tiles--) {
        tile(s, s->number++, variant);
    }
    s->skipped += alike * (later(s->v, later(s->mte2, s->mte3)) -
                           later(was.v, later(was.mte2, was.mte3)));
    s->busy_v += alike * (s->busy_v - was.busy_v);
    s->busy_in += alike * (s->busy_in - was.busy_in);
    s->busy_out += alike * (s->busy_out - was.busy_out);
}

struct tile_cycles simulate(const struct emit *e, const struct order *o,
                            const struct loops *loops, const struct share *share)
{
    static struct simulation s;
    uint64_t end;

    memset(&s, 0, sizeof(s));
    s.o = o;
    tile_costs_init(&s.costs);
    s.ring = e->w->ring;
    s.hart_tile =
        HART_TILE + HART_COMMAND * (uint64_t)(e->body.n + o->n_loads + o->n_stores);
    for (unsigned p = 0; p < e->w->ring; p++) {
        segments(&s, e, p);
    }
    preamble(&s, e, loops);
    if (e->w->bulk) {
        bulk_cycles(&s.bulk, e, o, loops, share);
        s.busy_in += s.bulk.whole * s.bulk.load + s.bulk.rest;
    }
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        uint64_t tiles = loops_tiles(loops, share, variant, NULL);
        if (tiles) {
            costs_of_variant(&s, e, loops, variant);
            play_tiles(&s, tiles, variant);
        }
    }
    end = later(s.v, later(s.mte2, s.mte3)) + s.skipped;
    return (struct tile_cycles){end, s.busy_v, s.busy_in, s.busy_out};
}
