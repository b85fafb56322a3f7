/* SPDX-License-Identifier: MIT
 *
 * See dtype.h.
 */
#include "tools/graph/model/dtype.h"

#include <math.h>

enum elem dtype_of_onnx(int32_t type)
{
    static const enum elem types[] = {
        [1] = ELEM_F32,    [2] = ELEM_U8,    [3] = ELEM_I8,       [4] = ELEM_U16,
        [12] = ELEM_U32,   [5] = ELEM_I16,   [6] = ELEM_I32,      [7] = ELEM_I64,
        [8] = ELEM_TEXT,   [13] = ELEM_U64,  [14] = ELEM_COMPLEX, [15] = ELEM_COMPLEX128,
        [24] = ELEM_E8M0,  [9] = ELEM_BOOL,  [10] = ELEM_F16,     [11] = ELEM_F64,
        [16] = ELEM_BF16,  [17] = ELEM_E4M3, [18] = ELEM_E4M3Z,   [19] = ELEM_E5M2,
        [20] = ELEM_E5M2Z, [21] = ELEM_U4,   [22] = ELEM_I4,      [23] = ELEM_E2M1,
        [25] = ELEM_U2,    [26] = ELEM_I2};
    bool known = type > 0 && (size_t)type < sizeof(types) / sizeof(types[0]);

    return known && types[type] != ELEM_NONE ? types[type] : ELEM_OTHER;
}

static bool narrow, half;

void dtype_narrow(void)
{
    narrow = true;
}

void dtype_half(void)
{
    half = true;
}

enum elem dtype_outside(enum elem type)
{
    return narrow && type == ELEM_F64 ? ELEM_F32 : type;
}

enum elem dtype_within(enum elem type)
{
    return half && dtype_outside(type) == ELEM_F32 ? ELEM_F16 : dtype_outside(type);
}

enum elem dtype_of(int64_t type)
{
    return type == DTYPE_TO_F32 ? ELEM_F32 : dtype_within(dtype_of_onnx((int32_t)type));
}

void dtype_override(struct tensor *t)
{
    enum elem type = dtype_outside(t->type);

    if (type != t->type && t->value) {
        elem_round_all(type, t->value, (size_t)tensor_count(t));
    }
    t->type = type;
}

enum elem dtype_known(enum elem type)
{
    return half && type == ELEM_F16 ? ELEM_F32 : type;
}

void dtype_clamp(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fabs(x[i]) > DTYPE_F16_MAX && isfinite(x[i])) {
            x[i] = copysign(DTYPE_F16_MAX, x[i]);
        }
    }
}

void dtype_constant(struct tensor *t)
{
    dtype_override(t);
    if (dtype_within(t->type) == t->type) {
        return;
    }
    if (t->value) {
        dtype_clamp(t->value, (size_t)tensor_count(t));
    }
    t->type = ELEM_F16;
}
