/* SPDX-License-Identifier: MIT
 *
 * LOAD3D (img2col) against loops over output pixel, filter place and channel that know
 * nothing of blocks: the map is a function of (c, h, w), and each element of L0 is looked
 * up by the layouts of hal/contract/mte.md. On every host path, and the rules.
 */
#include <string.h>

#include "tests/host/rig.h"
#include "tests/host/tap.h"
#include "tools/emu/model/simd.h"

enum { AREA = 65536, PAD = 0x5a6b7c8d };

static struct rig rig;
static uint8_t want[AREA];

static uint32_t rnd(uint32_t below)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 16) % below;
}

/* The map's element (c, h, w), or padding. */
static uint32_t pixel(const struct cmd_load3d *a, unsigned c, int h, int w)
{
    if (h < 0 || w < 0 || h >= a->map_h || w >= a->map_w) {
        return PAD;
    }
    return (c * 40503u + (unsigned)h * 2654435761u + (unsigned)w * 97u + 1) ^ c << 16;
}

/* Lays the map out in L1 as NC1HWC0. */
static void put_map(const struct cmd_load3d *a)
{
    unsigned esize = type_bits(a->head.type) / 8, c0 = 32 / esize;
    unsigned blocks = (a->channels + c0 - 1) / c0;

    for (unsigned c = 0; c < blocks * c0; c++) {
        for (unsigned h = 0; h < a->map_h; h++) {
            for (unsigned w = 0; w < a->map_w; w++) {
                uint32_t v = pixel(a, c, (int)h, (int)w);
                size_t at = a->src + ((c / c0 * a->map_h + h) * a->map_w + w) * 32ul +
                            c % c0 * esize;
                memcpy(rig.npu.mem[0][NPU_MEM_L1] + at, &v, esize);
            }
        }
    }
}

/* Element (m, k) of the img2col matrix. */
static uint32_t img2col(const struct cmd_load3d *a, unsigned m, unsigned k)
{
    unsigned c0 = type_c0(a->head.type);
    unsigned out_h =
        (a->map_h + a->pad_top + a->pad_bottom - a->dilation_h * (a->filter_h - 1) - 1) /
            a->stride_h +
        1;
    unsigned out_w =
        (a->map_w + a->pad_left + a->pad_right - a->dilation_w * (a->filter_w - 1) - 1) /
            a->stride_w +
        1;
    unsigned kw = k / c0 % a->filter_w, kh = k / c0 / a->filter_w % a->filter_h;
    unsigned c = k / c0 / a->filter_w / a->filter_h * c0 + k % c0;

    if (m >= out_h * out_w) {
        return 0;
    }
    return pixel(a, c, (int)(m / out_w * a->stride_h + kh * a->dilation_h) - a->pad_top,
                 (int)(m % out_w * a->stride_w + kw * a->dilation_w) - a->pad_left);
}

/* X = L0's matrix: rows x, columns k of a fractal of 16 x C0. */
static void expect(const struct cmd_load3d *a, bool l0b)
{
    unsigned esize = type_bits(a->head.type) / 8, c0 = 32 / esize;
    bool flip = l0b == !(a->head.flags & LOAD3D_L0A_TRANSPOSE);
    unsigned xs = flip ? a->k_len : a->m_len, ks = flip ? a->m_len : a->k_len;
    unsigned xb = (xs + 15) / 16, kb = (ks + c0 - 1) / c0;

    memset(want, 0xa5, AREA);
    for (unsigned x = 0; x < xb * 16; x++) {
        for (unsigned k = 0; k < kb * c0; k++) {
            unsigned fractal = l0b ? k / c0 * xb + x / 16 : x / 16 * kb + k / c0;
            uint32_t v = x >= xs || k >= ks ? 0
                                            : img2col(a, a->m_start + (flip ? k : x),
                                                      a->k_start + (flip ? x : k));
            memcpy(want + a->dst + fractal * 512 + x % 16 * 32 + k % c0 * esize, &v,
                   esize);
        }
    }
}

