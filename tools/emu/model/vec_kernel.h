/* SPDX-License-Identifier: MIT
 *
 * The loops over elements, made from the lines of vec_ops.def. Included by the file of
 * each path, which defines VEC_PATH, the name of the table; the compiler makes
 * instructions of that host of them. fp16 goes through fp32 in pieces that stay in the
 * host's L1.
 */
#include "tools/emu/model/vec_path.h"
#include "tools/emu/model/vecmath.h"

enum { PIECE = 256 };

/* 0 if x is negative in the type whose bits are `ones`. */
VEC_INLINE uint32_t positive(uint32_t x, uint32_t ones)
{
    return x & (ones ^ ones >> 1) ? 0 : x;
}

VEC_INLINE uint32_t shift_right(uint32_t a, uint32_t n, unsigned flags, uint32_t ones)
{
    bool logical = flags & VSHR_LOGICAL, round = flags & VSHR_ROUND;
    int64_t x = logical ? (int64_t)(a & ones) : (int32_t)a;

    return (uint32_t)((x >> n) + (round && n ? x >> (n - 1) & 1 : 0));
}

/* --- arithmetic --- */

#define REAL(NAME, n_src, result)                                                        \
    static void NAME##_real(float *restrict y, const float *x0, const float *x1,         \
                            const float *x2, size_t n, const struct vec_imm *imm,        \
                            bool half) __attribute__((always_inline));                   \
    static inline void NAME##_real(float *restrict y, const float *x0, const float *x1,  \
                                   const float *x2, size_t n, const struct vec_imm *imm, \
                                   bool half)                                            \
    {                                                                                    \
        const float s = imm->real;                                                       \
        (void)half;                                                                      \
        (void)s;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                 \
            const float a = x0[i], b = x1[i], c = x2[i];                                 \
            (void)b;                                                                     \
            (void)c;                                                                     \
            y[i] = canon(result);                                                        \
        }                                                                                \
    }                                                                                    \
    static void NAME##_F32(void *dst, const void *const *src, size_t n,                  \
                           const struct vec_imm *imm)                                    \
    {                                                                                    \
        NAME##_real(dst, src[0], src[n_src > 1], src[n_src - 1], n, imm, false);         \
    }                                                                                    \
    static void NAME##_F16(void *dst, const void *const *src, size_t n,                  \
                           const struct vec_imm *imm)                                    \
    {                                                                                    \
        float x[n_src][PIECE], y[PIECE];                                                 \
        for (size_t i = 0; i < n; i += PIECE) {                                          \
            size_t part = n - i < PIECE ? n - i : PIECE;                                 \
            for (unsigned k = 0; k < n_src; k++) {                                       \
                load_F16(x[k], (const uint16_t *)src[k] + i, part);                      \
            }                                                                            \
            NAME##_real(y, x[0], x[n_src > 1], x[n_src - 1], part, imm, true);           \
            store_F16((uint16_t *)dst + i, y, part, ROUND_RINT);                         \
        }                                                                                \
    }

/* As REAL, but the last source is F32 already, and so is the result. */
#define MIXED(NAME, n_src, result)                                                       \
    static void NAME##_wide(void *dst, const void *const *src, size_t n,                 \
                            const struct vec_imm *imm)                                   \
    {                                                                                    \
        float x[n_src - 1][PIECE];                                                       \
        for (size_t i = 0; i < n; i += PIECE) {                                          \
            size_t part = n - i < PIECE ? n - i : PIECE;                                 \
            const float *last = (const float *)src[n_src - 1] + i;                       \
            const float *x1 = n_src == 2 ? last : x[n_src - 2];                          \
            for (unsigned k = 0; k + 1 < n_src; k++) {                                   \
                load_F16(x[k], (const uint16_t *)src[k] + i, part);                      \
            }                                                                            \
            NAME##_real((float *)dst + i, x[0], x1, last, part, imm, false);             \
        }                                                                                \
    }

