/* SPDX-License-Identifier: MIT
 *
 * A result against the reference of its operator.
 */
#ifndef KERNELS_CLI_CHECK_H
#define KERNELS_CLI_CHECK_H

#include "kernels/cli/op.h"

enum { CHECK_DEFAULT = -1, CHECK_ALL = 1 << 20 /* elements or multiply-adds */ };

struct checked {
    uint64_t done, of; /* elements, or rows where the reference wants whole ones */
    double worst;      /* error in units of what is allowed */
};

struct candidate {
    const char *who;
    const void *data;
};

/* How many elements, or rows, are compared unless the user says it: all where that does
 * not take long. */
uint64_t check_default(const struct op_call *call);
/* Compares so many of result `out` as `data` has it, spread over it with both ends among
 * them, with what the reference says of the operands of `call`. 0; ERR_MISMATCH after a
 * line on stderr that tells where the first difference is, how large, and where in GM;
 * ERR_NOMEM after one, too. */
MUST_CHECK int check_result(const char *who, const struct op_call *call, unsigned out,
                            const void *data, uint64_t samples, struct checked *checked);
/* The same of n, for which the reference is asked once. */
MUST_CHECK int check_several(const struct op_call *call, unsigned out,
                             const struct candidate *candidates, unsigned n,
                             uint64_t samples, struct checked *checked);

#endif
