/* SPDX-License-Identifier: MIT
 *
 * fp16 on a hart that has none: conversions for references and test data. Written with
 * the hart's own fp32 arithmetic, so they share nothing with the emulated engines.
 */
#ifndef KERNELS_LIB_F16_H
#define KERNELS_LIB_F16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Exact. Here, because references ask for it once a product, and a call between pages
 * costs more in QEMU than what it does. */
static inline float f16_to_f32(uint16_t h)
{
    unsigned exponent = h >> 10 & 31, fraction = h & 0x3ff;
    float magnitude;

    if (exponent == 31) {
        magnitude = fraction ? NAN : INFINITY;
    } else if (exponent == 0) {
        magnitude = (float)fraction * 0x1p-24f;
    } else {
        uint32_t bits = (uint32_t)(exponent + 112) << 23 | (uint32_t)fraction << 13;
        memcpy(&magnitude, &bits, sizeof(bits));
    }
    return h & 0x8000 ? -magnitude : magnitude;
}

/* To nearest, ties to even; overflow gives infinity, NaN the canonical 0x7e00. */
uint16_t f32_to_f16(float f);
/* Distance of the fp16 numbers around a finite value, and of the fp32 numbers. */
double ulp_f16(double value);
double ulp_f32(double value);

#endif
