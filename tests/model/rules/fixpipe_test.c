/* SPDX-License-Identifier: MIT
 *
 * The fixpipe's rules, registers and costs, single values written down by hand, and what
 * is not a conversion. Every mode in every layout: fixpipe_test.c.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { ONE = 0x3f800000 }; /* fp32 */

static union cmd tile(enum op op, enum type type, unsigned m, unsigned n,
                      enum quant quant)
{
    union cmd c = rig_command(op, type);

    c.fix_gm.dst = op == OP_FIX_L0C_GM ? RIG_GM_BASE : 0;
    c.fix_gm.dst_pitch = 64;
    c.fix_gm.m = (uint16_t)m;
    c.fix_gm.n = (uint16_t)n;
    c.fix_gm.src_c0_stride = (uint16_t)m;
    c.fix_gm.quant = (uint8_t)quant;
    c.fix_gm.nd_num = 1;
    return c;
}

static void set_quant(uint64_t word)
{
    union cmd c = rig_command(OP_SET_QUANT, TYPE_NONE);

    c.set_quant.word = word;
    run(c);
}

/* --- values --- */

TEST(fixpipe, known)
{
    static const struct {
        const char *name;
        enum quant quant;
        enum type from;
        uint32_t in;
        uint64_t word;
        unsigned flags, relu;
        uint32_t out, mask;
    } known[] = {
        /* clang-format off */
        {"half_rounds_to_even", QUANT_QF322B8_PRE, TYPE_F32, 0x40200000, ONE, 0, 0, 2, 255},
        {"s8_saturates_above", QUANT_REQ8, TYPE_S32, 128, ONE | 1ull << 46, 0, 0, 127, 255},
        {"s8_saturates_below", QUANT_REQ8, TYPE_S32, -200u, ONE | 1ull << 46, 0, 0, 128, 255},
        {"u8_saturates_above", QUANT_REQ8, TYPE_S32, 300, ONE, 0, 0, 255, 255},
        {"u8_saturates_below", QUANT_REQ8, TYPE_S32, -1u, ONE, 0, 0, 0, 255},
        {"offset_is_signed", QUANT_REQ8, TYPE_S32, 10, ONE | 509ull << 37, 0, 0, 7, 255},
        {"relu_is_at_the_zero_point", QUANT_REQ8, TYPE_S32,
         -4u, ONE | 2ull << 37 | 1ull << 46, 0, 1, 2, 255},
        {"relu_is_at_a_negative_zero_point", QUANT_REQ8, TYPE_S32,
         -4u, ONE | 384ull << 37 | 1ull << 46, 0, 1, 128, 255},
        {"relu_follows_the_offset", QUANT_REQ8, TYPE_S32,
         -4u, ONE | 2ull << 37 | 1ull << 46, FIX_L0C_GM_OFFSET_FIRST, 1, 0, 255},
        {"nan_becomes_0", QUANT_QF322B8_PRE, TYPE_F32, 0x7fc00000, ONE | 9ull << 37, 0, 0, 0, 255},
        {"infinity_saturates", QUANT_QF322S4_PRE, TYPE_F32, 0x7f800000, ONE, 0, 0, 7, 15},
        {"scale_ignores_bits_below_13", QUANT_DEQF16, TYPE_S32,
         1, 0x3f801fff, 0, 0, 0x3c00, 0xffff},
        {"integers_round_to_even_in_fp32", QUANT_DEQF16, TYPE_S32,
         16777217, 0x33800000, 0, 0, 0x3c00, 0xffff},
        {"fp16_overflow_is_infinity", QUANT_DEQF16, TYPE_S32, 65520, ONE, 0, 0, 0x7c00, 0xffff},
        {"shift_is_a_floor", QUANT_SHIFTS322S16, TYPE_S32, -5u, 1ull << 32, 0, 0, 0xfffd, 0xffff},
        {"relu_gives_positive_0", QUANT_NONE, TYPE_F32, 0x80000000, 0, 0, 1, 0, 0xffffffff},
        {"relu_keeps_nan", QUANT_NONE, TYPE_F32, 0xffc12345, 0, 0, 1, 0x7fc00000, 0xffffffff},
        {"nothing_keeps_the_bits_of_nan", QUANT_NONE, TYPE_F32,
         0xffc12345, 0, 0, 0, 0xffc12345, 0xffffffff},
        /* clang-format on */
    };

    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        union cmd c = tile(OP_FIX_L0C_UB, known[i].from, 1, 2, known[i].quant);
        uint32_t got;
        c.head.flags = (uint8_t)known[i].flags;
        c.fix_gm.relu = (uint8_t)known[i].relu;
        memcpy(mem(NPU_MEM_L0C), &known[i].in, 4);
        set_quant(known[i].word);
        run(c);
        memcpy(&got, mem(NPU_MEM_UB), 4);
        if (!ok((got & known[i].mask) == known[i].out, "fixpipe/%s", known[i].name)) {
            test_note("%x, want %x", got & known[i].mask, known[i].out);
        }
    }
}

