/* SPDX-License-Identifier: MIT
 *
 * fp16 arithmetic whose every result is rounded to fp16, in loops that a compiler makes
 * vector instructions of on any host: no branch, no call, no shift by a variable.
 *
 * Between its operations a number is a float 2^112 times as large, so that both formats
 * overflow at the same place and inf and NaN need no care. Source: IEEE 754-2019.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_HALF_H
#define TOOLS_EMU_MODEL_ARITH_HALF_H

#include "tools/emu/model/arith/num.h"

#define HALF_SCALE 0x1p112f
#define HALF_TINY  0x1p98f  /* smallest normal number */
#define HALF_ULP   0x1p111f /* added to less than that it leaves multiples of 2^-24 */

/* fp16 to the larger float; a NaN stays one. Of a subnormal `big` is (1 + f) / 2 instead
 * of f, both in units of HALF_TINY. */
static inline float half_up(uint16_t h)
{
    float big = num_float(((uint32_t)(h & 0x7fffu) << 13) + (224u << 23));
    float above = big - HALF_TINY;
    float mag = big + (above < 0.0f ? above : 0.0f);

    return num_float(num_bits(mag) | (uint32_t)(h & 0x8000u) << 16);
}

/* Sum of two fp16 to one, as the larger float. It needs nothing but a fraction of 10
 * bits: below the normal numbers a sum is exact. */
static inline float half_round(float f)
{
    uint32_t u = num_bits(f);

    return num_float((u + 0xfffu + (u >> 13 & 1u)) & 0xffffe000u);
}

/* A product to a fp16, as the larger float, but for what half_down does anyway. */
static inline float half_fit(float f)
{
    float mag = __builtin_fabsf(f), small = mag + HALF_ULP - HALF_ULP;

    mag = mag < HALF_TINY ? small : mag;
    return num_float(num_bits(mag) | (num_bits(f) & 0x80000000u));
}

/* To fp16, nearest even, canonical NaN. Below the normal numbers f is an fp16 already. */
static inline uint16_t half_down(float f)
{
    float mag = __builtin_fabsf(f), half = (mag + HALF_TINY) * 0.5f;
    uint32_t u = num_bits(mag > half ? mag : half);
    uint32_t h = u - (224u << 23) + 0xfffu + (u >> 13 & 1u); /* 13 bits too many */

    h |= num_bits(f) >> 3 & 0x8000u << 13;
    return (uint16_t)((f != f ? (uint32_t)NUM_F16_NAN << 13 : h) >> 13);
}

#endif
