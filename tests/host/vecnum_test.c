/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Vector against GNU MPFR: exact values there, rounded here by the
 * definition of each mode. All 65,536 inputs of fp16 and bf16 for functions of one number
 * and casts, a fixed sample otherwise. Every path of this host must give the same bits.
 *
 *     vecnum_test [PAIRS]     pairs for each operation of two or three numbers
 */
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host/rig.h"
#include "tests/host/tap.h"
#include "tools/emu/model/simd.h"

enum { BATCH = 8192, AT_X = 0, AT_Y = 32768, AT_DST = 131072 };

static struct rig rig;
static mpfr_t v, x, y, z, t; /* precise enough for every exact sum */
static uint32_t in[3][BATCH], out[BATCH], other[BATCH];
static unsigned worst; /* distance seen, in units of the last place */

static uint32_t random32(void)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
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

static bool is_real(enum type type)
{
    return type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16;
}

static void value(mpfr_t to, enum type type, uint32_t bits)
{
    uint32_t sign = 1u << (type_bits(type) - 1), mag = bits & (sign - 1);
    unsigned f = fraction(type), exp = mag >> f;

    if (!is_real(type)) {
        int32_t s = type == TYPE_S16  ? (int16_t)bits
                    : type == TYPE_S8 ? (int8_t)bits
                                      : (int32_t)bits;
        mpfr_set_si(to, s, MPFR_RNDN);
        return;
    }
    if (mag > infinity(type)) {
        mpfr_set_nan(to);
    } else if (mag == infinity(type)) {
        mpfr_set_inf(to, 1);
    } else {
        uint32_t m = (mag & ((1u << f) - 1)) | (exp ? 1u << f : 0);
        mpfr_set_ui_2exp(to, m, least(type) - (int)f + (exp ? (int)exp - 1 : 0), MPFR_RNDN);
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

static uint32_t rounded_real(mpfr_t from, enum type type, unsigned mode)
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

static uint32_t rounded_whole(mpfr_t from, enum type type, unsigned mode)
{
    int64_t lo = type == TYPE_U8 ? 0 : -((int64_t)1 << (type_bits(type) - 1));
    int64_t hi = type == TYPE_U8 ? 255 : -lo - 1, r;
    int part;

    if (mpfr_nan_p(from)) {
        return 0;
    }
    if (mpfr_cmpabs_ui(from, 1ul << 40) > 0) {
        r = mpfr_signbit(from) ? lo : hi;
    } else {
        r = (int64_t)units(from, 0, &part);
        r += goes_up(mode, mpfr_signbit(from), r & 1, part);
        r = mpfr_signbit(from) ? -r : r;
    }
    r = r < lo ? lo : r > hi ? hi : r;
    return (uint32_t)r & (uint32_t)(UINT64_MAX >> (64 - type_bits(type)));
}

static void put(uint32_t at, enum type type, const uint32_t *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        memcpy(rig.npu.mem[0][NPU_MEM_UB] + at + i * type_bits(type) / 8, &from[i],
               type_bits(type) / 8);
    }
}

static void get(enum type type, uint32_t *to, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        to[i] = 0;
        memcpy(&to[i], rig.npu.mem[0][NPU_MEM_UB] + AT_DST + i * type_bits(type) / 8,
               type_bits(type) / 8);
    }
}

/* The command on n elements, on every path; `dst` is what dst holds before. */
static bool run(const union cmd *cmd, enum type from, enum type to, const uint32_t *dst,
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
        rig_push(&rig, 0, PIPE_V, &m);
        rig_push(&rig, 0, PIPE_V, cmd);
        rig_drain(&rig);
        get(to, level == SIMD_PLAIN ? out : other, n);
        same &= level == SIMD_PLAIN || memcmp(out, other, n * sizeof(out[0])) == 0;
        same &= rig_error(&rig, 0, PIPE_V) == 0;
    }
    return same;
}

static union cmd vec1(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);

    c.vec1 = (struct cmd_vec1){c.head, AT_DST, AT_X, 0, 1, 1, 8, 8};
    return c;
}

