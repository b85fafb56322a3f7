/* SPDX-License-Identifier: MIT
 *
 * A convolution of each channel by itself; see conv.h. The Cube multiplies the windows of a
 * block of 16 channels with matrices that have weights on their diagonal alone, one for each
 * tap, which conv_pack() has made.
 *
 * Windows go to L0A with a filter of one row. The rows of the filter are then as many MMADs
 * of the same windows, each from some rows of y further on: MTE1 brings a pixel kw times
 * instead of kh * kw times. With a stride of rows that is not so, and windows are whole.
 *
 * A unit is a patch of the output of some blocks of channels; a patch is a strip of columns
 * so narrow that a tile of it has several rows, and its rows in L0 are whole fractals.
 */
#include "kernels/conv/depthwise.h"

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"

/* --- units --- */

/* What one core does: units [begin, end). */
struct share {
    const struct depthwise_plan *plan;
    uint32_t begin, end;
    struct tque *patch, *weights, *bias;
    uint32_t bt, l0a, l0b, l0c;
};

struct unit {
    uint32_t number, group, channels, blocks; /* channels of the group */
    uint32_t image, row, rows, col, cols;     /* of y */
    struct conv_under high, wide;             /* of x */
};

static bool first_of_group(const struct share *s, uint32_t unit)
{
    const struct depthwise_plan *l = s->plan;

    return unit == s->begin || unit % (l->p->n * l->across * l->down) == 0;
}

static struct unit unit_of(const struct depthwise_plan *l, uint32_t number)
{
    const struct conv *p = l->p;
    uint32_t of = p->n * l->across * l->down, i = number % of;
    struct unit u = {.number = number, .group = number / of};

    u.channels =
        min_u32(l->group * DEPTHWISE_BLOCK, p->c - u.group * l->group * DEPTHWISE_BLOCK);
    u.blocks = up16(u.channels) / DEPTHWISE_BLOCK;
    u.row = i % l->down * l->tiles * l->rows;
    u.rows = min_u32(l->tiles * l->rows, conv_oh(p) - u.row);
    u.col = i / l->down % l->across * l->cols;
    u.cols = min_u32(l->cols, conv_ow(p) - u.col);
    u.image = i / l->down / l->across;
    u.high = conv_under(u.row, u.rows, p->stride_h, (p->kh - 1) * p->dilation_h + 1,
                        p->pad_top, p->h);
    u.wide = conv_under(u.col, u.cols, p->stride_w, (p->kw - 1) * p->dilation_w + 1,
                        p->pad_left, p->w);
    return u;
}

/* --- copy in --- */

