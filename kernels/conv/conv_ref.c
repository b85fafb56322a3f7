/* SPDX-License-Identifier: MIT
 *
 * Convolution by its definition, one element at a time; see conv.h.
 */
#include <math.h>

#include "kernels/conv/conv.h"
#include "kernels/lib/f16.h"
#include "kernels/lib/share.h"

enum { F16_BLOCK = 16 /* channels of NC1HWC0 */ };

/* An element of y, and what is being added up for it. */
struct place {
    uint32_t n, row, col, o; /* of y */
    uint32_t first, in;      /* channels of x */
    float sum;
    uint32_t whole;
};

/* x under filter row r, column s, of a channel, times a weight: bits of F16, or S8. */
static void add(const struct conv *p, struct place *e, uint32_t r, uint32_t s,
                uint32_t channel, int weight)
{
    int64_t row = (int64_t)e->row * p->stride_h + (int64_t)r * p->dilation_h - p->pad_top;
    int64_t col =
        (int64_t)e->col * p->stride_w + (int64_t)s * p->dilation_w - p->pad_left;
    uint64_t x =
        (((uint64_t)e->n * p->h + (uint64_t)row) * p->w + (uint64_t)col) * p->c + channel;
    bool there = row >= 0 && row < p->h && col >= 0 && col < p->w;

    if (p->in == TYPE_S8) {
        e->whole += (uint32_t)((there ? ((const int8_t *)p->x)[x] : 0) * weight);
    } else {
        float a = there ? f16_to_f32(((const uint16_t *)p->x)[x]) : 0;
        e->sum = fmaf(a, f16_to_f32((uint16_t)weight), e->sum);
    }
}

/* Weight of the element's filter at r, s, channel i of the group. */
static int weight_at(const struct conv *p, const struct place *e, uint32_t r, uint32_t s,
                     uint32_t i)
{
    uint64_t at = (((uint64_t)e->o * p->kh + r) * p->kw + s) * e->in + i;

    return p->in == TYPE_S8 ? ((const int8_t *)p->weight)[at]
                            : ((const uint16_t *)p->weight)[at];
}

/* Channels [first, first + 16) of the group, or, depthwise, of all. */
static void add_block(const struct conv *p, struct place *e, uint32_t first, bool apart)
{
    for (uint32_t r = 0; r < p->kh; r++) {
        for (uint32_t s = 0; s < p->kw; s++) {
            for (uint32_t i = first; i < first + F16_BLOCK; i++) {
                if (i >= (apart ? p->c : e->in)) {
                    e->sum += 0.0f; /* which makes -0 a +0 */
                } else if (!apart) {
                    add(p, e, r, s, e->first + i, weight_at(p, e, r, s, i));
                } else {
                    add(p, e, r, s, i, i == e->o ? weight_at(p, e, r, s, 0) : 0);
                }
            }
        }
    }
}

/* As many significant bits as the quantisation word's scale has, ties to even. */
static double scale_of(float scale)
{
    int exponent;
    double fraction = frexp(scale, &exponent);

    return ldexp(nearbyint(fraction * 2048), exponent - 11);
}

/* By the formula in 64 bits: the doubled high half, then a division, of which each rounds. */
static uint32_t finish_exact(const struct conv *p, uint32_t o, uint32_t whole)
{
    int shift;
    double fraction = frexp((double)p->scale * (double)p->scales[o], &shift);
    int64_t multiplier = llround(fraction * 2147483648.0), value;

    if (shift < -31) {
        return (uint8_t)p->zero;
    }
    value = (int64_t)(int32_t)whole * (shift > 0 ? INT64_C(1) << shift : 1);
    value = value * multiplier;
    value = (value + (value < 0 ? 1 - (1 << 30) : 1 << 30)) / (INT64_C(1) << 31);
    if (shift < 0) {
        int64_t by = INT64_C(1) << -shift;
        value = (value + (value < 0 ? -by / 2 : by / 2)) / by;
    }
    value += p->zero;
    value = p->act == CONV_RELU && value < p->zero ? p->zero : value;
    return (uint8_t)(int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
}

uint32_t conv_ref_finish(const struct conv *p, float value)
{
    if (p->act == CONV_RELU && value <= 0) {
        value = 0;
    } else if (p->act == CONV_LEAKY && value < 0) {
        value *= p->slope;
    }
    if (p->limit > 0 && value > p->limit) {
        value = p->limit;
    }
    if (p->out == TYPE_S8) {
        value = nearbyintf(value + (float)p->zero);
        return (uint8_t)(int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
    }
    if (p->out == TYPE_F16) {
        return f32_to_f16(value);
    }
    return value != value ? 0x7fc00000 : f32_bits(value);
}

uint32_t conv_ref_whole(const struct conv *p, uint32_t o, uint32_t whole)
{
    double scale = scale_of(p->scale * (p->scales ? p->scales[o] : 1));

    if (p->exact) {
        return finish_exact(p, o, whole);
    }
    if (p->out == TYPE_S32) {
        return p->act == CONV_RELU && (int32_t)whole < 0 ? 0 : whole;
    }
    return conv_ref_finish(p, (float)(int32_t)whole * (float)scale);
}

uint32_t conv_ref(const struct conv *p, uint64_t i)
{
    uint32_t oh = conv_oh(p), ow = conv_ow(p);
    struct place e = {.n = (uint32_t)(i / p->o / ow / oh),
                      .row = (uint32_t)(i / p->o / ow % oh),
                      .col = (uint32_t)(i / p->o % ow),
                      .o = (uint32_t)(i % p->o),
                      .in = p->c / p->groups};

    e.first = e.o / (p->o / p->groups) * e.in;
    if (p->bias && p->in == TYPE_S8) {
        e.whole = ((const uint32_t *)p->bias)[e.o];
    } else if (p->bias) {
        e.sum = ((const float *)p->bias)[e.o];
    }
    if (conv_is_depthwise(p)) {
        add_block(p, &e, e.o / F16_BLOCK * F16_BLOCK, true);
    } else {
        for (uint32_t first = 0; first < e.in; first += F16_BLOCK) {
            add_block(p, &e, first, false);
        }
    }
    return p->in == TYPE_S8 ? conv_ref_whole(p, e.o, e.whole) : conv_ref_finish(p, e.sum);
}
