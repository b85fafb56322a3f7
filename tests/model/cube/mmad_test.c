/* SPDX-License-Identifier: MIT
 *
 * MMAD as a command: layouts, flags, rules and costs on the bare model, and its numbers
 * against GNU MPFR. Every host path: cube_test.c.
 */
#include <string.h>

#include <mpfr.h>

#include "tests/host/data.h"
#include "tests/model/rules/rule.h"
#include "tests/test.h"

enum { BT_BYTES = 1024, L0_BYTES = 65536, NOISE = 0x5a };

static const struct {
    const char *name;
    enum type type;
    unsigned flags;
    unsigned bits;
    uint32_t poison; /* where nothing may look */
} kinds[] = {
    {"f16", TYPE_F16, 0, 16, 0x7e01},
    {"bf16", TYPE_BF16, 0, 16, 0x7fc1},
    {"f32", TYPE_F32, 0, 32, 0x7fc12345},
    {"hf32", TYPE_F32, MMAD_HF32, 32, 0x7fc12345},
    {"hf32_zero", TYPE_F32, MMAD_HF32 | MMAD_HF32_ZERO, 32, 0x7fc12345},
    {"s8", TYPE_S8, 0, 8, 0x55},
    {"s4", TYPE_S4, 0, 4, 0x5},
};
enum { F16, BF16, F32, HF32, HF32_ZERO, S8, S4, KINDS };

/* --- one MMAD and what it must give --- */

struct job {
    unsigned kind, m, n, k;
    unsigned flags; /* besides the kind's own */
    uint32_t dst, a, b, bias;
};

static uint32_t elem_a[1 << 17], elem_b[1 << 17], elem_c[1 << 14]; /* by rows */

/* Bit offset of a(r, x), b(x, c), and byte offset of c(r, c): as the page says. */
static unsigned k_blocks(const struct job *j)
{
    unsigned n = up(j->k, 256 / kinds[j->kind].bits);

    return j->flags & MMAD_K_ALIGN ? (n + 1) & ~1u : n;
}

static size_t a_bit(const struct job *j, unsigned r, unsigned x)
{
    unsigned bits = kinds[j->kind].bits, c0 = 256 / bits;

    if (j->flags & MMAD_GEMV) {
        return j->a * 8u + (size_t)x * bits;
    }
    return 8 * (j->a + (size_t)(r / 16 * k_blocks(j) + x / c0) * 512 + r % 16 * 32) +
           x % c0 * bits;
}

static size_t b_bit(const struct job *j, unsigned x, unsigned c)
{
    unsigned bits = kinds[j->kind].bits, c0 = 256 / bits;

    return 8 * (j->b + (size_t)(x / c0 * up(j->n, 16) + c / 16) * 512 + c % 16 * 32) +
           x % c0 * bits;
}

static size_t c_byte(const struct job *j, unsigned r, unsigned c)
{
    return j->dst + (size_t)(c / 16 * up(j->m, 16) + r / 16) * 1024 + r % 16 * 64 +
           c % 16 * 4;
}

static uint32_t random_element(unsigned kind)
{
    uint32_t f = rnd();

    switch (kind) {
    case F16: /* anything but infinity and NaN, which would hide the rest */
        return (f & 0x7c00) == 0x7c00 ? f & 0xbfff : f & 0xffff;
    case S8:
        return f & 0xff;
    case S4:
        return f & 15;
    default: /* fp32 and bf16: from subnormal products to overflow, mostly neither */
        f = (f & 0x807fffff) | (rnd() % 8 ? 112 + rnd() % 32 : 50 + rnd() % 150) << 23;
        f = kind >= HF32 && f & 1 ? (f & ~0xfffu) | 0x800 : f; /* a tie */
        return kind == BF16 ? f >> 16 : f;
    }
}

/* Operands, c and the bias in the memories of core 0; all else there is poison. */
static void fill(struct rig *r, const struct job *j)
{
    unsigned bits = kinds[j->kind].bits;
    uint8_t *const *mem = r->npu.mem[0];

    for (size_t i = 0; i < L0_BYTES * 8; i += bits) {
        element_put(mem[NPU_MEM_L0A], i / bits, bits, kinds[j->kind].poison);
        element_put(mem[NPU_MEM_L0B], i / bits, bits, kinds[j->kind].poison);
    }
    memset(mem[NPU_MEM_L0C], NOISE, L0_BYTES);
    memset(mem[NPU_MEM_BT], NOISE, BT_BYTES);
    for (unsigned x = 0; x < j->k; x++) {
        for (unsigned i = 0; i < j->m; i++) {
            uint32_t e = elem_a[i * j->k + x] = random_element(j->kind);
            element_put(mem[NPU_MEM_L0A], a_bit(j, i, x) / bits, bits, e);
        }
        for (unsigned i = 0; i < j->n; i++) {
            uint32_t e = elem_b[x * j->n + i] = random_element(j->kind);
            element_put(mem[NPU_MEM_L0B], b_bit(j, x, i) / bits, bits, e);
        }
    }
    for (unsigned i = 0; i < j->m * j->n; i++) {
        elem_c[i] = j->kind >= S8 ? rnd() : random_element(F32);
        if (j->flags & MMAD_BIAS && i >= j->n) {
            elem_c[i] = elem_c[i - j->n];
        }
        memcpy(mem[NPU_MEM_L0C] + c_byte(j, i / j->n, i % j->n), &elem_c[i], 4);
        if (j->flags & MMAD_BIAS) {
            memset(mem[NPU_MEM_L0C] + c_byte(j, i / j->n, i % j->n), NOISE, 4);
            memcpy(mem[NPU_MEM_BT] + j->bias + i % j->n * 4, &elem_c[i], 4);
        }
        elem_c[i] = j->flags & MMAD_INIT ? 0 : elem_c[i];
    }
}

