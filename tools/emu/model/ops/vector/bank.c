/* SPDX-License-Identifier: MIT
 *
 * What bank conflicts in UB cost: hal/contract/cost.h has the arithmetic.
 */
#include "tools/emu/model/ops/vector/vector.h"

void vec_bank_cycles(const struct op_ctx *c, struct vec_work work,
                     const struct vec_operand *src, unsigned n_src,
                     const struct vec_operand *dst)
{
    struct vec_cycles cycles;

    work.bank_wait = op_cost(c, COST_VEC_BANK_WAIT);
    cycles = cost_vec_repeats(&work, src, n_src, dst);
    c->plan->bank_group = c->free_banks ? 0 : cycles.group;
    c->plan->bank = c->free_banks ? 0 : cycles.bank;
    c->plan->work = cycles.all - (c->free_banks ? cycles.group + cycles.bank : 0);
}
