/* SPDX-License-Identifier: MIT
 *
 * What the words of a trace say of a command: its pipe, operands as "L0A 0x0, L0B 0x8000",
 * shapes as "F16 n_rows=128 n_cols=64".
 */
#ifndef TOOLS_PROFILE_WORDS_H
#define TOOLS_PROFILE_WORDS_H

#include "tools/profile/trace.h"

enum { MEM_NONE = NPU_MEM_COUNT + 1 };

/* The pipe of this name, or 0. */
uint8_t word_pipe(const char *name);
/* The memory of the first operand, or MEM_NONE, and its address. */
uint8_t word_operand(const char *text, uint64_t *address);
/* Name of a memory as it stands in a trace, "" for none. */
const char *word_memory(uint8_t mem);
/* A number of a shape; `missing` if it is not there. */
uint64_t word_number(const char *shape, const char *key, uint64_t missing);
/* Fills in the rows of GM that a command reads or writes, those that lie apart. */
void word_rows(struct command *c, const char *shape);

#endif
