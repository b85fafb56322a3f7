/* SPDX-License-Identifier: MIT
 *
 * What the commands of hal/contract/vector_move.md share.
 */
#ifndef TOOLS_EMU_MODEL_OPS_VEC_MOVE_H
#define TOOLS_EMU_MODEL_OPS_VEC_MOVE_H

#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/ops/vec.h"

static inline unsigned vec_esize(const union cmd *cmd)
{
    return type_bits(cmd->head.type) / 8;
}

static inline uint64_t vec_ub_bytes(const struct op_ctx *c)
{
    return npu_mem_size((enum npu_profile)c->s->profile, NPU_MEM_UB);
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

/* No byte in common, each taken from its first to its last. */
static inline bool vec_apart(const struct access *a, const struct access *b)
{
    return access_extent(a) == 0 || access_extent(b) == 0 ||
           a->base + access_extent(a) <= b->base || b->base + access_extent(b) <= a->base;
}

/* Elements that a command works on in either mask mode, for the PMU. */
static inline uint64_t vec_ops(const struct op_ctx *c, unsigned esize, uint64_t repeats)
{
    return c->pipe->special[SPECIAL_MASK_COUNTER] ? c->pipe->special[SPECIAL_MASK_LO]
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
