/* SPDX-License-Identifier: MIT
 *
 * The Vector. A command works on repeats of 8 blocks of 32 bytes; the mask says which
 * elements of a repeat take part (or, in counter mode, how many elements in all).
 * Elements that do not take part stay as they are. Source: hal/contract/vector.md.
 */
#include "tools/emu/model/mem.h"
#include "tools/emu/model/num.h"
#include "tools/emu/model/simd.h"
#include "tools/emu/model/state.h"

static unsigned set_mask_plan(const struct op_ctx *c, const union cmd *cmd,
                              struct plan *plan, uint8_t *field)
{
    (void)c;
    plan->fixed = 1;
    if ((cmd->head.flags & SET_MASK_COUNTER) &&
        (cmd->set_mask.hi || cmd->set_mask.lo > UINT32_MAX)) {
        *field = cmd->set_mask.hi ? offsetof(struct cmd_set_mask, hi)
                                  : offsetof(struct cmd_set_mask, lo);
        return NPU_ERR_RANGE;
    }
    return 0;
}

static void set_mask_run(const struct op_ctx *c, const union cmd *cmd,
                         const struct plan *plan, const uint8_t *const src[3],
                         uint8_t *stage)
{
    (void)plan;
    (void)src;
    (void)stage;
    c->pipe->vec_counter = cmd->head.flags & SET_MASK_COUNTER;
    c->pipe->vec_mask[0] = cmd->set_mask.lo;
    c->pipe->vec_mask[1] = cmd->set_mask.hi;
}

const struct operation op_SET_MASK = {set_mask_plan, set_mask_run};

/* Repeats of a command, after the mask mode. */
static uint64_t vec_repeats(const struct op_ctx *c, unsigned esize, unsigned repeat)
{
    return c->pipe->vec_counter ? div_up(c->pipe->vec_mask[0] * esize, 256) : repeat;
}

/* Elements of one repeat that take part, as a mask. */
static void vec_lanes(const struct op_ctx *c, unsigned esize, uint64_t repeat,
                      uint64_t lanes[2])
{
    uint64_t per_repeat = 256 / esize, left;

    if (!c->pipe->vec_counter) {
        lanes[0] = c->pipe->vec_mask[0];
        lanes[1] = esize == 2 ? c->pipe->vec_mask[1] : 0;
        return;
    }
    left = c->pipe->vec_mask[0] - repeat * per_repeat;
    lanes[0] = left >= 64 ? UINT64_MAX : (1ull << left) - 1;
    left = left > 64 ? left - 64 : 0;
    lanes[1] = esize == 4 ? 0 : left >= 64 ? UINT64_MAX : (1ull << left) - 1;
}

/* What an operand touches. In counter mode the last repeat ends with the last element,
 * so an operand without gaps is one row of exactly that length. */
static struct access vec_access(const struct op_ctx *c, size_t field, unsigned esize,
                                uint64_t repeats, uint32_t base, unsigned blk,
                                unsigned rep)
{
    uint32_t n = (uint32_t)(repeats < UINT16_MAX ? repeats : UINT16_MAX);
    struct access a = access_rows(NPU_MEM_UB, field, base, 32, 8, 32ull * blk);

    if (c->pipe->vec_counter && blk == 1 && rep == 8) {
        uint64_t bytes = c->pipe->vec_mask[0] * esize;
        bytes = bytes < UINT32_MAX ? bytes : UINT32_MAX;
        return access_rows(NPU_MEM_UB, field, base, bytes, 1, bytes);
    }
    a.n[1] = n;
    a.stride[1] = 32ull * rep;
    return a;
}

/* Same bytes in the same order, or none in common: then it does not matter that all
 * sources are read before anything is written. */
static bool vec_overlap(const struct access *dst, const struct access *src)
{
    bool apart = dst->base + access_extent(dst) <= src->base ||
                 src->base + access_extent(src) <= dst->base;
    bool same = dst->base == src->base && dst->row_bytes == src->row_bytes &&
                dst->stride[0] == src->stride[0] &&
                (dst->n[1] <= 1 || dst->stride[1] == src->stride[1]);

    return !apart && !same;
}

