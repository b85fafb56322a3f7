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

#include <string.h>

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
    u.rows = min_u32(l->tiles * l->rows, l->oh - u.row);
    u.col = i / l->down % l->across * l->cols;
    u.cols = min_u32(l->cols, l->ow - u.col);
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

/* A task's way, and its commands: those of slot i of L0C and slot i % CONV_L0_SLOTS of L0A. Of
 * what they were last issued for, `block` of a tile of `rows`, they keep all that is alike. */
struct walk {
    const struct share *s;
    struct unit u;
    uint32_t at;               /* the next slot */
    uint32_t patch, plane;     /* in L1; bytes of a block of channels there */
    uint32_t diagonal, next_b; /* bytes of a block's; to the next filter row's */
    uint32_t last, out_bytes;  /* channels of the last block; of a pixel's block */
    struct {
        uint32_t block, rows;
    } placed[DEPTHWISE_BATCH];
    union cmd load[DEPTHWISE_BATCH], mmad[PIPE_DEPTH], fix[DEPTHWISE_BATCH];
};
_Static_assert(DEPTHWISE_C_SLOTS == DEPTHWISE_BATCH, "they have the commands' numbers");

/* The pads of columns fill a tile up to whole fractals. */
static void make_load(const struct walk *w, union cmd *cmd)
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

    mte_img2col_to_l0a(cmd, 0, 0,
                       &(struct mte_img2col){.type = p->in,
                                             .conv = &map,
                                             .k_len = l->kh * p->kw * DEPTHWISE_BLOCK});
    cmd_wait(cmd, CONV_L0_FREE, 1);
    cmd_post(cmd, CONV_L0_FULL, 1);
}

