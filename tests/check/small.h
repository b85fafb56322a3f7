/* SPDX-License-Identifier: MIT
 *
 * Small programs on the bare model, two cores of it: the hart is the test, and a command's
 * pc is its line there.
 */
#ifndef TESTS_CHECK_SMALL_H
#define TESTS_CHECK_SMALL_H

#include "tests/model/rig.h"

/* Semaphores of a core, of the chip; buffers in UB. */
enum { FULL = 1, FREE, DONE, LATE, MESSAGE = SEM_CORE + 1 };
enum { BUFFER = 0, BESIDE = 8 << 10, ELSEWHERE = 16 << 10, BYTES = 256, CORES = 2 };

extern struct rig small;
/* GM and the cores of the chip, for checks. */
extern const struct race_config small_config;

/* A chip as new, in a run, that tells all to `hear`. */
void small_begin(void (*hear)(void *ctx, const struct npu_event *e));

/* A command of a line, which waits for `takes` units and posts one; 0: no semaphore. */
void small_push(unsigned core, union cmd c, unsigned wait, unsigned takes, unsigned post);
union cmd at_line(union cmd c, unsigned line);
#define PUSH(core, c, wait, post) small_push(core, at_line(c, __LINE__), wait, 1, post)
/* The hart takes units when all has come to its end; it looks that a pipe has. */
void small_take(unsigned core, unsigned sem, unsigned count);
void small_look(unsigned core, enum pipe pipe);

/* BYTES from GM to a buffer, from a buffer to GM; the Vector reads a buffer. */
union cmd load(uint32_t ub);
union cmd store(uint64_t gm);
union cmd use(uint32_t ub);

#endif
