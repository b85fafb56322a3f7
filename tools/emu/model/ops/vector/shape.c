/* SPDX-License-Identifier: MIT
 *
 * An element command, whatever its format: what it touches and costs, and how repeats,
 * masks and overlap lead to calls of the arithmetic. Usually one call does it all; a
 * command whose repeats read what the repeats before them wrote works on a copy of UB,
 * since UB itself changes when the command ends. Source: hal/contract/vector.md.
 */
#include "tools/emu/model/ops/vector/shape.h"

#include "tools/emu/model/ops/flow.h"

#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/arith/simd.h"

enum { REPEAT_BYTES = 256 };

static _Thread_local _Alignas(64) uint8_t ub_copy[COST_MAX_UB_BYTES];

/* How often, and how much of it takes part. */
struct extent {
    bool counter;
    unsigned esize;      /* of the larger type */
    unsigned per_repeat; /* elements */
    uint64_t repeats, count;
};

static struct extent extent_of(const struct op_ctx *c, const struct shape *s)
{
    struct extent e = {.counter = c->special[SPECIAL_MASK_COUNTER]};
    uint64_t count = c->special[SPECIAL_MASK_LO] >> s->pairs;

    e.esize = s->dst.esize > s->src[0].esize ? s->dst.esize : s->src[0].esize;
    e.per_repeat = REPEAT_BYTES / e.esize;
    e.repeats = e.counter ? div_up(count * e.esize, REPEAT_BYTES) : s->repeat;
    if (s->to_cmpmask && e.repeats > 1) {
        e.repeats = 1;
    }
    e.count = e.repeats * e.per_repeat;
    if (e.counter && count < e.count) {
        e.count = count;
    }
    return e;
}

/* Every second bit of the mask, from bit 0 up. */
static uint64_t even_bits(const uint64_t mask[2])
{
    uint64_t even = 0;

    for (unsigned i = 0; i < 64; i++) {
        even |= (mask[i / 32] >> (i % 32 * 2) & 1) << i;
    }
    return even;
}

/* Elements of repeat r that take part. */
static void lanes_of(const struct op_ctx *c, const struct shape *s,
                     const struct extent *e, uint64_t r, uint64_t lanes[2])
{
    uint64_t left = e->count - r * e->per_repeat;

    if (!s->pairs) {
        vec_lanes(c, e->esize, r, lanes);
        return;
    }
    lanes[0] = !e->counter  ? even_bits(&c->special[SPECIAL_MASK_LO])
               : left >= 64 ? UINT64_MAX
                            : (1ull << left) - 1;
    lanes[1] = 0;
}

/* Whether the mask takes both numbers of a pair or none. */
static bool takes_pairs(const struct op_ctx *c)
{
    const uint64_t *mask = &c->special[SPECIAL_MASK_LO];
    const uint64_t odd[2] = {mask[0] >> 1, mask[1] >> 1};

    return c->special[SPECIAL_MASK_COUNTER] ? mask[0] % 2 == 0
                                            : even_bits(mask) == even_bits(odd);
}

static unsigned blocks(const struct vec_operand *o, const struct extent *e)
{
    return e->per_repeat * o->esize / 32;
}

/* All elements lie side by side. */
static bool linear(const struct vec_operand *o, const struct extent *e)
{
    return o->esize == 0 || (o->blk == 1 && (o->rep == blocks(o, e) || e->repeats <= 1));
}

static struct access operand_access(const struct vec_operand *o, const struct extent *e)
{
    uint64_t bytes = o->esize ? e->count * o->esize : div_up(e->count, 8);
    struct access a;

    if (o->esize == 0 || (e->counter && linear(o, e))) {
        bytes = bytes < UINT32_MAX ? bytes : UINT32_MAX;
        return access_rows(NPU_MEM_UB, o->field, o->base, bytes, 1, bytes);
    }
    a = access_rows(NPU_MEM_UB, o->field, o->base, 32, blocks(o, e), 32ull * o->blk);
    a.n[1] = (uint32_t)(e->repeats < UINT16_MAX ? e->repeats : UINT16_MAX);
    a.stride[1] = 32ull * o->rep;
    return a;
}

