/* SPDX-License-Identifier: MIT
 *
 * LSTM and GRU; see recurrent.h. Weights stay in L1. A step brings its rows of x, and h of
 * the step before, which never leaves the core, to L0A; then, for some units at a time, the
 * weights of each gate to L0B, four products to L0C, their sums to UB, where the Vector makes
 * c and h of them. h goes to GM and to L1.
 */
#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/recurrent/gates.h"
#include "kernels/recurrent/recurrent.h"
#include "sched/launch.h"
#include "sched/tque.h"

enum {
    MOST_ROWS = 64, /* of the batch at a time */
    STATE = 64 << 10,
    SLOT_B = 32 << 10,
    SUMS = RECURRENT_SUMS,
    C_SLOT = 32 << 10, /* of L0C and of UB: all sums of a tile */
};

/* Semaphores: slots of L0B and L0C that are free, full; h of a step is in L1. */
enum { B_FREE, B_FULL, C_FREE, C_FULL, H_READY };

/* How it is cut. */
struct cut {
    uint32_t rows, tile; /* of the batch; units */
    uint32_t x_blocks, h_blocks;
    uint32_t w, r, bias, h, x; /* bytes in L1 */
};

struct cell {
    const struct recurrent *p;
    struct cut cut;
    struct tque *x, *sums, *out;
    uint32_t w, r, bias, h[2]; /* in L1 */
    uint32_t state, temp;      /* in UB */
    uint32_t row, rows;        /* of the batch */
    uint32_t b, c;             /* slots of L0B, L0C: counted up */
};

/* --- how it is cut --- */

static uint32_t up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to;
}

static bool fits(const struct cut *t, const struct recurrent *p)
{
    uint32_t blocks = t->x_blocks + t->h_blocks, l0a = chip_mem(NPU_MEM_L0A);
    uint32_t l1 = t->w + t->r + t->bias + 2 * t->h + 2 * t->x;

    return t->rows * blocks * MTE_BLOCK <= l0a && t->rows * p->units * 4 <= STATE &&
           l1 <= chip_mem(NPU_MEM_L1);
}

static int make_cut(const struct recurrent *p, struct cut *t)
{
    uint32_t all = recurrent_gates(p) * p->units;

    *t = (struct cut){.x_blocks = up(p->in, 16),
                      .h_blocks = p->units / 16,
                      .bias = up(SUMS * p->units * 4, MTE_BLOCK) * MTE_BLOCK};
    t->tile = p->units % 32 == 0 ? 32 : 16;
    if (t->tile * (t->x_blocks + t->h_blocks) * MTE_BLOCK > SLOT_B) {
        t->tile = 16;
    }
    t->w = all * t->x_blocks * MTE_BLOCK;
    t->r = all * t->h_blocks * MTE_BLOCK;
    for (t->rows = up16(min_u32(p->batch, MOST_ROWS)); t->rows > 0; t->rows -= 16) {
        t->h = t->rows * t->h_blocks * MTE_BLOCK;
        t->x = t->rows * t->x_blocks * MTE_BLOCK;
        if (fits(t, p) && t->tile * (t->x_blocks + t->h_blocks) * MTE_BLOCK <= SLOT_B) {
            return 0;
        }
    }
    return ERR_LOCAL;
}

int recurrent_check(const struct recurrent *p)
{
    struct cut t;

    if (p->steps == 0 || p->batch == 0 || p->in == 0 || p->units == 0 || p->units % 16 ||
        p->units > 1024 || p->in > 4095) {
        return ERR_ARG;
    }
    return make_cut(p, &t);
}

/* --- before the first step --- */

static void load_nz(uint32_t l1, const void *gm, uint32_t rows, uint32_t cols,
                    uint32_t block_rows, union cmd *cmd)
{
    mte_gm_to_l1_nz(
        cmd, l1, gm,
        &(struct mte_nz){
            .type = TYPE_F16, .n_rows = rows, .n_cols = cols, .block_rows = block_rows});
}

