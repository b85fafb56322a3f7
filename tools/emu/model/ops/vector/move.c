/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that move and fill. None of them looks at what an element means
 * but VCI. Source: hal/contract/vector_move.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/arith/half.h"
#include "tools/emu/model/arith/simd.h"
#include "tools/emu/model/ops/vector/vector.h"
#include "tools/emu/model/arith/vecnum.h"

/* --- VCOPY --- */

static unsigned vcopy_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_copy *a = &c->cmd->vec_copy;
    unsigned esize = vec_esize(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    plan->src[0] = vec_access(c, repeats,
                              vec_elements(offsetof(struct cmd_vec_copy, src), a->src,
                                           esize, a->src_blk, a->src_rep));
    plan->n_src = 1;
    plan->dst = vec_access(c, repeats,
                           vec_elements(offsetof(struct cmd_vec_copy, dst), a->dst, esize,
                                        a->dst_blk, a->dst_rep));
    plan->has_dst = true;
    vec_cost(c, repeats);
    plan->ops = vec_ops(c, esize, repeats);
    if (repeats && vec_overlap(&plan->dst, &plan->src[0])) {
        return op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static void vcopy_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    const struct cmd_vec_copy *a = &c->cmd->vec_copy;
    unsigned esize = vec_esize(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat), lanes[2];

    for (uint64_t r = 0; r < repeats; r++) {
        vec_lanes(c, esize, r, lanes);
        for (unsigned b = 0; b < 8; b++, stage += 32) {
            vec_copy_lanes(stage,
                           c->src[0] + r * 32 * a->src_rep + b * 32ull * a->src_blk,
                           esize, block_lanes(lanes, b, esize));
        }
    }
}

static void vcopy_store(const struct op_ctx *c)
{
    const struct cmd_vec_copy *a = &c->cmd->vec_copy;

    vec_store(c, a->repeat, a->dst_blk, a->dst_rep);
}

static void vcopy_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_copy *a = &c->cmd->vec_copy;
    unsigned esize = vec_esize(c);
    struct vec_lane_set l = vec_lanes_of(c, esize, a->repeat);
    struct vec_elements src = vec_elements(offsetof(struct cmd_vec_copy, src), a->src,
                                           esize, a->src_blk, a->src_rep);
    struct vec_elements dst = vec_elements(offsetof(struct cmd_vec_copy, dst), a->dst,
                                           esize, a->dst_blk, a->dst_rep);

    vec_touch(t, TOUCH_READS, &src, &l);
    vec_touch(t, TOUCH_WRITES, &dst, &l);
}

const struct operation op_VCOPY = {.plan = vcopy_plan,
                                   .run = vcopy_run,
                                   .store = vcopy_store,
                                   .touch = vcopy_touch,
                                   .flow = flow_move};

/* --- VDUP, VCI --- */

static unsigned fill_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_fill *a = &c->cmd->vec_fill;
    unsigned esize = vec_esize(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    plan->dst = vec_access(c, repeats,
                           vec_elements(offsetof(struct cmd_vec_fill, dst), a->dst, esize,
                                        a->dst_blk, a->dst_rep));
    plan->has_dst = true;
    vec_cost(c, repeats);
    plan->ops = vec_ops(c, esize, repeats);
    if (esize == 2 && a->value > UINT16_MAX) {
        return op_fail(c, offsetof(struct cmd_vec_fill, value), NPU_ERR_RANGE);
    }
    return 0;
}

/* A block whose elements are all `value`. */
static void fill_block(uint8_t block[32], uint32_t value, unsigned esize)
{
    uint32_t word = esize == 2 ? (value & 0xffffu) * 0x10001u : value;

    for (unsigned i = 0; i < 32; i += 4) {
        memcpy(block + i, &word, 4);
    }
}

static void vdup_run(const struct op_ctx *c)
{
    const struct cmd_vec_fill *a = &c->cmd->vec_fill;
    unsigned esize = vec_esize(c);
    uint64_t bytes = vec_repeats(c, esize, a->repeat) * 256;
    uint8_t block[32];

    fill_block(block, a->value, esize);
    for (uint64_t i = 0; i < bytes; i += 32) {
        memcpy(c->stage + i, block, 32);
    }
}

/* v + i, i below 2^17. The sum in fp32 is rounded to odd, so that rounding to fp16 is the
 * only one. */
static uint16_t add_index_f16(uint16_t v, uint32_t i)
{
    float sum = fused(1.0f, widen_f16(v), (float)(int32_t)i, true);

    return half_down(sum * HALF_SCALE);
}

