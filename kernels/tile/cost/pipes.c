/* SPDX-License-Identifier: MIT
 *
 * Commands to the pipes, or to what counts their cycles; see pipes.h.
 */
#include "kernels/tile/cost/pipes.h"

#include <string.h>

#include "hal/contract/cost.h"
#include "hal/mte.h"
#include "hal/sem.h"

enum {
    HART_PUSH = 50, /* instructions of the hart, about */
    HART_NUMBER = 5,
    HART_WAKE = 300,  /* likewise, until it has what it has waited for */
    HART_SLEEP = 800, /* likewise, if it has slept */
    TRIES = 100,      /* in so many, about: */
    ASKS = 1000,
    FRACTAL_COLUMNS = 8,
    SECOND = (PIPES_DIAGONAL + FRACTAL_COLUMNS) * FRACTAL_COLUMNS,
};

/* --- cycles --- */

void pipes_begin(struct pipes *p)
{
    memset(p, 0, sizeof(*p));
    tile_costs_init(&p->costs);
}

static void post(struct pipes *p, unsigned sem, unsigned n, uint64_t at)
{
    struct pipes_sem *s = &p->sem[sem];

    while (n--) {
        s->at[(s->first + s->n++) % PIPES_UNITS] = at;
    }
}

static uint64_t take(struct pipes *p, unsigned sem, unsigned n)
{
    struct pipes_sem *s = &p->sem[sem];
    uint64_t at = 0;

    while (n--) {
        at = later(at, s->at[s->first]);
        s->first = (s->first + 1) % PIPES_UNITS;
        s->n--;
    }
    return at;
}

static uint64_t fill_cycles(uint64_t bytes, enum npu_cost rate)
{
    return cost_cycles(chip_cost(COST_L1_L0_FIXED), bytes, chip_cost(rate), 0);
}

/* Of sums that have as many bytes in L0C as in GM, or are few. */
static uint64_t out_cycles(const union cmd *cmd, bool late)
{
    uint32_t bytes = 64u * cmd->fix_gm.m, out = chip_cost(COST_L0C_GM_OUT_RATE);
    uint64_t least = later(chip_cost(COST_L0C_GM_LEAST), out ? div_up(bytes, out) : 0);

    return cost_cycles(late ? chip_cost(COST_L0C_GM_FIXED) : 0, bytes,
                       chip_cost(COST_L0C_GM_RATE), least);
}

/* Of commands that tile_cost() does not know; `late`: the one before has ended earlier. */
static uint64_t cost(struct pipes *p, const union cmd *cmd, bool late)
{
    switch (cmd->head.opcode) {
    case OP_COPY_GM_L1:
        return cost_cycles(chip_cost(COST_GM_L1_FIXED), cmd->copy_in.len_bytes,
                           chip_cost(COST_GM_L1_RATE), 0);
    case OP_COPY_L1_UB:
    case OP_COPY_UB_L1:
        return cost_cycles(chip_cost(COST_L1_L0_FIXED),
                           (uint64_t)cmd->copy_local.len * BLOCK,
                           chip_cost(COST_L1_UB_RATE), 0);
    case OP_FRACTALS_L1_L0A:
        return fill_cycles((uint64_t)cmd->fractals.repeat * MTE_FRACTAL,
                           COST_L1_L0A_RATE);
    case OP_FRACTALS_L1_L0B:
        return fill_cycles((uint64_t)cmd->fractals.repeat * MTE_FRACTAL,
                           COST_L1_L0B_RATE);
    case OP_LOAD2D_L0A:
        return fill_cycles((uint64_t)cmd->load2d.n_rows * cmd->load2d.n_cols * 4,
                           COST_L1_L0A_RATE);
    case OP_INIT_L0B:
        return fill_cycles((uint64_t)cmd->init.len * MTE_FRACTAL, COST_L1_L0B_RATE);
    case OP_INIT_L1:
        return fill_cycles((uint64_t)cmd->init.len * BLOCK, COST_GM_L1_RATE);
    case OP_MMAD: /* two cycles a fractal of F32 */
        return chip_cost(late ? COST_MMAD_FIRST : COST_MMAD_NEXT) +
               div_up(cmd->mmad.m, 16) * div_up(cmd->mmad.k, VEC_BLOCKS) * 2;
    case OP_FIX_L0C_UB:
        return cost_cycles(chip_cost(COST_L0C_UB_FIXED), 64ull * cmd->fix_local.m,
                           chip_cost(COST_L0C_UB_RATE), 0);
    case OP_FIX_L0C_GM:
        return out_cycles(cmd, late);
    default:
        return tile_cost(&p->costs, cmd);
    }
}

