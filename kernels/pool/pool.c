/* SPDX-License-Identifier: MIT
 *
 * Pooling; see pool.h. A row of y is made of the rows of x under its windows, which come one
 * by one: first they are combined whole, then the columns of what that gives. Each pixel is
 * whole blocks of UB, and a row has room for the pads, which keep what they were filled with
 * at the beginning. Channels are cut so that a row is a buffer.
 */
#include "kernels/pool/pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "sched/vector.h"

enum {
    BLOCK = 32,
    ROW = 16 << 10, /* bytes of a row of x */
    SLACK = 8,      /* blocks, or more, behind a row that commands may touch */
    ROWS = 2,       /* of these */
    REPEATS = 255,
};
_Static_assert((POOL_PIXELS + SLACK) * BLOCK <= ROW, "a block of each pixel");

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

/* --- plan --- */

struct plan {
    const struct pool *p;
    uint32_t oh, ow, esize;
    uint32_t cols, across;     /* of y in a unit; units beside each other */
    uint32_t blocks, channels; /* of a pixel, in blocks of x's type */
    uint32_t chunks;           /* of channels */
    uint32_t wide;             /* pixels of a row in UB */
    uint32_t sum_blocks;       /* of a pixel where it is summed */
    enum type sum;             /* type of that */
    uint64_t units;
};

static struct plan make_plan(const struct pool *p)
{
    struct plan l = {
        .p = p, .oh = pool_oh(p), .ow = pool_ow(p), .esize = type_bits(p->type) / 8};
    uint32_t reach = extent(p->kw, p->dilation_w), per_block = BLOCK / l.esize, all;

    l.cols = min_u32(l.ow, (POOL_PIXELS - reach) / p->stride_w + 1);
    l.across = (l.ow + l.cols - 1) / l.cols;
    l.cols = (l.ow + l.across - 1) / l.across;
    l.across = (l.ow + l.cols - 1) / l.cols;
    l.wide = (l.cols - 1) * p->stride_w + reach;
    all = (p->c + per_block - 1) / per_block;
    l.blocks = min_u32(all, ROW / BLOCK / (l.wide + SLACK));
    l.chunks = (all + l.blocks - 1) / l.blocks;
    l.blocks = (all + l.chunks - 1) / l.chunks;
    l.chunks = (all + l.blocks - 1) / l.blocks;
    l.channels = l.blocks * per_block;
    l.sum = p->mean ? TYPE_F32 : p->type;
    l.sum_blocks = l.blocks * type_bits(l.sum) / 8 / l.esize;
    l.units = (uint64_t)p->n * l.chunks * l.across * l.oh;
    return l;
}

struct unit {
    uint32_t image, channel, channels, col, cols, row;
    uint32_t h, rows;        /* the first row of x that is there, and how many */
    uint32_t from, w, count; /* pixel of the buffer, of x, and how many are there */
};

