/* SPDX-License-Identifier: MIT
 *
 * The data movers' inner loops. Layouts and contracts are in move.h.
 *
 * A tile that the window does not fill is first copied into a buffer of zeros, so
 * the inner operations see whole tiles only.
 */
#include "tools/emu/model/arith/move.h"
#include <stdalign.h>
#include <stdbool.h>
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move_path.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/arith/simd.h"

#define FRACTAL 512u
#define BLOCK   32u /* bytes of a row in a block of columns */
#define ROWS    8u  /* rows that move_nd2nz takes together: measured */

static void plain_transpose(uint8_t *dst, const uint8_t *s0, const uint8_t *s1,
                            unsigned esize)
{
    unsigned k0 = BLOCK / esize;

    for (unsigned x = 0; x < 16; x++) {
        for (unsigned k = 0; k < k0; k++) {
            const uint8_t *s = (x * esize < BLOCK ? s0 : s1) + k * BLOCK;

            memcpy(dst + x * BLOCK + k * esize, s + x * esize % BLOCK, esize);
        }
    }
}

/* 8 x 8 bytes: halves, quarters, then single bytes of two rows change places. */
static void plain_8x8(uint8_t *dst, size_t dst_pitch, const uint8_t *src)
{
    static const uint64_t masks[] = {0xffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff};
    uint64_t x[8];

    for (unsigned i = 0; i < 8; i++) {
        memcpy(&x[i], src + i * BLOCK, 8);
    }
    for (unsigned step = 4, round = 0; step; step /= 2, round++) {
        for (unsigned i = 0; i < 8; i++) {
            if (!(i & step)) {
                uint64_t t = (x[i] >> (8 * step) ^ x[i + step]) & masks[round];
                x[i + step] ^= t;
                x[i] ^= t << (8 * step);
            }
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        memcpy(dst + i * dst_pitch, &x[i], 8);
    }
}

static void plain_t8(uint8_t *dst, const uint8_t *s0, const uint8_t *s1)
{
    (void)s1;
    for (unsigned k = 0; k < 32; k += 8) {
        plain_8x8(dst + k, BLOCK, s0 + k * BLOCK);
        plain_8x8(dst + 8 * BLOCK + k, BLOCK, s0 + k * BLOCK + 8);
    }
}

static void plain_t16(uint8_t *dst, const uint8_t *s0, const uint8_t *s1)
{
    plain_transpose(dst, s0, s1, 2);
}

static void plain_t32(uint8_t *dst, const uint8_t *s0, const uint8_t *s1)
{
    plain_transpose(dst, s0, s1, 4);
}

static void plain_f16(uint8_t *dst, const uint8_t *src)
{
    for (unsigned i = 0; i < 16; i++) {
        uint32_t f;
        uint16_t h;

        memcpy(&f, src + i * 4, 4);
        h = num_f32_to_f16(f);
        memcpy(dst + i * 2, &h, 2);
    }
}

static void plain_bf16(uint8_t *dst, const uint8_t *src)
{
    for (unsigned i = 0; i < 16; i++) {
        uint32_t f;
        uint16_t h;

        memcpy(&f, src + i * 4, 4);
        h = num_f32_to_bf16(f);
        memcpy(dst + i * 2, &h, 2);
    }
}

static const struct move_path *path(void)
{
    static const struct move_path plain = {plain_t8, plain_t16, plain_t32, plain_f16,
                                           plain_bf16};

#if defined(__x86_64__)
    if (simd_level() >= SIMD_AVX2) {
        return &move_avx2;
    }
#endif
    return &plain;
}

void move_rows(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
               size_t row_bytes, size_t rows)
{
    uint8_t *d = dst;
    const uint8_t *s = src;

    if (dst_pitch == row_bytes && src_pitch == row_bytes) {
        memcpy(d, s, row_bytes * rows);
        return;
    }
    if (row_bytes == BLOCK) { /* a column of blocks; not worth a call each */
        for (size_t r = 0; r < rows; r++) {
            memcpy(d + r * dst_pitch, s + r * src_pitch, BLOCK);
        }
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        memcpy(d + r * dst_pitch, s + r * src_pitch, row_bytes);
    }
}

/* The whole blocks of some rows from `row` on: block by block, so that each destination
 * line is written at once, while the source streams along the rows. Rows are far apart, so
 * the host does not see by itself that the next ones come next: they are asked for. */
static void nd2nz_rows(const struct move_nd2nz *m, size_t row, size_t rows, size_t blocks)
{
    size_t src_pitch = m->src_pitch, dst_row_stride = m->dst_row_stride;
    size_t dst_c0_stride = m->dst_c0_stride; /* what is written might be *m, says C */
    uint8_t *dst = (uint8_t *)m->dst + row * dst_row_stride;
    const uint8_t *src = (const uint8_t *)m->src + row * src_pitch;

    for (size_t j = 0; j < blocks; j++) {
        for (size_t r = 0; r < rows; r++) {
            const uint8_t *s = src + r * src_pitch + j * BLOCK;

            if (j % 2 == 0) { /* two blocks are a line of the host's cache; L1 is too small */
                __builtin_prefetch(s + ROWS * src_pitch, 0, 2);
            }
            memcpy(dst + j * dst_c0_stride + r * dst_row_stride, s, BLOCK);
        }
    }
}

void move_nd2nz(const struct move_nd2nz *m)
{
    size_t blocks = m->cols * m->esize / BLOCK, tail = m->cols * m->esize % BLOCK;
    uint8_t *d = (uint8_t *)m->dst + blocks * m->dst_c0_stride;
    const uint8_t *s = (const uint8_t *)m->src + blocks * BLOCK;
    size_t r = 0;

    for (; r + ROWS <= m->rows; r += ROWS) {
        nd2nz_rows(m, r, ROWS, blocks);
    }
    nd2nz_rows(m, r, m->rows - r, blocks);
    for (r = 0; tail && r < m->rows; r++) {
        memcpy(d + r * m->dst_row_stride, s + r * m->src_pitch, tail);
        memset(d + r * m->dst_row_stride + tail, 0, BLOCK - tail);
    }
}

/* `rows` (> 0) rows of `bytes` bytes, BLOCK apart, into a tile of zeros. */
static void pad_tile(uint8_t *tile, size_t tile_rows, const uint8_t *src, size_t rows,
                     size_t bytes)
{
    memset(tile, 0, tile_rows * BLOCK);
    for (size_t r = 0; r < rows; r++) {
        memcpy(tile + r * BLOCK, src + r * BLOCK, bytes);
    }
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Fractals as they are; fractal (i, j) of rows, columns goes to i*step_i + j*step_j. */
static void copy_fractals(uint8_t *dst, const struct move_window *w, size_t step_i,
                          size_t step_j)
{
    size_t rows = w->rows, row_bytes = w->cols * w->bits / 8;
    size_t full_i = rows / 16, full_j = row_bytes / BLOCK;

    for (size_t i = 0; i * 16 < rows; i++) {
        for (size_t j = 0; j * BLOCK < row_bytes; j++) {
            uint8_t *d = dst + i * step_i + j * step_j;
            const uint8_t *s = w->src + j * w->c0_stride + i * FRACTAL;

            if (i < full_i && j < full_j) {
                memcpy(d, s, FRACTAL);
            } else {
                pad_tile(d, 16, s, at_most(rows - i * 16, 16),
                         at_most(row_bytes - j * BLOCK, BLOCK));
            }
        }
    }
}

static move_transpose *transposer(unsigned bits)
{
    const struct move_path *p = path();

    return bits <= 8 ? p->t8 : bits == 16 ? p->t16 : p->t32;
}

/* One fractal of 4 bits from 64 rows (k) of 8 bytes: two rows become one, in which a byte
 * has both elements of a column (x), the even columns first. */
static void transpose4(uint8_t *dst, const uint8_t *src, move_transpose *t8)
{
    static const uint64_t low = 0x0f0f0f0f0f0f0f0f;
    alignas(64) uint8_t pairs[2 * FRACTAL], rows[FRACTAL];

    for (unsigned r = 0; r < 32; r++) {
        uint64_t a, b, even, odd;

        memcpy(&a, src + 2 * r * BLOCK, 8);
        memcpy(&b, src + (2 * r + 1) * BLOCK, 8);
        even = (a & low) | (b & low) << 4;
        odd = (a >> 4 & low) | (b & ~low);
        memcpy(pairs + r * BLOCK, &even, 8);
        memcpy(pairs + r * BLOCK + 8, &odd, 8);
    }
    t8(rows, pairs, pairs);
    for (unsigned x = 0; x < 16; x++) {
        memcpy(dst + x * BLOCK, rows + (x % 2 * 8 + x / 2) * BLOCK, BLOCK);
    }
}

/* Tile of block j, rows from k, for the transposer; `tile` is used for a partial one.
 * byte is where in the block the tile starts (4 and 8 bit: a block feeds four and two
 * fractals). */
static const uint8_t *tile_at(const struct move_window *w, uint8_t *tile, size_t j,
                              size_t k, size_t byte)
{
    size_t k0 = BLOCK * 8 / w->bits, width = at_most(2 * w->bits, BLOCK);
    size_t row_bytes = (w->cols * w->bits + 7) / 8, start = j * BLOCK + byte;
    size_t rows = at_most(w->rows - k, k0);
    size_t bytes = start < row_bytes ? at_most(row_bytes - start, width) : 0;
    const uint8_t *s = w->src + j * w->c0_stride + k * BLOCK + byte;
    bool half = w->cols * w->bits % 8 && bytes && start + bytes == row_bytes;

    if (rows == k0 && bytes == width && !half) {
        return s;
    }
    pad_tile(tile, k0, s, bytes ? rows : 0, bytes);
    for (size_t r = 0; half && r < rows; r++) {
        tile[r * BLOCK + bytes - 1] &= 0x0f;
    }
    return tile;
}

void move_transpose_fractals(uint8_t *dst, const struct move_window *w, size_t step_x,
                             size_t step_k)
{
    alignas(64) uint8_t tile0[4 * FRACTAL], tile1[FRACTAL];
    size_t k0 = BLOCK * 8 / w->bits, x_bytes = 2 * w->bits;
    move_transpose *transpose = transposer(w->bits);

    for (size_t x = 0; x * 16 < w->cols; x++) {
        size_t j = x * x_bytes / BLOCK, byte = x * x_bytes % BLOCK;

        for (size_t k = 0; k * k0 < w->rows; k++) {
            const uint8_t *s0 = tile_at(w, tile0, j, k * k0, byte);
            uint8_t *d = dst + x * step_x + k * step_k;

            if (w->bits == 4) {
                transpose4(d, s0, transpose);
            } else {
                transpose(d, s0,
                          w->bits == 32 ? tile_at(w, tile1, j + 1, k * k0, 0) : s0);
            }
        }
    }
}

void move_nz2zz(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                size_t cols, unsigned bits)
{
    struct move_window w = {src, src_c0_stride, rows, cols, bits};
    size_t blocks = (cols * bits / 8 + BLOCK - 1) / BLOCK;

    copy_fractals(dst, &w, blocks * FRACTAL, FRACTAL);
}

void move_nz2zn_t(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                  size_t cols, unsigned bits)
{
    struct move_window w = {src, src_c0_stride, rows, cols, bits};

    copy_fractals(dst, &w, FRACTAL, (rows + 15) / 16 * FRACTAL);
}

void move_nz2zz_t(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                  size_t cols, unsigned bits)
{
    struct move_window w = {src, src_c0_stride, rows, cols, bits};
    size_t k0 = BLOCK * 8 / bits;

    move_transpose_fractals(dst, &w, (rows + k0 - 1) / k0 * FRACTAL, FRACTAL);
}

void move_nz2zn(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                size_t cols, unsigned bits)
{
    struct move_window w = {src, src_c0_stride, rows, cols, bits};

    move_transpose_fractals(dst, &w, FRACTAL, (cols + 15) / 16 * FRACTAL);
}

void move_nz2nd(const struct move_nz2nd *m)
{
    const struct move_path *p = path();
    enum move_mode mode = m->mode;
    move_narrow *narrow = mode == MOVE_F32_F16 ? p->f16 : p->bf16;
    unsigned esize = mode == MOVE_COPY ? 4 : 2;
    size_t blocks = m->cols / 16, tail = m->cols % 16, src_c0_stride = m->src_c0_stride;

    for (size_t r = 0; r < m->rows; r++) {
        uint8_t *d = (uint8_t *)m->dst + r * m->dst_pitch;
        const uint8_t *s = (const uint8_t *)m->src + r * 64;

        for (size_t j = 0; j < blocks; j++) {
            if (mode == MOVE_COPY) {
                memcpy(d + j * 64, s + j * src_c0_stride, 64);
            } else {
                narrow(d + j * 32, s + j * src_c0_stride);
            }
        }
        if (tail) {
            uint8_t last[64];

            s += blocks * src_c0_stride;
            if (mode != MOVE_COPY) {
                narrow(last, s);
                s = last;
            }
            memcpy(d + blocks * 16 * esize, s, tail * esize);
        }
    }
}