/* Whether repeats have to be taken one by one: one reads what an earlier one wrote. */
static bool in_order(const struct shape *s, const struct extent *e,
                     const struct plan *plan)
{
    const struct vec_operand *d = &s->dst;
    unsigned span = (blocks(d, e) - 1) * d->blk + 1;
    bool steps = d->blk != 0 && (e->repeats <= 1 || d->rep >= span);

    for (unsigned i = 0; i < s->n_src - s->from_cmpmask && plan->has_dst; i++) {
        const struct vec_operand *o = &s->src[i];
        const struct access *x = &plan->src[i], *y = &plan->dst;
        bool apart = x->base + access_extent(x) <= y->base ||
                     y->base + access_extent(y) <= x->base;
        bool same = steps && o->base == d->base && o->esize == d->esize &&
                    o->blk == d->blk && (o->rep == d->rep || e->repeats <= 1);
        if (!apart && !same) {
            return true;
        }
    }
    return false;
}

unsigned shape_plan(const struct op_ctx *c, struct shape *s)
{
    struct plan *plan = c->plan;
    const struct cmd_info *info = cmd_find(c->cmd->head.opcode);
    struct extent e = extent_of(c, s);

    if (s->pairs && !takes_pairs(c)) {
        return op_fail(c, offsetof(struct cmd_vec_conv, to), NPU_ERR_RANGE);
    }
    plan->n_src = (uint8_t)(s->n_src - s->from_cmpmask);
    for (unsigned i = 0; i < plan->n_src; i++) {
        plan->src[i] = operand_access(&s->src[i], &e);
    }
    plan->dst = operand_access(&s->dst, &e);
    plan->has_dst = !s->to_cmpmask;
    plan->in_order = true;
    plan->fixed = info->fixed;
    vec_bank_cycles(c,
                    (struct vec_work){.repeats = e.repeats,
                                      .per_repeat = e.per_repeat,
                                      .slope = type_bits(c->cmd->head.type) == 32
                                                   ? info->slope32
                                                   : info->slope16},
                    s->src, plan->n_src, &s->dst);
    plan->ops = e.count << s->pairs;
    return 0;
}

/* --- execution --- */

/* Infinity and NaN among n results, for SET_CTRL_SATURATE. */
static void saturate(const struct shape *s, uint8_t *to, uint64_t n)
{
    static const uint32_t infinity[TYPE_COUNT] = {
        [TYPE_F32] = NUM_F32_INF, [TYPE_F16] = NUM_F16_INF, [TYPE_BF16] = NUM_BF16_INF};

    if (infinity[s->result]) {
        num_saturate(to, type_bits(s->result) / 8, infinity[s->result], n << s->pairs);
    }
}

static void flow_bits(const struct shape *s, uint8_t *to, const uint8_t *const *src,
                      uint64_t bytes)
{
    memset(to, 0, bytes);
    for (unsigned k = 0; k < s->n_src; k++) {
        for (uint64_t i = 0; i < bytes; i++) {
            to[i] |= src[k][i];
        }
    }
}

/* A result is undefined if one of its sources is; bits count one by one. */
static void flow(const struct shape *s, uint8_t *to, const uint8_t *const *src,
                 uint64_t n)
{
    memset(to, 0, s->dst.esize ? n * s->dst.esize : div_up(n, 8));
    for (uint64_t i = 0; i < n; i++) {
        bool any = false;
        for (unsigned k = 0; k < s->n_src; k++) {
            unsigned esize = s->src[k].esize;
            any = any || (esize ? flow_any(src[k] + i * esize, esize)
                                : src[k][i / 8] >> i % 8 & 1);
        }
        if (any && s->dst.esize) {
            flow_set(to + i * s->dst.esize, true, s->dst.esize);
        } else if (any) {
            to[i / 8] |= (uint8_t)(1 << i % 8);
        }
    }
}

/* The arithmetic over n elements, as fn has it. */
static void compute(const struct shape *s, uint8_t *to, const uint8_t *const *src,
                    uint64_t n)
{
    _Alignas(64) uint8_t between[REPEAT_BYTES * 4];
    const void *from[3] = {src[0], src[1], src[2]}, *results[1] = {between};

    if (s->flow && s->bits) {
        flow_bits(s, to, src, n * s->dst.esize);
        return;
    }
    if (s->flow) {
        flow(s, to, src, n);
        return;
    }
    if (!s->then) {
        s->fn(to, from, n, &s->imm);
        return;
    }
    for (uint64_t i = 0; i < n; i += REPEAT_BYTES) {
        uint64_t part = n - i < REPEAT_BYTES ? n - i : REPEAT_BYTES;
        for (unsigned k = 0; k < s->n_src; k++) {
            from[k] = src[k] + i * s->src[k].esize;
        }
        s->fn(between, from, part, &s->imm);
        s->then(to + i * s->dst.esize, results, part, &s->imm);
    }
}