#define NUMBER(name, ctype, result)                                                      \
    static void number_##name(uint8_t *stage, uint32_t value, uint32_t n)                \
    {                                                                                    \
        ctype *to = (ctype *)(void *)stage;                                              \
        for (uint32_t i = 0; i < n; i++) {                                               \
            to[i] = (ctype)(result);                                                     \
        }                                                                                \
    }
NUMBER(f32, uint32_t, num_canon(num_bits(num_float(value) + (float)(int32_t)i)))
NUMBER(f16, uint16_t, add_index_f16((uint16_t)value, i))
NUMBER(s32, uint32_t, value + i)
NUMBER(s16, uint16_t, value + i)

/* Apart, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void number(const struct cmd_vec_fill *a, uint32_t n,
                                             uint8_t *stage)
{
    switch (a->head.type) {
    case TYPE_F32:
        number_f32(stage, a->value, n);
        break;
    case TYPE_F16:
        number_f16(stage, a->value, n);
        break;
    case TYPE_S32:
        number_s32(stage, a->value, n);
        break;
    default:
        number_s16(stage, a->value, n);
        break;
    }
}

static void vci_run(const struct op_ctx *c)
{
    const struct cmd_vec_fill *a = &c->cmd->vec_fill;
    unsigned esize = vec_esize(c), fp = simd_fp_enter();

    number(a, (uint32_t)vec_repeats(c, esize, a->repeat) * (256 / esize), c->stage);
    simd_fp_leave(fp);
}

static void fill_store(const struct op_ctx *c)
{
    const struct cmd_vec_fill *a = &c->cmd->vec_fill;

    vec_store(c, a->repeat, a->dst_blk, a->dst_rep);
}

static void fill_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_fill *a = &c->cmd->vec_fill;
    unsigned esize = vec_esize(c);
    struct vec_lane_set l = vec_lanes_of(c, esize, a->repeat);
    struct vec_elements dst = vec_elements(offsetof(struct cmd_vec_fill, dst), a->dst,
                                           esize, a->dst_blk, a->dst_rep);

    vec_touch(t, TOUCH_WRITES, &dst, &l);
}

const struct operation op_VDUP = {.plan = fill_plan,
                                  .run = vdup_run,
                                  .store = fill_store,
                                  .touch = fill_touch,
                                  .flow = flow_defined};
const struct operation op_VCI = {.plan = fill_plan,
                                 .run = vci_run,
                                 .store = fill_store,
                                 .touch = fill_touch,
                                 .flow = flow_defined};

/* --- VBRCB --- */

static unsigned vbrcb_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_brcb *a = &c->cmd->vec_brcb;

    plan->src[0] = vec_row(offsetof(struct cmd_vec_brcb, src), a->src,
                           8ull * vec_esize(c) * a->repeat);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_UB, offsetof(struct cmd_vec_brcb, dst), a->dst, 32, 8,
                            32ull * a->dst_blk);
    plan->dst.n[1] = a->repeat;
    plan->dst.stride[1] = 32ull * a->dst_rep;
    plan->has_dst = true;
    vec_cost(c, a->repeat);
    plan->ops = 8ull * type_c0(a->head.type) * a->repeat;
    if (!access_apart(&plan->dst, &plan->src[0])) {
        return op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static void vbrcb_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    unsigned esize = vec_esize(c);

    for (unsigned i = 0; i < 8u * c->cmd->vec_brcb.repeat; i++, stage += 32) {
        uint32_t value = 0;
        vec_put(&value, c->src[0] + i * esize, esize);
        fill_block(stage, value, esize);
    }
}

const struct operation op_VBRCB = {
    .plan = vbrcb_plan, .run = vbrcb_run, .flow = flow_move};

/* --- VINTLV, VDINTLV --- */

static unsigned intlv_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_intlv *a = &c->cmd->vec_intlv;
    uint64_t bytes = (uint64_t)a->count * vec_esize(c);
    bool swapped = a->dst1 < a->dst0;
    uint32_t first = swapped ? a->dst1 : a->dst0;
    struct access dst[2] = {
        vec_row(offsetof(struct cmd_vec_intlv, dst0), a->dst0, bytes),
        vec_row(offsetof(struct cmd_vec_intlv, dst1), a->dst1, bytes),
    };

    plan->src[0] = vec_row(offsetof(struct cmd_vec_intlv, src0), a->src0, bytes);
    plan->src[1] = vec_row(offsetof(struct cmd_vec_intlv, src1), a->src1, bytes);
    plan->n_src = 2;
    plan->dst = access_rows(NPU_MEM_UB, dst[!swapped].field, first, bytes, bytes ? 2 : 0,
                            (swapped ? a->dst0 : a->dst1) - first);
    plan->has_dst = true;
    vec_cost(c, div_up(bytes, 256));
    plan->ops = 2ull * a->count;
    if (a->head.opcode == OP_VDINTLV && a->count % 2) {
        return op_fail(c, offsetof(struct cmd_vec_intlv, count), NPU_ERR_RANGE);
    }
    for (unsigned i = 0; i < 4 && bytes; i++) {
        if (vec_overlap(&dst[i / 2], &plan->src[i % 2])) {
            return op_fail(c, plan->src[i % 2].field, NPU_ERR_OVERLAP);
        }
    }
    return 0;
}