/* --- L1 to FB, registers, costs --- */

TEST(fixpipe, l1_fb)
{
    uint8_t *l1 = mem(NPU_MEM_L1), *fb = mem(NPU_MEM_FB), all[7168];
    union cmd c = rig_command(OP_COPY_L1_FB, TYPE_NONE);

    for (unsigned i = 0; i < 8192; i++) {
        l1[i] = (uint8_t)(i * 37 >> 3);
    }
    memset(fb, 0xa5, sizeof(all));
    memset(all, 0xa5, sizeof(all));
    c.l1_fb.dst = 128;
    c.l1_fb.src = 96;
    c.l1_fb.len_bytes = 64;
    c.l1_fb.n_blocks = 3;
    c.l1_fb.src_gap = 1;
    c.l1_fb.dst_gap = 2;
    for (unsigned i = 0; i < 3; i++) {
        memcpy(all + 128 + i * 192, l1 + 96 + i * 96, 64);
    }
    run(c);
    ok(memcmp(fb, all, sizeof(all)) == 0, "fixpipe/l1_to_fb_in_blocks");
    c.l1_fb.n_blocks = 1;
    c.l1_fb.len_bytes = 1024;
    ok(cycles_of(c) == 46, "fixpipe/l1_to_fb_of_1_KiB_takes_46_cycles");
}

static uint64_t cycles(enum op op, unsigned size)
{
    return cycles_of(tile(op, TYPE_F32, size, size, QUANT_NONE));
}

TEST(fixpipe, costs)
{
    rig_prices(TIMING_v1);
    ok(cycles(OP_FIX_L0C_GM, 64) == 16384 / 117 + 1, "fixpipe/cost_to_gm");
    ok(cycles(OP_FIX_L0C_GM, 16) == 82, "fixpipe/least_cost_to_gm");
    ok(cycles(OP_FIX_L0C_UB, 64) == 30 + 128, "fixpipe/cost_to_ub");
    ok(cycles(OP_FIX_L0C_L1, 64) == 30 + 128, "fixpipe/cost_to_l1");
}

/* Reset clears the registers: a scale of 0. */
TEST(fixpipe, reset)
{
    union cmd c = tile(OP_FIX_L0C_UB, TYPE_S32, 1, 1, QUANT_REQ8);
    uint32_t in = 77;

    memcpy(mem(NPU_MEM_L0C), &in, 4);
    set_quant(ONE);
    run(c);
    mem(NPU_MEM_UB)[0] = 1;
    run(c);
    ok(mem(NPU_MEM_UB)[0] == 77, "fixpipe/word_stays_until_it_is_set_again");
    rig_write(&rig, 0, rig_pipe(PIPE_FIX, PIPE_CTRL), PIPE_CTRL_RESET);
    run(c);
    ok(mem(NPU_MEM_UB)[0] == 0, "fixpipe/reset_clears_the_registers");
}

/* An odd tile of 8 bits is stored in two parts: both are added to GM, and what lies
 * between them stays. */
