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
    c->pipe->special[SPECIAL_MASK_COUNTER] = cmd->head.flags & SET_MASK_COUNTER;
    c->pipe->special[SPECIAL_MASK_LO] = cmd->set_mask.lo;
    c->pipe->special[SPECIAL_MASK_HI] = cmd->set_mask.hi;
}

const struct operation op_SET_MASK = {set_mask_plan, set_mask_run, NULL};

/* Repeats of a command, after the mask mode. */
static uint64_t vec_repeats(const struct op_ctx *c, unsigned esize, unsigned repeat)
{
    return c->pipe->special[SPECIAL_MASK_COUNTER]
               ? div_up(c->pipe->special[SPECIAL_MASK_LO] * esize, 256)
               : repeat;
}

/* Elements of one repeat that take part, as a mask. */
static void vec_lanes(const struct op_ctx *c, unsigned esize, uint64_t repeat,
                      uint64_t lanes[2])
{
    uint64_t per_repeat = 256 / esize, left;

    if (!c->pipe->special[SPECIAL_MASK_COUNTER]) {
        lanes[0] = c->pipe->special[SPECIAL_MASK_LO];
        lanes[1] = esize == 2 ? c->pipe->special[SPECIAL_MASK_HI] : 0;
        return;
    }
    left = c->pipe->special[SPECIAL_MASK_LO] - repeat * per_repeat;
    lanes[0] = left >= 64 ? UINT64_MAX : (1ull << left) - 1;
    left = left > 64 ? left - 64 : 0;
    lanes[1] = esize == 4 ? 0 : left >= 64 ? UINT64_MAX : (1ull << left) - 1;
}

/* In counter mode an operand without gaps is one row, exactly as long as the count. */
static bool vec_one_row(const struct op_ctx *c, unsigned blk, unsigned rep)
{
    return c->pipe->special[SPECIAL_MASK_COUNTER] && blk == 1 && rep == 8;
}

/* The lanes of a block of the repeat. */
static uint64_t block_lanes(const uint64_t lanes[2], unsigned block, unsigned esize)
{
    unsigned per_block = 32 / esize, first = block * per_block;

    return lanes[first / 64] >> (first % 64) & ((1ull << per_block) - 1);
}

