/* SPDX-License-Identifier: MIT
 *
 * Rows that L1 does not hold: how they are cut, where what is, their cycles; see spill.h.
 */
#include "kernels/tile/softmax/spill.h"

#include "hal/contract/cost.h"
#include "hal/mte.h"
#include "kernels/lib/share.h"

enum {
    CHUNK_STEP = SPILL_PIECES * SPILL_UNIT,
    ESIZE = sizeof(float),
    MOST = 192, /* chunks that are played; those of them that tell what more take */
    MORE = 64,
};

/* --- how rows are cut --- */

/* Where things are in UB, behind one another; the next free byte. */
static uint32_t place_first(struct spill_plan *s)
{
    uint32_t at = SPILL_BUFFERS * spill_bytes(s);

    for (unsigned i = 0, n = s->chunk; i < 2; i++) {
        n = div_up(n, VEC_BLOCKS);
        s->part[i] = at;
        at += (uint32_t)round_up(n * ESIZE, REPEAT_BYTES);
    }
    s->most = at;
    return at + SPILL_MOSTS * SPILL_MOST * ESIZE;
}

static uint32_t take(uint32_t *at, uint32_t numbers)
{
    uint32_t here = *at;

    *at += (uint32_t)round_up(numbers * ESIZE, REPEAT_BYTES);
    return here;
}

static uint32_t place_second(struct spill_plan *s)
{
    uint32_t at = SPILL_SCALED * spill_bytes(s), n = s->per_row;

    s->sums = take(&at, n * (SPILL_SUMS + 1));
    s->apart = s->sums + n * SPILL_SUMS * ESIZE;
    s->of_blocks = take(&at, n * SPILL_SUMS / VEC_BLOCKS);
    s->of_chunks = take(&at, n);
    s->weighted = take(&at, n);
    s->total = take(&at, n);
    return at;
}

static bool cut(struct rows_plan *p)
{
    struct spill_plan *s = p->spill;
    uint32_t half = chip_mem(NPU_MEM_L0A) / SPILL_PIECES, ub = chip_mem(NPU_MEM_UB);

    s->chunk = SPILL_PIECES * half / ESIZE;
    while (s->chunk && place_first(s) > ub) {
        s->chunk -= CHUNK_STEP;
    }
    while (s->chunk && p->n % s->chunk && p->n % s->chunk < SPILL_LEAST) {
        s->chunk -= CHUNK_STEP; /* or the last one had no two pieces */
    }
    if (p->n < ROWS_MOST || p->n % SPILL_STEP || s->chunk == 0) {
        return false;
    }
    (void)place_first(s);
    s->per_row = div_up(p->n, s->chunk);
    s->slots = (chip_mem(NPU_MEM_L1) - (SPILL_DIAGONALS + 1) * PIPES_DIAGONAL_BYTES) /
               spill_bytes(s) / SPILL_TOGETHER * SPILL_TOGETHER;
    return s->slots >= SPILL_BUFFERS && s->per_row >= SPILL_ROW_LEAST &&
           s->per_row <= SPILL_ROW_MOST && place_second(s) <= ub &&
           p->rows * s->per_row >= SPILL_WORTH;
}

unsigned spill_units(const struct spill_plan *s, unsigned sem, bool end)
{
    switch (sem) {
    case SPILL_X_FREE:
        return SPILL_PIECES * (end ? SPILL_SCALED : SPILL_BUFFERS);
    case SPILL_L1_FREE:
        return SPILL_PIECES * s->slots;
    case SPILL_ADDED_FREE:
        return end ? 0 : 1;
    case SPILL_E_FREE:
        return end ? SPILL_PIECES : 1;
    case SPILL_SUM_FREE:
    case SPILL_Y_FREE:
        return SPILL_PIECES;
    case SPILL_DIAGONAL_FREE:
        return SPILL_DIAGONALS;
    default:
        return 0;
    }
}

/* --- the plan --- */