static bool check(union cmd c)
{
    enum npu_mem to = c.head.opcode == OP_LOAD3D_L0A ? NPU_MEM_L0A : NPU_MEM_L0B;
    union cmd set = rig_command(OP_SET_PAD_MTE1, TYPE_NONE);
    const struct cmd_load3d *a = &c.load3d;

    npu_reset(&rig.npu, rig.now);
    memset(rig.npu.mem[0][NPU_MEM_L1], 0xee, npu_mem_size(PROFILE_a2, NPU_MEM_L1));
    put_map(a);
    memset(rig.npu.mem[0][to], 0xa5, AREA);
    expect(a, to == NPU_MEM_L0B);
    set.set_pad.value = PAD;
    rig_push(&rig, 0, PIPE_MTE1, &set);
    rig_push(&rig, 0, PIPE_MTE1, &c);
    rig_drain(&rig);
    for (unsigned i = 0; i < AREA; i++) {
        if (rig.npu.mem[0][to][i] != want[i]) {
            tap_note("map %ux%u c %u, filter %ux%u, stride %u,%u, dilation %u,%u, pad "
                     "%u,%u,%u,%u, m %u+%u, k %u+%u: byte %u is %02x, want %02x (error "
                     "%u)",
                     a->map_h, a->map_w, a->channels, a->filter_h, a->filter_w,
                     a->stride_h, a->stride_w, a->dilation_h, a->dilation_w, a->pad_left,
                     a->pad_right, a->pad_top, a->pad_bottom, a->m_start, a->m_len,
                     a->k_start, a->k_len, i, rig.npu.mem[0][to][i], want[i],
                     rig_error(&rig, 0, PIPE_MTE1));
            return false;
        }
    }
    return true;
}

/* A 3 x 3 filter on 9 x 11 pixels of two channel blocks, padding 1. */
static union cmd plain(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);
    unsigned c0 = type_c0(type);

    c.load3d.dst = 512;
    c.load3d.src = 64;
    c.load3d.map_h = 9;
    c.load3d.map_w = 11;
    c.load3d.channels = (uint16_t)(2 * c0 - 3);
    c.load3d.filter_h = c.load3d.filter_w = 3;
    c.load3d.stride_h = c.load3d.stride_w = 1;
    c.load3d.dilation_h = c.load3d.dilation_w = 1;
    c.load3d.pad_left = c.load3d.pad_right = 1;
    c.load3d.pad_top = c.load3d.pad_bottom = 1;
    c.load3d.m_len = 50;
    c.load3d.k_len = (uint16_t)(9 * c0);
    return c;
}

/* Anything that keeps the rules. */
static union cmd any(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);
    struct cmd_load3d *a = &c.load3d;
    unsigned c0 = type_c0(type), k, out_h, out_w, m;

    a->dst = rnd(3) * 512;
    a->src = rnd(5) * 32;
    a->map_h = (uint16_t)(1 + rnd(20));
    a->map_w = (uint16_t)(1 + rnd(20));
    a->channels = (uint16_t)(1 + rnd(3 * c0));
    a->stride_h = (uint8_t)(1 + rnd(4));
    a->stride_w = (uint8_t)(1 + rnd(4));
    a->pad_left = (uint8_t)rnd(5);
    a->pad_right = (uint8_t)rnd(5);
    a->pad_top = (uint8_t)rnd(5);
    a->pad_bottom = (uint8_t)rnd(5);
    a->filter_h = (uint16_t)(1 + rnd(a->map_h + a->pad_top < 5 ? a->map_h : 5));
    a->filter_w = (uint16_t)(1 + rnd(a->map_w + a->pad_left < 5 ? a->map_w : 5));
    a->dilation_h = (uint8_t)(1 + rnd(a->filter_h == 1 ? 255
                                                       : (a->map_h + a->pad_top - 1u) /
                                                             (a->filter_h - 1u)));
    a->dilation_w = (uint8_t)(1 + rnd(a->filter_w == 1 ? 255
                                                       : (a->map_w + a->pad_left - 1u) /
                                                             (a->filter_w - 1u)));
    if (a->dilation_h * (a->filter_h - 1) >= a->map_h + a->pad_top) {
        a->dilation_h = 1;
    }
    if (a->dilation_w * (a->filter_w - 1) >= a->map_w + a->pad_left) {
        a->dilation_w = 1;
    }
    out_h =
        (a->map_h + a->pad_top + a->pad_bottom - a->dilation_h * (a->filter_h - 1u) - 1) /
            a->stride_h +
        1;
    out_w =
        (a->map_w + a->pad_left + a->pad_right - a->dilation_w * (a->filter_w - 1u) - 1) /
            a->stride_w +
        1;
    m = out_h * out_w;
    k = (a->channels + c0 - 1) / c0 * a->filter_h * a->filter_w;
    a->m_start = (uint16_t)rnd(m);
    a->m_len = (uint16_t)rnd(100); /* may end behind the last pixel */
    a->k_start = (uint16_t)rnd(k);
    a->k_len = (uint16_t)(1 + rnd(k - a->k_start));
    a->k_len = a->k_len > 14 ? 14 : a->k_len; /* so that it fits into L0 */
    a->k_start = (uint16_t)(a->k_start * c0);
    a->k_len = (uint16_t)(a->k_len * c0);
    return c;
}