static void load_patch(const struct share *s, const struct unit *u)
{
    const struct conv *p = s->plan->p;
    uint32_t to = tque_alloc(s->patch), pixels = u->high.count * u->wide.count;
    uint64_t pixel = ((uint64_t)u->image * p->h + u->high.first) * p->w + u->wide.first;
    uint64_t from = pixel * p->c + u->group * s->plan->group * DEPTHWISE_BLOCK;
    bool whole = u->wide.count == p->w;
    union cmd cmd;

    mte_gm_to_l1_nz_many(&cmd, to, conv_at(p->x, from, type_bits(p->in) / 8),
                         &(struct mte_nz_many){.type = p->in,
                                               .n_mats = whole ? 1 : u->high.count,
                                               .n_rows = whole ? pixels : u->wide.count,
                                               .n_cols = u->channels,
                                               .gm_pitch = p->c,
                                               .gm_mat = p->w * p->c,
                                               .block_rows = pixels,
                                               .l1_mat = u->wide.count});
    tque_enque(s->patch, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

static void load_weights(const struct share *s, const struct unit *u)
{
    const struct conv *p = s->plan->p;
    uint32_t block = u->group * s->plan->group, to = tque_alloc(s->weights);
    union cmd cmd;

    mte_gm_to_l1(&cmd, to,
                 (const char *)p->weight + (uint64_t)block * depthwise_diagonals(p),
                 u->blocks * depthwise_diagonals(p));
    tque_enque(s->weights, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    if (p->bias) {
        to = tque_alloc(s->bias);
        mte_gm_to_l1(&cmd, to,
                     conv_at(p->bias, (uint64_t)block * DEPTHWISE_BLOCK, sizeof(float)),
                     u->channels * 4);
        tque_enque(s->bias, to, &cmd);
        task_issue(PIPE_MTE2, &cmd);
    }
}

static void copy_in(void *arg)
{
    const struct share *s = arg;

    for (uint32_t i = s->begin; i < s->end; i++) {
        struct unit u = unit_of(s->plan, i);
        if (first_of_group(s, i)) {
            load_weights(s, &u);
        }
        load_patch(s, &u);
    }
}

/* --- multiply and store --- */

/* A batch's commands, which are written over where batches differ, and a task's way. */
struct walk {
    const struct share *s;
    struct unit u;
    uint32_t a, c;                     /* the next slots */
    uint32_t both_a;                   /* their addresses added up */
    uint32_t slot, last_c;             /* bytes of one of L0C, the last of them */
    uint32_t patch, plane;             /* in L1; bytes of a block of channels there */
    uint32_t diagonal, next_a, next_b; /* bytes of a block's; to the next filter row's */
    uint32_t last, out_bytes; /* channels of the last block; of a pixel's block */
    bool biased;
    union cmd load[DEPTHWISE_BATCH], mmad[PIPE_DEPTH], fix[DEPTHWISE_BATCH];
};

static uint32_t a_bytes(const struct depthwise_plan *l)
{
    return (l->rows + l->reach) * l->wide * l->kh * l->p->kw * MTE_BLOCK;
}

static uint32_t c_bytes(const struct depthwise_plan *l)
{
    return l->rows * l->wide * CONV_L0C_ROW;
}

/* The pads of columns fill a tile up to whole fractals. */
static void make_load(struct walk *w)
{
    const struct depthwise_plan *l = w->s->plan;
    const struct conv *p = l->p;
    uint32_t all = (l->wide - 1) * p->stride_w + (p->kw - 1) * p->dilation_w + 1;
    struct mte_conv map = {.map_h = (uint16_t)w->u.high.count,
                           .map_w = (uint16_t)w->u.wide.count,
                           .channels = (uint16_t)(w->u.blocks * DEPTHWISE_BLOCK),
                           .filter_h = (uint16_t)l->kh,
                           .filter_w = (uint16_t)p->kw,
                           .stride_h = (uint8_t)p->stride_h,
                           .stride_w = (uint8_t)p->stride_w,
                           .dilation_h = (uint8_t)p->dilation_h,
                           .dilation_w = (uint8_t)p->dilation_w,
                           .pad_left = w->u.wide.before,
                           .pad_right =
                               (uint8_t)(all - w->u.wide.before - w->u.wide.count),
                           .pad_top = w->u.high.before,
                           .pad_bottom = w->u.high.after};
    union cmd *cmd = w->load;

    mte_img2col_to_l0a(cmd, 0, 0,
                       &(struct mte_img2col){.type = p->in,
                                             .conv = &map,
                                             .k_len = l->kh * p->kw * DEPTHWISE_BLOCK});
    cmd_wait(cmd, CONV_L0_FREE, 1);
    cmd_post(cmd, CONV_L0_FULL, 1);
    for (unsigned i = 1; i < DEPTHWISE_BATCH; i++) {
        w->load[i] = *cmd;
    }
}

static void make_mmads(struct walk *w)
{
    const struct depthwise_plan *l = w->s->plan;
    bool bias = l->p->bias;

    for (uint32_t i = 0; i < DEPTHWISE_BATCH * l->shifts; i++) {
        uint32_t shift = i % l->shifts;
        struct cube_mmad mmad = {.type = l->p->in,
                                 .n = DEPTHWISE_BLOCK,
                                 .k = l->kh * l->p->kw * DEPTHWISE_BLOCK,
                                 .from = shift  ? CUBE_FROM_C
                                         : bias ? CUBE_FROM_BIAS
                                                : CUBE_FROM_ZERO};
        cube_mmad(&w->mmad[i], &mmad);
        if (shift == 0) {
            cmd_wait(&w->mmad[i], CONV_L0_FULL, 1);
            cmd_wait(&w->mmad[i], CONV_C_FREE, 1);
        }
        if (shift + 1 == l->shifts) {
            cmd_post(&w->mmad[i], CONV_L0_FREE, 1);
            cmd_post(&w->mmad[i], CONV_C_FULL, 1);
        }
    }
}

/* Rows of a tile are matrices to the fixpipe: so those of y may be apart. */
static void make_stores(struct walk *w)
{
    const struct depthwise_plan *l = w->s->plan;
    const struct conv *p = l->p;
    union cmd *cmd = w->fix;

    fixpipe_to_gm(
        cmd, p->y, 0,
        &(struct fixpipe_tile){.type = TYPE_F32,
                               .m = w->u.cols,
                               .n = DEPTHWISE_BLOCK,
                               .pitch_elems = p->c,
                               .quant = p->out == TYPE_F16 ? QUANT_F322F16 : QUANT_NONE,
                               .relu = conv_relu(p),
                               .flags = p->limit > 0 ? FIX_L0C_GM_CLIP : 0});
    cmd->fix_gm.src_nd_stride = (uint16_t)(l->wide / DEPTHWISE_BLOCK);
    cmd->fix_gm.dst_nd_stride = (uint16_t)(conv_ow(p) * p->c);
    cmd_wait(cmd, CONV_C_FULL, 1);
    cmd_post(cmd, CONV_C_FREE, 1);
    for (unsigned i = 1; i < DEPTHWISE_BATCH; i++) {
        w->fix[i] = *cmd;
    }
}

/* All that has been multiplied so far has been read: then bias and weights of a group. */
static void renew(struct walk *w)
{
    const struct share *s = w->s;
    const struct conv *p = s->plan->p;
    uint32_t l1 = tque_deque(s->weights), fractals = p->kh * p->kw, n;
    union cmd cmd;

    cmd_nop(&cmd);
    task_issue(PIPE_MTE1, &cmd);
    cmd_nop(&cmd);
    cmd_wait(&cmd, CONV_L0_FREE, CONV_L0_SLOTS);
    cmd_post(&cmd, CONV_L0_FREE, CONV_L0_SLOTS);
    task_issue(PIPE_MTE1, &cmd);
    for (uint32_t i = 0; i < w->u.blocks * fractals; i += n) {
        n = min_u32(w->u.blocks * fractals - i, UINT8_MAX);
        mte_l1_to_l0b_fractals(
            &cmd, s->l0b + i * MTE_FRACTAL, l1 + i * MTE_FRACTAL,
            &(struct mte_fractals){.type = p->in, .n_fractals = n, .src_pitch = 1});
        if (i + n == w->u.blocks * fractals) {
            tque_free(s->weights, l1, &cmd);
        }
        task_issue(PIPE_MTE1, &cmd);
    }
    if (p->bias) {
        l1 = tque_deque(s->bias);
        mte_l1_to_bt(&cmd, s->bt, l1, TYPE_F32, w->u.blocks * DEPTHWISE_BLOCK);
        tque_free(s->bias, l1, &cmd);
        task_issue(PIPE_MTE1, &cmd);
    }
}

/* A tile of the patch, and what its commands have in common. */
struct tile {
    uint32_t row, block; /* of y in the patch; the next of its blocks of channels */
    uint32_t m, m_len, rows;
    char *to;      /* in y */
    uint64_t next; /* bytes from there to the next tile's */
};

static void begin_tile(const struct walk *w, struct tile *t)
{
    const struct depthwise_plan *l = w->s->plan;
    const struct conv *p = l->p;
    uint64_t pixel =
        ((uint64_t)w->u.image * conv_oh(p) + w->u.row) * conv_ow(p) + w->u.col;
    uint32_t channel = w->u.group * l->group * DEPTHWISE_BLOCK;

    t->row = t->block = t->m = 0;
    t->rows = min_u32(l->rows, w->u.rows);
    t->m_len = (t->rows + l->reach) * l->wide;
    t->to =
        (char *)(uintptr_t)conv_at(p->y, pixel * p->c + channel, type_bits(p->out) / 8);
    t->next = (uint64_t)l->rows * conv_ow(p) * p->c * type_bits(p->out) / 8;
}

/* The one below it. */
static void next_tile(const struct walk *w, struct tile *t)
{
    const struct depthwise_plan *l = w->s->plan;

    t->row += l->rows;
    t->block = 0;
    t->m += l->rows * l->wide;
    t->to += t->next;
    if (t->row + l->rows > w->u.rows) {
        t->rows = w->u.rows - t->row;
        t->m_len = (t->rows + l->reach) * l->wide;
    }
}

/* Commands i to i + n - 1 of a batch: so many blocks of the tile. */
static void place(struct walk *w, struct tile *t, uint32_t i, uint32_t n)
{
    const struct depthwise_plan *l = w->s->plan;
    const uint32_t next_a = w->next_a, next_b = w->next_b, diagonal = w->diagonal;
    const uint32_t slot = w->slot, last_c = w->last_c, both_a = w->both_a,
                   step = l->shifts;
    const uint32_t plane = w->plane, out_bytes = w->out_bytes, first_c = w->s->l0c;
    const uint16_t m = (uint16_t)t->m, m_len = (uint16_t)t->m_len,
                   rows = (uint16_t)t->rows;
    const uint16_t c_len = (uint16_t)(t->rows * l->wide);
    const uint32_t step_bt = w->biased ? CONV_L0C_ROW : 0;
    uint32_t a = w->a, c = w->c, b = w->s->l0b + t->block * diagonal;
    uint32_t bt = w->s->bt + t->block * step_bt, src = w->patch + t->block * plane;
    uint64_t to = (uintptr_t)t->to + (uint64_t)t->block * out_bytes;
    union cmd *load = &w->load[i], *fix = &w->fix[i], *mmad = &w->mmad[i * step];
    const union cmd *end = load + n;

    for (; load < end; load++, fix++) {
        uint32_t from_a = a, from_b = b;
        load->load3d.dst = a;
        load->load3d.src = src;
        load->load3d.m_start = m;
        load->load3d.m_len = m_len;
        fix->fix_gm.dst = to;
        fix->fix_gm.src = c;
        fix->fix_gm.src_c0_stride = c_len;
        fix->fix_gm.nd_num = rows;
        fix->fix_gm.n = DEPTHWISE_BLOCK;
        mmad->mmad.bias = bt;
        for (uint32_t shift = step; shift > 0; shift--, mmad++) {
            mmad->mmad.dst = c;
            mmad->mmad.a = from_a;
            mmad->mmad.b = from_b;
            mmad->mmad.m = c_len;
            from_a += next_a;
            from_b += next_b;
        }
        a = both_a - a;
        c = c == last_c ? first_c : c + slot;
        b += diagonal;
        bt += step_bt;
        src += plane;
        to += out_bytes;
    }
    t->block += n;
    if (t->block == w->u.blocks) {
        fix[-1].fix_gm.n = (uint16_t)w->last;
    }
    w->a = a;
    w->c = c;
}

/* What two units have in common if their commands have. */
static bool is_like(const struct unit *a, const struct unit *b)
{
    return a->blocks == b->blocks && a->cols == b->cols &&
           a->high.count == b->high.count && a->high.before == b->high.before &&
           a->high.after == b->high.after && a->wide.count == b->wide.count &&
           a->wide.before == b->wide.before;
}

/* What commands of the unit are placed by. */
static void begin_unit(struct walk *w, uint32_t number)
{
    const struct depthwise_plan *l = w->s->plan;
    const struct conv *p = l->p;
    uint32_t k = l->kh * p->kw;
    struct unit before = w->u;

    w->u = unit_of(l, number);
    if (first_of_group(w->s, number)) {
        renew(w);
    }
    w->biased = p->bias != NULL;
    w->diagonal = depthwise_diagonals(p);
    w->plane = w->u.high.count * w->u.wide.count * MTE_BLOCK;
    w->next_a = p->dilation_h * l->wide / DEPTHWISE_BLOCK * k * MTE_FRACTAL;
    w->next_b = k * MTE_FRACTAL;
    w->last = w->u.channels - (w->u.blocks - 1) * DEPTHWISE_BLOCK;
    w->out_bytes = DEPTHWISE_BLOCK * type_bits(p->out) / 8;
    if (number == w->s->begin || !is_like(&before, &w->u)) {
        make_load(w);
        make_stores(w);
    }
}

/* Blocks of a tile, tile after tile, in batches. */
static void multiply_patch(struct walk *w)
{
    const struct depthwise_plan *l = w->s->plan;
    uint32_t left = (w->u.rows + l->rows - 1) / l->rows * w->u.blocks, n;
    struct tile t;

    begin_tile(w, &t);
    for (; left > 0; left -= n) {
        n = min_u32(DEPTHWISE_BATCH, left);
        for (uint32_t i = 0, some; i < n; i += some) {
            if (t.block == w->u.blocks) {
                next_tile(w, &t);
            }
            some = min_u32(n - i, w->u.blocks - t.block);
            place(w, &t, i, some);
        }
        task_issue_many(PIPE_MTE1, w->load, n);
        task_issue_many(PIPE_M, w->mmad, n * l->shifts);
        task_issue_many(PIPE_FIX, w->fix, n);
    }
}

static void multiply(void *arg)
{
    static struct walk walks[NPU_MAX_CORES]; /* more than a stack holds */
    struct walk *w = &walks[task_core()];
    const struct share *s = arg;
    const struct depthwise_plan *l = s->plan;
    union cmd cmd;

    *w = (struct walk){.s = s,
                       .a = s->l0a,
                       .c = s->l0c,
                       .both_a = 2 * s->l0a + a_bytes(l),
                       .slot = c_bytes(l),
                       .last_c = s->l0c + (DEPTHWISE_C_SLOTS - 1) * c_bytes(l)};
    mte_set_pad(&cmd, PIPE_MTE1, 0); /* another kernel's may be set */
    task_issue(PIPE_MTE1, &cmd);
    conv_set_relu(l->p);
    make_mmads(w);
    for (uint32_t i = s->begin; i < s->end; i++) {
        begin_unit(w, i);
        w->patch = tque_deque(s->patch);
        cmd_nop(&cmd);
        task_issue(PIPE_MTE1, &cmd);
        multiply_patch(w);
        cmd_nop(&cmd);
        tque_free(s->patch, w->patch, &cmd);
        task_issue(PIPE_MTE1, &cmd);
    }
}

/* --- launch --- */

void depthwise_block(const struct depthwise_plan *l, unsigned shares)
{
    struct tpipe *pipe = tpipe_open();
    struct share s = {.plan = l,
                      .begin = (uint32_t)share_begin(l->units, 1, task_block(), shares),
                      .end =
                          (uint32_t)share_begin(l->units, 1, task_block() + 1, shares)};
    uint32_t weights = l->group * depthwise_diagonals(l->p);

    if (l->p->bias) {
        s.bias =
            tque_init(pipe, "bias", C1, PIPE_MTE2, PIPE_MTE1, 1, l->group * CONV_L0C_ROW);
        s.bt = tbuf_init(pipe, "bias of columns", C2, l->group * CONV_L0C_ROW);
    }
    s.weights = tque_init(pipe, "weights", B1, PIPE_MTE2, PIPE_MTE1, 1, weights);
    s.patch = tque_init(pipe, "patch", A1, PIPE_MTE2, PIPE_MTE1, 2, l->bytes);
    s.l0a = tbuf_init(pipe, "windows", A2, CONV_L0_SLOTS * a_bytes(l));
    s.l0b = tbuf_init(pipe, "diagonals", B2, weights);
    s.l0c = tbuf_init(pipe, "tiles", CO1, DEPTHWISE_C_SLOTS * c_bytes(l));
    sem_post(task_core(), CONV_L0_FREE, CONV_L0_SLOTS);
    sem_post(task_core(), CONV_C_FREE, DEPTHWISE_C_SLOTS);
    task_spawn("depthwise copy-in", copy_in, &s);
    task_spawn("depthwise multiply", multiply, &s);
    task_join_all();
    task_drain();
    task_wait(CONV_L0_FREE, CONV_L0_SLOTS);
    task_wait(CONV_C_FREE, DEPTHWISE_C_SLOTS);
}

static void kernel(void *arg)
{
    depthwise_block(arg, task_blocks());
}

int depthwise(const struct depthwise_plan *plan, struct sched_report *report)
{
    struct launch l = {"depthwise", kernel, (void *)(uintptr_t)plan,
                       .cores = plan->p->cores};

    return launch(&l, report);
}
