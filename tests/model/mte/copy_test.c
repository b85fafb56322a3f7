/* SPDX-License-Identifier: MIT
 *
 * Commands of the DMA engines, pushed to the model: padded copies, fills, single
 * fractals, the paths between L1, UB and BT. Each result is compared with the whole
 * memory, so what must not be touched is compared too; each rule has a command that
 * breaks nothing else. LOAD3D: load3d_test.c; atomics: atomic_test.c.
 */
#include <string.h>

#include "tests/model/rig.h"
#include "tests/model/tap.h"

enum { AREA = 65536 };
static struct rig rig;
static uint8_t want[AREA];

static uint8_t *mem(enum npu_mem m)
{
    return rig.npu.mem[0][m];
}

/* A fresh chip; noise in GM and in the sources, the destination known. */
static void start(enum npu_mem dst)
{
    uint64_t seed = 7;

    if (rig.gm) {
        rig_close(&rig);
    }
    rig_open(&rig, 1, PROFILE_a2);
    for (unsigned i = 0; i < AREA; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        rig.gm[i] = (uint8_t)(seed >> 56);
        mem(NPU_MEM_L1)[i] = (uint8_t)(seed >> 48);
        mem(NPU_MEM_UB)[i] = (uint8_t)(seed >> 40);
    }
    memset(want, 0xa5, AREA);
    memset(mem(dst), 0xa5,
           npu_mem_size(PROFILE_a2, dst) < AREA ? npu_mem_size(PROFILE_a2, dst) : AREA);
}

static void run(union cmd c)
{
    enum pipe pipe = (enum pipe)cmd_find(c.head.opcode)->pipe;

    rig_push(&rig, 0, pipe, &c);
    rig_drain(&rig);
}

static bool same(enum npu_mem m)
{
    uint32_t size = npu_mem_size(PROFILE_a2, m);

    size = size < AREA ? size : AREA;
    for (unsigned i = 0; i < size; i++) {
        if (mem(m)[i] != want[i]) {
            tap_note("byte %u is %02x, want %02x", i, mem(m)[i], want[i]);
            return false;
        }
    }
    return true;
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
    return same(to) && rig_error(&rig, 0, PIPE_MTE2) == 0;
}

static void test_pad(void)
{
    static const enum type types[] = {TYPE_S8, TYPE_F16, TYPE_F32};

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
    return same(to);
}

static void test_init(void)
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
    return same(to);
}

static void test_fractals(void)
{
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
    return same(to);
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
    return same(NPU_MEM_BT);
}

static void test_local(void)
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

static uint64_t cycles(union cmd c)
{
    enum pipe pipe = (enum pipe)cmd_find(c.head.opcode)->pipe;

    start(NPU_MEM_L0A);
    rig_push(&rig, 0, pipe, &c);
    return npu_next(&rig.npu);
}

static void test_costs(void)
{
    union cmd c = pad_command(OP_COPY_PAD_GM_UB, TYPE_F16, 1, 32, 1);

    ok(cycles(c) == 192 + 13, "pad/costs_its_rows_of_gm"); /* 3 * 512 / 125 */
    c = rig_command(OP_INIT_L0B, TYPE_F16);
    c.init.repeat = 1;
    c.init.len = 4;
    ok(cycles(c) == 23 + 16, "init/costs_the_bytes_it_writes");
    c = rig_command(OP_COPY_L1_BT, TYPE_F32);
    c.copy_bt.n_blocks = 1;
    c.copy_bt.len = 16;
    ok(cycles(c) == 31, "local/bias_of_1_kib_in_the_published_31_cycles");
    c = rig_command(OP_COPY_L1_UB, TYPE_NONE);
    c.copy_local.n_blocks = 2;
    c.copy_local.len = 32;
    ok(cycles(c) == 23 + 16, "local/costs_128_bytes_a_cycle");
    c = rig_command(OP_FRACTALS_GM_L0A, TYPE_NONE);
    c.fractals_in.src = RIG_GM_BASE;
    c.fractals_in.src_stride = 1;
    c.fractals_in.repeat = 4;
    ok(cycles(c) == 183 + 16, "fractals/gm_costs_128_bytes_a_cycle");
    c = rig_command(OP_COPY_L1_GM, TYPE_NONE);
    c.copy_out.dst = RIG_GM_BASE;
    c.copy_out.len_bytes = 1070;
    c.copy_out.n_blocks = 1;
    ok(cycles(c) == 127 + 10, "local/l1_to_gm_costs_107_bytes_a_cycle");
    c = rig_command(OP_SET_PAD_MTE1, TYPE_NONE);
    ok(cycles(c) == 1, "pad/setting_the_value_takes_a_cycle");
}

