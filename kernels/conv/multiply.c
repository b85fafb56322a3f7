/* SPDX-License-Identifier: MIT
 *
 * Loads to L0 and products of a convolution; see inside.h.
 *
 * A slot of L0 becomes free when the MMAD that reads it ends. Its window comes first and
 * waits for that; the slice of the weights follows it, and with as many slots as L0A has
 * its own is free then, too: no other semaphore is wanted. The commands of a part of a set
 * are built once and then written over where sets differ, so that the hart keeps ahead of
 * MMADs of 250 cycles.
 */
#include <string.h>

#include "hal/cube.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"

/* A task's way through its units. */
struct walk {
    const struct conv_share *s;
    struct conv_unit u;
    uint32_t pixels;             /* of the patch's map */
    union cmd window;            /* a load with the map and its pads */
    union cmd load, mmad, store; /* other kinds */
    struct conv_chunk chunk;
    bool first, last;                    /* chunk of the set */
    uint32_t patch, weights;             /* in L1 */
    uint32_t pieces;                     /* of the set */
    struct conv_piece piece[CONV_MMADS]; /* the set */
    uint32_t c[CONV_MMADS];              /* where they go in L0C */
    bool fresh;                          /* nothing has been multiplied */
    uint32_t a, b, slot;                 /* the next slots: of L0A, L0B, L0C */
};

/* --- commands of a part --- */

/* The kinds of commands that records are made of, for the unit's output channels. */
static void make_kinds(struct walk *w)
{
    const struct conv_plan *l = w->s->plan;

    mte_l1_to_l0b(&w->load, w->s->l0b, w->weights,
                  &(struct mte_window){.type = l->p.in,
                                       .n_cols = w->u.n_count,
                                       .block_rows = up16(w->u.n_count),
                                       .transpose = true});
    cube_mmad(&w->mmad, &(struct cube_mmad){
                            .type = l->p.in, .n = w->u.n_count, .from = CUBE_FROM_C});
    cmd_wait(&w->mmad, CONV_L0_FULL, 1);
    cmd_post(&w->mmad, CONV_L0_FREE, 1);
}

static void add_window(struct conv_record *r, const struct walk *w, uint32_t count,
                       bool full)
{
    union cmd *cmd = &r->load[r->n_load++];

    *cmd = w->window;
    cmd->load3d.k_len = (uint16_t)(count * w->s->plan->c0);
    cmd_wait(cmd, CONV_L0_FREE, 1);
    if (full) {
        cmd_post(cmd, CONV_L0_FULL, 1);
    }
}

static void add_weights(struct conv_record *r, const struct walk *w, uint32_t count)
{
    union cmd *cmd = &r->load[r->n_load++];

    *cmd = w->load;
    cmd->load2d.n_rows = (uint16_t)(count * w->s->plan->c0);
    cmd_post(cmd, CONV_L0_FULL, 1);
}

static void add_mmad(struct conv_record *r, const struct walk *w, uint32_t k,
                     uint32_t count)
{
    const struct conv_plan *l = w->s->plan;
    union cmd *cmd = &r->mmad[r->n_mmad++];

    *cmd = w->mmad;
    cmd->mmad.k = (uint16_t)(count * l->c0);
    if (w->first && k == 0) {
        cube_set_from(cmd, l->p.bias ? CUBE_FROM_BIAS : CUBE_FROM_ZERO);
        cmd->mmad.bias = l->p.bias ? w->s->bt : 0;
        cmd_wait(cmd, CONV_C_FREE, 1);
    }
    if (w->last && k + count == w->chunk.blocks * l->taps) {
        cmd_post(cmd, CONV_C_FULL, 1);
    }
}

/* In the order in which they are issued: slice by slice, each for all pieces; or, where no
 * weights follow the slices, piece by piece, of which then fewer may be used. The first `from`
 * pieces are there. */
static void record(struct conv_record *r, const struct walk *w, uint32_t from)
{
    const struct conv_plan *l = w->s->plan;
    uint32_t slices = (r->k_count + l->slice - 1) / l->slice, all = slices * w->pieces;

    r->n_load = r->n_mmad = from * slices;
    for (uint32_t i = r->n_mmad; i < all; i++) {
        uint32_t slice = l->b_stays ? i % slices : i / w->pieces;
        uint32_t k = slice * l->slice, count = min_u32(l->slice, r->k_count - k);
        bool with = !l->b_stays && i % w->pieces == 0;
        add_window(r, w, count, !with);
        if (l->few && r->k + k + count == l->taps) {
            r->load[r->n_load - 1].load3d.k_len -= (uint16_t)l->missing;
        }
        if (with) {
            add_weights(r, w, count);
        }
        add_mmad(r, w, r->k + k, count);
    }
    r->slices = slices;
}