TEST(fixpipe, atomic)
{
    static uint8_t want[4096];
    union cmd atomic = rig_command(OP_SET_ATOMIC_FIX, TYPE_S8);
    union cmd c = tile(OP_FIX_L0C_GM, TYPE_S32, 3, 48, QUANT_REQ8);

    atomic.set_atomic.op = ATOMIC_ADD;
    c.head.flags = FIX_L0C_GM_NZ;
    c.fix_gm.dst_pitch = 4;
    memset(rig.gm, 5, sizeof(want));
    memset(want, 5, sizeof(want));
    for (uint32_t i = 0; i < 144; i++) { /* in L0C: block, row, column */
        uint32_t v = i % 100, row = i / 16 % 3;
        memcpy(mem(NPU_MEM_L0C) + 4 * i, &v, 4);
        want[i < 96 ? row * 32 + i / 48 * 16 + i % 16 : 128 + row * 16 + i % 16] +=
            (uint8_t)v;
    }
    set_quant(ONE | QUANT_PRE_SIGN);
    run(atomic);
    run(c);
    ok(memcmp(rig.gm, want, sizeof(want)) == 0, "fixpipe/atomic_addition_of_an_odd_tile");
    atomic.head.type = TYPE_F16;
    c.head.flags = 0;
    c.fix_gm.n = 13;
    c.fix_gm.dst_pitch = 13;
    run(atomic);
    run(c);
    ok(rig_error(&rig, 0, PIPE_FIX) == NPU_ERR_ALIGN,
       "fixpipe/atomic_rows_are_whole_elements");
    rig_write(&rig, 0, rig_pipe(PIPE_FIX, PIPE_CTRL), PIPE_CTRL_RESET);
}

/* Nothing to do: no effect and no fault, wherever the parameters would be. */
TEST(fixpipe, nothing)
{
    bool good = true;

    for (unsigned i = 0; i < 6; i++) {
        union cmd c = tile(OP_FIX_L0C_UB, TYPE_S32, i % 3 == 0 ? 0 : 16,
                           i % 3 == 1 ? 0 : 16, QUANT_VREQ8);
        c.head.flags = i / 3 ? FIX_L0C_GM_NZ : 0;
        c.fix_gm.relu = FIX_RELU_CHANNEL;
        c.fix_gm.nd_num = i % 3 != 2;
        c.fix_gm.fb_quant = c.fix_gm.fb_relu = 65472;
        memset(mem(NPU_MEM_UB), 0xa5, 4096);
        run(c);
        good = good && rig_error(&rig, 0, PIPE_FIX) == 0;
        for (unsigned at = 0; at < 4096; at++) {
            good = good && mem(NPU_MEM_UB)[at] == 0xa5;
        }
    }
    ok(good, "fixpipe/nothing_to_do");
}

/* --- rules --- */

struct rule {
    const char *name;
    enum op op;
    enum quant quant;
    enum type type;
    unsigned flags, mats, relu;
    unsigned offset, size; /* of the field that is set to */
    uint64_t value;
    unsigned code, field; /* that must be reported */
};

#define SET(name) MEMBER(fix_gm, name)
#define AT(name)  offsetof(struct cmd_fix_gm, name)
#define NOTHING   SET(relu), 0
#define FLAGS_AT  offsetof(struct cmd_head, flags)
#define GM        OP_FIX_L0C_GM
#define UB        OP_FIX_L0C_UB
#define L1        OP_FIX_L0C_L1
#define Q(name)   QUANT_##name
#define NZ        FIX_L0C_GM_NZ
#define SPLIT     FIX_L0C_GM_SPLIT
#define CLIP      FIX_L0C_GM_CLIP
#define ERR(name) NPU_ERR_##name

