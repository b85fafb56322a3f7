/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication by its definition, one element at a time; see matmul.h.
 */
#include <math.h>
#include <string.h>

#include "kernels/lib/f16.h"
#include "kernels/matmul/matmul.h"

uint32_t matmul_ref(const struct matmul *p, uint32_t row, uint32_t column)
{
    uint32_t sum = 0, bits;
    float acc = 0.0f;

    for (uint32_t i = 0; i < p->k; i++) {
        uint64_t at_a = (uint64_t)row * p->k + i, at_b = (uint64_t)i * p->n + column;
        if (p->in == TYPE_S8) {
            sum +=
                (uint32_t)(((const int8_t *)p->a)[at_a] * ((const int8_t *)p->b)[at_b]);
        } else {
            acc = fmaf(f16_to_f32(((const uint16_t *)p->a)[at_a]),
                       f16_to_f32(((const uint16_t *)p->b)[at_b]), acc);
        }
    }
    if (p->in == TYPE_S8) {
        return sum;
    }
    if (acc != acc) {
        acc = NAN;
    }
    if (p->out == TYPE_F16) {
        return f32_to_f16(acc);
    }
    memcpy(&bits, &acc, sizeof(bits));
    return bits;
}
