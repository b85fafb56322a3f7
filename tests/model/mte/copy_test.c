/* SPDX-License-Identifier: MIT
 *
 * Commands of the DMA engines, pushed to the model: padded copies, fills, single
 * fractals, the paths between L1, UB and BT. Each result is compared with the whole
 * memory, so what must not be touched is compared too; each rule has a command that
 * breaks nothing else. LOAD3D: load3d_test.c; atomics: atomic_test.c.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rules/rule.h"
#include "tests/test.h"

enum { AREA = 65536 };
static uint8_t want[AREA];

/* A fresh chip; noise in GM and in the sources, the destination known. */
static void start(enum npu_mem dst)
{
    fresh();
    noise(rig.gm, AREA);
    noise(mem(NPU_MEM_L1), AREA);
    noise(mem(NPU_MEM_UB), AREA);
    memset(want, 0xa5, AREA);
    memset(mem(dst), 0xa5, npu_mem_size(PROFILE_a2, dst));
}

/* The first 64 KiB of a memory, or all of a smaller one. */
static bool as_wanted(enum npu_mem m)
{
    uint32_t size = npu_mem_size(PROFILE_a2, m);

    return same(mem(m), want, size < AREA ? size : AREA);
}

/* --- padded copies --- */

static union cmd pad_command(enum op op, enum type type, unsigned left, unsigned len,
                             unsigned right)
{
    union cmd c = rig_command(op, type);

    c.copy_pad.src = RIG_GM_BASE + 3;
    c.copy_pad.dst = 64;
    c.copy_pad.len_bytes = len * type_bits(type) / 8;
    c.copy_pad.n_blocks = 3;
    c.copy_pad.src_gap = 5;
    c.copy_pad.dst_gap = 1;
    c.copy_pad.left = (uint8_t)left;
    c.copy_pad.right = (uint8_t)right;
    return c;
}

static bool check_pad(enum op op, enum type type, unsigned left, unsigned len,
                      unsigned right, bool value)
{
    enum npu_mem to = op == OP_COPY_PAD_GM_UB ? NPU_MEM_UB : NPU_MEM_L1;
    union cmd c = pad_command(op, type, left, len, right);
    union cmd set = rig_command(OP_SET_PAD_MTE2, TYPE_NONE);
    unsigned esize = type_bits(type) / 8;
    uint32_t pad = 0xc1b2a394;

    start(to);
    set.set_pad.value = pad;
    c.head.flags = value ? COPY_PAD_GM_UB_VALUE : 0;
    run(set);
    run(c);
    for (unsigned b = 0, at = 64; b < 3 && len; b++) {
        const uint8_t *from = rig.gm + 3 + b * (len * esize + 5);
        unsigned total = left + len + right, row = (total * esize + 31) / 32 * 32;
        for (unsigned e = 0; e < row / esize; e++) {
            bool data = e >= left && e < left + len;
            memcpy(want + at + e * esize,
                   data    ? from + (e - left) * esize
                   : value ? (uint8_t *)&pad
                           : from,
                   esize);
        }
        at += row + 32;
    }
    return as_wanted(to) && rig_error(&rig, 0, PIPE_MTE2) == 0;
}

TEST(mte, pad)
{
    static const enum type types[] = {TYPE_S8, TYPE_F16, TYPE_F32};

    rig_prices(TIMING_v1);
    for (unsigned t = 0; t < 3; t++) {
        unsigned esize = 1u << t, most = 32 / esize;
        bool value = true, first = true;
        for (unsigned left = 0; left <= most; left += left ? most - 1 : 1) {
            for (unsigned len = 0; len < 70; len += 1 + len / 4) {
                for (unsigned right = 0; right <= most; right += right ? most - 1 : 1) {
                    value =
                        check_pad(OP_COPY_PAD_GM_UB, types[t], left, len, right, true) &&
                        value;
                    first =
                        check_pad(OP_COPY_PAD_GM_UB, types[t], left, len, right, false) &&
                        first;
                }
            }
        }
        ok(value, "pad/with_a_value_%ubit", esize * 8);
        ok(first, "pad/with_the_first_element_%ubit", esize * 8);
    }
    ok(check_pad(OP_COPY_PAD_GM_L1, TYPE_F16, 3, 21, 4, true), "pad/to_l1");
}