static union cmd vec2(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);

    c.vec2 = (struct cmd_vec2){c.head, AT_DST, AT_X, AT_Y, 0, 1, 1, 1, 8, 8, 8};
    return c;
}

static union cmd conv(enum type from, enum type to, unsigned mode)
{
    unsigned a = type_bits(from), b = type_bits(to), wide = a > b ? a : b;
    union cmd c = rig_command(OP_VCONV, from);

    c.vec_conv = (struct cmd_vec_conv){c.head, AT_DST, AT_X, 0, 1, 1, (uint8_t)(8 * b / wide),
                                       (uint8_t)(8 * a / wide), (uint8_t)to, (uint8_t)mode};
    return c;
}

/* A number of the type: any bits, or one near those of the second kind. */
static uint32_t sample(enum type type, unsigned i)
{
    static const uint32_t special[] = {0,          0x80000000, 1,          0x80000001,
                                       0x7fffff,   0x800000,   0x7f7fffff, 0xff7fffff,
                                       0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                                       0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001,
                                       0x4b000000, 0x4effffff, 0x4f000000, 0xcf000000,
                                       0x477fe000, 0x477fefff, 0x477ff000, 0x33000000,
                                       0x33000001, 0x387fc000, 0x3f000000, 0x3fc00000,
                                       0x40200000, 0xbf000000, 0x46fffe00, 0x437f8000};
    uint32_t r = random32();

    if (type == TYPE_S32) {
        return (uint32_t)((int32_t)r >> (random32() % 32));
    }
    if (type != TYPE_F32) {
        return i % 8 ? r & 0xffff : (r & 0x83ff) | (random32() % 4 * 10 << 10);
    }
    switch (i % 4) {
    case 0:
        return r;
    case 1:
        return special[r % (sizeof(special) / sizeof(special[0]))];
    case 2: /* 2^-12 to 2^20 */
        return (r & 0x807fffff) | (115 + random32() % 32) << 23;
    default:
        return (r & 0x80ff0000) | (115 + random32() % 16) << 23;
    }
}

