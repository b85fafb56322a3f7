/* SPDX-License-Identifier: MIT
 *
 * The data movers' inner loops on host memory: copies between the layouts of GM,
 * L1, L0A, L0B and L0C.
 *
 * An Nz matrix is blocks of 32 bytes of columns: element (r, c) of block
 * c / C0 lies at block * c0_stride + r * 32 + (c % C0) * esize; C0 = 32 / esize,
 * esize 1, 2 or 4. Strides and pitches are bytes. Source and destination must not
 * overlap; any alignment. Elements are copied bit by bit, only move_nz2nd computes.
 * Each function writes every byte of its destination, 0 where the source has no
 * element. Source: hal/contract/mte.md, "Functional model".
 */
#ifndef TOOLS_EMU_MODEL_MOVE_H
#define TOOLS_EMU_MODEL_MOVE_H

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

/* Row-major rows x cols to Nz; dst_row_stride (normally 32) between rows of a block.
 * The missing columns of the last block become 0. */
void move_nd2nz(void *dst, const void *src, size_t rows, size_t cols, unsigned esize,
                size_t src_pitch, size_t dst_c0_stride, size_t dst_row_stride);

/*
 * A window of rows x cols elements of an Nz matrix X to fractals of 512 bytes; src
 * is its first element, in the first column of a block. Dense destination of
 * whole fractals, missing elements 0. In the first line of each: what X is.
 */

/* X is A (m x k): to L0A, Zz. */
void move_nz2zz(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                size_t cols, unsigned esize);
/* X is A transposed (k x m): to L0A, Zz. */
void move_nz2zz_t(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                  size_t cols, unsigned esize);
/* X is B (k x n): to L0B, Zn; element (k, n) becomes byte (n%16)*32 + (k%K0)*esize
 * of fractal (k/K0, n/16). */
void move_nz2zn(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                size_t cols, unsigned esize);
/* X is B transposed (n x k): to L0B, Zn. */
void move_nz2zn_t(void *dst, const void *src, size_t src_c0_stride, size_t rows,
                  size_t cols, unsigned esize);

/* Nz of L0C (blocks of 16 columns of 32 bits: element (r, c) at (c/16)*src_c0_stride
 * + r*64 + (c%16)*4) to row-major rows x cols of the mode's type. */
void move_nz2nd(void *dst, size_t dst_pitch, const void *src, size_t src_c0_stride,
                size_t rows, size_t cols, enum move_mode mode);

#endif
