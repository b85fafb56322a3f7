/* SPDX-License-Identifier: MIT
 *
 * Rates of the Cube's arithmetic and of the data movers, per host path: GMAC/s and
 * GB/s of data, medians of short runs.
 *
 *   cube [milliseconds per figure, default 200 [cube only if anything]]
 */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tools/emu/model/arith/cube.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/simd.h"

#define RUNS 9

static _Alignas(64) uint8_t l0a[CUBE_L0_BYTES], l0b[CUBE_L0_BYTES];
static _Alignas(64) uint8_t l0c[1 << 18], stage[1 << 18], l1[1 << 19];
static uint8_t gm[1 << 24];
static double budget = 0.2;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others run too */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

/* Calls per second of work(): the median of RUNS. */
static double rate(void (*work)(void))
{
    double runs[RUNS];

    work();
    for (int i = 0; i < RUNS; i++) {
        double start = now(), t;
        unsigned calls = 0;

        do {
            work();
            t = now() - start;
            calls++;
        } while (t < budget / RUNS);
        runs[i] = calls / t;
    }
    qsort(runs, RUNS, sizeof(runs[0]), by_value);
    return runs[RUNS / 2];
}

static struct {
    unsigned m, n, k;
} shape;

static enum cube_type type;
static bool from_zero;

static void mmad(void)
{
    static const unsigned k0[] = {16, 16, 8, 8, 32, 64};
    const struct cube_op op = {type, shape.m, shape.n, shape.k,
                               .a_kb = (shape.k + k0[type] - 1) / k0[type]};

    cube_run(&op, stage, from_zero ? NULL : l0c, l0a, l0b);
}

static void cube(enum cube_type t, unsigned m, unsigned n, unsigned k)
{
    static const char *const names[] = {"f16", "bf16", "f32", "hf32", "s8", "s4"};

    shape.m = m;
    shape.n = n;
    shape.k = k;
    type = t;
    printf("%-12s %-5s%-19s %4ux%ux%u %8.1f GMAC/s\n", simd_name(simd_level()), names[t],
           from_zero ? ", from zero" : "", m, n, k, rate(mmad) * m * n * k * 1e-9);
}

/* 2 of 4 rows of b; k is that of a. Multiply-adds are those with what L0B holds. */
static uint8_t which[CUBE_L0_BYTES / 4];

static void sparse_mmad(void)
{
    const struct cube_op op = {
        CUBE_S8, shape.m, shape.n, shape.k, .a_kb = (shape.k + 31) / 32, .index = which};

    cube_run(&op, stage, l0c, l0a, l0b);
}

static void sparse(unsigned m, unsigned n, unsigned k)
{
    static const uint8_t pairs[] = {0, 4, 8,
                                    5, 9, 10}; /* of two elements that are not 0 */

    for (size_t i = 0; i < sizeof(which); i++) {
        which[i] = (uint8_t)(pairs[rand() % 6] << 4 | pairs[rand() % 6]);
    }
    shape.m = m;
    shape.n = n;
    shape.k = k;
    printf("%-12s %-24s %4ux%ux%u %8.1f GMAC/s\n", simd_name(simd_level()),
           "s8, 2 of 4 rows of b", m, n, k, rate(sparse_mmad) * m * n * k / 2 * 1e-9);
}

static size_t row_bytes;

static void nd2nz(void) /* 128 rows of a matrix of 2048 columns */
{
    static size_t at;

    move_nd2nz(&(struct move_nd2nz){.dst = l1,
                                    .src = gm + at,
                                    .rows = 128,
                                    .cols = row_bytes / 2,
                                    .src_pitch = 4096,
                                    .dst_c0_stride = 128 * 32,
                                    .dst_row_stride = 32,
                                    .esize = 2});
    at = (at + 128 * 4096) % (sizeof(gm) / 2);
}

