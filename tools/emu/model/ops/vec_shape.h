/* SPDX-License-Identifier: MIT
 *
 * Private to op_vector.c and vec_shape.c: an element command, whatever its format.
 */
#ifndef TOOLS_EMU_MODEL_OPS_VEC_SHAPE_H
#define TOOLS_EMU_MODEL_OPS_VEC_SHAPE_H

#include "tools/emu/model/ops/vec.h"
#include "tools/emu/model/arith/vec_path.h"

/* `src` has what is read, the bits of a selection last. */
struct shape {
    struct vec_operand src[3], dst;
    unsigned n_src;
    unsigned repeat;   /* operand of the command */
    vec_fn *fn, *then; /* `then`, if any, converts what fn leaves */
    struct vec_imm imm;
    bool to_cmpmask, from_cmpmask;
    bool pairs;     /* S4: an element is two numbers, so that it has whole bytes */
    uint8_t result; /* enum type that saturation (SET_CTRL) knows; NONE: bits */
};

unsigned shape_plan(const struct op_ctx *c, const union cmd *cmd, struct shape *s,
                    struct plan *plan, uint8_t *field);
/* `ub` is where UB begins. */
void shape_run(const struct op_ctx *c, const union cmd *cmd, struct shape *s,
               const struct plan *plan, const uint8_t *ub, uint8_t *stage);
void shape_store(const struct op_ctx *c, const union cmd *cmd, struct shape *s,
                 const struct plan *plan, uint8_t *to, const uint8_t *stage);

#endif