/* clang-format off */
static const struct rule rules[] = {
    {"type", GM, Q(NONE), TYPE_F16, 0, 1, 0, NOTHING, ERR(TYPE), 2},
    {"quant_of_the_other_type", UB, Q(REQ8), TYPE_F32, 0, 1, 0, NOTHING, ERR(TYPE), AT(quant)},
    {"quant_of_fp32_on_integers", L1, Q(QF322B8_PRE), TYPE_S32, 0, 1, 0,
     NOTHING, ERR(TYPE), AT(quant)},
    {"quant_that_does_not_exist", GM, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(quant), 17, ERR(RANGE), AT(quant)},
    {"relu_that_does_not_exist", GM, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(relu), 4, ERR(RANGE), AT(relu)},
    {"leaky_relu_of_integers", GM, Q(NONE), TYPE_S32, 0, 1, 0, SET(relu), 2, ERR(TYPE), AT(relu)},
    {"clip_of_integers", GM, Q(NONE), TYPE_S32, CLIP, 1, 0, NOTHING, ERR(FLAGS), FLAGS_AT},
    {"unknown_flag", GM, Q(NONE), TYPE_F32, 64, 1, 0, NOTHING, ERR(FLAGS), FLAGS_AT},
    {"split_without_nz", GM, Q(NONE), TYPE_F32, SPLIT, 1, 0, NOTHING, ERR(FLAGS), FLAGS_AT},
    {"split_of_integers", GM, Q(NONE), TYPE_S32, NZ | SPLIT, 1, 0, NOTHING, ERR(FLAGS), FLAGS_AT},
    {"split_of_fp16", GM, Q(F322F16), TYPE_F32, NZ | SPLIT, 1, 0, NOTHING, ERR(FLAGS), FLAGS_AT},
    {"nz_columns", L1, Q(F322F16), TYPE_F32, NZ, 1, 0, SET(n), 24, ERR(ALIGN), AT(n)},
    {"split_columns", L1, Q(NONE), TYPE_F32, NZ | SPLIT, 1, 0, SET(n), 12, ERR(ALIGN), AT(n)},
    {"nz_columns_of_s4", L1, Q(REQ4), TYPE_S32, NZ, 1, 0, SET(n), 96, ERR(ALIGN), AT(n)},
    {"nz_of_two_matrices", L1, Q(NONE), TYPE_F32, NZ, 2, 0, NOTHING, ERR(RANGE), AT(nd_num)},
    {"rows_above_8192", GM, Q(NONE), TYPE_F32, 0, 1, 0, SET(m), 8193, ERR(RANGE), AT(m)},
    {"columns_above_4095", GM, Q(NONE), TYPE_F32, 0, 1, 0, SET(n), 4096, ERR(RANGE), AT(n)},
    {"source_nd_stride_above_512", GM, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(src_nd_stride), 513, ERR(RANGE), AT(src_nd_stride)},
    {"odd_columns_of_s4", GM, Q(REQ4), TYPE_S32, 0, 1, 0, SET(n), 5, ERR(ALIGN), AT(n)},
    {"odd_pitch_of_s4", GM, Q(REQ4), TYPE_S32, 0, 1, 0,
     SET(dst_pitch), 33, ERR(ALIGN), AT(dst_pitch)},
    {"odd_matrix_stride_of_s4", GM, Q(REQ4), TYPE_S32, 0, 2, 0,
     SET(dst_nd_stride), 4097, ERR(ALIGN), AT(dst_nd_stride)},
    {"pitch_in_ub", UB, Q(F322F16), TYPE_F32, 0, 1, 0,
     SET(dst_pitch), 40, ERR(ALIGN), AT(dst_pitch)},
    {"matrix_stride_in_l1", L1, Q(F322F16), TYPE_F32, 0, 2, 0,
     SET(dst_nd_stride), 4104, ERR(ALIGN), AT(dst_nd_stride)},
    {"source_alignment", GM, Q(NONE), TYPE_F32, 0, 1, 0, SET(src), 32, ERR(ALIGN), AT(src)},
    {"destination_alignment", UB, Q(NONE), TYPE_F32, 0, 1, 0, SET(dst), 16, ERR(ALIGN), AT(dst)},
    {"destination_above_32_bits", UB, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(dst), 1ull << 32, ERR(RANGE), AT(dst)},
    {"words_alignment", UB, Q(VREQ8), TYPE_S32, 0, 1, 0,
     SET(fb_quant), 32, ERR(ALIGN), AT(fb_quant)},
    {"slopes_alignment", UB, Q(NONE), TYPE_F32, 0, 1, 0, SET(fb_relu), 8, ERR(ALIGN), AT(fb_relu)},
    {"end_beyond_l0c", UB, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(src), 131072 - 1024, ERR(BOUNDS), AT(src)},
    {"matrices_beyond_l0c", GM, Q(NONE), TYPE_F32, 0, 300, 0,
     SET(src_nd_stride), 512, ERR(BOUNDS), AT(src)},
    {"end_beyond_ub", UB, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(dst), 196608 - 1024, ERR(BOUNDS), AT(dst)},
    {"end_beyond_l1", L1, Q(NONE), TYPE_F32, NZ, 1, 0,
     SET(dst), 524288 - 1024, ERR(BOUNDS), AT(dst)},
    {"end_beyond_gm", GM, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(dst), RIG_GM_BASE + RIG_GM_BYTES - 8, ERR(GM), AT(dst)},
    {"words_beyond_fb", UB, Q(VREQ8), TYPE_S32, 0, 1, 0,
     SET(fb_quant), 7168 - 64, ERR(BOUNDS), AT(fb_quant)},
    {"slopes_beyond_fb", UB, Q(NONE), TYPE_F32, 0, 1, 3,
     SET(fb_relu), 7168 - 64, ERR(BOUNDS), AT(fb_relu)},
    {"rows_that_overlap", GM, Q(NONE), TYPE_F32, 0, 1, 0,
     SET(dst_pitch), 31, ERR(OVERLAP), AT(dst)},
    {"blocks_that_overlap", L1, Q(NONE), TYPE_F32, NZ, 1, 0,
     SET(dst_pitch), 31, ERR(OVERLAP), AT(dst)},
    {"matrices_that_overlap", GM, Q(NONE), TYPE_F32, 0, 2, 0, NOTHING, ERR(OVERLAP), AT(dst)},
    {"more_than_l0c", GM, Q(NONE), TYPE_F32, 0, 65, 0,
     SET(dst_nd_stride), 4096, ERR(CAPACITY), AT(dst)},
    {"byte_behind_the_operands", GM, Q(NONE), TYPE_F32, 0, 1, 0, 59, 1, 1, ERR(RESERVED), 59},
    {"l1_fb_length", OP_COPY_L1_FB, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(l1_fb, len_bytes), 32, ERR(ALIGN), offsetof(struct cmd_l1_fb, len_bytes)},
    {"l1_fb_destination", OP_COPY_L1_FB, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(l1_fb, dst), 32, ERR(ALIGN), offsetof(struct cmd_l1_fb, dst)},
    {"l1_fb_source", OP_COPY_L1_FB, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(l1_fb, src), 16, ERR(ALIGN), offsetof(struct cmd_l1_fb, src)},
    {"l1_fb_blocks", OP_COPY_L1_FB, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(l1_fb, n_blocks), 4096, ERR(RANGE), offsetof(struct cmd_l1_fb, n_blocks)},
    {"l1_fb_beyond_fb", OP_COPY_L1_FB, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(l1_fb, dst), 7168, ERR(BOUNDS), offsetof(struct cmd_l1_fb, dst)},
    {"l1_fb_beyond_l1", OP_COPY_L1_FB, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(l1_fb, src), 524288, ERR(BOUNDS), offsetof(struct cmd_l1_fb, src)},
    {"word_with_unknown_bits", OP_SET_QUANT, 0, TYPE_NONE, 0, 1, 0,
     MEMBER(set_quant, word), 1ull << 47, ERR(RANGE), offsetof(struct cmd_set_quant, word)},
};
/* clang-format on */

