/* SPDX-License-Identifier: MIT
 *
 * Commands of the Cube. Each function only builds a command; addresses in L0A, L0B, L0C
 * and BT are byte offsets. A number that does not fit into its operand is an assert, what
 * the hardware refuses it reports. Formula, ranges and numbers: hal/contract/cube.md.
 */
#ifndef HAL_CUBE_H
#define HAL_CUBE_H

#include "hal/pipe.h"

/* What the sums of a product begin with. */
enum cube_from {
    CUBE_FROM_ZERO,
    CUBE_FROM_C,    /* c as it is */
    CUBE_FROM_BIAS, /* each row from the same n elements in BT */
};

/* c (m, n) = a (m, k) x b (k, n) + what `from` says. */
struct cube_mmad {
    enum type type;   /* of a and b; c is fp32, or int32 for S8 and S4 */
    uint32_t c;       /* in L0C, a multiple of 1024 */
    uint32_t a, b;    /* in L0A and L0B, multiples of 512 */
    uint32_t m, n, k; /* up to 4095 */
    enum cube_from from;
    uint32_t bias; /* CUBE_FROM_BIAS: in BT, of c's type, a multiple of 64 */
    uint8_t flags; /* MMAD_HF32, MMAD_HF32_ZERO, MMAD_K_ALIGN, MMAD_GEMV */
    /* Hands the tile to the fixpipe by marks in L0C instead of a semaphore: UNIT_KEEP in
     * every Mmad that adds to it, UNIT_PASS in the last; 0: no marks. */
    uint8_t unit;
};

_Static_assert((int)MMAD_SPARSE_INIT == (int)MMAD_INIT, "one flag");
_Static_assert((int)MMAD_SPARSE_BIAS == (int)MMAD_BIAS, "one flag");

static inline uint8_t cube_from_flag(enum cube_from from)
{
    return from == CUBE_FROM_ZERO ? MMAD_INIT : from == CUBE_FROM_BIAS ? MMAD_BIAS : 0;
}

/* Changes that of a command that is built once and pushed many times. */
static inline void cube_set_from(union cmd *cmd, enum cube_from from)
{
    unsigned others = cmd->head.flags & ~(unsigned)(MMAD_INIT | MMAD_BIAS);

    cmd->head.flags = (uint8_t)(others | cube_from_flag(from));
}

static inline void cube_product(union cmd *cmd, enum op op, const struct cube_mmad *p)
{
    cmd_init(cmd, op, p->type);
    cmd->head.flags = p->flags | cube_from_flag(p->from);
    cmd->mmad.dst = p->c;
    cmd->mmad.a = p->a;
    cmd->mmad.b = p->b;
    cmd->mmad.bias = p->bias;
    CMD_SET(cmd->mmad.m, p->m);
    CMD_SET(cmd->mmad.n, p->n);
    CMD_SET(cmd->mmad.k, p->k);
    cmd->mmad.unit = p->unit;
}

static inline void cube_mmad(union cmd *cmd, const struct cube_mmad *p)
{
    cube_product(cmd, OP_MMAD, p);
}

/* The same where of each 4 rows of b at most 2 are not 0 in a column: L0B holds only
 * these, 2 * ceil(k / 4) rows, and their index, both brought there by
 * mte_l1_to_l0b_sparse(). type is S8, flags are 0. Takes half the cycles. An index of 3
 * stops the command with INDEX, a chip without it (chip_has_sparse()) with CHIP. Ascend
 * C: MmadWithSparse. */
static inline void cube_mmad_sparse(union cmd *cmd, const struct cube_mmad *p)
{
    cube_product(cmd, OP_MMAD_SPARSE, p);
}

#endif
