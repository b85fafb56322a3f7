/* SPDX-License-Identifier: MIT
 *
 * Reductions of the Vector: a repeat, its blocks or its pairs to one result each. Sums
 * are a binary tree of neighbours, every addition rounded to the type; the order of
 * extremes is total. Source: hal/contract/vector_move.md, "Reductions".
 */
#include "tools/emu/model/simd.h"
#include "tools/emu/model/vec_move.h"
#include "tools/emu/model/vecnum.h"

/* Which of the three commands with a result that holds an index may have set. */
enum { INDEX_FIRST = VCMAX_INDEX_FIRST, VALUE_ONLY = VCMAX_VALUE_ONLY };
enum { INDEX_ONLY = VCMAX_INDEX_ONLY };
_Static_assert((int)VCMAX_INDEX_FIRST == (int)VCMIN_INDEX_FIRST &&
                   (int)VCMAX_VALUE_ONLY == (int)VCMIN_VALUE_ONLY &&
                   (int)VCMAX_INDEX_ONLY == (int)VCMIN_INDEX_ONLY,
               "VCMAX and VCMIN share their code");

/* Elements that become one result. */
static unsigned group(const union cmd *cmd)
{
    unsigned esize = vec_esize(cmd);

    switch (cmd->head.opcode) {
    case OP_VCPADD:
        return 2;
    case OP_VCGADD:
    case OP_VCGMAX:
    case OP_VCGMIN:
        return 32 / esize;
    default:
        return 256 / esize;
    }
}

static bool is_extreme(const union cmd *cmd)
{
    return cmd->head.opcode == OP_VCMAX || cmd->head.opcode == OP_VCMIN;
}

/* Bytes that one repeat gives, which is also the unit of dst_rep. */
static unsigned result_bytes(const union cmd *cmd)
{
    unsigned esize = vec_esize(cmd);

    if (!is_extreme(cmd)) {
        return 256 / group(cmd);
    }
    return cmd->head.flags & INDEX_ONLY   ? 4
           : cmd->head.flags & VALUE_ONLY ? esize
                                          : 2 * esize;
}

static unsigned reduce_check(const union cmd *cmd, const struct plan *plan,
                             uint64_t repeats, uint8_t *field)
{
    const struct cmd_vec_reduce *a = &cmd->vec_reduce;
    unsigned result = result_bytes(cmd), flags = a->head.flags;
    bool in_place =
        a->dst == a->src && a->src_blk == 1 &&
        (repeats <= 1 || (a->src_rep == 8 && (uint64_t)a->dst_rep * result <= 256));

    if (flags & (flags - 1)) {
        *field = offsetof(struct cmd_head, flags);
        return NPU_ERR_FLAGS;
    }
    if (a->dst % (result < 32 ? result : 32)) {
        *field = offsetof(struct cmd_vec_reduce, dst);
        return NPU_ERR_ALIGN;
    }
    if (!vec_apart(&plan->dst, &plan->src[0]) && !in_place) {
        *field = plan->src[0].field;
        return NPU_ERR_OVERLAP;
    }
    return 0;
}

static unsigned reduce_plan(const struct op_ctx *c, const union cmd *cmd,
                            struct plan *plan, uint8_t *field)
{
    const struct cmd_vec_reduce *a = &cmd->vec_reduce;
    unsigned esize = vec_esize(cmd), result = result_bytes(cmd);
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    plan->src[0] = vec_access(c, offsetof(struct cmd_vec_reduce, src), esize, repeats,
                              a->src, a->src_blk, a->src_rep);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_UB, offsetof(struct cmd_vec_reduce, dst), a->dst,
                            result, (uint32_t)repeats, (uint64_t)result * a->dst_rep);
    plan->has_dst = true;
    vec_cost(cmd, repeats, plan);
    plan->ops = vec_ops(c, esize, repeats);
    return reduce_check(cmd, plan, repeats, field);
}

/* Sum of n = 2^k values, neighbours first; a value of -0 changes nothing. */
static float tree(float *v, unsigned n, bool half)
{
    for (n /= 2; n; n /= 2) {
        for (unsigned i = 0; i < n; i++) {
            v[i] = v[2 * i] + v[2 * i + 1];
        }
        for (unsigned i = 0; half && i < n; i++) {
            v[i] = widen_f16(narrow_f16(v[i], ROUND_RINT));
        }
    }
    return v[0];
}

/* All elements of a block, in loops that a compiler makes vector instructions of. */
static void load_block(const uint8_t *block, unsigned esize, uint32_t *v)
{
    uint16_t half[16];

    if (esize == 4) {
        memcpy(v, block, 32);
    } else {
        memcpy(half, block, 32);
        for (unsigned i = 0; i < 16; i++) {
            v[i] = num_bits(widen_f16(half[i]));
        }
    }
    for (unsigned i = 0; i < 32 / esize; i++) {
        v[i] = (v[i] & 0x7fffffffu) > NUM_F32_INF ? NUM_F32_NAN : v[i];
    }
}