/* S32 times a scale, to F16 with one rounding: in fp64 the product is exact. */
VEC_INLINE void scaled_F32(float *restrict to, const int32_t *from, size_t n, float s)
{
    const double scale = s;

    for (size_t i = 0; i < n; i++) {
        to[i] = canon(shrink(from[i] * scale, true));
    }
}

#define WHOLE_OF(NAME, TYPE, ctype, bits, n_src, result)                                 \
    static void NAME##_##TYPE(void *dst, const void *const *src, size_t n,               \
                              const struct vec_imm *imm)                                 \
    {                                                                                    \
        const ctype *x0 = src[0], *x1 = src[n_src > 1];                                  \
        const uint32_t ones = bits, s = imm->whole;                                      \
        ctype *restrict y = dst;                                                         \
        (void)ones;                                                                      \
        (void)s;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                 \
            const uint32_t a = (uint32_t)x0[i], b = (uint32_t)x1[i];                     \
            (void)b;                                                                     \
            y[i] = (ctype)(result);                                                      \
        }                                                                                \
    }
#define WHOLE(NAME, n_src, result)                                                       \
    WHOLE_OF(NAME, S32, int32_t, 0xffffffffu, n_src, result)                             \
    WHOLE_OF(NAME, S16, int16_t, 0xffffu, n_src, result)
#include "tools/emu/model/vec_ops.def"

/* --- comparison and selection --- */

/* Eight bytes of 0 or 1 become the bits of one, and back. */
VEC_INLINE void pack_bits(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t eight;
        memcpy(&eight, from + i, 8);
        to[i / 8] = (uint8_t)(eight * 0x0102040810204080u >> 56);
    }
}

VEC_INLINE void unpack_bits(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t eight = from[i / 8] * UINT64_C(0x0101010101010101) & 0x8040201008040201u;
        eight = (eight + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
        memcpy(to + i, &eight, 8);
    }
}

#define COMPARE_OF(COND, TYPE, ctype, number, from_scalar, operator)                     \
    VEC_INLINE void COND##_##TYPE(uint8_t *to, const void *const *src, size_t n,         \
                                  const struct vec_imm *imm, bool scalar)                \
    {                                                                                    \
        const ctype *x0 = src[0], *x1 = src[!scalar];                                    \
        const number s = from_scalar;                                                    \
        uint8_t yes[PIECE] = {0};                                                        \
        number x[2][PIECE];                                                              \
        for (size_t i = 0; i < n; i += PIECE) {                                          \
            size_t part = n - i < PIECE ? n - i : PIECE;                                 \
            load_##number##_##TYPE(x[0], x0 + i, part);                                  \
            load_##number##_##TYPE(x[1], x1 + i, scalar ? 0 : part);                     \
            for (size_t j = 0; j < part; j++) {                                          \
                yes[j] = x[0][j] operator(scalar ? s : x[1][j]);                         \
            }                                                                            \
            memset(yes + part, 0, PIECE - part);                                         \
            pack_bits(to + i / 8, yes, part);                                            \
        }                                                                                \
    }                                                                                    \
    static void COND##_##TYPE##_vector(void *dst, const void *const *src, size_t n,      \
                                       const struct vec_imm *imm)                        \
    {                                                                                    \
        COND##_##TYPE(dst, src, n, imm, false);                                          \
    }                                                                                    \
    static void COND##_##TYPE##_scalar(void *dst, const void *const *src, size_t n,      \
                                       const struct vec_imm *imm)                        \
    {                                                                                    \
        COND##_##TYPE(dst, src, n, imm, true);                                           \
    }

LOAD(float_F32, float, x[i])
VEC_INLINE void load_float_F16(float *restrict to, const void *from, size_t n)
{
    load_F16(to, from, n);
}
#undef LOAD
#define LOAD(TYPE, ctype)                                                                \
    VEC_INLINE void load_int32_t_##TYPE(int32_t *restrict to, const void *from,          \
                                        size_t n)                                        \
    {                                                                                    \
        const ctype *restrict x = from;                                                  \
        for (size_t i = 0; i < n; i++) {                                                 \
            to[i] = x[i];                                                                \
        }                                                                                \
    }