/* --- a part --- */

/* Where the commands of a piece are: the first, and how many on the next slice's are. */
struct places {
    union cmd *load, *mmad;
    uint32_t load_step, mmad_step, a; /* a: slot of the first */
};

static struct places places_of(struct conv_record *r, const struct walk *w, uint32_t i)
{
    struct places p = {r->load + i * r->slices, r->mmad + i * r->slices, 1, 1,
                       w->a + i * r->slices};

    if (!w->s->plan->b_stays) {
        p = (struct places){r->load + i + (i != 0), r->mmad + i, w->pieces + 1, w->pieces,
                            w->a + i};
    }
    return p;
}

/* What a piece's commands have of this unit and set. */
static void place_piece(struct conv_record *r, const struct walk *w, uint32_t i)
{
    const struct conv_plan *l = w->s->plan;
    const struct conv_piece *piece = &w->piece[i];
    struct places p = places_of(r, w, i);
    uint32_t planes = l->whole ? l->blocks : w->chunk.blocks, c = w->c[i];
    uint32_t src = w->patch + piece->image * planes * w->pixels * MTE_BLOCK;
    uint32_t bytes = conv_a_bytes(l), both = 2 * w->s->l0a + bytes;
    uint32_t a = w->s->l0a + p.a % CONV_L0_SLOTS * bytes;
    uint32_t k = (l->whole ? w->chunk.first * l->taps : 0) + r->k * l->c0;
    uint32_t slice = l->slice * l->c0;
    uint16_t m = (uint16_t)piece->m, m_len = (uint16_t)piece->m_len;
    bool turns = p.mmad_step % CONV_L0_SLOTS;
    union cmd window = w->window;

    window.load3d.m_len = m_len;
    for (uint32_t n = r->slices; n > 0; n--) {
        p.load->load3d.dst = a;
        p.load->load3d.src = src;
        p.load->words[MAP_WORD] = window.words[MAP_WORD];
        p.load->load3d.m_start = m;
        p.load->load3d.k_start = (uint16_t)k;
        p.load->words[PADS_WORD] = window.words[PADS_WORD];
        p.load->words[PADS_WORD + 1] = window.words[PADS_WORD + 1];
        p.mmad->mmad.a = a;
        p.mmad->mmad.dst = c;
        p.mmad->mmad.m = m_len;
        p.load += p.load_step;
        p.mmad += p.mmad_step;
        k += slice;
        a = turns ? both - a : a;
    }
}

/* Weights that stay in L0B: where each slice of them is, for pieces from `from` on. */
static void place_slices(struct conv_record *r, const struct walk *w, uint32_t from)
{
    const struct conv_plan *l = w->s->plan;
    uint32_t slice = l->slice * up16(w->u.n_count) * MTE_BLOCK;
    union cmd *mmad = r->mmad + from * r->slices;

    for (uint32_t i = from; i < w->pieces; i++) {
        uint32_t b = w->s->l0b + r->k / l->slice * slice;
        for (uint32_t n = r->slices; n > 0; n--, mmad++) {
            mmad->mmad.b = b;
            b += slice;
        }
    }
}

/* The weights of each slice, for all of its pieces. */
static void place_weights(struct conv_record *r, struct walk *w)
{
    const struct conv_plan *l = w->s->plan;
    uint32_t row = up16(w->u.n_count) * MTE_BLOCK, bytes = conv_b_bytes(l);
    uint32_t src = w->weights + r->k * row, b = w->s->l0b + w->b * bytes;
    uint32_t both = 2 * w->s->l0b + bytes, pieces = w->pieces, slice = l->slice * row;
    union cmd *load = r->load + 1, *mmad = r->mmad;

    for (uint32_t n = r->slices; n > 0; n--, load += pieces + 1) {
        load->load2d.dst = b;
        load->load2d.src = src;
        for (uint32_t i = 0; i < pieces; i++, mmad++) {
            mmad->mmad.b = b;
        }
        src += slice;
        b = both - b;
    }
    w->b = (w->b + r->slices) % CONV_L0_SLOTS;
}