static mpfr_t acc, fa, fb; /* with the range of fp32 while the test runs */
static mpfr_exp_t emin, emax;

/* A value of a kind; hf32 rounds here. */
static void set(mpfr_t to, unsigned kind, uint32_t e)
{
    int t;

    if (kind == F16) {
        int exp = (int)(e >> 10 & 31);
        int frac = (int)(e & 0x3ff) | (exp ? 0x400 : 0);
        mpfr_set_si_2exp(to, e & 0x8000 ? -frac : frac, (exp ? exp : 1) - 25, MPFR_RNDN);
        mpfr_setsign(to, to, (e & 0x8000) != 0, MPFR_RNDN);
    } else if (kind == HF32 || kind == HF32_ZERO) {
        mpfr_t h, x;
        mpfr_init2(h, 12);
        mpfr_init2(x, 25);
        mpfr_set_flt(x, float_of(e), MPFR_RNDN);
        if (kind == HF32_ZERO && mpfr_regular_p(x)) { /* a tie is a bit less */
            mpfr_sgn(x) > 0 ? mpfr_nextbelow(x) : mpfr_nextabove(x);
        }
        mpfr_set_emin(-136); /* 2^-137 */
        t = mpfr_set(h, x, MPFR_RNDN);
        mpfr_subnormalize(h, t, MPFR_RNDN);
        mpfr_set_emin(-148); /* 2^-149 */
        mpfr_set(to, h, MPFR_RNDN);
        mpfr_clears(h, x, (mpfr_ptr)NULL);
    } else {
        mpfr_set_flt(to, float_of(kind == BF16 ? e << 16 : e), MPFR_RNDN);
    }
}

static int integer(unsigned kind, uint32_t e)
{
    int half = kind == S8 ? 128 : 8;

    return ((int)e ^ half) - half;
}

static uint32_t want(const struct job *j, unsigned r, unsigned c)
{
    uint32_t sum = elem_c[r * j->n + c];

    if (j->kind >= S8) {
        for (unsigned x = 0; x < j->k; x++) {
            sum += (uint32_t)(integer(j->kind, elem_a[r * j->k + x]) *
                              integer(j->kind, elem_b[x * j->n + c]));
        }
        return sum;
    }
    mpfr_set_flt(acc, float_of(sum), MPFR_RNDN);
    for (unsigned x = 0; x < j->k; x++) {
        set(fa, j->kind, elem_a[r * j->k + x]);
        set(fb, j->kind, elem_b[x * j->n + c]);
        mpfr_subnormalize(acc, mpfr_fma(acc, fa, fb, acc, MPFR_RNDN), MPFR_RNDN);
    }
    return mpfr_nan_p(acc) ? 0x7fc00000 : bits_of(mpfr_get_flt(acc, MPFR_RNDN));
}

static void push(struct rig *r, const struct job *j)
{
    union cmd cmd = rig_command(OP_MMAD, kinds[j->kind].type);

    cmd.head.flags = (uint8_t)(j->flags | kinds[j->kind].flags);
    cmd.mmad.dst = j->dst;
    cmd.mmad.a = j->a;
    cmd.mmad.b = j->b;
    cmd.mmad.bias = j->bias;
    cmd.mmad.m = (uint16_t)j->m;
    cmd.mmad.n = (uint16_t)j->n;
    cmd.mmad.k = (uint16_t)j->k;
    rig_push(r, 0, PIPE_M, &cmd);
    rig_drain(r);
}