/* --- fills --- */

static bool check_init(enum op op, enum npu_mem to, unsigned unit, enum type type)
{
    union cmd c = rig_command(op, type);
    uint32_t value = 0x81726354;
    unsigned esize = type_bits(type) / 8;

    start(to);
    c.init.dst = 1024;
    c.init.value = value;
    c.init.repeat = 3;
    c.init.len = 2;
    c.init.gap = 1;
    run(c);
    for (unsigned i = 0; i < 9 * unit; i += esize) {
        if (i / unit % 3 < 2) {
            memcpy(want + 1024 + i, &value, esize);
        }
    }
    return as_wanted(to);
}

TEST(mte, init)
{
    ok(check_init(OP_INIT_L0A, NPU_MEM_L0A, 512, TYPE_F16) &&
           check_init(OP_INIT_L0A, NPU_MEM_L0A, 512, TYPE_S8),
       "init/l0a");
    ok(check_init(OP_INIT_L0B, NPU_MEM_L0B, 512, TYPE_F32), "init/l0b");
    ok(check_init(OP_INIT_L1, NPU_MEM_L1, 32, TYPE_BF16) &&
           check_init(OP_INIT_L1, NPU_MEM_L1, 32, TYPE_U8),
       "init/l1");
}

/* --- single fractals --- */

static bool check_fractals(enum op op, bool transpose)
{
    bool in = op == OP_FRACTALS_GM_L0A || op == OP_FRACTALS_GM_L0B;
    enum npu_mem to =
        op == OP_FRACTALS_GM_L0A || op == OP_FRACTALS_L1_L0A ? NPU_MEM_L0A : NPU_MEM_L0B;
    union cmd c = rig_command(op, in ? TYPE_NONE : TYPE_F16);
    const uint8_t *from;

    start(to);
    if (in) {
        c.fractals_in.src = RIG_GM_BASE + 7;
        c.fractals_in.dst = 1024;
        c.fractals_in.start = 2;
        c.fractals_in.src_stride = 3;
        c.fractals_in.dst_gap = 1;
        c.fractals_in.repeat = 5;
    } else {
        c.fractals.src = 32;
        c.fractals.dst = 1024;
        c.fractals.start = 2;
        c.fractals.src_stride = 3;
        c.fractals.dst_gap = 1;
        c.fractals.repeat = 5;
        c.head.flags = transpose ? FRACTALS_L1_L0A_TRANSPOSE : 0;
    }
    from = in ? rig.gm + 7 : mem(NPU_MEM_L1) + 32;
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned e = 0; e < 256; e++) {
            unsigned x = transpose ? e % 16 * 16 + e / 16 : e;
            memcpy(want + 1024 + i * 1024 + e * 2, from + (2 + i * 3) * 512 + x * 2, 2);
        }
    }
    run(c);
    return as_wanted(to);
}

TEST(mte, fractals)
{
    rig_prices(TIMING_v1);
    ok(check_fractals(OP_FRACTALS_L1_L0A, false), "fractals/l1_to_l0a");
    ok(check_fractals(OP_FRACTALS_L1_L0B, false), "fractals/l1_to_l0b");
    ok(check_fractals(OP_FRACTALS_L1_L0A, true), "fractals/l1_to_l0a_transposed");
    ok(check_fractals(OP_FRACTALS_L1_L0B, true), "fractals/l1_to_l0b_transposed");
    ok(check_fractals(OP_FRACTALS_GM_L0A, false), "fractals/gm_to_l0a");
    ok(check_fractals(OP_FRACTALS_GM_L0B, false), "fractals/gm_to_l0b");
}

/* --- between local memories, L1 to GM --- */

static bool check_local(enum op op, enum npu_mem from, enum npu_mem to)
{
    union cmd c = rig_command(op, TYPE_NONE);

    start(to);
    c.copy_local.dst = 96;
    c.copy_local.src = 32;
    c.copy_local.n_blocks = 4;
    c.copy_local.len = 3;
    c.copy_local.src_gap = 2;
    c.copy_local.dst_gap = 1;
    run(c);
    for (unsigned b = 0; b < 4; b++) {
        memcpy(want + 96 + b * 128, mem(from) + 32 + b * 160, 96);
    }
    return as_wanted(to);
}

