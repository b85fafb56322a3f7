/* SPDX-License-Identifier: MIT
 *
 * What the operations of the three DMA engines share; see mte.h.
 */
#include "tools/emu/model/ops/mte/mte.h"

#include "hal/contract/cost.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"

static bool count_unaligned(void *ctx, uint64_t first, uint64_t bytes)
{
    *(uint64_t *)ctx += cost_gm_unaligned(first, bytes);
    return true;
}

uint64_t mte_unaligned(const struct op_ctx *c, const struct access *a)
{
    uint64_t bytes = 0, strides = a->stride[0] | a->stride[1] | a->stride[2];
    uint32_t percent = op_cost(c, COST_GM_UNALIGNED);

    if (percent && access_bytes(a) && strides % L2_LINE_BYTES == 0) {
        bytes = cost_gm_unaligned(a->base, a->row_bytes) * a->n[0] * a->n[1] * a->n[2];
    } else if (percent) {
        access_each(a, count_unaligned, &bytes);
    }
    return bytes * percent / 100;
}

uint64_t mte_gm_cost(const struct op_ctx *c, enum npu_cost rate, enum npu_cost latency)
{
    struct plan *plan = c->plan;
    const struct access *a = &plan->src[0];
    uint64_t rows = (uint64_t)a->n[0] * a->n[1] * a->n[2];

    plan->rate = op_cost(c, rate);
    plan->work = access_bytes(a);
    plan->at_least =
        cost_gm_rows(rows, a->row_bytes, op_cost(c, COST_GM_ROW_BYTES), plan->rate) +
        div_up(mte_unaligned(c, a), plan->rate);
    plan->pools = POOL_READ;
    plan->latency = op_cost(c, latency);
    return plan->at_least;
}

void mte_out_unaligned(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    uint64_t slow = mte_unaligned(c, &plan->dst);
    uint64_t cycles = slow ? div_up(plan->work + slow, plan->rate) : 0;

    plan->at_least = cycles > plan->at_least ? cycles : plan->at_least;
}

void mte_load_cost(const struct op_ctx *c, enum npu_cost rate)
{
    struct plan *plan = c->plan;

    plan->behind = BEHIND_ANY;
    plan->fixed = op_cost(c, COST_L1_L0_FIXED);
    plan->fixed_next = op_cost(c, COST_L1_L0_NEXT);
    plan->rate = op_cost(c, rate);
    plan->pools = op_cost(c, COST_L1_SHARED) ? POOL_FROM_L1 : 0;
}

void mte_set_pad_run(const struct op_ctx *c)
{
    c->special[SPECIAL_PAD] = c->cmd->set_pad.value;
}

void mte_fill(uint8_t *to, uint64_t value, unsigned bits, size_t bytes)
{
    uint32_t word = (uint32_t)value;
    uint8_t line[32];

    switch (bits) {
    case 4:
        word = (word & 0xf) * 0x11111111u;
        break;
    case 8:
        word = (word & 0xff) * 0x01010101u;
        break;
    case 16:
        word = (word & 0xffff) * 0x00010001u;
        break;
    }
    for (unsigned i = 0; i < sizeof(line); i += 4) {
        memcpy(line + i, &word, 4);
    }
    for (; bytes >= sizeof(line); bytes -= sizeof(line), to += sizeof(line)) {
        memcpy(to, line, sizeof(line));
    }
    memcpy(to, line, bytes);
}

/* Sources of a block copy, packed; every direction and memory has the same shape. */
void mte_copy_run(const struct op_ctx *c)
{
    const struct access *a = &c->plan->src[0];

    move_rows(c->stage, a->row_bytes, c->src[0], a->stride[0], a->row_bytes, a->n[0]);
}

void mte_local_plan(const struct op_ctx *c, const struct cmd_copy_local *a,
                    enum npu_mem from, enum npu_mem to)
{
    struct plan *plan = c->plan;
    uint32_t n = a->len ? a->n_blocks : 0, bytes = 32u * a->len;

    plan->src[0] = access_rows(from, offsetof(struct cmd_copy_local, src), a->src, bytes,
                               n, bytes + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(to, offsetof(struct cmd_copy_local, dst), a->dst, bytes, n,
                            bytes + 32ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = op_cost(c, COST_L1_L0_FIXED);
    plan->rate = op_cost(c, COST_L1_UB_RATE);
    plan->work = access_bytes(&plan->src[0]);
}

unsigned mte_init_plan(const struct op_ctx *c, const struct cmd_init *a, enum npu_mem to,
                       uint32_t unit, struct plan *plan)
{
    uint32_t bytes = unit * a->len;

    plan->dst = access_rows(to, offsetof(struct cmd_init, dst), a->dst, bytes,
                            a->len ? a->repeat : 0, bytes + (uint64_t)unit * a->gap);
    plan->has_dst = true;
    plan->work = access_bytes(&plan->dst);
    if (a->dst % unit) {
        return op_fail(c, offsetof(struct cmd_init, dst), NPU_ERR_ALIGN);
    }
    return 0;
}

void mte_init_run(const struct op_ctx *c)
{
    mte_fill(c->stage, c->cmd->init.value, type_bits(c->cmd->head.type),
             access_bytes(&c->plan->dst));
}

void mte_fractals_plan(struct plan *plan, const struct mte_fractals *f)
{
    plan->src[0] = access_rows(f->from, f->src_field, f->src + 512ull * f->start, 512,
                               f->repeat, 512ull * f->src_stride);
    plan->n_src = 1;
    plan->dst = access_rows(f->to, f->dst_field, f->dst, 512, f->repeat,
                            512 + 512ull * f->dst_gap);
    plan->has_dst = true;
}