/* Runs it and compares all of the first 64 KiB of L0C. */
static bool check(const struct job *j)
{
    static uint32_t expected[L0_BYTES / 4];
    uint32_t outside = j->flags & (MMAD_INIT | MMAD_BIAS) ? 0 : 0x01010101u * NOISE;
    struct rig r;
    bool good;

    rig_open(&r, 1, PROFILE_a2);
    fill(&r, j);
    memset(expected, NOISE, sizeof(expected));
    for (unsigned row = 0; row < up(j->m, 16) * 16; row++) {
        for (unsigned c = 0; c < up(j->n, 16) * 16; c++) {
            bool inside = row < j->m && c < j->n;
            expected[c_byte(j, row, c) / 4] = inside ? want(j, row, c) : outside;
        }
    }
    push(&r, j);
    good = rig_error(&r, 0, PIPE_M) == 0 &&
           memcmp(r.npu.mem[0][NPU_MEM_L0C], expected, sizeof(expected)) == 0;
    for (unsigned i = 0; !good && i < L0_BYTES / 4; i++) {
        uint32_t got;
        memcpy(&got, r.npu.mem[0][NPU_MEM_L0C] + i * 4, 4);
        if (got != expected[i]) {
            test_note("%s %ux%ux%u error %u: word %u is %08x, want %08x",
                      kinds[j->kind].name, j->m, j->n, j->k, rig_error(&r, 0, PIPE_M), i,
                      got, expected[i]);
            break;
        }
    }
    rig_close(&r);
    return good;
}

static void mpfr_begin(void)
{
    mpfr_inits2(24, acc, fa, fb, (mpfr_ptr)NULL);
    emin = mpfr_get_emin();
    emax = mpfr_get_emax();
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
}

static void mpfr_end(void)
{
    mpfr_clears(acc, fa, fb, (mpfr_ptr)NULL);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    mpfr_free_cache();
}

static void test_kind(unsigned kind)
{
    const char *name = kinds[kind].name;
    const unsigned align = kind >= F32 && kind <= HF32_ZERO ? MMAD_K_ALIGN : 0;
    const struct job one = {.kind = kind, .m = 48, .n = 64, .k = 1};
    const struct job plain = {
        .kind = kind, .m = 33, .n = 18, .k = 37, .dst = 2048, .a = 512, .b = 1024};
    const struct job row = {.kind = kind, .m = 1, .n = 35, .k = 83};
    struct job j = one;
    bool good = true;

    for (unsigned i = 0; i < 4; i++) {
        good = check(&j) && good;
    }
    ok(good, "mmad/%s_one_step_matches_mpfr", name);
    ok(check(&plain), "mmad/%s_matches_mpfr", name);
    j = plain;
    j.flags = MMAD_INIT;
    ok(check(&j), "mmad/%s_from_zero", name);
    j.flags = MMAD_BIAS;
    j.bias = BT_BYTES - 128; /* room for 32, 18 are read */
    ok(check(&j), "mmad/%s_from_bias", name);
    j = row;
    good = check(&j);
    j.flags = MMAD_GEMV;
    j.a = L0_BYTES - 512; /* where the fractals of a would not fit */
    good = check(&j) && good;
    j.flags = MMAD_GEMV | MMAD_BIAS;
    ok(check(&j) && good, "mmad/%s_gemv_takes_a_plain_row", name);
    j.k = 512 * 8 / kinds[kind].bits; /* to the last byte of L0A, if B can hold it */
    ok(check(&j), "mmad/%s_gemv_ends_with_l0a", name);
    for (j = plain, j.k = 1; align && j.k < 40; j.k += 3) { /* both parities */
        j.flags = MMAD_K_ALIGN;
        good = check(&j) && good;
    }
    if (align) {
        ok(good, "mmad/%s_with_k_in_16s", name);
    }
}

TEST(mmad, against_mpfr)
{
    mpfr_begin();
    for (unsigned kind = 0; kind < KINDS; kind++) {
        test_kind(kind);
    }
    mpfr_end();
}

TEST(mmad, longest)
{
    struct job j = {.kind = S8, .m = 16, .n = 16, .k = 4095};
    bool good = check(&j);

    j.kind = S4;
    j.m = j.n = 32;
    j.k = 4000;
    ok(check(&j) && good, "mmad/longest_k");
}

/* --- rules and costs --- */

