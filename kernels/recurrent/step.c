/* SPDX-License-Identifier: MIT
 *
 * The commands of one step of a core; see recurrent.c. Slots come round within two steps.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/recurrent/inside.h"
#include "sched/launch.h"

/* A command whose address in GM lies `stride` bytes further each step. */
static inline __attribute__((always_inline)) void
add_moving(struct recurrent_at *r, enum recurrent_lane lane, union cmd *cmd,
           unsigned field, const void *base, uint64_t stride)
{
    struct sequence *to = &r->s->lane[lane];
    uint64_t at = (uintptr_t)base + (r->s->direct ? r->step * stride : 0);

    memcpy(cmd->bytes + field, &at, sizeof(at));
    recurrent_add(r->s, lane, cmd);
    if (!r->s->direct) {
        to->patches[to->n_patches++] =
            (struct seq_patch){.cmd = (uint16_t)(to->n - 1),
                               .field = (uint8_t)field,
                               .base = (uintptr_t)base + (lane == LANE_IN ? stride : 0),
                               .stride = {(int64_t)stride}};
    }
}

/* --- in --- */

static void build_nz(union cmd *cmd, uint32_t l1, const void *gm, uint32_t rows,
                     uint32_t cols, uint32_t pitch, uint32_t block_rows)
{
    mte_gm_to_l1_nz(cmd, l1, gm,
                    &(struct mte_nz){.type = TYPE_F16,
                                     .n_rows = rows,
                                     .n_cols = cols,
                                     .gm_pitch_elems = pitch,
                                     .block_rows = block_rows});
}

/* x and h of a step in L1, side by side. */
static uint32_t xh_at(const struct recurrent_cell *s, uint32_t step)
{
    return s->xh + step % RECURRENT_SLOTS * s->cut.xh;
}

static uint32_t h_at(const struct recurrent_cell *s, uint32_t step)
{
    return xh_at(s, step) + s->cut.rows * s->cut.x_blocks * MTE_BLOCK;
}

static void load_x(struct recurrent_at *r, enum recurrent_lane lane)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent *p = s->p;
    const uint16_t *x = (const uint16_t *)p->x + (uint64_t)s->row * p->in;
    union cmd cmd;

    build_nz(&cmd, xh_at(s, r->step), x, s->rows, p->in, 0, s->cut.rows);
    cmd_wait(&cmd, RECURRENT_X_FREE, 1);
    cmd_post(&cmd, RECURRENT_X_FULL, 1);
    if (lane == LANE_FIRST) {
        recurrent_add(s, lane, &cmd);
    } else {
        add_moving(r, lane, &cmd, SEQ_FIELD(nd2nz.src), x,
                   (uint64_t)p->batch * p->in * 2);
    }
}

/* h before the first step. */
static void load_first(struct recurrent_at *r)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent *p = s->p;
    union cmd cmd;

    if (p->first) {
        build_nz(&cmd, h_at(s, 0),
                 (const uint16_t *)p->first + (uint64_t)s->row * p->units, s->rows,
                 p->units, 0, s->cut.rows);
    } else {
        mte_fill(&cmd, NPU_MEM_L1, h_at(s, 0), TYPE_F16, 0,
                 s->cut.rows * s->cut.h_blocks * MTE_BLOCK);
    }
    cmd_post(&cmd, RECURRENT_H_FULL, 1);
    recurrent_add(s, LANE_FIRST, &cmd);
}

/* h of the step before, when all cores have stored theirs. */
static void load_h(struct recurrent_at *r, enum recurrent_lane lane)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent *p = s->p;
    uint64_t step = (uint64_t)p->batch * p->units;
    const uint16_t *h = (const uint16_t *)p->y + (uint64_t)s->row * p->units - step;
    union cmd cmd;

    if (lane == LANE_FIRST) {
        load_first(r);
    } else if (s->cut.shared) {
        build_nz(&cmd, h_at(s, r->step), h, s->rows, p->units, 0, s->cut.rows);
        cmd_wait(&cmd, LAUNCH_GO, 1);
        cmd_post(&cmd, RECURRENT_H_FULL, 1);
        add_moving(r, lane, &cmd, SEQ_FIELD(nd2nz.src), h, step * 2);
    } /* else it has never left the core */
}

