/* SPDX-License-Identifier: MIT
 *
 * Reductions of the Vector: a repeat, its blocks or its pairs to one result each. Sums
 * are a binary tree of neighbours, every addition rounded to the type; the order of
 * extremes is total. Source: hal/contract/vector_reduce.md, "Reductions".
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/arith/half.h"
#include "tools/emu/model/arith/simd.h"
#include "tools/emu/model/ops/vector/vector.h"

/* Which of the three commands with a result that holds an index may have set. */
enum { INDEX_FIRST = VCMAX_INDEX_FIRST, VALUE_ONLY = VCMAX_VALUE_ONLY };
enum { INDEX_ONLY = VCMAX_INDEX_ONLY };
_Static_assert((int)VCMAX_INDEX_FIRST == (int)VCMIN_INDEX_FIRST &&
                   (int)VCMAX_VALUE_ONLY == (int)VCMIN_VALUE_ONLY &&
                   (int)VCMAX_INDEX_ONLY == (int)VCMIN_INDEX_ONLY,
               "VCMAX and VCMIN share their code");

/* Elements that become one result. */
static unsigned group(const struct op_ctx *c)
{
    unsigned esize = vec_esize(c);

    switch (c->cmd->head.opcode) {
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

static bool is_extreme(const struct op_ctx *c)
{
    return c->cmd->head.opcode == OP_VCMAX || c->cmd->head.opcode == OP_VCMIN;
}

/* Bytes that one repeat gives, which is also the unit of dst_rep. */
static unsigned result_bytes(const struct op_ctx *c)
{
    unsigned esize = vec_esize(c);

    if (!is_extreme(c)) {
        return 256 / group(c);
    }
    return c->cmd->head.flags & INDEX_ONLY   ? 4
           : c->cmd->head.flags & VALUE_ONLY ? esize
                                             : 2 * esize;
}

static unsigned reduce_check(const struct op_ctx *c, uint64_t repeats)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_reduce *a = &c->cmd->vec_reduce;
    unsigned result = result_bytes(c), flags = a->head.flags;
    bool in_place =
        a->dst == a->src && a->src_blk == 1 &&
        (repeats <= 1 || (a->src_rep == 8 && (uint64_t)a->dst_rep * result <= 256));

    if (flags & (flags - 1)) {
        return op_fail(c, offsetof(struct cmd_head, flags), NPU_ERR_FLAGS);
    }
    if (a->dst % (result < 32 ? result : 32)) {
        return op_fail(c, offsetof(struct cmd_vec_reduce, dst), NPU_ERR_ALIGN);
    }
    if (!access_apart(&plan->dst, &plan->src[0]) && !in_place) {
        return op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static unsigned reduce_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_reduce *a = &c->cmd->vec_reduce;
    unsigned esize = vec_esize(c), result = result_bytes(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    plan->src[0] = vec_access(c, repeats,
                              vec_elements(offsetof(struct cmd_vec_reduce, src), a->src,
                                           esize, a->src_blk, a->src_rep));
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_UB, offsetof(struct cmd_vec_reduce, dst), a->dst,
                            result, (uint32_t)repeats, (uint64_t)result * a->dst_rep);
    plan->has_dst = true;
    vec_cost(c, repeats);
    plan->ops = vec_ops(c, esize, repeats);
    return reduce_check(c, repeats);
}

/* --- execution --- */

enum { PART = 8 }; /* repeats that are worked on together */

/* A run of a reduction. */
struct job {
    const struct op_ctx *c;
    const struct cmd_vec_reduce *a;
    const uint8_t *src;
    unsigned esize, per_repeat, group;
    uint64_t repeats;
};

static struct job job_of(const struct op_ctx *c, const uint8_t *src)
{
    struct job j = {.c = c, .a = &c->cmd->vec_reduce, .src = src};

    j.esize = vec_esize(c);
    j.per_repeat = 256 / j.esize;
    j.group = group(c);
    j.repeats = vec_repeats(c, j.esize, j.a->repeat);
    return j;
}

/* Lanes of repeat r; true if all are on. */
static bool lanes_on(const struct job *j, uint64_t r, uint64_t lanes[2])
{
    vec_lanes(j->c, j->esize, r, lanes);
    return !~lanes[0] && (j->esize == 4 || !~lanes[1]);
}

/* The blocks of n repeats from r on, side by side. One without lanes is not read. */
static void collect(const struct job *j, uint64_t r, unsigned n, uint8_t *to)
{
    uint64_t lanes[2];

    for (uint64_t end = r + n; r < end; r++) {
        const uint8_t *from = j->src + r * 32 * j->a->src_rep;
        if (lanes_on(j, r, lanes) && j->a->src_blk == 1) {
            memcpy(to, from, 256);
            to += 256;
            continue;
        }
        for (unsigned b = 0; b < 8; b++, from += 32ull * j->a->src_blk, to += 32) {
            if (block_lanes(lanes, b, j->esize)) {
                memcpy(to, from, 32);
            } else {
                memset(to, 0, 32);
            }
        }
    }
}

/* Lanes that are off, replaced. Repeats often have the same. */
static void drop_lanes(const struct job *j, uint64_t r, unsigned n, uint32_t none,
                       uint32_t *v)
{
    uint64_t lanes[2], known[2] = {0};
    uint32_t keep[128] = {0};
    const unsigned per_repeat = j->per_repeat;

    for (uint64_t end = r + n; r < end; r++, v += per_repeat) {
        if (lanes_on(j, r, lanes)) {
            continue;
        }
        if (lanes[0] != known[0] || lanes[1] != known[1]) {
            for (unsigned i = 0; i < per_repeat; i++) {
                keep[i] = 0u - (uint32_t)(lanes[i / 64] >> (i % 64) & 1);
            }
            memcpy(known, lanes, sizeof(known));
        }
        for (unsigned i = 0; i < per_repeat; i++) {
            v[i] = (v[i] & keep[i]) | (none & ~keep[i]);
        }
    }
}

/* --- sums --- */

/* One sum for two neighbours, n times; bits of fp32, or of the floats of half.h. */
static inline void add_pairs(uint32_t *restrict to, const uint32_t *restrict v, size_t n,
                             bool half)
{
    for (size_t i = 0; i < n; i++) {
        float sum = num_float(v[2 * i]) + num_float(v[2 * i + 1]);
        to[i] = num_bits(half ? half_round(sum) : sum);
    }
}

/* Lanes of the group that begins with lane `first`. */
static bool any_lane(const uint64_t lanes[2], unsigned first, unsigned n)
{
    return n == 128 ? lanes[0] || lanes[1]
                    : (lanes[first / 64] >> (first % 64) &
                       (n == 64 ? UINT64_MAX : (1ull << n) - 1)) != 0;
}

/* The sum of no element is +0. */
static void sum_of_none(const struct job *j, uint64_t r, unsigned n, uint32_t *v)
{
    uint64_t lanes[2];

    for (uint64_t end = r + n; r < end; r++, v += j->per_repeat / j->group) {
        if (!lanes_on(j, r, lanes)) {
            for (unsigned i = 0; i < j->per_repeat; i += j->group) {
                v[i / j->group] = any_lane(lanes, i, j->group) ? v[i / j->group] : 0;
            }
        }
    }
}

/* Those of n repeats from r on to the stage. Apart, for the sake of simd_fp_enter. A
 * lane that is off is -0, which changes nothing. */
static __attribute__((noinline)) void sum_part(const struct job *j, uint64_t r,
                                               unsigned n, uint8_t *stage)
{
    uint32_t v[2][PART * 128], *from = v[0], *to = v[1], *swap;
    size_t left = (size_t)n * j->per_repeat;
    uint16_t half[PART * 128];

    collect(j, r, n, j->esize == 4 ? (uint8_t *)from : (uint8_t *)half);
    for (size_t i = 0; j->esize == 2 && i < left; i++) {
        from[i] = num_bits(half_up(half[i]));
    }
    drop_lanes(j, r, n, 0x80000000u, from);
    for (unsigned size = j->group; size > 1; size /= 2) {
        left /= 2;
        if (j->esize == 4) {
            add_pairs(to, from, left, false);
        } else {
            add_pairs(to, from, left, true);
        }
        swap = from;
        from = to;
        to = swap;
    }
    sum_of_none(j, r, n, from);
    if (j->esize == 4) {
        for (size_t i = 0; i < left; i++) {
            to[i] = num_canon(from[i]);
        }
        memcpy(stage, to, 4 * left);
    } else {
        for (size_t i = 0; i < left; i++) {
            half[i] = half_down(num_float(from[i]));
        }
        memcpy(stage, half, 2 * left);
    }
}

static void sum_run(const struct op_ctx *c)
{
    struct job j = job_of(c, c->src[0]);
    unsigned fp = simd_fp_enter();

    for (uint64_t r = 0; r < j.repeats; r += PART) {
        unsigned n = j.repeats - r < PART ? (unsigned)(j.repeats - r) : PART;
        sum_part(&j, r, n, c->stage + r * result_bytes(c));
    }
    if (c->special[SPECIAL_SATURATE]) {
        num_saturate(c->stage, j.esize, j.esize == 4 ? NUM_F32_INF : NUM_F16_INF,
                     access_bytes(&c->plan->dst) / j.esize);
    }
    simd_fp_leave(fp);
}

/* --- extremes --- */

/* Elements stand in the upper half of a word if they are F16. Their order is that of
 * integers, a NaN above all and what takes no part below; for minima of the numbers with
 * the other sign. */
#define ABSENT INT32_MIN

struct key {
    uint32_t infinity, flip;
};

struct extremes {
    int32_t v[PART * 128];
    int32_t at[PART * 128]; /* index of the element that v is, if that is asked for */
};

/* Orders of n repeats from r on. */
static void order_part(const struct job *j, struct key k, uint64_t r, unsigned n,
                       int32_t *v)
{
    size_t left = (size_t)n * j->per_repeat;

    if (j->esize == 4) {
        collect(j, r, n, (uint8_t *)v);
        for (size_t i = 0; i < left; i++) {
            v[i] = vec_order((uint32_t)v[i] ^ k.flip, k.infinity);
        }
    } else {
        uint16_t half[PART * 128];
        collect(j, r, n, (uint8_t *)half);
        for (size_t i = 0; i < left; i++) {
            v[i] = vec_order((uint32_t)half[i] << 16 ^ k.flip, k.infinity);
        }
    }
    drop_lanes(j, r, n, (uint32_t)ABSENT, (uint32_t *)v);
}

/* An element from its place in the order; of none: the least one. */
static uint32_t element(int32_t v, struct key k, unsigned esize)
{
    int32_t least = vec_order(k.infinity | 0x80000000u, k.infinity);
    uint32_t word = (uint32_t)(v < least ? least : v);

    word = (word ^ (uint32_t)((int32_t)word >> 31) >> 1) ^ k.flip;
    if (v == INT32_MAX) {
        return esize == 4 ? NUM_F32_NAN : NUM_F16_NAN;
    }
    return esize == 4 ? word : word >> 16;
}

static uint8_t *put(uint8_t *to, uint32_t bits, unsigned bytes)
{
    vec_put(to, &bits, bytes);
    return to + bytes;
}

static uint8_t *put_with_index(const struct job *j, uint8_t *to, uint32_t value,
                               uint32_t index)
{
    unsigned flags = j->a->head.flags;

    if (flags & INDEX_ONLY) {
        return put(to, index, 4);
    }
    if (flags & INDEX_FIRST) {
        to = put(to, index, j->esize);
    }
    to = put(to, value, j->esize);
    return flags ? to : put(to, index, j->esize);
}

/* One value for two neighbours, n times: the higher one. With `indexed` also where it was
 * before all such steps, the first place of equal values; `size` is the number of values
 * that each stands for already. */
static inline void max_pairs(struct extremes *restrict to,
                             const struct extremes *restrict from, size_t n, bool indexed,
                             int32_t size)
{
    const int32_t *v = from->v, *at = from->at;

    for (size_t i = 0; i < n; i++) {
        int32_t left = v[2 * i], right = v[2 * i + 1];
        int32_t left_at = indexed ? at[2 * i] : 0;
        int32_t right_at = indexed ? at[2 * i + 1] + size : 0;
        to->v[i] = right > left ? right : left;
        if (indexed) {
            to->at[i] = right > left ? right_at : left_at;
        }
    }
}

static void extreme_part(const struct job *j, struct key k, uint64_t r, unsigned n,
                         uint8_t *stage)
{
    struct extremes buffer[2], *from = &buffer[0], *to = &buffer[1], *swap;
    size_t left = (size_t)n * j->per_repeat;
    bool indexed = j->group == j->per_repeat;

    order_part(j, k, r, n, from->v);
    memset(from->at, 0, indexed ? left * sizeof(from->at[0]) : 0);
    for (unsigned size = 1; size < j->group; size *= 2) {
        left /= 2;
        if (indexed) {
            max_pairs(to, from, left, true, (int32_t)size);
        } else {
            max_pairs(to, from, left, false, 0);
        }
        swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < left; i++) {
        uint32_t value = element(from->v[i], k, j->esize);
        stage = indexed ? put_with_index(j, stage, value, (uint32_t)from->at[i])
                        : put(stage, value, j->esize);
    }
}

static void extreme_run(const struct op_ctx *c)
{
    struct job j = job_of(c, c->src[0]);
    bool min = c->cmd->head.opcode == OP_VCMIN || c->cmd->head.opcode == OP_VCGMIN;
    struct key k = {j.esize == 4 ? NUM_F32_INF : (uint32_t)NUM_F16_INF << 16,
                    min ? 0x80000000u : 0};

    for (uint64_t r = 0; r < j.repeats; r += PART) {
        unsigned n = j.repeats - r < PART ? (unsigned)(j.repeats - r) : PART;
        extreme_part(&j, k, r, n, c->stage + r * result_bytes(c));
    }
}

static void reduce_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_reduce *a = &c->cmd->vec_reduce;
    unsigned esize = vec_esize(c);
    struct vec_lane_set l = vec_lanes_of(c, esize, a->repeat);
    struct vec_elements src = vec_elements(offsetof(struct cmd_vec_reduce, src), a->src,
                                           esize, a->src_blk, a->src_rep);

    vec_touch(t, TOUCH_READS, &src, &l);
    touch_access(t, c->plan->dst, TOUCH_WRITES);
}

/* A result is undefined if a lane of its group is. */
static void reduce_flow(const struct op_ctx *c)
{
    struct job j = job_of(c, c->src[0]);
    unsigned per_block = 32 / j.esize, bytes = result_bytes(c) * j.group / j.per_repeat;
    uint8_t *stage = c->stage;
    uint64_t lanes[2];

    for (uint64_t r = 0; r < j.repeats; r++) {
        vec_lanes(c, j.esize, r, lanes);
        for (unsigned first = 0; first < j.per_repeat; first += j.group, stage += bytes) {
            bool any = false;
            for (unsigned i = first; i < first + j.group; i++) {
                const uint8_t *from = j.src + r * 32 * j.a->src_rep +
                                      i / per_block * 32ull * j.a->src_blk +
                                      i % per_block * j.esize;
                any = any || ((lanes[i / 64] >> i % 64 & 1) && flow_any(from, j.esize));
            }
            flow_set(stage, any, bytes);
        }
    }
    flow_store(c);
}

const struct operation op_VCADD = {
    .plan = reduce_plan, .run = sum_run, .touch = reduce_touch, .flow = reduce_flow};
const struct operation op_VCGADD = {
    .plan = reduce_plan, .run = sum_run, .touch = reduce_touch, .flow = reduce_flow};
const struct operation op_VCPADD = {
    .plan = reduce_plan, .run = sum_run, .touch = reduce_touch, .flow = reduce_flow};
const struct operation op_VCMAX = {
    .plan = reduce_plan, .run = extreme_run, .touch = reduce_touch, .flow = reduce_flow};
const struct operation op_VCMIN = {
    .plan = reduce_plan, .run = extreme_run, .touch = reduce_touch, .flow = reduce_flow};
const struct operation op_VCGMAX = {
    .plan = reduce_plan, .run = extreme_run, .touch = reduce_touch, .flow = reduce_flow};
const struct operation op_VCGMIN = {
    .plan = reduce_plan, .run = extreme_run, .touch = reduce_touch, .flow = reduce_flow};