/* clang-format off */
static const struct rule rules[] = {
    {"type_s16", OP_MMAD, WRONG(head, type, TYPE_S16, TYPE), TYPE_F16},
    {"unknown_flag", OP_MMAD, WRONG(head, flags, 0x40, FLAGS), TYPE_F32},
    {"hf32_of_f16", OP_MMAD, WRONG(head, flags, MMAD_HF32, FLAGS), TYPE_F16},
    {"hf32_zero_without_hf32", OP_MMAD, WRONG(head, flags, MMAD_HF32_ZERO, FLAGS), TYPE_F32},
    {"hf32_of_s4", OP_MMAD, WRONG(head, flags, MMAD_HF32, FLAGS), TYPE_S4},
    {"k_align_of_bf16", OP_MMAD, WRONG(head, flags, MMAD_K_ALIGN, FLAGS), TYPE_BF16},
    {"init_and_bias", OP_MMAD, WRONG(head, flags, MMAD_INIT | MMAD_BIAS, RANGE), TYPE_F32},
    {"address_of_no_bias", OP_MMAD, WRONG(mmad, bias, 64, RESERVED), TYPE_F32},
    {"gemv_of_two_rows", OP_MMAD, WRONG(mmad, m, 2, RANGE), TYPE_F16, MMAD_GEMV},
    {"m_4096", OP_MMAD, WRONG(mmad, m, 4096, RANGE), TYPE_F16},
    {"n_4096", OP_MMAD, WRONG(mmad, n, 4096, RANGE), TYPE_F16},
    {"k_4096", OP_MMAD, WRONG(mmad, k, 4096, RANGE), TYPE_F16},
    {"unaligned_c", OP_MMAD, WRONG(mmad, dst, 512, ALIGN), TYPE_F32},
    {"unaligned_a", OP_MMAD, WRONG(mmad, a, 32, ALIGN), TYPE_F32, MMAD_GEMV},
    {"unaligned_b", OP_MMAD, WRONG(mmad, b, 256, ALIGN), TYPE_F32},
    {"unaligned_bias", OP_MMAD, WRONG(mmad, bias, 32, ALIGN), TYPE_F32, MMAD_BIAS},
    {"end_of_c", OP_MMAD, WRONG(mmad, dst, 131072, BOUNDS), TYPE_F32},
    {"end_of_a", OP_MMAD, WRONG(mmad, a, L0_BYTES - 512, BOUNDS), TYPE_F32},
    {"end_of_b", OP_MMAD, WRONG(mmad, b, L0_BYTES - 512, BOUNDS), TYPE_F32},
    {"end_of_bias", OP_MMAD, WRONG(mmad, bias, 1024, BOUNDS), TYPE_F32, MMAD_BIAS},
    {"end_of_k_in_16s", OP_MMAD, WRONG(mmad, a, L0_BYTES - 1536, BOUNDS), TYPE_F32, MMAD_K_ALIGN},
    {"end_of_row", OP_MMAD, WRONG(mmad, a, L0_BYTES, BOUNDS), TYPE_S4, MMAD_GEMV},
    {"byte_behind_the_operands", OP_MMAD, BEHIND(47), TYPE_F32},
};
/* clang-format on */

static union cmd one_row(const struct rule *rule)
{
    union cmd c = rig_command(OP_MMAD, rule->type);

    c.head.flags = (uint8_t)rule->flags;
    c.mmad.m = c.mmad.n = 1;
    c.mmad.k = 20; /* three fractals of fp32 */
    return c;
}

TEST(mmad, rules)
{
    check_rules("mmad/refuses_", rules, LENGTH(rules), one_row, NULL);
}

/* 17 x 33 x 65: 2 * 3 * ceil(65 / C0) fractals, a cycle each, two of fp32. */
TEST(mmad, costs)
{
    static const struct {
        unsigned kind, flags, cycles;
    } t[] = {
        {F16, 0, 6 * 5},  {BF16, 0, 6 * 5},        {S8, 0, 6 * 3},
        {S4, 0, 6 * 2},   {F32, 0, 6 * 9 * 2},     {F32, MMAD_K_ALIGN, 6 * 10 * 2},
        {HF32, 0, 6 * 9}, {F16, MMAD_BIAS, 6 * 5},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct job j = {
            .kind = t[i].kind, .m = 17, .n = 33, .k = 65, .flags = t[i].flags};
        uint64_t want_cycles = 62 + t[i].cycles; /* MMAD_FIRST */
        struct rig r;

        rig_open(&r, 1, PROFILE_a2);
        rig_to(&r, 1000);
        push(&r, &j);
        ok(r.now == 1000 + want_cycles && rig_error(&r, 0, PIPE_M) == 0,
           "mmad/cost_of_%s_flags_%u", kinds[t[i].kind].name, t[i].flags);
        rig_close(&r);
    }
}

TEST(mmad, nothing)
{
    bool good = true;

    for (unsigned i = 0; i < 3; i++) {
        struct job j = {.kind = F32,
                        .m = i != 0,
                        .n = i != 1,
                        .k = i != 2,
                        .flags = i ? MMAD_INIT : MMAD_BIAS};
        struct rig r;

        rig_open(&r, 1, PROFILE_a2);
        memset(r.npu.mem[0][NPU_MEM_L0C], NOISE, 1024);
        push(&r, &j);
        good = good && rig_error(&r, 0, PIPE_M) == 0 && r.now == 1 &&
               r.npu.mem[0][NPU_MEM_L0C][0] == NOISE;
        rig_close(&r);
    }
    ok(good, "mmad/nothing_to_do_writes_nothing");
}
