/* SPDX-License-Identifier: MIT
 *
 * Operators that are tile programs: NAME.tile is all there is of one. Comments at its front
 * say what kernels/cli/op.h wants besides:
 *
 *     # 1 / (1 + exp(-x))                      the first one: the summary
 *     # numpy 1 / (1 + np.exp(-x))             an expression, or statements, one a line
 *     # ulps 2                                 of the result's type, that it may be off what NumPy
 *                                              computes in float64, unless that says `bound`, which
 *                                              is added; 0: rounded once. Of float16 one
 *     # case --n 300 --type f16                a command line for the tests
 *     # axis 1                                 --axis, unless it is the last
 *     # Source: ...                            anything else is for readers
 */
#ifndef KERNELS_OPS_OPS_H
#define KERNELS_OPS_OPS_H

#include "kernels/cli/op.h"

/* An entry's `open`. */
const struct opdesc *ops_open(const struct opdesc *entry);

#endif
