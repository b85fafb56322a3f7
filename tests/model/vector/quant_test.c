/* SPDX-License-Identifier: MIT
 *
 * Quantisation, region proposals, interpolation and wide products of the Vector against
 * plain loops, with all of UB compared; and their rules, each with a command that
 * breaks only it.
 */
#include <math.h>
#include <string.h>

#include "tests/model/vector/rig.h"
#include "tests/model/rules/rule.h"

static void half_at(uint32_t at, float f)
{
    _Float16 h = (_Float16)f;

    memcpy(ub() + at, &h, 2);
}

/* --- VDEQ --- */

static uint64_t word_of(float scale, int offset, bool is_signed)
{
    return bits_of(scale) | field_put(DEQ_OFFSET, (uint64_t)offset) |
           field_put(DEQ_SIGN, is_signed);
}

static uint8_t quantised(int16_t x, float scale, int offset, bool is_signed)
{
    float product = (float)x * scale, sum = product + (float)offset;
    float r = rintf(sum), lo = is_signed ? -128 : 0, hi = is_signed ? 127 : 255;

    return (uint8_t)(int)(r != r ? 0 : fminf(fmaxf(r, lo), hi));
}

/* 7 times that scale is a little below 100.5 and rounds to it; with -99 it is a tie,
 * which goes to 2. Without the first rounding it would be 1. NaN gives 0. */
TEST(vector_quant, roundings)
{
    static const struct {
        uint32_t scale;
        int offset;
        uint8_t want;
    } t[] = {{0x4165b6db, -99, 2}, {0x7fc00000, 5, 0}, {0x7f800000, 5, 127}};
    int16_t seven = 7;
    bool good = true;

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        union cmd set = rig_command(OP_SET_DEQSCALE, TYPE_F32),
                  c = rig_command(OP_VDEQ, TYPE_S16);
        start();
        set_mask(1, 0, false);
        set.set_deqscale.word = word_of(0, t[i].offset, true) | t[i].scale;
        run(set);
        memcpy(ub() + SRC, &seven, 2);
        c.vec_deq = (struct cmd_vec_deq){c.head, DST, SRC, 0, 1, 1, 8, 8, 1};
        run(c);
        good &= ub()[DST] == t[i].want;
    }
    ok(good, "vector_quant/VDEQ_rounds_product_and_sum");
}

static bool quantises(unsigned flags, bool counter)
{
    uint64_t mask = 0xf0f0f0f0deadbeefu;
    union cmd set = rig_command(OP_SET_DEQSCALE, TYPE_F32),
              c = rig_command(OP_VDEQ, TYPE_S16);
    bool vector = flags & VDEQ_VECTOR;
    unsigned n = counter ? 333 : 3 * 128;

    start();
    set_mask(counter ? n : mask, counter ? 0 : ~mask, counter);
    set.set_deqscale.word = word_of(0.03125f, -7, true);
    run(set);
    for (unsigned i = 0; i < 16; i++) {
        uint64_t word = word_of(ldexpf((float)i - 8, -6), (int)i * 30 - 200, i % 2);
        memcpy(ub() + SRC1 + 8 * i, &word, 8);
    }
    c.head.flags = (uint8_t)flags;
    c.vec_deq.dst = DST;
    c.vec_deq.src = SRC;
    c.vec_deq.words = vector ? SRC1 : 0;
    c.vec_deq.repeat = 3;
    c.vec_deq.dst_blk = 2;
    c.vec_deq.src_blk = 1;
    c.vec_deq.dst_rep = 17;
    c.vec_deq.src_rep = 8;
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < n; i++) {
        unsigned lane = i % 128, e = i % 16;
        bool on = counter || (lane < 64 ? mask >> lane & 1 : ~mask >> (lane - 64) & 1);
        unsigned at =
            DST + i / 128 * 544 + lane / 16 * 64 + (flags & VDEQ_HIGH ? 16 : 0) + e;
        int16_t x;
        memcpy(&x, ub() + SRC + 2 * i, 2);
        if (on) {
            want[at] =
                vector ? quantised(x, ldexpf((float)e - 8, -6), (int)e * 30 - 200, e % 2)
                       : quantised(x, 0.03125f, -7, true);
        }
    }
    return gives(c);
}

/* --- VMULL --- */

