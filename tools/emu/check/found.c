/* SPDX-License-Identifier: MIT
 *
 * What the race check has found; see found.h.
 */
#include "tools/emu/check/found.h"

void findings_open(struct findings *f, const struct check_host *host)
{
    *f = (struct findings){.host = host};
}

void findings_close(struct findings *f)
{
    if (f->finding) {
        f->host->free(f->host->ctx, f->finding, f->room * sizeof(*f->finding));
    }
    f->finding = NULL;
}

/* Where a command comes from: what was pushed by a function of the scheduler comes from
 * whoever called that. */
static uint64_t place(const struct record *x)
{
    return x->site.opcode ? x->site.pc ^ (x->site.caller << 20) : x->site.pc;
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
    const struct hint *hint =
        hints_find(&f->hints, p->core, p->mem, x->bytes ? x->base : p->addr);

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
    }
}

void findings_mixed(void *ctx, unsigned core, unsigned sem, unsigned lane_a,
                    unsigned lane_b)
{
    struct findings *f = ctx;

    if (f->n_mixed < MIXED_MOST) {
        f->mixed[f->n_mixed++] = (struct mixed){core, sem, lane_a, lane_b};
    }
}
