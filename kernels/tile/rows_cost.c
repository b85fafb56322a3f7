/* SPDX-License-Identifier: MIT
 *
 * What long rows take, from the contract's costs: the pushes of the core that has most of
 * them, pipe by pipe in their order, with their semaphores; see rows.h. Where chunks are
 * many, the rest takes as long as the groups before.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/contract/cost.h"
#include "hal/mte.h"
#include "kernels/tile/rows.h"

enum {
    UNITS = 64,     /* of a semaphore at one time */
    HART_PUSH = 50, /* instructions of the hart, about */
    HART_DIAGONAL = 80,
    HART_WAKE = 300, /* likewise, until it has what it has waited for */
    GROUPS = 6,
    MORE = 2, /* that are played; those of them that tell what one more takes */
};

/* When the units of a semaphore were posted, oldest first. */
struct posted {
    uint64_t at[UNITS];
    unsigned first, n;
};

struct simulation {
    struct tile_costs costs;
    uint64_t free[NPU_PIPES], busy[NPU_PIPES], hart;
    struct posted sem[ROWS_SEMS];
};

static void post(struct simulation *s, unsigned sem, unsigned n, uint64_t at)
{
    struct posted *p = &s->sem[sem];

    while (n--) {
        p->at[(p->first + p->n++) % UNITS] = at;
    }
}

static uint64_t take(struct simulation *s, unsigned sem, unsigned n)
{
    struct posted *p = &s->sem[sem];
    uint64_t at = 0;

    while (n--) {
        at = later(at, p->at[p->first]);
        p->first = (p->first + 1) % UNITS;
        p->n--;
    }
    return at;
}

static uint64_t fill_cycles(uint64_t bytes, enum npu_cost rate)
{
    return cost_cycles(chip_cost(COST_L1_L0_FIXED), bytes, chip_cost(rate), 0);
}

/* Of y, which has as many bytes in L0C as in GM. */
static uint64_t out_cycles(const union cmd *cmd, bool late)
{
    uint32_t bytes = 64u * cmd->fix_gm.m, out = chip_cost(COST_L0C_GM_OUT_RATE);
    uint64_t least = later(chip_cost(COST_L0C_GM_LEAST), out ? div_up(bytes, out) : 0);

    return cost_cycles(late ? chip_cost(COST_L0C_GM_FIXED) : 0, bytes,
                       chip_cost(COST_L0C_GM_RATE), least);
}

/* Of commands that tile_cost() does not know; `late`: the one before has ended earlier. */
static uint64_t cost(struct simulation *s, const union cmd *cmd, bool late)
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
               cmd->mmad.m / 16 * div_up(cmd->mmad.k, VEC_BLOCKS) * 2;
    case OP_FIX_L0C_UB:
        return cost_cycles(chip_cost(COST_L0C_UB_FIXED), 64ull * cmd->fix_local.m,
                           chip_cost(COST_L0C_UB_RATE), 0);
    case OP_FIX_L0C_GM:
        return out_cycles(cmd, late);
    default:
        return tile_cost(&s->costs, cmd);
    }
}

static void simulate_push(void *arg, const struct sequence *q, const union cmd *cmds,
                          unsigned n)
{
    struct simulation *s = arg;

    s->hart += HART_PUSH;
    for (unsigned i = 0; i < n; i++) {
        const struct cmd_head *h = &cmds[i].head;
        uint64_t was = s->free[q->pipe], at = later(was, s->hart), takes;
        for (unsigned j = 0; j < 2; j++) {
            at = later(at, take(s, h->wait_sem[j], h->wait_n[j]));
        }
        takes = cost(s, &cmds[i], at > was);
        s->busy[q->pipe] += takes;
        s->free[q->pipe] = at + takes;
        for (unsigned j = 0; j < 2; j++) {
            post(s, h->post_sem[j], h->post_n[j], at + takes);
        }
    }
}

static void simulate_read(void *arg, enum rows_sem sem, uint32_t *to, unsigned n)
{
    struct simulation *s = arg;

    s->hart = later(s->hart, take(s, sem, 1) + HART_WAKE);
    memset(to, 0, n * sizeof(*to));
}

static void simulate_diagonal(void *arg, unsigned n)
{
    struct simulation *s = arg;

    s->hart += n * HART_DIAGONAL;
}

static struct tile_cycles simulate_chunks(struct rows_plan *p, uint32_t chunks)
{
    static struct rows_core core;
    static struct simulation s;
    const struct rows_sink sink = {simulate_push, simulate_read, simulate_diagonal, &s};
    uint64_t end = 0;

    memset(&s, 0, sizeof(s));
    tile_costs_init(&s.costs);
    rows_build(p, &core);
    core.begin = 0;
    core.chunks = chunks;
    for (unsigned sem = 0; sem < ROWS_SEMS; sem++) {
        post(&s, sem, rows_units(p, sem), 0);
    }
    rows_steps(p, &core, &sink);
    for (unsigned i = 0; i < NPU_PIPES; i++) {
        end = later(end, s.free[i]);
    }
    return (struct tile_cycles){end, s.busy[PIPE_V], s.busy[PIPE_MTE2],
                                s.busy[PIPE_MTE3]};
}

static void add_more(uint64_t *to, uint64_t less, uint64_t chunks, uint64_t more)
{
    *to += (*to - less) * chunks / more;
}

struct tile_cycles rows_predict(struct rows_plan *p)
{
    uint32_t chunks = 0, most = p->group * GROUPS, of = p->group * MORE;
    struct tile_cycles c, less;

    for (unsigned i = 0; i < p->cores; i++) {
        chunks = chunks < p->core[i].chunks ? p->core[i].chunks : chunks;
    }
    c = simulate_chunks(p, chunks < most ? chunks : most);
    if (chunks > most) {
        less = simulate_chunks(p, most - of);
        add_more(&c.span, less.span, chunks - most, of);
        add_more(&c.v, less.v, chunks - most, of);
        add_more(&c.mte2, less.mte2, chunks - most, of);
        add_more(&c.mte3, less.mte3, chunks - most, of);
    }
    return c;
}