static bool multiplies(void)
{
    union cmd c = rig_command(OP_VMULL, TYPE_S32);

    start();
    c.vec_intlv.dst0 = DST;
    c.vec_intlv.dst1 = DST + 4096;
    c.vec_intlv.src0 = SRC;
    c.vec_intlv.src1 = SRC1;
    c.vec_intlv.count = 777;
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 777; i++) {
        int32_t x, y;
        __int128 product;
        memcpy(&x, ub() + SRC + 4 * i, 4);
        memcpy(&y, ub() + SRC1 + 4 * i, 4);
        product = (__int128)x * y;
        memcpy(want + DST + 4 * i, &product, 4);
        memcpy(want + DST + 4096 + 4 * i, (uint8_t *)&product + 4, 4);
    }
    return gives(c);
}

/* --- region proposals --- */

/* Scores from a few values, so that some are equal; the other fields tell who is who. */
static void proposals(uint32_t at, unsigned n, unsigned esize)
{
    for (unsigned i = 0; i < n * 8; i++) {
        float score = (float)(int)(rnd() % 9) - 4;
        if (i % 8 == PROPOSAL_SCORE && esize == 4) {
            memcpy(ub() + at + i * 4, &score, 4);
        } else if (i % 8 == PROPOSAL_SCORE) {
            half_at(at + i * 2, score);
        }
    }
}

static float score_at(const uint8_t *proposal, unsigned esize)
{
    return value_at(proposal + PROPOSAL_SCORE * esize, esize);
}

/* n proposals at `at` of want[], highest first. */
static void sort(uint32_t at, unsigned n, unsigned esize)
{
    unsigned bytes = 8 * esize;
    uint8_t one[32];

    for (unsigned i = 1; i < n; i++) {
        for (unsigned j = i; j > 0; j--) {
            uint8_t *p = want + at + (j - 1) * bytes;
            if (score_at(p, esize) >= score_at(p + bytes, esize)) {
                break;
            }
            memcpy(one, p, bytes);
            memcpy(p, p + bytes, bytes);
            memcpy(p + bytes, one, bytes);
        }
    }
}

static bool sorts_proposals(enum type type, bool in_place)
{
    union cmd c = rig_command(OP_VRPSORT16, type);
    unsigned esize = type_bits(type) / 8;

    start();
    proposals(SRC, 48, esize);
    c.vec_rpsort.dst = in_place ? SRC : DST;
    c.vec_rpsort.src = SRC;
    c.vec_rpsort.repeat = 3;
    memcpy(want, ub(), UB);
    memcpy(want + c.vec_rpsort.dst, ub() + SRC, 48 * 8 * esize);
    for (unsigned r = 0; r < 3; r++) {
        sort(c.vec_rpsort.dst + r * 128 * esize, 16, esize);
    }
    return gives(c);
}

/* Four lists of 16, side by side, twice. */
static bool merges_proposals(enum type type)
{
    union cmd c = rig_command(OP_VMRGSORT, type);
    unsigned esize = type_bits(type) / 8, list = 128 * esize;

    start();
    proposals(SRC, 128, esize);
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 8; i++) {
        sort(SRC + i * list, 16, esize);
    }
    memcpy(ub(), want, UB);
    memcpy(want + DST, ub() + SRC, 8 * list);
    sort(DST, 64, esize);
    sort(DST + 4 * list, 64, esize);
    c.head.flags = VMRGSORT_PROPOSALS;
    c.vec_merge = (struct cmd_vec_merge){
        c.head, DST, SRC, SRC + list, SRC + 2 * list, SRC + 3 * list, 16, 16,
        16,     16,  15,  2};
    return gives(c);
}

static bool moves_a_field(enum type type, bool concat)
{
    union cmd c = rig_command(concat ? OP_VRPCONCAT : OP_VRPEXTRACT, type);
    unsigned esize = type_bits(type) / 8;

    start();
    c.vec_rp.dst = DST;
    c.vec_rp.src = SRC;
    c.vec_rp.repeat = 5;
    c.vec_rp.field = PROPOSAL_Y2;
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 80; i++) {
        unsigned row = i * esize, field = (i * 8 + PROPOSAL_Y2) * esize;
        memcpy(want + DST + (concat ? field : row), ub() + SRC + (concat ? row : field),
               esize);
    }
    return gives(c);
}

/* --- VBI --- */