/* A piece for a tile of units, which is of x or of h. */
static void stream(struct recurrent_at *r, enum recurrent_lane lane, uint32_t unit,
                   const struct recurrent_piece *piece)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent *p = s->p;
    const struct recurrent_cut *t = &s->cut;
    bool of_h = piece->first >= t->x_blocks;
    uint32_t pitch = of_h ? p->units : p->in,
             row = piece->gate * p->units + s->unit + unit;
    uint32_t first = (piece->first - (of_h ? t->x_blocks : 0)) * 16;
    const uint16_t *gm = of_h ? p->r : p->w;
    union cmd cmd;

    build_nz(&cmd, s->w + r->w++ % t->streams * t->w, gm + (uint64_t)row * pitch + first,
             t->tile, min_u32(piece->blocks * 16, pitch - first), pitch, t->tile);
    cmd_wait(&cmd, RECURRENT_W_FREE, 1);
    cmd_post(&cmd, RECURRENT_W_FULL, 1);
    recurrent_add(s, lane, &cmd);
}

/* What MTE2 has in a step. Weights for which there is room do not wait for h. */
void recurrent_in(struct recurrent_at *r, enum recurrent_lane lane)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    struct recurrent_piece piece;

    load_x(r, lane);
    if (t->streams == 0) {
        load_h(r, lane);
        return;
    }
    r->w = 0;
    for (uint32_t u = 0; u < s->units; u += t->tile) {
        for (unsigned gate = 0; gate < RECURRENT_SUMS; gate++) {
            for (unsigned i = 0; recurrent_piece(s->p, t, gate, i, &piece); i++) {
                stream(r, lane, u, &piece);
                if (r->w == t->streams) {
                    load_h(r, lane);
                }
            }
        }
    }
}

/* --- products --- */

/* x and h of the step to L0A, piece by piece, behind the weights that L0B has room for: those
 * are full when this is. Where h is there, the Cube has done the step before, so L0A is free. */
static void load_rows(struct recurrent_at *r, uint32_t full)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t end = t->x_blocks + t->h_blocks, at = 0;
    struct recurrent_piece piece;

    for (unsigned i = 0; recurrent_piece(s->p, t, 0, i, &piece); i++) {
        uint32_t from = at * t->rows * MTE_BLOCK;
        union cmd cmd;
        at = piece.first + piece.blocks;
        mte_l1_to_l0a(&cmd, from, xh_at(s, r->step) + from,
                      &(struct mte_window){.type = TYPE_F16,
                                           .n_rows = s->rows,
                                           .n_cols = piece.blocks * 16,
                                           .block_rows = t->rows});
        if (i == 0) {
            cmd_wait(&cmd, RECURRENT_X_FULL, 1);
            cmd_wait(&cmd, RECURRENT_H_FULL, 1);
        }
        if (at == end) {
            cmd_post(&cmd, RECURRENT_X_FREE, 1);
            cmd_post(&cmd, RECURRENT_B_FULL, full);
        }
        recurrent_add(s, LANE_TO_L0, &cmd);
    }
}

/* Where a piece lies in L1, and rows from a column block of it to the next. */
static uint32_t piece_at(const struct recurrent_at *r, uint32_t unit,
                         const struct recurrent_piece *piece, uint32_t *block_rows)
{
    const struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t row = piece->gate * s->units + unit;

    if (t->streams) {
        *block_rows = t->tile;
        return s->w + r->w % t->streams * t->w;
    }
    *block_rows = recurrent_gates(s->p) * s->units; /* gate behind gate */
    return s->w + (piece->first * *block_rows + row) * MTE_BLOCK;
}