static bool check_bt(enum type type)
{
    union cmd c = rig_command(OP_COPY_L1_BT, type);
    unsigned from = 16 * type_bits(type) / 8;

    start(NPU_MEM_BT);
    /* Halves 1.0, -2.0, smallest subnormal, infinity, a NaN with a payload. */
    static const uint16_t half[] = {0x3c00, 0xc000, 1, 0x7c00, 0xfe01};
    static const uint32_t half_f32[] = {0x3f800000, 0xc0000000, 0x33800000, 0x7f800000,
                                        0x7fc00000};
    c.copy_bt.dst = 128;
    c.copy_bt.src = 32;
    c.copy_bt.n_blocks = 2;
    c.copy_bt.len = 2;
    c.copy_bt.src_gap = 1;
    c.copy_bt.dst_gap = 1;
    for (unsigned i = 0; i < 64 && type != TYPE_F32 && type != TYPE_S32; i++) {
        uint16_t h = type == TYPE_F16 ? half[i % 5] : (uint16_t)(0x3f80 + i);
        memcpy(mem(NPU_MEM_L1) + 32 + i / 32 * (2 * from + 32) + i % 32 * 2, &h, 2);
    }
    run(c);
    for (unsigned i = 0; i < 64; i++) {
        uint8_t *to = want + 128 + i / 32 * 192 + i % 32 * 4;
        uint32_t bf16 = (uint32_t)(0x3f80 + i) << 16;
        memcpy(to,
               type == TYPE_F16    ? (const void *)&half_f32[i % 5]
               : type == TYPE_BF16 ? (const void *)&bf16
                                   : mem(NPU_MEM_L1) + 32 + i / 32 * 160 + i % 32 * 4,
               4);
    }
    return as_wanted(NPU_MEM_BT);
}

TEST(mte, local)
{
    union cmd c = rig_command(OP_COPY_L1_GM, TYPE_NONE);

    ok(check_local(OP_COPY_L1_UB, NPU_MEM_L1, NPU_MEM_UB), "local/l1_to_ub");
    ok(check_local(OP_COPY_UB_L1, NPU_MEM_UB, NPU_MEM_L1), "local/ub_to_l1");
    ok(check_bt(TYPE_F32) && check_bt(TYPE_S32), "local/l1_to_bt");
    ok(check_bt(TYPE_F16), "local/l1_to_bt_widens_halves");
    ok(check_bt(TYPE_BF16), "local/l1_to_bt_widens_bfloats");

    start(NPU_MEM_L0A);
    c.copy_out.dst = RIG_GM_BASE + 1;
    c.copy_out.len_bytes = npu_mem_size(PROFILE_a2, NPU_MEM_L1); /* above UB's size */
    c.copy_out.n_blocks = 1;
    run(c);
    ok(memcmp(rig.gm + 1, mem(NPU_MEM_L1), AREA) == 0, "local/l1_to_gm_whole");
}

/* --- cycles, from profile.def by hand --- */

static uint64_t cost(union cmd c)
{
    fresh();
    return cycles_of(c);
}

