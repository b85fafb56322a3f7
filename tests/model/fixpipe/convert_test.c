/* SPDX-License-Identifier: MIT
 *
 * The fixpipe against a reference that shares nothing with it: one element at a time, in
 * double precision (in which every product is exact) with one cast to float per step.
 * All around a destination is compared, so what must not be touched is checked too.
 * Rules, registers, costs: tests/model/rules/fixpipe_test.c.
 */
#include <math.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

/* --- the reference --- */

enum to { TO_SAME, TO_F16, TO_BF16, TO_B8, TO_S16, TO_SHIFT, TO_S4 };

static const struct mode {
    const char *name;
    enum quant quant;
    enum type from;
    enum to to;
    bool scaled, channel;
} modes[] = {
    {"none_f32", QUANT_NONE, TYPE_F32, TO_SAME, false, false},
    {"none_s32", QUANT_NONE, TYPE_S32, TO_SAME, false, false},
    {"f322f16", QUANT_F322F16, TYPE_F32, TO_F16, false, false},
    {"f322bf16", QUANT_F322BF16, TYPE_F32, TO_BF16, false, false},
    {"deqf16", QUANT_DEQF16, TYPE_S32, TO_F16, true, false},
    {"vdeqf16", QUANT_VDEQF16, TYPE_S32, TO_F16, true, true},
    {"req8", QUANT_REQ8, TYPE_S32, TO_B8, true, false},
    {"vreq8", QUANT_VREQ8, TYPE_S32, TO_B8, true, true},
    {"qf322b8_pre", QUANT_QF322B8_PRE, TYPE_F32, TO_B8, true, false},
    {"vqf322b8_pre", QUANT_VQF322B8_PRE, TYPE_F32, TO_B8, true, true},
    {"deqs16", QUANT_DEQS16, TYPE_S32, TO_S16, true, false},
    {"vdeqs16", QUANT_VDEQS16, TYPE_S32, TO_S16, true, true},
    {"shifts322s16", QUANT_SHIFTS322S16, TYPE_S32, TO_SHIFT, true, false},
    {"vshifts322s16", QUANT_VSHIFTS322S16, TYPE_S32, TO_SHIFT, true, true},
    {"req4", QUANT_REQ4, TYPE_S32, TO_S4, true, false},
    {"vreq4", QUANT_VREQ4, TYPE_S32, TO_S4, true, true},
    {"qf322s4_pre", QUANT_QF322S4_PRE, TYPE_F32, TO_S4, true, false},
    {"vqf322s4_pre", QUANT_VQF322S4_PRE, TYPE_F32, TO_S4, true, true},
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

static const unsigned to_bits[] = {32, 16, 16, 8, 16, 16, 4};

struct setting {
    const struct mode *mode;
    unsigned relu;
    bool clip, offset_first;
    uint64_t word;
    float slope, limit;
};

static uint32_t ref_integer(const struct setting *s, float x, uint64_t word)
{
    bool is_signed = s->mode->to != TO_B8 || (word >> 46 & 1);
    double top = ldexp(1, (int)to_bits[s->mode->to] - (is_signed ? 1 : 0)) - 1;
    double low = is_signed ? -top - 1 : 0, y = isnan(x) ? 0 : rint((double)x);

    return (uint32_t)(int32_t)(y < low ? low : y > top ? top : y);
}

/* The nearer of the two bf16 numbers around x, the even one if they are as near. */
static uint32_t ref_bf16(float x)
{
    uint32_t down = bits_of(x) >> 16, up = down + 1;
    double a = float_of(down << 16), b = float_of(up << 16), d;

    if (isnan(x)) {
        return 0x7fc0;
    }
    if (isinf(x)) {
        return down;
    }
    b = isinf(b) ? copysign(ldexp(1, 128), b) : b;
    d = fabs((double)x - a) - fabs(b - (double)x);
    return d < 0 || (d == 0 && down % 2 == 0) ? down : up;
}

static uint32_t ref_f16(float x)
{
    _Float16 h = (_Float16)x;
    uint16_t bits;

    memcpy(&bits, &h, 2);
    return isnan(x) ? 0x7e00 : bits;
}

static uint32_t reference(const struct setting *s, uint32_t in, uint64_t word,
                          float slope)
{
    float x = s->mode->from == TYPE_F32 ? float_of(in) : (float)(double)(int32_t)in;
    unsigned offset = word >> 37 & 511;
    int add = 0;
    enum to to = s->mode->to;

    if (to == TO_SAME && s->mode->from == TYPE_S32) {
        return s->relu && (int32_t)in < 0 ? 0 : in;
    }
    if (to == TO_SAME && !s->relu && !s->clip) {
        return in;
    }
    if (to == TO_SHIFT) {
        x = (float)floor((double)(int32_t)in / ldexp(1, word >> 32 & 15));
    } else if (s->mode->scaled) {
        x = (float)((double)x * (double)float_of((uint32_t)word & 0xffffe000u));
        if (to == TO_B8 || to == TO_S16 || to == TO_S4) {
            add = offset < 256 ? (int)offset : (int)offset - 512;
        }
    }
    if (s->offset_first && add) {
        x = (float)((double)x + add);
    }
    if (s->relu == 1 && !isnan(x)) {
        x = x > 0 ? x : 0;
    } else if (s->relu > 1 && x < 0) {
        x = (float)((double)x * (double)(s->relu == 2 ? s->slope : slope));
    }
    if (s->clip && x > s->limit) {
        x = s->limit;
    }
    if (!s->offset_first && add) {
        x = (float)((double)x + add);
    }
    switch (to) {
    case TO_SAME:
        return isnan(x) ? 0x7fc00000 : bits_of(x);
    case TO_F16:
        return ref_f16(x);
    case TO_BF16:
        return ref_bf16(x);
    default:
        return ref_integer(s, x, word);
    }
}

/* --- inputs --- */

static uint32_t any_f32(void)
{
    static const uint32_t corners[] = {
        0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
        0x7f800001, 1,          0x80000001, 0x7f7fffff, 0x477fefff, 0x477ff000,
        0x33000000, 0x33000001, 0x33800000, 0x3f000000, 0x3fc00000, 0x40200000,
        0xbf000000, 0xbfc00000, 0x42ff0000, 0xc3008000, 0x437f8000, 0x7f7f8000,
    };

    switch (rnd() % 4) {
    case 0:
        return corners[rnd() % (sizeof(corners) / sizeof(corners[0]))];
    case 1:
        return (uint32_t)rnd();
    default:
        return bits_of((float)((int)(rnd() % 4001) - 2000) / 4); /* ties after scaling */
    }
}

static uint32_t any_s32(void)
{
    static const uint32_t corners[] = {0,          1,          0xffffffff, 0x7fffffff,
                                       0x80000000, 0x01000001, 0x01000003, 0xfefffffd,
                                       0x7fffff40, 0x7fffffc0, 255,        0xffffff80};

    switch (rnd() % 4) {
    case 0:
        return corners[rnd() % (sizeof(corners) / sizeof(corners[0]))];
    case 1:
        return (uint32_t)rnd();
    default:
        return (uint32_t)((int)(rnd() % 4001) - 2000);
    }
}

/* Scales of all sorts, most such that results are near the ends of the range. */
static uint64_t any_word(void)
{
    static const uint32_t scales[] = {0x3f800000, 0x3f000000, 0x3e000000, 0x3dcccccd,
                                      0xbf000000, 0x3a83126f, 0x40490fdb, 0x37800000};
    uint64_t word = rnd() % 8 ? scales[rnd() % 8] : rnd();

    if (rnd() % 16 == 0) {
        word = (uint32_t[]){0x7f800000, 0x7fc00000, 0, 0x00002000}[rnd() % 4];
    }
    return word | (uint64_t)(rnd() % 32) << 32 | (uint64_t)(rnd() % 512) << 37 |
           (uint64_t)(rnd() % 2) << 46;
}

/* --- a command and what it must do --- */

struct layout {
    enum op op;
    bool nz, split;
    unsigned m, n, mats;
    uint32_t src, src_stride, src_nd, dst, pitch, dst_nd; /* as in the command */
};

enum { FB_WORDS = 64, FB_SLOPES = 64 + 4096, GM_AT = 4096, COMPARED = 1 << 16 };

static uint8_t want[COMPARED];

static uint8_t *destination(const struct layout *l)
{
    return l->op == OP_FIX_L0C_GM   ? rig.gm
           : l->op == OP_FIX_L0C_UB ? mem(NPU_MEM_UB)
                                    : mem(NPU_MEM_L1);
}

/* Where element (i, row, col) goes, in bits. */
static uint64_t place(const struct layout *l, unsigned bits, unsigned i, unsigned row,
                      unsigned col)
{
    unsigned width = l->split ? 8 : bits < 16 ? 256 / bits : 16, in_row = width;
    uint64_t at = 8ull * l->dst;

    if (!l->nz) {
        return at + ((uint64_t)i * l->dst_nd + (uint64_t)row * l->pitch + col) * bits;
    }
    if (bits == 8 && col / 32 == l->n / 32) {
        in_row = 16; /* the odd block is not merged */
    }
    return at + (uint64_t)(col / width) * l->pitch * 256 +
           ((uint64_t)row * in_row + col % width) * bits;
}

static union cmd command(const struct layout *l, const struct setting *s)
{
    union cmd c = rig_command(l->op, s->mode->from);

    c.head.flags =
        (uint8_t)((l->nz ? FIX_L0C_GM_NZ : 0) | (l->split ? FIX_L0C_GM_SPLIT : 0) |
                  (s->clip ? FIX_L0C_GM_CLIP : 0) |
                  (s->offset_first ? FIX_L0C_GM_OFFSET_FIRST : 0));
    c.fix_gm.dst = l->dst + (l->op == OP_FIX_L0C_GM ? RIG_GM_BASE : 0);
    c.fix_gm.src = l->src;
    c.fix_gm.dst_pitch = l->pitch;
    c.fix_gm.m = (uint16_t)l->m;
    c.fix_gm.n = (uint16_t)l->n;
    c.fix_gm.src_c0_stride = (uint16_t)l->src_stride;
    c.fix_gm.quant = (uint8_t)s->mode->quant;
    c.fix_gm.relu = (uint8_t)s->relu;
    c.fix_gm.nd_num = (uint16_t)l->mats;
    c.fix_gm.src_nd_stride = (uint16_t)l->src_nd;
    c.fix_gm.dst_nd_stride = (uint16_t)l->dst_nd;
    c.fix_gm.fb_quant = FB_WORDS;
    c.fix_gm.fb_relu = FB_SLOPES;
    return c;
}

static void set_registers(const struct setting *s)
{
    union cmd quant = rig_command(OP_SET_QUANT, TYPE_NONE);
    union cmd relu = rig_command(OP_SET_RELU, TYPE_NONE);

    quant.set_quant.word = s->word;
    relu.set_relu.slope = bits_of(s->slope);
    relu.set_relu.clip = bits_of(s->limit);
    run(quant);
    run(relu);
}

static void set_want(const struct layout *l, const struct setting *s, unsigned i,
                     unsigned row, unsigned col)
{
    unsigned bits = to_bits[s->mode->to];
    uint64_t word = s->word, at = place(l, bits, i, row, col);
    size_t from = l->src + i * 1024ull * l->src_nd + col / 16 * 64ull * l->src_stride +
                  row * 64ull + col % 16 * 4;
    uint32_t value;

    if (s->mode->channel) {
        memcpy(&word, mem(NPU_MEM_FB) + FB_WORDS + 8 * col, 8);
    }
    value = reference(s, element_get(mem(NPU_MEM_L0C) + from, 0, 32), word,
                      float_of(element_get(mem(NPU_MEM_FB) + FB_SLOPES, col, 32)));
    if (bits == 4) {
        element_put(want, at / 4, 4, value);
    } else {
        memcpy(want + at / 8, &value, bits / 8);
    }
}

static void fill(const struct setting *s)
{
    uint8_t *fb = mem(NPU_MEM_FB), *l0c = mem(NPU_MEM_L0C);

    for (unsigned i = 0; i < 128; i++) {
        uint64_t word = any_word();
        float slope = i % 7 == 0 ? NAN : (float)((int)(rnd() % 33) - 16) / 8;
        memcpy(fb + FB_WORDS + 8 * i, &word, 8);
        memcpy(fb + FB_SLOPES + 4 * i, &slope, 4);
    }
    for (unsigned i = 0; i < 32768; i += 4) {
        uint32_t v = s->mode->from == TYPE_F32 ? any_f32() : any_s32();
        memcpy(l0c + i, &v, 4);
    }
}

static bool check(const struct layout *l, const struct setting *s)
{
    union cmd c = command(l, s);
    uint8_t *got = destination(l);
    unsigned error;

    fill(s);
    memset(got, 0xa5, COMPARED);
    memset(want, 0xa5, COMPARED);
    for (unsigned i = 0; i < l->mats; i++) {
        for (unsigned row = 0; row < l->m; row++) {
            for (unsigned col = 0; col < l->n; col++) {
                set_want(l, s, i, row, col);
            }
        }
    }
    set_registers(s);
    error = run(c);
    if (error == 0 && same(got, want, COMPARED)) {
        return true;
    }
    test_note("%s m %u n %u nz %d relu %u clip %d first %d, to %u: %s", s->mode->name, l->m,
              l->n, l->nz, s->relu, s->clip, s->offset_first, l->dst, npu_error_name(error));
    rig_write(&rig, 0, rig_pipe(PIPE_FIX, PIPE_CTRL), PIPE_CTRL_RESET);
    return false;
}

/* --- every mode --- */

static struct setting any_setting(const struct mode *mode)
{
    static const float limits[] = {6, 0.3f, 100, 1e30f, -3};
    bool whole = mode->quant == QUANT_NONE && mode->from == TYPE_S32;
    struct setting s = {.mode = mode, .word = any_word() & 0x7fffffffffff};

    s.relu = (unsigned)(rnd() % (whole ? 2 : 4));
    s.clip = !whole && rnd() % 3 == 0;
    s.offset_first = rnd() % 2;
    s.slope = (float)((int)(rnd() % 33) - 16) / 8;
    s.limit = limits[rnd() % 5];
    return s;
}

/* Rows; pitches with room between, in local memories in whole blocks. */
static struct layout any_rows(const struct mode *mode, enum op op)
{
    unsigned bits = to_bits[mode->to], unit = op == OP_FIX_L0C_GM ? 8 : 256;
    unsigned elems = unit <= bits ? 1 : unit / bits; /* in a unit */
    struct layout l = {.op = op, .mats = 1 + (unsigned)(rnd() % 3)};

    l.m = 1 + (unsigned)(rnd() % 20);
    l.n = 1 + (unsigned)(rnd() % 80);
    l.n += bits == 4 && l.n % 2;
    l.src = (uint32_t)(rnd() % 4) * 64;
    l.src_stride = l.m + (uint32_t)(rnd() % 3);
    l.src_nd = (uint32_t)(rnd() % 8);
    l.pitch = (l.n + elems - 1) / elems * elems + (uint32_t)(rnd() % 3) * elems;
    l.dst_nd = l.m * l.pitch + (uint32_t)(rnd() % 2) * elems;
    l.dst = GM_AT + (op == OP_FIX_L0C_GM ? 3 : 32);
    return l;
}

static struct layout any_nz(const struct mode *mode, enum op op)
{
    unsigned unit = mode->to == TO_S4 ? 64 : 16;
    struct layout l = {.op = op, .nz = true, .mats = 1};

    l.split = mode->quant == QUANT_NONE && mode->from == TYPE_F32 && rnd() % 2;
    unit = l.split ? 8 : unit;
    l.m = 1 + (unsigned)(rnd() % 35);
    l.n = unit * (1 + (unsigned)(rnd() % (unit == 64 ? 2 : 7)));
    l.src = (uint32_t)(rnd() % 4) * 64;
    l.src_stride = l.m + (uint32_t)(rnd() % 3);
    l.pitch = l.m * (mode->to == TO_SAME && !l.split ? 2 : 1) + (uint32_t)(rnd() % 3);
    l.dst = GM_AT + (op == OP_FIX_L0C_GM ? 5 : 64);
    return l;
}

TEST(fixpipe, modes)
{
    static const enum op ops[] = {OP_FIX_L0C_GM, OP_FIX_L0C_UB, OP_FIX_L0C_L1};
    static const char *const names[] = {"gm", "ub", "l1"};

    for (unsigned i = 0; i < MODES; i++) {
        for (unsigned o = 0; o < 3; o++) {
            bool rows = true, nz = true;
            for (unsigned n = 0; n < 8 * test_times; n++) {
                struct setting s = any_setting(&modes[i]);
                struct layout l = any_rows(&modes[i], ops[o]);
                rows = check(&l, &s) && rows;
                s = any_setting(&modes[i]);
                l = any_nz(&modes[i], ops[o]);
                nz = check(&l, &s) && nz;
            }
            ok(rows, "fixpipe/%s_rows_in_%s", modes[i].name, names[o]);
            ok(nz, "fixpipe/%s_fractals_in_%s", modes[i].name, names[o]);
        }
    }
}

/* Many values through one wide tile, each relu. */
TEST(fixpipe, numbers)
{
    for (unsigned i = 0; i < MODES; i++) {
        bool good = true;
        for (unsigned n = 0; n < 15 * test_times; n++) {
            struct setting s = any_setting(&modes[i]);
            struct layout l = {.op = OP_FIX_L0C_UB,
                               .m = 64,
                               .n = 128,
                               .mats = 1,
                               .src_stride = 64,
                               .pitch = 128};
            good = check(&l, &s) && good;
        }
        ok(good, "fixpipe/%s_numbers", modes[i].name);
    }
}
