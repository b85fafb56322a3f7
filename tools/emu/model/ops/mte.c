/* SPDX-License-Identifier: MIT
 *
 * What the operations of the three DMA engines share; see op_mte.h.
 */
#include "tools/emu/model/ops/mte.h"

#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"

uint64_t mte_gm_cost(const struct npu_state *s, enum npu_cost rate, struct plan *plan)
{
    const struct access *a = &plan->src[0];
    uint64_t least = cost(s, COST_GM_ROW_BYTES);
    uint64_t rows = (uint64_t)a->n[0] * a->n[1] * a->n[2];
    uint64_t work = (a->row_bytes < least ? least : a->row_bytes) * rows;

    plan->rate = cost(s, rate);
    plan->work = access_bytes(a);
    plan->at_least = plan->work ? div_up(work, plan->rate) : 0;
    plan->pools = POOL_READ;
    return plan->at_least;
}

unsigned mte_set_plan(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                      uint8_t *field)
{
    (void)c;
    (void)cmd;
    (void)field;
    plan->fixed = 1;
    return 0;
}

void mte_set_pad_run(const struct op_ctx *c, const union cmd *cmd,
                     const struct plan *plan, const uint8_t *const src[4], uint8_t *stage)
{
    (void)plan;
    (void)src;
    (void)stage;
    c->pipe->special[SPECIAL_PAD] = cmd->set_pad.value;
}

void mte_fill(uint8_t *to, uint64_t value, unsigned bits, size_t bytes)
{
    uint32_t word = (uint32_t)value;
    uint8_t line[32];

    word = bits == 4    ? (word & 0xf) * 0x11111111u
           : bits == 8  ? (word & 0xff) * 0x01010101u
           : bits == 16 ? (word & 0xffff) * 0x00010001u
                        : word;
    for (unsigned i = 0; i < sizeof(line); i += 4) {
        memcpy(line + i, &word, 4);
    }
    for (; bytes >= sizeof(line); bytes -= sizeof(line), to += sizeof(line)) {
        memcpy(to, line, sizeof(line));
    }
    memcpy(to, line, bytes);
}

/* Sources of a block copy, packed; every direction and memory has the same shape. */
void mte_copy_run(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                  const uint8_t *const src[4], uint8_t *stage)
{
    const struct access *a = &plan->src[0];

    (void)c;
    (void)cmd;
    move_rows(stage, a->row_bytes, src[0], a->stride[0], a->row_bytes, a->n[0]);
}

void mte_local_plan(const struct op_ctx *c, const struct cmd_copy_local *a,
                    enum npu_mem from, enum npu_mem to, struct plan *plan)
{
    uint32_t n = a->len ? a->n_blocks : 0, bytes = 32u * a->len;

    plan->src[0] = access_rows(from, offsetof(struct cmd_copy_local, src), a->src, bytes,
                               n, bytes + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(to, offsetof(struct cmd_copy_local, dst), a->dst, bytes, n,
                            bytes + 32ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = cost(c->s, COST_L1_L0_FIXED);
    plan->rate = cost(c->s, COST_L1_UB_RATE);
    plan->work = access_bytes(&plan->src[0]);
}

unsigned mte_init_plan(const struct cmd_init *a, enum npu_mem to, uint32_t unit,
                       struct plan *plan, uint8_t *field)
{
    uint32_t bytes = unit * a->len;

    plan->dst = access_rows(to, offsetof(struct cmd_init, dst), a->dst, bytes,
                            a->len ? a->repeat : 0, bytes + (uint64_t)unit * a->gap);
    plan->has_dst = true;
    plan->work = access_bytes(&plan->dst);
    if (a->dst % unit) {
        *field = offsetof(struct cmd_init, dst);
        return NPU_ERR_ALIGN;
    }
    return 0;
}

void mte_init_run(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                  const uint8_t *const src[4], uint8_t *stage)
{
    (void)c;
    (void)src;
    mte_fill(stage, cmd->init.value, type_bits(cmd->head.type), access_bytes(&plan->dst));
}

void mte_fractals_plan(struct access src, uint32_t start, uint32_t src_stride,
                       struct access dst, uint32_t dst_gap, uint32_t repeat,
                       struct plan *plan)
{
    plan->src[0] = access_rows(src.mem, src.field, src.base + 512ull * start, 512, repeat,
                               512ull * src_stride);
    plan->n_src = 1;
    plan->dst =
        access_rows(dst.mem, dst.field, dst.base, 512, repeat, 512 + 512ull * dst_gap);
    plan->has_dst = true;
}