/* Numbers of the type in their order. */
static int64_t place(enum type type, uint32_t bits)
{
    uint32_t sign = 1u << (type_bits(type) - 1);

    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

/* `want` or, with a tolerance, a neighbour of it. */
static bool close(enum type type, uint32_t got, uint32_t want, unsigned tolerance)
{
    int64_t d = place(type, got) - place(type, want);
    unsigned distance = (unsigned)(d < 0 ? -d : d);

    worst = distance > worst ? distance : worst;
    return got == want || (want != 0 && got != 0 && distance <= tolerance);
}

/* --- functions of one number --- */

typedef int function(mpfr_t, const mpfr_t, mpfr_rnd_t);

static int reciprocal(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    return mpfr_ui_div(r, 1, a, mode);
}

/* MPFR has +infinity for -0. */
static int rsqrt(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    return mpfr_zero_p(a) ? mpfr_ui_div(r, 1, a, mode) : mpfr_rec_sqrt(r, a, mode);
}

static int relu(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    return mpfr_nan_p(a) || mpfr_sgn(a) > 0 ? mpfr_set(r, a, mode)
                                            : mpfr_set_ui(r, 0, mode);
}

static const struct {
    const char *name;
    enum op op;
    function *f;
    unsigned ulp; /* that fp32 may be away from the correctly rounded result */
} functions[] = {
    {"exp", OP_VEXP, mpfr_exp, 1},   {"ln", OP_VLN, mpfr_log, 1},
    {"sqrt", OP_VSQRT, mpfr_sqrt, 0}, {"rsqrt", OP_VRSQRT, rsqrt, 1},
    {"rec", OP_VREC, reciprocal, 0}, {"tanh", OP_VTANH, mpfr_tanh, 1},
    {"erf", OP_VERF, mpfr_erf, 1},   {"abs", OP_VABS, mpfr_abs, 0},
    {"neg", OP_VNEG, mpfr_neg, 0},   {"relu", OP_VRELU, relu, 0},
};

static void test_functions(enum type type, unsigned n)
{
    for (unsigned k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
        union cmd c = vec1(functions[k].op, type);
        unsigned bad = 0, first = 0, tolerance = type == TYPE_F32 ? functions[k].ulp : 0;
        bool same = true;
        worst = 0;
        for (unsigned i = 0; i < n; i += BATCH) {
            for (unsigned j = 0; j < BATCH; j++) {
                in[0][j] = type == TYPE_F16 ? i + j : sample(type, j);
            }
            same &= run(&c, type, type, in[2], BATCH);
            for (unsigned j = 0; j < BATCH; j++) {
                value(x, type, in[0][j]);
                mpfr_set_prec(v, 120);
                functions[k].f(v, x, MPFR_RNDN);
                if (!close(type, out[j], rounded_real(v, type, ROUND_RINT), tolerance)) {
                    first = bad++ ? first : in[0][j];
                }
            }
        }
        ok(bad == 0 && same, "numeric/%s_of_%s", functions[k].name,
           type == TYPE_F16 ? "f16_all" : "f32");
        tap_note("%u wrong, the first for %#x; at most %u ulp from the rounded result", bad,
                 first, worst);
    }
}

/* --- functions of two and three --- */

static void exact(enum op op)
{
    bool first;
    switch (op) {
    case OP_VADD:
    case OP_VADDRELU:
        mpfr_add(v, x, y, MPFR_RNDN);
        break;
    case OP_VSUB:
    case OP_VSUBRELU:
        mpfr_sub(v, x, y, MPFR_RNDN);
        break;
    case OP_VMUL:
    case OP_VDIV:
        (op == OP_VMUL ? mpfr_mul : mpfr_div)(v, x, y, MPFR_RNDN);
        break;
    case OP_VMLA:
        mpfr_fma(v, x, y, z, MPFR_RNDN);
        break;
    case OP_VMADD:
    case OP_VMADDRELU:
        mpfr_fma(v, x, z, y, MPFR_RNDN);
        break;
    default: /* VMAX, VMIN */
        first = mpfr_greater_p(x, y) || (mpfr_equal_p(x, y) && !mpfr_signbit(x));
        mpfr_set(v, first == (op == OP_VMAX) ? x : y, MPFR_RNDN);
        break;
    }
    if (mpfr_nan_p(x) || mpfr_nan_p(y)) {
        mpfr_set_nan(v);
    }
    if (op == OP_VADDRELU || op == OP_VSUBRELU || op == OP_VMADDRELU) {
        relu(v, v, MPFR_RNDN);
    }
}

static void test_pairs(enum type type, unsigned pairs)
{
    static const enum op ops[] = {OP_VADD,      OP_VSUB,   OP_VMUL,      OP_VDIV,
                                  OP_VMAX,      OP_VMIN,   OP_VADDRELU,  OP_VSUBRELU,
                                  OP_VMADD,     OP_VMLA,   OP_VMADDRELU};

    for (unsigned k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
        union cmd c = vec2(ops[k], type);
        bool same = true;
        unsigned bad = 0;
        for (unsigned i = 0; i < pairs; i += BATCH) {
            for (unsigned j = 0; j < BATCH; j++) {
                in[0][j] = sample(type, j);
                in[1][j] = sample(type, j / 4);
                in[2][j] = sample(type, j / 16);
            }
            same &= run(&c, type, type, in[2], BATCH);
            for (unsigned j = 0; j < BATCH; j++) {
                value(x, type, in[0][j]);
                value(y, type, in[1][j]);
                value(z, type, in[2][j]);
                mpfr_set_prec(v, ops[k] == OP_VDIV ? 120 : 800);
                exact(ops[k]);
                if (out[j] != rounded_real(v, type, ROUND_RINT) && bad++ == 0) {
                    tap_note("%#x %#x %#x: %#x", in[0][j], in[1][j], in[2][j], out[j]);
                }
            }
        }
        ok(bad == 0 && same, "numeric/%s_of_%s", cmd_find(ops[k])->name, type_name(type));
    }
}

/* F16 factors, F32 sum: one rounding. */
static void test_wide(void)
{
    union cmd c = vec2(OP_VMLA, TYPE_F16);
    unsigned bad = 0;
    bool same;

    c.head.flags = VMLA_WIDE;
    c.vec2.src0_rep = c.vec2.src1_rep = 4;
    for (unsigned j = 0; j < BATCH; j++) {
        in[0][j] = sample(TYPE_F16, j);
        in[1][j] = sample(TYPE_F16, j / 4);
        in[2][j] = sample(TYPE_F32, j);
    }
    same = run(&c, TYPE_F16, TYPE_F32, in[2], BATCH);
    for (unsigned j = 0; j < BATCH; j++) {
        value(x, TYPE_F16, in[0][j]);
        value(y, TYPE_F16, in[1][j]);
        value(z, TYPE_F32, in[2][j]);
        mpfr_set_prec(v, 800);
        mpfr_fma(v, x, y, z, MPFR_RNDN);
        bad += out[j] != rounded_real(v, TYPE_F32, ROUND_RINT);
    }
    ok(bad == 0 && same, "numeric/wide_multiply_add_rounds_once");
}

/* --- casts --- */

static uint32_t cast(enum type to, unsigned mode, bool whole)
{
    if (!is_real(to)) {
        return rounded_whole(x, to, mode);
    }
    if (whole && !mpfr_nan_p(x) && !mpfr_inf_p(x)) { /* F32 to F32: a whole number */
        int part, sign = mpfr_signbit(x);
        if (mpfr_cmpabs_ui(x, 1ul << 40) < 0) {
            uint64_t n = units(x, 0, &part);
            mpfr_set_ui(x, n + goes_up(mode, sign, n & 1, part), MPFR_RNDN);
            mpfr_setsign(x, x, sign, MPFR_RNDN);
        }
    }
    return rounded_real(x, to, mode);
}

static void test_casts(void)
{
    static const enum type pairs[][2] = {
#define CONV(FROM, TO) {TYPE_##FROM, TYPE_##TO},
#include "tools/emu/model/vec_ops.def"
    };

    for (unsigned k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        enum type from = pairs[k][0], to = pairs[k][1];
        unsigned all = type_bits(from) == 32 ? BATCH : 1u << type_bits(from);
        unsigned bad = 0, n = all < BATCH ? all : BATCH;
        bool same = true; /* where every number fits one mode will do; NONE is RINT */
        bool fits = to == TYPE_F32 && type_bits(from) < 32;
        for (unsigned mode = all > BATCH; mode <= (fits ? ROUND_RINT : ROUND_ODD); mode++) {
            union cmd c = conv(from, to, mode);
            for (unsigned i = 0; i < all; i += n) {
                for (unsigned j = 0; j < n; j++) {
                    in[0][j] = type_bits(from) == 32 ? sample(from, j) : i + j;
                }
                same &= run(&c, from, to, in[2], n);
                for (unsigned j = 0; j < n; j++) {
                    value(x, from, in[0][j]);
                    if (out[j] != cast(to, mode, k == 0) && bad++ == 0) {
                        tap_note("mode %u: %#x gives %#x", mode, in[0][j], out[j]);
                    }
                }
            }
        }
        ok(bad == 0 && same, "numeric/cast_%s_to_%s", type_name(from), type_name(to));
    }
}

int main(int argc, char **argv)
{
    unsigned pairs = argc > 1 ? (unsigned)atoi(argv[1]) : 8192;

    rig_open(&rig, 1, PROFILE_a2);
    mpfr_inits2(800, v, x, y, z, t, (mpfr_ptr)NULL);
    test_functions(TYPE_F16, 65536);
    test_functions(TYPE_F32, 16384);
    test_pairs(TYPE_F32, pairs);
    test_pairs(TYPE_F16, pairs);
    test_wide();
    test_casts();
    mpfr_clears(v, x, y, z, t, (mpfr_ptr)NULL);
    rig_close(&rig);
    return tap_done();
}
