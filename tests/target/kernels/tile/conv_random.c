/* SPDX-License-Identifier: MIT
 *
 * Random convolutions in programs, with what may follow them, against the interpreter.
 */
#include <stdio.h>

#include "kernels/tile/tile.h"
#include "tests/target/kernels/tile/check.h"
#include "tests/target/test.h"

enum { SEEDS = 30, TEXT = 512 };

static uint32_t seed;

/* 0 .. n - 1 */
static uint32_t pick(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % n;
}

/* Channels are named by their sizes, so no two of them are the same. */
struct channels {
    uint32_t in, out, inner, groups;
};

static struct channels pick_channels(void)
{
    static const uint8_t sizes[] = {1, 3, 4, 8, 15, 16, 17, 31, 32, 33, 48, 64, 70, 130};
    struct channels c = {.in = sizes[pick(sizeof(sizes))],
                         .out = sizes[pick(sizeof(sizes))],
                         .groups = 1 + pick(3) / 2 * (1 + pick(3))};

    if (c.groups > 1) {
        c.inner = 1 + pick(20);
        c.in = c.inner * c.groups;
        c.out = (c.out + c.groups - 1) / c.groups * c.groups;
    }
    while (c.out == c.in || (c.groups > 1 && c.out == c.inner)) {
        c.out += c.groups;
    }
    c.inner = c.groups == 1 ? c.in : c.inner;
    return c;
}

/* In a program: digits; of each channel by itself, as many in as out, what has the map's
 * columns. */
struct names {
    char in[8], out[8], inner[8];
};

static void write_channels(struct channels *c, uint32_t columns, struct names *names)
{
    if (pick(8) == 0 && columns > 1) {
        *c = (struct channels){.groups = columns};
        *names = (struct names){"n2", "n3", "1"};
        return;
    }
    snprintf(names->in, sizeof(names->in), "%lu", (unsigned long)c->in);
    snprintf(names->out, sizeof(names->out), "%lu", (unsigned long)c->out);
    snprintf(names->inner, sizeof(names->inner), "%lu", (unsigned long)c->inner);
}

/* What is computed of the sums of f16, of s8. */
static const char *const of_halves[][2] = {
    {"f32", "u"},
    {"f16", "f16(relu(u + g))"},
    {"f32", "tanh(u * 0.01) + r"},
    {"f16", "f16(silu(u * 0.1 + g) * r)"},
    {"f32", "where(u < r, r, u) - g"},
};
static const char *const of_bytes[][2] = {
    {"s32", "u"},
    {"s32", "relu(u)"},
    {"s8", "s8(f32(u) * 0.01 + g)"},
    {"f16", "f16(f32(u) * 1e-3 - f32(r))"},
};

/* One side's stride, dilation and pads: as much of the map as the filter wants, and more. */
struct side {
    uint32_t map, stride, dilation, before, behind;
};

static struct side pick_side(uint32_t filter)
{
    struct side s = {.stride = 1 + pick(3), .dilation = 1 + pick(2)};
    uint32_t reach = (filter - 1) * s.dilation + 1;

    s.before = pick(reach < 4 ? reach : 4);
    s.behind = pick(reach < 4 ? reach : 4);
    s.map = (reach > s.before + s.behind ? reach - s.before - s.behind : 1) + pick(24);
    return s;
}

static void check_one(uint32_t number)
{
    static const char *const types[] = {"f16", "s8"};
    static const char *const of[][2] = {{"x", "x"}, {"f16(relu(x))", "s8(f32(x) * 0.5)"}};
    bool bytes = pick(3) == 0;
    const char *const *way =
        bytes ? of_bytes[pick(sizeof(of_bytes) / sizeof(of_bytes[0]))]
              : of_halves[pick(sizeof(of_halves) / sizeof(of_halves[0]))];
    struct channels c = pick_channels();
    uint32_t k = 1 + pick(4);
    struct side rows = pick_side(k), columns = pick_side(k);
    struct shape shape;
    struct names names;
    char text[TEXT];

    shape = (struct shape){.b = 1 + pick(3), .m = rows.map, .n = columns.map, .k = k};
    write_channels(&c, shape.n, &names);
    snprintf(
        text, sizeof(text),
        "kernel c(x: %s[b, m, n, %s], w: %s[%s, k, k2, %s], g: f32[%s],"
        " r: f16[b, p, q, %s]) -> y: %s[b, p, q, %s]%s\n"
        " u = conv(%s, w, to p q, stride %lu %lu, dilation %lu %lu, pad %lu %lu %lu %lu,"
        " groups %lu)\n y = %s\n",
        types[bytes], names.in, types[bytes], names.out, names.inner, names.out,
        names.out, way[0], names.out, pick(4) ? "" : " +=", of[pick(6) == 0][bytes],
        (unsigned long)rows.stride, (unsigned long)columns.stride,
        (unsigned long)rows.dilation, (unsigned long)columns.dilation,
        (unsigned long)rows.before, (unsigned long)columns.before,
        (unsigned long)rows.behind, (unsigned long)columns.behind,
        (unsigned long)c.groups, way[1]);
    test_note("%lu: %lu x %lu x %lu, %lu: %s", (unsigned long)number,
              (unsigned long)shape.b, (unsigned long)shape.m, (unsigned long)shape.n,
              (unsigned long)k, text);
    check_program(text, shape);
}

TEST_SHAPES(tile_conv, random_windows)
{
    for (uint32_t i = 0; i < SEEDS; i++) {
        seed = i;
        check_one(i);
    }
}
