/* SPDX-License-Identifier: MIT
 *
 * tests/test.h, and what only tests on the target have.
 */
#ifndef TESTS_TARGET_TEST_H
#define TESTS_TARGET_TEST_H

#include "tests/test.h"

/* A test of how many cycles something takes: left out by `test --any-timing`, which is
 * for machines with a SEED. Every other test must pass there too. */
#define TEST_CYCLES(suite, name) TEST_ENTRY(suite, name, TEST_OF_CYCLES)

/* One that goes through many shapes: left out by `test --brief`, which is for what has
 * another C library, number of cores or seed than the run that has them all. */
#define TEST_SHAPES(suite, name) TEST_ENTRY(suite, name, TEST_OF_SHAPES)

/* One that takes longer than `make test` has time for: `test --long` has it as well. */
#define TEST_LONG(suite, name) TEST_ENTRY(suite, name, TEST_LASTING)

#endif
