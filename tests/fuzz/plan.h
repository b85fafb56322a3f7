/* SPDX-License-Identifier: MIT
 *
 * Plans that are damaged.
 */
#ifndef TESTS_FUZZ_PLAN_H
#define TESTS_FUZZ_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_PLANS = 5 }; /* sound ones */

/* The first byte chooses a sound plan, each three behind it change a byte of it: where, as 16
 * bits from the end of its header or from its beginning, and to what. Its sums are right again,
 * since one with a wrong sum gets no further. Then it is opened and, if it is taken, read as
 * the firmware reads it. NULL, or what was said of it; *ran: copies that could be done. */
const char *fuzz_plan(const uint8_t *data, size_t size, unsigned *ran);
/* The same for libFuzzer. */
int fuzz_plan_input(const uint8_t *data, size_t size);

#endif
