/* SPDX-License-Identifier: MIT
 *
 * How undefined bytes travel through an operation; see flow.c. The functions with one
 * argument are those for `flow` of struct operation.
 */
#ifndef TOOLS_EMU_MODEL_OPS_FLOW_H
#define TOOLS_EMU_MODEL_OPS_FLOW_H

#include "tools/emu/model/ops/op.h"

#define FLOW_UNDEFINED 0xff

/* Whether one of the bytes of a shadow is undefined; makes all of them so, or defined. */
bool flow_any(const uint8_t *shadow, uint64_t bytes);
void flow_set(uint8_t *shadow, bool undefined, uint64_t bytes);
/* From the stage to c->to, as store() or, where it combines, element by element. */
void flow_store(const struct op_ctx *c);

/* Bytes go from one place to another. */
void flow_move(const struct op_ctx *c);
/* The results follow from no byte of a memory. */
void flow_defined(const struct op_ctx *c);
/* Of the Vector: any undefined byte that is read makes all results undefined. */
void flow_all(const struct op_ctx *c);

#endif
