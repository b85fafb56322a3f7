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
 * costs more in QEMU than what it does; the common case first, by the hart's integers. */
static inline float f16_to_f32(uint16_t h)
{
    uint32_t magnitude = h & 0x7fff, bits = (magnitude << 13) + (112u << 23);
    float f;

    if (magnitude - 0x400 >= 0x7800) { /* no normal number */
        f = magnitude < 0x400    ? (float)magnitude * 0x1p-24f
            : magnitude > 0x7c00 ? NAN
                                 : INFINITY;
        memcpy(&bits, &f, sizeof(bits));
    }
    bits |= (uint32_t)(h & 0x8000) << 16;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* The same in double precision, without the hart's conversion, at which QEMU is slow. */
static inline double f16_to_f64(uint16_t h)
{
    uint64_t magnitude = h & 0x7fff, bits = (magnitude << 42) + (UINT64_C(1008) << 52);
    double f;

    if (magnitude - 0x400 >= 0x7800) {
        return (double)f16_to_f32(h);
    }
    bits |= (uint64_t)(h & 0x8000) << 48;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* To nearest, ties to even; overflow gives infinity, NaN the canonical 0x7e00. */
uint16_t f32_to_f16(float f);
/* Distance of the fp16 numbers around a finite value, and of the fp32 numbers. */
double ulp_f16(double value);
double ulp_f32(double value);

#endif
