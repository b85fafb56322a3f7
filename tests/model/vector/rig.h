/* SPDX-License-Identifier: MIT
 *
 * A chip whose UB is full of noise, for tests that say what all of UB holds after a
 * command. One at a time.
 */
#ifndef TESTS_MODEL_VECTOR_RIG_H
#define TESTS_MODEL_VECTOR_RIG_H

#include <stdint.h>
#include <string.h>

#include "tests/model/rig.h"
#include "tests/model/tap.h"

enum { UB = 196608, DST = 65536, SRC = 0, SRC1 = 131072 };

static struct rig rig;
static uint8_t want[UB]; /* what UB is to hold */
static uint32_t seed;

static inline uint32_t random32(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8 ^ seed << 13;
}

static inline uint8_t *ub(void)
{
    return rig.npu.mem[0][NPU_MEM_UB];
}

static inline void start(uint32_t number)
{
    seed = number * 7919 + 1;
    rig_open(&rig, 1, PROFILE_a2);
    for (unsigned i = 0; i < UB; i++) {
        ub()[i] = (uint8_t)(random32() >> 5);
        rig.npu.mem[0][NPU_MEM_STAGE_V][i] = (uint8_t)~ub()[i];
    }
}

/* Runs the command and gives the error of the pipe. */
static inline unsigned run(const union cmd *cmd)
{
    rig_push(&rig, 0, PIPE_V, cmd);
    rig_drain(&rig);
    return rig_error(&rig, 0, PIPE_V);
}

static inline void set_mask(uint64_t lo, uint64_t hi, bool counter)
{
    union cmd c = rig_command(OP_SET_MASK, TYPE_NONE);

    c.head.flags = counter;
    c.set_mask.lo = lo;
    c.set_mask.hi = hi;
    run(&c);
}

/* Whether the command ran and left UB as `want` has it. */
static inline bool gives(const union cmd *cmd)
{
    unsigned error = run(cmd), i = 0;

    while (i < UB && ub()[i] == want[i]) {
        i++;
    }
    if (error || i < UB) {
        tap_note("%s type %u: error %u, first difference at %u",
                 cmd_find(cmd->head.opcode)->name, cmd->head.type, error, i);
    }
    return error == 0 && i == UB;
}

/* An F32 or F16 element. */
static inline float value_at(const uint8_t *from, unsigned esize)
{
    float f = 0;
    _Float16 h;

    memcpy(&f, from, esize);
    memcpy(&h, from, 2);
    return esize == 4 ? f : (float)h;
}

#endif
