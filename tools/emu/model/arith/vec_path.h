/* SPDX-License-Identifier: MIT
 *
 * Private to vec*.c here and ops/vector*.c: the arithmetic of the Vector over elements that lie
 * side by side. The path for each host is vec_kernel.h compiled for it.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_VEC_PATH_H
#define TOOLS_EMU_MODEL_ARITH_VEC_PATH_H

#include "hal/contract/contract.h"

/* What a command has besides its operands. */
struct vec_imm {
    float real;     /* the scalar, if it is F32 or F16 */
    uint32_t whole; /* otherwise, sign-extended */
    float deq;      /* that S32 is scaled with on its way to F16; an fp16 */
    unsigned flags;
    unsigned mode; /* ROUND_ of a cast, but not NONE; CMP_ of a comparison */
};

/* n elements, of S4 and what it becomes or came from pairs; dst overlaps no source. */
typedef void vec_fn(void *dst, const void *const *src, size_t n,
                    const struct vec_imm *imm);

struct vec_kernel {
    vec_fn *fn; /* NULL: there is none */
    unsigned n_src;
};

/* Element commands have opcodes from VEC_FIRST. */
enum { VEC_FIRST = 0x90, VEC_OPS = 0x30 };
#define VEC_INDEX(opcode) ((opcode)-VEC_FIRST)

/* Each [WIDE][type]; conv from, to; compare and select [a scalar instead of the second
 * source][type]. */
struct vec_path {
    struct vec_kernel op[2][VEC_OPS][TYPE_COUNT];
    vec_fn *conv[TYPE_COUNT][TYPE_COUNT];
    vec_fn *compare[2][TYPE_COUNT]; /* dst is bits, beginning a byte */
    vec_fn *select[2][TYPE_COUNT];  /* the last source is bits */
};

extern const struct vec_path vec_plain;
#if defined(__x86_64__)
extern const struct vec_path vec_avx2, vec_avx512;
#endif

#endif