LOAD(S32, int32_t)
LOAD(S16, int16_t)

#define COMPARE(COND, operator)                                                          \
    COMPARE_OF(COND, F32, float, float, imm->real, operator)                             \
    COMPARE_OF(COND, F16, uint16_t, float, imm->real, operator)                          \
    COMPARE_OF(COND, S32, int32_t, int32_t, (int32_t)imm->whole, operator)               \
    COMPARE_OF(COND, S16, int16_t, int32_t, (int32_t)imm->whole, operator)
#include "tools/emu/model/vec_ops.def"

/* The scalar's bits are in imm->whole, whatever the type. */
#define SELECT(name, ctype)                                                              \
    VEC_INLINE void name(ctype *restrict y, const ctype *x0, const ctype *x1,            \
                         const uint8_t *bits, size_t n, bool scalar, ctype s)            \
    {                                                                                    \
        uint8_t yes[PIECE];                                                              \
        for (size_t i = 0; i < n; i += PIECE) {                                          \
            size_t part = n - i < PIECE ? n - i : PIECE;                                 \
            unpack_bits(yes, bits + i / 8, part);                                        \
            for (size_t j = 0; j < part; j++) {                                          \
                ctype other = scalar ? s : x1[i + j];                                    \
                y[i + j] = yes[j] ? x0[i + j] : other;                                   \
            }                                                                            \
        }                                                                                \
    }                                                                                    \
    static void name##_vector(void *dst, const void *const *src, size_t n,               \
                              const struct vec_imm *imm)                                 \
    {                                                                                    \
        (void)imm;                                                                       \
        name(dst, src[0], src[1], src[2], n, false, 0);                                  \
    }                                                                                    \
    static void name##_scalar(void *dst, const void *const *src, size_t n,               \
                              const struct vec_imm *imm)                                 \
    {                                                                                    \
        name(dst, src[0], src[0], src[1], n, true, (ctype)imm->whole);                   \
    }
SELECT(select32, uint32_t)
SELECT(select16, uint16_t)

/* --- casts --- */

/* n elements of fp32, or of S32 where that is the source, to a type. */
#define STORE(TO, ctype, value)                                                          \
    VEC_INLINE void put_##TO(void *to, const float *from, size_t n, unsigned mode)       \
    {                                                                                    \
        ctype *restrict y = to;                                                          \
        (void)mode;                                                                      \
        for (size_t i = 0; i < n; i++) {                                                 \
            const float x = from[i];                                                     \
            y[i] = (ctype)(value);                                                       \
        }                                                                                \
    }
STORE(BF16, uint16_t, narrow_bf16(x, mode))
STORE(S32, int32_t, to_integer(round_whole(x, mode), INT32_MIN, INT32_MAX))
STORE(S16, int16_t, to_integer(round_whole(x, mode), INT16_MIN, INT16_MAX))
STORE(S8, int8_t, to_integer(round_whole(x, mode), INT8_MIN, INT8_MAX))
STORE(U8, uint8_t, to_integer(round_whole(x, mode), 0, UINT8_MAX))
STORE(F32, float, canon(round_whole(x, mode)))
STORE(exact, float, canon(x))

VEC_INLINE void put_F16(void *to, const float *from, size_t n, unsigned mode)
{
    float x[PIECE];

    for (size_t i = 0; i < n; i++) {
        x[i] = canon(from[i]);
    }
    store_F16(to, x, n, mode);
}

/* --- ways from one type to another; see vec_ops.def --- */

VEC_INLINE void direct_S32_F32(float *restrict y, const int32_t *restrict x, size_t n,
                               unsigned mode)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = real_to_f32(x[i], mode);
    }
}

