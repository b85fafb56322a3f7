/* SPDX-License-Identifier: MIT
 *
 * The Vector on the model: masks, counts, and what a command must not touch.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

static const float one = 1.0f, two = 2.0f, three = 3.0f;

static union cmd add(uint32_t dst, uint32_t x, uint32_t y)
{
    union cmd c = {.head = {.opcode = OP_VADD, .type = TYPE_F32}};

    c.vec2.dst = dst;
    c.vec2.src0 = x;
    c.vec2.src1 = y;
    c.vec2.dst_blk = c.vec2.src0_blk = c.vec2.src1_blk = 1;
    c.vec2.dst_rep = c.vec2.src0_rep = c.vec2.src1_rep = 8;
    return c;
}

static union cmd set_mask(uint64_t lo, bool counter)
{
    union cmd c = {.head = {.opcode = OP_SET_MASK, .flags = counter}};

    c.set_mask.lo = lo;
    return c;
}

static void fill(struct rig *r, uint32_t at, unsigned n, float value)
{
    for (unsigned i = 0; i < n; i++) {
        memcpy(r->npu.mem[0][NPU_MEM_UB] + at + 4 * i, &value, 4);
    }
}

static bool is(const struct rig *r, uint32_t at, float value)
{
    return memcmp(r->npu.mem[0][NPU_MEM_UB] + at, &value, 4) == 0;
}

/* With the address sanitizer this also shows that nothing behind UB is read. */
TEST(vector, count_at_the_end_of_ub)
{
    struct rig r;
    uint32_t last = 196608 - 32;
    union cmd m = set_mask(7, true), c = add(0, last, last);

    rig_open(&r, 1, PROFILE_a2);
    fill(&r, last, 8, one);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && is(&r, 24, two),
       "vector/count_reaches_the_end_of_ub");
    ok(is(&r, 28, 0), "vector/not_an_element_beyond_the_count");
    c = add(last, 0, 0);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && is(&r, last, two + two) && is(&r, last + 28, one),
       "vector/destination_may_end_there_too");
    m = set_mask(9, true);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_BOUNDS, "vector/one_more_is_out_of_bounds");
    rig_close(&r);
}

/* A lane that is off is not written at all: what another engine puts there meanwhile
 * stays. The hart stores here while the command runs. */
TEST(vector, masked_lanes)
{
    struct rig r;
    union cmd m = set_mask(1, false), c = add(4096, 0, 1024);

    rig_open(&r, 1, PROFILE_a2);
    c.vec2.repeat = 1;
    fill(&r, 0, 64, one);
    fill(&r, 1024, 64, two);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_to(&r, 5);
    fill(&r, 4096, 64, one);
    rig_drain(&r);
    ok(is(&r, 4096, three), "vector/lane_that_is_on_is_written");
    ok(is(&r, 4100, one) && is(&r, 4096 + 252, one),
       "vector/lane_that_is_off_is_not_touched");
    rig_close(&r);
}

TEST(vector, strides)
{
    struct rig r;
    union cmd c = add(8192, 0, 4096);

    rig_open(&r, 1, PROFILE_a2);
    fill(&r, 0, 1024, one);
    fill(&r, 4096, 1024, two);
    c.vec2.repeat = 2;
    c.vec2.dst_blk = 2;
    c.vec2.dst_rep = 16;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 8192 + 64, three) && is(&r, 8192 + 32, 0) &&
           is(&r, 8192 + 512 + 448, three),
       "vector/blocks_and_repeats_have_strides");
    rig_close(&r);
}

/* A repeat reads what the repeats before it have written; within one, all is read first.
 * 3 repeats of 64 ones, one behind the other. */
TEST(vector, repeats_in_order)
{
    struct rig r;
    union cmd c = add(8192, 0, 8192);

    rig_open(&r, 1, PROFILE_a2);
    fill(&r, 0, 3 * 64, one);
    fill(&r, 8192, 64, two);
    c.vec2.repeat = 3;
    c.vec2.dst_rep = c.vec2.src1_rep = 0;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && is(&r, 8192, two + three) &&
           is(&r, 8192 + 252, two + three),
       "vector/a_destination_that_stands_still_accumulates");
    c = add(256, 0, 0); /* each repeat doubles into the next one */
    c.vec2.repeat = 3;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 256, two) && is(&r, 512, 4.0f) && is(&r, 768 + 252, 8.0f),
       "vector/a_repeat_reads_what_the_one_before_wrote");
    fill(&r, 0, 72, one);
    c = add(32, 0, 0); /* 8 elements further, within a repeat */
    c.vec2.repeat = 1;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 32, two) && is(&r, 64, two) && is(&r, 32 + 252, two),
       "vector/a_repeat_reads_before_it_writes");
    c = add(0, 0, 0);
    c.vec2.repeat = 2;
    fill(&r, 0, 128, one);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 0, two) && is(&r, 508, two), "vector/in_place");
    c.vec2.repeat = 1;
    c.vec2.dst = 4096;
    c.vec2.dst_blk = 0;
    fill(&r, 224, 8, three);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 4096, three + three), "vector/of_blocks_on_one_another_the_last_stays");
    rig_close(&r);
}

