/* SPDX-License-Identifier: MIT
 *
 * Numbers of the Vector, the rest of them: commands with a scalar, integers, commands
 * that end in a cast, scales. The oracle is GNU MPFR, for integers the exact result in 64
 * bits. Every path of this host must give the same bits.
 */
#include <string.h>

#include "tests/model/oracle/oracle.h"

enum { N = 2048, SCALARS = 16 };

static void note(unsigned j, uint64_t scalar, uint64_t want)
{
    test_note("%#llx %#llx %#llx, scalar %#llx: %#llx, want %#llx",
              (unsigned long long)in[0][j], (unsigned long long)in[1][j],
              (unsigned long long)in[2][j], (unsigned long long)scalar,
              (unsigned long long)out[j], (unsigned long long)want);
}

static void fill(enum type type, enum type dst)
{
    for (unsigned j = 0; j < N; j++) {
        in[0][j] = sample(type, j);
        in[1][j] = sample(type, j / 4);
        in[2][j] = sample(dst, j / 16);
    }
}

/* Numbers that fill() gave against `want`. */
static unsigned wrong(uint64_t (*want)(unsigned j, uint64_t scalar), uint64_t scalar)
{
    unsigned bad = 0;

    for (unsigned j = 0; j < N; j++) {
        if (out[j] != want(j, scalar) && bad++ == 0) {
            note(j, scalar, want(j, scalar));
        }
    }
    return bad;
}

/* --- floating numbers and a scalar --- */

static enum op op;
static enum type type, to;

static void greater_or_smaller(bool max)
{
    bool first = mpfr_greater_p(x, y) || (mpfr_equal_p(x, y) && !mpfr_signbit(x));

    if (mpfr_nan_p(x) || mpfr_nan_p(y)) {
        mpfr_set_nan(v);
    } else {
        mpfr_set(v, first == max ? x : y, MPFR_RNDN);
    }
}

static uint64_t real(unsigned j, uint64_t scalar)
{
    value(x, type, in[0][j]);
    value(y, type, scalar);
    value(z, to, in[2][j]);
    switch (op) {
    case OP_VADDS:
        mpfr_add(v, x, y, MPFR_RNDN);
        break;
    case OP_VMULS:
        mpfr_mul(v, x, y, MPFR_RNDN);
        break;
    case OP_VAXPY:
        mpfr_fma(v, x, y, z, MPFR_RNDN);
        break;
    case OP_VLRELU:
        if (mpfr_nan_p(x) || mpfr_sgn(x) >= 0) {
            mpfr_set(v, x, MPFR_RNDN);
        } else {
            mpfr_mul(v, x, y, MPFR_RNDN);
        }
        break;
    default:
        greater_or_smaller(op == OP_VMAXS);
        break;
    }
    return rounded(v, to, ROUND_RINT);
}

TEST(numeric, reals_and_a_scalar)
{
    static const enum op ops[] = {OP_VADDS, OP_VMULS,  OP_VMAXS,
                                  OP_VMINS, OP_VLRELU, OP_VAXPY};
    static const enum type types[][2] = {
        {TYPE_F32, TYPE_F32}, {TYPE_F16, TYPE_F16}, {TYPE_F16, TYPE_F32}};

    oracle_open();
    for (unsigned i = 0; i < 3 * 6; i++) {
        bool wide, same = true;
        unsigned bad = 0;
        op = ops[i % 6];
        type = types[i / 6][0];
        to = types[i / 6][1];
        wide = type != to;
        for (unsigned k = 0; k < SCALARS * test_times && (!wide || op == OP_VAXPY); k++) {
            uint64_t scalar = k % 2 ? sample(type, k) : corner(type, k / 2);
            union cmd c = vec1s(op, type, scalar);
            c.head.flags = wide ? VAXPY_WIDE : 0;
            c.vec1s.src_rep = wide ? 4 : 8;
            fill(type, to);
            same &= run_everywhere(c, type, to, in[2], N);
            bad += wrong(real, scalar);
        }
        if (!wide || op == OP_VAXPY) {
            ok(bad == 0 && same, "numeric/%s_of_%s%s", cmd_find(op)->name,
               type_name(type), wide ? "_wide" : "");
        }
    }
    oracle_close();
}

/* --- integers --- */

static unsigned flags;

static int64_t number(uint64_t bits)
{
    return type == TYPE_S16 ? (int16_t)bits : (int32_t)bits;
}

