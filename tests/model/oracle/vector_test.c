/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Vector against GNU MPFR: exact values there, rounded here by the
 * definition of each mode. All 65,536 inputs of fp16 and bf16 for functions of one number
 * (of fp16 an eighth without --times) and casts, a fixed sample otherwise. Every path of
 * this host must give the same bits.
 * Scalars, integers and fused casts: scalar_test.c.
 */

#include "tests/model/oracle/oracle.h"

static unsigned worst; /* distance seen, in units of the last place */

/* Numbers of the type in their order. */
static int64_t place(enum type type, uint64_t bits)
{
    uint64_t sign = 1ull << (type_bits(type) - 1);

    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

/* `want` or, with a tolerance, a neighbour of it. */
static bool close(enum type type, uint64_t got, uint64_t want, unsigned tolerance)
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
    {"exp", OP_VEXP, mpfr_exp, 1},    {"ln", OP_VLN, mpfr_log, 1},
    {"sqrt", OP_VSQRT, mpfr_sqrt, 0}, {"rsqrt", OP_VRSQRT, rsqrt, 1},
    {"rec", OP_VREC, reciprocal, 0},  {"tanh", OP_VTANH, mpfr_tanh, 1},
    {"erf", OP_VERF, mpfr_erf, 1},    {"abs", OP_VABS, mpfr_abs, 0},
    {"neg", OP_VNEG, mpfr_neg, 0},    {"relu", OP_VRELU, relu, 0},
};

/* Of n values of F16, all there are, one in `step`: another one for each function. */
static void test_functions(enum type type, unsigned n, unsigned step)
{
    for (unsigned k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
        union cmd c = vec1(functions[k].op, type);
        unsigned bad = 0, tolerance = type == TYPE_F32 ? functions[k].ulp : 0;
        uint64_t first = 0;
        bool same = true;
        worst = 0;
        for (unsigned i = 0; i < n / step; i += BATCH) {
            for (unsigned j = 0; j < BATCH; j++) {
                in[0][j] = type == TYPE_F16 ? step * (i + j) + k % step : sample(type, j);
            }
            same &= run_everywhere(c, type, type, in[2], BATCH);
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
        test_note("%u wrong, the first for %#llx; at most %u ulp from the rounded result",
                  bad, (unsigned long long)first, worst);
    }
}

/* --- functions of two and three --- */

static void note(unsigned j)
{
    test_note("%#llx %#llx %#llx: %#llx", (unsigned long long)in[0][j],
              (unsigned long long)in[1][j], (unsigned long long)in[2][j],
              (unsigned long long)out[j]);
}

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
    case OP_VPRELU:
        if (mpfr_nan_p(x) || mpfr_sgn(x) >= 0) {
            mpfr_set(v, x, MPFR_RNDN);
            return;
        }
        mpfr_mul(v, x, y, MPFR_RNDN);
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
    static const enum op ops[] = {OP_VADD,  OP_VSUB, OP_VMUL,      OP_VDIV,
                                  OP_VMAX,  OP_VMIN, OP_VADDRELU,  OP_VSUBRELU,
                                  OP_VMADD, OP_VMLA, OP_VMADDRELU, OP_VPRELU};

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
            for (unsigned j = 0; i == 0 && j < CORNERS * CORNERS; j++) {
                in[0][j] = corner(type, j);
                in[1][j] = corner(type, j / CORNERS);
            }
            same &= run_everywhere(c, type, type, in[2], BATCH);
            for (unsigned j = 0; j < BATCH; j++) {
                value(x, type, in[0][j]);
                value(y, type, in[1][j]);
                value(z, type, in[2][j]);
                mpfr_set_prec(v, ops[k] == OP_VDIV ? 120 : 800);
                exact(ops[k]);
                if (out[j] != rounded_real(v, type, ROUND_RINT) && bad++ == 0) {
                    note(j);
                }
            }
        }
        ok(bad == 0 && same, "numeric/%s_of_%s", cmd_find(ops[k])->name, type_name(type));
    }
}

TEST(numeric, functions_of_f16)
{
    oracle_open();
    test_functions(TYPE_F16, 65536, test_times > 1 ? 1 : 8);
    oracle_close();
}

TEST(numeric, functions_of_f32)
{
    oracle_open();
    test_functions(TYPE_F32, 16384, 1);
    oracle_close();
}

TEST(numeric, pairs_of_f32)
{
    oracle_open();
    test_pairs(TYPE_F32, test_times * BATCH);
    oracle_close();
}

TEST(numeric, pairs_of_f16)
{
    oracle_open();
    test_pairs(TYPE_F16, test_times * BATCH);
    oracle_close();
}

/* F16 factors, F32 sum: one rounding. */
TEST(numeric, wide)
{
    union cmd c = vec2(OP_VMLA, TYPE_F16);
    unsigned bad = 0;
    bool same;

    oracle_open();
    c.head.flags = VMLA_WIDE;
    c.vec2.src0_rep = c.vec2.src1_rep = 4;
    for (unsigned j = 0; j < BATCH; j++) {
        in[0][j] = sample(TYPE_F16, j);
        in[1][j] = sample(TYPE_F16, j / 4);
        in[2][j] = sample(TYPE_F32, j);
    }
    same = run_everywhere(c, TYPE_F16, TYPE_F32, in[2], BATCH);
    for (unsigned j = 0; j < BATCH; j++) {
        value(x, TYPE_F16, in[0][j]);
        value(y, TYPE_F16, in[1][j]);
        value(z, TYPE_F32, in[2][j]);
        mpfr_set_prec(v, 800);
        mpfr_fma(v, x, y, z, MPFR_RNDN);
        bad += out[j] != rounded_real(v, TYPE_F32, ROUND_RINT);
    }
    ok(bad == 0 && same, "numeric/wide_multiply_add_rounds_once");
    oracle_close();
}

/* --- casts --- */

/* Of 16-bit numbers one in eight, another one for each mode; with --times all. */
TEST(numeric, casts)
{
    static const enum type pairs[][2] = {
#define CONV(FROM, TO, way) {TYPE_##FROM, TYPE_##TO},
#include "tools/emu/model/arith/vec_ops.def"
    };

    oracle_open();
    for (unsigned k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
        enum type from = pairs[k][0], to = pairs[k][1];
        unsigned all = type_bits(from) >= 32 ? BATCH : 1u << type_bits(from);
        unsigned bad = 0, n = all < BATCH ? all : BATCH;
        unsigned step = test_times == 1 && type_bits(from) == 16 ? 8 : 1;
        bool same = true; /* where every number fits one mode will do; NONE is RINT */
        bool fits = to == TYPE_F32 && type_bits(from) < 32;
        for (unsigned mode = all > BATCH; mode <= (fits ? ROUND_RINT : ROUND_ODD);
             mode++) {
            union cmd c = conv(from, to, mode);
            for (unsigned i = 0; i < all / step; i += n) {
                for (unsigned j = 0; j < n; j++) {
                    in[0][j] = type_bits(from) >= 32 ? sample(from, j)
                                                     : step * (i + j) + mode % step;
                }
                same &= run_everywhere(c, from, to, in[2], n);
                for (unsigned j = 0; j < n; j++) {
                    value(x, from, in[0][j]);
                    if (from == to) { /* F32 to F32 */
                        make_whole(x, mode);
                    }
                    if (out[j] != rounded(x, to, mode) && bad++ == 0) {
                        note(j);
                    }
                }
            }
        }
        ok(bad == 0 && same, "numeric/cast_%s_to_%s", type_name(from), type_name(to));
    }
    oracle_close();
}
