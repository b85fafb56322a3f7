/* SPDX-License-Identifier: MIT
 *
 * Tests of the data movers (tools/emu/model/arith/move.h): every host path against loops
 * that place one element at a time, over odd sizes, with noise around the windows.
 */
#include <stdint.h>
#include <string.h>
#include "tests/host/data.h"
#include "tests/test.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/arith/simd.h"

#define BYTES (1 << 17)

static uint8_t src[BYTES], got[BYTES], want[BYTES];

static const unsigned sizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void start(void)
{
    memset(got, 0xaa, BYTES);
    memset(want, 0xaa, BYTES);
}

/* Whole destination areas: what a function must not touch is compared too. */
static bool as_wanted(const char *what, size_t rows, size_t cols, unsigned esize)
{
    if (!same(got, want, BYTES)) {
        test_note("%s %zux%zu esize %u", what, rows, cols, esize);
        return false;
    }
    return true;
}

TEST(move, rows)
{
    static const struct {
        unsigned bytes, dst_pitch, src_pitch, rows;
    } t[] = {{32, 32, 32, 9}, {32, 64, 32, 9}, {1, 3, 5, 7},    {100, 100, 100, 3},
             {33, 40, 33, 5}, {64, 64, 0, 4},  {0, 10, 10, 10}, {512, 600, 512, 1}};
    bool good = true;

    noise(src, BYTES);
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        start();
        for (unsigned r = 0; r < t[i].rows; r++) {
            for (unsigned x = 0; x < t[i].bytes; x++) {
                want[r * t[i].dst_pitch + x] = src[r * t[i].src_pitch + x];
            }
        }
        move_rows(got, t[i].dst_pitch, src, t[i].src_pitch, t[i].bytes, t[i].rows);
        good = as_wanted("rows", t[i].rows, t[i].bytes, 1) && good;
    }
    ok(good, "move/rows");
}

static bool check_nd2nz(size_t rows, size_t cols, unsigned esize)
{
    size_t c0 = 32 / esize, pitch = cols * esize + rows % 3,
           row_stride = 32 + rows % 2 * 32;
    size_t c0_stride = rows * row_stride + cols % 2 * 32;

    start();
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < (cols + c0 - 1) / c0 * c0; c++) {
            uint8_t *w = want + c / c0 * c0_stride + r * row_stride + c % c0 * esize;

            memset(w, 0, esize);
            if (c < cols) {
                memcpy(w, src + r * pitch + c * esize, esize);
            }
        }
    }
    move_nd2nz(&(struct move_nd2nz){.dst = got,
                                    .src = src,
                                    .rows = rows,
                                    .cols = cols,
                                    .src_pitch = pitch,
                                    .dst_c0_stride = c0_stride,
                                    .dst_row_stride = row_stride,
                                    .esize = esize});
    return as_wanted("nd2nz", rows, cols, esize);
}

enum to { TO_ZZ, TO_ZZ_T, TO_ZN, TO_ZN_T };
static const struct {
    const char *name;
    void (*move)(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                 size_t cols, unsigned bits);
} movers[] = {[TO_ZZ] = {"nz2zz", move_nz2zz},
              [TO_ZZ_T] = {"nz2zz_t", move_nz2zz_t},
              [TO_ZN] = {"nz2zn", move_nz2zn},
              [TO_ZN_T] = {"nz2zn_t", move_nz2zn_t}};

/* The window holds (row, col); its element in the terms of L0: x is m or n. */
static bool check_fractals(enum to to, size_t rows, size_t cols, unsigned esize)
{
    size_t c0 = 32 / esize, stride = (rows + rows % 3) * 32;
    bool x_is_row = to == TO_ZZ || to == TO_ZN_T;
    size_t x_size = x_is_row ? rows : cols, k_size = x_is_row ? cols : rows;
    size_t xb = (x_size + 15) / 16, kb = (k_size + c0 - 1) / c0;

    start();
    for (size_t x = 0; x < xb * 16; x++) {
        for (size_t k = 0; k < kb * c0; k++) {
            size_t row = x_is_row ? x : k, col = x_is_row ? k : x;
            size_t zn = k / c0 * xb + x / 16, zz = x / 16 * kb + k / c0;
            uint8_t *w = want + (to == TO_ZZ || to == TO_ZZ_T ? zz : zn) * 512 +
                         x % 16 * 32 + k % c0 * esize;

            memset(w, 0, esize);
            if (x < x_size && k < k_size) {
                memcpy(w, src + col / c0 * stride + row * 32 + col % c0 * esize, esize);
            }
        }
    }
    movers[to].move(got, src, stride, rows, cols, 8 * esize);
    return as_wanted(movers[to].name, rows, cols, esize);
}

