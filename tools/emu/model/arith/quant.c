/* SPDX-License-Identifier: MIT
 *
 * The fixpipe's arithmetic; see quant.h. Each step is a loop of its own over the 16
 * columns of a row, so that a compiler makes vector code of it and joins no two
 * roundings.
 */
#include "tools/emu/model/arith/quant.h"

#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/num.h"

#define T(name) (1u << TYPE_##name)
#define QUANT(name, code, from, to, scale, text)                                         \
    [code] = {from, TYPE_##to, QUANT_BY_##scale},
const struct quant_mode quant_modes[QUANT_COUNT] = {
#include "hal/contract/all.h"
};

#define COLUMNS QUANT_COLUMNS

/* What the words and slopes say, by column. */
struct lanes {
    float scale[COLUMNS], offset[COLUMNS], slope[COLUMNS];
    float low[COLUMNS], high[COLUMNS]; /* integer results */
    uint32_t shift[COLUMNS];
    float limit;
};

static bool is_integer(unsigned type)
{
    return type == TYPE_S16 || type == TYPE_S8 || type == TYPE_S4;
}

static void set_range(struct lanes *l, unsigned i, unsigned to, uint64_t word)
{
    unsigned bits = type_bits(to);
    bool is_signed = to != TYPE_S8 || (word & QUANT_PRE_SIGN);

    l->low[i] = is_signed ? -(float)(1u << (bits - 1)) : 0.0f;
    l->high[i] = (float)((1u << (is_signed ? bits - 1 : bits)) - 1u);
}

static void set_lanes(struct lanes *l, const struct quant_job *q, unsigned column,
                      unsigned n)
{
    const struct quant_mode *mode = &quant_modes[q->quant];
    bool shifts = q->quant == QUANT_SHIFTS322S16 || q->quant == QUANT_VSHIFTS322S16;

    memset(l, 0, sizeof(*l));
    l->limit = num_float(q->limit);
    for (unsigned i = 0; i < n; i++) {
        uint64_t word = q->word;
        uint32_t slope = q->relu == FIX_RELU_LEAKY ? q->slope : 0, offset;

        if (mode->scale == QUANT_BY_CHANNEL) {
            memcpy(&word, q->words + 8 * (size_t)(column + i), 8);
        }
        if (q->relu == FIX_RELU_CHANNEL) {
            memcpy(&slope, q->slopes + 4 * (size_t)(column + i), 4);
        }
        offset = (uint32_t)field_get(QUANT_PRE_OFFSET, word);
        l->slope[i] = num_float(slope);
        l->shift[i] = shifts ? (uint32_t)field_get(QUANT_PRE_N, word) : 0;
        l->scale[i] = shifts ? 1.0f : num_float((uint32_t)(word & QUANT_PRE_M1));
        l->offset[i] = (float)((int32_t)offset - (offset & 256 ? 512 : 0));
        if (is_integer(mode->to)) {
            set_range(l, i, mode->to, word);
        }
    }
}

/* A row of L0C as numbers. */
static void load(float x[COLUMNS], const struct quant_job *q, const struct lanes *l,
                 const uint8_t *src, unsigned n)
{
    int32_t v[COLUMNS] = {0};

    memcpy(v, src, 4 * (size_t)n);
    if (q->from == TYPE_F32) {
        memcpy(x, v, sizeof(v));
        return;
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        int32_t flip = v[i] < 0 ? -1 : 0; /* right shifts are of positive numbers */
        x[i] = (float)(((v[i] ^ flip) >> l->shift[i]) ^ flip);
    }
}

/* Shifts are no scale. */
static bool has_scale(unsigned quant)
{
    return quant_modes[quant].scale != QUANT_BY_NONE && quant != QUANT_SHIFTS322S16 &&
           quant != QUANT_VSHIFTS322S16;
}

static void scale(float x[COLUMNS], const struct quant_job *q, const struct lanes *l)
{
    for (unsigned i = 0; has_scale(q->quant) && i < COLUMNS; i++) {
        x[i] = x[i] * l->scale[i];
    }
}

static void add_offset(float x[COLUMNS], const struct quant_job *q, const struct lanes *l)
{
    bool adds = has_scale(q->quant) && is_integer(quant_modes[q->quant].to);

    for (unsigned i = 0; adds && i < COLUMNS; i++) {
        x[i] = x[i] + l->offset[i];
    }
}

static void activate(float x[COLUMNS], const struct quant_job *q, const struct lanes *l)
{
    if (q->relu == FIX_RELU_PLAIN) {
        for (unsigned i = 0; i < COLUMNS; i++) {
            x[i] = x[i] <= 0.0f ? 0.0f : x[i]; /* NaN stays */
        }
    } else if (q->relu != FIX_RELU_NONE) {
        for (unsigned i = 0; i < COLUMNS; i++) {
            x[i] = x[i] < 0.0f ? x[i] * l->slope[i] : x[i];
        }
    }
    for (unsigned i = 0; q->clip && i < COLUMNS; i++) {
        x[i] = x[i] > l->limit ? l->limit : x[i];
    }
}

/* To the nearest integer of the range, ties to even, NaN to 0. */
static void round_to_range(int32_t v[COLUMNS], const float x[COLUMNS],
                           const struct lanes *l)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: the sum's last bit is worth 1 */

    for (unsigned i = 0; i < COLUMNS; i++) {
        float y = x[i] >= l->low[i] ? x[i] : l->low[i]; /* NaN: low */
        float z = y <= l->high[i] ? y : l->high[i];
        float sum = z + magic;
        int32_t r = (int32_t)(num_bits(sum) - num_bits(magic));
        v[i] = num_is_nan(num_bits(x[i])) ? 0 : r;
    }
}

