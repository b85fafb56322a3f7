/* SPDX-License-Identifier: MIT
 *
 * mla_prolog in three launches through GM, made of the same parts as the fused one. What
 * lies between them is fp32 and in tiles, so that every copy of it is one long row.
 *
 *   product     blocks of 2 * LANES rows: half as much traffic of b as in fused.c, whose
 *               L1 has tiles to hold; the Cube is the limit
 *   layernorm   x once from GM to L1, if a block fits, and from there to both passes
 *   gelu        tile by tile
 */
#include "kernels/mla_prolog/tiles.h"

/* --- x = a x b + bias --- */

__attribute__((cold)) static void store_tiles(void *arg)
{
    const struct share *s = arg;
    unsigned c = 0;
    union cmd cmd;

    for (uint32_t m0 = s->m_begin; m0 < s->m_end; m0 += s->rows) {
        for (uint32_t t = 0; t < s->tiles; t++, c++) {
            uint32_t columns = tile_columns(s, t), rows = block_rows(s, m0);
            uint32_t l0c = c % s->c_slots * (s->rows * TILE * 4);
            for (uint32_t lane = 0; lane < rows; lane += LANES) {
                bool last = lane + LANES >= rows;
                fixpipe_to_gm(&cmd, work_tile(s, s->p->x, m0 + lane, t),
                              l0c + lane * up16(columns) * 4,
                              &(struct fixpipe_tile){.type = TYPE_F32,
                                                     .m = columns,
                                                     .n = min_u32(LANES, rows - lane),
                                                     .pitch_elems = LANES});
                if (lane == 0) {
                    cmd_wait(&cmd, C_FULL, 1);
                }
                if (last) {
                    cmd_post(&cmd, C_FREE, 1);
                }
                task_issue(PIPE_FIX, &cmd);
            }
        }
    }
}

static void multiply_all(void *arg)
{
    product_until(arg, UINT64_MAX);
}

static void run_product(struct share *s)
{
    product_begin(s);
    task_spawn("mla multiply", multiply_all, s);
    task_spawn("mla store", store_tiles, s);
    task_join_all();
    task_drain();
    product_finish(s);
}

int mla_product(const struct mla_prolog *p, struct sched_report *report)
{
    return p->x == NULL ? ERR_ARG
                        : run_shares(p, "mla product", 2 * LANES, run_product, report);
}

/* --- y = layernorm(x) --- */

enum { LN_SLOTS = 16 }; /* tiles in L1 */

/* GM to L1, a tile after the other. */
static void fill_l1(void *arg)
{
    const struct share *s = arg;
    unsigned slot = 0;
    union cmd cmd;

    for (uint32_t m0 = s->m_begin; m0 < s->m_end; m0 += LANES) {
        for (uint32_t t = 0; t < s->tiles; t++, slot = (slot + 1) % LN_SLOTS) {
            mte_gm_to_l1(&cmd, slot * TILE_BYTES, work_tile(s, s->p->x, m0, t),
                         tile_columns(s, t) * ROW);
            cmd_wait(&cmd, X_FREE, 1);
            cmd_post(&cmd, X_FULL, 1);
            task_issue(PIPE_MTE2, &cmd);
        }
    }
}

/* Tile t of the block at m0 to UB, from L1 or, where that has no slots, from GM. */
static void bring(const struct share *s, uint32_t m0, uint32_t t, bool pass2)
{
    uint32_t ub = pass2 ? UB_XIN : UB_XST, bytes = tile_columns(s, t) * ROW;
    uint64_t number = (uint64_t)((m0 - s->m_begin) / LANES) * s->tiles + t;
    union cmd cmd;

    if (s->x_slots == 0) {
        mte_gm_to_ub(&cmd, ub, work_tile(s, s->p->x, m0, t), bytes);
    } else {
        mte_l1_to_ub(&cmd, ub, (uint32_t)(number % LN_SLOTS) * TILE_BYTES, bytes);
    }
    cmd_wait(&cmd, pass2 ? XIN_FREE : XST_FREE, 1);
    cmd_post(&cmd, pass2 ? XIN_FULL : XST_FULL, 1);
    if (s->x_slots != 0 && !pass2) {
        cmd_wait(&cmd, X_FULL, 1);
    }
    /* Slots are freed in their order: that of the last tile, which needs no second load,
     * together with that of the tile before. */
    if (s->x_slots != 0 && (pass2 || s->tiles == 1)) {
        cmd_post(&cmd, X_FREE, pass2 && t == s->tiles - 2 ? 2 : 1);
    }
    task_issue(s->reload, &cmd);
}

