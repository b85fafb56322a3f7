/* SPDX-License-Identifier: MIT
 *
 * One way to cut a program into tiles: emitted, with memory, its cycles; see search.h.
 */
#include <string.h>

#include "kernels/tile/tiles/bulk.h"
#include "kernels/tile/tiles/search.h"

void use_way(struct search *s, const struct way *w)
{
    s->e.w = w;
    s->e.body.cmd = s->e.pre.cmd = NULL;
    s->e.body.room = s->e.pre.room = 0;
    memset(s->e.at, 0, sizeof(s->e.at));
    emit_program(&s->e, 0);
}

/* The commands, with addresses, of all positions. */
static void emit_all(struct search *s)
{
    struct emit *e = &s->e;

    for (unsigned position = 0; position < e->w->ring && !e->err; position++) {
        e->pre.cmd = position ? NULL : s->pre;
        e->pre.room = position ? 0 : PRE_COMMANDS;
        e->body.cmd = s->body + position * e->body.n;
        e->body.room = PLAN_COMMANDS;
        emit_program(e, position);
    }
    e->pre.cmd = s->pre;
    e->body.cmd = s->body;
}

static bool fails(struct candidate *c, int err, const char *why)
{
    size_t n = strlen(why);

    n = n < sizeof(c->why) ? n : sizeof(c->why) - 1;
    c->err = err;
    memcpy(c->why, why, n);
    c->why[n] = '\0';
    return false;
}

bool emit_way(struct search *s, struct candidate *c, bool anew)
{
    s->n_tried++;
    c->err = 0;
    if (anew) {
        use_way(s, &c->way);
    }
    if (s->e.err) {
        return fails(c, s->e.err, s->e.why);
    }
    if (s->signature && s->e.signature != s->signature) {
        return fails(c, ERR_ARG, "sums are made in another order");
    }
    if (!place(&s->e, &c->placing, &c->most)) {
        return fails(c, ERR_LOCAL, "does not fit");
    }
    emit_all(s);
    if (s->e.err) {
        return fails(c, s->e.err, s->e.why);
    }
    order_make(&s->order, &s->e);
    return true;
}

bool evaluate(struct search *s, struct candidate *c, bool anew)
{
    struct share share;
    const char *why;

    if (!emit_way(s, c, anew)) {
        return false;
    }
    why = loops_make(&s->loops, s->p, &c->way);
    if (why == NULL && c->way.bulk) {
        why = bulk_begin(&s->order, &s->loops, &s->e, &c->way);
    }
    if (why) {
        return fails(c, ERR_SHAPE, why);
    }
    share = loops_share(&s->loops, s->cores - 1, s->cores);
    c->cycles = simulate(&s->e, &s->order, &s->loops, &share);
    return true;
}

/* --- where its buffers lie --- */

/* Takes over a better placing of the way that was emitted last; true: it is one. */
static bool try_placing(struct search *s, struct candidate *best,
                        const struct placing *placing)
{
    struct candidate c = {.way = best->way, .placing = *placing};

    if (!evaluate(s, &c, false) || c.cycles.span >= best->cycles.span) {
        return false;
    }
    *best = c;
    return true;
}

/* One large buffer after the other begins elsewhere, from that one on. */
static void try_phases(struct search *s, struct candidate *best, unsigned first,
                       unsigned large, uint8_t phases)
{
    for (unsigned k = first; k < large && k < PLACE_LARGE; k++) {
        uint8_t was = best->placing.phase[k];
        for (uint8_t phase = 0; phase < phases; phase++) {
            struct placing how = best->placing;
            how.phase[k] = phase;
            if (phase != was) {
                try_placing(s, best, &how);
            }
        }
    }
}

void place_better(struct search *s, struct candidate *best, unsigned first)
{
    struct placing how = best->placing;
    unsigned large = 0;

    use_way(s, &best->way);
    for (unsigned i = 1; i < 4; i++) {
        how.banks = best->placing.banks ^ (i & 1);
        how.behind = best->placing.behind ^ (i >> 1);
        try_placing(s, best, &how);
    }
    for (unsigned b = 0; b < s->e.n_buffers; b++) {
        large += s->e.buffer[b].full;
    }
    try_phases(s, best, large > 1 ? first : 1, large, PLACE_PHASES);
    if (best->way.ring == 1 && first == 0) { /* as they lie by what was behind them then */
        try_phases(s, best, 0, large, 2);
    }
}
