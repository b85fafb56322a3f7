/* SPDX-License-Identifier: MIT
 *
 * What the commands of the Vector share; see vector.h.
 */
#include "tools/emu/model/ops/vector/vector.h"

#include "tools/emu/model/mem.h"

/* Repeats of a command, after the mask mode. */
uint64_t vec_repeats(const struct op_ctx *c, unsigned esize, unsigned repeat)
{
    return c->special[SPECIAL_MASK_COUNTER]
               ? div_up(c->special[SPECIAL_MASK_LO] * esize, 256)
               : repeat;
}

/* Elements of one repeat that take part, as a mask. */
void vec_lanes(const struct op_ctx *c, unsigned esize, uint64_t repeat, uint64_t lanes[2])
{
    uint64_t per_repeat = 256 / esize, left;

    if (!c->special[SPECIAL_MASK_COUNTER]) {
        lanes[0] = c->special[SPECIAL_MASK_LO];
        lanes[1] = esize == 2 ? c->special[SPECIAL_MASK_HI] : 0;
        return;
    }
    left = c->special[SPECIAL_MASK_LO] - repeat * per_repeat;
    lanes[0] = left >= 64 ? UINT64_MAX : (1ull << left) - 1;
    left = left > 64 ? left - 64 : 0;
    lanes[1] = esize == 4 ? 0 : left >= 64 ? UINT64_MAX : (1ull << left) - 1;
}

/* In counter mode an operand without gaps is one row, exactly as long as the count. */
bool vec_one_row(const struct op_ctx *c, unsigned blk, unsigned rep)
{
    return c->special[SPECIAL_MASK_COUNTER] && blk == 1 && rep == 8;
}

/* The lanes of a block of the repeat. */
uint64_t block_lanes(const uint64_t lanes[2], unsigned block, unsigned esize)
{
    unsigned per_block = 32 / esize, first = block * per_block;

    return lanes[first / 64] >> (first % 64) & ((1ull << per_block) - 1);
}

/* Writes the elements whose lanes are on; what lies between them is not touched. */
void vec_store(const struct op_ctx *c, unsigned repeat, unsigned blk, unsigned rep)
{
    unsigned esize = vec_esize(c);
    uint64_t full = (1ull << (32 / esize)) - 1, lanes[2];
    const uint8_t *stage = c->stage;

    if (vec_one_row(c, blk, rep)) {
        op_store_rows(c->to, stage, &c->plan->dst);
        return;
    }
    for (uint64_t r = 0; r < vec_repeats(c, esize, repeat); r++) {
        vec_lanes(c, esize, r, lanes);
        for (unsigned b = 0; b < 8; b++, stage += 32) {
            uint8_t *block = c->to + r * 32 * rep + b * 32ull * blk;
            uint64_t on = block_lanes(lanes, b, esize);
            for (unsigned i = 0; on != full && i < 32 / esize; i++) {
                if (on >> i & 1) {
                    memcpy(block + i * esize, stage + i * esize, esize);
                }
            }
            if (on == full) {
                memcpy(block, stage, 32);
            }
        }
    }
}

/* What an operand touches. */
struct access vec_access(const struct op_ctx *c, uint64_t repeats, struct vec_elements e)
{
    struct access a = access_rows(NPU_MEM_UB, e.field, e.base, 32, 8, e.blk);

    if (vec_one_row(c, (unsigned)(e.blk / 32), (unsigned)(e.rep / 32))) {
        uint64_t bytes = c->special[SPECIAL_MASK_LO] * e.esize;
        bytes = bytes < UINT32_MAX ? bytes : UINT32_MAX;
        return access_rows(NPU_MEM_UB, e.field, e.base, bytes, 1, bytes);
    }
    a.n[1] = (uint32_t)(repeats < UINT16_MAX ? repeats : UINT16_MAX);
    a.stride[1] = e.rep;
    return a;
}

/* Same bytes in the same order, or none in common: then it does not matter that all
 * sources are read before anything is written. */
bool vec_overlap(const struct access *dst, const struct access *src)
{
    bool same = dst->base == src->base && dst->row_bytes == src->row_bytes &&
                dst->stride[0] == src->stride[0] &&
                (dst->n[1] <= 1 || dst->stride[1] == src->stride[1]);

    return !access_apart(dst, src) && !same;
}

/* Cycles from the command's line in vector.def. */
void vec_cost(const struct op_ctx *c, uint64_t repeats)
{
    struct plan *plan = c->plan;
    const struct cmd_info *info = cmd_find(c->cmd->head.opcode);

    plan->fixed = info->fixed;
    plan->work =
        repeats * (type_bits(c->cmd->head.type) == 32 ? info->slope32 : info->slope16);
}
