/* SPDX-License-Identifier: MIT
 *
 * TFLite's requantisation on the Vector; see exact.h.
 */
#include "kernels/conv/exact.h"

#include <assert.h>
#include <math.h>

#include "hal/vector.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"

enum { LANES = 64, HALF_BITS = 16, HALF = 1 << HALF_BITS };

/* --- constants --- */

/* multiplier 2^(what it returns - 31), as TFLite's QuantizeMultiplier. */
static int multiplier_of(double scale, int32_t *multiplier)
{
    int shift;
    double whole = round(frexp(scale, &shift) * 2147483648.0);

    if (whole == 2147483648.0) {
        whole /= 2;
        shift++;
    }
    if (shift < -31) {
        whole = shift = 0;
    }
    *multiplier = (int32_t)whole;
    return shift;
}

uint64_t conv_exact_numbers(const struct conv *p)
{
    return (uint64_t)CONV_EXACT_ROWS * p->o;
}

void conv_exact_table(const struct conv *p, int32_t *table)
{
    for (uint32_t i = 0; i < p->o; i++) {
        int32_t multiplier;
        int shift = multiplier_of((double)p->scale * (double)p->scales[i], &multiplier);
        int left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
        const int32_t value[CONV_EXACT_ROWS] = {
            [CONV_EXACT_LEFT] = 1 << left,
            [CONV_EXACT_HIGH] = multiplier >> HALF_BITS,
            [CONV_EXACT_LOW] = multiplier & (HALF - 1),
            [CONV_EXACT_ROUNDS] = right != 0,
            [CONV_EXACT_HALF] = right ? 1 << (right - 1) : 0,
            [CONV_EXACT_SHORT] = right <= HALF_BITS ? HALF >> right : 0,
            [CONV_EXACT_LONG] = right > HALF_BITS ? 1 << (2 * HALF_BITS - right) : 0,
        };
        for (unsigned row = 0; row < CONV_EXACT_ROWS; row++) {
            table[row * p->o + i] = value[row];
        }
    }
}

/* --- on the Vector --- */

/* Up to 64 columns of the rows. */
struct columns {
    struct conv_list *l;
    uint32_t repeat, constants;   /* of them */
    uint32_t pitch, result_pitch; /* bytes of a row of sums, of results */
    uint32_t x, t[CONV_TEMPS];
};

static union cmd *more(const struct columns *c)
{
    assert(c->l->n < CONV_LIST);
    return &c->l->cmd[c->l->n++];
}

static struct vec_at at(const struct columns *c, uint32_t addr)
{
    return vec_repeats(addr, c->pitch / MTE_BLOCK);
}

static void both(const struct columns *c, enum op op, uint32_t dst, uint32_t x,
                 uint32_t y)
{
    vector_binary_strided(more(c), &(struct vec_binary){.op = op,
                                                        .type = TYPE_S32,
                                                        .dst = at(c, dst),
                                                        .x = at(c, x),
                                                        .y = at(c, y),
                                                        .repeat = c->repeat});
}

static void with(const struct columns *c, enum op op, uint32_t dst, uint32_t x,
                 enum conv_exact_row row)
{
    uint32_t y = c->constants + row * CONV_EXACT_PITCH;

    vector_binary_strided(more(c), &(struct vec_binary){.op = op,
                                                        .type = TYPE_S32,
                                                        .dst = at(c, dst),
                                                        .x = at(c, x),
                                                        .y = vec_same_repeat(y),
                                                        .repeat = c->repeat});
}

static void by(const struct columns *c, enum op op, uint32_t dst, uint32_t x,
               int32_t number, uint8_t flags)
{
    vector_scalar_strided(more(c), &(struct vec_scalar){.op = op,
                                                        .type = TYPE_S32,
                                                        .dst = at(c, dst),
                                                        .x = at(c, x),
                                                        .scalar = (uint32_t)number,
                                                        .repeat = c->repeat,
                                                        .flags = flags});
}

/* low = x modulo 2^16, where high is x / 2^16, rounded down. */
static void low_half(const struct columns *c, uint32_t low, uint32_t x, uint32_t high)
{
    by(c, OP_VMULS, low, high, HALF, 0);
    both(c, OP_VSUB, low, x, low);
}

/* t[0] = floor((x multiplier + 2^30) / 2^31). With a and b in halves that is
 * 2 (a1 b1 + u1) + floor((a1 b0 + u0 + 2^14) / 2^15), u = a0 b1 + floor(a0 b0 / 2^16). */
