/* SPDX-License-Identifier: MIT
 *
 * Convolution as a product over img2col windows; see conv.h, and plan.h for how it is cut.
 * Two tasks a core, which walk the same units: one brings patches and weights to L1, the
 * other loads from there, multiplies and stores (multiply.c).
 */
#include "kernels/conv/conv.h"

#include <stdlib.h>

#include "hal/chip.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"

enum { MOST_ROWS = 16384 /* of 32 bytes, from a block of columns to the next in L1 */ };

/* --- copy in --- */

static __attribute__((noinline)) void load_blank(const struct conv_share *s, uint32_t to,
                                                 uint32_t bytes)
{
    union cmd cmd;

    mte_fill(&cmd, NPU_MEM_L1, to, s->plan->p.in, 0, bytes);
    tque_enque(s->patch, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

static void load_patch(const struct conv_share *s, const struct conv_unit *u,
                       struct conv_chunk chunk)
{
    const struct conv *p = &s->plan->p;
    uint32_t to = tque_alloc(s->patch), pixels = (uint32_t)u->map.map_h * u->map.map_w;
    bool whole = u->map.map_w == p->w && s->plan->x_row == p->w * s->plan->x_pixel;
    struct mte_nz_many nz = {.type = p->in,
                             .n_mats = whole ? 1 : u->map.map_h,
                             .n_rows = whole ? pixels : u->map.map_w,
                             .n_cols = chunk.channels,
                             .gm_pitch = s->plan->x_pixel,
                             .gm_mat = s->plan->x_row,
                             .block_rows = pixels,
                             .l1_mat = u->map.map_w};
    union cmd cmd;

    if (u->blank) {
        load_blank(s, to, u->images * chunk.blocks * pixels * MTE_BLOCK);
        return;
    }
    if (s->plan->few) {
        uint64_t pixel = (uint64_t)u->image * p->h + u->map_row;
        mte_gm_to_l1(&cmd, to, conv_at(p->x, pixel * p->w * p->c, s->plan->in_bytes),
                     pixels * s->plan->pixel);
        tque_enque(s->patch, to, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        return;
    }
    for (uint32_t i = 0; i < u->images; i++) {
        uint64_t pixel = (u->image + i) * s->plan->x_image +
                         (uint64_t)u->map_row * s->plan->x_row +
                         (uint64_t)u->map_col * s->plan->x_pixel;
        uint64_t from = pixel + u->group * s->plan->in + chunk.first;
        mte_gm_to_l1_nz_many(&cmd, to + i * chunk.blocks * pixels * MTE_BLOCK,
                             conv_at(p->x, from, s->plan->in_bytes), &nz);
        if (i + 1 == u->images) {
            tque_enque(s->patch, to, &cmd);
        }
        task_issue(PIPE_MTE2, &cmd);
    }
}

/* Filters as they lie: a matrix of taps and channels each, which in L1 lies across, so that
 * what is side by side in GM is brought as such. */
static __attribute__((noinline)) void load_filters(const struct conv_share *s,
                                                   const struct conv_unit *u,
                                                   struct conv_chunk chunk, uint32_t to)
{
    const struct conv_plan *l = s->plan;
    uint32_t filter = l->p.kh * l->p.kw * l->in, taps = l->few ? 1 : l->taps;
    uint32_t n = up16(u->n_count), end = chunk.first + chunk.channels;
    uint32_t most = taps * n <= MOST_ROWS ? chunk.blocks * l->c0 : l->c0;
    uint64_t first = (uint64_t)(u->group * l->out + u->n_first) * filter;
    union cmd cmd;

    for (uint32_t c = chunk.first; c < end; c += most) {
        mte_gm_to_l1_nz_many(
            &cmd, to + (c - chunk.first) / l->c0 * taps * n * MTE_BLOCK,
            conv_at(l->p.weight, first + c, l->in_bytes),
            &(struct mte_nz_many){.type = l->p.in,
                                  .n_mats = u->n_count,
                                  .n_rows = taps,
                                  .n_cols = l->few ? filter : min_u32(most, end - c),
                                  .gm_pitch = l->few ? filter : l->in,
                                  .gm_mat = filter,
                                  .block_rows = min_u32(taps * n, MOST_ROWS),
                                  .l1_mat = 1});
        cmd.nd2nz.dst_row_stride = (uint16_t)n;
        if (c + most >= end) {
            tque_enque(s->weights, to, &cmd);
        }
        task_issue(PIPE_MTE2, &cmd);
    }
}

/* Rows of L1 for each block of k: the unit's output channels, from a block to the next of
 * which all of the group lie in GM. */
static void load_weights(const struct conv_share *s, const struct conv_unit *u,
                         struct conv_chunk chunk)
{
    const struct conv_plan *l = s->plan;
    uint32_t to = tque_alloc(s->weights), all = up16(l->out), n = up16(u->n_count);
    uint64_t block = ((uint64_t)u->group * l->blocks + chunk.first / l->c0) * l->taps;
    union cmd cmd;

    if (l->p.in_rows) {
        load_filters(s, u, chunk, to);
        return;
    }
    mte_gm_to_l1_rows(&cmd, to,
                      (const char *)l->p.weight + (block * all + u->n_first) * MTE_BLOCK,
                      &(struct mte_rows){.n_rows = chunk.blocks * l->taps,
                                         .row_bytes = n * MTE_BLOCK,
                                         .gm_pitch_bytes = all * MTE_BLOCK});
    tque_enque(s->weights, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

static void load_bias(const struct conv_share *s, const struct conv_unit *u)
{
    const struct conv_plan *l = s->plan;
    uint32_t to = tque_alloc(s->bias);
    union cmd cmd;

    mte_gm_to_l1(&cmd, to,
                 conv_at(l->p.bias, u->group * l->out + u->n_first, sizeof(float)),
                 u->n_count * 4);
    tque_enque(s->bias, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

static void load_words(const struct conv_share *s, const struct conv_unit *u)
{
    const struct conv_plan *l = s->plan;
    uint32_t to = tque_alloc(s->words);
    union cmd cmd;

    mte_gm_to_l1(&cmd, to, l->p.words + u->group * l->out + u->n_first, u->n_count * 8);
    tque_enque(s->words, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* What is added to pieces [first, end) of a unit. */
static void load_added(const struct conv_share *s, const struct conv_unit *u,
                       uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && (s->plan->p.add || s->sink); i++) {
        struct conv_piece piece = conv_piece(s->plan, u, i);
        if (s->sink) {
            s->sink->load(s, u, &piece);
        } else {
            conv_tail_load(s, u, &piece);
        }
    }
}

static void load_unit(const struct conv_share *s, uint32_t unit,
                      const struct conv_unit *u)
{
    const struct conv_plan *l = s->plan;
    uint32_t loads = l->chunks > 1 ? conv_sets(l, u) * l->chunks : 1;
    bool first = conv_first_of_weights(s, unit);

    if (l->p.bias && first) {
        load_bias(s, u);
    }
    if (l->p.words && first) {
        load_words(s, u);
    }
    if (l->p.exact && first) {
        conv_tail_constants(s, u);
    }
    if (l->whole && conv_new_patch(l, s->begin, unit)) {
        load_patch(s, u, conv_all(l));
    }
    for (uint32_t i = 0; i < loads; i++) {
        struct conv_chunk chunk = conv_chunk(l, i % l->chunks);
        if (!l->whole) {
            load_patch(s, u, chunk);
        }
        if (l->chunks > 1 || first) {
            load_weights(s, u, chunk);
        }
        if (l->chunks > 1 && (i + 1) % l->chunks == 0) {
            uint32_t set = i / l->chunks * l->set;
            load_added(s, u, set, min_u32(set + l->set, conv_pieces(l, u)));
        }
    }
}

/* What is added comes behind the next unit's patch, for its loads wait for the Vector; but
 * before weights, whose room may be free only then. */
static void copy_in(void *arg)
{
    const struct conv_share *s = arg;
    bool later = s->plan->chunks == 1 && (s->plan->p.add || s->sink);
    struct conv_unit u, before = {0};
    bool owed = false;

    for (uint32_t unit = s->begin; unit < s->end; unit++) {
        conv_unit(s->plan, unit, &u);
        if (owed && conv_first_of_weights(s, unit)) {
            load_added(s, &before, 0, conv_pieces(s->plan, &before));
            owed = false;
        }
        load_unit(s, unit, &u);
        if (owed) {
            load_added(s, &before, 0, conv_pieces(s->plan, &before));
        }
        before = u;
        owed = later;
    }
    if (owed) {
        load_added(s, &before, 0, conv_pieces(s->plan, &before));
    }
}

/* --- launch --- */

/* Queues and rooms of the core. */
static void open_share(struct conv_share *s)
{
    const struct conv_plan *l = s->plan;
    struct tpipe *pipe = tpipe_open();

    if (l->p.bias) {
        s->bias = tque_init(pipe, "bias", C1, PIPE_MTE2, PIPE_MTE1, 1, CONV_BIAS_BYTES);
        s->bt = tbuf_init(pipe, "bias of columns", C2, CONV_BIAS_BYTES);
    }
    if (l->p.words) {
        s->words = tque_init(pipe, "scales of columns", TSCM, PIPE_MTE2, PIPE_FIX, 1,
                             CONV_WORD_BYTES);
    }
    s->weights =
        tque_init(pipe, "weights", B1, PIPE_MTE2, PIPE_MTE1, l->b_bufs, l->b_bytes);
    s->patch = tque_init(pipe, "patch", A1, PIPE_MTE2, PIPE_MTE1, 2, l->a_bytes);
    s->l0a = tbuf_init(pipe, "windows", A2, CONV_L0_SLOTS * conv_a_bytes(l));
    s->l0b = tbuf_init(pipe, "slices of weights", B2,
                       l->b_stays ? l->nt * l->chunk * l->taps * MTE_BLOCK
                                  : CONV_L0_SLOTS * conv_b_bytes(l));
    s->l0c = tbuf_init(pipe, "pieces", CO1, l->slots * conv_slot_bytes(l));
    if (s->sink) {
        s->sink->begin(s);
    } else if (l->tail) {
        conv_tail_init(s, pipe);
    }
}

void conv_block(const struct conv_plan *l, unsigned shares, struct conv_room *room,
                const struct conv_sink *sink)
{
    shares = l->shares && l->shares < shares ? l->shares : shares;
    struct conv_share s = {
        .plan = l,
        .sink = sink,
        .room = room,
        .begin = (uint32_t)share_begin(l->units, 1, task_block(), shares),
        .end = (uint32_t)share_begin(l->units, 1, task_block() + 1, shares)};

    if (task_block() >= shares) {
        return;
    }
    open_share(&s);
    sem_post(task_core(), CONV_L0_FREE, CONV_L0_SLOTS);
    sem_post(task_core(), CONV_C_FREE, l->slots);
    task_spawn("conv copy-in", copy_in, &s);
    task_spawn("conv multiply", conv_multiply, &s);
    if (l->tail) {
        task_spawn("conv tail", sink ? sink->finish : conv_tail, &s);
    }
    task_join_all();
    task_drain(); /* or what is taken here would be missing to commands */
    task_wait(CONV_L0_FREE, CONV_L0_SLOTS);
    task_wait(CONV_C_FREE, l->slots);
}

/* What the blocks of a launch share. */
struct step {
    struct conv p;
    bool apart; /* depthwise */
    struct depthwise_plan channels;
    struct conv_plan plan;
};

/* Of each block, for all that are planned, as no two run at one time; as long as any is. */
static struct conv_room *rooms;
static unsigned n_rooms, planned;

static int take_rooms(unsigned cores)
{
    if (cores > n_rooms) {
        struct conv_room *more = malloc(cores * sizeof(*more));
        if (!more) {
            return ERR_NOMEM;
        }
        free(rooms);
        rooms = more;
        n_rooms = cores;
    }
    planned++;
    return 0;
}

static void end_step(const struct step *s)
{
    if (!s->apart && --planned == 0) {
        free(rooms);
        rooms = NULL;
        n_rooms = 0;
    }
}

/* Depthwise behind which the Vector goes on: diagonals are the weights of these blocks. */
static int plan_step(struct step *s)
{
    struct conv blocks = s->p;
    char why[CONV_TEXT];
    int err = conv_check(&s->p, why);

    if (!err && conv_is_depthwise(&s->p)) {
        if (!conv_has_tail(&s->p)) {
            s->apart = true;
            return depthwise_plan(&s->p, &s->channels);
        }
        blocks.groups = s->p.c / DEPTHWISE_BLOCK;
    }
    err = err ? err : conv_make_plan(&blocks, &s->plan);
    return err ? err : take_rooms(s->p.cores ? s->p.cores : chip_cores());
}

int conv_step(const struct conv *p, void **step)
{
    struct step *s = malloc(sizeof(*s));
    int err;

    if (!s) {
        return ERR_NOMEM;
    }
    *s = (struct step){.p = *p};
    err = plan_step(s);
    if (err) {
        free(s);
        return err;
    }
    *step = s;
    return 0;
}

void conv_step_free(void *step)
{
    end_step(step);
    free(step);
}

void conv_step_block(void *step)
{
    const struct step *s = step;

    if (s->apart) {
        depthwise_block(&s->channels, task_blocks());
    } else {
        conv_block(&s->plan, task_blocks(), &rooms[task_block()], NULL);
    }
}

int conv2d(const struct conv *p, struct sched_report *report)
{
    struct step s = {.p = *p};
    int err = plan_step(&s);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    err = launch(&(struct launch){s.apart ? "depthwise" : "conv2d", conv_step_block, &s,
                                  .cores = p->cores},
                 report);
    end_step(&s);
    return err;
}
