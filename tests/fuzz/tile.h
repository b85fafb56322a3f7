/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a tile program.
 */
#ifndef TESTS_FUZZ_TILE_H
#define TESTS_FUZZ_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/tile/ir/ir.h"

/* Parses them; if they are a program, lowers it and computes an element of each result.
 * What the parser said is left in *error. */
void fuzz_tile(const uint8_t *data, size_t size, struct tile_error *error);
/* The same for libFuzzer. */
int fuzz_tile_input(const uint8_t *data, size_t size);

#endif
