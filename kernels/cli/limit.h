/* SPDX-License-Identifier: MIT
 *
 * What the machine allows: cycles that the work of a formula takes at the contract's
 * rates on the pipe, or the shared path, that needs the most for it. Computed from shapes
 * and types, never from the commands that a kernel has issued, and without what any
 * command costs besides: no kernel reaches it, some come near.
 *
 * An operator's `work` callback says what there is to do, each thing once.
 */
#ifndef KERNELS_CLI_LIMIT_H
#define KERNELS_CLI_LIMIT_H

#include "kernels/cli/op.h"

struct work {
    double cycles[NPU_PIPES];   /* of one core that did everything */
    double gm_read, gm_written; /* bytes */
    uint64_t macs;
    bool cold; /* L2 has nothing of what is read */
};

/* Bytes that come from GM into L1 or UB by MTE2; each once. */
void work_in(struct work *w, enum npu_mem to, const struct tensor *t);
/* Bytes of a result that leave UB by MTE3 or L0C by FIX; from L0C those that it holds. */
void work_out(struct work *w, enum npu_mem from, const struct tensor *t);
/* A product of (m, k) and (k, n) of a type in whole fractals. */
void work_matmul(struct work *w, enum type type, uint64_t m, uint64_t n, uint64_t k);
/* A command of the Vector over so many elements of a type. */
void work_vector(struct work *w, enum op code, enum type type, uint64_t elements);

struct work_limit {
    double cycles;
    const char *by; /* the pipe, `L2` or `HBM` */
};
/* On so many cores (0: all of the chip), work shared out evenly; whole cycles. */
struct work_limit work_limit(const struct work *w, unsigned cores);

#endif
