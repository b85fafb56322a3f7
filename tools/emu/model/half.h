/* SPDX-License-Identifier: MIT
 *
 * fp16 arithmetic whose every result is rounded to fp16, in loops that a compiler makes
 * vector instructions of on any host: no branch, no call, no shift by a variable.
 *
 * Between its operations a number is a float 2^112 times as large, so that both formats
 * overflow at the same place and inf and NaN need no care. Source: IEEE 754-2019.
 */
#ifndef TOOLS_EMU_MODEL_HALF_H
#define TOOLS_EMU_MODEL_HALF_H

#include "tools/emu/model/num.h"

#define HALF_SCALE 0x1p112f
#define HALF_TINY  0x1p98f  /* smallest normal number */
#define HALF_ULP   0x1p111f /* added to a number below that, it leaves multiples of 2^-24 \
                             */

/* fp16 to the larger float; a NaN stays one. */
static inline float half_up(uint16_t h)
{
    uint32_t mag = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t small = num_bits(num_float(mag + (225u << 23)) - HALF_TINY);
    uint32_t big = mag + (224u << 23);

    return num_float((mag < 1u << 23 ? small : big) | (uint32_t)(h & 0x8000u) << 16);
}

/* To a fraction of 10 bits, nearest even. That rounds a sum or difference of two fp16
 * right: one below the normal numbers is exact. */
static inline float half_round(float f)
{
    uint32_t u = num_bits(f);

    return num_float((u + 0xfffu + (u >> 13 & 1u)) & 0xffffe000u);
}

/* Any of the larger floats to fp16, nearest even; NaN becomes the canonical one. */
static inline uint16_t half_down(float f)
{
    uint32_t u = num_bits(f), mag = u & 0x7fffffffu;
    uint32_t small = num_bits(num_float(mag) + HALF_ULP) - num_bits(HALF_ULP);
    uint32_t big = (mag - (224u << 23) + 0xfffu + (mag >> 13 & 1u)) >> 13;
    uint32_t h = mag < num_bits(HALF_TINY) ? small : big;

    return (uint16_t)(mag > NUM_F32_INF ? NUM_F16_NAN : h | (u >> 16 & 0x8000u));
}

#endif
