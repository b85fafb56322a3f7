/* SPDX-License-Identifier: MIT
 *
 * Operands of operators; see data.h.
 */
#include "kernels/cli/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/hint.h"
#include "kernels/lib/f16.h"
#include "kernels/lib/share.h"

static const struct {
    enum npy_type npy;
    enum type type;
} types[] = {{NPY_F4, TYPE_F32}, {NPY_F2, TYPE_F16}, {NPY_I1, TYPE_S8}, {NPY_U1, TYPE_U8},
             {NPY_I2, TYPE_S16}, {NPY_I4, TYPE_S32}, {NPY_I8, TYPE_S64}};

enum type data_type(enum npy_type type)
{
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].npy == type) {
            return types[i].type;
        }
    }
    return TYPE_NONE;
}

enum npy_type data_npy_type(enum type type)
{
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].type == type) {
            return types[i].npy;
        }
    }
    return NPY_F4;
}

void data_used(const char *name, const void *data, enum type type, uint64_t count)
{
    hint(&(struct hint){.kind = HINT_USED,
                        .addr = (uintptr_t)data,
                        .bytes = count * (type_bits(type) / 8),
                        .name = (uintptr_t)name});
}

void *data_named(const char *who, const char *name, enum type type, uint64_t count)
{
    uint64_t bytes =
        (count * (type_bits(type) / 8) + NPY_ALIGN - 1) & -(uint64_t)NPY_ALIGN;
    void *data = count > SIZE_MAX / 16 ? NULL : aligned_alloc(NPY_ALIGN, bytes);

    if (data == NULL) {
        fprintf(stderr, "%s: no memory for %llu elements; MEM= gives the machine more\n",
                who, (unsigned long long)count);
    } else {
        data_used(name, data, type, count);
    }
    return data;
}

uint64_t data_narrow(void *data, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int64_t x = ((int64_t *)data)[i];
        int32_t y = (int32_t)x;
        if (x != y) {
            return i;
        }
        memcpy((char *)data + i * sizeof(y), &y, sizeof(y));
    }
    return count;
}

/* Zeros, ones, subnormals, the smallest and the largest normal ones, of both signs, what
 * rounds beside them, infinities, NaN quiet and signalling. */
static const uint32_t floats[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff,
    0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x33800000,
    0x34000000, 0x7f7fffff, 0xff7fffff, 0x73000000, 0x73800000, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff923456};
static const uint16_t halves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff,
                                  0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x1000,
                                  0x1400, 0x3555, 0x7bff, 0xfbff, 0x4c00, 0x4bff,
                                  0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0xfd23};
enum { N_FLOATS = sizeof(floats) / 4, N_HALVES = sizeof(halves) / 2 };

/* One value's bits from 32 that are random, the upper ones most. */
static uint64_t special(enum type type, uint32_t random)
{
    unsigned bits = type_bits(type);
    uint64_t sign = UINT64_C(1) << (bits - 1);

    switch (type) {
    case TYPE_F32:
        return floats[(random >> 8) % N_FLOATS];
    case TYPE_F16:
        return halves[(random >> 8) % N_HALVES];
    default:
        return (const uint64_t[]){0, 1, sign - 1, sign, UINT64_MAX}[(random >> 8) % 5];
    }
}

static uint64_t lowest(enum type type)
{
    switch (type) {
    case TYPE_F32:
        return 0xff7fffff;
    case TYPE_F16:
        return 0xfbff;
    case TYPE_U8:
        return 0;
    default:
        return UINT64_C(1) << (type_bits(type) - 1);
    }
}

static uint32_t next(uint32_t seed)
{
    return seed * 1664525u + 1013904223u;
}

/* Of floating-point types: of i in 0..1023, the bits of (i - 512) / 512. */
static uint32_t of_range(enum type type, unsigned i)
{
    float x = ((float)i - 512) / 512;
    uint32_t word = f32_bits(x);

    return type == TYPE_F32 ? word : type == TYPE_F16 ? f32_to_f16(x) : word >> 16;
}

/* One loop a case. */
#define FILL(element, value)                                                             \
    for (uint64_t i = 0; i < count; i++) {                                               \
        seed = next(seed);                                                               \
        ((element *)data)[i] = (element)(value);                                         \
    }                                                                                    \
    break

/* Words of n elements each. There may be tens of millions, and stores and jumps are what
 * QEMU is slowest at. */
