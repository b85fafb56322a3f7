/* SPDX-License-Identifier: MIT
 *
 * Products whose operands the Vector makes first, in the same launch:
 *
 *     F32, where the Cube has none    a and b as three planes of F16 (planes.h), k is 3 k
 *     U8 as a    a x b = (a - 128) x b + 128 x (column sums of b)
 *     U8 as b    a x b = a x (b - 128) + 128 x (row sums of a)
 *
 * Sums are products with 64s. Those of columns are added twice to the bias, which the other
 * product then begins with; those of rows the Vector adds to what leaves L0C (finish.h). Each
 * product of a batch has its own. All of it is exact modulo 2^32, as all sums of S8.
 */
#ifndef KERNELS_MM_MADE_H
#define KERNELS_MM_MADE_H

#include "kernels/mm/mm.h"

/* A product as it is asked for: MM_ND without gaps. */
struct mm_made {
    enum type in, in_b; /* of a, of b */
    bool hf32, a_transposed, b_transposed, sparse;
    uint32_t m, n, k, batch;
    const void *a, *b, *bias;
    void *work;          /* mm_made_bytes() */
    const int32_t *rows; /* of what is made: half of what each row of c lacks, or NULL */
    uint64_t bias_product; /* of what is made: elements from one of a batch to the next */
};

/* Whether operands are made planes; anything at all. */
bool mm_made_planes(enum type in, bool hf32);
bool mm_is_made(const struct mm_made *p);
uint64_t mm_made_bytes(const struct mm_made *p);
/* Whether there are products of such an a and b: of one type, or of bytes. */
bool mm_made_takes(enum type a, enum type b);
/* Why not, or NULL. */
const char *mm_cannot_be_made(const struct mm_made *p);
/* The product of what is made; the same, if nothing is. */
struct mm_made mm_made(const struct mm_made *p);
/* Of what is made. */
const int32_t *mm_made_rows(const struct mm_made *p);
/* Before the launch, and what each of its blocks, which run at once, does before its product. */
MUST_CHECK int mm_plan_made(const struct mm_made *p, unsigned cores, char why[MM_TEXT]);
void mm_make(const struct mm_made *p);
/* Whether F16 holds all of an operand; else `why` says which number of `name` it does not. */
bool mm_made_holds(const float *x, uint64_t count, char name, char why[MM_TEXT]);
/* By definition: steps [first, end) of a sum of planes; number i of S8, U8, or S4. */
float mm_made_sum(const struct mm_made *p, uint32_t row, uint32_t column, uint32_t first,
                  uint32_t end, float sum);
int mm_made_whole(enum type type, const void *x, uint64_t i);

#endif