/* Writes the elements whose lanes are on; what lies between them is not touched. */
static void vec_store(const struct op_ctx *c, const struct plan *plan, unsigned esize,
                      unsigned repeat, unsigned blk, unsigned rep, uint8_t *to,
                      const uint8_t *stage)
{
    uint64_t full = (1ull << (32 / esize)) - 1, lanes[2];

    if (vec_one_row(c, blk, rep)) {
        store_rows(to, stage, &plan->dst);
        return;
    }
    for (uint64_t r = 0; r < vec_repeats(c, esize, repeat); r++) {
        vec_lanes(c, esize, r, lanes);
        for (unsigned b = 0; b < 8; b++, stage += 32) {
            uint8_t *block = to + r * 32 * rep + b * 32ull * blk;
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
static struct access vec_access(const struct op_ctx *c, size_t field, unsigned esize,
                                uint64_t repeats, uint32_t base, unsigned blk,
                                unsigned rep)
{
    uint32_t n = (uint32_t)(repeats < UINT16_MAX ? repeats : UINT16_MAX);
    struct access a = access_rows(NPU_MEM_UB, field, base, 32, 8, 32ull * blk);

    if (vec_one_row(c, blk, rep)) {
        uint64_t bytes = c->pipe->special[SPECIAL_MASK_LO] * esize;
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

/* Cycles from the command's line in vector.def. */
static void vec_cost(const union cmd *cmd, uint64_t repeats, struct plan *plan)
{
    const struct cmd_info *info = cmd_find(cmd->head.opcode);

    plan->fixed = info->fixed;
    plan->work =
        repeats * (type_bits(cmd->head.type) == 32 ? info->slope32 : info->slope16);
}

static unsigned vadd_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                          uint8_t *field)
{
    const struct cmd_vec2 *a = &cmd->vec2;
    unsigned esize = type_bits(a->head.type) / 8;
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    plan->src[0] = vec_access(c, offsetof(struct cmd_vec2, src0), esize, repeats, a->src0,
                              a->src0_blk, a->src0_rep);
    plan->src[1] = vec_access(c, offsetof(struct cmd_vec2, src1), esize, repeats, a->src1,
                              a->src1_blk, a->src1_rep);
    plan->dst = vec_access(c, offsetof(struct cmd_vec2, dst), esize, repeats, a->dst,
                           a->dst_blk, a->dst_rep);
    plan->n_src = 2;
    plan->has_dst = true;
    for (unsigned i = 0; i < 2; i++) {
        if (repeats && vec_overlap(&plan->dst, &plan->src[i])) {
            *field = plan->src[i].field;
            return NPU_ERR_OVERLAP;
        }
    }
    vec_cost(cmd, repeats, plan);
    plan->ops = c->pipe->special[SPECIAL_MASK_COUNTER] ? c->pipe->special[SPECIAL_MASK_LO]
                                                       : repeats * 256 / esize;
    return 0;
}

/* One element, as bits. */
static uint32_t add_f32(uint32_t a, uint32_t b)
{
    return num_canon(num_bits(num_float(a) + num_float(b)));
}

/* Rounded to fp32 first: 24 bits are twice 11 and two more, so rounding that to fp16
 * gives what rounding the sum once would. */
static uint16_t add_f16(uint16_t a, uint16_t b)
{
    return num_f32_to_f16(
        num_bits(num_float(num_f16_to_f32(a)) + num_float(num_f16_to_f32(b))));
}

/* The elements of a block whose lanes are on. */
static void add_block(uint8_t *to, const uint8_t *x, const uint8_t *y, unsigned esize,
                      uint64_t on)
{
    for (unsigned i = 0; i < 32 / esize; i++) {
        uint32_t a = 0, b = 0, sum;
        if (on >> i & 1) {
            memcpy(&a, x + i * esize, esize);
            memcpy(&b, y + i * esize, esize);
            sum = esize == 4 ? add_f32(a, b) : add_f16((uint16_t)a, (uint16_t)b);
            memcpy(to + i * esize, &sum, esize);
        }
    }
}

/* Apart, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void add_repeats(const struct op_ctx *c,
                                                  const struct cmd_vec2 *a,
                                                  const uint8_t *const src[3],
                                                  uint8_t *stage)
{
    unsigned esize = type_bits(a->head.type) / 8;
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    for (uint64_t r = 0; r < repeats; r++) {
        uint64_t lanes[2];
        vec_lanes(c, esize, r, lanes);
        for (unsigned b = 0; b < 8; b++, stage += 32) {
            const uint8_t *x = src[0] + r * 32 * a->src0_rep + b * 32ull * a->src0_blk;
            const uint8_t *y = src[1] + r * 32 * a->src1_rep + b * 32ull * a->src1_blk;
            add_block(stage, x, y, esize, block_lanes(lanes, b, esize));
        }
    }
}

static void vadd_run(const struct op_ctx *c, const union cmd *cmd,
                     const struct plan *plan, const uint8_t *const src[3], uint8_t *stage)
{
    unsigned fp = simd_fp_enter();

    (void)plan;
    add_repeats(c, &cmd->vec2, src, stage);
    simd_fp_leave(fp);
}

static void vadd_store(const struct op_ctx *c, const union cmd *cmd,
                       const struct plan *plan, uint8_t *to, const uint8_t *stage)
{
    const struct cmd_vec2 *a = &cmd->vec2;

    vec_store(c, plan, type_bits(a->head.type) / 8, a->repeat, a->dst_blk, a->dst_rep, to,
              stage);
}

const struct operation op_VADD = {vadd_plan, vadd_run, vadd_store};
