/* SPDX-License-Identifier: MIT
 *
 * What an input is made into. libFuzzer finds inputs (make fuzz: each function is the
 * entry of a program of its own: tests/tests.mk); the tests beside have fixed ones.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "tests/model/rig.h"

struct fuzz_input {
    const uint8_t *data;
    size_t left;
};

/* The next bytes as a number; zeros behind the end. */
uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes);
void fuzz_skip(struct fuzz_input *in, size_t bytes);
/* A chip after power-on, which the first byte chooses; three more are its seed. */
struct rig *fuzz_chip(struct fuzz_input *in);
/* One access, push or step of time. */
void fuzz_step(struct rig *r, struct fuzz_input *in);

/* program.c: such a program to its end; 0, or it has aborted. */
int fuzz_program_input(const uint8_t *data, size_t size);
/* snapshot.c: one, of which the state is then damaged, restored and run on. */
int fuzz_snapshot_input(const uint8_t *data, size_t size);

/* look.c: what is wrong with what the registers say, or NULL. */
const char *fuzz_look(const struct rig *r);

/* Cycles in which whatever is queued has ended: a command whose sizes are the largest that
 * there are takes far fewer. */
#define FUZZ_LONGEST (1ull << 40)

/* How often each command moved or computed something. */
extern unsigned fuzz_completed[CMD_OPCODES];
/* Snapshots that were taken and not refused, and those that were refused. */
extern unsigned fuzz_taken, fuzz_refused;

#endif