static void test_loads(enum simd level)
{
    static const enum type types[] = {TYPE_S8, TYPE_BF16, TYPE_F32};
    static const enum op ops[] = {OP_LOAD3D_L0A, OP_LOAD3D_L0B};

    for (unsigned t = 0; t < 3; t++) {
        for (unsigned i = 0; i < 4; i++) {
            uint8_t flags = i % 2 ? LOAD3D_L0A_TRANSPOSE : 0;
            union cmd c = plain(ops[i / 2], types[t]);
            bool good;
            c.head.flags = flags;
            good = check(c);
            for (unsigned n = 0; n < 60; n++) {
                c = any(ops[i / 2], types[t]);
                c.head.flags = flags;
                good = check(c) && good;
            }
            ok(good, "load3d/%s%s_%ubit_%s", i / 2 ? "l0b" : "l0a", i % 2 ? "_t" : "",
               8u << t, simd_name(level));
        }
    }
}

/* Filters above 255, every limit at once, windows that see nothing but padding. */
static void test_limits(void)
{
    union cmd c = plain(OP_LOAD3D_L0A, TYPE_F16);
    struct cmd_load3d *a = &c.load3d;

    a->map_h = a->map_w = 3;
    a->channels = 16;
    a->pad_left = a->pad_right = a->pad_top = a->pad_bottom = 255;
    a->filter_h = a->filter_w = 511;
    a->m_len = 9;
    a->k_len = 160;
    a->k_start = 65520 - 160;
    ok(check(c), "load3d/filter_of_511");
    a->filter_h = a->filter_w = 3;
    a->dilation_h = a->dilation_w = 255;
    a->stride_h = a->stride_w = 1;
    a->k_start = 0;
    a->k_len = 144;
    ok(check(c), "load3d/dilation_of_255");
    a->dilation_h = a->dilation_w = 1;
    a->stride_h = a->stride_w = 63;
    a->m_len = 64;
    ok(check(c), "load3d/stride_of_63");
    a->stride_h = a->stride_w = 1;
    a->m_len = 32;
    ok(check(c), "load3d/nothing_but_padding");
    npu_reset(&rig.npu, rig.now);
    a->src = 524288 - 32; /* nothing is read, so nothing can be outside */
    rig_push(&rig, 0, PIPE_MTE1, &c);
    rig_drain(&rig);
    ok(rig_error(&rig, 0, PIPE_MTE1) == 0, "load3d/padding_reads_no_map");
    a->m_len = 0;
    a->src = 0;
    ok(check(c), "load3d/no_rows");
}

/* Reads only the map rows and planes that its windows touch. */
static void test_partial_map(void)
{
    union cmd c = plain(OP_LOAD3D_L0A, TYPE_F16);
    struct cmd_load3d *a = &c.load3d;

    a->map_h = 100;
    a->map_w = 200;
    a->src = 524288 - 5 * 200 * 32;
    a->channels = 16;
    a->m_len = 200; /* output row 0: map rows 0 and 1 */
    npu_reset(&rig.npu, rig.now);
    rig_push(&rig, 0, PIPE_MTE1, &c);
    ok(rig_error(&rig, 0, PIPE_MTE1) == 0 && npu_next(&rig.npu) - rig.now == 23 + 234,
       "load3d/may_have_a_part_of_its_map_in_l1"); /* 13 * 9 * 512 / 256 */
    rig_drain(&rig);
    a->m_start = 2 * 200; /* output row 2: map rows 1 to 3 */
    uint64_t before = rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PMU_BYTES_READ));
    rig_push(&rig, 0, PIPE_MTE1, &c);
    rig_drain(&rig);
    ok(rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PMU_BYTES_READ)) - before == 3 * 200 * 32,
       "load3d/reads_the_map_rows_of_its_windows");
    a->m_start = 4 * 200;
    rig_push(&rig, 0, PIPE_MTE1, &c);
    ok(rig_error(&rig, 0, PIPE_MTE1) == NPU_ERR_BOUNDS, "load3d/but_not_less");
}

