/* SPDX-License-Identifier: MIT
 *
 * LOAD3D (img2col) against loops over output pixel, filter place and channel that know
 * nothing of blocks: the map is a function of (c, h, w), and each element of L0 is looked
 * up by the layouts of hal/contract/mte.md. On every host path; rules:
 * tests/model/rules/load3d_test.c.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/arith/simd.h"

enum { AREA = 65536, PAD = 0x5a6b7c8d };

static uint8_t want[AREA];

/* What the special registers are set to before a load. */
static const struct cmd_set_load3d_repeat once = {.times = 1};
static struct cmd_set_load3d_repeat repeat = {.times = 1};
static uint32_t boundary;

static uint32_t below(uint32_t limit)
{
    return rnd() % limit;
}

/* The map's element (c, h, w), or padding. */
static uint32_t pixel(const struct cmd_load3d *a, unsigned c, int h, int w)
{
    uint32_t v = c * 40503u + (unsigned)h * 2654435761u + (unsigned)w * 97u + 1;

    if (h < 0 || w < 0 || h >= a->map_h || w >= a->map_w) {
        return PAD;
    }
    return v ^ c << 16 ^ v >> 13;
}

/* Lays the map out in L1: planes of C0 channels, then one of those that are left. */
static void put_map(const struct cmd_load3d *a)
{
    unsigned bits = type_bits(a->head.type), c0 = type_c0(a->head.type);
    uint8_t *l1 = mem(NPU_MEM_L1);

    for (unsigned c = 0; c < a->channels; c++) {
        unsigned first = c / c0 * c0, n = a->channels - first;

        n = n < c0 ? n : c0;
        for (unsigned h = 0; h < a->map_h; h++) {
            for (unsigned w = 0; w < a->map_w; w++) {
                size_t i = (size_t)first * a->map_h * a->map_w +
                           (size_t)(h * a->map_w + w) * n + c % c0 + a->src * 8ul / bits;
                element_put(l1, boundary ? i % (boundary * 8ul / bits) : i, bits,
                            pixel(a, c, (int)h, (int)w));
            }
        }
    }
}

static unsigned places(unsigned size, unsigned pads, unsigned filter, unsigned dilation,
                       unsigned stride)
{
    return (size + pads - dilation * (filter - 1) - 1) / stride + 1;
}

static unsigned out_h(const struct cmd_load3d *a)
{
    return places(a->map_h, (unsigned)a->pad_top + a->pad_bottom, a->filter_h,
                  a->dilation_h, a->stride_h);
}

static unsigned out_w(const struct cmd_load3d *a)
{
    return places(a->map_w, (unsigned)a->pad_left + a->pad_right, a->filter_w,
                  a->dilation_w, a->stride_w);
}

/* Element (m, k) of the img2col matrix. */
static uint32_t img2col(const struct cmd_load3d *a, unsigned m, unsigned k)
{
    unsigned area = (unsigned)a->filter_h * a->filter_w;
    unsigned c0 = type_c0(a->head.type), first = k / area / c0 * c0, n = c0, place;

    if (m >= out_h(a) * out_w(a) || k >= a->channels * area) {
        return 0;
    }
    if (a->channels - first < c0) {
        n = a->channels - first; /* of the last block */
    }
    place = (k - first * area) / n;
    return pixel(a, first + (k - first * area) % n,
                 (int)(m / out_w(a) * a->stride_h + place / a->filter_w * a->dilation_h) -
                     a->pad_top,
                 (int)(m % out_w(a) * a->stride_w + place % a->filter_w * a->dilation_w) -
                     a->pad_left);
}

/* One iteration at `to`: x are the rows of L0's matrix, k the columns of a fractal of
 * 16 x C0. Returns its bytes. */
static size_t expect(uint8_t *to, const struct cmd_load3d *a, unsigned m_start,
                     unsigned k_start)
{
    unsigned bits = type_bits(a->head.type), c0 = type_c0(a->head.type);
    bool l0b = a->head.opcode == OP_LOAD3D_L0B;
    bool flip = l0b == !(a->head.flags & LOAD3D_L0A_TRANSPOSE);
    unsigned xs = flip ? a->k_len : a->m_len, ks = flip ? a->m_len : a->k_len;
    unsigned xb = up(xs, 16), kb = up(ks, c0);

    for (unsigned x = 0; x < xb * 16; x++) {
        for (unsigned k = 0; k < kb * c0; k++) {
            unsigned fractal = l0b ? k / c0 * xb + x / 16 : x / 16 * kb + k / c0;
            uint32_t v = x >= xs || k >= ks ? 0
                                            : img2col(a, m_start + (flip ? k : x),
                                                      k_start + (flip ? x : k));
            element_put(to + fractal * 512, x % 16 * c0 + k % c0, bits, v);
        }
    }
    return xb * kb * 512ul;
}

