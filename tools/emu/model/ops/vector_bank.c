/* SPDX-License-Identifier: MIT
 *
 * What bank conflicts in UB cost: hal/contract/cost.h has the arithmetic.
 */
#include "tools/emu/model/ops/vector.h"

void vec_bank_cycles(const struct op_ctx *c, const struct vec_operand *src,
                     unsigned n_src, const struct vec_operand *dst, uint64_t repeats,
                     unsigned per_repeat, unsigned slope)
{
    struct vec_cycles cycles =
        cost_vec_repeats(&(struct vec_work){.repeats = repeats,
                                            .per_repeat = per_repeat,
                                            .slope = slope,
                                            .bank_wait = op_cost(c, COST_VEC_BANK_WAIT)},
                         src, n_src, dst);

    c->plan->bank_group = cycles.group;
    c->plan->bank = cycles.bank;
    c->plan->work = cycles.all;
}
