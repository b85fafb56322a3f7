/* SPDX-License-Identifier: MIT
 *
 * One way to cut a program into tiles: emitted, with memory, its cycles; see search.h.
 */
#include <string.h>

#include "kernels/tile/bulk.h"
#include "kernels/tile/search.h"

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