VEC_INLINE void direct_S32_S16(int16_t *restrict y, const int32_t *restrict x, size_t n,
                               unsigned mode)
{
    (void)mode;
    for (size_t i = 0; i < n; i++) {
        int32_t v = x[i] < INT16_MIN ? INT16_MIN : x[i];
        y[i] = (int16_t)(v > INT16_MAX ? INT16_MAX : v);
    }
}

VEC_INLINE void direct_S64_S32(int32_t *restrict y, const int64_t *restrict x, size_t n,
                               unsigned mode)
{
    (void)mode;
    for (size_t i = 0; i < n; i++) {
        int64_t v = x[i] < INT32_MIN ? INT32_MIN : x[i];
        y[i] = (int32_t)(v > INT32_MAX ? INT32_MAX : v);
    }
}

VEC_INLINE void direct_S32_S64(int64_t *restrict y, const int32_t *restrict x, size_t n,
                               unsigned mode)
{
    (void)mode;
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i];
    }
}

VEC_INLINE void direct_S64_F32(float *restrict y, const int64_t *restrict x, size_t n,
                               unsigned mode)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = wide_to_f32(x[i], mode);
    }
}

VEC_INLINE void direct_F32_S64(int64_t *restrict y, const float *restrict x, size_t n,
                               unsigned mode)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = to_wide(round_whole(x[i], mode));
    }
}

/* n pairs. */
VEC_INLINE void direct_S4_F16(uint16_t *restrict y, const uint8_t *restrict x, size_t n,
                              unsigned mode)
{
    float v[2 * PIECE];

    for (size_t i = 0; i < n; i += PIECE) {
        size_t part = n - i < PIECE ? n - i : PIECE;
        for (size_t j = 0; j < part; j++) {
            v[2 * j] = (float)((x[i + j] & 15) - ((x[i + j] & 8) << 1));
            v[2 * j + 1] = (float)((int8_t)x[i + j] >> 4);
        }
        store_F16(y + 2 * i, v, 2 * part, mode);
    }
}

VEC_INLINE void direct_F16_S4(uint8_t *restrict y, const uint16_t *restrict x, size_t n,
                              unsigned mode)
{
    float v[2 * PIECE];
    uint8_t nibble[2 * PIECE];

    for (size_t i = 0; i < n; i += PIECE) {
        size_t part = n - i < PIECE ? n - i : PIECE;
        load_F16(v, x + 2 * i, 2 * part);
        for (size_t j = 0; j < 2 * part; j++) {
            nibble[j] = (uint8_t)(to_integer(round_whole(v[j], mode), -8, 7) & 15);
        }
        for (size_t j = 0; j < part; j++) {
            y[i + j] = (uint8_t)(nibble[2 * j] | nibble[2 * j + 1] << 4);
        }
    }
}

/* In pieces: a statement for `part` elements from `from` to `to` through x. */
#define CONV_PIECES(FROM, TO, statement)                                                 \
    float x[PIECE];                                                                      \
    for (size_t i = 0; i < n; i += PIECE) {                                              \
        size_t part = n - i < PIECE ? n - i : PIECE;                                     \
        const void *from = (const uint8_t *)src[0] + i * SIZE_##FROM;                    \
        void *to = (uint8_t *)dst + i * SIZE_##TO;                                       \
        statement;                                                                       \
    }
