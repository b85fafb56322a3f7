/* SPDX-License-Identifier: MIT
 *
 * Parts of a planned convolution: units, chunks, pieces; see plan.h.
 */
#include "kernels/conv/inside.h"
#include "kernels/conv/plan.h"
#include "kernels/lib/share.h"

/* One side of windows that see nothing of x: a row, or column, and padding. */
static struct conv_under nothing(uint32_t count, uint32_t stride, uint32_t reach)
{
    return (struct conv_under){0, 1, 0, (uint8_t)((count - 1) * stride + reach - 1)};
}

/* What only a part of a transposed convolution has: windows that see nothing. */
static __attribute__((noinline)) void look_beside(const struct conv *p,
                                                  struct conv_unit *u,
                                                  struct conv_under *high,
                                                  struct conv_under *wide)
{
    u->blank = high->count == 0 || wide->count == 0 || p->part->empty;
    if (high->count == 0) {
        *high = nothing(u->rows, p->stride_h, conv_extent(p->kh, p->dilation_h));
    }
    if (wide->count == 0) {
        *wide = nothing(u->cols, p->stride_w, conv_extent(p->kw, p->dilation_w));
    }
}

void conv_unit(const struct conv_plan *l, uint32_t unit, struct conv_unit *u)
{
    const struct conv *p = &l->p;
    uint32_t patches = l->deep * l->down * l->across, of = unit % (patches * l->n_blocks);
    uint32_t i = l->by_patch ? of / l->n_blocks : of % patches;
    struct conv_under high, wide;

    u->group = unit / (patches * l->n_blocks);
    u->n_first = (l->by_patch ? of % l->n_blocks : of / patches) * l->nt;
    u->n_count = min_u32(l->nt, l->out - u->n_first);
    u->col = i % l->across * l->cols;
    u->cols = min_u32(l->cols, l->ow - u->col);
    u->row = i / l->across % l->down * l->rows;
    u->rows = min_u32(l->rows, l->oh - u->row);
    u->image = i / l->across / l->down * l->images;
    u->images = min_u32(l->images, p->n - u->image);
    high = conv_under(u->row, u->rows, p->stride_h, conv_extent(p->kh, p->dilation_h),
                      p->pad_top, p->h);
    wide = conv_under(u->col, u->cols, p->stride_w, conv_extent(p->kw, p->dilation_w),
                      p->pad_left, p->w);
    wide.count = l->few ? p->w : wide.count;
    u->blank = false;
    if (p->part) {
        look_beside(p, u, &high, &wide);
    }
    u->map_row = high.first;
    u->map_col = wide.first;
    u->map = l->map;
    u->map.map_h = (uint16_t)high.count;
    u->map.map_w = (uint16_t)wide.count;
    u->map.pad_left = wide.before;
    u->map.pad_right = wide.after;
    u->map.pad_top = high.before;
    u->map.pad_bottom = high.after;
}

struct conv_chunk conv_chunk(const struct conv_plan *l, uint32_t i)
{
    uint32_t first = i * l->chunk, blocks = min_u32(l->chunk, l->blocks - first);
    uint32_t channels = min_u32(blocks * l->c0, l->in - first * l->c0);

    return (struct conv_chunk){first * l->c0, channels, blocks};
}

struct conv_chunk conv_all(const struct conv_plan *l)
{
    return (struct conv_chunk){0, l->in, l->blocks};
}

static uint32_t pieces_of_image(const struct conv_plan *l, const struct conv_unit *u)
{
    return (u->rows * u->cols + l->piece - 1) / l->piece;
}

uint32_t conv_pieces(const struct conv_plan *l, const struct conv_unit *u)
{
    return pieces_of_image(l, u) * u->images;
}

struct conv_piece conv_piece(const struct conv_plan *l, const struct conv_unit *u,
                             uint32_t i)
{
    uint32_t of = pieces_of_image(l, u), m = i % of * l->piece;

    return (struct conv_piece){i / of, m, min_u32(l->piece, u->rows * u->cols - m)};
}

struct conv_run conv_run_apart(const struct conv_plan *l, const struct conv_unit *u,
                               const struct conv_piece *piece, uint32_t m, uint32_t end)
{
    const struct conv_places *to = &l->to;
    uint64_t image = u->image + piece->image, row = u->row, col = m;
    uint32_t count = end - m;

    /* Unless a row of its pixels begins where the one before ends. */
    if (u->cols != l->ow || to->row_step * to->w != to->col_step * l->ow) {
        row += m / u->cols;
        col = m % u->cols;
        count = min_u32(u->cols - (uint32_t)col, count);
        col += u->col;
    }
    return (struct conv_run){count,
                             (image * to->h + to->row + row * to->row_step) * to->w +
                                 to->col + col * to->col_step};
}
