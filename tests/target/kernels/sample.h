/* SPDX-License-Identifier: MIT
 *
 * How much of a result is held against its reference, which for some operators goes through
 * all of an operand for each element.
 */
#ifndef TESTS_TARGET_KERNELS_SAMPLE_H
#define TESTS_TARGET_KERNELS_SAMPLE_H

#include "kernels/cli/check.h"
#include "tests/target/test.h"

/* Places over all of it; those that a user has compared with --long. */
static inline uint64_t samples_of(const struct op_call *call)
{
    uint64_t most = check_default(call), some = 200;

    return test_long || most < some ? most : some;
}

#endif
