/* SPDX-License-Identifier: MIT
 *
 * See plan.h.
 */
#include "kernels/pool/plan.h"

#include <stdio.h>

#include "hal/vector.h"
#include "kernels/lib/share.h"

static uint32_t extent(uint32_t window, uint32_t dilation)
{
    return (window - 1) * dilation + 1;
}

uint32_t pool_oh(const struct pool *p)
{
    return (p->h + p->pad_top + p->pad_bottom - extent(p->kh, p->dilation_h)) /
               p->stride_h +
           1;
}

uint32_t pool_ow(const struct pool *p)
{
    return (p->w + p->pad_left + p->pad_right - extent(p->kw, p->dilation_w)) /
               p->stride_w +
           1;
}

int pool_check(const struct pool *p, char why[POOL_TEXT])
{
    uint64_t high = p->kh ? (uint64_t)(p->kh - 1) * p->dilation_h + 1 : 0;
    uint64_t wide = p->kw ? (uint64_t)(p->kw - 1) * p->dilation_w + 1 : 0;
    bool whole = p->type == TYPE_S32 || p->type == TYPE_S16;

    if (p->type != TYPE_F32 && p->type != TYPE_F16 && (p->mean || !whole)) {
        snprintf(why, POOL_TEXT, "not of %s", type_name(p->type));
        return ERR_TYPE;
    }
    if (p->n == 0 || p->h == 0 || p->w == 0 || p->c == 0 || high == 0 || wide == 0 ||
        p->stride_h == 0 || p->stride_w == 0 || p->dilation_h == 0 ||
        p->dilation_w == 0) {
        snprintf(why, POOL_TEXT, "a size, stride or dilation of 0");
        return ERR_ARG;
    }
    if (p->pad_top >= high || p->pad_bottom >= high || p->pad_left >= wide ||
        p->pad_right >= wide) {
        snprintf(why, POOL_TEXT,
                 "pads of %lu, %lu, %lu, %lu leave windows of %llu x %llu "
                 "without x",
                 (unsigned long)p->pad_top, (unsigned long)p->pad_left,
                 (unsigned long)p->pad_bottom, (unsigned long)p->pad_right,
                 (unsigned long long)high, (unsigned long long)wide);
        return ERR_ARG;
    }
    if (high > (uint64_t)p->h + p->pad_top + p->pad_bottom ||
        wide > (uint64_t)p->w + p->pad_left + p->pad_right || wide > POOL_PIXELS) {
        snprintf(why, POOL_TEXT,
                 "a window of %llu x %llu over %lu x %lu with its pads; at "
                 "most %d wide",
                 (unsigned long long)high, (unsigned long long)wide,
                 (unsigned long)(p->h + p->pad_top + p->pad_bottom),
                 (unsigned long)(p->w + p->pad_left + p->pad_right), POOL_PIXELS);
        return ERR_SHAPE;
    }
    return 0;
}

struct pool_plan pool_plan(const struct pool *p)
{
    struct pool_plan l = {
        .p = p, .oh = pool_oh(p), .ow = pool_ow(p), .esize = type_bits(p->type) / 8};
    uint32_t reach = extent(p->kw, p->dilation_w), per_block = POOL_BLOCK / l.esize, all;

    l.cols = min_u32(l.ow, (POOL_PIXELS - reach) / p->stride_w + 1);
    l.across = (l.ow + l.cols - 1) / l.cols;
    l.cols = (l.ow + l.across - 1) / l.across;
    l.across = (l.ow + l.cols - 1) / l.cols;
    l.wide = (l.cols - 1) * p->stride_w + reach;
    all = (p->c + per_block - 1) / per_block;
    l.blocks = min_u32(all, POOL_ROW / POOL_BLOCK / (l.wide + POOL_SLACK));
    l.chunks = (all + l.blocks - 1) / l.blocks;
    l.blocks = (all + l.chunks - 1) / l.chunks;
    l.chunks = (all + l.blocks - 1) / l.blocks;
    l.channels = l.blocks * per_block;
    l.sum = p->mean ? TYPE_F32 : p->type;
    l.sum_blocks = l.blocks * type_bits(l.sum) / 8 / l.esize;
    l.units = (uint64_t)p->n * l.chunks * l.across * l.oh;
    return l;
}

struct pool_unit pool_unit(const struct pool_plan *l, uint64_t number)
{
    const struct pool *p = l->p;
    struct pool_unit u = {.row = (uint32_t)(number % l->oh)};
    int64_t first, end;

    number /= l->oh;
    u.col = (uint32_t)(number % l->across) * l->cols;
    u.cols = min_u32(l->cols, l->ow - u.col);
    number /= l->across;
    u.channel = (uint32_t)(number % l->chunks) * l->channels;
    u.channels = min_u32(l->channels, p->c - u.channel);
    u.image = (uint32_t)(number / l->chunks);
    first = (int64_t)u.row * p->stride_h - p->pad_top;
    for (uint32_t r = 0; r < p->kh; r++, first += p->dilation_h) {
        if (first >= 0 && first < p->h) {
            u.h = u.rows++ ? u.h : (uint32_t)first;
        }
    }
    first = (int64_t)u.col * p->stride_w - p->pad_left;
    end = first + (int64_t)(u.cols - 1) * p->stride_w + extent(p->kw, p->dilation_w);
    u.w = first < 0 ? 0 : (uint32_t)first;
    u.from = first < 0 ? (uint32_t)-first : 0;
    u.count = (uint32_t)(end < p->w ? end : p->w) - u.w;
    return u;
}

/* Those of combine_columns() in pool.c. */
static uint32_t of_columns(const struct pool_plan *l, uint32_t cols)
{
    uint32_t b = l->sum_blocks, groups = b <= 2 ? cols / VEC_BLOCKS : 0;
    uint32_t left = cols - groups * VEC_BLOCKS;

    if (cols * VEC_BLOCKS <= b) {
        return 1 + cols;
    }
    return 2 * ((groups ? b : 0) +
                div_up_u32(left, POOL_REPEATS) * div_up_u32(b, VEC_BLOCKS));
}

/* Rows of x in the windows of all rows of y. */
static uint64_t rows_of_windows(const struct pool_plan *l)
{
    const struct pool *p = l->p;
    uint64_t all = 0;

    for (uint32_t r = 0; r < p->kh; r++) {
        int64_t in_front = (int64_t)p->pad_top - (int64_t)r * p->dilation_h;
        int64_t step = p->stride_h, behind = p->h + in_front;
        int64_t first = in_front > 0 ? (in_front + step - 1) / step : 0;
        int64_t end = behind > 0 ? (behind + step - 1) / step : 0;
        end = end < l->oh ? end : l->oh;
        all += end > first ? (uint64_t)(end - first) : 0;
    }
    return all;
}

uint64_t pool_commands(const struct pool_plan *l)
{
    uint32_t times = l->p->kw > 1 ? l->p->kw - 1 : 1, last = l->across - 1;
    uint64_t columns =
        (uint64_t)last * of_columns(l, l->cols) + of_columns(l, l->ow - last * l->cols);
    uint64_t others = 3; /* of a unit: a count, an end, a store */

    return (uint64_t)l->p->n * l->chunks *
           (l->across * (2 * rows_of_windows(l) + others * l->oh) +
            l->oh * times * columns);
}