static void test_layouts(enum simd level)
{
    for (unsigned esize = 1; esize <= 4; esize *= 2) {
        bool nd = true, good[4] = {true, true, true, true};

        for (size_t i = 0; i < SIZES * SIZES; i++) {
            size_t rows = sizes[i / SIZES], cols = sizes[i % SIZES];

            nd = check_nd2nz(rows, cols, esize) && nd;
            for (int to = TO_ZZ; to <= TO_ZN_T; to++) {
                good[to] = check_fractals((enum to)to, rows, cols, esize) && good[to];
            }
        }
        ok(nd, "move/nd2nz_%ubit_%s", esize * 8, simd_name(level));
        for (int to = TO_ZZ; to <= TO_ZN_T; to++) {
            ok(good[to], "move/%s_%ubit_%s", movers[to].name, esize * 8,
               simd_name(level));
        }
    }
}

static bool check_nz2nd(size_t rows, size_t cols, enum move_mode mode)
{
    unsigned esize = mode == MOVE_COPY ? 4 : 2;
    size_t pitch = cols * esize + rows % 3,
           stride = (rows + 15) / 16 * 1024 + rows % 2 * 64;

    start();
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            uint32_t v;
            uint16_t h;

            memcpy(&v, src + c / 16 * stride + r * 64 + c % 16 * 4, 4);
            h = mode == MOVE_F32_F16 ? num_f32_to_f16(v) : num_f32_to_bf16(v);
            memcpy(want + r * pitch + c * esize,
                   mode == MOVE_COPY ? (void *)&v : (void *)&h, esize);
        }
    }
    move_nz2nd(&(struct move_nz2nd){.dst = got,
                                    .src = src,
                                    .rows = rows,
                                    .cols = cols,
                                    .dst_pitch = pitch,
                                    .src_c0_stride = stride,
                                    .mode = mode});
    return as_wanted("nz2nd", rows, cols, esize);
}

static void test_nz2nd(enum simd level)
{
    static const char *const names[] = {"copy", "f16", "bf16"};

    for (int mode = MOVE_COPY; mode <= MOVE_F32_BF16; mode++) {
        bool good = true;

        for (size_t i = 0; i < SIZES * SIZES; i++) {
            good =
                check_nz2nd(sizes[i / SIZES], sizes[i % SIZES], (enum move_mode)mode) &&
                good;
        }
        ok(good, "move/nz2nd_%s_%s", names[mode], simd_name(level));
    }
}

/* fp32 values near the interesting places of fp16 and bf16; num.h has its own test. */
static void test_narrowing(enum simd level)
{
    static const uint32_t base[] = {0x00000000, 0x33000000, 0x33800000, 0x387fe000,
                                    0x38800000, 0x477fe000, 0x47800000, 0x7f7f8000,
                                    0x7f800000, 0x7fc00000, 0x3f801000, 0x3f803000,
                                    0x3f808000, 0x3f818000};
    bool good = true;

    for (unsigned i = 0; i < sizeof(base) / sizeof(base[0]) * 64; i++) {
        for (unsigned j = 0; j < 16; j++) {
            uint32_t v = (base[i / 64] + i % 64 + j * 0x8000 - 32) ^ (j % 2 << 31);

            memcpy(src + j * 4, &v, 4);
        }
        good =
            check_nz2nd(1, 16, MOVE_F32_F16) && check_nz2nd(1, 16, MOVE_F32_BF16) && good;
    }
    ok(good, "move/nz2nd_corners_%s", simd_name(level));
}

TEST(move, layouts)
{
    simd_limit(SIMD_AVX2); /* there is no path above it */
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        noise(src, BYTES);
        test_layouts(level);
        test_nz2nd(level);
        test_narrowing(level);
    }
}