static void make_mmads(struct walk *w)
{
    const struct depthwise_plan *l = w->s->plan;
    uint32_t next_a = l->p->dilation_h * l->wide * l->kh * l->p->kw * MTE_BLOCK;
    bool bias = l->p->bias;

    for (uint32_t i = 0; i < DEPTHWISE_BATCH * l->shifts; i++) {
        uint32_t shift = i % l->shifts, slot = i / l->shifts;
        struct cube_mmad mmad = {.type = l->p->in,
                                 .c = w->s->l0c + slot * l->c_bytes,
                                 .a = w->s->l0a + slot % CONV_L0_SLOTS * l->a_bytes +
                                      shift * next_a,
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
static void make_store(const struct walk *w, union cmd *cmd)
{
    const struct depthwise_plan *l = w->s->plan;
    const struct conv *p = l->p;

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
    cmd->fix_gm.dst_nd_stride = (uint16_t)(l->ow * p->c);
    cmd_wait(cmd, CONV_C_FULL, 1);
    cmd_post(cmd, CONV_C_FREE, 1);
}

static void make_windows(struct walk *w)
{
    make_load(w, w->load);
    make_store(w, w->fix);
    for (unsigned i = DEPTHWISE_BATCH; i-- > 0;) {
        w->load[i] = w->load[0];
        w->load[i].load3d.dst = w->s->l0a + i % CONV_L0_SLOTS * w->s->plan->a_bytes;
        w->fix[i] = w->fix[0];
        w->fix[i].fix_gm.src = w->s->l0c + i * w->s->plan->c_bytes;
    }
}

/* What they have of a unit. */
static void change_windows(struct walk *w)
{
    union cmd window;

    make_load(w, &window);
    for (unsigned i = 0; i < DEPTHWISE_BATCH; i++) {
        union cmd *load = &w->load[i];
        load->load3d.map_h = window.load3d.map_h;
        load->load3d.map_w = window.load3d.map_w;
        load->load3d.channels = window.load3d.channels;
        load->words[PADS_WORD] = window.words[PADS_WORD];
        load->words[PADS_WORD + 1] = window.words[PADS_WORD + 1];
        w->fix[i].fix_gm.m = (uint16_t)w->u.cols;
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
    uint32_t m, rows;    /* windows from m on */
    char *to;            /* in y */
    uint64_t next;       /* bytes from there to the next tile's */
};

static void begin_tile(const struct walk *w, struct tile *t)
{
    const struct depthwise_plan *l = w->s->plan;
    const struct conv *p = l->p;
    uint64_t pixel = ((uint64_t)w->u.image * l->oh + w->u.row) * l->ow + w->u.col;
    uint32_t channel = w->u.group * l->group * DEPTHWISE_BLOCK;

    t->row = t->block = t->m = 0;
    t->rows = min_u32(l->rows, w->u.rows);
    t->to =
        (char *)(uintptr_t)conv_at(p->y, pixel * p->c + channel, type_bits(p->out) / 8);
    t->next = (uint64_t)l->rows * l->ow * p->c * type_bits(p->out) / 8;
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
    }
}

/* Slot i is one of a tile of so many rows. */
static void set_rows(struct walk *w, uint32_t i, uint32_t rows)
{
    const struct depthwise_plan *l = w->s->plan;
    uint16_t c_len = (uint16_t)(rows * l->wide);

    w->placed[i].rows = rows;
    w->load[i].load3d.m_len = (uint16_t)((rows + l->reach) * l->wide);
    w->fix[i].fix_gm.src_c0_stride = c_len;
    w->fix[i].fix_gm.nd_num = (uint16_t)rows;
    for (uint32_t k = i * l->shifts; k < (i + 1) * l->shifts; k++) {
        w->mmad[k].mmad.m = c_len;
    }
}

/* Slot i is a block's. */
static void set_block(struct walk *w, uint32_t i, uint32_t block)
{
    uint32_t b = w->s->l0b + block * w->diagonal, next_b = w->next_b;
    uint32_t shifts = w->s->plan->shifts;
    union cmd *mmad = &w->mmad[i * shifts];

    w->placed[i].block = block;
    w->fix[i].fix_gm.n = (uint16_t)(block + 1 == w->u.blocks ? w->last : DEPTHWISE_BLOCK);
    mmad->mmad.bias = w->s->bt + (w->s->plan->p->bias ? block * CONV_L0C_ROW : 0);
    for (; shifts > 0; shifts--, mmad++, b += next_b) {
        mmad->mmad.b = b;
    }
}

/* The next n slots, which are in a row, for so many blocks of the tile. */
static void place(struct walk *w, struct tile *t, uint32_t first, uint32_t n)
{
    const uint32_t plane = w->plane, out_bytes = w->out_bytes, rows = t->rows;
    uint32_t src = w->patch + t->block * plane, block = t->block;
    uint64_t to = (uintptr_t)t->to + (uint64_t)block * out_bytes;
    uint16_t m = (uint16_t)t->m;

    for (uint32_t i = first; i < first + n; i++) {
        if (w->placed[i].rows != rows) {
            set_rows(w, i, rows);
        }
        if (w->placed[i].block != block) {
            set_block(w, i, block);
        }
        w->load[i].load3d.src = src;
        w->load[i].load3d.m_start = m;
        w->fix[i].fix_gm.dst = to;
        src += plane;
        to += out_bytes;
        block++;
    }
    t->block = block;
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
    struct unit before = w->u;

    w->u = unit_of(l, number);
    if (first_of_group(w->s, number)) {
        renew(w);
        memset(w->placed, 0xff, sizeof(w->placed));
    }
    w->diagonal = depthwise_diagonals(p);
    w->plane = w->u.high.count * w->u.wide.count * MTE_BLOCK;
    w->next_b = l->kh * p->kw * MTE_FRACTAL;
    w->last = w->u.channels - (w->u.blocks - 1) * DEPTHWISE_BLOCK;
    w->out_bytes = DEPTHWISE_BLOCK * type_bits(p->out) / 8;
    if (number == w->s->begin) {
        make_windows(w);
    } else if (!is_like(&before, &w->u)) {
        change_windows(w);
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
        n = min_u32(DEPTHWISE_BATCH - w->at, left);
        for (uint32_t i = 0, some; i < n; i += some) {
            if (t.block == w->u.blocks) {
                next_tile(w, &t);
            }
            some = min_u32(n - i, w->u.blocks - t.block);
            place(w, &t, w->at + i, some);
        }
        task_issue_many(PIPE_MTE1, w->load + w->at, n);
        task_issue_many(PIPE_M, w->mmad + w->at * l->shifts, n * l->shifts);
        task_issue_many(PIPE_FIX, w->fix + w->at, n);
        w->at = (w->at + n) % DEPTHWISE_BATCH;
    }
}

static void multiply(void *arg)
{
    static struct walk walks[NPU_MAX_CORES]; /* more than a stack holds */
    struct walk *w = &walks[task_core()];
    const struct share *s = arg;
    const struct depthwise_plan *l = s->plan;
    union cmd cmd;

    *w = (struct walk){.s = s};
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
    s.l0a = tbuf_init(pipe, "windows", A2, CONV_L0_SLOTS * l->a_bytes);
    s.l0b = tbuf_init(pipe, "diagonals", B2, weights);
    s.l0c = tbuf_init(pipe, "tiles", CO1, DEPTHWISE_C_SLOTS * l->c_bytes);
    sem_post(task_core(), CONV_L0_FREE, CONV_L0_SLOTS);
    sem_post(task_core(), CONV_C_FREE, DEPTHWISE_C_SLOTS);
    task_spawn("depthwise copy-in", copy_in, &s);
    task_spawn("depthwise multiply", multiply, &s);
    task_join_all();
    task_drain();
    task_wait(CONV_L0_FREE, CONV_L0_SLOTS);
    task_wait(CONV_C_FREE, DEPTHWISE_C_SLOTS);
}
