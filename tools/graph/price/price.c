/* SPDX-License-Identifier: MIT
 *
 * What a step of copies takes on one core, by the plan of kernels/move and the contract's
 * prices of its commands: loads, transposing and stores of tiles overlap, and the hart issues
 * them all.
 */
#include "hal/contract/cost.h"
#include "hal/mte.h"
#include "kernels/move/inside.h"
#include "kernels/tile/cost/cost.h"
#include "tools/graph/price/trial.h"

#include <string.h>

enum {
    LOOKED_AT = 2048, /* tiles of a copy, at most */
    /* Instructions of the hart, counted in runs of single steps: queues and commands of a tile
     * (165 of them in move_kernel, 75 to issue, 75 for where it lies); of one that is filled; of
     * a command that transposes. */
    HART_TILE = 316,
    HART_TRANSPOSE = 530, /* of a tile that is transposed, more */
    HART_FILL = 110,
    HART_COMMAND = 2,
    HART_BUILD = 180, /* of one that has to be built */
    /* Not counted, but fitted: of one that interleaves; of a step that transposes, its second
     * queue. */
    HART_PAIRS = 40,
    HART_QUEUE = 300,
    PATTERN = 970, /* cycles until what fills is there */
};

/* When each has done what it has been given; of the last two tiles, when their buffers are
 * free again. */
struct pipes {
    double hart, in, v, out, in_free[MOVE_BUFFERS], out_free[MOVE_BUFFERS];
    unsigned n;
    bool pattern;
    uint32_t a[MOVE_BUFFERS],
        b[MOVE_BUFFERS]; /* of the tiles that commands are built for */
};

/* What rows take longer that begin between two lines of L2. Places in a line come again, after as
 * many rows as a line has bytes at the latest. */
static double between_lines(uintptr_t at, const struct mte_rows *rows, uint32_t percent,
                            uint32_t rate)
{
    uint32_t step = rows->gm_pitch_bytes ? rows->gm_pitch_bytes : rows->row_bytes;
    uint32_t part = step & -step;
    uint32_t again = part && part < L2_LINE_BYTES ? L2_LINE_BYTES / part : 1;
    uint64_t slow = 0;

    for (uint32_t r = 0; r < rows->n_rows && r < again && percent; r++) {
        uint64_t times = (rows->n_rows - r + again - 1) / again;
        slow += times * cost_gm_unaligned(at + (uint64_t)r * step, rows->row_bytes);
    }
    return (double)slow * percent / 100 / rate;
}

static double greatest(double a, double b)
{
    return a > b ? a : b;
}

/* What the Vector has to do for a tile. */
static double transposing(struct tile_costs *c, const struct move_job *j,
                          const struct move_tile *t, unsigned *commands)
{
    static struct move_record record;
    double v = 0;

    record.n = 0;
    move_squares(j, t, 0, MOVE_BUFFERS * MOVE_SLOT, &record);
    for (unsigned i = 0; i < record.n; i++) {
        v += (double)tile_cost(c, &record.cmd[i]);
    }
    *commands = record.n;
    return v;
}

static void add_tile(struct pipes *p, struct tile_costs *c, const struct move_job *j,
                     uint64_t unit)
{
    struct move_tile t = move_tile(j, unit);
    struct mte_rows in = move_rows_in(j, &t), out = move_rows_out(j, &t);
    unsigned buffer = p->n % MOVE_BUFFERS, commands = 0;
    double *in_free = &p->in_free[buffer], *out_free = &p->out_free[buffer], store, v = 0;
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, NULL, 0, &out);
    store = (double)tile_cost(c, &cmd) +
            between_lines((uintptr_t)t.y, &out, c->unaligned, c->out_rate);
    p->hart += HART_FILL + (j->x || p->pattern ? 0 : PATTERN);
    p->pattern |= !j->x;
    if (j->x) {
        mte_gm_to_ub_rows(&cmd, 0, NULL, &in);
        p->hart =
            greatest(p->hart + HART_TILE - HART_FILL, *in_free); /* it waits for room */
        p->in = greatest(p->in, p->hart) + (double)tile_cost(c, &cmd) +
                between_lines((uintptr_t)t.x, &in, c->unaligned, c->in_rate);
        p->out = greatest(p->out, p->in);
    }
    if (j->transposes) {
        v = transposing(c, j, &t, &commands);
        p->hart += HART_TRANSPOSE;
        if (p->a[buffer] != t.a || p->b[buffer] != t.b) {
            p->hart += (j->interleaves ? HART_PAIRS : HART_BUILD) * commands;
            p->a[buffer] = t.a;
            p->b[buffer] = t.b;
        }
        p->hart = greatest(p->hart + HART_COMMAND * commands, *out_free);
        p->v = greatest(greatest(p->v, p->hart), p->in) + v;
        p->out = greatest(p->out, p->v);
        *in_free = p->v;
    }
    p->out = greatest(p->out, p->hart) + store;
    *out_free = p->out;
    *in_free = j->transposes ? *in_free : p->out;
    p->n++;
}

uint64_t trial_copies(const struct move *moves, unsigned n)
{
    struct pipes p = {0};
    struct tile_costs costs;

    tile_costs_init(&costs);
    for (unsigned i = 0; i < n; i++) {
        struct move_job job;
        uint64_t looked_at;
        double more, begin = greatest(p.out, p.hart);
        if (moves[i].esize == 0) {
            return 0; /* of a type that the machine has not: no plan is written */
        }
        move_plan(&moves[i], n == 1, &job);
        p.hart += i == 0 && job.transposes ? HART_QUEUE : 0;
        looked_at = job.units < LOOKED_AT ? job.units : LOOKED_AT;
        for (uint64_t k = 0; k < looked_at; k++) {
            add_tile(&p, &costs, &job, k);
        }
        more = (double)(job.units - looked_at) / (double)looked_at * (p.out - begin);
        p.hart += more;
        p.in += more;
        p.v += more;
        p.out += more;
    }
    return (uint64_t)greatest(p.out, p.hart) + TRIAL_STEP;
}
