/* SPDX-License-Identifier: MIT
 *
 * Atomic writes to GM: every type and operation, corner values crossed with each other,
 * against arithmetic in double precision that is rounded once (integers: 64 bits), and
 * the rules. What lies around the destination must stay as it was.
 */
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { N = 4096, AT = 4099 }; /* an odd place in GM */

/* A float format: fraction bits, exponent bits. */
struct format {
    int frac, exp;
};

static double decode(struct format f, uint32_t bits)
{
    int bias = (1 << (f.exp - 1)) - 1;
    int e = (int)(bits >> f.frac) & ((1 << f.exp) - 1);
    uint32_t m = bits & ((1u << f.frac) - 1);
    double sign = bits >> (f.frac + f.exp) ? -1 : 1;

    if (e == (1 << f.exp) - 1) {
        return m ? NAN : sign * INFINITY;
    }
    return sign * (e ? ldexp(m + (double)(1u << f.frac), e - bias - f.frac)
                     : ldexp(m, 1 - bias - f.frac));
}

/* Rounded once to nearest even; NaN is canonical. */
static uint32_t encode(struct format f, double x)
{
    int bias = (1 << (f.exp - 1)) - 1, e;
    uint32_t inf = ((1u << f.exp) - 1) << f.frac;
    uint32_t sign = signbit(x) ? 1u << (f.frac + f.exp) : 0;
    double q;

    if (isnan(x)) {
        return inf | 1u << (f.frac - 1);
    }
    if (isinf(x)) {
        return sign | inf;
    }
    frexp(x, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    q = nearbyint(ldexp(fabs(x), f.frac - e)); /* the rest of the code counts up */
    q += x == 0 ? 0 : ldexp((double)(e + bias - 1), f.frac);
    return q >= inf ? sign | inf : sign | (uint32_t)q;
}

static struct format format_of(enum type type)
{
    return type == TYPE_F16 ? (struct format){10, 5}
                            : (struct format){type == TYPE_F32 ? 23 : 7, 8};
}

static double combine_float(double a, double b, unsigned op)
{
    if (op == ATOMIC_ADD) {
        return a + b;
    }
    if (isnan(a) || isnan(b)) {
        return NAN;
    }
    if (a == 0 && b == 0) { /* -0 is below +0 */
        return (op == ATOMIC_MAX) == (bool)signbit(a) ? b : a;
    }
    return op == ATOMIC_MAX ? fmax(a, b) : fmin(a, b);
}

static uint32_t expected(enum type type, unsigned op, uint32_t a, uint32_t b)
{
    unsigned bits = type_bits(type);
    int64_t x = (int64_t)((uint64_t)a << (64 - bits)) >> (64 - bits);
    int64_t y = (int64_t)((uint64_t)b << (64 - bits)) >> (64 - bits);

    if (type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16) {
        struct format f = format_of(type);
        return encode(f, combine_float(decode(f, a), decode(f, b), op));
    }
    x = op == ATOMIC_ADD ? x + y : (op == ATOMIC_MAX) == (x > y) ? x : y;
    return (uint32_t)x;
}

/* Corner values of the type, crossed; random ones behind them. */
static uint32_t value(enum type type, unsigned i)
{
    static const uint32_t f32[] = {0,          1,          0x7fffff,   0x800000,
                                   0x3f800000, 0x3f800001, 0x33800000, 0x7f7fffff,
                                   0x73000000, 0x7f800000, 0x7f800001, 0x7fc01234};
    static const uint32_t f16[] = {0,      1,      0x3ff,  0x400,  0x3c00, 0x3c01,
                                   0x1000, 0x7bff, 0x4c00, 0x7c00, 0x7c01, 0x7e12};
    static const uint32_t bf16[] = {0,      1,      0x7f,   0x80,   0x3f80, 0x3f81,
                                    0x3b80, 0x7f7f, 0x7b00, 0x7f80, 0x7f81, 0x7fc2};
    static const uint32_t s[] = {0,          1,          2,          5,
                                 0x7f,       0x3f,       0x7fff,     0x3fff,
                                 0x7fffffff, 0x3fffffff, 0x7ffffffe, 0x55555555};
    static const uint32_t *const lists[TYPE_COUNT] = {
        [TYPE_F32] = f32, [TYPE_F16] = f16, [TYPE_BF16] = bf16};
    const uint32_t *list = lists[type] ? lists[type] : s;
    uint32_t negative = i / 12 % 2 ? 1u << (type_bits(type) - 1) : 0;

    if (i < 24) {
        return list[i % 12] ^ negative;
    }
    return rnd();
}

static union cmd set_atomic(enum type type, unsigned op)
{
    union cmd c = rig_command(OP_SET_ATOMIC_MTE3, type);

    c.set_atomic.op = (uint8_t)op;
    return c;
}

static union cmd copy_out(enum op op, uint64_t gm, uint32_t src, uint32_t bytes)
{
    union cmd c = rig_command(op, TYPE_NONE);

    c.copy_out.dst = RIG_GM_BASE + gm;
    c.copy_out.src = src;
    c.copy_out.len_bytes = bytes;
    c.copy_out.n_blocks = 1;
    return c;
}

static bool check(enum type type, unsigned op, enum op copy)
{
    unsigned esize = type_bits(type) / 8;

    fresh();
    memset(rig.gm, 0xa5, AT + N * 4 + 16);
    for (unsigned i = 0; i < N; i++) {
        uint32_t a = value(type, i < 576 ? i / 24 : 24), b = value(type, i % 576 % 24);
        b = i < 576 ? b : value(type, 24);
        memcpy(rig.gm + AT + i * esize, &a, esize);
        memcpy(mem(copy == OP_COPY_UB_GM ? NPU_MEM_UB : NPU_MEM_L1) + 64 + i * esize, &b,
               esize);
    }
    uint8_t want[AT + N * 4 + 16];
    memcpy(want, rig.gm, sizeof(want));
    for (unsigned i = 0; i < N; i++) {
        uint32_t a = 0, b = 0;
        memcpy(&a, rig.gm + AT + i * esize, esize);
        memcpy(&b, mem(copy == OP_COPY_UB_GM ? NPU_MEM_UB : NPU_MEM_L1) + 64 + i * esize,
               esize);
        a = expected(type, op, a, b);
        memcpy(want + AT + i * esize, &a, esize);
    }
    run(set_atomic(type, op));
    return run(copy_out(copy, AT, 64, N * esize)) == 0 &&
           same(rig.gm, want, sizeof(want));
}

TEST(atomic, arithmetic)
{
    static const enum type types[] = {TYPE_F32, TYPE_F16, TYPE_BF16,
                                      TYPE_S32, TYPE_S16, TYPE_S8};
    static const char *const ops[] = {"", "add", "max", "min"};
    static const char *const names[] = {"f32", "f16", "bf16", "s32", "s16", "s8"};

    for (unsigned t = 0; t < 6; t++) {
        for (unsigned op = ATOMIC_ADD; op <= ATOMIC_MIN; op++) {
            ok(check(types[t], op, OP_COPY_UB_GM), "atomic/%s_%s", ops[op], names[t]);
        }
    }
    ok(check(TYPE_F32, ATOMIC_ADD, OP_COPY_L1_GM), "atomic/from_l1");
#if defined(__x86_64__)
    unsigned csr = _mm_getcsr();
    _mm_setcsr(csr | 0x8040 | 0x6000); /* flush to zero, round to zero */
    bool good = check(TYPE_S8, ATOMIC_ADD, OP_COPY_UB_GM);
    _mm_setcsr(csr);
    ok(good, "atomic/integers_whatever_the_host_s_rounding");
#endif
}

/* Sums of subnormals, with the host set to flush them. */
TEST(atomic, environment)
{
    uint32_t v = 3, got;

    memcpy(rig.gm, &v, 4);
    memcpy(mem(NPU_MEM_UB), &v, 4);
    run(set_atomic(TYPE_F32, ATOMIC_ADD));
#if defined(__x86_64__)
    unsigned csr = _mm_getcsr();
    _mm_setcsr(csr | 0x8040 | 0x6000);
    run(copy_out(OP_COPY_UB_GM, 0, 0, 4));
    _mm_setcsr(csr);
#else
    run(copy_out(OP_COPY_UB_GM, 0, 0, 4));
#endif
    memcpy(&got, rig.gm, 4);
    ok(got == 6, "atomic/keeps_subnormals_whatever_the_host_does");
}

/* Rows with gaps, and off again; a reset of the pipe is off too. */
TEST(atomic, rows)
{
    union cmd c = copy_out(OP_COPY_UB_GM, 0, 0, 4);
    int32_t v[16], one = 1;

    for (unsigned i = 0; i < 3; i++) {
        memcpy(mem(NPU_MEM_UB) + 64 * i, &one, 4);
    }
    for (unsigned i = 0; i < 16; i++) {
        v[i] = 100;
    }
    memcpy(rig.gm, v, sizeof(v));
    c.copy_out.n_blocks = 3;
    c.copy_out.dst_gap = 8;
    c.copy_out.src_gap = 1;
    run(set_atomic(TYPE_S32, ATOMIC_ADD));
    run(c);
    run(c);
    memcpy(v, rig.gm, sizeof(v));
    ok(v[0] == 102 && v[1] == 100 && v[2] == 100 && v[3] == 102 && v[6] == 102 &&
           v[9] == 100,
       "atomic/rows_with_gaps_twice");
    run(set_atomic(TYPE_NONE, ATOMIC_NONE));
    run(c);
    memcpy(v, rig.gm, sizeof(v));
    ok(v[0] == 1 && v[3] == 1, "atomic/none_stores_again");
    run(set_atomic(TYPE_S32, ATOMIC_ADD));
    rig_write(&rig, 0, rig_pipe(PIPE_MTE3, PIPE_CTRL), PIPE_CTRL_RESET);
    run(c);
    memcpy(v, rig.gm, sizeof(v));
    ok(v[0] == 1, "atomic/a_reset_of_the_pipe_switches_off");
}

/* What the fixpipe writes to UB replaces what is there. */
TEST(atomic, local)
{
    union cmd set = rig_command(OP_SET_ATOMIC_FIX, TYPE_F32),
              c = rig_command(OP_FIX_L0C_UB, TYPE_F32);
    float one = 1, got;

    set.set_atomic.op = ATOMIC_ADD;
    c.fix_gm.m = c.fix_gm.n = c.fix_gm.nd_num = 1;
    memcpy(mem(NPU_MEM_L0C), &one, 4);
    memcpy(mem(NPU_MEM_UB), &one, 4);
    run(set);
    run(c);
    memcpy(&got, mem(NPU_MEM_UB), 4);
    ok(got == 1, "atomic/is_for_gm_only");
}

/* Two cores on the same bytes: each adds to what is there when it ends. */
TEST(atomic, cores)
{
    struct rig r;
    union cmd set = set_atomic(TYPE_F32, ATOMIC_ADD);
    union cmd c = copy_out(OP_COPY_UB_GM, 0, 0, 4);
    float one = 1, sum;

    rig_open(&r, 2, PROFILE_a2);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(r.npu.mem[i][NPU_MEM_UB], &one, 4);
        rig_push(&r, i, PIPE_MTE3, &set);
        rig_push(&r, i, PIPE_MTE3, &c);
    }
    rig_drain(&r);
    memcpy(&sum, r.gm, 4);
    ok(sum == 2, "atomic/two_cores_that_end_in_the_same_cycle_both_count");
    rig_close(&r);
}