void pipes_push(struct pipes *p, enum pipe pipe, const union cmd *cmds, unsigned n)
{
    p->hart += HART_PUSH;
    for (unsigned i = 0; i < n; i++) {
        const struct cmd_head *h = &cmds[i].head;
        uint64_t was = p->free[pipe], at = later(was, p->hart), takes;
        for (unsigned j = 0; j < 2; j++) {
            at = later(at, take(p, h->wait_sem[j], h->wait_n[j]));
        }
        takes = cost(p, &cmds[i], at > was);
        p->busy[pipe] += takes;
        p->free[pipe] = at + takes;
        for (unsigned j = 0; j < 2; j++) {
            post(p, h->post_sem[j], h->post_n[j], at + takes);
        }
    }
}

void pipes_post(struct pipes *p, unsigned sem, unsigned units)
{
    post(p, sem, units, p->hart);
}

void pipes_take(struct pipes *p, unsigned sem, unsigned units, unsigned numbers)
{
    p->hart = later(p->hart, take(p, sem, units) + HART_WAKE) + numbers * HART_NUMBER;
}

void pipes_write(struct pipes *p, unsigned n)
{
    p->hart += n * HART_NUMBER;
}

static uint64_t end_of(const struct pipes *p)
{
    uint64_t end = 0;

    for (unsigned i = 0; i < NPU_PIPES; i++) {
        end = later(end, p->free[i]);
    }
    return end;
}

void pipes_drain(struct pipes *p)
{
    p->hart = later(p->hart, end_of(p) + HART_WAKE);
}

struct tile_cycles pipes_cycles(const struct pipes *p)
{
    return (struct tile_cycles){end_of(p), p->busy[PIPE_V], p->busy[PIPE_MTE2],
                                p->busy[PIPE_MTE3]};
}

static void more(uint64_t *to, uint64_t less, uint64_t n, uint64_t by)
{
    *to += (*to - less) * n / by;
}

void pipes_more(struct tile_cycles *c, const struct tile_cycles *less, uint64_t n,
                uint64_t by)
{
    more(&c->span, less->span, n, by);
    more(&c->v, less->v, n, by);
    more(&c->mte2, less->mte2, n, by);
    more(&c->mte3, less->mte3, n, by);
}

/* --- to the core, or not --- */

__attribute__((noinline)) void pipes_wait_room(enum pipe pipe, unsigned n)
{
    while (pipe_refresh(&task_ports[pipe]) < n) {
        (void)!task_wait_room(pipe, n, SCHED_FOREVER);
    }
}

void pipes_wait(struct pipes *sink, unsigned sem, unsigned n)
{
    if (sink) {
        pipes_take(sink, sem, 1, n);
    } else {
        task_wait(sem, 1);
    }
}

void pipes_wait_soon(struct pipes *sink, unsigned sem)
{
    if (sink) {
        uint64_t at = take(sink, sem, 1);
        sink->hart = later(sink->hart, at + (at > sink->hart + ASKS ? HART_SLEEP : 0));
        return;
    }
    for (unsigned i = 0; task_blocks() == 1 && i < TRIES; i++) {
        if (sem_try_take_at(task_window, sem, 1) == 0) {
            return;
        }
    }
    task_wait(sem, 1);
}

void pipes_read(struct pipes *sink, unsigned sem, uint32_t ub, uint32_t *to, unsigned n)
{
    const volatile uint32_t *from;

    if (sink) {
        pipes_take(sink, sem, 1, n);
        memset(to, 0, n * sizeof(*to));
        return;
    }
    task_wait(sem, 1);
    from = chip_local(task_core(), NPU_MEM_UB, ub);
    for (unsigned i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

void pipes_diagonal(struct pipes *sink, uint32_t l1, const uint32_t *of, unsigned n)
{
    volatile uint32_t *to;

    if (sink) {
        pipes_write(sink, n * PIPES_DIAGONAL);
        return;
    }
    to = chip_local(task_core(), NPU_MEM_L1, l1);
    for (unsigned r = 0; r < n; r++, to += PIPES_DIAGONAL * PIPES_DIAGONAL) {
        /* in each of two fractals a half */
        for (unsigned i = 0; i < FRACTAL_COLUMNS; i++) {
            to[i * (FRACTAL_COLUMNS + 1)] = of[r];
            to[SECOND + i * (FRACTAL_COLUMNS + 1)] = of[r];
        }
    }
}
