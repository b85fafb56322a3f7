/* SPDX-License-Identifier: MIT
 *
 * The loops over elements, made from the lines of vec_ops.def. Included by the file of
 * each path, which defines VEC_PATH, the name of the table; the compiler makes
 * instructions of that host of them. What needs another type works in pieces that stay in
 * the host's L1, one short loop after the other, each of which is compiled once.
 */
#include "tools/emu/model/arith/vec_path.h"
#include "tools/emu/model/arith/vecmath.h"

enum { PIECE = 256 };

/* A loop that others call. */
#define LOOP static __attribute__((noinline)) void

/* 0 if x is negative in the type whose bits are `ones`. */
VEC_INLINE uint32_t positive(uint32_t x, uint32_t ones)
{
    return x & (ones ^ ones >> 1) ? 0 : x;
}

/* The sign stays, or not. */
VEC_INLINE uint32_t shift_left(uint32_t a, uint32_t n, unsigned flags, uint32_t ones)
{
    uint32_t sign = flags & VSHL_LOGICAL ? 0 : ones ^ ones >> 1;
    uint32_t moved = n < 32 ? a << (n & 31) : 0;

    return (moved & ~sign) | (a & sign);
}

VEC_INLINE uint32_t shift_right(uint32_t a, uint32_t n, unsigned flags, uint32_t ones)
{
    bool logical = flags & VSHR_LOGICAL, round = flags & VSHR_ROUND;
    int64_t x = logical ? (int64_t)(a & ones) : (int32_t)a;

    return (uint32_t)((x >> n) + (round && n ? x >> (n - 1) & 1 : 0));
}

/* --- to fp32 and back --- */

#define TAKE(TYPE)                                                                       \
    LOOP take_##TYPE(float *restrict to, const void *from, size_t n)                     \
    {                                                                                    \
        load_##TYPE(to, from, n);                                                        \
    }
TAKE(F32)
TAKE(F16)
TAKE(BF16)
TAKE(S16)
TAKE(S8)
TAKE(U8)

/* Of whole numbers to integers; of numbers to themselves. */
#define GIVE(TYPE, ctype, value)                                                         \
    LOOP give_##TYPE(void *to, const float *from, size_t n)                              \
    {                                                                                    \
        ctype *restrict y = to;                                                          \
        for (size_t i = 0; i < n; i++) {                                                 \
            const float x = from[i];                                                     \
            y[i] = (ctype)(value);                                                       \
        }                                                                                \
    }
GIVE(F32, float, canon(x))
GIVE(S32, int32_t, to_integer(x, INT32_MIN, INT32_MAX))
GIVE(S16, int16_t, to_integer(x, INT16_MIN, INT16_MAX))
GIVE(S8, int8_t, to_integer(x, INT8_MIN, INT8_MAX))
GIVE(U8, uint8_t, to_integer(x, 0, UINT8_MAX))
GIVE(S64, int64_t, to_wide(x))

/* Loops that differ by the mode of rounding; ROUND_NONE is RINT. */
#define MODES(X) X(RINT) X(FLOOR) X(CEIL) X(ROUND) X(TRUNC) X(ODD)
#define MODE_LOOP(name, mode, to_type, from_type, statement)                             \
    LOOP name##_##mode(to_type *restrict y, const from_type *restrict x, size_t n)       \
    {                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                 \
            y[i] = statement;                                                            \
        }                                                                                \
    }
