/* SPDX-License-Identifier: MIT
 *
 * out = gelu(layernorm(a x b + bias)): a product, a normalisation of its rows without
 * gamma and beta, and an activation, in one launch.
 *
 * The name is borrowed. Ascend's operator MlaProlog is what multi-head latent attention
 * does before the attention (down and up projections, RMS norms, RoPE); this is none of
 * it. It is called so because users ask for a fused launch of the Cube and the Vector by
 * that name.
 *
 *     x = a x b + bias                              a (m, k), b (k, n), bias (n)
 *     y = (x - mean) / sqrt(var + EPS)              mean and var of each row of x
 *     out = y / 2 * (1 + erf(y / sqrt(2)))          out (m, n)
 *
 * Types    fp16 in and out, fp32 inside; row-major in GM.
 * Ranges   m, n, k from 1 up; rows at any address; out overlaps no input.
 * Uses     all local memories, semaphores MLA_SEM_FIRST to _LAST of each core.
 * Errors   ERR_ARG: nothing was started. Else what launch() returns: *report.
 *
 * Numbers. x is the bias, then products with k ascending, one rounding a step. var comes
 * from sums of d and d * x with d = x - shift, where shift is the mean of the row's first
 * elements (16, or the largest power of 2 up to n). A row with NaN or infinity in x is
 * NaN. With u = 2^-24, sigma = sqrt(var + EPS), S the largest |bias| + sum of |a b| of
 * the row, and ulp that of fp16 at the result,
 *
 *     |out - exact| <= ulp / 2 + E
 *     E = u * (2 * (4 * sqrt(k) + 16) * S / sigma + 64) * max(1, |y|)
 *
 * 4 sqrt(k) u S is what k rounded additions do to x, but with a probability that is none
 * in practice (Higham, Mary: A New Approach to Probabilistic Rounding Error Analysis,
 * 2019; the worst case is k u S). 16 u S is what the mean adds. The slope of gelu is
 * below 1.13; twice that covers sigma. 64 is for the shift, which loses at most n / 16 of
 * u, and for erf.
 *
 * One launch (fused) or three through GM (separate): the same tiles, the same commands
 * for the same formula, the same bits but for results below 2^-14.
 *
 * What it costs, and what the machine would allow, is computed and printed by each run
 * (`its cycles`: kernels/cli/limit.h). Why it stays above that:
 *
 * Cycles. Both passes of the Vector go over every tile, and a command has fixed cycles
 * besides its repeats: with tiles of 128 repeats these are a sixth to a third of it, and
 * the statistics of a block, few rows long, are nearly nothing else. erf alone takes half
 * of pass 2. Where n is much larger than k the Vector is the limit of the fused launch,
 * and the Cube waits for it.
 *
 * Traffic. A block of R rows needs R (4 n + 2 k) bytes on the core, for x, which
 * layernorm wants whole, and for a; b is read once a block, unless it is so small, 2 x 128 x
 * 256 elements, that it stays in L1. So what a block leaves in L1
 * for b, and how many rows it has, pull against each other: at n = k = 1024, R = 64 lets
 * L1 hold x and large pieces of b; a block of 80 rows would read b less often, but in
 * pieces whose fixed cycles make MTE2 the limit. The separate product has blocks of 128
 * rows, for it keeps no x. What fusion saves is the traffic beyond reading the operands.
 */
#ifndef KERNELS_MLA_PROLOG_MLA_PROLOG_H
#define KERNELS_MLA_PROLOG_MLA_PROLOG_H

#include "sched/sched.h"

#define MLA_EPS 1e-5f

enum { MLA_SEM_FIRST = 0, MLA_SEM_LAST = 17 };

struct mla_prolog {
    const uint16_t *a, *b, *bias;
    uint16_t *out;
    uint32_t m, n, k;
    unsigned cores; /* rows are split over so many; 0: all of the chip */
    float *x, *y;   /* mla_work_elements() each, in tiles; NULL where not used */
};

/* Elements of x and of y: whole blocks of 64 rows. */
uint64_t mla_work_elements(const struct mla_prolog *p);
/* True if a block of rows fits on the core, so that the fused launch needs no p->x. */
bool mla_fits(const struct mla_prolog *p);
/* Bytes of x that the fused launch writes to GM (and reads again): 0 if mla_fits(). */
uint64_t mla_spilled_bytes(const struct mla_prolog *p);

/* One launch. Nothing but out is written to GM if mla_fits(), else x too. */
MUST_CHECK int mla_fused(const struct mla_prolog *p, struct sched_report *report);
/* Three launches: x = a x b + bias, y = layernorm(x), out = gelu(y). */
MUST_CHECK int mla_product(const struct mla_prolog *p, struct sched_report *report);
MUST_CHECK int mla_layernorm(const struct mla_prolog *p, struct sched_report *report);
MUST_CHECK int mla_gelu(const struct mla_prolog *p, struct sched_report *report);

/* Row `row` of out by the definition above, in double precision, computed by the hart,
 * and the bound of the error of each element. */
void mla_ref_row(const struct mla_prolog *p, uint32_t row, double *want, double *bound);

#endif
