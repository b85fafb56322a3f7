/* SPDX-License-Identifier: MIT
 *
 * A chip on the host without a CPU: the model with plain arrays for memories, and time
 * that the test steps. For tests, benchmarks and the fuzzer.
 */
#ifndef TESTS_MODEL_RIG_H
#define TESTS_MODEL_RIG_H

#include "tools/emu/model/npu.h"

#define RIG_GM_BASE  0x80000000u
#define RIG_GM_BYTES (4u << 20)

struct rig {
    struct npu npu;
    struct npu_config config;
    uint8_t *gm;
    bool irq[NPU_MAX_CORES];
    unsigned maps; /* of guest memory that have not been given back */
    uint64_t now;
};

/* Every memory is an allocation of exactly its size, so that the address sanitizer sees
 * each byte out of place. */
void rig_open(struct rig *r, unsigned cores, enum npu_profile profile);
void rig_close(struct rig *r);
/* Whose prices hold, until the running test ends, in rigs that are opened from now on and
 * in the chip below: v2, if a test does not say that its cycles are those of v1. */
void rig_prices(enum npu_timing timing);
/* As it was opened; the memories stay where they are. */
void rig_reset(struct rig *r);
/* Advances to a cycle; to the end of all that runs. */
void rig_to(struct rig *r, uint64_t cycle);
void rig_drain(struct rig *r);
/* 8-byte registers of a core now. */
uint64_t rig_read(struct rig *r, unsigned core, uint32_t reg);
void rig_write(struct rig *r, unsigned core, uint32_t reg, uint64_t value);
uint32_t rig_pipe(enum pipe pipe, uint32_t reg);
/* A semaphore as the core reads it, and a post of the hart's. */
uint64_t rig_sem(struct rig *r, unsigned core, unsigned sem);
void rig_post(struct rig *r, unsigned core, unsigned sem, unsigned count);
/* Puts a command into GM and pushes it. */
void rig_push(struct rig *r, unsigned core, enum pipe pipe, const union cmd *cmd);
/* Error code that a pipe has stopped with, 0 if it has not. */
unsigned rig_error(struct rig *r, unsigned core, enum pipe pipe);

/* A command with nothing but its opcode and type. */
union cmd rig_command(enum op op, enum type type);
/* A NOP that takes one of a semaphore and posts one of another; 0: none. */
union cmd rig_nop(unsigned wait, unsigned post);
/* A copy of bytes from offset gm of GM. */
union cmd rig_copy_in(uint32_t ub, uint64_t gm, uint32_t bytes);
/* A LOAD3D: a 3 x 3 filter on 9 x 11 pixels of two channel blocks, padding 1. */
union cmd rig_load3d(enum op op, enum type type);
/* Whether a pipe of core 0 has stopped with this code, because of this field. */
bool rig_stopped(struct rig *r, enum pipe pipe, unsigned code, unsigned field);

/* The member of a command's format that a test is about: its offset, its size. */
#define MEMBER(format, name)                                                             \
    offsetof(struct cmd_##format, name), sizeof(((struct cmd_##format *)0)->name)

/* --- the chip of the running test: one core of a2, on which commands run one by one;
 * the runner resets it before each test (tests/model/running.c) --- */

extern struct rig rig;

/* As it was at the begin of the test. */
void fresh(void);
uint8_t *mem(enum npu_mem m);
enum pipe pipe_of(const union cmd *c);
/* Runs a command on its pipe to the end of all that runs; the error that it stopped with,
 * or 0. */
unsigned run(union cmd c);
/* Cycles of that. */
uint64_t cycles_of(union cmd c);
/* Whether its pipe has stopped it with this code, because of this field. */
bool refused(union cmd c, unsigned code, unsigned field);

#endif