static void high_product(const struct columns *c)
{
    const uint32_t *t = c->t;

    with(c, OP_VMUL, c->x, c->x, CONV_EXACT_LEFT);
    by(c, OP_VSHR, t[0], c->x, HALF_BITS, 0);
    low_half(c, t[1], c->x, t[0]);
    with(c, OP_VMUL, t[2], t[1], CONV_EXACT_LOW);
    by(c, OP_VSHR, t[2], t[2], HALF_BITS, VSHR_LOGICAL);
    with(c, OP_VMUL, t[1], t[1], CONV_EXACT_HIGH);
    both(c, OP_VADD, t[1], t[1], t[2]);
    by(c, OP_VSHR, t[2], t[1], HALF_BITS, 0);
    low_half(c, t[3], t[1], t[2]);
    with(c, OP_VMUL, t[1], t[0], CONV_EXACT_LOW);
    both(c, OP_VADD, t[1], t[1], t[3]);
    by(c, OP_VADDS, t[1], t[1], HALF / 4, 0);
    by(c, OP_VSHR, t[1], t[1], HALF_BITS - 1, 0);
    with(c, OP_VMUL, t[0], t[0], CONV_EXACT_HIGH);
    both(c, OP_VADD, t[0], t[0], t[2]);
    by(c, OP_VMULS, t[0], t[0], 2, 0);
    both(c, OP_VADD, t[0], t[0], t[1]);
}

/* t[2] = t[0] / 2^right: half of that, less 1 below 0, is added, then bits go. */
static void divide(const struct columns *c)
{
    const uint32_t *t = c->t;

    with(c, OP_VMUL, t[1], t[0], CONV_EXACT_ROUNDS);
    by(c, OP_VSHR, t[1], t[1], 31, 0);
    with(c, OP_VADD, t[0], t[0], CONV_EXACT_HALF);
    both(c, OP_VADD, t[0], t[0], t[1]);
    by(c, OP_VSHR, t[1], t[0], HALF_BITS, 0);
    low_half(c, t[2], t[0], t[1]);
    with(c, OP_VMUL, t[2], t[2], CONV_EXACT_SHORT);
    by(c, OP_VSHR, t[2], t[2], HALF_BITS, VSHR_LOGICAL);
    with(c, OP_VMUL, t[3], t[1], CONV_EXACT_SHORT);
    both(c, OP_VADD, t[2], t[2], t[3]);
    with(c, OP_VMUL, t[1], t[1], CONV_EXACT_LONG);
    by(c, OP_VSHR, t[1], t[1], HALF_BITS, 0);
    both(c, OP_VADD, t[2], t[2], t[1]);
}

/* t[2] as S8 by way of S16, both of which saturate, at `to`. */
static void narrow(const struct conv *p, const struct columns *c, uint32_t to)
{
    struct vec_at half = vec_repeats(c->t[1], c->pitch / 2 / MTE_BLOCK);

    by(c, OP_VADDS, c->t[2], c->t[2], p->zero, 0);
    if (p->act == CONV_RELU) {
        by(c, OP_VMAXS, c->t[2], c->t[2], p->zero, 0);
    }
    vector_convert_strided(more(c), &(struct vec_convert){.from = TYPE_S32,
                                                          .to = TYPE_S16,
                                                          .dst = half,
                                                          .x = at(c, c->t[2]),
                                                          .repeat = c->repeat});
    vector_convert_strided(
        more(c),
        &(struct vec_convert){.from = TYPE_S16,
                              .to = TYPE_S8,
                              .dst = vec_repeats(to, c->result_pitch / MTE_BLOCK),
                              .x = half,
                              .repeat = c->repeat});
}

void conv_exact(const struct conv_share *s, struct conv_list *l, uint32_t rows,
                uint32_t result_pitch)
{
    uint32_t count;

    for (uint32_t n = 0; n < l->columns; n += count) {
        struct columns c = {.l = l,
                            .repeat = rows,
                            .constants = l->constants + n * 4,
                            .pitch = up16(l->columns) * 4,
                            .result_pitch = result_pitch,
                            .x = l->sums + n * 4};
        count = min_u32(LANES, l->columns - n);
        for (unsigned i = 0; i < CONV_TEMPS; i++) {
            c.t[i] = s->tail.temp[i] + n * 4;
        }
        vector_mask(more(&c), UINT64_MAX >> (LANES - count), 0);
        high_product(&c);
        divide(&c);
        narrow(&s->plan->p, &c, l->result + n);
    }
}