static void feed_x(void *arg, uint32_t m0, uint32_t t)
{
    const struct share *s = arg;

    bring(s, m0, t, false);
    if (m0 != s->m_begin && t < s->tiles - 1) {
        bring(s, m0 - LANES, t, true);
    }
}

static void feed_rest(void *arg, uint32_t m0, uint32_t t)
{
    bring(arg, m0, t, true);
}

static void store_y(void *arg, uint32_t m0, uint32_t t)
{
    const struct share *s = arg;
    union cmd cmd;

    mte_ub_to_gm(&cmd, work_tile(s, s->p->y, m0, t), UB_W2, tile_columns(s, t) * ROW);
    cmd_wait(&cmd, OUT_FULL, 1);
    cmd_post(&cmd, OUT_FREE, 1);
    task_issue(PIPE_MTE3, &cmd);
}

static void normalise(void *arg)
{
    static const struct ends ends = {feed_x, feed_rest, store_y};

    task_priority(TASK_NORMAL + 2);
    both_passes(arg, false, &ends, arg);
}

static void run_layernorm(struct share *s)
{
    static const struct handed buffers[] = {{XST_FREE, 1}, {XIN_FREE, 1}, {OUT_FREE, 1}};

    s->x_slots = s->tiles <= LN_SLOTS - 2 ? LN_SLOTS : 0;
    s->reload = s->x_slots ? PIPE_MTE1 : PIPE_MTE2;
    give(buffers, 3);
    task_post(X_FREE, s->x_slots);
    if (s->x_slots) {
        task_spawn("mla fill L1", fill_l1, s);
    }
    task_spawn("mla rows", normalise, s);
    task_join_all();
    task_drain();
    take_back(buffers, 3);
    task_wait(X_FREE, s->x_slots);
}

int mla_layernorm(const struct mla_prolog *p, struct sched_report *report)
{
    return p->x == NULL || p->y == NULL
               ? ERR_ARG
               : run_shares(p, "mla layernorm", LANES, run_layernorm, report);
}

/* --- out = gelu(y) --- */

static void feed_y(void *arg, uint32_t m0, uint32_t t)
{
    const struct share *s = arg;
    uint64_t number = (uint64_t)((m0 - s->m_begin) / LANES) * s->tiles + t;
    union cmd cmd;

    mte_gm_to_ub(&cmd, number % 2 ? UB_XST : UB_XIN, work_tile(s, s->p->y, m0, t),
                 tile_columns(s, t) * ROW);
    cmd_wait(&cmd, XIN_FREE, 1);
    cmd_post(&cmd, XIN_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

static void store_out(void *arg, uint32_t m0, uint32_t t)
{
    copy_out_tile(arg, m0, t);
}

static void run_gelu(struct share *s)
{
    static const struct handed buffers[] = {{XIN_FREE, 2}, {OUT_FREE, 1}};
    static const struct ends ends = {feed_y, NULL, store_out};

    give(buffers, 2);
    gelu_pass(s, &ends, s);
    task_drain();
    take_back(buffers, 2);
}

int mla_gelu(const struct mla_prolog *p, struct sched_report *report)
{
    return p->y == NULL ? ERR_ARG : run_shares(p, "mla gelu", LANES, run_gelu, report);
}

uint64_t mla_work_elements(const struct mla_prolog *p)
{
    return ((uint64_t)p->m + LANES - 1) / LANES * LANES * p->n;
}
