/* SPDX-License-Identifier: MIT
 *
 * What operators share that are a product of matrices: the parts of matmul's description.
 */
#ifndef KERNELS_MATMUL_MATMUL_OP_H
#define KERNELS_MATMUL_MATMUL_OP_H

#include <math.h>

#include "kernels/cli/op.h"

/* Values of options. */
struct matmul_own {
    uint32_t tiling, strategy, activation;
    float scale, slope, limit;
    int32_t zero;
    bool explain, hf32;
};

#define MATMUL_TYPES                                                                     \
    "f16 f16 -> f32; f16 f16 -> f16; s8 s8 -> s32; s8 s8 -> f16; s8 s8 -> s8; "          \
    "s8 s8 -> u8; bf16 bf16 -> f32; bf16 bf16 -> bf16; f32 f32 -> f32"

/* One product alone. */
#define MATMUL_U8                                                                        \
    "u8 s8 -> s32; u8 s8 -> s8; u8 s8 -> u8; u8 s8 -> f16; u8 u8 -> s32; u8 u8 -> s8; "  \
    "u8 u8 -> u8; u8 u8 -> f16; s8 u8 -> s32; s8 u8 -> s8; s8 u8 -> u8; s8 u8 -> f16"

/* On the way out, and how the work is cut: options. */
#define MATMUL_OPTIONS                                                                   \
    FLOAT(struct matmul_own, scale, 1, -1e30, 1e30, "of s8 to f16, s8, u8"),             \
        SIGNED(struct matmul_own, zero, 0, -128, 255,                                    \
               "of s8 to s8, u8: what 0 becomes"),                                       \
        CHOICE(struct matmul_own, activation, "none|relu|leaky", "behind the scale"),    \
        FLOAT(struct matmul_own, slope, 0.01, -1e30, 1e30, "of leaky, below 0"),         \
        FLOAT(struct matmul_own, limit, INFINITY, -INFINITY, INFINITY,                   \
              "no number is above"),                                                     \
        FLAG(struct matmul_own, hf32,                                                    \
             "f32: 11 bits, twice as fast; else, with no f32 in the Cube, error "        \
             "(1 + k/4) 2^-20 sum |a b|"),                                               \
        CHOICE(struct matmul_own, strategy,                                              \
               "auto|general|small|tall|gemv|split-k|batch", "how the work is cut"),     \
        FLAG(struct matmul_own, explain, "print how it is cut")

/* Of operators whose first two operands are a and b: how they lie is read from the rule, as
 * `a[m,k] b[k,n]` or, transposed, `a[k,m] b[n,k]`, in front of that the batch if there is one;
 * a third operand is the bias. With p for k bytes are two S4 each. */

/* A workspace for operands that the Vector makes first, if it has to. */
int matmul_op_prepare(struct op_call *c);
int matmul_op_run(const struct op_call *c, struct sched_report *report);
void matmul_op_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want);
void matmul_op_work(const struct op_call *c, struct work *w);

#endif
