/* SPDX-License-Identifier: MIT
 *
 * Pooling; see pool.h. A row of y is made of the rows of x under its windows, which come one
 * by one: first they are combined whole, then the columns of what that gives. Each pixel is
 * whole blocks of UB, and a row has room for the pads, which keep what they were filled with
 * at the beginning. Channels are cut so that a row is a buffer.
 */
#include "kernels/pool/pool.h"

#include <stdlib.h>

#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/pool/plan.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "sched/vector.h"

enum { ROWS = 2 /* of x, in their buffers */ };

/* Columns of y from `first` on have so many columns of x in their windows. */
struct run {
    uint32_t first, n;
};

struct room {
    const struct pool_plan *plan;
    struct run runs[POOL_PIXELS + 1];
    uint32_t n_runs;
    struct tque *in, *out;
    uint32_t rows, wide, sums; /* combined rows; a row of x as fp32; a row of y in fp32 */
};

static uint32_t lowest(enum type type)
{
    switch (type) {
    case TYPE_F32:
        return 0xff800000;
    case TYPE_F16:
        return 0xfc00;
    case TYPE_S32:
        return 0x80000000;
    default: /* S16 */
        return 0x8000;
    }
}

static void bring(const struct room *r, const struct pool_unit *u, uint32_t row)
{
    const struct pool_plan *l = r->plan;
    const struct pool *p = l->p;
    uint64_t pixel =
        ((uint64_t)u->image * p->h + u->h + row * p->dilation_h) * p->w + u->w;
    uint32_t to = tque_alloc(r->in);
    struct mte_rows rows = {.n_rows = u->count,
                            .row_bytes = u->channels * l->esize,
                            .gm_pitch_bytes = p->c * l->esize,
                            .local_pitch_bytes = l->blocks * POOL_BLOCK};
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, to + u->from * l->blocks * POOL_BLOCK,
                      (const char *)p->x + (pixel * p->c + u->channel) * l->esize, &rows);
    tque_enque(r->in, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* The first row begins what the others are combined with. */
static void combine_row(const struct room *r, uint32_t row)
{
    const struct pool_plan *l = r->plan;
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
static enum op op_of(const struct pool_plan *l)
{
    return l->p->mean && l->p->kw > 1 ? OP_VADD : OP_VMAX;
}

/* `repeat` times `blocks` blocks of elements, `blk` and `rep` as pixels: 0 or some. */
static void combine(const struct pool_plan *l, const struct columns *c, uint32_t blocks,
                    uint32_t repeat, uint32_t blk, uint32_t rep)
{
    uint32_t bits = blocks * POOL_BLOCK * 8 / type_bits(l->sum), b = l->sum_blocks;
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

static struct columns behind(const struct pool_plan *l, const struct columns *c,
                             uint32_t pixels, uint32_t blocks)
{
    return (struct columns){c->dst + (pixels * l->sum_blocks + blocks) * POOL_BLOCK,
                            c->x + (pixels * c->x_pixel + blocks) * POOL_BLOCK,
                            c->y + (pixels * c->y_pixel + blocks) * POOL_BLOCK,
                            c->x_pixel, c->y_pixel};
}

static void combine_pixels(const struct pool_plan *l, uint32_t cols,
                           const struct columns *c)
{
    union cmd cmd;

    task_vector_count(l->sum_blocks * POOL_BLOCK * 8 / type_bits(l->sum));
    for (uint32_t i = 0; i < cols; i++) {
        struct columns at = behind(l, c, i, 0);
        vector_binary(&cmd, op_of(l), l->sum, at.dst, at.x, at.y);
        task_vector(&cmd);
    }
}

/* The blocks of a repeat are those of 8 pixels where a pixel has one or two, else of one. */
static void combine_columns(const struct pool_plan *l, uint32_t cols,
                            const struct columns *c)
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
        n = min_u32(POOL_REPEATS, cols - i);
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
static void find_runs(struct room *r, const struct pool_unit *u)
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
static void divide(const struct room *r, const struct pool_unit *u)
{
    const struct pool_plan *l = r->plan;
    uint32_t pixel = l->sum_blocks * POOL_BLOCK,
             rows = l->p->include_pad ? l->p->kh : u->rows;
    union cmd cmd;

    for (uint32_t i = 0; i < r->n_runs; i++) {
        uint32_t first = r->runs[i].first, at = r->sums + first * pixel;
        task_vector_count((r->runs[i + 1].first - first) * pixel / 4);
        vector_scalar(&cmd, OP_VMULS, TYPE_F32, at, at,
                      f32_bits(1.0f / (float)(r->runs[i].n * rows)));
        task_vector(&cmd);
    }
}

static void store(const struct room *r, const struct pool_unit *u, uint32_t y)
{
    const struct pool_plan *l = r->plan;
    const struct pool *p = l->p;
    uint64_t pixel = ((uint64_t)u->image * l->oh + u->row) * l->ow + u->col;
    struct mte_rows rows = {.n_rows = u->cols,
                            .row_bytes = u->channels * l->esize,
                            .gm_pitch_bytes = p->c * l->esize,
                            .local_pitch_bytes = l->blocks * POOL_BLOCK};
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, (char *)p->y + (pixel * p->c + u->channel) * l->esize, y,
                      &rows);
    tque_free(r->out, y, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

static void make_row(const struct room *r, const struct pool_unit *u)
{
    const struct pool_plan *l = r->plan;
    const struct pool *p = l->p;
    uint32_t pixel = l->sum_blocks * POOL_BLOCK, y, to;
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
    const struct pool_plan *l = r->plan;
    union cmd cmd;

    task_vector_count(POOL_ROW / l->esize);
    for (unsigned i = 0; i < ROWS; i++) {
        vector_fill(&cmd, OP_VDUP, l->esize == 4 ? TYPE_S32 : TYPE_S16,
                    r->in->begin + i * POOL_ROW, l->p->mean ? 0 : lowest(l->p->type));
        task_vector(&cmd);
    }
    task_drain();
}

void pool_step_block(void *step)
{
    const struct pool_plan *l = step;
    struct tpipe *pipe = tpipe_open();
    uint32_t times = l->sum_blocks / l->blocks;
    struct room r = {
        .plan = l,
        .in = tque_init(pipe, "row of x", VECIN, PIPE_MTE2, PIPE_V, ROWS, POOL_ROW),
        .out = tque_init(pipe, "row of y", VECOUT, PIPE_V, PIPE_MTE3, 2, POOL_ROW)};
    uint64_t i = share_begin(l->units, 1, task_block(), task_blocks());
    uint64_t end = share_begin(l->units, 1, task_block() + 1, task_blocks());
    struct pool_unit before = {0};

    r.rows = tbuf_init(pipe, "rows combined", VECCALC, times * POOL_ROW);
    if (l->p->mean) {
        r.wide =
            times > 1 ? tbuf_init(pipe, "row in fp32", VECCALC, times * POOL_ROW) : 0;
        r.sums = tbuf_init(pipe, "sums", VECCALC, times * POOL_ROW);
    }
    for (; i < end; i++) {
        struct pool_unit u = pool_unit(l, i);
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
    struct pool_plan plan;
    char why[POOL_TEXT];
    int err = pool_check(p, why);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    plan = pool_plan(p);
    return launch(&(struct launch){"pool", pool_step_block, &plan, .cores = p->cores},
                  report);
}

/* A plan that outlives its caller's description; the plan is first, for pool_step_block(). */
struct step {
    struct pool_plan plan;
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
    s->plan = pool_plan(&s->p);
    *step = s;
    return 0;
}