TEST(mte, costs)
{
    union cmd c = pad_command(OP_COPY_PAD_GM_UB, TYPE_F16, 1, 32, 1);

    rig_prices(TIMING_v1);
    ok(cost(c) == 192 + 13, "pad/costs_its_rows_of_gm"); /* 3 * 512 / 125 */
    c = rig_command(OP_INIT_L0B, TYPE_F16);
    c.init.repeat = 1;
    c.init.len = 4;
    ok(cost(c) == 23 + 16, "init/costs_the_bytes_it_writes");
    c = rig_command(OP_COPY_L1_BT, TYPE_F32);
    c.copy_bt.n_blocks = 1;
    c.copy_bt.len = 16;
    ok(cost(c) == 31, "local/bias_of_1_kib_in_the_published_31_cycles");
    c = rig_command(OP_COPY_L1_UB, TYPE_NONE);
    c.copy_local.n_blocks = 2;
    c.copy_local.len = 32;
    ok(cost(c) == 23 + 16, "local/costs_128_bytes_a_cycle");
    c = rig_command(OP_FRACTALS_GM_L0A, TYPE_NONE);
    c.fractals_in.src = RIG_GM_BASE;
    c.fractals_in.src_stride = 1;
    c.fractals_in.repeat = 4;
    ok(cost(c) == 183 + 16, "fractals/gm_costs_128_bytes_a_cycle");
    c = rig_command(OP_COPY_L1_GM, TYPE_NONE);
    c.copy_out.dst = RIG_GM_BASE;
    c.copy_out.len_bytes = 1070;
    c.copy_out.n_blocks = 1;
    ok(cost(c) == 127 + 10, "local/l1_to_gm_costs_107_bytes_a_cycle");
    c = rig_command(OP_SET_PAD_MTE1, TYPE_NONE);
    ok(cost(c) == 1, "pad/setting_the_value_takes_a_cycle");
}

/* --- rules --- */

/* A command that is good; one field of it is then set to what breaks a rule. */
static union cmd good(const struct rule *rule)
{
    enum op op = rule->op;
    union cmd c;

    switch (op) {
    case OP_COPY_PAD_GM_UB:
    case OP_COPY_PAD_GM_L1:
        return pad_command(op, TYPE_F16, 1, 32, 1);
    case OP_INIT_L0A:
    case OP_INIT_L0B:
    case OP_INIT_L1:
        c = rig_command(op, TYPE_F16);
        c.init.repeat = 2;
        c.init.len = 1;
        return c;
    case OP_FRACTALS_L1_L0A:
    case OP_FRACTALS_L1_L0B:
        c = rig_command(op, TYPE_F16);
        c.head.flags = (uint8_t)rule->flags;
        c.fractals.repeat = 2;
        return c;
    case OP_FRACTALS_GM_L0A:
    case OP_FRACTALS_GM_L0B:
        c = rig_command(op, TYPE_NONE);
        c.fractals_in.src = RIG_GM_BASE;
        c.fractals_in.repeat = 2;
        return c;
    case OP_COPY_L1_BT:
        c = rig_command(op, TYPE_F32);
        c.copy_bt.n_blocks = 2;
        c.copy_bt.len = 1;
        return c;
    case OP_COPY_L1_GM:
        c = rig_command(op, TYPE_NONE);
        c.copy_out.dst = RIG_GM_BASE;
        c.copy_out.n_blocks = 2;
        c.copy_out.len_bytes = 64;
        return c;
    default:
        c = rig_command(op, TYPE_NONE);
        c.copy_local.n_blocks = 2;
        c.copy_local.len = 1;
        return c;
    }
}

