/* SPDX-License-Identifier: MIT
 *
 * Writes to GM that combine with what is there; see atomic.h. One loop for each type and
 * operation, over the bytes of a row wherever it begins.
 */
#include "tools/emu/model/ops/atomic.h"

#include "tools/emu/model/arith/half.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/simd.h"

/* A snapshot may hold any value, so what SET_ATOMIC_* would refuse is not active. */
bool atomic_active(const struct op_ctx *c)
{
    switch (ATOMIC_TYPE(c)) {
    case TYPE_F32:
    case TYPE_F16:
    case TYPE_BF16:
    case TYPE_S32:
    case TYPE_S16:
    case TYPE_S8:
        return ATOMIC_OP(c) == ATOMIC_ADD || ATOMIC_OP(c) == ATOMIC_MAX ||
               ATOMIC_OP(c) == ATOMIC_MIN;
    default:
        return false;
    }
}

unsigned atomic_check(const struct op_ctx *c, size_t field, uint64_t row_bytes)
{
    bool parts = atomic_active(c) && row_bytes % (type_bits(ATOMIC_TYPE(c)) / 8);

    return parts ? op_fail(c, field, NPU_ERR_ALIGN) : 0;
}

/* Ordered as numbers, with -0 below +0. */
static int32_t order(uint32_t word)
{
    return (int32_t)(word ^ (uint32_t)((int32_t)word >> 31) >> 1);
}

/* The greater or smaller one of two numbers of fp32, or of 16 bits that stand in the
 * upper halves; NaN if one of them is. */
static inline uint32_t extreme(uint32_t a, uint32_t b, bool max, uint32_t infinity,
                               uint32_t nan)
{
    uint32_t best = (order(a) < order(b)) == max ? b : a;

    best = (a & 0x7fffffffu) > infinity ? nan : best;
    return (b & 0x7fffffffu) > infinity ? nan : best;
}

static inline uint32_t combine_f32(uint32_t a, uint32_t b, unsigned op)
{
    return op == ATOMIC_ADD ? num_canon(num_bits(num_float(a) + num_float(b)))
                            : extreme(a, b, op == ATOMIC_MAX, NUM_F32_INF, NUM_F32_NAN);
}

static inline uint16_t combine_f16(uint16_t a, uint16_t b, unsigned op)
{
    uint32_t x = (uint32_t)a << 16, y = (uint32_t)b << 16;

    return op == ATOMIC_ADD
               ? half_down(half_up(a) + half_up(b))
               : (uint16_t)(extreme(x, y, op == ATOMIC_MAX, (uint32_t)NUM_F16_INF << 16,
                                    (uint32_t)NUM_F16_NAN << 16) >>
                            16);
}

/* Sums: 24 bits are enough for rounding twice to be as if once (2 p + 2). */
static inline uint16_t combine_bf16(uint16_t a, uint16_t b, unsigned op)
{
    uint32_t x = (uint32_t)a << 16, y = (uint32_t)b << 16;

    return op == ATOMIC_ADD
               ? num_f32_to_bf16(num_bits(num_float(x) + num_float(y)))
               : (uint16_t)(extreme(x, y, op == ATOMIC_MAX, NUM_F32_INF, NUM_F32_NAN) >>
                            16);
}

#define INTEGER(name, ctype, utype)                                                      \
    static utype combine_##name(utype a, utype b, unsigned op)                           \
    {                                                                                    \
        if (op == ATOMIC_ADD) {                                                          \
            return (utype)(a + b);                                                       \
        }                                                                                \
        return ((ctype)a < (ctype)b) == (op == ATOMIC_MAX) ? b : a;                      \
    }
INTEGER(s32, int32_t, uint32_t)
INTEGER(s16, int16_t, uint16_t)
INTEGER(s8, int8_t, uint8_t)

/* Apart for each operation, so that the compiler's loops hold no choice. */
#define ROW_OP(name, utype, op)                                                          \
    for (size_t i = 0; i < bytes; i += sizeof(utype)) {                                  \
        utype a, b;                                                                      \
        memcpy(&a, to + i, sizeof(a));                                                   \
        memcpy(&b, from + i, sizeof(b));                                                 \
        a = combine_##name(a, b, op);                                                    \
        memcpy(to + i, &a, sizeof(a));                                                   \
    }
#define ROW(name, utype)                                                                 \
    static void row_##name(uint8_t *to, const uint8_t *from, size_t bytes, unsigned op)  \
    {                                                                                    \
        if (op == ATOMIC_ADD) {                                                          \
            ROW_OP(name, utype, ATOMIC_ADD)                                              \
        } else if (op == ATOMIC_MAX) {                                                   \
            ROW_OP(name, utype, ATOMIC_MAX)                                              \
        } else {                                                                         \
            ROW_OP(name, utype, ATOMIC_MIN)                                              \
        }                                                                                \
    }
ROW(f32, uint32_t)
ROW(f16, uint16_t)
ROW(bf16, uint16_t)
ROW(s32, uint32_t)
ROW(s16, uint16_t)
ROW(s8, uint8_t)

typedef void row_function(uint8_t *to, const uint8_t *from, size_t bytes, unsigned op);

/* Apart, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void all_rows(uint8_t *to, const uint8_t *stage,
                                               const struct access *dst,
                                               row_function *row, unsigned op)
{
    for (uint32_t k = 0; k < dst->n[2]; k++) {
        for (uint32_t j = 0; j < dst->n[1]; j++) {
            for (uint32_t i = 0; i < dst->n[0]; i++) {
                row(to + k * dst->stride[2] + j * dst->stride[1] + i * dst->stride[0],
                    stage, dst->row_bytes, op);
                stage += dst->row_bytes;
            }
        }
    }
}

void atomic_rows(const struct op_ctx *c, const struct access *dst, uint8_t *to,
                 const uint8_t *stage)
{
    static row_function *const rows[TYPE_COUNT] = {
        [TYPE_F32] = row_f32, [TYPE_F16] = row_f16, [TYPE_BF16] = row_bf16,
        [TYPE_S32] = row_s32, [TYPE_S16] = row_s16, [TYPE_S8] = row_s8,
    };
    unsigned fp;

    if (!atomic_active(c)) {
        op_store_rows(to, stage, dst);
        return;
    }
    fp = simd_fp_enter();
    all_rows(to, stage, dst, rows[ATOMIC_TYPE(c)], ATOMIC_OP(c));
    simd_fp_leave(fp);
}