/* Published: 4096 fp32 sums take 88 cycles without conflicts, 154 with two reads in a
 * group, 139 with a read and the write in a bank (davinci 1.5). */
TEST(vector, bank_conflicts)
{
    static const struct {
        const char *name;
        uint32_t dst, x, y, published, group, bank;
    } cases[] = {{"no_conflict", 131072, 0, 65536 + 256, 88, 0, 0},
                 {"two_reads", 131072, 0, 65536, 154, 64, 0},
                 {"read_and_write", 16384 + 256, 0, 65536 + 256, 139, 0, 50},
                 {"in_place_is_hidden", 0, 0, 65536 + 256, 88, 0, 0}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        union cmd c = add(cases[i].dst, cases[i].x, cases[i].y);
        struct rig r;
        rig_open(&r, 1, PROFILE_a2);
        c.vec2.repeat = 64;
        rig_push(&r, 0, PIPE_V, &c);
        rig_drain(&r);
        ok(r.now * 100 >= cases[i].published * 95ull &&
               r.now * 100 <= cases[i].published * 105ull,
           "vector/bank_%s", cases[i].name);
        test_note("%u cycles, published %u", (unsigned)r.now, cases[i].published);
        rig_write(&r, 0, PMU_SELECT, EVENT_BANK_GROUP_CONFLICT);
        rig_write(&r, 0, PMU_SELECT + 8, EVENT_BANK_CONFLICT);
        ok(rig_read(&r, 0, PMU_COUNT) == cases[i].group &&
               rig_read(&r, 0, PMU_COUNT + 8) == cases[i].bank,
           "vector/events_of_bank_%s", cases[i].name);
        rig_close(&r);
    }
}

/* Blocks of a repeat in one group, in two, in all. */
TEST(vector, blocks_in_a_group)
{
    static const struct {
        uint8_t blk;
        unsigned cycles;
    } cases[] = {{16, 8}, {8, 4}, {4, 2}, {1, 1}, {17, 1}};
    bool right = true;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        union cmd c = rig_command(OP_VRELU, TYPE_F32);
        struct rig r;
        rig_open(&r, 1, PROFILE_a2);
        c.vec1.dst = 131072;
        c.vec1.repeat = 10;
        c.vec1.dst_blk = 1;
        c.vec1.dst_rep = 8;
        c.vec1.src_blk = cases[i].blk;
        rig_push(&r, 0, PIPE_V, &c);
        rig_drain(&r);
        right &= r.now == cmd_find(OP_VRELU)->fixed + 10 * cases[i].cycles;
        rig_close(&r);
    }
    ok(right, "vector/blocks_in_a_group_go_one_after_the_other");
}

TEST(vector, compare_and_select)
{
    struct rig r;
    union cmd m = set_mask(70, true), c = rig_command(OP_VCMPS, TYPE_F32);
    uint8_t *ub;

    rig_open(&r, 1, PROFILE_a2);
    ub = r.npu.mem[0][NPU_MEM_UB];
    fill(&r, 0, 70, one);
    fill(&r, 4 * 66, 1, three);
    memset(ub + 4096, 0xff, 32);
    c.vec_cmps.dst = 4096;
    c.vec_cmps.scalar = 0x40000000; /* 2 */
    c.vec_cmps.src_blk = 1;
    c.vec_cmps.src_rep = 8;
    c.vec_cmps.cond = CMP_LT;
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && ub[4096] == 0xff && ub[4103] == 0xff &&
           ub[4104] == 0x3b && ub[4105] == 0xff,
       "vector/comparison_gives_bits_of_the_count");
    c = rig_command(OP_VSELS, TYPE_F32);
    c.vec_sels.dst = 8192;
    c.vec_sels.sel = 4096;
    c.vec_sels.scalar = 0x40000000;
    c.vec_sels.src_blk = c.vec_sels.dst_blk = 1;
    c.vec_sels.src_rep = c.vec_sels.dst_rep = 8;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 8192, one) && is(&r, 8192 + 4 * 65, one) && is(&r, 8192 + 4 * 66, two) &&
           is(&r, 8192 + 4 * 70, 0),
       "vector/selection_between_source_and_scalar");
    c = rig_command(OP_SET_CMPMASK, TYPE_NONE); /* 8 bits a byte, only the first one on */
    memset(ub + 4096, 0, 32);
    ub[4096] = 1;
    c.set_cmpmask.src = 4096;
    rig_push(&r, 0, PIPE_V, &c);
    c = rig_command(OP_VSEL, TYPE_F32);
    c.head.flags = VSEL_CMPMASK;
    c.vec_sel.dst = 8192;
    c.vec_sel.src0 = 0;
    c.vec_sel.src1 = 16384;
    c.vec_sel.dst_blk = c.vec_sel.src0_blk = c.vec_sel.src1_blk = 1;
    c.vec_sel.dst_rep = c.vec_sel.src0_rep = c.vec_sel.src1_rep = 8;
    fill(&r, 16384, 70, two);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && is(&r, 8192, one) && is(&r, 8192 + 4, two) &&
           is(&r, 8192 + 256, one) && is(&r, 8192 + 260, two),
       "vector/the_mask_register_selects_in_every_repeat");
    rig_close(&r);
}

