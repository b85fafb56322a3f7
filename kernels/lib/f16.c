/* SPDX-License-Identifier: MIT
 *
 * fp16 conversions; see f16.h.
 */
#include "kernels/lib/f16.h"

#include <math.h>
#include <string.h>

/* Adding and taking away a large number leaves the nearest multiple of its last place,
 * rounded by the hart as IEEE 754 asks. */
uint16_t f32_to_f16(float f)
{
    float magnitude = fabsf(f);
    unsigned sign = signbit(f) ? 0x8000 : 0;
    uint32_t bits;
    int exponent;
    volatile float rounded;

    if (f != f) {
        return 0x7e00;
    }
    if (magnitude < 0x1p-14f) {
        rounded = magnitude + 0.5f; /* the last place of [0.5, 1) is 2^-24 */
        return (uint16_t)(sign | (uint16_t)((rounded - 0.5f) * 0x1p24f));
    }
    if (magnitude >= 65520.0f) {
        return (uint16_t)(sign | 0x7c00);
    }
    memcpy(&bits, &magnitude, sizeof(bits));
    exponent = (int)(bits >> 23) - 127;
    bits = (uint32_t)(exponent + 13 + 127) << 23; /* 2^(exponent + 13) */
    memcpy(&magnitude, &bits, sizeof(bits));
    rounded = fabsf(f) + magnitude;
    magnitude = rounded - magnitude;
    memcpy(&bits, &magnitude, sizeof(bits));
    return (uint16_t)(sign | ((bits >> 13) - (112u << 10)));
}

/* Of numbers with so many digits, the normal ones from 2^least up. */
static double ulp(double value, int least, int digits)
{
    uint64_t bits;
    int exponent;

    memcpy(&bits, &value, sizeof(bits));
    exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    exponent = (exponent < least ? least : exponent) - (digits - 1);
    bits = (uint64_t)(exponent + 1023) << 52;
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

double ulp_f16(double value)
{
    return ulp(value, -14, 11);
}

double ulp_f32(double value)
{
    return ulp(value, -126, 24);
}