static void load_weights(const struct cell *s)
{
    const struct recurrent *p = s->p;
    uint32_t all = recurrent_gates(p) * p->units;
    union cmd cmd;

    load_nz(s->w, p->w, all, p->in, all, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    load_nz(s->r, p->r, all, p->units, all, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    mte_gm_to_l1(&cmd, s->bias, p->bias, SUMS * p->units * 4);
    task_issue(PIPE_MTE2, &cmd);
}

/* Rows of the batch and the units of a tile, of an array (batch, units). */
static const char *part_of(const struct cell *s, const void *base, uint32_t unit,
                           uint32_t esize)
{
    return (const char *)base + ((uint64_t)s->row * s->p->units + unit) * esize;
}

static uint32_t state_of(const struct cell *s, uint32_t unit)
{
    return s->state + unit * s->cut.rows * 4;
}

/* The state of a GRU is h in fp32, which comes by way of the temporary. */
static void load_state(const struct cell *s)
{
    const struct recurrent *p = s->p;
    const void *from = p->gru ? p->first : p->first_c;
    uint32_t esize = p->gru ? 2 : 4;
    union cmd cmd;

    vector_count(&cmd, s->rows * s->cut.tile);
    task_issue(PIPE_V, &cmd);
    for (uint32_t u = 0; u < p->units; u += s->cut.tile) {
        if (from == NULL) {
            vector_fill(&cmd, OP_VDUP, TYPE_F32, state_of(s, u), 0);
            task_issue(PIPE_V, &cmd);
            continue;
        }
        mte_gm_to_ub_rows(&cmd, p->gru ? s->temp : state_of(s, u),
                          part_of(s, from, u, esize),
                          &(struct mte_rows){.n_rows = s->rows,
                                             .row_bytes = s->cut.tile * esize,
                                             .gm_pitch_bytes = p->units * esize});
        task_issue(PIPE_MTE2, &cmd);
        if (p->gru) {
            task_drain();
            vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, state_of(s, u), s->temp);
            task_issue(PIPE_V, &cmd);
            task_drain();
        }
    }
}

static void load_first(const struct cell *s)
{
    const struct recurrent *p = s->p;
    union cmd cmd;

    if (p->first) {
        load_nz(s->h[0], part_of(s, p->first, 0, 2), s->rows, p->units, s->cut.rows,
                &cmd);
    } else {
        mte_fill(&cmd, NPU_MEM_L1, s->h[0], TYPE_F16, 0, s->cut.h);
    }
    task_issue(PIPE_MTE2, &cmd);
    load_state(s);
    task_drain();
}

/* --- products --- */

static void load_x(const struct cell *s, uint32_t step)
{
    const struct recurrent *p = s->p;
    uint64_t first = ((uint64_t)step * p->batch + s->row) * p->in;
    uint32_t to = tque_alloc(s->x);
    union cmd cmd;

    load_nz(to, (const uint16_t *)p->x + first, s->rows, p->in, s->cut.rows, &cmd);
    tque_enque(s->x, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* x and h of the step side by side in L0A. */
static void load_rows(const struct cell *s, uint32_t step)
{
    const struct cut *t = &s->cut;
    struct mte_window w = {.type = TYPE_F16,
                           .n_rows = s->rows,
                           .n_cols = t->x_blocks * 16,
                           .block_rows = t->rows};
    uint32_t x = tque_deque(s->x);
    union cmd cmd;

    mte_l1_to_l0a(&cmd, 0, x, &w);
    if (step) {
        cmd_wait(&cmd, H_READY, 1);
    }
    tque_free(s->x, x, &cmd);
    task_issue(PIPE_MTE1, &cmd);
    w.n_cols = s->p->units;
    mte_l1_to_l0a(&cmd, t->rows * t->x_blocks * MTE_BLOCK, s->h[step % 2], &w);
    task_issue(PIPE_MTE1, &cmd);
}

/* Rows of weights in L1, all of their columns, to L0B. */
static void load_gate(const struct cell *s, uint32_t l0b, uint32_t from, uint32_t row,
                      uint32_t blocks, union cmd *cmd)
{
    mte_l1_to_l0b(cmd, l0b, from + row * MTE_BLOCK,
                  &(struct mte_window){.type = TYPE_F16,
                                       .n_rows = blocks * 16,
                                       .n_cols = s->cut.tile,
                                       .block_rows = recurrent_gates(s->p) * s->p->units,
                                       .transpose = true});
}

/* Which rows of w and r a tile of sums is of, or -1. A GRU's third and fourth are the two
 * parts of n. */
struct gate {
    int w, r;
};

static struct gate gate_of(const struct recurrent *p, unsigned i)
{
    int n = (int)i;

    return !p->gru ? (struct gate){n, n}
           : n < 2 ? (struct gate){n, n}
                   : (struct gate){n == 2 ? 2 : -1, n == 3 ? 2 : -1};
}

static void multiply(struct cell *s, unsigned gate, uint32_t unit)
{
    const struct cut *t = &s->cut;
    struct gate g = gate_of(s->p, gate);
    uint32_t slot = s->b++ % 2, l0b = slot * SLOT_B, bt = slot * 128;
    uint32_t r_at = l0b + t->tile * t->x_blocks * MTE_BLOCK;
    struct cube_mmad m = {.type = TYPE_F16,
                          .c = s->c % 2 * C_SLOT + gate * t->rows * t->tile * 4,
                          .m = s->rows,
                          .n = t->tile,
                          .from = CUBE_FROM_BIAS,
                          .bias = bt};
    union cmd cmd;

    mte_l1_to_bt(&cmd, bt, s->bias + (gate * s->p->units + unit) * 4, TYPE_F32, t->tile);
    cmd_wait(&cmd, B_FREE, 1);
    task_issue(PIPE_MTE1, &cmd);
    if (g.w >= 0) {
        load_gate(s, l0b, s->w, (uint32_t)g.w * s->p->units + unit, t->x_blocks, &cmd);
        if (g.r < 0) {
            cmd_post(&cmd, B_FULL, 1);
        }
        task_issue(PIPE_MTE1, &cmd);
    }
    if (g.r >= 0) {
        load_gate(s, r_at, s->r, (uint32_t)g.r * s->p->units + unit, t->h_blocks, &cmd);
        cmd_post(&cmd, B_FULL, 1);
        task_issue(PIPE_MTE1, &cmd);
    }
    if (g.w >= 0) {
        m.b = l0b;
        m.k = t->x_blocks * 16;
        cube_mmad(&cmd, &m);
        cmd_wait(&cmd, B_FULL, 1);
        if (gate == 0) {
            cmd_wait(&cmd, C_FREE, 1);
        }
        if (g.r < 0) {
            cmd_post(&cmd, B_FREE, 1);
        }
        task_issue(PIPE_M, &cmd);
        m.from = CUBE_FROM_C;
        m.bias = 0;
    }
    if (g.r >= 0) {
        m.a = t->rows * t->x_blocks * MTE_BLOCK;
        m.b = r_at;
        m.k = s->p->units;
        cube_mmad(&cmd, &m);
        if (g.w < 0) {
            cmd_wait(&cmd, B_FULL, 1);
        }
        cmd_post(&cmd, B_FREE, 1);
        if (gate + 1 == SUMS) {
            cmd_post(&cmd, C_FULL, 1);
        }
        task_issue(PIPE_M, &cmd);
    }
}

/* Where sums lie in UB: those of sigmoids first. */
static uint32_t place_of(const struct recurrent *p, unsigned gate)
{
    static const uint8_t lstm[SUMS] = {0, 1, 3, 2};

    return p->gru ? gate : lstm[gate];
}

static void take_sums(struct cell *s)
{
    const struct cut *t = &s->cut;
    uint32_t to = tque_alloc(s->sums), elements = s->rows * t->tile;
    union cmd cmd;

    for (unsigned gate = 0; gate < SUMS; gate++) {
        fixpipe_to_ub(
            &cmd, to + place_of(s->p, gate) * elements * 4,
            s->c % 2 * C_SLOT + gate * t->rows * t->tile * 4,
            &(struct fixpipe_tile){.type = TYPE_F32, .m = s->rows, .n = t->tile});
        if (gate == 0) {
            cmd_wait(&cmd, C_FULL, 1);
        }
        if (gate + 1 == SUMS) {
            tque_enque(s->sums, to, &cmd);
            cmd_post(&cmd, C_FREE, 1);
        }
        task_issue(PIPE_FIX, &cmd);
    }
    s->c++;
}

static void finish(const struct cell *s, uint32_t unit)
{
    uint32_t n = s->rows * s->cut.tile, x = tque_deque(s->sums), to, h;
    uint32_t state = state_of(s, unit);
    union cmd cmd;

    h = recurrent_state(s->p->gru, x, n, state, s->temp);
    to = tque_alloc(s->out);
    vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_NONE, to, h);
    tque_free(s->sums, x, &cmd);
    tque_enque(s->out, to, &cmd);
    task_issue(PIPE_V, &cmd);
}

/* h of the tile to GM, and as fractals to L1 for the next step. */
static void store(const struct cell *s, uint32_t step, uint32_t unit)
{
    const struct recurrent *p = s->p;
    const struct cut *t = &s->cut;
    uint32_t from = tque_deque(s->out), row = t->tile * 2;
    uint64_t at = ((uint64_t)step * p->batch + s->row) * p->units + unit;
    bool last = unit + t->tile == p->units;
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, (uint16_t *)p->y + at, from,
                      &(struct mte_rows){.n_rows = s->rows,
                                         .row_bytes = row,
                                         .gm_pitch_bytes = p->units * 2});
    task_issue(PIPE_MTE3, &cmd);
    for (uint32_t i = 0; i < t->tile; i += 16) {
        mte_ub_to_l1_rows(
            &cmd, s->h[(step + 1) % 2] + (unit + i) / 16 * t->rows * MTE_BLOCK,
            from + i * 2,
            &(struct mte_local_rows){
                .n_rows = s->rows, .row_bytes = MTE_BLOCK, .src_pitch_bytes = row});
        if (i + 16 == t->tile) {
            tque_free(s->out, from, &cmd);
            if (last) {
                cmd_post(&cmd, H_READY, 1);
            }
        }
        task_issue(PIPE_MTE3, &cmd);
    }
}

/* --- a core --- */

static void store_state(const struct cell *s)
{
    const struct recurrent *p = s->p;
    union cmd cmd;

    for (uint32_t u = 0; u < p->units && p->c; u += s->cut.tile) {
        mte_ub_to_gm_rows(&cmd, (void *)(uintptr_t)part_of(s, p->c, u, 4), state_of(s, u),
                          &(struct mte_rows){.n_rows = s->rows,
                                             .row_bytes = s->cut.tile * 4,
                                             .gm_pitch_bytes = p->units * 4});
        task_issue(PIPE_MTE3, &cmd);
    }
    task_drain();
}

static void run_rows(struct cell *s)
{
    const struct recurrent *p = s->p;

    load_first(s);
    for (uint32_t step = 0; step < p->steps; step++) {
        load_x(s, step);
        load_rows(s, step);
        for (uint32_t u = 0; u < p->units; u += s->cut.tile) {
            for (unsigned gate = 0; gate < SUMS; gate++) {
                multiply(s, gate, u);
            }
            take_sums(s);
            finish(s, u);
            store(s, step, u);
        }
    }
    task_drain();
    task_wait(H_READY, 1); /* of the last step */
    store_state(s);
}

static void kernel(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct cell s = {.p = arg};
    struct cut *t = &s.cut;
    uint32_t parts, end;

    (void)make_cut(s.p, t);
    parts = up(s.p->batch, t->rows);
    end = (uint32_t)share_begin(parts, 1, task_block() + 1, task_blocks());
    s.w = tbuf_init(pipe, "w", TSCM, t->w);
    s.r = tbuf_init(pipe, "r", TSCM, t->r);
    s.bias = tbuf_init(pipe, "bias", TSCM, t->bias);
    s.h[0] = tbuf_init(pipe, "h", TSCM, t->h);
    s.h[1] = tbuf_init(pipe, "h", TSCM, t->h);
    s.x = tque_init(pipe, "x", A1, PIPE_MTE2, PIPE_MTE1, 2, t->x);
    s.sums =
        tque_init(pipe, "sums", VECIN, PIPE_FIX, PIPE_V, 2, SUMS * t->rows * t->tile * 4);
    s.state = tbuf_init(pipe, "state", VECCALC, t->rows * s.p->units * 4);
    s.temp = tbuf_init(pipe, "temporary", VECCALC, t->rows * t->tile * 4);
    s.out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 2, t->rows * t->tile * 2);
    load_weights(&s);
    sem_post(task_core(), B_FREE, 2);
    sem_post(task_core(), C_FREE, 2);
    for (uint32_t i = (uint32_t)share_begin(parts, 1, task_block(), task_blocks());
         i < end; i++) {
        s.row = i * t->rows;
        s.rows = min_u32(t->rows, s.p->batch - s.row);
        run_rows(&s);
    }
    task_drain();
    task_wait(B_FREE, 2);
    task_wait(C_FREE, 2);
}

int recurrent(const struct recurrent *p, struct sched_report *report)
{
    struct recurrent own = *p;
    struct launch l = {p->gru ? "gru" : "lstm", kernel, &own, .cores = p->cores};
    int err = recurrent_check(p);

    report->text[0] = 0;
    if (!p->x || !p->w || !p->r || !p->bias || !p->y) {
        return ERR_ARG;
    }
    return err ? err : launch(&l, report);
}
