/* SPDX-License-Identifier: MIT
 *
 * What bank conflicts in UB cost. A block's group is bits 8:5 of its address, its bank
 * within the group what lies above bit 16. Source: hal/contract/vector.md, "Banks".
 */
#include "tools/emu/model/ops/vector.h"

/* Blocks that repeat r of an operand has in each group, added to n[]. */
static uint16_t groups(const struct vec_operand *o, uint64_t r, unsigned per_repeat,
                       uint8_t n[UB_GROUPS])
{
    unsigned at = o->base / 32 + (unsigned)(r * o->rep % UB_GROUPS);
    uint16_t set = 0;

    for (unsigned b = 0; b < per_repeat * o->esize / 32; b++, at += o->blk) {
        n[at % UB_GROUPS]++;
        set |= (uint16_t)(1u << at % UB_GROUPS);
    }
    return set;
}

static unsigned most(const uint8_t n[UB_GROUPS])
{
    unsigned m = 0;

    for (unsigned i = 0; i < UB_GROUPS; i++) {
        m = n[i] > m ? n[i] : m;
    }
    return m;
}

/* The bank of a repeat is that of its first block. */
static uint64_t bank(const struct vec_operand *o, uint64_t r)
{
    return (o->base + r * 32 * o->rep) / UB_BANK_SPAN;
}

/* Repeats of a pattern of `period` that are number r of it. */
static uint64_t share(uint64_t repeats, unsigned period, unsigned r)
{
    return repeats / period + (r < repeats % period);
}

/* Repeats r = first, first + period .. that read a bank which repeat r - 1 is written to.
 */
static uint64_t clashes(const struct vec_operand *src, const struct vec_operand *dst,
                        uint64_t repeats, unsigned period, unsigned first)
{
    uint64_t n = 0, last = repeats - 1;
    bool fixed = bank(src, 0) == bank(src, last) && bank(dst, 0) == bank(dst, last);

    if (fixed) {
        return bank(src, 0) == bank(dst, 0) ? share(repeats, period, first) - (first == 0)
                                            : 0;
    }
    for (uint64_t r = first; r < repeats; r += period) {
        n += r != 0 && bank(src, r) == bank(dst, r - 1);
    }
    return n;
}

void vec_bank_cycles(const struct op_ctx *c, const struct vec_operand *src,
                     unsigned n_src, const struct vec_operand *dst, uint64_t repeats,
                     unsigned per_repeat, unsigned slope)
{
    struct plan *plan = c->plan;
    unsigned strides = dst->rep, period = UB_GROUPS;
    uint64_t cycles = 0, waits = 0;

    for (unsigned i = 0; i < n_src; i++) {
        strides |= src[i].rep;
    }
    while (period > 1 && strides % 2 == 0) {
        strides /= 2;
        period /= 2;
    }
    for (unsigned r = 0; r < period && r < repeats; r++) {
        uint8_t reads[UB_GROUPS] = {0}, writes[UB_GROUPS] = {0};
        /* The write of the repeat before; the pattern is periodic. */
        uint16_t written = groups(dst, r + UB_GROUPS - 1, per_repeat, writes);
        uint64_t here = 0;
        unsigned worst;
        for (unsigned i = 0; i < n_src; i++) {
            if (groups(&src[i], r, per_repeat, reads) & written) {
                uint64_t n = clashes(&src[i], dst, repeats, period, r);
                here = n > here ? n : here;
            }
        }
        worst = most(reads) > most(writes) ? most(reads) : most(writes);
        cycles += share(repeats, period, r) * (worst > slope ? worst : slope);
        waits += here;
    }
    plan->bank_group = cycles - slope * repeats;
    plan->bank = (waits * op_cost(c, COST_VEC_BANK_WAIT) + 50) / 100;
    plan->work = cycles + plan->bank;
}