/* A row of integers to packed ones of `bits` bits. */
static void pack(uint8_t *dst, const int32_t v[COLUMNS], unsigned bits, unsigned n)
{
    uint8_t out[2 * COLUMNS];

    for (unsigned i = 0; i < COLUMNS && bits == 16; i++) {
        out[2 * i] = (uint8_t)v[i];
        out[2 * i + 1] = (uint8_t)((uint32_t)v[i] >> 8);
    }
    for (unsigned i = 0; i < COLUMNS && bits == 8; i++) {
        out[i] = (uint8_t)v[i];
    }
    for (unsigned i = 0; i < COLUMNS / 2 && bits == 4; i++) {
        out[i] = (uint8_t)((v[2 * i] & 15) | (v[2 * i + 1] & 15) << 4);
    }
    memcpy(dst, out, (size_t)n * bits / 8);
}

static void store(uint8_t *dst, const float x[COLUMNS], unsigned to,
                  const struct lanes *l, unsigned n)
{
    int32_t v[COLUMNS];

    if (is_integer(to)) {
        round_to_range(v, x, l);
        pack(dst, v, type_bits(to), n);
        return;
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        uint32_t bits = num_bits(x[i]);
        v[i] = (int32_t)(to == TYPE_F16    ? num_f32_to_f16(bits)
                         : to == TYPE_BF16 ? num_f32_to_bf16(bits)
                                           : num_canon(bits));
    }
    if (to == TYPE_NONE) {
        memcpy(dst, v, 4 * (size_t)n);
    } else {
        pack(dst, v, 16, n);
    }
}

/* Mode NONE without a function that would need numbers: the bits, or those of integers.
 */
static void copy_row(uint8_t *dst, const struct quant_job *q, const uint8_t *src,
                     unsigned n)
{
    int32_t v[COLUMNS] = {0};

    memcpy(v, src, 4 * (size_t)n);
    for (unsigned i = 0; i < COLUMNS && q->relu != FIX_RELU_NONE; i++) {
        v[i] = v[i] < 0 ? 0 : v[i];
    }
    memcpy(dst, v, 4 * (size_t)n);
}

void quant_columns(const struct quant_job *q, const struct quant_block *b)
{
    unsigned to = quant_modes[q->quant].to, n = b->n;
    const uint8_t *src = b->src;
    uint8_t *dst = b->dst;
    bool plain = to == TYPE_NONE &&
                 (q->from == TYPE_S32 || (q->relu == FIX_RELU_NONE && !q->clip));
    struct lanes l;
    float x[COLUMNS];

    if (!plain) {
        set_lanes(&l, q, b->column, n);
    }
    for (size_t r = 0; r < b->rows; r++, src += 64, dst += b->dst_pitch) {
        if (plain) {
            copy_row(dst, q, src, n);
        } else {
            load(x, q, &l, src, n);
            scale(x, q, &l);
            if (q->offset_first) {
                add_offset(x, q, &l);
            }
            activate(x, q, &l);
            if (!q->offset_first) {
                add_offset(x, q, &l);
            }
            store(dst, x, to, &l, n);
        }
    }
}