/* Half as many blocks where the element is half as wide. */
TEST(vector, widths)
{
    struct rig r;
    union cmd c = rig_command(OP_VCONV, TYPE_F32);
    uint16_t *h;

    rig_open(&r, 1, PROFILE_a2);
    h = (uint16_t *)(void *)(r.npu.mem[0][NPU_MEM_UB] + 4096);
    fill(&r, 0, 128, one);
    c.vec_conv.dst = 4096;
    c.vec_conv.dst_blk = c.vec_conv.src_blk = 1;
    c.vec_conv.dst_rep = 6;
    c.vec_conv.src_rep = 8;
    c.vec_conv.repeat = 2;
    c.vec_conv.to = TYPE_F16;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && h[63] == 0x3c00 && h[64] == 0 && h[95] == 0 &&
           h[96] == 0x3c00 && h[159] == 0x3c00 && h[160] == 0,
       "vector/a_cast_has_fewer_blocks_of_the_narrower_type");
    rig_close(&r);
}

/* Each line: a good command with one thing wrong. */
TEST(vector, rules)
{
    static const struct {
        const char *name;
        enum op op;
        enum type type;
        unsigned offset;
        uint64_t value;
        unsigned code;
    } rules[] = {
        {"cast_that_there_is_not", OP_VCONV, TYPE_F32, offsetof(struct cmd_vec_conv, to),
         TYPE_U8, NPU_ERR_TYPE},
        {"rounding_mode_7", OP_VCONV, TYPE_F32, offsetof(struct cmd_vec_conv, round), 7,
         NPU_ERR_RANGE},
        {"type_that_is_none", OP_VCONV, TYPE_F32, offsetof(struct cmd_vec_conv, to),
         TYPE_COUNT, NPU_ERR_RANGE},
        {"condition_6", OP_VCMP, TYPE_F32, offsetof(struct cmd_vec_cmp, cond), 6,
         NPU_ERR_RANGE},
        {"scalar_wider_than_its_type", OP_VADDS, TYPE_F16,
         offsetof(struct cmd_vec1s, scalar) + 2, 1, NPU_ERR_RANGE},
        {"shift_by_17_of_16", OP_VSHL, TYPE_S16, offsetof(struct cmd_vec1s, scalar), 17,
         NPU_ERR_RANGE},
        {"wide_f32", OP_VMLA, TYPE_F32, offsetof(struct cmd_head, flags), VMLA_WIDE,
         NPU_ERR_FLAGS},
        {"result_type_of_a_fused_cast", OP_VMULCONV, TYPE_F16,
         offsetof(struct cmd_vec2c, to), TYPE_BF16, NPU_ERR_TYPE},
        {"bits_that_are_not_aligned", OP_VSEL, TYPE_F32,
         offsetof(struct cmd_vec_sel, sel), 16, NPU_ERR_ALIGN},
        {"fused_cast_to_s4", OP_VADDRELUCONV, TYPE_F16, offsetof(struct cmd_vec2c, to),
         TYPE_S4, NPU_ERR_TYPE},
        {"scale_beyond_16_bits", OP_SET_DEQSCALE, TYPE_F16,
         offsetof(struct cmd_set_deqscale, word) + 2, 1, NPU_ERR_RANGE},
        {"word_beyond_its_fields", OP_SET_DEQSCALE, TYPE_F32,
         offsetof(struct cmd_set_deqscale, word) + 5, 0x80, NPU_ERR_RANGE},
        {"mask_register_to_no_block", OP_GET_CMPMASK, TYPE_NONE,
         offsetof(struct cmd_get_cmpmask, dst), 16, NPU_ERR_ALIGN},
        {"scaled_sum_of_s16", OP_VADDDEQRELU, TYPE_S16, 2, TYPE_S16, NPU_ERR_TYPE},
        {"type_of_a_logical_operation", OP_VAND, TYPE_F32, 2, TYPE_F32, NPU_ERR_TYPE},
    };

    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        union cmd c = rig_command(rules[i].op, rules[i].type);
        uint64_t field;
        struct rig r;
        rig_open(&r, 1, PROFILE_a2);
        if (rules[i].op == OP_VCONV) {
            c.vec_conv.to = TYPE_F16;
        }
        c.bytes[rules[i].offset] = (uint8_t)rules[i].value;
        rig_push(&r, 0, PIPE_V, &c);
        field =
            field_get(PIPE_ERROR_FIELD, rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_ERROR)));
        ok(rig_error(&r, 0, PIPE_V) == rules[i].code &&
               field == (rules[i].offset & ~(rules[i].op == OP_VADDS          ? 3u
                                             : rules[i].op == OP_SET_DEQSCALE ? 7u
                                                                              : 0u)),
           "vector/%s", rules[i].name);
        rig_close(&r);
    }
}