#define FILL_WORDS(n)                                                                    \
    for (; count >= (n); count -= (n), data = (uint64_t *)data + 1) {                    \
        uint64_t word = 0;                                                               \
        _Pragma("GCC unroll 4") for (unsigned i = 0; i < (n); i++)                       \
        {                                                                                \
            seed = next(seed);                                                           \
            word |= (uint64_t)table[seed >> 22] << 64 / (n)*i;                           \
        }                                                                                \
        *(uint64_t *)data = word;                                                        \
    }

/* Not inlined: the table is a pointer here, not a place far off on the stack. */
static __attribute__((noinline)) void fill_floats(void *data, unsigned bits,
                                                  uint64_t count, uint32_t seed,
                                                  const uint32_t *table)
{
    switch (bits) {
    case 32:
        FILL_WORDS(2);
        FILL(uint32_t, table[seed >> 22]);
    default:
        FILL_WORDS(4);
        FILL(uint16_t, table[seed >> 22]);
    }
}

static void fill_range(void *data, enum type type, uint64_t count, uint32_t seed)
{
    unsigned bits = type_bits(type);
    uint32_t table[1024];

    if (type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16) {
        for (unsigned i = 0; i < 1024; i++) {
            table[i] = of_range(type, i);
        }
        fill_floats(data, bits, count, seed, table);
        return;
    }
    switch (bits) {
    case 8:
        FILL(uint8_t, seed >> 24);
    case 16:
        FILL(uint16_t, seed >> 16);
    case 32:
        FILL(uint32_t, seed);
    default:
        FILL(int64_t, (int32_t)seed);
    }
}

static void store(void *data, enum type type, uint64_t i, uint64_t bits)
{
    unsigned bytes = type_bits(type) / 8;

    memcpy((char *)data + i * bytes, &bits, bytes); /* the lower ones come first */
}

void data_fill(enum data_kind kind, void *data, enum type type, uint64_t count,
               uint32_t seed)
{
    if (kind == DATA_RANGE) {
        fill_range(data, type, count, seed);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = lowest(type);
        seed = next(seed);
        if (kind == DATA_SPECIAL) {
            bits = special(type, seed);
        } else if (kind == DATA_BITS) {
            bits = seed >> 16 | (seed * UINT64_C(2654435761)) << 16;
        }
        store(data, type, i, bits);
    }
}

void *data_make(const char *who, enum type type, uint64_t count, uint32_t seed)
{
    void *data = data_alloc(who, type, count);

    if (data) {
        data_fill(DATA_RANGE, data, type, count, seed);
    }
    return data;
}

/* A word at a time: multiply, as FNV-1a does with bytes, and fold the high half in. */
static uint64_t digest_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x00000100000001b3u;
    return hash ^ hash >> 32;
}

void data_digest(const char *who, const void *data, enum type type, uint64_t count)
{
    uint64_t bytes = count * (type_bits(type) / 8), hash = digest_word(0, bytes),
             last = 0;
    const uint64_t *words = data; /* of data_alloc */

    for (uint64_t i = 0; i < bytes / 8; i++) {
        hash = digest_word(hash, words[i]);
    }
    memcpy(&last, words + bytes / 8, bytes % 8);
    printf("digest %s %s %llu %016llx\n", who, type_name(type), (unsigned long long)count,
           (unsigned long long)digest_word(hash, last));
}

uint64_t data_bits(const void *data, enum type type, uint64_t i)
{
    unsigned bytes = type_bits(type) / 8;
    uint64_t bits = 0;

    memcpy(&bits, (const char *)data + i * bytes, bytes);
    return bits;
}

double data_value(uint64_t bits, enum type type)
{
    unsigned above = 64 - type_bits(type);
    uint32_t word = (uint32_t)bits;
    float f;

    if (type == TYPE_F16) {
        return (double)f16_to_f32((uint16_t)bits);
    }
    if (type == TYPE_F32 || type == TYPE_BF16) {
        word <<= type == TYPE_BF16 ? 16 : 0;
        memcpy(&f, &word, sizeof(f));
        return (double)f;
    }
    return type == TYPE_U8 ? (double)bits : (double)((int64_t)(bits << above) >> above);
}

uint64_t data_round(double number, enum type type)
{
    float f = isnan(number) ? NAN : (float)number;
    uint32_t word = f32_bits(f);

    if (type == TYPE_F16) {
        return f32_to_f16(f);
    }
    if (type == TYPE_F32 || type == TYPE_BF16) {
        return type == TYPE_F32 ? word : (word + 0x7fff + (word >> 16 & 1)) >> 16;
    }
    return (uint64_t)(int64_t)number & UINT64_MAX >> (64 - type_bits(type));
}