static unsigned vadd_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                          uint8_t *field)
{
    const struct cmd_vadd *a = &cmd->vadd;
    unsigned esize = type_bits(a->head.type) / 8;
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    plan->src[0] = vec_access(c, offsetof(struct cmd_vadd, src0), esize, repeats, a->src0,
                              a->src0_blk, a->src0_rep);
    plan->src[1] = vec_access(c, offsetof(struct cmd_vadd, src1), esize, repeats, a->src1,
                              a->src1_blk, a->src1_rep);
    plan->dst = vec_access(c, offsetof(struct cmd_vadd, dst), esize, repeats, a->dst,
                           a->dst_blk, a->dst_rep);
    plan->n_src = 2;
    plan->has_dst = true;
    for (unsigned i = 0; i < 2; i++) {
        if (repeats && vec_overlap(&plan->dst, &plan->src[i])) {
            *field = plan->src[i].field;
            return NPU_ERR_OVERLAP;
        }
    }
    plan->fixed = cost(c->s, COST_VEC_FIXED);
    plan->work = repeats * cost(c->s, COST_VEC_TWO_SOURCES);
    plan->ops = c->pipe->vec_counter ? c->pipe->vec_mask[0] : repeats * 256 / esize;
    return 0;
}

static void add_block_f32(uint8_t *to, const uint8_t *x, const uint8_t *y)
{
    for (unsigned i = 0; i < 8; i++) {
        float a, b;
        uint32_t sum;
        memcpy(&a, x + 4 * i, 4);
        memcpy(&b, y + 4 * i, 4);
        sum = num_canon(num_bits(a + b));
        memcpy(to + 4 * i, &sum, 4);
    }
}

/* The sum of two fp16 numbers, rounded to fp32 first: 24 bits are twice 11 and two
 * more, so rounding again to fp16 gives what rounding once would. */
static void add_block_f16(uint8_t *to, const uint8_t *x, const uint8_t *y)
{
    for (unsigned i = 0; i < 16; i++) {
        uint16_t a, b, sum;
        memcpy(&a, x + 2 * i, 2);
        memcpy(&b, y + 2 * i, 2);
        sum = num_f32_to_f16(
            num_bits(num_float(num_f16_to_f32(a)) + num_float(num_f16_to_f32(b))));
        memcpy(to + 2 * i, &sum, 2);
    }
}

/* Elements without a lane keep what the destination holds. */
static void keep_masked(uint8_t *block, const uint8_t *old, unsigned esize,
                        uint64_t lanes)
{
    for (unsigned i = 0; i < 32 / esize; i++) {
        if (!(lanes >> i & 1)) {
            memcpy(block + i * esize, old + i * esize, esize);
        }
    }
}

static void vadd_run(const struct op_ctx *c, const union cmd *cmd,
                     const struct plan *plan, const uint8_t *const src[3], uint8_t *stage)
{
    const struct cmd_vadd *a = &cmd->vadd;
    unsigned esize = type_bits(a->head.type) / 8;
    unsigned per_block = 32 / esize;
    uint64_t full = (1ull << per_block) - 1;
    const uint8_t *old = src[0] - plan->src[0].base + plan->dst.base;
    uint64_t repeats = vec_repeats(c, esize, a->repeat);
    unsigned fp = simd_fp_enter();

    for (uint32_t r = 0; r < repeats; r++) {
        uint64_t lanes[2];
        vec_lanes(c, esize, r, lanes);
        for (unsigned b = 0; b < 8; b++) {
            const uint8_t *x = src[0] + r * 32ull * a->src0_rep + b * 32ull * a->src0_blk;
            const uint8_t *y = src[1] + r * 32ull * a->src1_rep + b * 32ull * a->src1_blk;
            uint64_t on = lanes[b * per_block / 64] >> (b * per_block % 64) & full;
            if (esize == 4) {
                add_block_f32(stage, x, y);
            } else {
                add_block_f16(stage, x, y);
            }
            if (on != full) {
                keep_masked(stage, old + r * 32ull * a->dst_rep + b * 32ull * a->dst_blk,
                            esize, on);
            }
            stage += 32;
        }
    }
    simd_fp_leave(fp);
}

const struct operation op_VADD = {vadd_plan, vadd_run};
