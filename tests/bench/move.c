/* SPDX-License-Identifier: MIT
 *
 * Speed of the data movers on this host, GB written a second on one core.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "tools/emu/model/ops/atomic.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/simd.h"

enum { MAP = 1 << 19, OUT = 1 << 16 };

static uint8_t src[MAP] __attribute__((aligned(64)));
static uint8_t dst[MAP] __attribute__((aligned(64)));

/* Of this process: what else runs on the host does not count. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Repeats `work` for 0.1 s at least. */
#define RATE(name, bytes, work)                                                          \
    do {                                                                                 \
        double begin = now(), spent;                                                     \
        unsigned long n = 0;                                                             \
        do {                                                                             \
            work;                                                                        \
            n++;                                                                         \
            spent = now() - begin;                                                       \
        } while (spent < 0.1);                                                           \
        printf("%-6s %-28s %7.2f GB/s\n", simd_name(simd_level()), name,                 \
               (double)n *(bytes) / spent * 1e-9);                                       \
    } while (0)

/* 56 x 56 pixels, filter 3 x 3, padding 1: a 64 KiB tile of 16-bit elements. */
static struct move_map map_of(unsigned stride, unsigned bits)
{
    return (struct move_map){.l1 = src,
                             .wrap = MOVE_NO_WRAP,
                             .map_h = 56,
                             .map_w = 56,
                             .out_w = 56 / stride,
                             .filter_h = 3,
                             .filter_w = 3,
                             .stride_h = stride,
                             .stride_w = stride,
                             .dilation_h = 1,
                             .dilation_w = 1,
                             .pad_top = 1,
                             .pad_left = 1,
                             .planes = 1,
                             .rows = 224,
                             .real_rows = 224,
                             .cols = 9 * 256 / bits};
}

static void bench(void)
{
    struct move_map b4 = map_of(1, 4), b8 = map_of(1, 8), b16 = map_of(1, 16);
    struct move_map b32 = map_of(1, 32), two = map_of(2, 16), few = map_of(1, 16);
    size_t bytes = 224 * 9 * 32;

    struct move_nd2nz wide = {.dst = dst,
                              .src = src,
                              .rows = 256,
                              .cols = 512,
                              .src_pitch = 1024,
                              .dst_c0_stride = 256 * 32,
                              .dst_row_stride = 32,
                              .esize = 2};
    struct move_nd2nz rest = wide;

    rest.cols = rest.src_pitch = 500;
    rest.esize = 1;
    few.planes = 0;
    few.narrow = 8;
    few.cols = 36;
    RATE("nd2nz 16 bit 256 x 512", 256 * 1024, move_nd2nz(&wide));
    RATE("nd2nz 8 bit 256 x 500", 256 * 512, move_nd2nz(&rest));
    RATE("img2col l0a", bytes, move_img2zz(dst, &b16, 16));
    RATE("img2col l0a stride 2", bytes, move_img2zz(dst, &two, 16));
    RATE("img2col l0a 4 channels", 224 * 3 * 32, move_img2zz(dst, &few, 16));
    RATE("img2col l0b_t", bytes, move_img2zn_t(dst, &b16, 16));
    RATE("img2col l0a_t 4 bit", bytes, move_img2zz_t(dst, &b4, 4));
    RATE("img2col l0a_t 8 bit", bytes, move_img2zz_t(dst, &b8, 8));
    RATE("img2col l0a_t 16 bit", bytes, move_img2zz_t(dst, &b16, 16));
    RATE("img2col l0b 4 bit", bytes, move_img2zn(dst, &b4, 4));
    RATE("img2col l0b 8 bit", bytes, move_img2zn(dst, &b8, 8));
    RATE("img2col l0b 16 bit", bytes, move_img2zn(dst, &b16, 16));
    RATE("img2col l0b 32 bit", bytes, move_img2zn(dst, &b32, 32));
    RATE("nz2zn 4 bit 128 x 1024", 65536, move_nz2zn(dst, src, 128 * 32, 128, 1024, 4));
    RATE("nz2zn 8 bit 128 x 512", 65536, move_nz2zn(dst, src, 128 * 32, 128, 512, 8));
}

static void bench_atomics(void)
{
    static const enum type types[] = {TYPE_F32, TYPE_F16, TYPE_BF16,
                                      TYPE_S32, TYPE_S16, TYPE_S8};
    static const char *const ops[] = {"", "add", "max", "min"};
    uint64_t special[SPECIALS] = {0};
    struct op_ctx c = {.special = special};
    struct access a = access_rows(NPU_MEM_GM, 0, 0, OUT, 1, OUT);

    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (unsigned op = ATOMIC_ADD; op <= ATOMIC_MIN; op++) {
            char name[32];
            snprintf(name, sizeof(name), "atomic %s %s", ops[op], type_name(types[i]));
            special[SPECIAL_ATOMIC] = op | (uint64_t)types[i] << 8;
            RATE(name, OUT, atomic_rows(&c, &a, dst, src));
        }
    }
}

int main(void)
{
    for (size_t i = 0; i < MAP; i++) {
        src[i] = (uint8_t)(i * 7 >> 3);
    }
    simd_limit(SIMD_AVX2);
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        bench();
    }
    simd_limit(SIMD_PLAIN); /* they have one path */
    bench_atomics();
    return 0;
}