static void nz2zz(void) /* 128 x 256 of 16 bits */
{
    move_nz2zz(l0a, l1, 128 * 32, 128, 256, 16);
}

static void nz2zn_2(void) /* k 128, n 256 */
{
    move_nz2zn(l0b, l1, 128 * 32, 128, 256, 16);
}

static void nz2zn_1(void)
{
    move_nz2zn(l0b, l1, 128 * 32, 128, 512, 8);
}

static void nz2zn_4(void)
{
    move_nz2zn(l0b, l1, 128 * 32, 128, 128, 32);
}

static void nz2zn_t(void)
{
    move_nz2zn_t(l0b, l1, 256 * 32, 256, 128, 16);
}

static enum move_mode mode;

static void nz2nd(void) /* 128 x 256 to a matrix of 2048 columns */
{
    static size_t at;

    move_nz2nd(&(struct move_nz2nd){.dst = gm + at,
                                    .src = l0c,
                                    .rows = 128,
                                    .cols = 256,
                                    .dst_pitch = mode == MOVE_COPY ? 8192 : 4096,
                                    .src_c0_stride = 128 * 64,
                                    .mode = mode});
    at = (at + 128 * 8192) % (sizeof(gm) / 2);
}

static void mover(const char *name, void (*work)(void), double bytes)
{
    printf("%-12s %-36s %8.1f GB/s\n", simd_name(simd_level()), name,
           rate(work) * bytes * 1e-9);
}

static void movers(void)
{
    static const char *const name[] = {"nz2nd copy", "nz2nd to f16", "nz2nd to bf16"};

    for (row_bytes = 256; row_bytes <= 1024; row_bytes *= 2) {
        char text[40];

        snprintf(text, sizeof(text), "nd2nz, rows of %zu bytes", row_bytes);
        mover(text, nd2nz, 128.0 * (double)row_bytes);
    }
    mover("nz2zz", nz2zz, 65536);
    mover("nz2zn_t", nz2zn_t, 65536);
    mover("nz2zn 8 bit", nz2zn_1, 65536);
    mover("nz2zn 16 bit", nz2zn_2, 65536);
    mover("nz2zn 32 bit", nz2zn_4, 65536);
    for (int i = MOVE_COPY; i <= MOVE_F32_BF16; i++) {
        mode = (enum move_mode)i;
        mover(name[i], nz2nd, 131072);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        budget = atof(argv[1]) * 1e-3;
    }
    for (size_t i = 0; i < CUBE_L0_BYTES; i++) { /* fp16 of about 1 */
        l0a[i] = i % 2 ? 0x3c : (uint8_t)rand();
        l0b[i] = i % 2 ? 0x3c : (uint8_t)rand();
    }
    for (size_t i = 0; i < sizeof(gm); i++) {
        gm[i] = (uint8_t)i;
    }
    simd_limit(SIMD_COUNT);
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        from_zero = true;
        cube(CUBE_F16, 128, 256, 64);
        from_zero = false;
        cube(CUBE_F16, 128, 256, 64);
        cube(CUBE_F16, 128, 128, 128);
        cube(CUBE_F16, 1, 256, 128);
        cube(CUBE_BF16, 128, 128, 128);
        cube(CUBE_F32, 128, 128, 128);
        cube(CUBE_F32, 128, 128, 64);
        cube(CUBE_HF32, 128, 128, 128);
        cube(CUBE_S8, 128, 256, 128);
        cube(CUBE_S8, 128, 128, 128);
        cube(CUBE_S8, 128, 128, 256);
        sparse(128, 256, 256);
        sparse(128, 128, 256);
        sparse(128, 128, 512);
        cube(CUBE_S8, 16, 256, 256);
        sparse(16, 256, 512);
        cube(CUBE_S8, 1, 256, 256);
        sparse(1, 256, 512);
        cube(CUBE_S4, 128, 128, 256);
        if (argc <= 2) {
            movers();
        }
    }
    return 0;
}