static void call(const struct op_ctx *c, const struct shape *s, uint8_t *to,
                 const uint8_t *const *src, uint64_t n)
{
    compute(s, to, src, n);
    if (c->special[SPECIAL_SATURATE]) {
        saturate(s, to, n);
    }
}

/* n elements of repeat r side by side: where they are, or in `room`. */
static const uint8_t *collect(const struct vec_operand *o, const struct extent *e,
                              const uint8_t *ub, uint64_t r, unsigned n, uint8_t *room)
{
    const uint8_t *from = ub + o->base + r * 32 * o->rep;
    unsigned bytes = n * o->esize;

    if (o->esize == 0) {
        return ub + o->base + r * e->per_repeat / 8;
    }
    if (o->blk == 1) {
        return from;
    }
    for (unsigned at = 0; at < bytes; at += 32, from += 32ull * o->blk) {
        memcpy(room + at, from, bytes - at < 32 ? bytes - at : 32);
    }
    return room;
}

/* The elements of repeat r whose lanes are on, from their place in the stage to `to`,
 * where the destination begins; block by block, the last one stays. */
static void put_repeat(const struct op_ctx *c, const struct shape *s,
                       const struct extent *e, uint64_t r, uint8_t *to,
                       const uint8_t *stage)
{
    const struct vec_operand *d = &s->dst;
    unsigned esize = d->esize, bytes = e->per_repeat * esize;
    uint64_t lanes[2];

    if (esize == 0) {
        uint64_t left = div_up(e->count, 8) - r * e->per_repeat / 8;
        bytes = e->per_repeat / 8;
        memcpy(to + r * bytes, stage + r * bytes, left < bytes ? left : bytes);
        return;
    }
    lanes_of(c, s, e, r, lanes);
    stage += r * bytes;
    to += r * 32 * d->rep;
    for (unsigned b = 0; b < bytes / 32; b++, stage += 32, to += 32ull * d->blk) {
        uint64_t full = (1ull << (32 / esize)) - 1, on = block_lanes(lanes, b, esize);
        for (unsigned i = 0; on != full && i < 32 / esize; i++) {
            if (on >> i & 1) {
                memcpy(to + i * esize, stage + i * esize, esize);
            }
        }
        if (on == full) {
            memcpy(to, stage, 32);
        }
    }
}

/* Bits of elements that do not take part are 0. */
static void mask_bits(const struct op_ctx *c, const struct extent *e, uint8_t *bits)
{
    uint64_t lanes[2];

    vec_lanes(c, e->esize, 0, lanes);
    for (unsigned i = 0; !e->counter && i < e->per_repeat / 8; i++) {
        bits[i] &= (uint8_t)(lanes[i / 8] >> i % 8 * 8);
    }
}

static void repeat_by_repeat(const struct op_ctx *c, const struct shape *s,
                             const struct extent *e, const uint8_t *ub, uint8_t *copy,
                             uint8_t *stage)
{
    _Alignas(64) uint8_t room[3][REPEAT_BYTES];
    unsigned bytes = s->dst.esize ? e->per_repeat * s->dst.esize : e->per_repeat / 8;

    for (uint64_t r = 0; r < e->repeats; r++) {
        uint64_t left = e->count - r * e->per_repeat;
        unsigned n = left < e->per_repeat ? (unsigned)left : e->per_repeat;
        const uint8_t *src[3];
        for (unsigned i = 0; i < s->n_src; i++) {
            src[i] = collect(&s->src[i], e, ub, r, n, room[i]);
        }
        if (s->from_cmpmask) {
            src[s->n_src - 1] = (const uint8_t *)&c->special[SPECIAL_CMPMASK_LO];
        }
        call(c, s, stage + r * bytes, src, n);
        if (s->dst.esize == 0) {
            mask_bits(c, e, stage + r * bytes);
        }
        if (copy) {
            put_repeat(c, s, e, r, copy + s->dst.base, stage);
        }
    }
}