static struct unit unit_of(const struct plan *l, uint64_t number)
{
    const struct pool *p = l->p;
    struct unit u = {.row = (uint32_t)(number % l->oh)};
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

/* --- the kernel --- */

/* Columns of y from `first` on have so many columns of x in their windows. */
struct run {
    uint32_t first, n;
};

struct room {
    const struct plan *plan;
    struct run runs[POOL_PIXELS + 1];
    uint32_t n_runs;
    struct tque *in, *out;
    uint32_t rows, wide, sums; /* combined rows; a row of x as fp32; a row of y in fp32 */
};

static uint32_t lowest(enum type type)
{
    return type == TYPE_F32   ? 0xff800000
           : type == TYPE_F16 ? 0xfc00
           : type == TYPE_S32 ? 0x80000000
                              : 0x8000;
}

static void bring(const struct room *r, const struct unit *u, uint32_t row)
{
    const struct plan *l = r->plan;
    const struct pool *p = l->p;
    uint64_t pixel =
        ((uint64_t)u->image * p->h + u->h + row * p->dilation_h) * p->w + u->w;
    uint32_t to = tque_alloc(r->in);
    struct mte_rows rows = {.n_rows = u->count,
                            .row_bytes = u->channels * l->esize,
                            .gm_pitch_bytes = p->c * l->esize,
                            .local_pitch_bytes = l->blocks * BLOCK};
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, to + u->from * l->blocks * BLOCK,
                      (const char *)p->x + (pixel * p->c + u->channel) * l->esize, &rows);
    tque_enque(r->in, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* The first row begins what the others are combined with. */
static void combine_row(const struct room *r, uint32_t row)
{
    const struct plan *l = r->plan;
    enum op op = l->p->mean ? OP_VADD : OP_VMAX;
    uint32_t x = tque_deque(r->in);
    union cmd cmd;

    if (l->sum != l->p->type) {
        vector_convert(&cmd, l->p->type, l->sum, ROUND_RINT, row ? r->wide : r->rows, x);
        if (row) {
            task_vector(&cmd);
            vector_binary(&cmd, op, l->sum, r->rows, r->rows, r->wide);
        }
    } else if (row) {
        vector_binary(&cmd, op, l->sum, r->rows, r->rows, x);
    } else if (l->p->mean) {
        vector_scalar(&cmd, OP_VADDS, l->sum, r->rows, x, 0);
    } else {
        vector_binary(&cmd, op, l->sum, r->rows, x, x);
    }
    tque_free(r->in, x, &cmd);
    task_vector(&cmd);
}

/* Pixels that lie apart in x and y, and result in pixels side by side. */
struct columns {
    uint32_t dst, x, y;        /* the first */
    uint32_t x_pixel, y_pixel; /* blocks from one to the next */
};

/* What combines columns; of windows of one it is to give the one again. */
static enum op op_of(const struct plan *l)
{
    return l->p->mean && l->p->kw > 1 ? OP_VADD : OP_VMAX;
}

/* `repeat` times `blocks` blocks of elements, `blk` and `rep` as pixels: 0 or some. */
static void combine(const struct plan *l, const struct columns *c, uint32_t blocks,
                    uint32_t repeat, uint32_t blk, uint32_t rep)
{
    uint32_t bits = blocks * BLOCK * 8 / type_bits(l->sum), b = l->sum_blocks;
    struct vec_binary v = {
        .op = op_of(l),
        .type = l->sum,
        .dst = {c->dst, (uint16_t)(blk ? b : 1), (uint16_t)(rep * b)},
        .x = {c->x, (uint16_t)(blk ? c->x_pixel : 1), (uint16_t)(rep * c->x_pixel)},
        .y = {c->y, (uint16_t)(blk ? c->y_pixel : 1), (uint16_t)(rep * c->y_pixel)},
        .repeat = repeat};
    union cmd cmd;

    vector_mask(&cmd, bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX,
                bits < 64    ? 0
                : bits < 128 ? (UINT64_C(1) << (bits - 64)) - 1
                             : UINT64_MAX);
    task_vector(&cmd);
    vector_binary_strided(&cmd, &v);
    task_vector(&cmd);
}

static struct columns behind(const struct plan *l, const struct columns *c,
                             uint32_t pixels, uint32_t blocks)
{
    return (struct columns){c->dst + (pixels * l->sum_blocks + blocks) * BLOCK,
                            c->x + (pixels * c->x_pixel + blocks) * BLOCK,
                            c->y + (pixels * c->y_pixel + blocks) * BLOCK, c->x_pixel,
                            c->y_pixel};
}

static void combine_pixels(const struct plan *l, uint32_t cols, const struct columns *c)
{
    union cmd cmd;

    task_vector_count(l->sum_blocks * BLOCK * 8 / type_bits(l->sum));
    for (uint32_t i = 0; i < cols; i++) {
        struct columns at = behind(l, c, i, 0);
        vector_binary(&cmd, op_of(l), l->sum, at.dst, at.x, at.y);
        task_vector(&cmd);
    }
}

/* The blocks of a repeat are those of 8 pixels where a pixel has one or two, else of one. */
static void combine_columns(const struct plan *l, uint32_t cols, const struct columns *c)
{
    uint32_t b = l->sum_blocks, groups = b <= 2 ? cols / VEC_BLOCKS : 0, n;

    if (cols * VEC_BLOCKS <= b) { /* few pixels of many blocks: each at once */
        combine_pixels(l, cols, c);
        return;
    }
    for (uint32_t part = 0; part < b && groups; part++) {
        struct columns at = behind(l, c, 0, part);
        combine(l, &at, VEC_BLOCKS, groups, 1, VEC_BLOCKS);
    }
    for (uint32_t i = groups * VEC_BLOCKS; i < cols; i += n) {
        n = min_u32(REPEATS, cols - i);
        for (uint32_t part = 0; part < b; part += VEC_BLOCKS) {
            struct columns at = behind(l, c, i, part);
            combine(l, &at, min_u32(VEC_BLOCKS, b - part), n, 0, 1);
        }
    }
}

/* Columns of the map in the window of column q. */
static uint32_t columns_in(const struct pool *p, uint32_t q)
{
    uint32_t n = 0;

    for (uint32_t s = 0; s < p->kw; s++) {
        int64_t w = (int64_t)q * p->stride_w + (int64_t)s * p->dilation_w - p->pad_left;
        n += w >= 0 && w < p->w;
    }
    return n;
}

/* Columns of y whose windows have equally many columns of x. */
static void find_runs(struct room *r, const struct unit *u)
{
    const struct pool *p = r->plan->p;

    r->n_runs = 0;
    for (uint32_t q = 0, n, last = 0; q < u->cols; q++, last = n) {
        n = p->include_pad ? p->kw : columns_in(p, u->col + q);
        if (q == 0 || n != last) {
            r->runs[r->n_runs++] = (struct run){q, n};
        }
    }
    r->runs[r->n_runs].first = u->cols;
}

/* Sums to means: by as many as there are. */
static void divide(const struct room *r, const struct unit *u)
{
    const struct plan *l = r->plan;
    uint32_t pixel = l->sum_blocks * BLOCK, rows = l->p->include_pad ? l->p->kh : u->rows;
    union cmd cmd;

    for (uint32_t i = 0; i < r->n_runs; i++) {
        uint32_t first = r->runs[i].first, at = r->sums + first * pixel;
        task_vector_count((r->runs[i + 1].first - first) * pixel / 4);
        vector_scalar(&cmd, OP_VMULS, TYPE_F32, at, at,
                      f32_bits(1.0f / (float)(r->runs[i].n * rows)));
        task_vector(&cmd);
    }
}

static void store(const struct room *r, const struct unit *u, uint32_t y)
{
    const struct plan *l = r->plan;
    const struct pool *p = l->p;
    uint64_t pixel = ((uint64_t)u->image * l->oh + u->row) * l->ow + u->col;
    struct mte_rows rows = {.n_rows = u->cols,
                            .row_bytes = u->channels * l->esize,
                            .gm_pitch_bytes = p->c * l->esize,
                            .local_pitch_bytes = l->blocks * BLOCK};
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, (char *)p->y + (pixel * p->c + u->channel) * l->esize, y,
                      &rows);
    tque_free(r->out, y, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

static void make_row(const struct room *r, const struct unit *u)
{
    const struct plan *l = r->plan;
    const struct pool *p = l->p;
    uint32_t pixel = l->sum_blocks * BLOCK, y, to;
    union cmd cmd;

    task_vector_count(l->wide * pixel * 8 / type_bits(l->sum));
    for (uint32_t row = 0; row < u->rows; row++) {
        bring(r, u, row);
        combine_row(r, row);
    }
    y = tque_alloc(r->out);
    to = p->mean ? r->sums : y;
    for (uint32_t s = p->kw > 1; s < p->kw; s++) {
        bool first = s <= 1;
        uint32_t apart = p->stride_w * l->sum_blocks;
        struct columns c = {to, first ? r->rows : to, r->rows + s * p->dilation_w * pixel,
                            first ? apart : l->sum_blocks, apart};
        combine_columns(l, u->cols, &c);
    }
    if (p->mean) {
        divide(r, u);
        task_vector_count(u->cols * pixel / 4);
        if (l->sum != p->type) {
            vector_convert(&cmd, l->sum, p->type, ROUND_RINT, y, r->sums);
        } else {
            vector_scalar(&cmd, OP_VADDS, l->sum, y, r->sums, 0);
        }
    } else {
        cmd_nop(&cmd);
    }
    tque_enque(r->out, y, &cmd);
    task_vector(&cmd);
    store(r, u, tque_deque(r->out));
}

/* Pads keep this: no row covers them. */
static void fill(const struct room *r)
{
    const struct plan *l = r->plan;
    union cmd cmd;

    task_vector_count(ROW / l->esize);
    for (unsigned i = 0; i < ROWS; i++) {
        vector_fill(&cmd, OP_VDUP, l->esize == 4 ? TYPE_S32 : TYPE_S16,
                    r->in->begin + i * ROW, l->p->mean ? 0 : lowest(l->p->type));
        task_vector(&cmd);
    }
    task_drain();
}

void pool_step_block(void *step)
{
    const struct plan *l = step;
    struct tpipe *pipe = tpipe_open();
    uint32_t times = l->sum_blocks / l->blocks;
    struct room r = {
        .plan = l,
        .in = tque_init(pipe, "row of x", VECIN, PIPE_MTE2, PIPE_V, ROWS, ROW),
        .out = tque_init(pipe, "row of y", VECOUT, PIPE_V, PIPE_MTE3, 2, ROW)};
    uint64_t i = share_begin(l->units, 1, task_block(), task_blocks());
    uint64_t end = share_begin(l->units, 1, task_block() + 1, task_blocks());
    struct unit before = {0};

    r.rows = tbuf_init(pipe, "rows combined", VECCALC, times * ROW);
    if (l->p->mean) {
        r.wide = times > 1 ? tbuf_init(pipe, "row in fp32", VECCALC, times * ROW) : 0;
        r.sums = tbuf_init(pipe, "sums", VECCALC, times * ROW);
    }
    for (; i < end; i++) {
        struct unit u = unit_of(l, i);
        if (u.from != before.from || u.count != before.count) { /* other pads */
            task_drain();
            fill(&r);
        }
        if (l->p->mean && (u.col != before.col || r.n_runs == 0)) {
            find_runs(&r, &u);
        }
        make_row(&r, &u);
        before = u;
    }
}

int pool(const struct pool *p, struct sched_report *report)
{
    struct plan plan;
    char why[POOL_TEXT];
    int err = pool_check(p, why);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    plan = make_plan(p);
    return launch(&(struct launch){"pool", pool_step_block, &plan, .cores = p->cores},
                  report);
}

/* A plan that outlives its caller's description; the plan is first, for pool_step_block(). */
struct step {
    struct plan plan;
    struct pool p;
};

int pool_step(const struct pool *p, void **step)
{
    struct step *s;
    char why[POOL_TEXT];
    int err = pool_check(p, why);

    if (err) {
        return err;
    }
    s = malloc(sizeof(*s));
    if (!s) {
        return ERR_NOMEM;
    }
    s->p = *p;
    s->plan = make_plan(&s->p);
    *step = s;
    return 0;
}
