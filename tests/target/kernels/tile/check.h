/* SPDX-License-Identifier: MIT
 *
 * A program of some shape, planned, run and compared with the interpreter, for tests.
 */
#ifndef TESTS_TARGET_KERNELS_TILE_CHECK_H
#define TESTS_TARGET_KERNELS_TILE_CHECK_H

#include <stdint.h>

/* Sizes by the first letter of a dimension; n is that of all others. */
struct shape {
    uint32_t b, m, n, k;
};

struct tile_kernel;

/* Size of the dimension that s32 parameters are indices of; 0: of none. */
extern uint32_t check_gathered;

void check_sizes(struct tile_kernel *k, struct shape shape);
void check_program(const char *text, struct shape shape);
void check_programs(const char *text, const struct shape *shapes, unsigned n);
#define CHECK_ALL(text, ...)                                                             \
    check_programs(text, (const struct shape[]){__VA_ARGS__},                            \
                   sizeof((const struct shape[]){__VA_ARGS__}) / sizeof(struct shape))
/* The planner refuses it, with that line and column and these words. */
void check_refused(const char *text, struct shape shape, unsigned line, unsigned column,
                   const char *why);

#endif