/* The elements of a repeat as fp32, `none` where a lane is off. */
static void load(const struct cmd_vec_reduce *a, unsigned esize, const uint8_t *src,
                 const uint64_t lanes[2], uint32_t none, uint32_t *v)
{
    unsigned per_block = 32 / esize;

    for (unsigned b = 0; b < 8; b++) {
        const uint8_t *block = src + b * 32ull * a->src_blk;
        uint64_t on = block_lanes(lanes, b, esize);
        if (on == (1ull << per_block) - 1) {
            load_block(block, esize, v);
            v += per_block;
            continue;
        }
        for (unsigned i = 0; i < per_block; i++) {
            *v++ = on >> i & 1 ? num_canon(vec_f32(block + i * esize, esize)) : none;
        }
    }
}

/* Lanes of the group that begins with lane `first`. */
static bool any_lane(const uint64_t lanes[2], unsigned first, unsigned n)
{
    return n == 128 ? lanes[0] || lanes[1]
                    : (lanes[first / 64] >> (first % 64) &
                       (n == 64 ? UINT64_MAX : (1ull << n) - 1)) != 0;
}

static uint8_t *put(uint8_t *to, uint32_t f32, unsigned esize)
{
    uint32_t bits = esize == 4 ? num_canon(f32) : num_f32_to_f16(f32);

    memcpy(to, &bits, esize);
    return to + esize;
}

/* Apart, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void sum_repeats(const struct op_ctx *c,
                                                  const union cmd *cmd,
                                                  const uint8_t *src, uint8_t *stage)
{
    const struct cmd_vec_reduce *a = &cmd->vec_reduce;
    unsigned esize = vec_esize(cmd), n = group(cmd);
    uint64_t repeats = vec_repeats(c, esize, a->repeat), lanes[2];
    uint32_t bits[128];
    float v[128];

    for (uint64_t r = 0; r < repeats; r++) {
        vec_lanes(c, esize, r, lanes);
        load(a, esize, src + r * 32 * a->src_rep, lanes, 0x80000000u, bits);
        memcpy(v, bits, sizeof(v));
        for (unsigned first = 0; first < 256 / esize; first += n) {
            float sum = tree(v + first, n, esize == 2);
            stage = put(stage, any_lane(lanes, first, n) ? num_bits(sum) : 0, esize);
        }
    }
}

static void sum_run(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                    const uint8_t *const src[3], uint8_t *stage)
{
    unsigned fp = simd_fp_enter();

    sum_repeats(c, cmd, src[0], stage);
    if (c->pipe->special[SPECIAL_SATURATE]) {
        unsigned esize = vec_esize(cmd);
        num_saturate(stage, esize, esize == 4 ? NUM_F32_INF : NUM_F16_INF,
                     access_bytes(&plan->dst) / esize);
    }
    simd_fp_leave(fp);
}

/* What stands for an element that takes no part: no canonical value. */
#define ABSENT UINT32_MAX

/* The first of the n values with the highest rank; a NaN ranks above all. */
static unsigned extreme(const uint32_t *v, unsigned n, bool min)
{
    unsigned best = 0;
    uint32_t highest = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t key = vec_key(v[i]);
        uint32_t rank = min && key != UINT32_MAX ? ~key : key;
        if (v[i] != ABSENT && rank > highest) {
            highest = rank;
            best = i;
        }
    }
    return best;
}

static uint8_t *put_with_index(uint8_t *to, unsigned flags, uint32_t f32, uint32_t index,
                               unsigned esize)
{
    if (flags & INDEX_ONLY) {
        memcpy(to, &index, 4);
        return to + 4;
    }
    if (flags & INDEX_FIRST) {
        memcpy(to, &index, esize);
        to += esize;
    }
    to = put(to, f32, esize);
    if (!flags) {
        memcpy(to, &index, esize);
        to += esize;
    }
    return to;
}

static void extreme_run(const struct op_ctx *c, const union cmd *cmd,
                        const struct plan *plan, const uint8_t *const src[3],
                        uint8_t *stage)
{
    const struct cmd_vec_reduce *a = &cmd->vec_reduce;
    unsigned esize = vec_esize(cmd), n = group(cmd);
    bool min = a->head.opcode == OP_VCMIN || a->head.opcode == OP_VCGMIN;
    uint32_t v[128] = {0}, none = min ? NUM_F32_INF : 0x80000000u | NUM_F32_INF;
    uint64_t repeats = vec_repeats(c, esize, a->repeat), lanes[2];

    (void)plan;
    for (uint64_t r = 0; r < repeats; r++) {
        vec_lanes(c, esize, r, lanes);
        load(a, esize, src[0] + r * 32 * a->src_rep, lanes, ABSENT, v);
        for (unsigned first = 0; first < 256 / esize; first += n) {
            unsigned best = extreme(v + first, n, min);
            uint32_t value = v[first + best] == ABSENT ? none : v[first + best];
            stage = is_extreme(cmd)
                        ? put_with_index(stage, a->head.flags, value, best, esize)
                        : put(stage, value, esize);
        }
    }
}

const struct operation op_VCADD = {reduce_plan, sum_run, NULL};
const struct operation op_VCGADD = {reduce_plan, sum_run, NULL};
const struct operation op_VCPADD = {reduce_plan, sum_run, NULL};
const struct operation op_VCMAX = {reduce_plan, extreme_run, NULL};
const struct operation op_VCMIN = {reduce_plan, extreme_run, NULL};
const struct operation op_VCGMAX = {reduce_plan, extreme_run, NULL};
const struct operation op_VCGMIN = {reduce_plan, extreme_run, NULL};
