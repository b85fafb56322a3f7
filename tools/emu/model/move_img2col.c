/* SPDX-License-Identifier: MIT
 *
 * img2col: windows of a feature map as rows of a matrix; contracts are in move.h. Pixels
 * of C0 channels are 32 bytes in the map and 32 bytes in a fractal, so nothing is done
 * with less than a row of a fractal, unless the matrix is transposed on the way.
 */
#include <stdalign.h>
#include <stdbool.h>
#include "tools/emu/model/mem.h"
#include "tools/emu/model/move.h"
#include "tools/emu/model/move_path.h"

#define FRACTAL 512u
#define BLOCK   32u
#define STRIPE  32u /* rows that are transposed together: a fractal of any type */
#define CHUNK   8u  /* column blocks likewise */

/* One column block: what does not change from row to row. */
struct column {
    const uint8_t *src;   /* row src_h of its plane */
    int64_t down, across; /* map row and column of the window at (0, 0) */
};

static struct column column_at(const struct move_map *g, uint32_t block)
{
    uint32_t place = block % (g->filter_h * g->filter_w);
    uint32_t c1 = block / (g->filter_h * g->filter_w);
    uint32_t kh = place / g->filter_w, kw = place % g->filter_w;

    return (struct column){
        .src = g->src + (size_t)(c1 - g->src_c1) * g->map_h * g->map_w * BLOCK,
        .down = (int64_t)(kh * g->dilation_h) - g->pad_top,
        .across = (int64_t)(kw * g->dilation_w) - g->pad_left,
    };
}

/* Rows of the window [first, first + n) of a column block, `step` bytes from 16 rows to
 * the next 16; those behind the real ones become 0. first is a multiple of 16. */
static void gather(uint8_t *dst, const struct move_map *g, const struct column *col,
                   uint32_t first, uint32_t n, size_t step)
{
    uint32_t m = g->m_start + first;
    uint32_t oh = m / g->out_w, ow = m % g->out_w;
    int64_t h = (int64_t)oh * g->stride_h + col->down;
    int64_t w = (int64_t)ow * g->stride_w + col->across;

    for (uint32_t r = 0; r < n; r++) {
        uint8_t *to = dst + r / 16 * step + r % 16 * BLOCK;

        if (first + r >= g->real_rows) {
            memset(to, 0, BLOCK);
            continue;
        }
        if (h >= 0 && h < g->map_h && w >= 0 && w < g->map_w) {
            memcpy(to, col->src + ((size_t)(h - g->src_h) * g->map_w + (size_t)w) * BLOCK,
                   BLOCK);
        } else {
            memcpy(to, g->pad, BLOCK);
        }
        w += g->stride_w;
        if (++ow == g->out_w) {
            ow = 0;
            w = col->across;
            h += g->stride_h;
        }
    }
}

/* Fractals as they are; fractal (row / 16, block) goes to steps of each. */
static void straight(uint8_t *dst, const struct move_map *g, size_t step_row,
                     size_t step_block)
{
    for (uint32_t j = 0; j < g->blocks; j++) {
        struct column col = column_at(g, g->first_block + j);

        gather(dst + j * step_block, g, &col, 0, (g->rows + 15) / 16 * 16, step_row);
    }
}

/* Through a small Nz buffer, which is then transposed; rows of the matrix are k. */
static void transposed(uint8_t *dst, const struct move_map *g, unsigned esize,
                       size_t step_x, size_t step_k)
{
    alignas(64) uint8_t buffer[CHUNK * STRIPE * BLOCK];
    size_t c0 = BLOCK / esize;

    for (uint32_t row = 0; row < g->rows; row += STRIPE) {
        uint32_t rows = g->rows - row < STRIPE ? g->rows - row : STRIPE;

        for (uint32_t j = 0; j < g->blocks; j += CHUNK) {
            uint32_t blocks = g->blocks - j < CHUNK ? g->blocks - j : CHUNK;
            struct move_window w = {buffer, STRIPE * BLOCK, rows, blocks * BLOCK, esize};

            for (uint32_t i = 0; i < blocks; i++) {
                struct column col = column_at(g, g->first_block + j + i);
                gather(buffer + i * STRIPE * BLOCK, g, &col, row, rows, FRACTAL);
            }
            move_transpose_fractals(dst + j * c0 / 16 * step_x + row / c0 * step_k, &w,
                                    step_x, step_k);
        }
    }
}

void move_img2zz(void *dst, const struct move_map *g, unsigned esize)
{
    (void)esize;
    straight(dst, g, (size_t)g->blocks * FRACTAL, FRACTAL);
}

void move_img2zn_t(void *dst, const struct move_map *g, unsigned esize)
{
    (void)esize;
    straight(dst, g, FRACTAL, (size_t)(g->rows + 15) / 16 * FRACTAL);
}

void move_img2zz_t(void *dst, const struct move_map *g, unsigned esize)
{
    size_t k0 = BLOCK / esize;

    transposed(dst, g, esize, (g->rows + k0 - 1) / k0 * FRACTAL, FRACTAL);
}

void move_img2zn(void *dst, const struct move_map *g, unsigned esize)
{
    size_t columns = (size_t)g->blocks * BLOCK / esize;

    transposed(dst, g, esize, FRACTAL, (columns + 15) / 16 * FRACTAL);
}
