/* SPDX-License-Identifier: MIT
 *
 * A chip whose UB is full of noise, for tests that say what all of UB holds after a
 * command. One at a time.
 */
#ifndef TESTS_MODEL_VECTOR_RIG_H
#define TESTS_MODEL_VECTOR_RIG_H

#include <stdint.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { UB = 196608, DST = 65536, SRC = 0, SRC1 = 131072 };

static uint8_t want[UB]; /* what UB is to hold */

static inline uint8_t *ub(void)
{
    return mem(NPU_MEM_UB);
}

static inline void start(void)
{
    fresh();
    noise(ub(), UB);
    for (unsigned i = 0; i < UB; i++) {
        mem(NPU_MEM_STAGE_V)[i] = (uint8_t)~ub()[i];
    }
}

static inline void set_mask(uint64_t lo, uint64_t hi, bool counter)
{
    union cmd c = rig_command(OP_SET_MASK, TYPE_NONE);

    c.head.flags = counter;
    c.set_mask.lo = lo;
    c.set_mask.hi = hi;
    run(c);
}

/* Whether the command ran and left UB as `want` has it. */
static inline bool gives(union cmd cmd)
{
    unsigned error = run(cmd);

    if (error == 0 && same(ub(), want, UB)) {
        return true;
    }
    test_note("%s of %s: %s", cmd_find(cmd.head.opcode)->name, type_name(cmd.head.type),
              npu_error_name(error));
    return false;
}

/* An F32 or F16 number. */
static inline float value_at(const uint8_t *from, unsigned esize)
{
    uint32_t bits = element_get(from, 0, 8 * esize);

    return esize == 4 ? float_of(bits) : half_value((uint16_t)bits);
}

#endif