static bool interpolates(bool each)
{
    union cmd c = rig_command(OP_VBI, TYPE_F16);
    uint64_t mask = 0xf0f0f0f0deadbeefu;

    start();
    set_mask(mask, ~mask, false);
    for (unsigned i = 0; i < 4096; i++) {
        half_at(SRC + 2 * i, ldexpf((float)(int)(rnd() % 4096) - 2048, i % 3 ? -6 : -25));
    }
    for (unsigned i = 0; i < 3 * 3 * 8; i++) {
        uint32_t offset = rnd() % 200 * 32;
        memcpy(ub() + SRC1 + 4 * i, &offset, 4);
        half_at(SRC1 + 4096 + 2 * i, (float)(rnd() % 1000) / (i % 2 ? 37 : 2000));
    }
    c.head.flags = each ? VBI_EACH : 0;
    c.vec_bi =
        (struct cmd_vec_bi){c.head, DST, SRC + 64, SRC1, SRC1 + 4096, 160, 1, 3, 3};
    memcpy(want, ub(), UB);
    for (unsigned v = 0; v < 3; v++) {
        for (unsigned i = 0; i < 128; i++) {
            _Float16 sum = 0;
            for (unsigned h = 0; h < 3; h++) {
                unsigned step = v * 3 + h, block = step * 8 + i / 16;
                uint32_t offset;
                _Float16 p;
                memcpy(&offset, ub() + SRC1 + 4 * block, 4);
                p = (_Float16)(value_at(ub() + SRC + 64 + offset + i % 16 * 2, 2) *
                               value_at(ub() + SRC1 + 4096 + 2 * (each ? block : step),
                                        2));
                sum = h ? (_Float16)((float)sum + (float)p) : p;
            }
            if (i < 64 ? mask >> i & 1 : ~mask >> (i - 64) & 1) {
                memcpy(want + DST + v * 320 + 2 * i, &sum, 2);
            }
        }
    }
    return gives(c);
}

/* --- rules --- */

static union cmd good_command(const struct rule *rule)
{
    enum op op = rule->op;
    union cmd c = rig_command(op, op == OP_VDEQ    ? TYPE_S16
                                  : op == OP_VMULL ? TYPE_S32
                                                   : TYPE_F16);

    switch (op) {
    case OP_VDEQ:
        c.head.flags = VDEQ_VECTOR;
        c.vec_deq = (struct cmd_vec_deq){c.head, DST, SRC, SRC1, 1, 1, 8, 8, 2};
        break;
    case OP_VMULL:
        c.vec_intlv = (struct cmd_vec_intlv){c.head, DST, DST + 4096, SRC, SRC1, 100};
        break;
    case OP_VRPSORT16:
        c.vec_rpsort = (struct cmd_vec_rpsort){c.head, DST, SRC, 2};
        break;
    case OP_VMRGSORT:
        c.head.flags = VMRGSORT_PROPOSALS;
        c.vec_merge =
            (struct cmd_vec_merge){c.head, DST, 0, 256, 512, 768, 16, 16, 16, 16, 15, 2};
        break;
    case OP_VBI:
        c.vec_bi = (struct cmd_vec_bi){c.head, DST, SRC, SRC1, SRC1 + 4096, 128, 1, 2, 3};
        break;
    default:
        c.vec_rp = (struct cmd_vec_rp){c.head, DST, SRC, 2, 4};
        break;
    }
    return c;
}

