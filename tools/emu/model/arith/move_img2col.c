/* SPDX-License-Identifier: MIT
 *
 * img2col: windows of a feature map as rows of a matrix; contracts are in move.h. Pixels
 * of C0 channels are 32 bytes in the map and 32 bytes in a fractal, narrower ones 4, 8 or
 * 16, so nothing is done with less, unless the matrix is transposed on the way.
 */
#include <stdalign.h>
#include <stdbool.h>
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/move_path.h"

#define FRACTAL 512u
#define BLOCK   32u
#define STRIPE  64u /* rows that are transposed together: a fractal of any type */
#define CHUNK   4u  /* column blocks likewise */

/* A place of the filter in a plane: what does not change from row to row. */
struct place {
    uint64_t plane;
    int64_t down, across; /* map row and column of the window at (0, 0) */
};

static struct place place_at(const struct move_map *g, uint32_t c1, uint32_t place)
{
    uint32_t kh = place / g->filter_w, kw = place % g->filter_w;

    return (struct place){
        .plane = move_map_plane(g, c1),
        .down = (int64_t)(kh * g->dilation_h) - g->pad_top,
        .across = (int64_t)(kw * g->dilation_w) - g->pad_left,
    };
}

/* The fractals that a column block goes to: `step` bytes from 16 rows to the next 16. */
struct target {
    uint8_t *dst;
    size_t step;
};

static uint8_t *row_at(const struct target *t, uint32_t r)
{
    return t->dst + r / 16 * t->step + r % 16 * BLOCK;
}

/* Rows of the window [first, first + n), pixels of `width` bytes; those behind the real
 * ones become 0. first is a multiple of 16. */
static inline __attribute__((always_inline)) void
gather_pixels(const struct target *t, const struct move_map *g, const struct place *p,
              uint32_t first, uint32_t n, size_t width)
{
    uint32_t m = g->m_start + first,
             real = g->real_rows > first ? g->real_rows - first : 0;
    uint32_t oh = m / g->out_w, ow = m % g->out_w;
    int64_t h = (int64_t)oh * g->stride_h + p->down;
    int64_t w = (int64_t)ow * g->stride_w + p->across;

    real = real < n ? real : n;
    for (uint32_t r = 0; r < real; r++) {
        const uint8_t *from = g->pad;

        if (h >= 0 && h < g->map_h && w >= 0 && w < g->map_w) {
            uint64_t at = p->plane + ((uint64_t)h * g->map_w + (uint64_t)w) * width;
            from = g->l1 + (at < g->wrap ? at : at % g->wrap);
        }
        memcpy(row_at(t, r), from, width);
        w += g->stride_w;
        if (++ow == g->out_w) {
            ow = 0;
            w = p->across;
            h += g->stride_h;
        }
    }
    for (uint32_t r = real; r < n; r++) {
        memset(row_at(t, r), 0, width);
    }
}

/* A column block of a narrow plane: some places of the filter side by side, then zeros.
 */
static void gather_narrow(const struct target *t, const struct move_map *g,
                          uint32_t block, uint32_t first, uint32_t n)
{
    uint32_t places = g->filter_h * g->filter_w, place = block * (BLOCK / g->narrow);

    for (uint32_t at = 0; at < BLOCK; at += g->narrow, place++) {
        struct target part = {t->dst + at, t->step};
        struct place p = place_at(g, g->planes, place);

        if (place >= places) {
            for (uint32_t r = 0; r < n; r++) {
                memset(row_at(&part, r), 0, g->narrow);
            }
        } else if (g->narrow == 4) {
            gather_pixels(&part, g, &p, first, n, 4);
        } else if (g->narrow == 8) {
            gather_pixels(&part, g, &p, first, n, 8);
        } else {
            gather_pixels(&part, g, &p, first, n, 16);
        }
    }
}

/* Column block j of the window. */
static void gather(const struct target *t, const struct move_map *g, uint32_t j,
                   uint32_t first, uint32_t n)
{
    uint32_t places = g->filter_h * g->filter_w, block = g->first_block + j;
    struct place p;

    if (block >= g->planes * places) {
        gather_narrow(t, g, block - g->planes * places, first, n);
        return;
    }
    p = place_at(g, block / places, block % places);
    gather_pixels(t, g, &p, first, n, BLOCK);
}

static uint32_t columns_to_blocks(const struct move_map *g, unsigned bits)
{
    return (uint32_t)(((uint64_t)g->cols * bits + BLOCK * 8 - 1) / (BLOCK * 8));
}

/* Fractals as they are; fractal (row / 16, block) goes to steps of each. */
static void straight(uint8_t *dst, const struct move_map *g, unsigned bits,
                     size_t step_row, size_t step_block)
{
    uint32_t blocks = columns_to_blocks(g, bits);

    for (uint32_t j = 0; j < blocks; j++) {
        struct target t = {dst + j * step_block, step_row};

        gather(&t, g, j, 0, (g->rows + 15) / 16 * 16);
    }
}

/* Through a small Nz buffer, which is then transposed; rows of the matrix are k. */
static void transposed(uint8_t *dst, const struct move_map *g, unsigned bits,
                       size_t step_x, size_t step_k)
{
    alignas(64) uint8_t buffer[CHUNK * STRIPE * BLOCK];
    uint32_t blocks = columns_to_blocks(g, bits), c0 = BLOCK * 8 / bits;

    for (uint32_t row = 0; row < g->rows; row += STRIPE) {
        uint32_t rows = g->rows - row < STRIPE ? g->rows - row : STRIPE;

        for (uint32_t j = 0; j < blocks; j += CHUNK) {
            uint32_t left = g->cols - j * c0, n = blocks - j < CHUNK ? blocks - j : CHUNK;
            struct move_window w = {buffer, STRIPE * BLOCK, rows,
                                    left < CHUNK * c0 ? left : CHUNK * c0, bits};

            for (uint32_t i = 0; i < n; i++) {
                struct target t = {buffer + i * STRIPE * BLOCK, FRACTAL};
                gather(&t, g, j + i, row, rows);
            }
            move_transpose_fractals(dst + j * c0 / 16 * step_x + row / c0 * step_k, &w,
                                    step_x, step_k);
        }
    }
}

void move_img2zz(void *dst, const struct move_map *g, unsigned bits)
{
    straight(dst, g, bits, (size_t)columns_to_blocks(g, bits) * FRACTAL, FRACTAL);
}

void move_img2zn_t(void *dst, const struct move_map *g, unsigned bits)
{
    straight(dst, g, bits, FRACTAL, (size_t)(g->rows + 15) / 16 * FRACTAL);
}

void move_img2zz_t(void *dst, const struct move_map *g, unsigned bits)
{
    size_t k0 = BLOCK * 8 / bits;

    transposed(dst, g, bits, (g->rows + k0 - 1) / k0 * FRACTAL, FRACTAL);
}

void move_img2zn(void *dst, const struct move_map *g, unsigned bits)
{
    transposed(dst, g, bits, FRACTAL, ((size_t)g->cols + 15) / 16 * FRACTAL);
}