static void piece_to_l0(struct recurrent_at *r, unsigned gate, uint32_t unit,
                        const struct recurrent_piece *piece, bool begins)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t slot = r->b % RECURRENT_SLOTS, block_rows, at;
    union cmd cmd;

    if (begins) {
        mte_l1_to_bt(&cmd, slot * t->tile * 4,
                     s->bias + (gate * s->p->units + s->unit + unit) * 4, TYPE_F32,
                     t->tile);
        cmd_wait(&cmd, RECURRENT_B_FREE, 1);
        recurrent_add(s, LANE_TO_L0, &cmd);
    }
    at = piece_at(r, unit, piece, &block_rows);
    mte_l1_to_l0b(&cmd, slot * RECURRENT_SLOT_B, at,
                  &(struct mte_window){.type = TYPE_F16,
                                       .n_rows = piece->blocks * 16,
                                       .n_cols = t->tile,
                                       .block_rows = block_rows,
                                       .transpose = true});
    if (!begins) {
        cmd_wait(&cmd, RECURRENT_B_FREE, 1);
    }
    if (t->streams) {
        cmd_wait(&cmd, RECURRENT_W_FULL, 1);
        cmd_post(&cmd, RECURRENT_W_FREE, 1);
    }
    if (r->w >= RECURRENT_SLOTS) {
        cmd_post(&cmd, RECURRENT_B_FULL, 1);
    }
    recurrent_add(s, LANE_TO_L0, &cmd);
    r->w++;
}

static void multiply(struct recurrent_at *r, unsigned gate,
                     const struct recurrent_piece *piece, bool begins, bool ends)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t slot = r->b++ % RECURRENT_SLOTS;
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_F16,
                                        .c = r->c % RECURRENT_SLOTS * RECURRENT_SLOT_C +
                                             gate * t->rows * t->tile * 4,
                                        .a = t->rows * piece->first * MTE_BLOCK,
                                        .b = slot * RECURRENT_SLOT_B,
                                        .m = s->rows,
                                        .n = t->tile,
                                        .k = piece->blocks * 16,
                                        .from = begins ? CUBE_FROM_BIAS : CUBE_FROM_C,
                                        .bias = begins ? slot * t->tile * 4 : 0});
    cmd_wait(&cmd, RECURRENT_B_FULL, 1);
    cmd_post(&cmd, RECURRENT_B_FREE, 1);
    if (begins && gate == 0) {
        cmd_wait(&cmd, RECURRENT_C_FREE, 1);
    }
    if (ends) {
        cmd_post(&cmd, RECURRENT_C_FULL, 1);
    }
    recurrent_add(s, LANE_M, &cmd);
}

static void record_products(struct recurrent_at *r, uint32_t unit)
{
    struct recurrent_cell *s = r->s;
    struct recurrent_piece piece, next;

    for (unsigned gate = 0; gate < RECURRENT_SUMS; gate++) {
        bool more = recurrent_piece(s->p, &s->cut, gate, 0, &next);
        for (unsigned i = 0; more; i++) {
            piece = next;
            more = recurrent_piece(s->p, &s->cut, gate, i + 1, &next);
            piece_to_l0(r, gate, unit, &piece, i == 0);
            if (r->w == RECURRENT_SLOTS) { /* a step has four and more */
                load_rows(r, r->w);
            }
            multiply(r, gate, &piece, i == 0, !more && gate + 1 == RECURRENT_SUMS);
        }
    }
}

/* --- sums, states --- */

/* Where sums lie in UB: those of sigmoids first. */
static uint32_t place_of(const struct recurrent *p, unsigned gate)
{
    static const uint8_t lstm[RECURRENT_SUMS] = {0, 1, 3, 2};

    return p->gru ? gate : lstm[gate];
}