#define INTERLEAVE(ctype)                                                                \
    static void interleave_##ctype(ctype *restrict to, const ctype *x, const ctype *y,   \
                                   size_t n)                                             \
    {                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                 \
            to[2 * i] = x[i];                                                            \
            to[2 * i + 1] = y[i];                                                        \
        }                                                                                \
    }                                                                                    \
    static void split_##ctype(ctype *restrict even, ctype *restrict odd, const ctype *x, \
                              size_t n)                                                  \
    {                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                 \
            even[i] = x[2 * i];                                                          \
            odd[i] = x[2 * i + 1];                                                       \
        }                                                                                \
    }
INTERLEAVE(uint8_t)
INTERLEAVE(uint16_t)
INTERLEAVE(uint32_t)

/* The stage has dst0 and behind it dst1. Operands are multiples of 32. */
static void vintlv_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    size_t n = c->cmd->vec_intlv.count;

    switch (vec_esize(c)) {
    case 1:
        interleave_uint8_t(stage, c->src[0], c->src[1], n);
        break;
    case 2:
        interleave_uint16_t((void *)stage, (const void *)c->src[0],
                            (const void *)c->src[1], n);
        break;
    default:
        interleave_uint32_t((void *)stage, (const void *)c->src[0],
                            (const void *)c->src[1], n);
        break;
    }
}

static void vdintlv_run(const struct op_ctx *c)
{
    size_t n = c->cmd->vec_intlv.count, bytes = n * vec_esize(c);

    for (unsigned k = 0; k < 2; k++) { /* a half of each destination from each source */
        uint8_t *even = c->stage + k * bytes / 2, *odd = even + bytes;
        switch (vec_esize(c)) {
        case 1:
            split_uint8_t(even, odd, c->src[k], n / 2);
            break;
        case 2:
            split_uint16_t((void *)even, (void *)odd, (const void *)c->src[k], n / 2);
            break;
        default:
            split_uint32_t((void *)even, (void *)odd, (const void *)c->src[k], n / 2);
            break;
        }
    }
}

/* Two destinations, which an access of two rows cannot name apart. */
static void intlv_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_intlv *a = &c->cmd->vec_intlv;
    uint64_t bytes = (uint64_t)a->count * vec_esize(c);

    touch_access(t, c->plan->src[0], TOUCH_READS);
    touch_access(t, c->plan->src[1], TOUCH_READS);
    vec_touch_row(t, TOUCH_WRITES, offsetof(struct cmd_vec_intlv, dst0), a->dst0, bytes);
    vec_touch_row(t, TOUCH_WRITES, offsetof(struct cmd_vec_intlv, dst1), a->dst1, bytes);
}

static void intlv_store(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_intlv *a = &c->cmd->vec_intlv;
    size_t bytes = (size_t)a->count * vec_esize(c);

    memcpy(c->to + (a->dst0 - plan->dst.base), c->stage, bytes);
    memcpy(c->to + (a->dst1 - plan->dst.base), c->stage + bytes, bytes);
}

/* Exact in 64 bits. */
static void vmull_run(const struct op_ctx *c)
{
    uint8_t *high = c->stage + 4ull * c->cmd->vec_intlv.count;

    for (size_t i = 0; i < 4ull * c->cmd->vec_intlv.count; i += 4) {
        int64_t a = (int32_t)vec_word(c->src[0] + i),
                b = (int32_t)vec_word(c->src[1] + i);
        int64_t product = a * b;
        memcpy(c->stage + i, &product, 4);
        memcpy(high + i, (const uint8_t *)&product + 4, 4);
    }
}

const struct operation op_VMULL = {.plan = intlv_plan,
                                   .run = vmull_run,
                                   .store = intlv_store,
                                   .touch = intlv_touch,
                                   .flow = flow_all};
const struct operation op_VINTLV = {.plan = intlv_plan,
                                    .run = vintlv_run,
                                    .store = intlv_store,
                                    .touch = intlv_touch,
                                    .flow = flow_move};
const struct operation op_VDINTLV = {.plan = intlv_plan,
                                     .run = vdintlv_run,
                                     .store = intlv_store,
                                     .touch = intlv_touch,
                                     .flow = flow_move};
