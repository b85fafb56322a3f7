/* SPDX-License-Identifier: MIT
 *
 * The data movers' inner loops on host memory: copies between the layouts of GM,
 * L1, L0A, L0B and L0C.
 *
 * An Nz matrix is blocks of 32 bytes of columns: element (r, c) of block
 * c / C0 lies at block * c0_stride + r * 32 + (c % C0) * esize; C0 = 32 / esize,
 * esize 1, 2 or 4. bits, 4 to 32, is the size of an element where two may share a byte:
 * then the even column (in Zn the even k) is in bits 3:0. Strides and pitches are bytes.
 * Source and destination must not overlap; any alignment. Elements are copied bit by bit,
 * only move_nz2nd computes.
 * Each function writes every byte of its destination, 0 where the source has no
 * element. Source: hal/contract/mte.md, "Functional model".
 */
#ifndef TOOLS_EMU_MODEL_ARITH_MOVE_H
#define TOOLS_EMU_MODEL_ARITH_MOVE_H

#include <stddef.h>
#include <stdint.h>

enum move_mode {
    MOVE_COPY,    /* 32-bit elements as they are */
    MOVE_F32_F16, /* nearest even, canonical NaN */
    MOVE_F32_BF16,
};

/* `rows` rows of row_bytes. */
void move_rows(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
               size_t row_bytes, size_t rows);

/* Row-major rows x cols to Nz. The missing columns of the last block become 0. */
struct move_nd2nz {
    void *dst;
    const void *src;
    size_t rows, cols, src_pitch;
    size_t dst_c0_stride, dst_row_stride; /* normally 32 between rows of a block */
    unsigned esize;
};

void move_nd2nz(const struct move_nd2nz *m);

/*
 * A window of rows x cols elements of an Nz matrix X to fractals of 512 bytes; src
 * is its first element, in the first column of a block. Dense destination of
 * whole fractals, missing elements 0. In the first line of each: what X is. Two of 4 bits
 * that stay side by side (nz2zz, nz2zn_t) come in pairs: cols is even.
 */

/* X is A (m x k): to L0A, Zz. */
void move_nz2zz(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                size_t cols, unsigned bits);
/* X is A transposed (k x m): to L0A, Zz. */
void move_nz2zz_t(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                  size_t cols, unsigned bits);
/* X is B (k x n): to L0B, Zn; element (k, n) becomes byte (n%16)*32 + (k%K0)*esize
 * of fractal (k/K0, n/16). */
void move_nz2zn(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                size_t cols, unsigned bits);
/* X is B transposed (n x k): to L0B, Zn. */
void move_nz2zn_t(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                  size_t cols, unsigned bits);

/*
 * A window of the img2col matrix of a feature map: row m is the output pixel (m / out_w,
 * m % out_w). Its columns are the channels at each place of the filter, a place's width
 * after the other's: of channel block 0, of channel block 1, and so on; the last block
 * may have fewer channels than the others. A plane of the map is a channel block's map_h
 * x map_w pixels, side by side; planes follow each other from `base`.
 */
struct move_map {
    const uint8_t *l1; /* what base counts from */
    uint64_t base;     /* pixel (0, 0) of plane 0 */
    uint64_t wrap; /* behind this byte comes byte 0; a multiple of 32, or MOVE_NO_WRAP */
    uint32_t map_h, map_w, out_w;
    uint32_t filter_h, filter_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t pad_top, pad_left;
    uint8_t pad[32]; /* a pixel of the padding */
    uint32_t planes; /* of pixels of 32 bytes */
    uint32_t narrow; /* bytes of a pixel of the plane behind them: 4, 8, 16, or 0: none */
    uint32_t m_start, rows;
    uint32_t real_rows;         /* the others are 0 */
    uint32_t first_block, cols; /* columns from column block first_block on */
};

#define MOVE_NO_WRAP UINT64_MAX

/* Where plane c1 begins. */
static inline uint64_t move_map_plane(const struct move_map *g, uint32_t c1)
{
    return g->base + (uint64_t)c1 * g->map_h * g->map_w * 32;
}

/* As move_nz2zz and so on, X being the window. */
void move_img2zz(void *dst, const struct move_map *map, unsigned bits);
void move_img2zz_t(void *dst, const struct move_map *map, unsigned bits);
void move_img2zn(void *dst, const struct move_map *map, unsigned bits);
void move_img2zn_t(void *dst, const struct move_map *map, unsigned bits);

/* Nz of L0C (blocks of 16 columns of 32 bits: element (r, c) at (c/16)*src_c0_stride
 * + r*64 + (c%16)*4) to row-major rows x cols of the mode's type. */
struct move_nz2nd {
    void *dst;
    const void *src;
    size_t rows, cols, dst_pitch, src_c0_stride;
    enum move_mode mode;
};

void move_nz2nd(const struct move_nz2nd *m);

#endif