static union cmd good_command(const struct rule *x)
{
    union cmd c = rig_command(x->op, x->type);

    if (x->op == OP_COPY_L1_FB) {
        c.l1_fb.len_bytes = 64;
        c.l1_fb.n_blocks = 1;
    } else if (x->op != OP_SET_QUANT) {
        c = tile(x->op, x->type, 16, 32, x->quant);
        c.head.flags = (uint8_t)x->flags;
        c.fix_gm.nd_num = (uint16_t)x->mats;
        c.fix_gm.relu = (uint8_t)x->relu;
    }
    return c;
}

/* No byte where the good command would have written something. */
static bool untouched(void)
{
    bool zero = true;

    for (unsigned at = 0; at < 4096; at++) {
        zero = zero && !rig.gm[at] && !mem(NPU_MEM_UB)[at] && !mem(NPU_MEM_L1)[at] &&
               !mem(NPU_MEM_FB)[at];
    }
    return zero;
}

TEST(fixpipe, rules)
{
    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct rule *x = &rules[i];
        union cmd c = good_command(x);

        fresh();
        if (x->value) {
            memcpy(c.bytes + x->offset, &x->value, x->size);
        }
        memset(mem(NPU_MEM_L0C), 0x55, 131072);
        if (!ok(refused(c, x->code, x->field) && untouched(), "fixpipe/rule_%s",
                x->name)) {
            test_note("%s", npu_error_name(rig_error(&rig, 0, PIPE_FIX)));
        }
    }
}