/* Makes the record that of the part, with what it has of it. */
static void renew_record(struct conv_record *r, const struct walk *w, uint32_t k,
                         uint32_t k_count)
{
    bool stays = w->s->plan->b_stays,
         same = r->n == w->u.n_count && r->k == k && r->k_count == k_count;
    uint32_t from = same && stays ? r->pieces : 0;

    if (same && (stays ? r->pieces >= w->pieces : r->pieces == w->pieces)) {
        return;
    }
    r->n = w->u.n_count;
    r->pieces = w->pieces;
    r->k = k;
    r->k_count = k_count;
    record(r, w, from);
    if (stays) {
        place_slices(r, w, from);
    }
}

static void multiply_part(struct walk *w, uint32_t part, uint32_t k, uint32_t k_count)
{
    unsigned kind = w->first ? 0 : w->last ? 2 : 1;
    struct conv_record *r = &w->s->room->record[min_u32(part, CONV_PARTS - 1)][kind];
    uint32_t n_mmad, n_load;

    renew_record(r, w, k, k_count);
    for (uint32_t i = 0; i < w->pieces; i++) {
        place_piece(r, w, i);
    }
    n_load = r->n_load;
    n_mmad = r->slices * w->pieces;
    if (w->s->plan->b_stays) {
        n_load = n_mmad;
    } else {
        place_weights(r, w);
    }
    w->a = (w->a + n_mmad) % CONV_L0_SLOTS;
    task_issue_many(PIPE_MTE1, r->load, n_load);
    task_issue_many(PIPE_M, r->mmad, n_mmad);
}

static void multiply_chunk(struct walk *w)
{
    const struct conv_plan *l = w->s->plan;
    uint32_t all = w->chunk.blocks * l->taps, part = 0;
    uint32_t most = CONV_MMADS / w->pieces * l->slice;

    for (uint32_t k = 0; k < all; k += most) {
        multiply_part(w, part++, k, min_u32(most, all - k));
    }
}

/* --- units --- */

/* All that has been multiplied so far has been read: then bias, and weights that stay. */
static void renew(struct walk *w)
{
    const struct conv_share *s = w->s;
    const struct conv_plan *l = s->plan;
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, CONV_L0_FREE, CONV_L0_SLOTS);
    cmd_post(&cmd, CONV_L0_FREE, CONV_L0_SLOTS);
    task_issue(PIPE_MTE1, &cmd);
    if (l->p.bias) {
        uint32_t l1 = tque_deque(s->bias);
        mte_l1_to_bt(&cmd, s->bt, l1, l->p.in == TYPE_S8 ? TYPE_S32 : TYPE_F32,
                     up16(w->u.n_count));
        tque_free(s->bias, l1, &cmd);
        task_issue(PIPE_MTE1, &cmd);
    }
    if (l->b_stays) {
        w->weights = tque_deque(s->weights);
        cmd = w->load;
        cmd.load2d.n_rows = (uint16_t)(l->chunk * l->taps * l->c0);
        cmd.load2d.src = w->weights;
        tque_free(s->weights, w->weights, &cmd);
        task_issue(PIPE_MTE1, &cmd);
    }
}

static void begin_set(struct walk *w, uint32_t first, uint32_t pieces)
{
    const struct conv_plan *l = w->s->plan;

    w->pieces = min_u32(l->set, pieces - first);
    if (l->b_stays && w->fresh) {
        w->pieces = 1; /* the engines are not to wait for all that is recorded */
    }
    w->fresh = false;
    for (uint32_t i = 0; i < w->pieces; i++) {
        w->piece[i] = conv_piece(l, &w->u, first + i);
        w->c[i] = w->s->l0c + w->slot * conv_slot_bytes(l);
        w->slot = w->slot + 1 == l->slots ? 0 : w->slot + 1;
    }
}

/* The map of the chunk. */
static void set_window(struct walk *w)
{
    const struct conv_plan *l = w->s->plan;

    uint32_t blocks = l->whole ? l->blocks : w->chunk.blocks;

    w->u.map.channels = (uint16_t)(l->few ? l->in : blocks * l->c0);
    mte_img2col_to_l0a(&w->window, 0, 0,
                       &(struct mte_img2col){.type = l->p.in, .conv = &w->u.map});
}

/* MTE1 goes on when what was dequeued is full. */
static void wait(void)
{
    union cmd cmd;

    cmd_nop(&cmd);
    task_issue(PIPE_MTE1, &cmd);
}

static void store_set(struct walk *w)
{
    for (uint32_t i = 0; i < w->pieces; i++) {
        if (!w->s->plan->tail) {
            conv_store(w->s->plan, &w->u, w->c[i], &w->piece[i], &w->store);
        } else if (w->s->sink) {
            w->s->sink->take(w->s, &w->u, &w->piece[i], w->c[i]);
        } else {
            conv_tail_take(w->s, w->c[i], &w->piece[i], &w->store);
        }
    }
}

