/* SPDX-License-Identifier: MIT
 *
 * What carries the checks in the programs here: memory of the C library.
 */
#ifndef TESTS_CHECK_HOST_H
#define TESTS_CHECK_HOST_H

#include "tools/emu/check/host.h"

extern const struct check_host test_host;

#endif