#define CONV_real(FROM, TO, mode)                                                        \
    CONV_PIECES(FROM, TO, load_##FROM(x, from, part); put_##TO(to, x, part, mode))
#define CONV_exact(FROM, TO, mode)                                                       \
    CONV_PIECES(FROM, TO, load_##FROM(x, from, part); put_exact(to, x, part, mode))
#define CONV_scaled(FROM, TO, mode)                                                      \
    CONV_PIECES(FROM, TO, scaled_F32(x, from, part, imm->deq);                           \
                store_##TO(to, x, part, mode))
#define CONV_direct(FROM, TO, mode) direct_##FROM##_##TO(dst, src[0], n, mode);

#define CONV_OF(FROM, TO, way, mode)                                                     \
    static void FROM##_##TO##_##mode(void *dst, const void *const *src, size_t n,        \
                                     const struct vec_imm *imm)                          \
    {                                                                                    \
        (void)imm;                                                                       \
        CONV_##way(FROM, TO, ROUND_##mode)                                               \
    }
#define CONV_MODES(X, FROM, TO, way)                                                     \
    X(FROM, TO, way, RINT)                                                               \
    X(FROM, TO, way, FLOOR)                                                              \
    X(FROM, TO, way, CEIL)                                                               \
    X(FROM, TO, way, ROUND)                                                              \
    X(FROM, TO, way, TRUNC)                                                              \
    X(FROM, TO, way, ODD)

enum {
    SIZE_F32 = 4,
    SIZE_S32 = 4,
    SIZE_F16 = 2,
    SIZE_BF16 = 2,
    SIZE_S16 = 2,
    SIZE_S8 = 1,
    SIZE_U8 = 1
};

#define CONV(FROM, TO, way) CONV_MODES(CONV_OF, FROM, TO, way)
#include "tools/emu/model/vec_ops.def"

/* (a + b) * scale, at least 0, to F16; the sum wraps. */
static void VADDDEQRELU_S32(void *dst, const void *const *src, size_t n,
                            const struct vec_imm *imm)
{
    const uint32_t *a = src[0], *b = src[1];
    int32_t sum[PIECE];
    float x[PIECE];

    for (size_t i = 0; i < n; i += PIECE) {
        size_t part = n - i < PIECE ? n - i : PIECE;
        for (size_t j = 0; j < part; j++) {
            sum[j] = (int32_t)(a[i + j] + b[i + j]);
        }
        scaled_F32(x, sum, part, imm->deq);
        for (size_t j = 0; j < part; j++) {
            x[j] = greater(x[j], 0.0f);
        }
        store_F16((uint16_t *)dst + i, x, part, ROUND_RINT);
    }
}

/* --- the table --- */

#define REAL(NAME, n, result)                                                            \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_F32] = {NAME##_F32, n},                            \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_F16] = {NAME##_F16, n},
#define MIXED(NAME, n, result) .op[1][VEC_INDEX(OP_##NAME)][TYPE_F16] = {NAME##_wide, n},
#define WHOLE(NAME, n, result)                                                           \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_S32] = {NAME##_S32, n},                            \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_S16] = {NAME##_S16, n},
#define COMPARE_LINE(COND, TYPE)                                                         \
    .compare[0][CMP_##COND][TYPE_##TYPE] = COND##_##TYPE##_vector,                       \
    .compare[1][CMP_##COND][TYPE_##TYPE] = COND##_##TYPE##_scalar,
#define COMPARE(COND, operator)                                                          \
    COMPARE_LINE(COND, F32)                                                              \
    COMPARE_LINE(COND, F16) COMPARE_LINE(COND, S32) COMPARE_LINE(COND, S16)
#define CONV_LINE(FROM, TO, way, mode)                                                   \
    .conv[TYPE_##FROM][TYPE_##TO][ROUND_##mode] = FROM##_##TO##_##mode,
#define CONV(FROM, TO, way)                                                              \
    .conv[TYPE_##FROM][TYPE_##TO][ROUND_NONE] = FROM##_##TO##_RINT,                      \
    CONV_MODES(CONV_LINE, FROM, TO, way)

const struct vec_path VEC_PATH = {
#include "tools/emu/model/vec_ops.def"
    .op[0][VEC_INDEX(OP_VADDDEQRELU)][TYPE_S32] = {VADDDEQRELU_S32, 2},
    .select =
        {
            {[TYPE_F32] = select32_vector,
             [TYPE_S32] = select32_vector,
             [TYPE_F16] = select16_vector,
             [TYPE_S16] = select16_vector},
            {[TYPE_F32] = select32_scalar,
             [TYPE_S32] = select32_scalar,
             [TYPE_F16] = select16_scalar,
             [TYPE_S16] = select16_scalar},
        },
};