static void set_registers(void)
{
    union cmd set = rig_command(OP_SET_PAD_MTE1, TYPE_NONE);

    set.set_pad.value = PAD;
    run(set);
    set = rig_command(OP_SET_LOAD3D_REPEAT, TYPE_NONE);
    set.set_load3d_repeat.times = repeat.times;
    set.set_load3d_repeat.stride = repeat.stride;
    set.set_load3d_repeat.mode = repeat.mode;
    run(set);
    set = rig_command(OP_SET_LOAD3D_BOUNDARY, TYPE_NONE);
    set.set_load3d_boundary.bytes = boundary;
    run(set);
}

static bool check(union cmd c)
{
    enum npu_mem to = c.head.opcode == OP_LOAD3D_L0A ? NPU_MEM_L0A : NPU_MEM_L0B;
    const struct cmd_load3d *a = &c.load3d;
    uint8_t *at = want + a->dst;
    unsigned error;

    npu_reset(&rig.npu, rig.now);
    memset(mem(NPU_MEM_L1), 0xee, npu_mem_size(PROFILE_a2, NPU_MEM_L1));
    put_map(a);
    memset(mem(to), 0xa5, AREA);
    memset(want, 0xa5, AREA);
    for (unsigned i = 0; i < repeat.times; i++) {
        unsigned step = i * repeat.stride;
        at += expect(at, a, a->m_start + (repeat.mode ? 0 : step * 16),
                     a->k_start + (repeat.mode ? step * type_c0(a->head.type) : 0));
    }
    set_registers();
    error = run(c);
    if (error == 0 && same(mem(to), want, AREA)) {
        return true;
    }
    test_note("map %ux%u c %u, filter %ux%u, stride %u,%u, dilation %u,%u, pad "
              "%u,%u,%u,%u, m %u+%u, k %u+%u: %s",
              a->map_h, a->map_w, a->channels, a->filter_h, a->filter_w, a->stride_h,
              a->stride_w, a->dilation_h, a->dilation_w, a->pad_left, a->pad_right,
              a->pad_top, a->pad_bottom, a->m_start, a->m_len, a->k_start, a->k_len,
              npu_error_name(error));
    return false;
}

/* A whole number of blocks, or a part of one behind them. */
static unsigned any_channels(unsigned c0)
{
    unsigned smallest = c0 == 64 ? 8 : 4, part = smallest << below(4);

    return part < c0 && below(2) ? below(3) * c0 + part : (1 + below(3)) * c0;
}

/* Anything that keeps the rules. */
static union cmd any(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);
    struct cmd_load3d *a = &c.load3d;
    unsigned c0 = type_c0(type), k, start, n;

    a->dst = below(3) * 512;
    a->src = below(5) * 32;
    a->map_h = (uint16_t)(1 + below(20));
    a->map_w = (uint16_t)(1 + below(20));
    a->channels = (uint16_t)any_channels(c0);
    a->stride_h = (uint8_t)(1 + below(4));
    a->stride_w = (uint8_t)(1 + below(4));
    a->pad_left = (uint8_t)below(5);
    a->pad_right = (uint8_t)below(5);
    a->pad_top = (uint8_t)below(5);
    a->pad_bottom = (uint8_t)below(5);
    a->filter_h = (uint16_t)(1 + below(a->map_h + a->pad_top < 5 ? a->map_h : 5));
    a->filter_w = (uint16_t)(1 + below(a->map_w + a->pad_left < 5 ? a->map_w : 5));
    a->dilation_h = (uint8_t)(1 + below(a->filter_h == 1 ? 255
                                                         : (a->map_h + a->pad_top - 1u) /
                                                               (a->filter_h - 1u)));
    a->dilation_w = (uint8_t)(1 + below(a->filter_w == 1 ? 255
                                                         : (a->map_w + a->pad_left - 1u) /
                                                               (a->filter_w - 1u)));
    if (a->dilation_h * (a->filter_h - 1) >= a->map_h + a->pad_top) {
        a->dilation_h = 1;
    }
    if (a->dilation_w * (a->filter_w - 1) >= a->map_w + a->pad_left) {
        a->dilation_w = 1;
    }
    a->m_start = (uint16_t)below(out_h(a) * out_w(a));
    a->m_len = (uint16_t)(1 + below(100)); /* may end behind the last pixel */
    k = (unsigned)a->channels * a->filter_h * a->filter_w;
    start = below(up(k, c0));
    n = 1 + below(up(k, c0) - start);
    n = n > 14 ? 14 : n; /* so that it fits into L0 */
    a->k_start = (uint16_t)(start * c0);
    a->k_len = (uint16_t)(n * c0);
    if (start + n == up(k, c0)) { /* may end at the last column, or behind it */
        a->k_len = (uint16_t)(k - start * c0 + below((start + n) * c0 - k + 1));
    }
    return c;
}