static int64_t shifted_right(uint64_t bits, uint64_t n)
{
    int64_t a = number(bits),
            unsigned_a = (int64_t)(bits & (type == TYPE_S16 ? 0xffff : UINT32_MAX));
    int64_t whole = flags & VSHR_LOGICAL ? unsigned_a : a;
    int64_t last = n && flags & VSHR_ROUND ? whole >> (n - 1) & 1 : 0;

    return (whole >> n) + last;
}

/* What is below the sign, times 2^n; a negative number stays one. */
static int64_t shifted_left(int64_t a, uint64_t n)
{
    int64_t span = type == TYPE_S16 ? 1 << 15 : INT64_C(1) << 31;
    uint64_t low = (uint64_t)(a < 0 ? a + span : a), product = low << n;

    return flags & VSHL_LOGICAL
               ? (int64_t)((uint64_t)a << n)
               : (int64_t)(product % (uint64_t)span) - (a < 0 ? span : 0);
}

static uint64_t whole(unsigned j, uint64_t scalar)
{
    bool one = op >= OP_VADDS && op <= OP_VSHR;
    int64_t a = number(in[0][j]), b = number(one ? scalar : in[1][j]), r = 0;

    switch (op) {
    case OP_VADD:
    case OP_VADDS:
        r = a + b;
        break;
    case OP_VSUB:
        r = a - b;
        break;
    case OP_VMUL:
    case OP_VMULS:
        r = a * b;
        break;
    case OP_VMAX:
    case OP_VMAXS:
        r = a > b ? a : b;
        break;
    case OP_VMIN:
    case OP_VMINS:
        r = a < b ? a : b;
        break;
    case OP_VADDRELU:
        r = number((uint64_t)(a + b)) > 0 ? a + b : 0;
        break;
    case OP_VSUBRELU:
        r = number((uint64_t)(a - b)) > 0 ? a - b : 0;
        break;
    case OP_VAND:
        r = a & b;
        break;
    case OP_VOR:
        r = a | b;
        break;
    case OP_VXOR:
        r = a ^ b;
        break;
    case OP_VNEG:
        r = -a;
        break;
    case OP_VNOT:
        r = ~a;
        break;
    case OP_VRELU:
        r = a > 0 ? a : 0;
        break;
    default:
        r = op == OP_VSHR ? shifted_right(in[0][j], scalar) : shifted_left(a, scalar);
        break;
    }
    return (uint64_t)r & (type == TYPE_S16 ? 0xffff : UINT32_MAX);
}

static union cmd command(uint64_t scalar)
{
    switch (op) {
    case OP_VNEG:
    case OP_VNOT:
    case OP_VRELU:
        return vec1(op, type);
    case OP_VADDS:
    case OP_VMULS:
    case OP_VMAXS:
    case OP_VMINS:
    case OP_VSHL:
    case OP_VSHR:
        return vec1s(op, type, scalar);
    default:
        return vec2(op, type);
    }
}

TEST(numeric, integers)
{
    static const enum op ops[] = {OP_VADD,     OP_VSUB,     OP_VMUL,  OP_VMAX,  OP_VMIN,
                                  OP_VADDRELU, OP_VSUBRELU, OP_VAND,  OP_VOR,   OP_VXOR,
                                  OP_VNEG,     OP_VNOT,     OP_VRELU, OP_VADDS, OP_VMULS,
                                  OP_VMAXS,    OP_VMINS,    OP_VSHL,  OP_VSHR};

    oracle_open();
    for (unsigned i = 0; i < 2 * sizeof(ops) / sizeof(ops[0]); i++) {
        unsigned bad = 0, rounds = SCALARS * test_times;
        bool same = true;
        op = ops[i / 2];
        type = i % 2 ? TYPE_S16 : TYPE_S32;
        if (!(cmd_find(op)->types & 1u << type)) {
            continue;
        }
        if (op == OP_VSHL || op == OP_VSHR) { /* each distance, each flag */
            rounds = (type_bits(type) + 1) * (op == OP_VSHR ? 4 : 2);
        }
        for (unsigned k = 0; k < rounds; k++) {
            bool shift = op == OP_VSHL || op == OP_VSHR;
            uint64_t scalar = shift ? k % (type_bits(type) + 1) : sample(type, k);
            union cmd c = command(scalar);
            flags = shift ? k / (type_bits(type) + 1) : 0;
            c.head.flags = (uint8_t)flags;
            fill(type, type);
            same &= run_everywhere(c, type, type, in[2], N);
            bad += wrong(whole, scalar);
        }
        ok(bad == 0 && same, "numeric/%s_of_%s", cmd_find(op)->name, type_name(type));
    }
    oracle_close();
}