/* Whether the unit is the last one of its patch. */
static bool ends_patch(const struct conv_share *s, uint32_t unit)
{
    return unit + 1 == s->end || conv_new_patch(s->plan, s->begin, unit + 1);
}

/* One chunk of weights: they serve all sets. */
static void multiply_sets(struct walk *w, uint32_t unit)
{
    const struct conv_share *s = w->s;
    const struct conv_plan *l = s->plan;
    uint32_t pieces = conv_pieces(l, &w->u);
    union cmd cmd;

    w->first = w->last = true;
    if (conv_new_patch(l, s->begin, unit)) {
        w->patch = tque_deque(s->patch);
    }
    if (!l->b_stays && conv_first_of_weights(s, unit)) {
        w->weights = tque_deque(s->weights);
    }
    wait();
    for (uint32_t i = 0; i < pieces; i += w->pieces) {
        begin_set(w, i, pieces);
        multiply_chunk(w);
        store_set(w);
    }
    cmd_nop(&cmd);
    if (ends_patch(s, unit)) {
        tque_free(s->patch, w->patch, &cmd);
    }
    if (!l->b_stays && (unit + 1 == s->end || conv_first_of_weights(s, unit + 1))) {
        tque_free(s->weights, w->weights, &cmd);
    }
    task_issue(PIPE_MTE1, &cmd);
}

static void multiply_chunk_of(struct walk *w, uint32_t chunk, bool last_of_patch)
{
    const struct conv_share *s = w->s;
    const struct conv_plan *l = s->plan;
    union cmd cmd;

    w->chunk = conv_chunk(l, chunk);
    w->first = chunk == 0;
    w->last = chunk + 1 == l->chunks;
    set_window(w);
    if (!l->whole) {
        w->patch = tque_deque(s->patch);
    }
    w->weights = tque_deque(s->weights);
    wait();
    multiply_chunk(w);
    cmd_nop(&cmd);
    if (!l->whole || last_of_patch) {
        tque_free(s->patch, w->patch, &cmd);
    }
    tque_free(s->weights, w->weights, &cmd);
    task_issue(PIPE_MTE1, &cmd);
}

/* Several: they come again for each set. */
static void multiply_chunks(struct walk *w, uint32_t unit)
{
    const struct conv_plan *l = w->s->plan;
    uint32_t pieces = conv_pieces(l, &w->u);
    bool ends = ends_patch(w->s, unit);

    if (l->whole && conv_new_patch(l, w->s->begin, unit)) {
        w->patch = tque_deque(w->s->patch);
    }
    for (uint32_t i = 0; i < pieces; i += l->set) {
        begin_set(w, i, pieces);
        for (uint32_t chunk = 0; chunk < l->chunks; chunk++) {
            multiply_chunk_of(w, chunk,
                              ends && i + l->set >= pieces && chunk + 1 == l->chunks);
        }
        store_set(w);
    }
}

static void begin_unit(struct walk *w, uint32_t unit)
{
    const struct conv_plan *l = w->s->plan;

    conv_unit(l, unit, &w->u);
    w->chunk = conv_chunk(l, 0);
    w->pixels = (uint32_t)w->u.map.map_h * w->u.map.map_w;
    set_window(w);
    conv_store_make(l, &w->u, &w->store);
}

void conv_multiply(void *arg)
{
    struct walk w = {.s = arg, .fresh = true};
    const struct conv_plan *l = w.s->plan;
    union cmd cmd;

    mte_set_pad(&cmd, PIPE_MTE1, 0); /* another kernel's may be set */
    task_issue(PIPE_MTE1, &cmd);
    conv_store_begin(w.s);
    for (unsigned i = 0; i < CONV_PARTS; i++) {
        for (unsigned kind = 0; kind < 3; kind++) {
            w.s->room->record[i][kind].n = 0;
        }
    }
    for (uint32_t unit = w.s->begin; unit < w.s->end; unit++) {
        begin_unit(&w, unit);
        if (conv_first_of_weights(w.s, unit)) {
            make_kinds(&w);
            if (l->p.bias || l->b_stays) {
                renew(&w);
            }
            if (l->p.words) {
                conv_store_words(w.s, w.u.n_count);
            }
        }
        if (l->chunks > 1) {
            multiply_chunks(&w, unit);
        } else {
            multiply_sets(&w, unit);
        }
    }
}
