/* SPDX-License-Identifier: MIT
 *
 * Convolution by its definition, one element at a time; see conv.h.
 */
#include <math.h>
#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/lib/f16.h"

enum { F16_BLOCK = 16 /* channels of NC1HWC0 */ };

/* An element of y, and what is being added up for it. */
struct place {
    uint32_t n, row, col, o; /* of y */
    uint32_t first, in;      /* channels of x */
    float sum;
    uint32_t whole;
};

/* x times weight at filter row r, column s, channel i of the group. */
static void add(const struct conv *p, struct place *e, uint32_t r, uint32_t s, uint32_t i)
{
    int64_t row = (int64_t)e->row * p->stride_h + (int64_t)r * p->dilation_h - p->pad_top;
    int64_t col =
        (int64_t)e->col * p->stride_w + (int64_t)s * p->dilation_w - p->pad_left;
    uint64_t x = (((uint64_t)e->n * p->h + (uint64_t)row) * p->w + (uint64_t)col) * p->c +
                 e->first + i;
    uint64_t weight = (((uint64_t)e->o * p->kh + r) * p->kw + s) * e->in + i;
    bool there = row >= 0 && row < p->h && col >= 0 && col < p->w;

    if (p->in == TYPE_S8) {
        int a = there ? ((const int8_t *)p->x)[x] : 0;
        e->whole += (uint32_t)(a * ((const int8_t *)p->weight)[weight]);
    } else {
        float a = there ? f16_to_f32(((const uint16_t *)p->x)[x]) : 0;
        e->sum = fmaf(a, f16_to_f32(((const uint16_t *)p->weight)[weight]), e->sum);
    }
}

static void add_block(const struct conv *p, struct place *e, uint32_t block)
{
    for (uint32_t r = 0; r < p->kh; r++) {
        for (uint32_t s = 0; s < p->kw; s++) {
            for (uint32_t i = block; i < block + F16_BLOCK; i++) {
                if (i < e->in) {
                    add(p, e, r, s, i);
                } else {
                    e->sum += 0.0f; /* which makes -0 a +0 */
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

static uint32_t finish(const struct conv *p, struct place *e)
{
    float value = p->in == TYPE_S8 ? (float)(int32_t)e->whole : e->sum;
    uint32_t bits;

    if (p->out == TYPE_S32) {
        return p->act == CONV_RELU && (int32_t)e->whole < 0 ? 0 : e->whole;
    }
    if (p->in == TYPE_S8) {
        value *= (float)scale_of(p->scale);
    }
    if (p->act == CONV_RELU && value <= 0) {
        value = 0;
    }
    if (p->out == TYPE_S8) {
        value = nearbyintf(value + (float)p->zero);
        return (uint8_t)(int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
    }
    if (p->out == TYPE_F16) {
        return f32_to_f16(value);
    }
    memcpy(&bits, &value, sizeof(bits));
    return value != value ? 0x7fc00000 : bits;
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
    for (uint32_t block = 0; block < e.in; block += F16_BLOCK) {
        add_block(p, &e, block);
    }
    return finish(p, &e);
}
