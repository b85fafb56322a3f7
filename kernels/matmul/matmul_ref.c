/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication by its definition, one element at a time; see matmul.h.
 */
#include <math.h>
#include <string.h>

#include "kernels/lib/f16.h"
#include "kernels/matmul/matmul.h"

/* The sum over [first, end) of k: a float's bits, or an int. */
static uint32_t sum_of(const struct matmul *p, uint32_t row, uint32_t column,
                       uint32_t first, uint32_t end)
{
    uint32_t sum = 0;
    float acc = 0.0f;

    for (uint32_t i = first; i < end; i++) {
        uint64_t at_a = (uint64_t)row * p->k + i, at_b = (uint64_t)i * p->n + column;
        if (p->in == TYPE_S8) {
            sum +=
                (uint32_t)(((const int8_t *)p->a)[at_a] * ((const int8_t *)p->b)[at_b]);
        } else {
            acc = fmaf(f16_to_f32(((const uint16_t *)p->a)[at_a]),
                       f16_to_f32(((const uint16_t *)p->b)[at_b]), acc);
        }
    }
    if (p->in != TYPE_S8) {
        memcpy(&sum, &acc, sizeof(sum));
    }
    return sum;
}

static float as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

uint32_t matmul_ref(const struct matmul *p, uint32_t row, uint32_t column)
{
    struct mm mm = {.shape.k = p->k, .a.type = p->in, .tiling.parts = p->parts};
    uint32_t n = p->parts ? p->parts : 1, sum[MM_PARTS];

    for (uint32_t i = 0; i < n; i++) {
        sum[i] = sum_of(p, row, column, mm_part_begin(&mm, i), mm_part_begin(&mm, i + 1));
    }
    for (uint32_t low = (n + 1) / 2; n > 1; n = low, low = (n + 1) / 2) {
        for (uint32_t i = low; i < n; i++) {
            float both = as_float(sum[i - low]) + as_float(sum[i]);
            uint32_t whole = sum[i - low] + sum[i];
            memcpy(&sum[i - low], p->in == TYPE_S8 ? (void *)&whole : &both,
                   sizeof(both));
        }
    }
    if (p->in == TYPE_S8) {
        return sum[0];
    }
    sum[0] = as_float(sum[0]) != as_float(sum[0]) ? 0x7fc00000 : sum[0];
    return p->out == TYPE_F16 ? f32_to_f16(as_float(sum[0])) : sum[0];
}
