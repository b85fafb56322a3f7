/* SPDX-License-Identifier: MIT
 *
 * fp16 on a hart that has none: conversions for references and test data. Written with
 * the hart's own fp32 arithmetic, so they share nothing with the emulated engines.
 */
#ifndef KERNELS_LIB_F16_H
#define KERNELS_LIB_F16_H

#include <stdint.h>

/* Exact. */
float f16_to_f32(uint16_t h);
/* To nearest, ties to even; overflow gives infinity, NaN the canonical 0x7e00. */
uint16_t f32_to_f16(float f);
/* Distance of the fp16 numbers around a finite value, and of the fp32 numbers. */
double ulp_f16(double value);
double ulp_f32(double value);

#endif
