/* SPDX-License-Identifier: MIT
 *
 * VBI: sums of gathered blocks, each times a weight. Source:
 * hal/contract/vector_gather.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/arith/half.h"
#include "tools/emu/model/arith/simd.h"
#include "tools/emu/model/ops/vector/vector.h"

#define FIELD_OF(name) offsetof(struct cmd_vec_bi, name)

enum { BLOCKS = 8, ELEMENTS = 128 }; /* of a result */

static unsigned vbi_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_bi *a = &c->cmd->vec_bi;
    uint32_t steps = (uint32_t)a->h_repeat * a->v_repeat;
    unsigned weights = a->head.flags & VBI_EACH ? BLOCKS : 1;

    plan->src[0] = access_rows(NPU_MEM_UB, FIELD_OF(src), a->src, 32, BLOCKS * steps, 0);
    plan->src[1] = vec_row(FIELD_OF(offsets), a->offsets, 32ull * steps);
    plan->src[2] = vec_row(FIELD_OF(weights), a->weights, 2ull * weights * steps);
    plan->n_src = 3;
    plan->dst =
        access_rows(NPU_MEM_UB, FIELD_OF(dst), a->dst, 32, BLOCKS, 32ull * a->dst_blk);
    plan->dst.n[1] = a->h_repeat ? a->v_repeat : 0;
    plan->dst.stride[1] = 2ull * a->v_offset;
    plan->has_dst = true;
    vec_cost(c, steps);
    plan->ops = (uint64_t)ELEMENTS * steps;
    for (unsigned i = 1; i < 3; i++) {
        if (!access_apart(&plan->dst, &plan->src[i])) {
            return op_fail(c, plan->src[i].field, NPU_ERR_OVERLAP);
        }
    }
    return 0;
}

static uint16_t half_at(const uint8_t *from)
{
    uint16_t h;

    memcpy(&h, from, 2);
    return h;
}

/* The block that an offset names, or NULL: then the command stops. */
static const uint8_t *block_at(const struct op_ctx *c, const struct cmd_vec_bi *a,
                               const uint8_t *ub, uint32_t offset)
{
    uint64_t addr = (uint64_t)a->src + offset;

    if (addr % 32 == 0 && addr + 32 <= vec_ub_bytes(c)) {
        return ub + addr;
    }
    *c->fault = (struct npu_fault){.code = NPU_ERR_OFFSET,
                                   .field = FIELD_OF(offsets),
                                   .addr = addr,
                                   .value = offset};
    return NULL;
}

/* A product rounds to fp16, and so does each sum: fp32 between them is wide enough that
 * this rounds once. `sum` has the larger floats of half.h. */
static void add_step(float *sum, const uint8_t *block, uint16_t weight, bool first)
{
    float factor = half_up(weight) * (1 / HALF_SCALE);
    uint16_t x[16];

    memcpy(x, block, 32);
    for (unsigned i = 0; i < 16; i++) {
        float product = half_round(half_fit(half_up(x[i]) * factor));
        sum[i] = first ? product : half_round(sum[i] + product);
    }
}

/* Apart, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void
interpolate(const struct op_ctx *c, const struct cmd_vec_bi *a, const uint8_t *ub,
            const uint8_t *offsets, const uint8_t *weights, uint8_t *stage)
{
    bool each = a->head.flags & VBI_EACH;

    for (unsigned v = 0; v < a->v_repeat; v++, stage += 2 * ELEMENTS) {
        uint16_t result[ELEMENTS];
        float sum[ELEMENTS] = {0};
        for (unsigned h = 0; h < a->h_repeat; h++) {
            unsigned step = v * a->h_repeat + h;
            for (unsigned b = 0; b < BLOCKS; b++) {
                unsigned n = step * BLOCKS + b;
                const uint8_t *block = block_at(c, a, ub, vec_word(offsets + 4ull * n));
                if (!block) {
                    return;
                }
                add_step(sum + 16 * b, block, half_at(weights + 2 * (each ? n : step)),
                         h == 0);
            }
        }
        for (unsigned i = 0; i < ELEMENTS; i++) {
            result[i] = half_down(sum[i]);
        }
        memcpy(stage, result, sizeof(result));
        if (c->special[SPECIAL_SATURATE]) {
            num_saturate(stage, 2, NUM_F16_INF, ELEMENTS);
        }
    }
}

static void vbi_run(const struct op_ctx *c)
{
    unsigned fp = simd_fp_enter();

    interpolate(c, &c->cmd->vec_bi, c->src[0] - c->plan->src[0].base, c->src[1],
                c->src[2], c->stage);
    simd_fp_leave(fp);
}

/* The mask is that of one result; in counter mode its first elements. */
static void vbi_store(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const uint8_t *stage = c->stage;
    uint64_t lanes[2];

    vec_lanes(c, 2, 0, lanes);
    for (unsigned v = 0; v < plan->dst.n[1]; v++) {
        for (unsigned b = 0; b < BLOCKS; b++, stage += 32) {
            vec_copy_lanes(c->to + v * plan->dst.stride[1] + b * plan->dst.stride[0],
                           stage, 2, block_lanes(lanes, b, 2));
        }
    }
}

/* The lanes of gathered blocks that count, with their weights, and all offsets. */
static void vbi_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_bi *a = &c->cmd->vec_bi;
    bool each = a->head.flags & VBI_EACH;
    struct vec_lane_set l = {.per_repeat = ELEMENTS, .repeats = c->plan->dst.n[1]};
    struct vec_elements dst = {FIELD_OF(dst),     a->dst, 2, 16, 32ull * a->dst_blk,
                               2ull * a->v_offset};

    vec_lanes(c, 2, 0, l.on);
    for (unsigned n = 0; n < BLOCKS * (unsigned)a->h_repeat * a->v_repeat; n++) {
        struct vec_lane_set of_block = {.per_repeat = 16, .repeats = 1};
        struct vec_elements from = {FIELD_OF(src),
                                    (uint64_t)a->src + vec_word(c->src[1] + 4ull * n),
                                    2,
                                    16,
                                    32,
                                    0};
        of_block.on[0] = block_lanes(l.on, n % BLOCKS, 2);
        vec_touch(t, TOUCH_READS, &from, &of_block);
        if (of_block.on[0] && each) {
            vec_touch_row(t, TOUCH_READS, FIELD_OF(weights), a->weights + 2ull * n, 2);
        }
    }
    touch_access(t, c->plan->src[1], TOUCH_READS);
    if (!each && (l.on[0] | l.on[1])) {
        touch_access(t, c->plan->src[2], TOUCH_READS);
    }
    vec_touch(t, TOUCH_WRITES, &dst, &l);
}

const struct operation op_VBI = {.decides = true, .plan = vbi_plan,
                                 .run = vbi_run,
                                 .store = vbi_store,
                                 .touch = vbi_touch,
                                 .flow = flow_all,
                                 .offsets = 2};
