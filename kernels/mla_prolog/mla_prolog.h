/* SPDX-License-Identifier: MIT
 *
 * out = gelu(layernorm(a x b + bias))
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
 * What the machine allows: a2, one core, m = n = k = 1024, KiB and cycles; all but the
 * bounds stand in the table of `make run ARGS="mla_prolog --m 1024 --n 1024 --k 1024"`.
 *
 * Cycles. The Cube needs m n k / 4096 = 262144; with the bias (one step of k more) and 9
 * cycles a Mmad 274869. The Vector has 128 tiles of 128 repeats. Pass 1 of a tile takes
 * 687: differences 176, their sums 176, squares 159, their sums 176. Pass 2 takes 2203:
 * minus the mean 176, times the scale 178, times sqrt(2) 154, erf 1055, plus one 159,
 * times y 153, to fp16 160, transposed 168. The statistics of each of the 16 blocks take
 * about 930. Together that is 384785, so the Vector is the limit of the fused launch and
 * the Cube cannot be busy for more than 71 % of it. The limits of the three launches are
 * 274869 + 148113 + 248961 = 671943: fused can take 42.7 % fewer cycles.
 *
 * Traffic. A block of R rows needs R (4 n + 2 k) bytes on the core, for x, which
 * layernorm wants whole, and for a; b is read once a block. L1, UB and L0C together, 832
 * KiB, would hold R = 138 without a byte for b or the Vector: 8 times b, a and out make
 * 20480 KiB, 44 % less than the 36864 of separate. 60 % less would need R = 205. With 128
 * KiB of L1 for b and all of UB for the Vector, L1 holds R = 64: 36864 KiB, as much as
 * separate, whose first launch has blocks of 128 rows. R = 80 (17 % less) would leave b
 * 32 KiB, so pieces of 16 KiB that take 183 + 103 cycles each: 36600 a block where the
 * Vector takes 30000, and MTE2 would be the limit, at 476000 cycles. What fusion does
 * save is the traffic beyond reading a, b and bias: 2048 KiB for 18432, 89 % less.
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
