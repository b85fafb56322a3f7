/* SPDX-License-Identifier: MIT
 *
 * What operators share that are a product of matrices: the parts of matmul's description.
 */
#ifndef KERNELS_MATMUL_MATMUL_OP_H
#define KERNELS_MATMUL_MATMUL_OP_H

#include "kernels/cli/op.h"

int matmul_op_run(const struct op_call *c, struct sched_report *report);
void matmul_op_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want);
void matmul_op_work(const struct op_call *c, struct work *w);

#endif
