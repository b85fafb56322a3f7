/* SPDX-License-Identifier: MIT
 *
 * What the operations of the three DMA engines share; private to mte*.c.
 * Source: hal/contract/mte.md; costs from profile.def.
 */
#ifndef TOOLS_EMU_MODEL_OPS_MTE_MTE_H
#define TOOLS_EMU_MODEL_OPS_MTE_MTE_H

#include "tools/emu/model/ops/op.h"

static inline uint64_t round_up(uint64_t value, uint64_t unit)
{
    return div_up(value, unit) * unit;
}

/* Elements that are moved as one: two of S4 are in a byte. */
static inline unsigned mte_together(uint8_t type)
{
    return type == TYPE_S4 ? 2 : 1;
}

static inline unsigned mte_move_bytes(uint8_t type)
{
    return type_bits(type) * mte_together(type) / 8;
}

/* Cost of a read from GM, plan->src[0], at a rate: a row below GM_ROW_BYTES takes as long
 * as one of that size, but draws only its bytes from what is shared. Gives the cycles of
 * the rows. latency: of GM, whose fixed cycles are. */
uint64_t mte_gm_cost(const struct op_ctx *c, enum npu_cost rate, enum npu_cost latency);
/* What it costs that rows of GM begin between lines, in bytes. */
uint64_t mte_unaligned(const struct op_ctx *c, const struct access *a);

/* The same of a write to GM, plan->dst, whose rate and work are known. */
void mte_out_unaligned(const struct op_ctx *c);

/* Cost of a load from L1 to L0, but for its work: its start is there once, not for each
 * that follows directly. */
void mte_load_cost(const struct op_ctx *c, enum npu_cost rate);

/* run() of SET_PAD_*. */
void mte_set_pad_run(const struct op_ctx *c);
/* `bytes` bytes of the same element of 4, 8, 16 or 32 bits. */
void mte_fill(uint8_t *to, uint64_t value, unsigned bits, size_t bytes);

/* run() of a copy whose source rows are at one stride. */
void mte_copy_run(const struct op_ctx *c);
/* plan() of the copies between L1 and UB. */
void mte_local_plan(const struct op_ctx *c, const struct cmd_copy_local *a,
                    enum npu_mem from, enum npu_mem to);

/* plan() and run() of INIT_*: `unit` bytes. */
unsigned mte_init_plan(const struct op_ctx *c, const struct cmd_init *a, enum npu_mem to,
                       uint32_t unit, struct plan *plan);
void mte_init_run(const struct op_ctx *c);

/* Source and destination of single fractals, in their units; cost is left to the engine.
 */
struct mte_fractals {
    enum npu_mem from, to;
    size_t src_field, dst_field; /* of the command */
    uint64_t src;
    uint32_t dst, start, src_stride, dst_gap, repeat;
};

void mte_fractals_plan(struct plan *plan, const struct mte_fractals *f);

#endif