#define MODE_LOOPS(mode)                                                                 \
    MODE_LOOP(whole, mode, float, float, round_whole(x[i], ROUND_##mode))                \
    MODE_LOOP(BF16, mode, uint16_t, float, narrow_bf16(x[i], ROUND_##mode))              \
    MODE_LOOP(S32_F32, mode, float, int32_t, real_to_f32(x[i], ROUND_##mode))            \
    MODE_LOOP(S64_F32, mode, float, int64_t, wide_to_f32(x[i], ROUND_##mode))            \
    LOOP F16_##mode(uint16_t *restrict y, const float *restrict x, size_t n)             \
    {                                                                                    \
        store_F16(y, x, n, ROUND_##mode);                                                \
    }
MODES(MODE_LOOPS)
#define MODE_LINE(mode)                                                                  \
    [ROUND_##                                                                            \
        mode] = {whole_##mode, BF16_##mode, F16_##mode, S32_F32_##mode, S64_F32_##mode},
static const struct {
    void (*whole)(float *restrict y, const float *restrict x, size_t n);
    void (*bf16)(uint16_t *restrict y, const float *restrict x, size_t n);
    void (*f16)(uint16_t *restrict y, const float *restrict x, size_t n);
    void (*s32_f32)(float *restrict y, const int32_t *restrict x, size_t n);
    void (*s64_f32)(float *restrict y, const int64_t *restrict x, size_t n);
} by_mode[ROUND_COUNT] = {MODES(MODE_LINE)};

/* --- arithmetic --- */

/* A function that takes and gives F32 on sources of F16; with `wide` the last one and the
 * result are F32 already. */
struct through {
    vec_fn *fn;
    unsigned n_src;
    bool wide;
};

LOOP through_F32(const struct through t, void *dst, const void *const *src, size_t n,
                 const struct vec_imm *imm)
{
    float x[3][PIECE], y[PIECE];
    const void *from[3];

    for (size_t i = 0; i < n; i += PIECE) {
        size_t part = n - i < PIECE ? n - i : PIECE;
        for (unsigned k = 0; k < t.n_src; k++) {
            if (t.wide && k + 1 == t.n_src) {
                from[k] = (const float *)src[k] + i;
            } else {
                take_F16(x[k], (const uint16_t *)src[k] + i, part);
                from[k] = x[k];
            }
        }
        t.fn(t.wide ? (float *)dst + i : y, from, part, imm);
        if (!t.wide) {
            F16_RINT((uint16_t *)dst + i, y, part);
        }
    }
}

#define REAL_OF(name, n_src, is_half, result)                                            \
    static void name(void *dst, const void *const *src, size_t n,                        \
                     const struct vec_imm *imm)                                          \
    {                                                                                    \
        const float *x0 = src[0], *x1 = src[n_src > 1], *x2 = src[n_src - 1];            \
        const float s = imm->real;                                                       \
        const bool half = is_half;                                                       \
        float *restrict y = dst;                                                         \
        (void)half;                                                                      \
        (void)s;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                 \
            const float a = x0[i], b = x1[i], c = x2[i];                                 \
            (void)b;                                                                     \
            (void)c;                                                                     \
            y[i] = canon(result);                                                        \
        }                                                                                \
    }
#define F16_OF(name, n_src, wide, fn)                                                    \
    static void name(void *dst, const void *const *src, size_t n,                        \
                     const struct vec_imm *imm)                                          \
    {                                                                                    \
        through_F32((struct through){fn, n_src, wide}, dst, src, n, imm);                \
    }
#define REAL(NAME, n_src, result)                                                        \
    REAL_OF(NAME##_F32, n_src, false, result)                                            \
    F16_OF(NAME##_F16, n_src, false, NAME##_F32)
#define TWICE(NAME, n_src, result)                                                       \
    REAL_OF(NAME##_F32, n_src, false, result)                                            \
    REAL_OF(NAME##_half, n_src, true, result)                                            \
    F16_OF(NAME##_F16, n_src, false, NAME##_half)
#define MIXED(NAME, n_src) F16_OF(NAME##_wide, n_src, true, NAME##_F32)

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
#include "tools/emu/model/arith/vec_ops.def"

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

/* yes[i] = 1 where the condition holds. */
#define COMPARE_OF(COND, number, operator)                                               \
    LOOP COND##_##number(uint8_t *restrict yes, const number *a, const number *b,        \
                         size_t n)                                                       \
    {                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                 \
            yes[i] = a[i] operator b[i];                                                 \
        }                                                                                \
    }
#define COMPARE(COND, operator)                                                          \
    COMPARE_OF(COND, float, operator)                                                    \
    COMPARE_OF(COND, int32_t, operator)
#include "tools/emu/model/arith/vec_ops.def"
#define COMPARE(COND, operator) [CMP_##COND] = {COND##_float, COND##_int32_t},
static const struct {
    void (*of_float)(uint8_t *restrict yes, const float *a, const float *b, size_t n);
    void (*of_int32_t)(uint8_t *restrict yes, const int32_t *a, const int32_t *b,
                       size_t n);
} by_cond[CMP_COUNT] = {
#include "tools/emu/model/arith/vec_ops.def"
};

#define TAKE_WHOLE(TYPE, ctype)                                                          \
    LOOP take_whole_##TYPE(int32_t *restrict to, const void *from, size_t n)             \
    {                                                                                    \
        const ctype *restrict x = from;                                                  \
        for (size_t i = 0; i < n; i++) {                                                 \
            to[i] = x[i];                                                                \
        }                                                                                \
    }
TAKE_WHOLE(S32, int32_t)
TAKE_WHOLE(S16, int16_t)

/* dst = bits of the condition on src[0] and src[1], or s. */
#define COMPARISON(TYPE, ctype, number, take, s)                                         \
    VEC_INLINE void compare_##TYPE(uint8_t *to, const void *const *src, size_t n,        \
                                   const struct vec_imm *imm, bool scalar)               \
    {                                                                                    \
        uint8_t yes[PIECE];                                                              \
        number x[2][PIECE];                                                              \
        for (size_t i = 0; scalar && i < PIECE; i++) {                                   \
            x[1][i] = s;                                                                 \
        }                                                                                \
        for (size_t i = 0; i < n; i += PIECE) {                                          \
            size_t part = n - i < PIECE ? n - i : PIECE;                                 \
            take(x[0], (const ctype *)src[0] + i, part);                                 \
            if (!scalar) {                                                               \
                take(x[1], (const ctype *)src[1] + i, part);                             \
            }                                                                            \
            by_cond[imm->mode].of_##number(yes, x[0], x[1], part);                       \
            memset(yes + part, 0, PIECE - part);                                         \
            pack_bits(to + i / 8, yes, part);                                            \
        }                                                                                \
    }                                                                                    \
    static void compare_##TYPE##_vector(void *dst, const void *const *src, size_t n,     \
                                        const struct vec_imm *imm)                       \
    {                                                                                    \
        compare_##TYPE(dst, src, n, imm, false);                                         \
    }                                                                                    \
    static void compare_##TYPE##_scalar(void *dst, const void *const *src, size_t n,     \
                                        const struct vec_imm *imm)                       \
    {                                                                                    \
        compare_##TYPE(dst, src, n, imm, true);                                          \
    }
COMPARISON(F32, float, float, take_F32, imm->real)
COMPARISON(F16, uint16_t, float, take_F16, imm->real)
COMPARISON(S32, int32_t, int32_t, take_whole_S32, (int32_t)imm->whole)
COMPARISON(S16, int16_t, int32_t, take_whole_S16, (int32_t)imm->whole)

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

/* --- casts: one function for a pair of types, by imm->mode; see vec_ops.def --- */

/* S32 times a scale, to F16 with one rounding: in fp64 the product is exact. */
LOOP scaled_F32(float *restrict to, const int32_t *from, size_t n, float s)
{
    const double scale = s;

    for (size_t i = 0; i < n; i++) {
        to[i] = canon(shrink(from[i] * scale, true));
    }
}

#define DIRECT(FROM, from_type, TO, to_type, value)                                      \
    LOOP direct_##FROM##_##TO(to_type *restrict y, const from_type *restrict from,       \
                              size_t n, unsigned mode)                                   \
    {                                                                                    \
        (void)mode;                                                                      \
        for (size_t i = 0; i < n; i++) {                                                 \
            const from_type x = from[i];                                                 \
            y[i] = (to_type)(value);                                                     \
        }                                                                                \
    }
#define CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
DIRECT(S32, int32_t, S16, int16_t, CLAMP(x, INT16_MIN, INT16_MAX))
DIRECT(S64, int64_t, S32, int32_t, CLAMP(x, INT32_MIN, INT32_MAX))
DIRECT(S32, int32_t, S64, int64_t, x)

static void direct_S32_F32(float *y, const int32_t *x, size_t n, unsigned mode)
{
    by_mode[mode].s32_f32(y, x, n);
}

static void direct_S64_F32(float *y, const int64_t *x, size_t n, unsigned mode)
{
    by_mode[mode].s64_f32(y, x, n);
}

/* n pairs. */
static void direct_S4_F16(uint16_t *restrict y, const uint8_t *restrict x, size_t n,
                          unsigned mode)
{
    float v[2 * PIECE];

    for (size_t i = 0; i < n; i += PIECE) {
        size_t part = n - i < PIECE ? n - i : PIECE;
        for (size_t j = 0; j < part; j++) {
            v[2 * j] = (float)((x[i + j] & 15) - ((x[i + j] & 8) << 1));
            v[2 * j + 1] = (float)((int8_t)x[i + j] >> 4);
        }
        by_mode[mode].f16(y + 2 * i, v, 2 * part);
    }
}

static void direct_F16_S4(uint8_t *restrict y, const uint16_t *restrict x, size_t n,
                          unsigned mode)
{
    float v[2 * PIECE], w[2 * PIECE];
    uint8_t nibble[2 * PIECE];

    for (size_t i = 0; i < n; i += PIECE) {
        size_t part = n - i < PIECE ? n - i : PIECE;
        take_F16(v, x + 2 * i, 2 * part);
        by_mode[mode].whole(w, v, 2 * part);
        for (size_t j = 0; j < 2 * part; j++) {
            nibble[j] = (uint8_t)(to_integer(w[j], -8, 7) & 15);
        }
        for (size_t j = 0; j < part; j++) {
            y[i + j] = (uint8_t)(nibble[2 * j] | nibble[2 * j + 1] << 4);
        }
    }
}

/* n numbers of a type from fp32. */
#define TO_INTEGER(TYPE)                                                                 \
    VEC_INLINE void put_##TYPE(void *to, float *x, size_t n, unsigned mode)              \
    {                                                                                    \
        float w[PIECE];                                                                  \
        by_mode[mode].whole(w, x, n);                                                    \
        give_##TYPE(to, w, n);                                                           \
    }
TO_INTEGER(F32)
TO_INTEGER(S64)
TO_INTEGER(S32)
TO_INTEGER(S16)
TO_INTEGER(S8)
TO_INTEGER(U8)

VEC_INLINE void put_BF16(void *to, float *x, size_t n, unsigned mode)
{
    by_mode[mode].bf16(to, x, n);
}

VEC_INLINE void put_F16(void *to, float *x, size_t n, unsigned mode)
{
    float w[PIECE];

    give_F32(w, x, n);
    by_mode[mode].f16(to, w, n);
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
#define CONV_real(FROM, TO)                                                              \
    CONV_PIECES(FROM, TO, take_##FROM(x, from, part); put_##TO(to, x, part, imm->mode))
#define CONV_exact(FROM, TO)                                                             \
    CONV_PIECES(FROM, TO, take_##FROM(x, from, part); give_##TO(to, x, part))
#define CONV_scaled(FROM, TO)                                                            \
    CONV_PIECES(FROM, TO, scaled_F32(x, from, part, imm->deq);                           \
                by_mode[imm->mode].f16(to, x, part))
#define CONV_direct(FROM, TO) direct_##FROM##_##TO(dst, src[0], n, imm->mode);

enum {
    SIZE_S64 = 8,
    SIZE_F32 = 4,
    SIZE_S32 = 4,
    SIZE_F16 = 2,
    SIZE_BF16 = 2,
    SIZE_S16 = 2,
    SIZE_S8 = 1,
    SIZE_U8 = 1
};

#define CONV(FROM, TO, way)                                                              \
    static void FROM##_##TO(void *dst, const void *const *src, size_t n,                 \
                            const struct vec_imm *imm)                                   \
    {                                                                                    \
        (void)imm;                                                                       \
        CONV_##way(FROM, TO)                                                             \
    }
#include "tools/emu/model/arith/vec_ops.def"

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
        F16_RINT((uint16_t *)dst + i, x, part);
    }
}

/* --- the table --- */

#define REAL(NAME, n, result)                                                            \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_F32] = {NAME##_F32, n},                            \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_F16] = {NAME##_F16, n},
#define TWICE          REAL
#define MIXED(NAME, n) .op[1][VEC_INDEX(OP_##NAME)][TYPE_F16] = {NAME##_wide, n},
#define WHOLE(NAME, n, result)                                                           \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_S32] = {NAME##_S32, n},                            \
    .op[0][VEC_INDEX(OP_##NAME)][TYPE_S16] = {NAME##_S16, n},
#define CONV(FROM, TO, way) .conv[TYPE_##FROM][TYPE_##TO] = FROM##_##TO,

const struct vec_path VEC_PATH = {
#include "tools/emu/model/arith/vec_ops.def"
    .op[0][VEC_INDEX(OP_VADDDEQRELU)][TYPE_S32] = {VADDDEQRELU_S32, 2},
    .compare =
        {
            {[TYPE_F32] = compare_F32_vector,
             [TYPE_F16] = compare_F16_vector,
             [TYPE_S32] = compare_S32_vector,
             [TYPE_S16] = compare_S16_vector},
            {[TYPE_F32] = compare_F32_scalar,
             [TYPE_F16] = compare_F16_scalar,
             [TYPE_S32] = compare_S32_scalar,
             [TYPE_S16] = compare_S16_scalar},
        },
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
