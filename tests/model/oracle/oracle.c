/* SPDX-License-Identifier: MIT
 *
 * The oracle of the Vector's numbers; see oracle.h.
 */
#include "tests/model/oracle/oracle.h"

#include <string.h>

#include "tools/emu/model/arith/simd.h"

uint64_t in[3][BATCH], out[BATCH];
mpfr_t v, x, y, z;
static uint64_t other[BATCH];
static mpfr_t t; /* precise enough for every exact sum */

void oracle_open(void)
{
    fresh();
    mpfr_inits2(800, t, v, x, y, z, (mpfr_ptr)NULL);
}

void oracle_close(void)
{
    mpfr_clears(t, v, x, y, z, (mpfr_ptr)NULL);
    mpfr_free_cache();
}

static unsigned fraction(enum type type)
{
    return type == TYPE_F32 ? 23 : type == TYPE_F16 ? 10 : 7;
}

static int least(enum type type)
{
    return type == TYPE_F16 ? -14 : -126;
}

static uint32_t infinity(enum type type)
{
    return type == TYPE_F32 ? 0x7f800000 : type == TYPE_F16 ? 0x7c00 : 0x7f80;
}

bool is_real(enum type type)
{
    return type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16;
}

void value(mpfr_t to, enum type type, uint64_t bits)
{
    uint64_t sign = 1ull << (type_bits(type) - 1), mag = bits & (sign - 1);
    unsigned f = fraction(type), exp = (unsigned)(mag >> f);

    if (!is_real(type)) {
        unsigned above = type == TYPE_U8 ? 0 : 64 - type_bits(type);
        mpfr_set_si(to, (int64_t)(bits << above) >> above, MPFR_RNDN);
        return;
    }
    if (mag > infinity(type)) {
        mpfr_set_nan(to);
    } else if (mag == infinity(type)) {
        mpfr_set_inf(to, 1);
    } else {
        uint64_t m = (mag & ((1u << f) - 1)) | (exp ? 1u << f : 0);
        mpfr_set_ui_2exp(to, m, least(type) - (int)f + (exp ? (int)exp - 1 : 0),
                         MPFR_RNDN);
    }
    if (bits & sign) {
        mpfr_neg(to, to, MPFR_RNDN);
    }
}

/* Whether a magnitude goes up to the next one; part: of what is cut off, against a half
 * (-1 below, 0, 1 above; -2 for nothing). */
static bool goes_up(unsigned mode, bool negative, bool last_bit, int part)
{
    switch (mode) {
    case ROUND_FLOOR:
    case ROUND_CEIL:
        return negative == (mode == ROUND_FLOOR) && part != -2;
    case ROUND_ROUND:
        return part >= 0;
    case ROUND_TRUNC:
        return false;
    case ROUND_ODD:
        return part != -2 && !last_bit;
    default:
        return part > 0 || (part == 0 && last_bit);
    }
}

/* |v| / 2^q as a whole number, and how the rest compares with a half. */
static uint64_t units(mpfr_t from, int q, int *part)
{
    uint64_t n;

    mpfr_abs(t, from, MPFR_RNDN);
    mpfr_div_2si(t, t, q, MPFR_RNDN);
    n = mpfr_get_ui(t, MPFR_RNDZ);
    mpfr_sub_ui(t, t, n, MPFR_RNDN);
    *part = mpfr_zero_p(t) ? -2 : mpfr_cmp_d(t, 0.5);
    *part = *part == -2 ? -2 : (*part > 0) - (*part < 0);
    return n;
}

uint64_t rounded_real(mpfr_t from, enum type type, unsigned mode)
{
    unsigned f = fraction(type);
    uint32_t sign = mpfr_signbit(from) ? 1u << (type_bits(type) - 1) : 0, bits;
    int e, q, part;
    uint64_t n;

    if (mpfr_nan_p(from)) {
        return infinity(type) | 1u << (f - 1);
    }
    if (mpfr_inf_p(from) || mpfr_zero_p(from)) {
        return sign | (mpfr_inf_p(from) ? infinity(type) : 0);
    }
    e = (int)mpfr_get_exp(from) - 1;
    if (e > 200) {
        e = 200;
        mpfr_set_ui_2exp(from, 1, e, MPFR_RNDN);
    }
    q = (e < least(type) ? least(type) : e) - (int)f;
    n = units(from, q, &part);
    bits = (uint32_t)n;
    if (e >= least(type)) {
        bits = ((uint32_t)(e - least(type) + 1) << f) + (uint32_t)(n - (1u << f));
    }
    if (bits >= infinity(type)) { /* beyond the greatest number by more than half */
        bits = infinity(type) - 1;
        part = 1;
    }
    return sign | (bits + goes_up(mode, sign != 0, bits & 1, part));
}

uint64_t rounded_whole(mpfr_t from, enum type type, unsigned mode)
{
    unsigned bits = type_bits(type);
    uint64_t mask = UINT64_MAX >> (64 - bits);
    uint64_t most = type == TYPE_U8 ? mask : mask >> 1,
             least = type == TYPE_U8 ? 0 : most + 1;
    bool negative = mpfr_signbit(from);
    int part;
    uint64_t n;

    if (mpfr_nan_p(from)) {
        return 0;
    }
    if (mpfr_inf_p(from) || mpfr_get_exp(from) > 64) {
        return negative ? least & mask : most;
    }
    n = units(from, 0, &part);
    n += goes_up(mode, negative, n & 1, part);
    if (n > (negative ? least : most)) {
        n = negative ? least : most;
    }
    return (negative ? -n : n) & mask;
}

