/* SPDX-License-Identifier: MIT
 *
 * What the commands of the Vector share: repeats, masks, what an operand touches and how
 * results get from the stage to UB. Source: hal/contract/vector.md.
 */
#ifndef TOOLS_EMU_MODEL_OPS_VEC_H
#define TOOLS_EMU_MODEL_OPS_VEC_H

#include "tools/emu/model/machine/state.h"

/* Repeats of a command with elements of esize bytes, after the mask mode. */
uint64_t vec_repeats(const struct op_ctx *c, unsigned esize, unsigned repeat);
/* Elements of one repeat that take part, as a mask. */
void vec_lanes(const struct op_ctx *c, unsigned esize, uint64_t repeat,
               uint64_t lanes[2]);
/* The lanes of one 32-byte block of the repeat. */
uint64_t block_lanes(const uint64_t lanes[2], unsigned block, unsigned esize);
/* In counter mode an operand without gaps is one row, exactly as long as the count. */
bool vec_one_row(const struct op_ctx *c, unsigned blk, unsigned rep);
/* What an operand of whole repeats of 8 blocks touches. */
struct access vec_access(const struct op_ctx *c, size_t field, unsigned esize,
                         uint64_t repeats, uint32_t base, unsigned blk, unsigned rep);
/* Writes the elements whose lanes are on, repeat by repeat and block by block; what lies
 * between them is not touched. The stage holds 256 bytes a repeat. */
void vec_store(const struct op_ctx *c, const struct plan *plan, unsigned esize,
               unsigned repeat, unsigned blk, unsigned rep, uint8_t *to,
               const uint8_t *stage);
/* Cost from the command's line in vector.def. */
void vec_cost(const union cmd *cmd, uint64_t repeats, struct plan *plan);
/* One operand of a command: where its blocks lie. An operand of bits (esize 0) lies side
 * by side and has no block. */
struct vec_operand {
    size_t field; /* offset in the command */
    uint32_t base;
    uint8_t esize, blk, rep;
};

/* Work of the repeats in cycles, at least `slope` each: accesses to the same bank group
 * of UB go one after the other, and reading a bank that is being written waits
 * (vector.md). */
void vec_bank_cycles(const struct npu_state *s, const struct vec_operand *src,
                     unsigned n_src, const struct vec_operand *dst, uint64_t repeats,
                     unsigned per_repeat, unsigned slope, struct plan *plan);
/* Not the same bytes in the same order, and not apart either. */
bool vec_overlap(const struct access *dst, const struct access *src);

#endif