TEST(atomic, rules)
{
    run(set_atomic(TYPE_S32, ATOMIC_ADD));
    memset(mem(NPU_MEM_UB), 1, 64);
    ok(refused(copy_out(OP_COPY_UB_GM, 0, 0, 6), NPU_ERR_ALIGN,
               offsetof(struct cmd_copy_out, len_bytes)) &&
           rig.gm[0] == 0,
       "atomic/refuses_a_length_of_one_and_a_half_elements");
    rig_write(&rig, 0, rig_pipe(PIPE_MTE3, PIPE_CTRL), PIPE_CTRL_RESET);
    run(copy_out(OP_COPY_UB_GM, 0, 0, 6));
    ok(rig_error(&rig, 0, PIPE_MTE3) == 0, "atomic/any_length_without");
    run(set_atomic(TYPE_S32, 4));
    ok(rig_error(&rig, 0, PIPE_MTE3) == NPU_ERR_RANGE,
       "atomic/refuses_an_operation_of_4");
    rig_write(&rig, 0, rig_pipe(PIPE_MTE3, PIPE_CTRL), PIPE_CTRL_RESET);
    run(set_atomic(TYPE_NONE, ATOMIC_MAX));
    ok(rig_error(&rig, 0, PIPE_MTE3) == NPU_ERR_TYPE, "atomic/refuses_max_of_no_type");
    rig_write(&rig, 0, rig_pipe(PIPE_MTE3, PIPE_CTRL), PIPE_CTRL_RESET);
    run(set_atomic(TYPE_U8, ATOMIC_ADD));
    ok(rig_error(&rig, 0, PIPE_MTE3) == NPU_ERR_TYPE, "atomic/refuses_unsigned_bytes");
}
