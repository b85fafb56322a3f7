/* SPDX-License-Identifier: MIT
 *
 * mla_prolog in one launch: the Cube makes tiles of x, the fixpipe takes each to UB for
 * pass 1 and to L1 for pass 2, MTE1 brings it back when the Vector has the statistics of
 * its rows, MTE3 takes results out. Where L1 cannot hold a block's tiles, they go to GM
 * and MTE2 brings them back. One task issues to all pipes, tile by tile: so no queue waits
 * for the hart to come back from another, and it never sleeps but when the Vector has its
 * queue full.
 */
#include "kernels/mla_prolog/tiles.h"

/* Halves of stripes whose products are issued when a tile's way out is: of an even tile those
 * of its own stripe. More would wait, in MTE1's queue or MTE2's, for tiles of pass 2 that the
 * Vector is behind of: the hart, which waits for that queue, would not issue that. */
enum { AHEAD = 2 };

/* --- tiles out of L0C: FIX --- */

struct drain {
    const struct share *s;
    unsigned c, slot; /* of L0C, of x, counted up without end */
    uint32_t rows;    /* that the commands were built for */
    union cmd to_ub, to_x, last_to_ub;
    union cmd out; /* a whole tile */
};

static void build_drain(struct drain *d, uint32_t rows)
{
    const struct share *s = d->s;
    const struct fixpipe_tile whole = {
        .type = TYPE_F32, .m = TILE, .n = rows, .pitch_elems = LANES};
    struct fixpipe_tile last = whole;

    last.m = tile_columns(s, s->tiles - 1);
    fixpipe_to_ub(&d->to_ub, UB_XST, 0, &whole);
    cmd_wait(&d->to_ub, C_FULL, 1);
    cmd_wait(&d->to_ub, XST_FREE, 1);
    cmd_post(&d->to_ub, XST_FULL, 1);
    fixpipe_to_ub(&d->last_to_ub, UB_XST, 0, &last);
    cmd_wait(&d->last_to_ub, C_FULL, 1);
    cmd_wait(&d->last_to_ub, XST_FREE, 1);
    cmd_post(&d->last_to_ub, XST_FULL, 1);
    cmd_post(&d->last_to_ub, C_FREE, 1);
    if (s->x_slots == 0) {
        fixpipe_to_gm(&d->to_x, NULL, 0, &whole);
    } else {
        fixpipe_to_l1(&d->to_x, 0, 0, &whole);
        cmd_wait(&d->to_x, X_FREE, 1);
    }
    cmd_post(&d->to_x, C_FREE, 1);
    d->rows = rows;
}

/* The products of a tile, and what pass 2 of the tile before it in the block before wants. */
static void make_tile(const struct share *s, uint32_t m0, uint32_t t)
{
    uint64_t block = (m0 - s->m_begin) / LANES;

    product_until(s, block * block_halves(s) + t + AHEAD);
    if (m0 != s->m_begin && t > 0 && product_ended(s)) {
        product_reload(s, m0 - LANES, t - 1);
    }
}

static void drain_tile(const struct share *s, struct drain *d, uint32_t m0, uint32_t t)
{
    uint32_t l0c = d->c++ % s->c_slots * TILE_BYTES, rows = block_rows(s, m0);

    if (rows != d->rows) {
        build_drain(d, rows);
    }
    if (t == s->tiles - 1) {
        d->last_to_ub.fix_gm.src = l0c;
        task_issue(PIPE_FIX, &d->last_to_ub);
        return;
    }
    d->to_ub.fix_gm.src = d->to_x.fix_gm.src = l0c;
    task_issue(PIPE_FIX, &d->to_ub);
    d->to_x.fix_gm.dst = s->x_slots ? L1_X + d->slot * TILE_BYTES
                                    : (uintptr_t)work_tile(s, s->p->x, m0, t);
    if (s->x_slots && ++d->slot == s->x_slots) {
        d->slot = 0;
    }
    /* The whole block is there with the last tile that does not stay in UB. */
    d->to_x.head.post_sem[1] = t == s->tiles - 2 ? X_FULL : 0;
    d->to_x.head.post_n[1] = t == s->tiles - 2;
    task_issue(PIPE_FIX, &d->to_x);
}

static void feed(void *arg, uint32_t m0, uint32_t t)
{
    struct drain *d = arg;

    make_tile(d->s, m0, t);
    drain_tile(d->s, d, m0, t);
}

static void feed_rest(void *arg, uint32_t m0, uint32_t t)
{
    const struct drain *d = arg;

    product_reload(d->s, m0, t);
}

/* --- results out: MTE3 --- */

static void build_out(const struct share *s, union cmd *cmd, uint32_t m0,
                      uint32_t columns)
{
    mte_ub_to_gm_rows(cmd, NULL, UB_OUT,
                      &(struct mte_rows){.n_rows = min_u32(LANES, s->m_end - m0),
                                         .row_bytes = columns * 2,
                                         .gm_pitch_bytes = s->p->n * 2,
                                         .local_pitch_bytes = TILE * 2});
    cmd_wait(cmd, OUT_FULL, 1);
    cmd_post(cmd, OUT_FREE, 1);
}

void copy_out_tile(const struct share *s, uint32_t m0, uint32_t t)
{
    union cmd cmd;

    build_out(s, &cmd, m0, tile_columns(s, t));
    cmd.copy_out.dst = (uintptr_t)(s->p->out + (uint64_t)m0 * s->p->n + t * TILE);
    task_issue(PIPE_MTE3, &cmd);
}

static void store_tile(void *arg, uint32_t m0, uint32_t t)
{
    struct drain *d = arg;
    const struct share *s = d->s;

    if (m0 + LANES > s->m_end || tile_columns(s, t) != TILE) {
        copy_out_tile(s, m0, t);
        return;
    }
    if (d->out.head.opcode == 0) {
        build_out(s, &d->out, m0, TILE);
    }
    d->out.copy_out.dst = (uintptr_t)(s->p->out + (uint64_t)m0 * s->p->n + t * TILE);
    task_issue(PIPE_MTE3, &d->out);
}

static void rows(const struct share *s)
{
    static const struct ends ends = {feed, feed_rest, store_tile};
    struct drain d = {.s = s};

    both_passes(s, true, &ends, &d);
}

/* --- launch --- */

bool mla_fits(const struct mla_prolog *p)
{
    return p->n <= (X_SLOTS + 1) * TILE;
}

uint64_t mla_spilled_bytes(const struct mla_prolog *p)
{
    uint64_t kept = (p->n - 1) % TILE + 1; /* columns of the tile that stays in UB */

    return mla_fits(p) ? 0 : p->m * (p->n - kept) * sizeof(float);
}

static void run_fused(struct share *s)
{
    static const struct handed buffers[] = {{XST_FREE, 1}, {XIN_FREE, 1}, {OUT_FREE, 1}};

    s->x_slots = mla_fits(s->p) ? X_SLOTS : 0;
    s->reload = s->x_slots ? PIPE_MTE1 : PIPE_MTE2;
    give(buffers, 3);
    task_post(X_FREE, s->x_slots);
    product_begin(s);
    rows(s);
    task_drain();
    product_finish(s);
    take_back(buffers, 3);
    task_wait(X_FREE, s->x_slots);
}

int mla_fused(const struct mla_prolog *p, struct sched_report *report)
{
    if (!mla_fits(p) && p->x == NULL) {
        return ERR_ARG;
    }
    return run_shares(p, "mla fused", LANES, run_fused, report);
}