/* clang-format off */
static const struct rule rules[] = {
    {"quantise_type", OP_VDEQ, WRONG(head, type, TYPE_F16, TYPE)},
    {"quantise_words_unaligned", OP_VDEQ, WRONG(vec_deq, words, SRC1 + 8, ALIGN)},
    {"quantise_words_of_no_vector", OP_VDEQ, TELLS(head, flags, 0, RESERVED, vec_deq, words)},
    {"quantise_onto_itself", OP_VDEQ, TELLS(vec_deq, dst_blk, 0, OVERLAP, vec_deq, dst)},
    {"quantise_into_its_source", OP_VDEQ, TELLS(vec_deq, dst, 32, OVERLAP, vec_deq, src)},
    {"quantise_into_its_words", OP_VDEQ, TELLS(vec_deq, dst, SRC1, OVERLAP, vec_deq, words)},
    {"quantise_from_beyond_ub", OP_VDEQ, WRONG(vec_deq, src, UB - 480, BOUNDS)},
    {"quantise_words_beyond_ub", OP_VDEQ, WRONG(vec_deq, words, UB - 96, BOUNDS)},
    {"quantise_beyond_ub", OP_VDEQ, WRONG(vec_deq, dst, UB - 480, BOUNDS)},
    {"product_type", OP_VMULL, WRONG(head, type, TYPE_F32, TYPE)},
    {"product_halves_on_one_another", OP_VMULL, WRONG(vec_intlv, dst1, DST + 384, OVERLAP)},
    {"product_into_half_a_source", OP_VMULL,
     TELLS(vec_intlv, dst1, 32, OVERLAP, vec_intlv, src0)},
    {"proposals_type", OP_VRPSORT16, WRONG(head, type, TYPE_S16, TYPE)},
    {"proposals_sorted_into_others", OP_VRPSORT16,
     TELLS(vec_rpsort, dst, 32, OVERLAP, vec_rpsort, src)},
    {"proposals_from_beyond_ub", OP_VRPSORT16, WRONG(vec_rpsort, src, UB - 480, BOUNDS)},
    {"proposals_beyond_ub", OP_VRPSORT16, WRONG(vec_rpsort, dst, UB - 480, BOUNDS)},
    {"merge_between_proposals", OP_VMRGSORT, WRONG(vec_merge, src3, 776, ALIGN)},
    {"merge_of_scattered_proposals", OP_VMRGSORT,
     TELLS(vec_merge, src3, 1024, RANGE, vec_merge, repeat)},
    {"merge_proposals_beyond_ub", OP_VMRGSORT, WRONG(vec_merge, dst, UB - 2016, BOUNDS)},
    {"field_6_of_a_proposal", OP_VRPCONCAT, WRONG(vec_rp, field, 6, RANGE)},
    {"fields_into_their_elements", OP_VRPCONCAT, TELLS(vec_rp, dst, 32, OVERLAP, vec_rp, src)},
    {"elements_from_beyond_ub", OP_VRPCONCAT, WRONG(vec_rp, src, UB - 32, BOUNDS)},
    {"fields_beyond_ub", OP_VRPCONCAT, WRONG(vec_rp, dst, UB - 480, BOUNDS)},
    {"fields_from_beyond_ub", OP_VRPEXTRACT, WRONG(vec_rp, src, UB - 480, BOUNDS)},
    {"interpolation_results_too_near", OP_VBI, WRONG(vec_bi, v_offset, 112, RANGE)},
    {"interpolation_results_between_blocks", OP_VBI, WRONG(vec_bi, v_offset, 136, ALIGN)},
    {"interpolation_onto_itself", OP_VBI, TELLS(vec_bi, dst_blk, 2, OVERLAP, vec_bi, dst)},
    {"interpolation_into_its_offsets", OP_VBI,
     TELLS(vec_bi, dst, SRC1, OVERLAP, vec_bi, offsets)},
    {"interpolation_into_its_weights", OP_VBI,
     TELLS(vec_bi, dst, SRC1 + 3840, OVERLAP, vec_bi, weights)},
    {"interpolation_offsets_beyond_ub", OP_VBI, WRONG(vec_bi, offsets, UB - 160, BOUNDS)},
    {"interpolation_beyond_ub", OP_VBI, WRONG(vec_bi, dst, UB - 640, BOUNDS)},
};
/* clang-format on */

/* An offset that the command reads, told before anything is written. */
TEST(vector_quant, offset)
{
    union cmd c = good_command(&(struct rule){.op = OP_VBI});
    uint32_t offset = UB;
    bool good;

    start();
    memset(ub() + SRC1, 0, 4096);
    memcpy(ub() + SRC1 + 100, &offset, 4);
    memcpy(want, ub(), UB);
    good = refused(c, NPU_ERR_OFFSET, offsetof(struct cmd_vec_bi, offsets)) &&
           memcmp(ub(), want, UB) == 0;
    rig_write(&rig, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
    offset = 8;
    memcpy(ub() + SRC1 + 100, &offset, 4);
    good &= run(c) == NPU_ERR_OFFSET;
    ok(good, "vector_refusal/interpolation_offset_out_of_ub_or_between_blocks");
}

TEST(vector_refusal, quantisation_and_proposals)
{
    check_rules("vector_refusal/", rules, LENGTH(rules), good_command, NULL);
}

TEST(vector_quant, commands)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        ok(quantises(flags, false) && quantises(flags, true), "vector_quant/VDEQ%s%s",
           flags & VDEQ_VECTOR ? "_with_16_words" : "",
           flags & VDEQ_HIGH ? "_upper_half" : "");
    }
    ok(multiplies(), "vector_quant/VMULL");
}

TEST(vector_sort, proposals)
{
    ok(sorts_proposals(TYPE_F16, false) && sorts_proposals(TYPE_F32, true),
       "vector_sort/VRPSORT16");
    ok(merges_proposals(TYPE_F16) && merges_proposals(TYPE_F32),
       "vector_sort/VMRGSORT_of_proposals");
}

TEST(vector_move, fields_of_proposals)
{
    ok(moves_a_field(TYPE_F16, true) && moves_a_field(TYPE_F32, true),
       "vector_move/VRPCONCAT");
    ok(moves_a_field(TYPE_F16, false) && moves_a_field(TYPE_F32, false),
       "vector_move/VRPEXTRACT");
}

TEST(vector_gather, interpolation)
{
    ok(interpolates(false), "vector_gather/VBI");
    ok(interpolates(true), "vector_gather/VBI_with_a_weight_each");
}