/* Makes a command repeat as often as its matrix and L0 let it; m_len, k_len small. */
static void any_repeat(struct cmd_load3d *a)
{
    unsigned c0 = type_c0(a->head.type), end = a->channels * a->filter_h * a->filter_w;
    unsigned room;

    repeat = (struct cmd_set_load3d_repeat){.mode = (uint8_t)below(2),
                                            .times = (uint8_t)(2 + below(3)),
                                            .stride = (uint16_t)below(3)};
    a->m_len = (uint16_t)(a->m_len % 40 + 1);
    a->k_len = (uint16_t)(a->k_len > 3 * c0 || a->k_len % c0 ? c0 : a->k_len);
    room = repeat.mode ? (up(end, c0) * c0 - a->k_start - a->k_len) / c0
                       : (out_h(a) * out_w(a) - 1 - a->m_start) / 16;
    if (repeat.stride * (repeat.times - 1u) > room) {
        repeat.stride = (uint16_t)(room / (repeat.times - 1u));
    }
}

enum how { ONCE, AGAIN, AROUND };

/* Random loads of a kind: one iteration, some, or around the end of a part of L1. */
static bool check_any(enum op op, enum type type, uint8_t flags, enum how how)
{
    union cmd c = any(op, type);
    struct cmd_load3d *a = &c.load3d;
    size_t map = (size_t)a->map_h * a->map_w * a->channels * type_bits(type) / 8;
    bool good;

    c.head.flags = flags;
    if (how == AGAIN) {
        any_repeat(a);
    } else if (how == AROUND) {
        boundary = (uint32_t)(up((unsigned)map, 32) * 32 + 1024 + below(64) * 32);
        a->src = below(boundary / 32) * 32;
    }
    good = check(c);
    repeat = once;
    boundary = 0;
    return good;
}

static void test_loads(enum simd level)
{
    static const enum type types[] = {TYPE_S4, TYPE_S8, TYPE_BF16, TYPE_F32};
    static const enum op ops[] = {OP_LOAD3D_L0A, OP_LOAD3D_L0B};
    static const char *const names[] = {"", "_again", "_around"};

    for (unsigned t = 0; t < 4; t++) {
        for (unsigned i = 0; i < 4; i++) {
            uint8_t flags = i % 2 ? LOAD3D_L0A_TRANSPOSE : 0;
            union cmd c = rig_load3d(ops[i / 2], types[t]);

            c.head.flags = flags;
            for (enum how how = ONCE; how <= AROUND; how++) {
                bool good = check(c);
                for (unsigned n = 0; n < 20 * test_times; n++) {
                    good = check_any(ops[i / 2], types[t], flags, how) && good;
                }
                ok(good, "load3d/%s%s_%ubit_%s%s", i / 2 ? "l0b" : "l0a",
                   i % 2 ? "_t" : "", 4u << t, simd_name(level), names[how]);
            }
        }
    }
}

TEST(load3d, any)
{
    simd_limit(SIMD_AVX2); /* there is no path above it */
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        test_loads(level);
    }
}

/* Ascend's own picture: 4 channels, a filter of 3 x 3, rows of 36 elements. */
TEST(load3d, four_channels)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);

    c.load3d.channels = 4;
    c.load3d.k_len = 36;
    ok(check(c), "load3d/rows_of_36_from_4_channels");
    c.load3d.k_len = 48;
    ok(check(c), "load3d/columns_behind_the_last_are_0");
}

/* Filters above 255, every limit at once, windows that see nothing but padding. */
TEST(load3d, limits)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
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
    ok(run(c) == 0, "load3d/padding_reads_no_map");
}

/* Reads only the map rows and planes that its windows touch. */
TEST(load3d, partial_map)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
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
    run(c);
    ok(rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PMU_BYTES_READ)) - before == 3 * 200 * 32,
       "load3d/reads_the_map_rows_of_its_windows");
    a->m_start = 4 * 200;
    rig_push(&rig, 0, PIPE_MTE1, &c);
    ok(rig_error(&rig, 0, PIPE_MTE1) == NPU_ERR_BOUNDS, "load3d/but_not_less");
}
