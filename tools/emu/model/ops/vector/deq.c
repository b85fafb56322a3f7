/* SPDX-License-Identifier: MIT
 *
 * Quantisation of 16-bit integers to 8 bits: VDEQ. A block of 16 results is half a block
 * of UB; the other half stays. Source: hal/contract/vector.md.
 */
#include "tools/emu/model/arith/simd.h"
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/vector/shape.h"
#include "tools/emu/model/arith/vecnum.h"

#define FIELD_OF(name) offsetof(struct cmd_vec_deq, name)

unsigned vec_deq_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_deq *a = &c->cmd->vec_deq;
    bool vector = a->head.flags & VDEQ_VECTOR;
    uint64_t repeats = vec_repeats(c, 2, a->repeat);
    bool in_place =
        a->dst == a->src && a->dst_blk == a->src_blk && a->dst_rep == a->src_rep;

    plan->src[0] = vec_access(
        c, repeats, vec_elements(FIELD_OF(src), a->src, 2, a->src_blk, a->src_rep));
    plan->src[1] = vec_row(FIELD_OF(words), a->words, vector && repeats ? 128 : 0);
    plan->n_src = 2;
    plan->dst = access_rows(NPU_MEM_UB, FIELD_OF(dst),
                            a->dst + (a->head.flags & VDEQ_HIGH ? 16 : 0), 16, 8,
                            32ull * a->dst_blk);
    plan->dst.n[1] = (uint32_t)(repeats < UINT16_MAX ? repeats : UINT16_MAX);
    plan->dst.stride[1] = 32ull * a->dst_rep;
    plan->has_dst = true;
    vec_cost(c, repeats);
    plan->ops = vec_ops(c, 2, repeats);
    if (!vector && a->words) {
        return op_fail(c, FIELD_OF(words), NPU_ERR_RESERVED);
    }
    if (!access_apart(&plan->dst, &plan->src[0]) && !in_place) {
        return op_fail(c, FIELD_OF(src), NPU_ERR_OVERLAP);
    }
    if (!access_apart(&plan->dst, &plan->src[1])) {
        return op_fail(c, FIELD_OF(words), NPU_ERR_OVERLAP);
    }
    return 0;
}

/* What the words say for the 16 elements of a block. */
struct scales {
    float scale[16], offset[16];
    int32_t least[16], most[16];
};

static struct scales scales_of(const struct op_ctx *c, const struct cmd_vec_deq *a,
                               const uint8_t *words)
{
    struct scales s;

    for (unsigned i = 0; i < 16; i++) {
        uint64_t word = c->special[SPECIAL_DEQ_WORD];
        int offset;
        if (a->head.flags & VDEQ_VECTOR) {
            memcpy(&word, words + 8 * i, 8);
        }
        offset = (int)field_get(DEQ_OFFSET, word);
        s.scale[i] = num_float((uint32_t)field_get(DEQ_SCALE, word));
        s.offset[i] = (float)(offset < 256 ? offset : offset - 512);
        s.least[i] = word & DEQ_SIGN ? INT8_MIN : 0;
        s.most[i] = word & DEQ_SIGN ? INT8_MAX : UINT8_MAX;
    }
    return s;
}

/* Apart, for the sake of simd_fp_enter. A block without lanes is not read. */
static __attribute__((noinline)) void quantise(const struct op_ctx *c,
                                               const struct cmd_vec_deq *a,
                                               const uint8_t *src, const uint8_t *words,
                                               uint8_t *stage)
{
    struct scales s = scales_of(c, a, words);
    uint64_t repeats = vec_repeats(c, 2, a->repeat), lanes[2];
    int16_t x[16];

    for (uint64_t r = 0; r < repeats; r++) {
        vec_lanes(c, 2, r, lanes);
        for (unsigned b = 0; b < 8; b++, stage += 16) {
            if (!block_lanes(lanes, b, 2)) {
                continue;
            }
            memcpy(x, src + r * 32 * a->src_rep + b * 32ull * a->src_blk, 32);
            for (unsigned i = 0; i < 16; i++) {
                float product = (float)x[i] * s.scale[i];
                float whole = round_whole(product + s.offset[i], ROUND_RINT);
                stage[i] = (uint8_t)to_integer(whole, s.least[i], s.most[i]);
            }
        }
    }
}

void vec_deq_run(const struct op_ctx *c)
{
    unsigned fp = simd_fp_enter();

    quantise(c, &c->cmd->vec_deq, c->src[0], c->src[1], c->stage);
    simd_fp_leave(fp);
}

void vec_deq_store(const struct op_ctx *c)
{
    const uint8_t *stage = c->stage;
    const struct cmd_vec_deq *a = &c->cmd->vec_deq;
    uint64_t lanes[2];

    for (uint64_t r = 0; r < c->plan->dst.n[1]; r++) {
        vec_lanes(c, 2, r, lanes);
        for (unsigned b = 0; b < 8; b++, stage += 16) {
            uint8_t *half = c->to + r * 32 * a->dst_rep + b * 32ull * a->dst_blk;
            uint64_t on = block_lanes(lanes, b, 2);
            if (on == 0xffff) {
                memcpy(half, stage, 16);
                continue;
            }
            for (unsigned i = 0; i < 16; i++) {
                half[i] = on >> i & 1 ? stage[i] : half[i];
            }
        }
    }
}

/* Of the words those whose lane is on in some block. */
static void touch_words(const struct touch *t, const struct cmd_vec_deq *a,
                        const struct vec_lane_set *l)
{
    uint64_t lanes = 0;
    struct vec_lane_set words = {.per_repeat = 16, .repeats = 1};
    struct vec_elements e = {FIELD_OF(words), a->words, 8, 16, 128, 0};

    for (unsigned w = 0; w < 2; w++) {
        lanes |= (l->repeats ? l->on[w] : 0) | l->tail[w];
    }
    words.on[0] = (lanes | lanes >> 16 | lanes >> 32 | lanes >> 48) & 0xffff;
    vec_touch(t, TOUCH_READS, &e, &words);
}

void vec_deq_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_deq *a = &c->cmd->vec_deq;
    struct vec_lane_set l = vec_lanes_of(c, 2, a->repeat);
    struct vec_elements src =
        vec_elements(FIELD_OF(src), a->src, 2, a->src_blk, a->src_rep);
    struct vec_elements dst = vec_elements(FIELD_OF(dst), (uint32_t)c->plan->dst.base, 1,
                                           a->dst_blk, a->dst_rep);

    dst.per_block = 16;
    vec_touch(t, TOUCH_READS, &src, &l);
    if (a->head.flags & VDEQ_VECTOR) {
        touch_words(t, a, &l);
    }
    vec_touch(t, TOUCH_WRITES, &dst, &l);
}

void vec_deq_flow(const struct op_ctx *c)
{
    flow_all(c);
}
