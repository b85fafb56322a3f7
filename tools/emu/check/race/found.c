/* SPDX-License-Identifier: MIT
 *
 * What the race check has found; see found.h.
 */
#include "tools/emu/check/race/found.h"

void findings_open(struct findings *f, const struct check_host *host)
{
    *f = (struct findings){.host = host};
    tape_open(&f->tape, host);
}

void findings_close(struct findings *f)
{
    if (f->finding) {
        f->host->free(f->host->ctx, f->finding, f->room * sizeof(*f->finding));
    }
    if (f->instance) {
        f->host->free(f->host->ctx, f->instance, f->instance_room * sizeof(*f->instance));
    }
    tape_close(&f->tape);
    f->finding = NULL;
    f->instance = NULL;
}

static uint64_t place(const struct record *x)
{
    return race_place(x->site.pc, x->site.opcode ? x->site.caller : 0, x->site.opcode);
}

static bool same(const struct finding *f, const struct race_pair *p)
{
    uint64_t a = place(&f->a), b = place(&f->b), x = place(p->a), y = place(p->b);

    return f->mem == p->mem && f->inexact == p->inexact &&
           ((a == x && b == y) || (a == y && b == x));
}

static void grow(struct findings *f)
{
    uint32_t room = f->room ? 2 * f->room : 16;

    f->finding = host_grow(f->host, f->finding, f->room * sizeof(*f->finding),
                           room * sizeof(*f->finding));
    f->room = room;
}

/* The buffer in which an operand begins; an access of the hart's has no other bytes. */
static struct hint buffer_of(const struct findings *f, const struct race_pair *p,
                             const struct record *x)
{
    uint64_t at = x->bytes ? x->base : p->addr;
    const struct hint *hint = hints_find(&f->hints, p->core, p->mem, at);
    struct hint block = {0};

    if (p->mem == NPU_MEM_GM && f->block && f->block(at, &block)) {
        return block;
    }
    return hint ? *hint : (struct hint){0};
}

/* The finding of a pair's places, which may be new; NULL if there are too many. */
static struct finding *find(struct findings *f, const struct race_pair *p)
{
    uint64_t key = place(p->a) + place(p->b) + p->mem;
    uint32_t *bucket = &f->bucket[(key ^ key >> 8 ^ key >> 16) % FINDING_BUCKETS];

    for (uint32_t i = *bucket; i; i = f->finding[i - 1].next) {
        if (same(&f->finding[i - 1], p)) {
            return &f->finding[i - 1];
        }
    }
    if (f->n == FINDINGS_MOST) {
        return NULL;
    }
    if (f->n == f->room) {
        grow(f);
    }
    f->finding[f->n] = (struct finding){.a = *p->a,
                                        .b = *p->b,
                                        .core = p->core,
                                        .mem = p->mem,
                                        .addr = p->addr,
                                        .inexact = p->inexact,
                                        .buffer_a = buffer_of(f, p, p->a),
                                        .buffer_b = buffer_of(f, p, p->b),
                                        .next = *bucket};
    *bucket = ++f->n;
    return &f->finding[f->n - 1];
}

/* The cells of one pair come one after the other. */
static bool again(const struct finding *f, const struct race_pair *p)
{
    return f->last_a == p->a->serial && f->last_b == p->b->serial;
}

static void remember(struct findings *f, const struct finding *finding,
                     const struct race_pair *p)
{
    uint32_t room = f->instance_room ? 2 * f->instance_room : 64;

    if (finding->count > INSTANCES_MOST || f->tape.n == 0) {
        return; /* there are enough, or nothing is on record */
    }
    if (f->n_instances == f->instance_room) {
        f->instance =
            host_grow(f->host, f->instance, f->instance_room * sizeof(*f->instance),
                      room * sizeof(*f->instance));
        f->instance_room = room;
    }
    f->instance[f->n_instances++] =
        (struct instance){.finding = (uint32_t)(finding - f->finding),
                          .segment = tape_keep(&f->tape),
                          .serial_a = p->a->serial,
                          .serial_b = p->b->serial,
                          .lane_a = (uint16_t)p->a->lane,
                          .lane_b = (uint16_t)p->b->lane};
}

void findings_add(void *ctx, const struct race_pair *p)
{
    struct findings *f = ctx;
    struct finding *finding = find(f, p);

    if (!finding) {
        f->lost++;
    } else if (!again(finding, p)) {
        finding->count++;
        finding->last_a = p->a->serial;
        finding->last_b = p->b->serial;
        remember(f, finding, p);
    }
}

static uint64_t site(const struct race_site *s)
{
    return race_place(s->pc, s->opcode ? s->caller : 0, s->opcode);
}

/* Of the same two places. */
static bool same_contest(const struct race_mixed *x, const struct race_mixed *y)
{
    uint64_t a = site(&x->site_a), b = site(&x->site_b);
    uint64_t c = site(&y->site_a), d = site(&y->site_b);

    return x->takes && ((a == c && b == d) || (a == d && b == c));
}

void findings_mixed(void *ctx, const struct race_mixed *mixed)
{
    struct findings *f = ctx;

    for (unsigned i = 0; i < f->n_mixed && mixed->takes; i++) {
        if (same_contest(&f->mixed[i], mixed)) {
            return;
        }
    }
    if (f->n_mixed < MIXED_MOST) {
        f->mixed[f->n_mixed++] = *mixed;
    }
}
