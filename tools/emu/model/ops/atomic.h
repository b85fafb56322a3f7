/* SPDX-License-Identifier: MIT
 *
 * Writes to GM that combine with what is there: what SET_ATOMIC_MTE3 and SET_ATOMIC_FIX
 * switch on for the commands behind them in the same queue. An operation that writes GM
 * asks atomic_check() in plan() and calls atomic_rows() from store().
 *
 * Read, combine and write happen in one go when the command ends (at its commit), so
 * results follow the order in which commands end. Source: hal/contract/mte.md, "Atomics".
 */
#ifndef TOOLS_EMU_MODEL_OPS_ATOMIC_H
#define TOOLS_EMU_MODEL_OPS_ATOMIC_H

#include "tools/emu/model/ops/op.h"

#define ATOMIC_OP(c)   ((unsigned)((c)->special[SPECIAL_ATOMIC] & 0xff))
#define ATOMIC_TYPE(c) ((unsigned)((c)->special[SPECIAL_ATOMIC] >> 8 & 0xff))

/* Whether GM writes of this pipe combine; false: they replace. */
bool atomic_active(const struct op_ctx *c);

/* 0, or ALIGN at `field` if rows of `row_bytes` are not whole elements of the atomic
 * type; 0 if not active. row_bytes is that of one row, before rows are merged. */
unsigned atomic_check(const struct op_ctx *c, size_t field, uint64_t row_bytes);

/* As op_store_rows(): the packed rows of the stage to `to`, where dst->base lies;
 * combined with what is there if active, stored as they are if not. */
void atomic_rows(const struct op_ctx *c, const struct access *dst, uint8_t *to,
                 const uint8_t *stage);

#endif
