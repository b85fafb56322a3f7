/* SPDX-License-Identifier: MIT
 *
 * Where buffers lie in UB; see place.h. Those that live at the same time lie apart. The
 * large ones decide what bank conflicts cost: there are several ways to lay them, and
 * search.c tries them.
 */
#include "hal/chip.h"
#include "kernels/tile/tiles/place.h"

enum { TURN = TWICE_BYTES };

struct placed {
    uint32_t from, to;
    uint16_t first, last;
};

struct places {
    struct placed at[PLAN_BUFFERS * PLAN_RING];
    unsigned n;
    uint32_t end, most;
};

/* The lowest place from `from` on, at `phase` of a turn of groups, where nothing lies that
 * lives in the same time. What lies there is in order, so that one look is enough. */
static uint32_t find(const struct places *p, const struct placed *want, uint32_t bytes,
                     uint32_t from, uint32_t phase, uint32_t step)
{
    uint32_t at = (uint32_t)round_up(from, step) + phase;

    for (unsigned i = 0; i < p->n && p->at[i].from < at + bytes; i++) {
        const struct placed *o = &p->at[i];
        if (at < o->to && o->first <= want->last && want->first <= o->last) {
            at = (uint32_t)round_up(o->to, step) + phase;
        }
    }
    return at;
}

static void put_at(struct places *p, struct placed want, uint32_t at, uint32_t bytes)
{
    unsigned i = p->n++;

    want.from = at;
    want.to = at + bytes;
    for (; i > 0 && p->at[i - 1].from > at; i--) {
        p->at[i] = p->at[i - 1];
    }
    p->at[i] = want;
    p->most = want.to > p->most ? want.to : p->most;
}

/* A large buffer begins in the bank whose turn it is, if it fits there. */
static uint32_t large(struct places *p, const struct placed *want, uint32_t bytes,
                      unsigned bank, uint32_t phase)
{
    unsigned banks = div_up(p->end, UB_BANK_SPAN);
    uint32_t at = find(p, want, bytes, bank % banks * UB_BANK_SPAN, phase, TURN);

    return at + bytes <= p->end ? at : find(p, want, bytes, 0, phase, TURN);
}

static struct placed life(const struct buffer *b)
{
    bool always = b->always || b->load || b->store;

    return (struct placed){.first = always ? 0 : b->first,
                           .last = always ? UINT16_MAX : b->last};
}

/* Where the k-th large buffer begins in a turn of groups: two that are read together lie
 * half a repeat apart, or a block. */
static uint32_t phase_of(const struct placing *how, unsigned k)
{
    static const uint32_t phases[PLACE_PHASES] = {0, REPEAT_BYTES, BLOCK};

    return phases[how->phase[k % PLACE_LARGE]];
}

/* A buffer that is there once lies in the same place for all positions of the ring. */
static void at_all_positions(struct emit *e, unsigned i)
{
    for (unsigned c = way_copies(e->w, &e->buffer[i]); c < e->w->ring; c++) {
        e->at[i][c] = e->at[i][0];
    }
}

static void place_large(struct places *p, struct emit *e, const struct placing *how)
{
    unsigned turn = 0, k = 0;

    for (unsigned i = 0; i < e->n_buffers; i++) {
        struct buffer *b = &e->buffer[i];
        struct placed want = life(b);
        uint32_t phase = phase_of(how, k);
        for (unsigned c = 0; b->full && !b->ring && c < way_copies(e->w, b); c++, turn++) {
            e->at[i][c] = how->banks ? large(p, &want, b->bytes, turn, phase)
                                     : find(p, &want, b->bytes, 0, phase, TURN);
            put_at(p, want, e->at[i][c], b->bytes);
        }
        k += b->full;
    }
}

/* The slots of a ring lie side by side. */
static void place_ring(struct places *p, struct emit *e)
{
    for (unsigned i = 0; i < e->n_buffers; i++) {
        struct buffer *b = &e->buffer[i];
        struct placed want = life(b);
        for (unsigned c = 0; b->ring && c < e->w->ring; c++) {
            e->at[i][c] = c * b->bytes;
            put_at(p, want, e->at[i][c], b->bytes);
        }
    }
}

/* The first bank in which nothing of a buffer lies, or what is said instead. */
static uint32_t other_bank(const struct emit *e, unsigned buffer, uint32_t end,
                           uint32_t instead)
{
    const struct buffer *b = &e->buffer[buffer];

    for (uint32_t bank = 0; bank < end; bank += UB_BANK_SPAN) {
        bool taken = false;
        for (unsigned c = 0; c < way_copies(e->w, b); c++) {
            uint32_t at = e->at[buffer][c];
            taken = taken || (at < bank + UB_BANK_SPAN && bank < at + b->bytes);
        }
        if (!taken) {
            return bank;
        }
    }
    return instead;
}

static void place_small(struct places *p, struct emit *e, const struct placing *how)
{
    uint32_t usual = how->behind ? p->end - p->end / 3 : 0;

    for (unsigned i = 0; i < e->n_buffers; i++) {
        struct buffer *b = &e->buffer[i];
        struct placed want = life(b);
        uint32_t from = how->banks && b->beside
                            ? other_bank(e, b->beside - 1u, p->end, usual)
                            : usual;
        for (unsigned c = 0; !b->full && !b->ring && c < way_copies(e->w, b); c++) {
            uint32_t step = b->turn || b->half ? TURN : 2 * BLOCK;
            uint32_t phase = b->half ? REPEAT_BYTES : 0;
            uint32_t at = find(p, &want, b->bytes, from, phase, step);
            e->at[i][c] =
                at + b->bytes <= p->end ? at : find(p, &want, b->bytes, 0, phase, step);
            put_at(p, want, e->at[i][c], b->bytes);
        }
    }
}

bool place(struct emit *e, const struct placing *how, uint32_t *most)
{
    static struct places p;

    p.n = 0;
    p.most = 0;
    p.end = e->p->ub_bytes ? e->p->ub_bytes : chip_mem(NPU_MEM_UB);
    place_ring(&p, e);
    place_large(&p, e, how);
    place_small(&p, e, how);
    for (unsigned i = 0; i < e->n_buffers; i++) {
        at_all_positions(e, i);
        for (unsigned c = 0; c < e->w->ring; c++) {
            e->at[i][c] += e->p->ub_begin;
        }
    }
    *most = p.most;
    return p.most <= p.end;
}