#define OF(field)                                                                        \
    offsetof(struct cmd_load3d, field), sizeof(((struct cmd_load3d *)0)->field)

static const struct {
    const char *name;
    unsigned offset, size;
    uint64_t value;
    unsigned code;
} rules[] = {
    {"a_filter_higher_than_the_map", OF(filter_h), 12, NPU_ERR_RANGE},
    {"a_filter_wider_than_the_map", OF(filter_w), 14, NPU_ERR_RANGE},
    {"a_filter_height_of_512", OF(filter_h), 512, NPU_ERR_RANGE},
    {"a_filter_width_of_0", OF(filter_w), 0, NPU_ERR_RANGE},
    {"a_filter_height_of_0", OF(filter_h), 0, NPU_ERR_RANGE},
    {"a_filter_width_of_512", OF(filter_w), 512, NPU_ERR_RANGE},
    {"a_map_of_32768_rows", OF(map_h), 32768, NPU_ERR_RANGE},
    {"a_map_of_32768_columns", OF(map_w), 32768, NPU_ERR_RANGE},
    {"a_map_without_rows", OF(map_h), 0, NPU_ERR_RANGE},
    {"a_map_without_columns", OF(map_w), 0, NPU_ERR_RANGE},
    {"no_channels", OF(channels), 0, NPU_ERR_RANGE},
    {"a_stride_h_of_64", OF(stride_h), 64, NPU_ERR_RANGE},
    {"a_stride_w_of_64", OF(stride_w), 64, NPU_ERR_RANGE},
    {"a_stride_h_of_0", OF(stride_h), 0, NPU_ERR_RANGE},
    {"a_stride_w_of_0", OF(stride_w), 0, NPU_ERR_RANGE},
    {"a_dilation_h_of_0", OF(dilation_h), 0, NPU_ERR_RANGE},
    {"a_dilation_w_of_0", OF(dilation_w), 0, NPU_ERR_RANGE},
    {"a_start_inside_a_block", OF(k_start), 8, NPU_ERR_ALIGN},
    {"a_part_of_a_block", OF(k_len), 24, NPU_ERR_ALIGN},
    {"columns_beyond_the_last", OF(k_len), 19 * 16, NPU_ERR_RANGE},
    {"a_start_behind_the_last_row", OF(m_start), 99, NPU_ERR_RANGE},
    {"an_unaligned_destination", OF(dst), 256, NPU_ERR_ALIGN},
    {"an_unaligned_source", OF(src), 16, NPU_ERR_ALIGN},
    {"a_map_beyond_l1", OF(src), 524288 - 32, NPU_ERR_BOUNDS},
    {"more_than_l0a_holds", OF(dst), 65536 - 512, NPU_ERR_BOUNDS},
};

static void test_rules(void)
{
    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        union cmd c = plain(OP_LOAD3D_L0A, TYPE_F16);
        uint64_t error;

        memcpy(c.bytes + rules[i].offset, &rules[i].value, rules[i].size);
        npu_reset(&rig.npu, rig.now);
        memset(rig.npu.mem[0][NPU_MEM_L0A], 0xa5, AREA);
        memset(want, 0xa5, AREA);
        rig_push(&rig, 0, PIPE_MTE1, &c);
        rig_drain(&rig);
        error = rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PIPE_ERROR));
        ok(field_get(PIPE_ERROR_CODE, error) == rules[i].code &&
               field_get(PIPE_ERROR_FIELD, error) == rules[i].offset &&
               memcmp(rig.npu.mem[0][NPU_MEM_L0A], want, AREA) == 0,
           "load3d/refuses_%s", rules[i].name);
    }
}

int main(void)
{
    rig_open(&rig, 1, PROFILE_a2);
    simd_limit(SIMD_AVX2);
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        test_loads(level);
    }
    test_limits();
    test_partial_map();
    test_rules();
    rig_close(&rig);
    return tap_done();
}
