/* SPDX-License-Identifier: MIT
 *
 * LSTM and GRU; see recurrent.h. A step brings its rows of x, and h of the step before, to
 * L0A; then, for some units at a time, the weights of each gate to L0B, four products to L0C,
 * their sums to UB, where the Vector makes c and h of them (record.c).
 *
 * Weights stay in L1 where they fit, else they stream through it in each step. Where cores share
 * the batch, h stays in the core: to L1 and on. Where they share the units, it goes to GM, which
 * is y, and when all have stored it each brings all of it.
 */
#include "kernels/recurrent/recurrent.h"

#include <stdlib.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/recurrent/inside.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "sched/vector.h"

struct run {
    const struct recurrent *p;
    struct recurrent_cut cut;
    char *commands; /* `room` bytes of each block */
    size_t room;
};

static int cut(const struct recurrent *p, struct recurrent_cut *t)
{
    if (p->steps == 0 || p->batch == 0 || p->in == 0 || p->units == 0 || p->units % 16 ||
        p->units > 1024 || p->in > 4095) {
        return ERR_ARG;
    }
    return recurrent_cut(p, t);
}

int recurrent_check(const struct recurrent *p)
{
    struct recurrent_cut t;

    return cut(p, &t);
}

/* --- before the first step --- */

static void load_nz(uint32_t l1, const uint16_t *gm, uint32_t rows, uint32_t cols,
                    uint32_t block_rows)
{
    union cmd cmd;

    mte_gm_to_l1_nz(
        &cmd, l1, gm,
        &(struct mte_nz){
            .type = TYPE_F16, .n_rows = rows, .n_cols = cols, .block_rows = block_rows});
    task_issue(PIPE_MTE2, &cmd);
}

/* The core's units of all gates, gate behind gate: those of w, behind them those of r. */
static void load_weights(const struct recurrent_cell *s)
{
    const struct recurrent *p = s->p;
    uint32_t gates = recurrent_gates(p), all = gates * s->units;
    bool whole = s->units == p->units;
    uint32_t r = s->w + s->cut.x_blocks * all * MTE_BLOCK;

    for (uint32_t gate = 0; gate < (whole ? 1 : gates); gate++) {
        uint64_t row = gate * p->units + s->unit;
        uint32_t to = gate * s->units * MTE_BLOCK, rows = whole ? all : s->units;
        load_nz(s->w + to, (const uint16_t *)p->w + row * p->in, rows, p->in, all);
        load_nz(r + to, (const uint16_t *)p->r + row * p->units, rows, p->units, all);
    }
}

static void load_once(const struct recurrent_cell *s)
{
    union cmd cmd;

    if (s->cut.streams == 0) {
        load_weights(s);
    }
    mte_gm_to_l1(&cmd, s->bias, s->p->bias, RECURRENT_SUMS * s->p->units * 4);
    task_issue(PIPE_MTE2, &cmd);
}

/* Rows of the batch and the units of a tile, of an array (batch, units). */
static const char *part_of(const struct recurrent_cell *s, const void *base,
                           uint32_t unit, uint32_t esize)
{
    return (const char *)base + ((uint64_t)s->row * s->p->units + s->unit + unit) * esize;
}

static uint32_t state_of(const struct recurrent_cell *s, uint32_t unit)
{
    return s->state + unit * s->cut.rows * 4;
}

/* The state of a GRU is h in fp32, which comes by way of the temporary. */
static void load_state(const struct recurrent_cell *s)
{
    const struct recurrent *p = s->p;
    const void *from = p->gru ? p->first : p->first_c;
    uint32_t esize = p->gru ? 2 : 4;
    union cmd cmd;

    task_vector_count(s->rows * s->cut.tile);
    for (uint32_t u = 0; u < s->units; u += s->cut.tile) {
        if (from == NULL) {
            vector_fill(&cmd, OP_VDUP, TYPE_F32, state_of(s, u), 0);
            task_vector(&cmd);
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
            task_vector(&cmd);
            task_drain();
        }
    }
    task_drain();
}

static void store_state(const struct recurrent_cell *s)
{
    const struct recurrent *p = s->p;
    union cmd cmd;

    for (uint32_t u = 0; u < s->units && p->c; u += s->cut.tile) {
        mte_ub_to_gm_rows(&cmd, (void *)(uintptr_t)part_of(s, p->c, u, 4), state_of(s, u),
                          &(struct mte_rows){.n_rows = s->rows,
                                             .row_bytes = s->cut.tile * 4,
                                             .gm_pitch_bytes = p->units * 4});
        task_issue(PIPE_MTE3, &cmd);
    }
    task_drain();
}

/* --- a core --- */

static void run_rows(struct recurrent_cell *s)
{
    load_state(s);
    recurrent_steps(s);
    task_drain();
    task_wait(s->cut.shared ? LAUNCH_GO : RECURRENT_H_FULL, 1); /* of the last step */
    store_state(s);
}