uint64_t rounded(mpfr_t from, enum type type, unsigned mode)
{
    return is_real(type) ? rounded_real(from, type, mode)
                         : rounded_whole(from, type, mode);
}

void make_whole(mpfr_t x, unsigned mode)
{
    bool negative = mpfr_signbit(x);
    int part;
    uint64_t n;

    if (mpfr_number_p(x) && mpfr_cmpabs_ui(x, 1ul << 40) < 0) {
        n = units(x, 0, &part);
        mpfr_set_ui(x, n + goes_up(mode, negative, n & 1, part), MPFR_RNDN);
        mpfr_setsign(x, x, negative, MPFR_RNDN);
    }
}

/* Elements side by side; two of S4 in a byte, those of 64 bits in halves. */
static void put(uint32_t at, enum type type, const uint64_t *from, unsigned n)
{
    uint8_t *ub = mem(NPU_MEM_UB) + at;

    if (type_bits(type) == 64) {
        memcpy(ub, from, n * sizeof(*from));
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        element_put(ub, i, type_bits(type), (uint32_t)from[i]);
    }
}

static void get(enum type type, uint64_t *to, unsigned n)
{
    const uint8_t *ub = mem(NPU_MEM_UB) + AT_DST;

    if (type_bits(type) == 64) {
        memcpy(to, ub, n * sizeof(*to));
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        to[i] = element_get(ub, i, type_bits(type));
    }
}

bool run_everywhere(union cmd cmd, enum type from, enum type to, const uint64_t *dst,
                    unsigned n)
{
    union cmd m = rig_command(OP_SET_MASK, TYPE_NONE);
    bool same = true;

    m.set_mask = (struct cmd_set_mask){m.head, n, 0};
    m.head.flags = SET_MASK_COUNTER;
    for (enum simd level = SIMD_PLAIN; level <= SIMD_AVX512; level++) {
        simd_limit(level);
        put(AT_X, from, in[0], n);
        put(AT_Y, from, in[1], n);
        put(AT_DST, to, dst, n);
        run(m);
        same &= run(cmd) == 0;
        get(to, level == SIMD_PLAIN ? out : other, n);
        same &= level == SIMD_PLAIN || memcmp(out, other, n * sizeof(out[0])) == 0;
    }
    return same;
}

union cmd vec1(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);

    c.vec1 = (struct cmd_vec1){c.head, AT_DST, AT_X, 1, 1, 8, 8, 0};
    return c;
}

union cmd vec1s(enum op op, enum type type, uint64_t scalar)
{
    union cmd c = rig_command(op, type);

    c.vec1s = (struct cmd_vec1s){c.head, AT_DST, AT_X, (uint32_t)scalar, 1, 1, 8, 8, 0};
    return c;
}

union cmd vec2(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);

    c.vec2 = (struct cmd_vec2){c.head, AT_DST, AT_X, AT_Y, 1, 1, 1, 8, 8, 8, 0};
    return c;
}

union cmd conv(enum type from, enum type to, unsigned mode)
{
    unsigned a = type_bits(from), b = type_bits(to), wide = a > b ? a : b;
    union cmd c = rig_command(OP_VCONV, from);

    c.vec_conv = (struct cmd_vec_conv){c.head,
                                       AT_DST,
                                       AT_X,
                                       1,
                                       1,
                                       (uint8_t)(8 * b / wide),
                                       (uint8_t)(8 * a / wide),
                                       0,
                                       (uint8_t)to,
                                       (uint8_t)mode};
    return c;
}

uint64_t corner(enum type type, unsigned i)
{
    static const uint32_t special[CORNERS] = {
        0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
        0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
        0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x4b000000, 0x4effffff,
        0x4f000000, 0xcf000000, 0x477fe000, 0x477fefff, 0x477ff000, 0x33000000,
        0x33000001, 0x387fc000, 0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000,
        0x46fffe00, 0x437f8000};
    static const uint16_t half[CORNERS] = {
        0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x7bff, 0xfbff,
        0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x3c00, 0xbc00, 0x3bff, 0x3c01,
        0x6400, 0x77ff, 0x7800, 0xf800, 0x7bfe, 0x83ff, 0x8400, 0x200,
        0x201,  0x3800, 0x3555, 0x3e00, 0x4100, 0xb800, 0x5640, 0xfe01};

    return type == TYPE_F32 ? special[i % CORNERS] : half[i % CORNERS];
}

uint64_t sample(enum type type, unsigned i)
{
    uint32_t r = rnd();

    if (!is_real(type)) { /* from 1 bit to all */
        uint64_t v = (uint64_t)r << 32 | rnd();
        unsigned bits = type_bits(type), shift = rnd() % bits;
        v = type == TYPE_U8 ? v >> (64 - bits) >> shift
                            : (uint64_t)((int64_t)v >> (64 - bits) >> shift);
        if (bits == 64 && i % 2) { /* 24 bits, and about half of the last one */
            unsigned k = 2 + shift % 39;
            v = ((uint64_t)(r | 1u << 23) & 0xffffff) << k | 1ull << (k - 1);
            v += rnd() % 3;
            v = r >> 31 ? v - 1 : -v + 1;
        }
        return v & UINT64_MAX >> (64 - bits);
    }
    if (type != TYPE_F32) {
        return i % 8 ? r & 0xffff : (r & 0x83ff) | (rnd() % 4 * 10 << 10);
    }
    switch (i % 4) {
    case 0:
        return r;
    case 1:
        return corner(TYPE_F32, r);
    case 2: /* 2^-12 to 2^20 */
        return (r & 0x807fffff) | (115 + rnd() % 32) << 23;
    default:
        return (r & 0x80ff0000) | (115 + rnd() % 16) << 23;
    }
}