/* The register goes to UB and comes back from it. */
TEST(vector, cmpmask)
{
    struct rig r;
    union cmd set = rig_command(OP_SET_CMPMASK, TYPE_NONE);
    union cmd get = rig_command(OP_GET_CMPMASK, TYPE_NONE);
    uint8_t *ub;

    rig_open(&r, 1, PROFILE_a2);
    ub = r.npu.mem[0][NPU_MEM_UB];
    for (unsigned i = 0; i < 32; i++) {
        ub[i] = (uint8_t)(i * 37 + 1);
        ub[64 + i] = 0xa5;
    }
    get.get_cmpmask.dst = 64;
    rig_push(&r, 0, PIPE_V, &set);
    rig_push(&r, 0, PIPE_V, &get);
    rig_drain(&r);
    ok(memcmp(ub, ub + 64, 16) == 0 && ub[80] == 0xa5 && r.now == 2,
       "vector/the_mask_register_can_be_read");
    rig_close(&r);
}

/* Two numbers of S4 are a byte: 32 bytes of F16 become 8. */
TEST(vector, nibbles)
{
    struct rig r;
    union cmd m = set_mask(UINT64_MAX ^ 12, false), c = rig_command(OP_VCONV, TYPE_F16);
    uint8_t *ub;

    rig_open(&r, 1, PROFILE_a2);
    ub = r.npu.mem[0][NPU_MEM_UB];
    for (unsigned i = 0; i < 256; i++) { /* 0 .. 7, 0 .. 7 */
        static const uint16_t numbers[8] = {0,      0x3c00, 0x4000, 0x4200,
                                            0x4400, 0x4500, 0x4600, 0x4700};
        memcpy(ub + 2 * i, &numbers[i % 8], 2);
    }
    memset(ub + 4096, 0xa5, 256);
    m.set_mask.hi = UINT64_MAX;
    c.vec_conv.dst = 4096;
    c.vec_conv.dst_blk = c.vec_conv.src_blk = 1;
    c.vec_conv.dst_rep = 3; /* a gap */
    c.vec_conv.src_rep = 8;
    c.vec_conv.repeat = 2;
    c.vec_conv.to = TYPE_S4;
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && ub[4096] == 0x10 && ub[4097] == 0xa5 &&
           ub[4098] == 0x54 && ub[4099] == 0x76 && ub[4159] == 0x76 && ub[4160] == 0xa5 &&
           ub[4192] == 0x10 && ub[4193] == 0xa5 && ub[4255] == 0x76 && ub[4256] == 0xa5,
       "vector/nibbles_under_a_mask");
    m = set_mask(UINT64_MAX ^ 4, false);
    m.set_mask.hi = UINT64_MAX;
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_RANGE, "vector/half_a_byte_under_a_mask");
    rig_write(&r, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
    m = set_mask(7, true);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_RANGE, "vector/half_a_byte_in_a_count");
    rig_close(&r);
}

TEST(vector, count_beyond_32_bits)
{
    struct rig r;
    union cmd m = set_mask(1ull << 40, true);

    rig_open(&r, 1, PROFILE_a2);
    rig_push(&r, 0, PIPE_V, &m);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_RANGE &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_ERROR_VALUE)) == 1ull << 40,
       "vector/count_beyond_32_bits_is_refused");
    rig_close(&r);
}
