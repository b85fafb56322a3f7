/* SPDX-License-Identifier: MIT
 *
 * Types of elements: their names, how files hold them, what they round to; see graph.h.
 */
#include <math.h>
#include <string.h>

#include "kernels/lib/f16.h"
#include "kernels/lib/share.h"
#include "tools/graph/model/graph.h"

static const struct {
    const char *name;
    uint8_t bytes, bits; /* in memory; of a number, where that is less */
    bool is_float, is_whole, is_signed;
} elems[] = {
    [ELEM_NONE] = {"none"},
    [ELEM_F32] = {"float32", 4, .is_float = true},
    [ELEM_F16] = {"float16", 2, .is_float = true},
    [ELEM_BF16] = {"bfloat16", 2, .is_float = true},
    [ELEM_F64] = {"float64", 8, .is_float = true},
    [ELEM_I64] = {"int64", 8},
    [ELEM_I32] = {"int32", 4, .is_whole = true, .is_signed = true},
    [ELEM_I16] = {"int16", 2, .is_whole = true, .is_signed = true},
    [ELEM_U16] = {"uint16", 2, .is_whole = true},
    [ELEM_U32] = {"uint32", 4, .is_whole = true},
    [ELEM_U64] = {"uint64", 8},
    [ELEM_I8] = {"int8", 1, .is_whole = true, .is_signed = true},
    [ELEM_U8] = {"uint8", 1, .is_whole = true},
    [ELEM_BOOL] = {"bool", 1},
    [ELEM_I4] = {"int4", 1, 4, .is_whole = true, .is_signed = true},
    [ELEM_U4] = {"uint4", 1, 4, .is_whole = true},
    [ELEM_I2] = {"int2", 1, 2, .is_whole = true, .is_signed = true},
    [ELEM_U2] = {"uint2", 1, 2, .is_whole = true},
    [ELEM_E4M3] = {"float8e4m3fn", 1, .is_whole = true},
    [ELEM_E4M3Z] = {"float8e4m3fnuz", 1, .is_whole = true},
    [ELEM_E5M2] = {"float8e5m2", 1, .is_whole = true},
    [ELEM_E5M2Z] = {"float8e5m2fnuz", 1, .is_whole = true},
    [ELEM_E2M1] = {"float4e2m1", 1, 4, .is_whole = true},
    [ELEM_TEXT] = {"string"},
    [ELEM_COMPLEX] = {"complex64"},
    [ELEM_COMPLEX128] = {"complex128"},
    [ELEM_E8M0] = {"float8e8m0"},
    [ELEM_OTHER] = {"a type that is not known"},
};

bool elem_is_float(enum elem type)
{
    return elems[type].is_float;
}

const char *elem_text(enum elem type)
{
    return elems[type].name;
}

enum elem elem_machine(enum elem type)
{
    return type == ELEM_I64 || type == ELEM_U16 || type == ELEM_U32 || type == ELEM_U64
               ? ELEM_I32
               : type;
}

bool elem_is_wide(enum elem type)
{
    return elem_machine(type) == ELEM_I32;
}

bool elem_is_small(enum elem type)
{
    return type >= ELEM_I4 && type <= ELEM_E2M1;
}

bool elem_is_bits(enum elem type)
{
    return type >= ELEM_E4M3 && type <= ELEM_E2M1;
}

unsigned elem_bits(enum elem type)
{
    return elems[type].bits ? elems[type].bits : 8u * elems[type].bytes;
}

int64_t elem_least(enum elem type)
{
    return elems[type].is_signed ? -elem_numbers(type) / 2 : 0;
}

enum elem elem_file(enum elem type)
{
    return !elem_is_small(type) ? type : elems[type].is_signed ? ELEM_I8 : ELEM_U8;
}

size_t elem_bytes(enum elem type)
{
    return elems[type].bytes;
}

/* f32_to_f16(): here what becomes a normal number, for which a call is much. */
static uint16_t f16_of(float f)
{
    uint32_t bits = f32_bits(f), magnitude = bits & 0x7fffffff;

    if (magnitude < 113u << 23 || magnitude > 0x477fe000) { /* 2^-14, 65504 */
        return f32_to_f16(f);
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)((bits >> 16 & 0x8000) | ((magnitude >> 13) - (112u << 10)));
}

/* To the nearest, ties to even. */
static uint16_t bf16_of(float f)
{
    uint32_t bits = f32_bits(f);

    return isnan(f) ? (uint16_t)(bits >> 16 | 0x40)
                    : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double of_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float f;

    memcpy(&f, &bits, sizeof(f));
    return (double)f;
}

