/* SPDX-License-Identifier: MIT
 *
 * Slots of L1 that a candidate (cost.h) has, and what the hart records for them.
 */
#include "kernels/mm/cost.h"
#include "kernels/mm/inside.h"

enum { SLOTS_MORE = 2 /* than two */ };

/* Instructions of the hart to record the products of a chunk the first time, and of each slice
 * (tools/graph/price/cold.c). */
enum { RECORD = 950, RECORD_SLICE = 110 };

/* Bytes of a chunk of each operand in L1. */
static uint32_t chunk_bytes(const struct mm_search *s, uint32_t side, uint32_t k)
{
    return mm_up(side, s->unit_k) * mm_up(k, s->unit_k) * s->bits / 8;
}

static uint32_t small_bytes(const struct mm *mm, uint32_t n)
{
    uint32_t bias = mm->bias ? mm_up(n * MM_BIAS_BYTES, 64) : 0;

    return 2 * (bias + mm_fb_bytes(mm, n));
}

bool mm_share_l1(const struct mm_search *s, struct mm_candidate *c)
{
    const struct mm *mm = s->mm;
    uint32_t a = chunk_bytes(s, c->t.m, c->t.a_whole ? s->k : c->t.k);
    uint32_t b = mm_b_bytes(mm, chunk_bytes(s, c->t.n, c->t.k));
    uint32_t all = s->r.l1_bytes;
    uint32_t small = small_bytes(mm, c->t.n), needs;

    c->t.a_slots = (uint16_t)(c->t.a_stays ? c->chunks : c->t.a_whole ? 1 : 2);
    c->t.b_slots = (uint16_t)(c->t.b_stays ? c->chunks : 2);
    c->t.a_slots = (uint16_t)(c->t.a_slots * (c->t.a_stays ? mm_max(1, mm->a.given) : 1));
    c->t.b_slots = (uint16_t)(c->t.b_slots * (c->t.b_stays ? mm_max(1, mm->b.given) : 1));
    if (c->t.a_slots > MM_SLOTS || c->t.b_slots > MM_SLOTS) {
        return false;
    }
    needs = c->t.a_slots * a + c->t.b_slots * b + small;
    if (needs > all) {
        return false;
    }
    if (c->chunks == 1 && c->t.a_stays && needs + a <= all) {
        c->t.a_slots = 2; /* or each new panel would be waited for */
        needs += a;
    } else if (c->chunks == 1 && c->t.b_stays && needs + b <= all) {
        c->t.b_slots = 2;
        needs += b;
    }
    for (unsigned more = SLOTS_MORE; more; more--) { /* what streams */
        bool still = c->t.a_stays || c->t.a_whole;
        uint32_t bytes = (still ? 0 : a) + (c->t.b_stays ? 0 : b);
        if (needs + more * bytes <= all) {
            c->t.a_slots = (uint16_t)(c->t.a_slots + (still ? 0 : more));
            c->t.b_slots = (uint16_t)(c->t.b_slots + (c->t.b_stays ? 0 : more));
            break;
        }
    }
    return true;
}

bool mm_fewer_slots(struct mm_candidate *c)
{
    uint32_t keys = mm_keys_of(c);

    c->t.a_slots = (uint16_t)(c->t.a_stays ? c->t.a_slots : mm_min(c->t.a_slots, 2));
    c->t.b_slots = (uint16_t)(c->t.b_stays ? c->t.b_slots : mm_min(c->t.b_slots, 2));
    return mm_keys_of(c) < keys;
}

static uint32_t least_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a, y = b;

    while (y) {
        uint32_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

uint32_t mm_keys_of(const struct mm_candidate *c)
{
    return 4 * least_multiple(least_multiple(c->t.a_slots, c->t.b_slots), 2);
}

uint64_t mm_first_of(const struct mm_candidate *c)
{
    uint32_t pieces = mm_min(mm_count(c->nt, c->t.columns), 2);
    uint64_t each = RECORD + RECORD_SLICE * mm_count(c->t.k, c->t.slice);
    uint64_t records = (uint64_t)mm_min(mm_keys_of(c), c->rounds * c->chunks) * pieces * each;

    return records / MM_RUNS + mm_first_loads(c);
}