static const struct {
    uint8_t sem, units; /* 0: as many as weights have slots */
} empty[] = {{RECURRENT_X_FREE, RECURRENT_SLOTS}, {RECURRENT_W_FREE, 0},
             {RECURRENT_B_FREE, RECURRENT_SLOTS}, {RECURRENT_C_FREE, RECURRENT_SLOTS},
             {RECURRENT_S_FREE, RECURRENT_SLOTS}, {RECURRENT_Y_FREE, RECURRENT_SLOTS}};

static void label(void)
{
    static const struct {
        const char *name, *what;
    } names[] = {
        [RECURRENT_X_FREE] = {"x", "FREE"},    [RECURRENT_X_FULL] = {"x", "FULL"},
        [RECURRENT_W_FREE] = {"w", "FREE"},    [RECURRENT_W_FULL] = {"w", "FULL"},
        [RECURRENT_B_FREE] = {"l0b", "FREE"},  [RECURRENT_B_FULL] = {"l0b", "FULL"},
        [RECURRENT_C_FREE] = {"l0c", "FREE"},  [RECURRENT_C_FULL] = {"l0c", "FULL"},
        [RECURRENT_S_FREE] = {"sums", "FREE"}, [RECURRENT_S_FULL] = {"sums", "FULL"},
        [RECURRENT_Y_FREE] = {"y", "FREE"},    [RECURRENT_Y_FULL] = {"y", "FULL"},
        [RECURRENT_H_FULL] = {"h", "FULL"},
    };

    for (unsigned sem = 0; sem < sizeof(names) / sizeof(names[0]); sem++) {
        sched_label(task_core(), sem, names[sem].name, names[sem].what);
    }
}

static void take_memory(struct recurrent_cell *s)
{
    const struct recurrent_cut *t = &s->cut;
    struct tpipe *pipe = tpipe_open();

    s->w = tbuf_init(pipe, "w", TSCM, (t->streams ? t->streams : 1) * t->w);
    s->bias = tbuf_init(pipe, "bias", TSCM, RECURRENT_SUMS * s->p->units * 4);
    s->xh = tbuf_init(pipe, "x and h", TSCM, RECURRENT_SLOTS * t->xh);
    s->sums = tbuf_init(pipe, "sums", VECCALC,
                        RECURRENT_SLOTS * RECURRENT_SUMS * t->rows * t->tile * 4);
    s->state = tbuf_init(pipe, "state", VECCALC, t->rows * t->units * 4);
    s->temp = tbuf_init(pipe, "temporary", VECCALC, t->rows * t->tile * 4);
    s->y = tbuf_init(pipe, "y", VECCALC, RECURRENT_SLOTS * t->rows * t->tile * 2);
}

static void kernel(void *arg)
{
    const struct run *run = arg;
    const struct recurrent *p = run->p;
    struct recurrent_cell s = {.p = p, .cut = run->cut, .units = p->units};
    uint32_t parts = div_up_u32(p->batch, s.cut.rows), part = 0, end = parts;

    if (s.cut.shared) {
        s.unit = task_block() * s.cut.units;
        s.units = min_u32(s.cut.units, p->units - s.unit);
    } else {
        part = (uint32_t)share_begin(parts, 1, task_block(), task_blocks());
        end = (uint32_t)share_begin(parts, 1, task_block() + 1, task_blocks());
    }
    label();
    take_memory(&s);
    recurrent_begin(&s, run->room ? run->commands + task_block() * run->room : NULL);
    load_once(&s);
    for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        task_post(empty[i].sem, empty[i].units ? empty[i].units : s.cut.streams);
    }
    for (; part < end; part++) {
        s.row = part * s.cut.rows;
        s.rows = min_u32(s.cut.rows, p->batch - s.row);
        run_rows(&s);
    }
    for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        task_wait(empty[i].sem, empty[i].units ? empty[i].units : s.cut.streams);
    }
}

int recurrent(const struct recurrent *p, struct sched_report *report)
{
    struct run run = {.p = p};
    struct launch l = {p->gru ? "gru" : "lstm", kernel, &run, .cores = 0};
    int err = cut(p, &run.cut);

    report->text[0] = 0;
    if (!p->x || !p->w || !p->r || !p->bias || !p->y) {
        return ERR_ARG;
    }
    if (p->cores > chip_cores()) {
        return ERR_CORES;
    }
    if (err) {
        return err;
    }
    l.cores = run.cut.blocks;
    run.room = recurrent_room(p, &run.cut);
    run.commands = run.room ? malloc(run.cut.blocks * run.room) : NULL;
    err = run.room && !run.commands ? ERR_NOMEM : launch(&l, report);
    free(run.commands);
    return err;
}
