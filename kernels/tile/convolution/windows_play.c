/* SPDX-License-Identifier: MIT
 *
 * A CONV and the Vector behind it, played; see windows.h. Where the Vector goes on, sums come
 * through a ring of UB: the task that multiplies lets the fixpipe fill it, the one that brings
 * patches brings what meets them, a third one issues what the Vector does.
 */
#include "hal/fixpipe.h"
#include "kernels/tile/convolution/windows.h"

_Static_assert((int)CONV_L0_FREE >= (int)PLAN_SEMS, "the Vector's semaphores come first");

static int windows_bind(const struct tile_plan *t, const struct tile_call *call,
                        struct sched_report *report)
{
    struct product *p = tiles_of(t)->product;
    struct conv *conv = &p->windows->plan.p;

    (void)report;
    product_bind_tensors(p, call);
    if (p->windows->packs) {
        return 0;
    }
    conv = p->windows->apart ? &p->windows->whole : conv;
    conv->x = p->in[p->a];
    conv->weight = p->in[p->b];
    conv->bias = p->bias ? p->in[p->bias - 1] : NULL;
    conv->y = p->out[0];
    return 0;
}

/* How far each of the three has come: parts. */
struct playing {
    struct epilogue_at at;
    unsigned taken, met, done;
};

static struct playing *playing_of(const struct conv_share *s)
{
    return s->sink->arg;
}

static unsigned position(const struct playing *y, unsigned number)
{
    return number % y->at.t->way.ring;
}

static void begin(const struct conv_share *s)
{
    struct playing *y = playing_of(s);
    const struct tiles_plan *t = y->at.t;

    epilogue_begin(&y->at, t, &t->product->epilogue->core[task_block()]);
}

static void load(const struct conv_share *s, const struct conv_unit *u,
                 const struct conv_piece *piece)
{
    struct playing *y = playing_of(s);
    struct windows_part part = {0};

    while (windows_next(s->plan, u, piece, y->at.t->product->windows->rows, &part)) {
        epilogue_load(&y->at, &part.at, position(y, y->met++));
    }
}

static void take(const struct conv_share *s, const struct conv_unit *u,
                 const struct conv_piece *piece, uint32_t from)
{
    struct playing *y = playing_of(s);
    const struct tiles_plan *t = y->at.t;
    unsigned product = t->order.product - 1u;
    struct fixpipe_tile tile = {.type = (enum type)t->product->dot->type,
                                .n = u->n_count,
                                .block_rows = up16(piece->m_len),
                                .pitch_elems = t->way.pitch};
    struct windows_part part = {0};
    union cmd cmd;

    while (windows_next(s->plan, u, piece, t->product->windows->rows, &part)) {
        unsigned at = position(y, y->taken++);
        tile.m = part.at.mt;
        fixpipe_to_ub(&cmd, t->emit->at[t->order.load[product] - 1][at],
                      from + part.first * CONV_L0C_ROW, &tile);
        cmd_wait(&cmd, t->order.load_free[product], 1);
        cmd_post(&cmd, t->order.load_full[product], 1);
        if (part.first == 0) {
            cmd_wait(&cmd, CONV_C_FULL, 1);
        }
        if (part.first + part.at.mt == piece->m_len) {
            cmd_post(&cmd, CONV_C_FREE, 1);
        }
        task_issue(PIPE_FIX, &cmd);
    }
}

static void finish(void *share)
{
    const struct conv_share *s = share;
    struct playing *y = playing_of(s);
    struct conv_unit u;

    for (uint32_t unit = s->begin; unit < s->end; unit++) {
        conv_unit(s->plan, unit, &u);
        for (uint32_t i = 0; i < conv_pieces(s->plan, &u); i++) {
            struct conv_piece piece = conv_piece(s->plan, &u, i);
            struct windows_part part = {0};
            while (windows_next(s->plan, &u, &piece, y->at.t->product->windows->rows,
                                &part)) {
                epilogue_compute(&y->at, &part.at, position(y, y->done++));
            }
        }
    }
}

/* Where the fixpipe does it all, and adds to what is there. */
static void set_adding(const struct tiles_plan *t, uint8_t op)
{
    union cmd cmd;

    if (t->product->epilogue == NULL && t->product->k->result[0].adds) {
        fixpipe_set_atomic(&cmd, op, t->product->mm.c_type);
        task_issue(PIPE_FIX, &cmd);
    }
}

/* The share of a core that has one. */
static void play_share(const struct tiles_plan *t)
{
    const struct windows *w = t->product->windows;
    struct playing y = {.at = {.t = t}};
    struct conv_sink sink = {begin, load, take, finish, &y};

    if (w->packs) {
        conv_pack_block(&w->whole, t->product->in[0], t->product->out[0], t->stage.cores);
        return;
    }
    set_adding(t, ATOMIC_ADD);
    if (w->apart) {
        depthwise_block(&w->each, t->stage.cores);
        set_adding(t, ATOMIC_NONE);
        return;
    }
    conv_block(&w->plan, t->stage.cores, &w->room[task_block()],
               t->product->epilogue ? &sink : NULL);
    set_adding(t, ATOMIC_NONE);
    if (t->product->epilogue) {
        epilogue_end(&y.at);
    }
}

static void windows_play(const struct tile_plan *t)
{
    if (task_block() < t->cores) {
        task_tag(tiles_of(t)->product->dot->line);
        play_share(tiles_of(t));
        task_tag(0);
    }
}

const struct stage_run windows_run = {
    .kind = &windows_kind, .bind = windows_bind, .play = windows_play};