/* clang-format off */
static const struct rule rules[] = {
    {"pad_of_half_an_element", OP_COPY_PAD_GM_UB, WRONG(copy_pad, len_bytes, 63, ALIGN)},
    {"left_padding_above_32_bytes", OP_COPY_PAD_GM_UB, WRONG(copy_pad, left, 17, RANGE)},
    {"right_padding_above_32_bytes", OP_COPY_PAD_GM_L1, WRONG(copy_pad, right, 17, RANGE)},
    {"left_padding_above_32_elements", OP_COPY_PAD_GM_UB, WRONG(copy_pad, left, 33, RANGE)},
    {"padded_length", OP_COPY_PAD_GM_UB, WRONG(copy_pad, len_bytes, 2097152, RANGE)},
    {"padded_blocks", OP_COPY_PAD_GM_UB, WRONG(copy_pad, n_blocks, 4096, RANGE)},
    {"padded_destination_unaligned", OP_COPY_PAD_GM_UB, WRONG(copy_pad, dst, 16, ALIGN)},
    {"padded_row_beyond_ub", OP_COPY_PAD_GM_UB, WRONG(copy_pad, dst, 196608 - 320, BOUNDS)},
    {"padded_row_beyond_l1", OP_COPY_PAD_GM_L1, WRONG(copy_pad, dst, 524288 - 320, BOUNDS)},
    {"padded_source_outside_dram", OP_COPY_PAD_GM_UB, WRONG(copy_pad, src, 4096, GM)},
    {"fill_of_l0a_between_fractals", OP_INIT_L0A, WRONG(init, dst, 32, ALIGN)},
    {"fill_of_l0b_between_fractals", OP_INIT_L0B, WRONG(init, dst, 544, ALIGN)},
    {"fill_of_l1_unaligned", OP_INIT_L1, WRONG(init, dst, 8, ALIGN)},
    {"fill_repeat", OP_INIT_L1, WRONG(init, repeat, 32768, RANGE)},
    {"fill_length", OP_INIT_L1, WRONG(init, len, 32768, RANGE)},
    {"fill_gap", OP_INIT_L1, WRONG(init, gap, 32768, RANGE)},
    {"fill_beyond_l0a", OP_INIT_L0A, WRONG(init, dst, 65536 - 512, BOUNDS)},
    {"fill_beyond_l0b", OP_INIT_L0B, WRONG(init, dst, 65536 - 512, BOUNDS)},
    {"fill_beyond_l1", OP_INIT_L1, WRONG(init, dst, 524288 - 32, BOUNDS)},
    {"fractals_beyond_l0a", OP_FRACTALS_L1_L0A, WRONG(fractals, dst, 65536 - 512, BOUNDS)},
    {"fractals_beyond_l0b", OP_FRACTALS_GM_L0B, WRONG(fractals_in, dst, 65536 - 512, BOUNDS)},
    {"fractals_destination_unaligned", OP_FRACTALS_L1_L0B, WRONG(fractals, dst, 32, ALIGN)},
    {"fractals_source_unaligned", OP_FRACTALS_L1_L0A, WRONG(fractals, src, 16, ALIGN)},
    {"fractals_source_beyond_l1", OP_FRACTALS_L1_L0A, WRONG(fractals, src, 524288 - 480, BOUNDS)},
    {"fractals_source_outside_dram", OP_FRACTALS_GM_L0A,
     WRONG(fractals_in, src, RIG_GM_BASE - 1, GM)},
    {"bias_unaligned", OP_COPY_L1_BT, WRONG(copy_bt, dst, 32, ALIGN)},
    {"bias_source_unaligned", OP_COPY_L1_BT, WRONG(copy_bt, src, 4, ALIGN)},
    {"bias_blocks", OP_COPY_L1_BT, WRONG(copy_bt, n_blocks, 4096, RANGE)},
    {"bias_beyond_bt", OP_COPY_L1_BT, WRONG(copy_bt, dst, 1024 - 64, BOUNDS)},
    {"bias_source_beyond_l1", OP_COPY_L1_BT, WRONG(copy_bt, src, 524288 - 64, BOUNDS)},
    {"local_copy_unaligned", OP_COPY_L1_UB, WRONG(copy_local, dst, 16, ALIGN)},
    {"local_source_unaligned", OP_COPY_UB_L1, WRONG(copy_local, src, 8, ALIGN)},
    {"local_blocks", OP_COPY_UB_L1, WRONG(copy_local, n_blocks, 4096, RANGE)},
    {"local_copy_beyond_ub", OP_COPY_L1_UB, WRONG(copy_local, dst, 196608 - 32, BOUNDS)},
    {"local_source_beyond_ub", OP_COPY_UB_L1, WRONG(copy_local, src, 196608 - 32, BOUNDS)},
    {"local_copy_beyond_l1", OP_COPY_UB_L1, WRONG(copy_local, dst, 524288 - 32, BOUNDS)},
    {"l1_beyond_its_end", OP_COPY_L1_GM, WRONG(copy_out, src, 524288 - 96, BOUNDS)},
    {"l1_to_outside_dram", OP_COPY_L1_GM, WRONG(copy_out, dst, 0, GM)},
    {"transposed_fractals_of_32_bits", OP_FRACTALS_L1_L0A,
     WRONG(head, type, TYPE_F32, TYPE), .flags = FRACTALS_L1_L0A_TRANSPOSE},
    {"bias_of_bytes", OP_COPY_L1_BT, WRONG(head, type, TYPE_S8, TYPE)},
};
/* clang-format on */

TEST(mte, rules)
{
    check_rules("mte/refuses_", rules, LENGTH(rules), good, NULL);
}