int64_t elem_whole(double x)
{
    if (isnan(x)) {
        return 0;
    }
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

double elem_max(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : fmax(x, y);
}

double elem_min(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : fmin(x, y);
}

double elem_clip(double x, double low, double high)
{
    return elem_min(elem_max(x, low), high);
}

double elem_product(enum elem type, double x, double y)
{
    bool wraps = type == ELEM_I32 || type == ELEM_U32;

    return wraps ? elem_round(type,
                              (double)((uint32_t)elem_whole(x) * (uint32_t)elem_whole(y)))
                 : x * y;
}

double elem_round(enum elem type, double x)
{
    double size;

    switch (type) {
    case ELEM_F32:
        return (double)(float)x;
    case ELEM_F16:
        return f16_to_f64(f16_of((float)x));
    case ELEM_BF16:
        return of_bf16(bf16_of((float)x));
    case ELEM_BOOL:
        return x != 0;
    case ELEM_I64:
        return trunc(x);
    case ELEM_U64:
        return trunc(x) < 0 ? trunc(x) + 0x1p64 : trunc(x);
    default:
        break;
    }
    if (!elems[type].is_whole) {
        return x;
    }
    size = ldexp(1, (int)elem_bits(type));
    x = isfinite(x) ? trunc(x) : 0;
    x -= floor(x / size) * size;
    return elems[type].is_signed && x >= size / 2 ? x - size : x;
}

/* An element as a file has it. */
union bits {
    float f;
    double d;
    int64_t l;
    int32_t w;
    int16_t h;
    uint16_t u;
    int8_t b;
    uint8_t c;
};

double elem_get(enum elem type, const void *from)
{
    union bits x = {.l = 0};

    memcpy(&x, from, elems[type].bytes);
    switch (type) {
    case ELEM_F32:
        return (double)x.f;
    case ELEM_F16:
        return (double)f16_to_f32(x.u);
    case ELEM_BF16:
        return of_bf16(x.u);
    case ELEM_F64:
        return x.d;
    case ELEM_I64:
        return (double)x.l;
    case ELEM_I32:
        return x.w;
    case ELEM_U32:
        return (uint32_t)x.w;
    case ELEM_U64:
        return (double)(uint64_t)x.l;
    case ELEM_I16:
        return x.h;
    case ELEM_U16:
        return x.u;
    case ELEM_I8:
    case ELEM_I4:
    case ELEM_I2:
        return x.b;
    default:
        return x.c;
    }
}

void elem_put(enum elem type, double value, void *to)
{
    union bits x = {.l = elems[type].is_float ? 0 : elem_whole(value)};

    switch (type) {
    case ELEM_F32:
        x.f = (float)value;
        break;
    case ELEM_F16:
        x.u = f16_of((float)value);
        break;
    case ELEM_BF16:
        x.u = bf16_of((float)value);
        break;
    case ELEM_F64:
        x.d = value;
        break;
    default:
        break; /* the lower bytes of a whole number */
    }
    memcpy(to, &x, elems[type].bytes);
}

/* Almost all weights are float32 or float16: those have loops of their own. */
void elem_round_all(enum elem type, double *x, size_t n)
{
    for (size_t i = 0; type == ELEM_F32 && i < n; i++) {
        x[i] = (double)(float)x[i];
    }
    for (size_t i = 0; type == ELEM_F16 && i < n; i++) {
        x[i] = f16_to_f64(f16_of((float)x[i]));
    }
    for (size_t i = 0; type != ELEM_F32 && type != ELEM_F16 && i < n; i++) {
        x[i] = elem_round(type, x[i]);
    }
}

void elem_get_all(enum elem type, const void *from, size_t n, double *to)
{
    const char *at = from;
    uint16_t half;
    float f;

    if (type == ELEM_F32) {
        for (size_t i = 0; i < n; i++) {
            memcpy(&f, at + i * sizeof(f), sizeof(f));
            to[i] = (double)f;
        }
        return;
    }
    for (size_t i = 0; type == ELEM_F16 && i < n; i++) {
        memcpy(&half, at + i * sizeof(half), sizeof(half));
        to[i] = f16_to_f64(half);
    }
    for (size_t i = 0; type != ELEM_F16 && i < n; i++) {
        to[i] = elem_get(type, at + i * elems[type].bytes);
    }
}

void elem_put_all(enum elem type, const double *value, size_t n, void *to)
{
    char *at = to;
    uint16_t half;
    float f;

    if (type == ELEM_F32) {
        for (size_t i = 0; i < n; i++) {
            f = (float)value[i];
            memcpy(at + i * sizeof(f), &f, sizeof(f));
        }
        return;
    }
    for (size_t i = 0; type == ELEM_F16 && i < n; i++) {
        half = f16_of((float)value[i]);
        memcpy(at + i * sizeof(half), &half, sizeof(half));
    }
    for (size_t i = 0; type != ELEM_F16 && i < n; i++) {
        elem_put(type, value[i], at + i * elems[type].bytes);
    }
}
