/* SPDX-License-Identifier: MIT
 *
 * What a command costs, as arithmetic over the numbers of vector.def, profile.def and the
 * like. The model times commands with these functions and who plans commands predicts
 * with them, so that both give the same cycles. Freestanding. Source: vector.md, "Banks",
 * and mte.md.
 */
#ifndef HAL_CONTRACT_COST_H
#define HAL_CONTRACT_COST_H

#include "hal/contract/contract.h"

/* One operand of an element command: where its blocks lie. An operand of bits (esize 0)
 * lies side by side and has no block. */
struct vec_operand {
    size_t field; /* offset in the command */
    uint32_t base;
    uint8_t esize;
    uint16_t blk, rep; /* blocks from block to block, from repeat to repeat */
};

/* The repeats of a command: how many, their elements, and the least that one takes. */
struct vec_work {
    uint64_t repeats;
    unsigned per_repeat, slope;
    uint32_t bank_wait; /* COST_VEC_BANK_WAIT */
};

/* What they take, and how much of it is conflicts. */
struct vec_cycles {
    uint64_t all, group, bank;
};

/* How many blocks lie in each of the UB_GROUPS groups: 4 bits a group, since an operand
 * has at most 8 blocks a repeat. */
static inline uint64_t cost_groups(const struct vec_operand *o, unsigned per_repeat)
{
    unsigned at = o->base / 32;
    uint64_t n = 0;

    for (unsigned b = per_repeat * o->esize / 32; b != 0; b--, at += o->blk) {
        n += 1ull << at % UB_GROUPS * 4;
    }
    return n;
}

/* The same `by` groups further. */
static inline uint64_t cost_turn(uint64_t groups, unsigned by)
{
    unsigned bits = by % UB_GROUPS * 4;

    return groups << bits | groups >> (-bits & 63);
}

/* The groups that have a block at all: bit 0 of their 4. */
static inline uint64_t cost_used(uint64_t groups)
{
    groups |= groups >> 1;
    groups |= groups >> 2;
    return groups & 0x1111111111111111;
}

/* The most that one group has of all operands together, or `least` if that is more. */
static inline unsigned cost_most(const uint64_t *groups, unsigned n, unsigned least)
{
    const uint64_t low = 0x0f0f0f0f0f0f0f0f, ones = 0x0101010101010101;
    uint64_t even = 0, odd = 0;

    for (unsigned i = 0; i < n; i++) {
        even += groups[i] & low;
        odd += groups[i] >> 4 & low;
    }
    while (((even + (127 - least) * ones) | (odd + (127 - least) * ones)) & (ones << 7)) {
        least++;
    }
    return least;
}

/* The bank of a repeat is that of its first block. */
static inline uint64_t cost_bank(const struct vec_operand *o, uint64_t r)
{
    return (o->base + r * 32 * o->rep) / UB_BANK_SPAN;
}

/* Repeats of a pattern of `period` that are number r of it. */
static inline uint64_t cost_share(uint64_t repeats, unsigned period, unsigned r)
{
    return repeats / period + (r < repeats % period);
}

/* Repeats r = first, first + period .. that read a bank which repeat r - 1 is written to.
 */
static inline uint64_t cost_clashes(const struct vec_operand *src,
                                    const struct vec_operand *dst, uint64_t repeats,
                                    unsigned period, unsigned first)
{
    uint64_t n = 0, last = repeats - 1;
    bool fixed = cost_bank(src, 0) == cost_bank(src, last) &&
                 cost_bank(dst, 0) == cost_bank(dst, last);

    if (fixed) {
        return cost_bank(src, 0) == cost_bank(dst, 0)
                   ? cost_share(repeats, period, first) - (first == 0)
                   : 0;
    }
    for (uint64_t r = first; r < repeats; r += period) {
        n += r != 0 && cost_bank(src, r) == cost_bank(dst, r - 1);
    }
    return n;
}

/* After how many repeats the groups are the same again. */
static inline unsigned cost_period(const struct vec_operand *src, unsigned n_src,
                                   const struct vec_operand *dst)
{
    unsigned strides = dst->rep, period = UB_GROUPS;

    for (unsigned i = 0; i < n_src; i++) {
        strides |= src[i].rep;
    }
    while (period > 1 && strides % 2 == 0) {
        strides /= 2;
        period /= 2;
    }
    return period;
}

/* Cycles of the repeats of an element command with up to 3 sources: accesses to the same
 * bank group of UB go one after the other, and reading a bank that is being written
 * waits. */
static inline struct vec_cycles cost_vec_repeats(const struct vec_work *w,
                                                 const struct vec_operand *src,
                                                 unsigned n_src,
                                                 const struct vec_operand *dst)
{
    unsigned period = cost_period(src, n_src, dst), least;
    uint64_t reads[3], now[3], writes = cost_groups(dst, w->per_repeat);
    uint64_t cycles = 0, waits = 0;
    struct vec_cycles c;

    for (unsigned i = 0; i < n_src; i++) {
        reads[i] = cost_groups(&src[i], w->per_repeat);
    }
    least = cost_most(&writes, 1, w->slope);
    for (unsigned r = 0; r < period && r < w->repeats; r++) {
        /* The write of the repeat before; the pattern is periodic. */
        uint64_t written = cost_used(cost_turn(writes, (r + UB_GROUPS - 1) * dst->rep)),
                 here = 0;
        for (unsigned i = 0; i < n_src; i++) {
            now[i] = cost_turn(reads[i], r * src[i].rep);
            if (cost_used(now[i]) & written) {
                uint64_t n = cost_clashes(&src[i], dst, w->repeats, period, r);
                here = n > here ? n : here;
            }
        }
        cycles += cost_share(w->repeats, period, r) * cost_most(now, n_src, least);
        waits += here;
    }
    c.group = cycles - w->slope * w->repeats;
    c.bank = (waits * w->bank_wait + 50) / 100;
    c.all = cycles + c.bank;
    return c;
}

/* Cycles that rows read from GM take at the least: short ones count as `row_least` bytes
 * (COST_GM_ROW_BYTES). */
static inline uint64_t cost_gm_rows(uint64_t rows, uint64_t row_bytes, uint32_t row_least,
                                    uint32_t rate)
{
    uint64_t bytes = (row_bytes < row_least ? row_least : row_bytes) * rows;

    return row_bytes ? (bytes + rate - 1) / rate : 0;
}

/* Bytes of a row of GM that are slow because it begins between two lines and ends beyond
 * the first; so many percent slower (COST_GM_UNALIGNED). A short row is one line. */
static inline uint64_t cost_gm_unaligned(uint64_t first, uint64_t row_bytes)
{
    uint64_t off = first % L2_LINE_BYTES;

    return off == 0 || off + row_bytes <= L2_LINE_BYTES ? 0
           : row_bytes < L2_LINE_BYTES                  ? L2_LINE_BYTES
                                                        : row_bytes;
}

/* Cycles of a command that nothing holds up: its work at its own rate, but at least so
 * many cycles. No command takes none. */
static inline uint64_t cost_cycles(uint64_t fixed, uint64_t work, uint64_t rate,
                                   uint64_t at_least)
{
    uint64_t alone = (work + rate - 1) / rate;
    uint64_t cycles = fixed + (alone > at_least ? alone : at_least);

    return cycles ? cycles : 1;
}

#endif
