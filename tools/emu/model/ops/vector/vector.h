/* SPDX-License-Identifier: MIT
 *
 * What the commands of the Vector share: repeats, masks, what an operand touches and how
 * results get from the stage to UB. Source: hal/contract/vector.md.
 */
#ifndef TOOLS_EMU_MODEL_OPS_VECTOR_VECTOR_H
#define TOOLS_EMU_MODEL_OPS_VECTOR_VECTOR_H

#include "hal/contract/cost.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/ops/op.h"

/* Repeats of a command with elements of esize bytes, after the mask mode. */
uint64_t vec_repeats(const struct op_ctx *c, unsigned esize, unsigned repeat);
/* Elements of one repeat that take part, as a mask. */
void vec_lanes(const struct op_ctx *c, unsigned esize, uint64_t repeat,
               uint64_t lanes[2]);
/* The lanes of one 32-byte block of the repeat. */
uint64_t block_lanes(const uint64_t lanes[2], unsigned block, unsigned esize);
/* In counter mode an operand without gaps is one row, exactly as long as the count. */
bool vec_one_row(const struct op_ctx *c, unsigned blk, unsigned rep);

/* Where the elements of an operand lie: those of a block side by side, blocks and repeats
 * at a distance in bytes. */
struct vec_elements {
    size_t field;
    uint64_t base;
    unsigned esize, per_block;
    uint64_t blk, rep;
};
/* Blocks of 32 bytes, distances in blocks. */
struct vec_elements vec_elements(size_t field, uint32_t base, unsigned esize,
                                 unsigned blk, unsigned rep);
/* What an operand of whole repeats of 8 blocks touches. */
struct access vec_access(const struct op_ctx *c, uint64_t repeats, struct vec_elements e);
/* Writes the elements whose lanes are on from the stage, which holds 256 bytes a repeat,
 * repeat by repeat and block by block; what lies between them is not touched. */
void vec_store(const struct op_ctx *c, unsigned repeat, unsigned blk, unsigned rep);

/* --- touch.c: for touch() --- */

/* Lanes that take part: those of `repeats` repeats that are alike, and of one behind
 * them, which the count of counter mode ends within. */
struct vec_lane_set {
    unsigned per_repeat;
    uint64_t repeats, on[2], tail[2];
};
/* By the mask or, in counter mode, of `count` elements. */
struct vec_lane_set vec_lane_set(const struct op_ctx *c, unsigned per_repeat,
                                 uint64_t repeats, uint64_t count);
/* Of whole repeats of 8 blocks of elements of esize bytes. */
struct vec_lane_set vec_lanes_of(const struct op_ctx *c, unsigned esize, unsigned repeat);
/* Bytes of a row of bits, one for each lane, of which one is on. */
struct vec_lane_set vec_lane_bytes(const struct vec_lane_set *l);

void vec_touch(const struct touch *t, enum touch_kind kind, const struct vec_elements *e,
               const struct vec_lane_set *l);
/* Bytes somewhere in UB. */
void vec_touch_row(const struct touch *t, enum touch_kind kind, size_t field,
                   uint64_t base, uint64_t bytes);

/* Cost from the command's line in vector.def. */
void vec_cost(const struct op_ctx *c, uint64_t repeats);
/* Work of the repeats in cycles, at least `slope` each: accesses to the same bank group
 * of UB go one after the other, and reading a bank that is being written waits
 * (vector.md); work->bank_wait comes from the profile. */
void vec_bank_cycles(const struct op_ctx *c, struct vec_work work,
                     const struct vec_operand *src, unsigned n_src,
                     const struct vec_operand *dst);
/* Not the same bytes in the same order, and not apart either. */
bool vec_overlap(const struct access *dst, const struct access *src);

static inline unsigned vec_esize(const struct op_ctx *c)
{
    return type_bits(c->cmd->head.type) / 8;
}

static inline uint64_t vec_ub_bytes(const struct op_ctx *c)
{
    return op_mem_size(c, NPU_MEM_UB);
}

/* Bytes side by side. */
static inline struct access vec_row(size_t field, uint32_t base, uint64_t bytes)
{
    return access_rows(NPU_MEM_UB, field, base, bytes < UINT32_MAX ? bytes : UINT32_MAX,
                       bytes != 0, bytes);
}

/* `bytes` somewhere in `extent` from base on: both sums are right, what lies within is
 * two halves at the ends. For commands that know more about it than an access can say. */
static inline struct access vec_hull(size_t field, uint64_t base, uint64_t extent,
                                     uint64_t bytes)
{
    return (struct access){.mem = NPU_MEM_UB,
                           .field = (uint8_t)field,
                           .row_bytes = (uint32_t)(bytes / 2),
                           .n = {2, 1, 1},
                           .base = base,
                           .stride = {extent - bytes / 2, 0, 0}};
}

/* Elements that a command works on in either mask mode, for the PMU. */
static inline uint64_t vec_ops(const struct op_ctx *c, unsigned esize, uint64_t repeats)
{
    return c->special[SPECIAL_MASK_COUNTER] ? c->special[SPECIAL_MASK_LO]
                                            : repeats * 256 / esize;
}

/* The elements of a block whose lanes are on; others are not even read. */
static inline void vec_copy_lanes(uint8_t *to, const uint8_t *from, unsigned esize,
                                  uint64_t on)
{
    if (on == (1ull << (32 / esize)) - 1) {
        memcpy(to, from, 32);
        return;
    }
    for (unsigned i = 0; i < 32 / esize; i++) {
        if (on >> i & 1) {
            memcpy(to + i * esize, from + i * esize, esize);
        }
    }
}

static inline uint32_t vec_word(const uint8_t *from)
{
    uint32_t word;

    memcpy(&word, from, 4);
    return word;
}

/* One element. */
static inline void vec_put(void *to, const void *from, unsigned esize)
{
    if (esize == 4) {
        memcpy(to, from, 4);
    } else if (esize == 2) {
        memcpy(to, from, 2);
    } else {
        memcpy(to, from, 1);
    }
}

/* An F32 element, or an F16 one in the upper half of its word, as an integer: in the
 * order of the numbers, -0 below +0, all NaN equal and above them. `infinity` is that of
 * the type in its place. */
static inline int32_t vec_order(uint32_t word, uint32_t infinity)
{
    int32_t order = (int32_t)(word ^ (uint32_t)((int32_t)word >> 31) >> 1);

    return (word & 0x7fffffffu) > infinity ? INT32_MAX : order;
}

#endif
