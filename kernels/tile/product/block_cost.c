/* SPDX-License-Identifier: MIT
 *
 * What a core's blocks take, by the contract's costs: the pipes around the Vector run behind
 * each other within a block, and beside it but for the first block. See block.h.
 */
#include "hal/chip.h"
#include "hal/contract/cost.h"
#include "kernels/tile/product/block.h"

/* Instructions of the hart, about; cycles until the first load has come, and those of two
 * stages, one behind the other. */
enum {
    HART_STRETCH = 350,
    HART_TILE = 300,
    HART_PIECE = 600,
    START = 1500,
    SPILL = 6000
};
enum { FRACTAL = BLOCK_ROWS * BLOCK_ROWS };

/* A window of an operand from GM to L1, behind another one or alone. */
static uint64_t load_cycles(const struct mm_operand *o, uint32_t side, uint32_t k,
                            bool alone)
{
    uint32_t rows = o->transposed ? k : side, columns = o->transposed ? side : k;
    uint32_t rate = chip_cost(COST_ND2NZ_RATE), least = chip_cost(COST_GM_ROW_BYTES);
    uint64_t bytes = (uint64_t)side * k * esize_of(o->type);
    uint64_t cycles = cost_gm_rows(rows, columns * esize_of(o->type), least, rate);

    return !alone ? cycles + chip_cost(COST_ND2NZ_NEXT)
                  : later(cycles + chip_cost(COST_ND2NZ_FIXED),
                          chip_cost(COST_ND2NZ_FLOOR) +
                              bytes / chip_cost(COST_ND2NZ_FLOOR_RATE));
}

/* All loads of a block. One that waits for its slot begins anew, which takes so many of twenty
 * of them: most where b comes alone to one of two slots, few where there are more slots, some
 * where a, which comes before it, has waited. About, measured. */
enum { ALL = 20, MOST = 18, FEW = 4, SOME = 5 };

static uint64_t loads(const struct block_flow *f)
{
    const struct block_shape *s = f->s;
    const struct mm *mm = &f->p->mm;
    uint64_t chunks = (uint64_t)s->tiles * s->chunks, next, anew;
    unsigned share = !s->a_stays ? SOME : s->b_slots == BLOCK_SLOTS ? MOST : FEW;
    struct mm_operand b = mm->b;

    b.transposed = !b.transposed; /* its side is columns */
    next = load_cycles(&b, s->columns, s->chunk, false);
    anew = load_cycles(&b, s->columns, s->chunk, true) - next;
    return chunks * next + chunks * anew * share / ALL +
           (s->a_stays ? s->chunks : chunks) *
               load_cycles(&mm->a, s->rows, s->chunk, false);
}

/* What a block takes on each pipe, and the hart. */
struct busy {
    uint64_t mte2, mte1, m, hart;
};

static struct busy busy_of(const struct block_flow *f)
{
    const struct block_shape *s = f->s;
    const struct mm *mm = &f->p->mm;
    uint64_t k = mm->shape.k, n = round_up(mm->shape.n, BLOCK_ROWS), rows = s->rows;
    uint64_t esize = esize_of(mm->a.type), chunks = (uint64_t)s->tiles * s->chunks;
    uint64_t slices = chunks * s->slices;
    uint64_t pieces = div_up(rows, f->piece), fixed = chip_cost(COST_L1_L0_FIXED);
    struct busy busy;

    busy.mte2 = loads(f);
    busy.mte1 = slices * 2 * fixed +
                s->tiles * rows * k * esize / chip_cost(COST_L1_L0A_RATE) +
                n * k * esize / chip_cost(COST_L1_L0B_RATE) + pieces * s->tiles * fixed +
                rows * n * BLOCK_SUM_BYTES / chip_cost(COST_L1_UB_RATE);
    busy.m = slices * chip_cost(COST_MMAD_NEXT) + rows * n * k / FRACTAL / BLOCK_ROWS;
    busy.hart = s->tiles * (HART_TILE + (uint64_t)s->stretches * HART_STRETCH) +
                pieces * HART_PIECE;
    return busy;
}

/* What the Vector waits for the Cube, and that for it, where there are no more cells than one
 * block takes: about a quarter of the time for the rows of a cell. */
static uint64_t tightness(const struct block_flow *f)
{
    const struct block_shape *s = f->s;
    uint32_t spare = s->cells - s->tiles * (s->rows / s->cell_rows);

    return spare < s->tiles ? f->v * s->cell_rows / f->piece / 4 : 0;
}

uint64_t block_span(const struct block_flow *f)
{
    struct busy busy = busy_of(f);
    uint64_t pieces = div_up(f->s->rows, f->piece), v = pieces * f->v + tightness(f);
    uint64_t slice = chip_cost(COST_MMAD_FIRST);
    uint64_t cube = later(later(busy.mte1, busy.m), later(busy.mte2, busy.hart));

    return START + slice + f->out + later(cube + f->blocks * v, f->blocks * cube + v);
}

uint64_t block_spilled(const struct block_flow *f)
{
    struct busy busy = busy_of(f);
    uint64_t pieces = div_up(f->s->rows, f->piece);

    return SPILL + f->blocks * (busy.m + pieces * f->v);
}
