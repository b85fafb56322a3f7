/* SPDX-License-Identifier: MIT
 *
 * Commands of the Cube. Each function only builds a command; L0 addresses are byte
 * offsets. Formula, ranges and numbers: hal/contract/cube.md.
 */
#ifndef HAL_CUBE_H
#define HAL_CUBE_H

#include "hal/pipe.h"

/* c (m, n) = a (m, k) x b (k, n), plus c unless `from_zero`. type is that of a and b. */
static inline void cube_mmad(union cmd *cmd, enum type type, uint32_t l0c, uint32_t l0a,
                             uint32_t l0b, unsigned m, unsigned n, unsigned k,
                             bool from_zero)
{
    cmd_init(cmd, OP_MMAD, type);
    cmd->head.flags = from_zero ? MMAD_INIT : 0;
    cmd->mmad.dst = l0c;
    cmd->mmad.a = l0a;
    cmd->mmad.b = l0b;
    cmd->mmad.m = (uint16_t)m;
    cmd->mmad.n = (uint16_t)n;
    cmd->mmad.k = (uint16_t)k;
}

/* c (m, n) = a (m, k) x b (k, n), plus c unless `from_zero`, where of each 4 rows of b at
 * most 2 are not 0 in a column: L0B holds only these, 2 * ceil(k / 4) rows, and their index,
 * both brought there by mte_l1_to_l0b_sparse(). a and b are int8, c is int32. Takes half the
 * cycles of cube_mmad(). An index of 3 stops the command with INDEX, a chip without it
 * (chip_has_sparse()) with CHIP. cube_bias() and cube_unit() work on it too; it has no other
 * flags. Ascend C: MmadWithSparse. */
static inline void cube_mmad_sparse(union cmd *cmd, uint32_t l0c, uint32_t l0a,
                                    uint32_t l0b, unsigned m, unsigned n, unsigned k,
                                    bool from_zero)
{
    cube_mmad(cmd, TYPE_S8, l0c, l0a, l0b, m, n, k, from_zero);
    cmd->head.opcode = OP_MMAD_SPARSE;
}

/* Makes an Mmad start each row of c from n elements at `bt`; in fp32, or int32 for S8
 * and S4. Other flags of MMAD are or-ed into cmd->head.flags. */
static inline void cube_bias(union cmd *cmd, uint32_t bt)
{
    cmd->head.flags = (uint8_t)((cmd->head.flags & ~MMAD_INIT) | MMAD_BIAS);
    cmd->mmad.bias = bt;
}

/* The tile goes to the fixpipe by marks in L0C instead of a semaphore: UNIT_KEEP for every
 * Mmad that adds to it, UNIT_PASS for the last. Those of the fixpipe: fixpipe_unit. */
static inline void cube_unit(union cmd *cmd, unsigned unit)
{
    cmd->mmad.unit = (uint8_t)unit;
}

#endif