/* --- rules --- */

/* A command that is good; one field of it is then set to what breaks a rule. */
static union cmd good(enum op op)
{
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

#define OF(format, field)                                                                \
    offsetof(struct cmd_##format, field), sizeof(((struct cmd_##format *)0)->field)

static const struct {
    const char *name;
    enum op op;
    unsigned offset, size;
    uint64_t value;
    unsigned code;
} rules[] = {
    {"pad_of_half_an_element", OP_COPY_PAD_GM_UB, OF(copy_pad, len_bytes), 63,
     NPU_ERR_ALIGN},
    {"left_padding_above_32_bytes", OP_COPY_PAD_GM_UB, OF(copy_pad, left), 17,
     NPU_ERR_RANGE},
    {"right_padding_above_32_bytes", OP_COPY_PAD_GM_L1, OF(copy_pad, right), 17,
     NPU_ERR_RANGE},
    {"left_padding_above_32_elements", OP_COPY_PAD_GM_UB, OF(copy_pad, left), 33,
     NPU_ERR_RANGE},
    {"padded_length", OP_COPY_PAD_GM_UB, OF(copy_pad, len_bytes), 2097152, NPU_ERR_RANGE},
    {"padded_blocks", OP_COPY_PAD_GM_UB, OF(copy_pad, n_blocks), 4096, NPU_ERR_RANGE},
    {"padded_destination_unaligned", OP_COPY_PAD_GM_UB, OF(copy_pad, dst), 16,
     NPU_ERR_ALIGN},
    {"padded_row_beyond_ub", OP_COPY_PAD_GM_UB, OF(copy_pad, dst), 196608 - 320,
     NPU_ERR_BOUNDS},
    {"padded_row_beyond_l1", OP_COPY_PAD_GM_L1, OF(copy_pad, dst), 524288 - 320,
     NPU_ERR_BOUNDS},
    {"padded_source_outside_dram", OP_COPY_PAD_GM_UB, OF(copy_pad, src), 4096,
     NPU_ERR_GM},
    {"fill_of_l0a_between_fractals", OP_INIT_L0A, OF(init, dst), 32, NPU_ERR_ALIGN},
    {"fill_of_l0b_between_fractals", OP_INIT_L0B, OF(init, dst), 544, NPU_ERR_ALIGN},
    {"fill_of_l1_unaligned", OP_INIT_L1, OF(init, dst), 8, NPU_ERR_ALIGN},
    {"fill_repeat", OP_INIT_L1, OF(init, repeat), 32768, NPU_ERR_RANGE},
    {"fill_length", OP_INIT_L1, OF(init, len), 32768, NPU_ERR_RANGE},
    {"fill_gap", OP_INIT_L1, OF(init, gap), 32768, NPU_ERR_RANGE},
    {"fill_beyond_l0a", OP_INIT_L0A, OF(init, dst), 65536 - 512, NPU_ERR_BOUNDS},
    {"fill_beyond_l0b", OP_INIT_L0B, OF(init, dst), 65536 - 512, NPU_ERR_BOUNDS},
    {"fill_beyond_l1", OP_INIT_L1, OF(init, dst), 524288 - 32, NPU_ERR_BOUNDS},
    {"fractals_beyond_l0a", OP_FRACTALS_L1_L0A, OF(fractals, dst), 65536 - 512,
     NPU_ERR_BOUNDS},
    {"fractals_beyond_l0b", OP_FRACTALS_GM_L0B, OF(fractals_in, dst), 65536 - 512,
     NPU_ERR_BOUNDS},
    {"fractals_destination_unaligned", OP_FRACTALS_L1_L0B, OF(fractals, dst), 32,
     NPU_ERR_ALIGN},
    {"fractals_source_unaligned", OP_FRACTALS_L1_L0A, OF(fractals, src), 16,
     NPU_ERR_ALIGN},
    {"fractals_source_beyond_l1", OP_FRACTALS_L1_L0A, OF(fractals, src), 524288 - 480,
     NPU_ERR_BOUNDS},
    {"fractals_source_outside_dram", OP_FRACTALS_GM_L0A, OF(fractals_in, src),
     RIG_GM_BASE - 1, NPU_ERR_GM},
    {"bias_unaligned", OP_COPY_L1_BT, OF(copy_bt, dst), 32, NPU_ERR_ALIGN},
    {"bias_source_unaligned", OP_COPY_L1_BT, OF(copy_bt, src), 4, NPU_ERR_ALIGN},
    {"bias_blocks", OP_COPY_L1_BT, OF(copy_bt, n_blocks), 4096, NPU_ERR_RANGE},
    {"bias_beyond_bt", OP_COPY_L1_BT, OF(copy_bt, dst), 1024 - 64, NPU_ERR_BOUNDS},
    {"bias_source_beyond_l1", OP_COPY_L1_BT, OF(copy_bt, src), 524288 - 64,
     NPU_ERR_BOUNDS},
    {"local_copy_unaligned", OP_COPY_L1_UB, OF(copy_local, dst), 16, NPU_ERR_ALIGN},
    {"local_source_unaligned", OP_COPY_UB_L1, OF(copy_local, src), 8, NPU_ERR_ALIGN},
    {"local_blocks", OP_COPY_UB_L1, OF(copy_local, n_blocks), 4096, NPU_ERR_RANGE},
    {"local_copy_beyond_ub", OP_COPY_L1_UB, OF(copy_local, dst), 196608 - 32,
     NPU_ERR_BOUNDS},
    {"local_source_beyond_ub", OP_COPY_UB_L1, OF(copy_local, src), 196608 - 32,
     NPU_ERR_BOUNDS},
    {"local_copy_beyond_l1", OP_COPY_UB_L1, OF(copy_local, dst), 524288 - 32,
     NPU_ERR_BOUNDS},
    {"l1_beyond_its_end", OP_COPY_L1_GM, OF(copy_out, src), 524288 - 96, NPU_ERR_BOUNDS},
    {"l1_to_outside_dram", OP_COPY_L1_GM, OF(copy_out, dst), 0, NPU_ERR_GM},
};

static bool broken(const union cmd *c, unsigned code, unsigned field)
{
    enum pipe pipe = (enum pipe)cmd_find(c->head.opcode)->pipe;
    static uint8_t gm[AREA], l1[AREA], ub[AREA];
    uint64_t error;

    start(NPU_MEM_L0A);
    memcpy(gm, rig.gm, AREA);
    memcpy(l1, mem(NPU_MEM_L1), AREA);
    memcpy(ub, mem(NPU_MEM_UB), AREA);
    run(*c);
    error = rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR));
    return field_get(PIPE_ERROR_CODE, error) == code &&
           field_get(PIPE_ERROR_FIELD, error) == field && memcmp(gm, rig.gm, AREA) == 0 &&
           memcmp(l1, mem(NPU_MEM_L1), AREA) == 0 &&
           memcmp(ub, mem(NPU_MEM_UB), AREA) == 0 && same(NPU_MEM_L0A);
}

static void test_rules(void)
{
    union cmd c;

    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        c = good(rules[i].op);
        start(NPU_MEM_L0A);
        run(c);
        bool fine = rig_error(&rig, 0, (enum pipe)cmd_find(c.head.opcode)->pipe) == 0;
        memcpy(c.bytes + rules[i].offset, &rules[i].value, rules[i].size);
        ok(fine && broken(&c, rules[i].code, rules[i].offset), "mte/refuses_%s",
           rules[i].name);
    }
    c = good(OP_FRACTALS_L1_L0A);
    c.head.type = TYPE_F32;
    c.head.flags = FRACTALS_L1_L0A_TRANSPOSE;
    ok(broken(&c, NPU_ERR_TYPE, offsetof(struct cmd_head, type)),
       "mte/refuses_transposed_fractals_of_32_bits");
    c = good(OP_COPY_L1_BT);
    c.head.type = TYPE_S8;
    ok(broken(&c, NPU_ERR_TYPE, offsetof(struct cmd_head, type)),
       "mte/refuses_bias_of_bytes");
}

int main(void)
{
    test_pad();
    test_init();
    test_fractals();
    test_local();
    test_costs();
    test_rules();
    rig_close(&rig);
    return tap_done();
}
