/* SPDX-License-Identifier: MIT
 *
 * Where buffers lie in UB; see plan.h. Those that live at the same time lie apart. The
 * large ones decide what bank conflicts cost: there are several ways to lay them, and
 * plan.c tries them.
 */
#include "hal/chip.h"
#include "kernels/tile/plan.h"

enum { TURN = 16 * BLOCK /* after which groups are the same again */ };

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
 * lives in the same time. */
static uint32_t find(const struct places *p, const struct placed *want, uint32_t bytes,
                     uint32_t from, uint32_t phase, uint32_t step)
{
    uint32_t at = (uint32_t)round_up(from, step) + phase;
    bool moved = true;

    while (moved) {
        moved = false;
        for (unsigned i = 0; i < p->n; i++) {
            const struct placed *o = &p->at[i];
            if (o->first <= want->last && want->first <= o->last && at < o->to &&
                o->from < at + bytes) {
                at = (uint32_t)round_up(o->to, step) + phase;
                moved = true;
            }
        }
    }
    return at;
}

static void put_at(struct places *p, struct placed want, uint32_t at, uint32_t bytes)
{
    want.from = at;
    want.to = at + bytes;
    p->at[p->n++] = want;
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

bool place(struct emit *e, unsigned way, uint32_t *most)
{
    static struct places p;
    bool banks = way & 1, from_end = way & 2;
    unsigned turn = 0;

    p.n = 0;
    p.most = 0;
    p.end = chip_mem(NPU_MEM_UB);
    for (unsigned i = 0; i < e->n_buffers; i++) {
        struct buffer *b = &e->buffer[i];
        unsigned copies = (b->load || b->store) && !b->always ? e->w->ring : 1;
        struct placed want = life(b);
        uint32_t phase = way >> 2 == 1 && (turn & 1)        ? REPEAT_BYTES
                         : way >> 2 == 2 && copies == 1     ? BLOCK
                         : way >> 2 == 3 && b->load && turn ? REPEAT_BYTES
                                                            : 0;
        for (unsigned c = 0; b->full && c < copies; c++, turn++) {
            e->at[i][c] = banks ? large(&p, &want, b->bytes, turn, phase)
                                : find(&p, &want, b->bytes, 0, phase, TURN);
            put_at(&p, want, e->at[i][c], b->bytes);
        }
    }
    for (unsigned i = 0; i < e->n_buffers; i++) {
        struct buffer *b = &e->buffer[i];
        unsigned copies = (b->load || b->store) && !b->always ? e->w->ring : 1;
        struct placed want = life(b);
        for (unsigned c = 0; !b->full && c < copies; c++) {
            uint32_t from = from_end ? p.end - p.end / 3 : 0;
            uint32_t at = find(&p, &want, b->bytes, from, 0, 2 * BLOCK);
            e->at[i][c] =
                at + b->bytes <= p.end ? at : find(&p, &want, b->bytes, 0, 0, 2 * BLOCK);
            put_at(&p, want, e->at[i][c], b->bytes);
        }
    }
    *most = p.most;
    return p.most <= p.end;
}
