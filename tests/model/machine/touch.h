/* SPDX-License-Identifier: MIT
 *
 * Random commands for touch_test.c: most of what the generator makes is legal, near the
 * beginning of each memory, with what they need in the data and the special registers.
 */
#ifndef TESTS_MODEL_MACHINE_TOUCH_H
#define TESTS_MODEL_MACHINE_TOUCH_H

#include "tools/emu/model/npu.h"

/* Bytes of each memory in which the operands lie; the destinations in the upper half. */
#define TOUCH_WINDOW 8192
/* How many of them memory m, NPU_MEM_COUNT for GM, has; 0: it is no memory but a stage. */
static inline unsigned touch_window(unsigned m)
{
    uint32_t bytes =
        m == NPU_MEM_COUNT ? TOUCH_WINDOW : npu_mem_size(PROFILE_a2, (enum npu_mem)m);

    return m < NPU_MEM_COUNT && npu_mem_offset((enum npu_mem)m) == 0 ? 0
           : bytes < TOUCH_WINDOW                                    ? bytes
                                                                     : TOUCH_WINDOW;
}

/* Register commands that go before it, and the command. */
struct touch_program {
    union cmd set[4], cmd;
    unsigned n_set;
};

/* An opcode's command, with one of its types, flags and everything else at random. */
struct touch_program touch_program(const struct cmd_info *info);
/* Offsets and indices that the command can use, where it looks for them. */
void touch_data(const union cmd *cmd, uint8_t *ub, uint8_t *l0b_index);

#endif
