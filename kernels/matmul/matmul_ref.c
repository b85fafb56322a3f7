/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication by its definition, one element at a time; see matmul.h. Rounding of
 * HF32 and of what leaves the fixpipe: hal/contract/cube.md, fixpipe.md, "Numbers".
 */
#include <math.h>
#include <string.h>

#include "kernels/lib/f16.h"
#include "kernels/lib/share.h"
#include "kernels/matmul/matmul.h"
#include "kernels/mm/finish.h"
#include "kernels/mm/made.h"
#include "kernels/mm/planes.h"

/* Bits of a float's fraction that hf32 has not, that a quantisation word's scale has not. */
enum { HF32_CUT = 12, SCALE_CUT = 13 };

static float as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* To the nearest without these bits, ties to even. */
static float rounded(float f, unsigned cut)
{
    uint32_t bits = f32_bits(f), unit = 1u << cut;

    if (f != f || isinf(f)) {
        return f;
    }
    return as_float((bits + unit / 2 - 1 + (bits / unit & 1)) & ~(unit - 1));
}

static float number(const struct matmul *p, const void *data, uint64_t i)
{
    switch (p->in) {
    case TYPE_F16:
        return f16_to_f32(((const uint16_t *)data)[i]);
    case TYPE_BF16:
        return as_float((uint32_t)((const uint16_t *)data)[i] << 16);
    default:
        return p->hf32 ? rounded(((const float *)data)[i], HF32_CUT)
                       : ((const float *)data)[i];
    }
}

/* Where a dot product begins in an operand, and how far its elements are apart. */
struct line {
    uint64_t at, step;
};

/* The sum over [first, end) of k, from `sum` on: a float's bits, or an int. */
static uint32_t sum_of(const struct matmul *p, uint32_t row, uint32_t column,
                       uint32_t first, uint32_t end, uint32_t sum)
{
    struct line a = p->a_transposed ? (struct line){row, p->m}
                                    : (struct line){(uint64_t)row * p->k, 1};
    struct line b = p->b_transposed ? (struct line){(uint64_t)column * p->k, 1}
                                    : (struct line){column, p->n};
    bool whole = matmul_is_whole(p->in);
    enum type in_b = matmul_in_b(p);
    float acc = as_float(sum);

    if (mm_made_planes(p->in, p->hf32)) {
        return f32_bits(mm_made_sum(matmul_asked(p), row, column, first, end, acc));
    }
    a.at += first * a.step;
    b.at += first * b.step;
    for (uint32_t i = first; i < end; i++, a.at += a.step, b.at += b.step) {
        if (whole) {
            sum += (uint32_t)(mm_made_whole(p->in, p->a, a.at) *
                              mm_made_whole(in_b, p->b, b.at));
        } else {
            acc = fmaf(number(p, p->a, a.at), number(p, p->b, b.at), acc);
        }
    }
    return whole ? sum : f32_bits(acc);
}

static float activated(const struct matmul *p, float x)
{
    if (p->act.relu == FIX_RELU_PLAIN) {
        x = x <= 0 ? 0 : x;
    } else if (p->act.relu == FIX_RELU_LEAKY) {
        x = x < 0 ? x * p->act.slope : x;
    }
    return p->act.clip && x > p->act.limit ? p->act.limit : x;
}

/* What the sum becomes on its way out. */
static uint32_t result(const struct matmul *p, uint32_t sum)
{
    bool whole = matmul_is_whole(p->in);
    float x = whole ? (float)(int32_t)sum : as_float(sum), least, most;

    if (p->out == TYPE_S32) {
        return p->act.relu == FIX_RELU_PLAIN && (int32_t)sum < 0 ? 0 : sum;
    }
    x = activated(p, whole ? x * rounded(p->scale, SCALE_CUT) : x);
    switch (p->out) {
    case TYPE_S8:
    case TYPE_U8:
        least = p->out == TYPE_S8 ? -128 : 0;
        most = least + 255;
        x = nearbyintf(x + (float)p->zero);
        return (uint8_t)(int)(x < least ? least : x > most ? most : x);
    case TYPE_F16:
        return x != x ? 0x7e00 : f32_to_f16(x);
    case TYPE_BF16:
        sum = f32_bits(x);
        return x != x ? 0x7fc0 : (sum + 0x7fff + (sum >> 16 & 1)) >> 16;
    default:
        return x != x ? 0x7fc00000 : f32_bits(x);
    }
}

static uint32_t bias_of(const struct matmul *p, uint32_t column)
{
    return p->bias ? ((const uint32_t *)p->bias)[column] : 0;
}

/* Parts of k have sums of their own, which are added in their order. */
static uint32_t sum_of_parts(const struct matmul *p, uint32_t row, uint32_t column)
{
    bool planes = mm_made_planes(p->in, p->hf32);
    struct mm mm = {.shape = {p->m, p->n, planes ? MM_PLANES * p->k : p->k, 1},
                    .a.type = planes ? TYPE_F16 : p->in,
                    .tiling.parts = p->parts};
    uint32_t sum = 0;

    for (uint32_t i = 0; i < p->parts; i++) {
        uint32_t part =
            sum_of(p, row, column, mm_part_begin(&mm, i), mm_part_begin(&mm, i + 1),
                   i == 0 ? bias_of(p, column) : 0);
        sum = i == 0                   ? part
              : matmul_is_whole(p->in) ? sum + part
                                       : f32_bits(as_float(sum) + as_float(part));
    }
    return sum;
}

uint32_t matmul_ref(const struct matmul *p, uint32_t row, uint32_t column)
{
    uint32_t k = mm_made_planes(p->in, p->hf32) ? MM_PLANES * p->k : p->k;
    uint32_t sum = p->parts > 1 ? sum_of_parts(p, row, column)
                                : sum_of(p, row, column, 0, k, bias_of(p, column));

    return p->scales ? mm_finish_ref(sum, p->scales[column], p->zero, p->act.relu, p->out)
                     : result(p, sum);
}