/* --- commands that end in a cast --- */

static uint64_t then_cast(unsigned j, uint64_t scalar)
{
    uint64_t first;

    (void)scalar;
    value(x, type, in[0][j]);
    value(y, type, in[1][j]);
    (op == OP_VMULCONV       ? mpfr_mul
     : op == OP_VADDRELUCONV ? mpfr_add
                             : mpfr_sub)(v, x, y, MPFR_RNDN);
    if (type == TYPE_S16) {
        int64_t sum = mpfr_get_si(v, MPFR_RNDN);
        first = (uint16_t)sum;
    } else {
        first = rounded(v, type, ROUND_RINT);
    }
    value(x, type, first);
    if (op != OP_VMULCONV && !mpfr_nan_p(x) && mpfr_sgn(x) <= 0) {
        mpfr_set_ui(x, 0, MPFR_RNDN);
    }
    if (type == to) { /* F32 to F32 is the cast to a whole number */
        make_whole(x, ROUND_RINT);
    }
    return rounded(x, to, ROUND_RINT);
}

TEST(numeric, fused_casts)
{
    static const enum op ops[] = {OP_VADDRELUCONV, OP_VSUBRELUCONV, OP_VMULCONV};
    static const enum type pairs[][2] = {
#define CONV(FROM, TO, way) {TYPE_##FROM, TYPE_##TO},
#include "tools/emu/model/arith/vec_ops.def"
    };

    oracle_open();
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
            unsigned a, b, wide;
            union cmd c;
            bool same;
            op = ops[i];
            type = pairs[k][0];
            to = pairs[k][1];
            a = type_bits(type);
            b = type_bits(to);
            wide = a > b ? a : b;
            if (!(cmd_find(op)->types & 1u << type) || to == TYPE_S4) {
                continue;
            }
            c = rig_command(op, type);
            c.vec2c = (struct cmd_vec2c){c.head,
                                         AT_DST,
                                         AT_X,
                                         AT_Y,
                                         1,
                                         1,
                                         1,
                                         (uint8_t)(8 * b / wide),
                                         (uint8_t)(8 * a / wide),
                                         (uint8_t)(8 * a / wide),
                                         0,
                                         (uint8_t)to};
            fill(type, to);
            same = run_everywhere(c, type, to, in[2], N);
            ok(wrong(then_cast, 0) == 0 && same, "numeric/%s_of_%s_to_%s",
               cmd_find(op)->name, type_name(type), type_name(to));
        }
    }
    oracle_close();
}

/* --- S32 times a scale --- */

static unsigned mode;

static uint64_t scaled(unsigned j, uint64_t scale)
{
    uint64_t sum = op == OP_VCONV ? in[0][j] : (in[0][j] + in[1][j]) & UINT32_MAX;

    value(x, TYPE_S32, sum);
    value(y, TYPE_F16, scale);
    mpfr_mul(v, x, y, MPFR_RNDN);
    if (op == OP_VADDDEQRELU && !mpfr_nan_p(v) && mpfr_sgn(v) <= 0) {
        mpfr_set_ui(v, 0, MPFR_RNDN);
    }
    return rounded(v, TYPE_F16, mode);
}

TEST(numeric, scales)
{
    oracle_open();
    type = TYPE_S32;
    to = TYPE_F16;
    for (unsigned i = 0; i < 2; i++) {
        bool same = true;
        unsigned bad = 0;
        op = i ? OP_VCONV : OP_VADDDEQRELU;
        for (unsigned k = 0; k < SCALARS * test_times; k++) {
            uint64_t scale = k ? sample(TYPE_F16, k) : 0x3c00;
            union cmd set = rig_command(OP_SET_DEQSCALE, TYPE_F16), c;
            mode = i ? k % ROUND_COUNT : ROUND_RINT;
            c = i ? conv(type, to, mode) : vec2(op, type);
            c.vec2.dst_rep = i ? c.vec2.dst_rep : 4;
            set.set_deqscale.word = scale;
            if (k) { /* 1 after a reset */
                rig_push(&rig, 0, PIPE_V, &set);
            }
            fill(type, to);
            same &= run_everywhere(c, type, to, in[2], N);
            bad += wrong(scaled, scale);
        }
        rig_write(&rig, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
        ok(bad == 0 && same, "numeric/%s_scales", cmd_find(op)->name);
    }
    oracle_close();
}
