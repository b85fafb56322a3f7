/* SPDX-License-Identifier: MIT
 *
 * Private to vector.c and shape.c: an element command, whatever its format.
 */
#ifndef TOOLS_EMU_MODEL_OPS_VECTOR_SHAPE_H
#define TOOLS_EMU_MODEL_OPS_VECTOR_SHAPE_H

#include "tools/emu/model/ops/vector/vector.h"
#include "tools/emu/model/arith/vec_path.h"

/* `src` has what is read, the bits of a selection last. */
struct shape {
    struct vec_operand src[3], dst;
    unsigned n_src;
    unsigned repeat;   /* operand of the command */
    vec_fn *fn, *then; /* `then`, if any, converts what fn leaves */
    struct vec_imm imm;
    bool to_cmpmask, from_cmpmask;
    bool flow;      /* of undefined bytes, instead of the arithmetic */
    bool bits;      /* a bit of a result follows from that bit of each source alone */
    bool pairs;     /* S4: an element is two numbers, so that it has whole bytes */
    uint8_t result; /* enum type that saturation (SET_CTRL) knows; NONE: bits */
};

unsigned shape_plan(const struct op_ctx *c, struct shape *s);
void shape_run(const struct op_ctx *c, struct shape *s);
void shape_store(const struct op_ctx *c, struct shape *s);
void shape_touch(const struct op_ctx *c, const struct shape *s, const struct touch *t);

/* VDEQ, a line of the same table; deq.c. */
unsigned vec_deq_plan(const struct op_ctx *c);
void vec_deq_run(const struct op_ctx *c);
void vec_deq_store(const struct op_ctx *c);
void vec_deq_flow(const struct op_ctx *c);
void vec_deq_touch(const struct op_ctx *c, const struct touch *t);

#endif
