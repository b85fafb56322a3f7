/* SPDX-License-Identifier: MIT
 *
 * A program of register accesses, commands and steps of time against the model; fuzz.c.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include "hal/contract/contract.h"

/* The name that libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How often each command moved or computed something. */
extern unsigned fuzz_completed[CMD_OPCODES];

#endif