static void price(struct spill_plan *s)
{
    uint64_t bytes = spill_bytes(s), rate = chip_cost(COST_L0C_GM_RATE);
    uint64_t out = chip_cost(COST_L0C_GM_OUT_RATE);

    rate = out && out < rate ? out : rate;
    s->by_fix = (uint32_t)cost_cycles(0, bytes, rate, 0);
    s->by_mte3 = (uint32_t)cost_cycles(chip_cost(COST_UB_GM_FIXED), bytes,
                                       chip_cost(COST_UB_GM_RATE), 0);
}

bool spill_plan(struct rows_plan *p, struct tile_arena *arena)
{
    struct spill_plan *s = tile_alloc(arena, sizeof(*s));
    uint64_t chunks;

    p->spill = s;
    if (s == NULL || !cut(p)) {
        p->spill = NULL;
        return false;
    }
    chunks = p->rows * s->per_row;
    price(s);
    s->core = tile_alloc(arena, p->stage.cores * sizeof(*s->core));
    s->row_numbers = (uint32_t)round_up(s->per_row * (SPILL_SUMS + 1), SPILL_SUMS);
    s->number = tile_alloc(arena, p->rows * s->row_numbers * sizeof(*s->number));
    if (!s->core || !s->number) {
        p->spill = NULL;
        return false;
    }
    for (unsigned c = 0; c < p->stage.cores; c++) {
        struct spill_core *core = &s->core[c];
        core->begin = share_begin(chunks, 1, c, p->stage.cores);
        core->chunks = (uint32_t)(share_begin(chunks, 1, c + 1, p->stage.cores) - core->begin);
        spill_build(p, core);
    }
    return true;
}

/* Addresses in GM of the call; all that they are changed to lie behind them. */
static void set_addresses(const struct rows_plan *p, struct spill_core *core)
{
    core->seq[SPILL_LOAD].cmds->copy_in.src = (uintptr_t)p->x;
    core->seq[SPILL_LOAD_E].cmds->copy_in.src = (uintptr_t)p->y;
    core->seq[SPILL_STORE].cmds->copy_out.dst = (uintptr_t)p->y;
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        core->seq[SPILL_FIX].cmds[i].fix_gm.dst = (uintptr_t)p->y;
    }
}

int spill_bind(struct rows_plan *p, struct sched_report *report)
{
    int err = 0;

    for (unsigned c = 0; c < p->stage.cores; c++) {
        struct spill_core *core = &p->spill->core[c];
        set_addresses(p, core);
        for (unsigned i = 0; i < SPILL_PUSHES && !err; i++) {
            struct sequence *s = &core->seq[i];
            err = s->checked == s->cmds
                      ? 0
                      : sequence_check(s, report->text, sizeof(report->text));
        }
    }
    return err;
}

/* --- cycles --- */

static struct tile_cycles simulate_chunks(const struct rows_plan *p, uint32_t chunks)
{
    static struct spill_core core;
    static struct pipes pipes;

    spill_build(p, &core);
    core.begin = 0;
    core.chunks = chunks;
    pipes_begin(&pipes);
    for (unsigned sem = 0; sem < SPILL_SEMS; sem++) {
        pipes_post(&pipes, sem, spill_units(p->spill, sem, false));
    }
    spill_first(p, &core, &pipes);
    spill_second(p, &core, &pipes);
    return pipes_cycles(&pipes);
}

struct tile_cycles spill_predict(struct rows_plan *p)
{
    uint32_t chunks = 0;
    struct tile_cycles c, less;

    for (unsigned i = 0; i < p->stage.cores; i++) {
        uint32_t n = p->spill->core[i].chunks;
        chunks = chunks < n ? n : chunks;
    }
    c = simulate_chunks(p, min_u32(chunks, MOST));
    if (chunks > MOST) {
        less = simulate_chunks(p, MOST - MORE);
        pipes_more(&c, &less, chunks - MOST, MORE);
    }
    return c;
}