/* A copy of the part of UB that the command can see. */
static uint8_t *copy_of(const struct plan *plan, const uint8_t *ub)
{
    uint64_t first = plan->dst.base, end = first + access_extent(&plan->dst);

    for (unsigned i = 0; i < plan->n_src; i++) {
        const struct access *a = &plan->src[i];
        first = a->base < first ? a->base : first;
        end = a->base + access_extent(a) > end ? a->base + access_extent(a) : end;
    }
    memcpy(ub_copy + first, ub + first, end - first);
    return ub_copy;
}

/* Not inlined, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void
execute(const struct op_ctx *c, const struct shape *s, const uint8_t *ub, uint8_t *stage)
{
    struct plan *plan = c->plan;
    const uint64_t *mask = &c->special[SPECIAL_MASK_LO];
    struct extent e = extent_of(c, s);
    bool whole = !s->from_cmpmask, all = e.counter || !~(mask[0] & mask[1]);
    const uint8_t *src[3] = {ub, ub, ub};

    if (in_order(s, &e, plan)) {
        uint8_t *copy = copy_of(plan, ub);
        repeat_by_repeat(c, s, &e, copy, copy, stage);
        return;
    }
    for (unsigned i = 0; i < s->n_src; i++) {
        whole = whole && linear(&s->src[i], &e);
        src[i] += s->src[i].base;
    }
    if (whole && (all || s->dst.esize != 0)) {
        call(c, s, stage, src, e.count);
    } else {
        repeat_by_repeat(c, s, &e, ub, NULL, stage);
    }
}

void shape_run(const struct op_ctx *c, struct shape *s)
{
    uint64_t *cmpmask = &c->special[SPECIAL_CMPMASK_LO];
    unsigned fp = simd_fp_enter();

    s->imm.flags = c->cmd->head.flags;
    s->imm.deq = num_float(num_f16_to_f32((uint16_t)c->special[SPECIAL_DEQ_SCALE]));
    execute(c, s, c->src[0] - c->plan->src[0].base, c->stage);
    if (s->to_cmpmask) {
        cmpmask[0] = cmpmask[1] = 0;
        memcpy(cmpmask, c->stage, access_bytes(&c->plan->dst));
    }
    simd_fp_leave(fp);
}

void shape_store(const struct op_ctx *c, struct shape *s)
{
    const uint64_t *mask = &c->special[SPECIAL_MASK_LO];
    struct extent e = extent_of(c, s);

    if (linear(&s->dst, &e) && (e.counter || !~(mask[0] & mask[1]))) {
        op_store_rows(c->to, c->stage, &c->plan->dst);
        return;
    }
    for (uint64_t r = 0; r < e.repeats; r++) {
        put_repeat(c, s, &e, r, c->to, c->stage);
    }
}

/* --- what it touches --- */

static void touch_operand(const struct touch *t, enum touch_kind kind,
                          const struct vec_operand *o, const struct vec_lane_set *l)
{
    struct vec_elements e;

    if (o->esize) {
        e = vec_elements(o->field, o->base, o->esize, o->blk, o->rep);
        vec_touch(t, kind, &e, l);
    } else {
        struct vec_lane_set bytes = vec_lane_bytes(l);
        e = (struct vec_elements){o->field,         o->base,          1,
                                  bytes.per_repeat, bytes.per_repeat, bytes.per_repeat};
        vec_touch(t, kind, &e, &bytes);
    }
}

/* Sources that are elements or bits of them by their lanes, and the destination; bits are
 * written whole, 0 where no lane is. */
void shape_touch(const struct op_ctx *c, const struct shape *s, const struct touch *t)
{
    struct extent e = extent_of(c, s);
    struct vec_lane_set l = vec_lane_set(c, e.per_repeat, e.repeats, e.count);

    if (s->pairs && !e.counter) {
        l.on[0] = even_bits(&c->special[SPECIAL_MASK_LO]);
        l.on[1] = 0;
    }
    for (unsigned i = 0; i < s->n_src - s->from_cmpmask; i++) {
        touch_operand(t, TOUCH_READS, &s->src[i], &l);
    }
    if (!s->to_cmpmask && s->dst.esize) {
        touch_operand(t, TOUCH_WRITES, &s->dst, &l);
    } else if (!s->to_cmpmask) {
        touch_access(t, c->plan->dst, TOUCH_WRITES);
    }
}
