/* SPDX-License-Identifier: MIT
 *
 * Sums of S8 products as results of S8 in TFLite's arithmetic, to the bit.
 *
 *   y = clamp(divide(high(sum 2^left, multiplier), 2^right) + zero)
 *   scale = multiplier 2^(left - right - 31), multiplier of 31 bits, left or right 0
 *   high(a, b) = floor((a b + 2^30) / 2^31); divide rounds halves away from 0
 *
 * Source: MultiplyByQuantizedMultiplier of TensorFlow Lite with its double rounding; |sum|
 * is below 2^30. The Vector has products modulo 2^32 and no wider ones, so each number is
 * cut into halves of 16 bits; a shift by a number of bits that columns differ in is a
 * product with a power of two.
 */
#ifndef KERNELS_CONV_EXACT_H
#define KERNELS_CONV_EXACT_H

#include <stdint.h>

/* Constants of an output channel; a row of each of o in GM, of a unit's in UB. */
enum conv_exact_row {
    CONV_EXACT_LEFT, /* 2^left */
    CONV_EXACT_HIGH, /* halves of the multiplier */
    CONV_EXACT_LOW,
    CONV_EXACT_ROUNDS, /* 1: right is not 0 */
    CONV_EXACT_HALF,   /* 2^(right - 1), or 0 */
    CONV_EXACT_SHORT,  /* 2^(16 - right) of a right up to 16, else 0 */
    CONV_EXACT_LONG,   /* 2^(32 - right) of a greater one, else 0 */
    CONV_EXACT_ROWS,
    CONV_EXACT_PITCH = 512, /* bytes of a row in UB */
};

struct conv_share;
struct conv_list;

/* Appends what makes results of the list's rows of sums. */
void conv_exact(const struct conv_share *s, struct conv_list *l, uint32_t rows,
                uint32_t result_pitch);

#endif