static void record_sums(struct recurrent_at *r)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t slot = r->c % RECURRENT_SLOTS, elements = s->rows * t->tile;
    union cmd cmd;

    for (unsigned gate = 0; gate < RECURRENT_SUMS; gate++) {
        fixpipe_to_ub(
            &cmd,
            s->sums + slot * RECURRENT_SUMS * t->rows * t->tile * 4 +
                place_of(s->p, gate) * elements * 4,
            slot * RECURRENT_SLOT_C + gate * t->rows * t->tile * 4,
            &(struct fixpipe_tile){.type = TYPE_F32, .m = s->rows, .n = t->tile});
        if (gate == 0) {
            cmd_wait(&cmd, RECURRENT_C_FULL, 1);
            cmd_wait(&cmd, RECURRENT_S_FREE, 1);
        }
        if (gate + 1 == RECURRENT_SUMS) {
            cmd_post(&cmd, RECURRENT_C_FREE, 1);
            cmd_post(&cmd, RECURRENT_S_FULL, 1);
        }
        recurrent_add(s, LANE_FIX, &cmd);
    }
}

static uint32_t y_at(const struct recurrent_at *r)
{
    const struct recurrent_cut *t = &r->s->cut;

    return r->s->y + r->c % RECURRENT_SLOTS * t->rows * t->tile * 2;
}

static void record_state(struct recurrent_at *r, uint32_t unit)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t slot = r->c % RECURRENT_SLOTS, n = s->rows * t->tile, h;
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, RECURRENT_S_FULL, 1);
    cmd_wait(&cmd, RECURRENT_Y_FREE, 1);
    recurrent_add(s, LANE_V, &cmd);
    h = recurrent_state(s, s->sums + slot * RECURRENT_SUMS * t->rows * t->tile * 4, n,
                        s->state + unit * t->rows * 4);
    vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_NONE, y_at(r), h);
    cmd_post(&cmd, RECURRENT_S_FREE, 1);
    cmd_post(&cmd, RECURRENT_Y_FULL, 1);
    recurrent_add(s, LANE_V, &cmd);
}

/* --- out --- */

/* h as fractals to L1, for the core's next step. */
static void keep(struct recurrent_at *r, uint32_t unit)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent_cut *t = &s->cut;
    uint32_t to = h_at(s, r->step + 1) + unit / 16 * t->rows * MTE_BLOCK;
    union cmd cmd;

    for (uint32_t i = 0; i < t->tile; i += 16) {
        mte_ub_to_l1_rows(&cmd, to + i / 16 * t->rows * MTE_BLOCK, y_at(r) + i * 2,
                          &(struct mte_local_rows){.n_rows = s->rows,
                                                   .row_bytes = MTE_BLOCK,
                                                   .src_pitch_bytes = t->tile * 2});
        if (i + 16 == t->tile) {
            cmd_post(&cmd, RECURRENT_Y_FREE, 1);
        }
        if (unit + i + 16 == s->units) {
            cmd_post(&cmd, RECURRENT_H_FULL, 1);
        }
        recurrent_add(s, LANE_OUT, &cmd);
    }
}

static void record_out(struct recurrent_at *r, uint32_t unit)
{
    struct recurrent_cell *s = r->s;
    const struct recurrent *p = s->p;
    const struct recurrent_cut *t = &s->cut;
    uint64_t at = (uint64_t)s->row * p->units + s->unit + unit;
    uint16_t *y = (uint16_t *)p->y + at;
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, y, y_at(r),
                      &(struct mte_rows){.n_rows = s->rows,
                                         .row_bytes = t->tile * 2,
                                         .gm_pitch_bytes = p->units * 2});
    if (t->shared) {
        cmd_post(&cmd, RECURRENT_Y_FREE, 1);
        if (unit + t->tile == s->units) {
            cmd_post(&cmd, LAUNCH_ARRIVE, 1);
        }
    }
    cmd_wait(&cmd, RECURRENT_Y_FULL, 1);
    add_moving(r, LANE_OUT, &cmd, SEQ_FIELD(copy_out.dst), y,
               (uint64_t)p->batch * p->units * 2);
    if (!t->shared) {
        keep(r, unit);
    }
}

/* --- all --- */

void recurrent_step(struct recurrent_at *r)
{
    struct recurrent_cell *s = r->s;

    r->w = 0;
    for (uint32_t u = 0; u < s->units; u += s->cut.tile) {
        record_products(r, u);
        record_sums(r);
        record_state(r, u);
        record_out(r, u);
        r->c++;
    }
}
