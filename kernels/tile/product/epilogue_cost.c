/* SPDX-License-Identifier: MIT
 *
 * A core's tiles from the Cube through the ring and the Vector to GM, pipe by pipe; see
 * product.h. What a tile takes on the Cube is the Matmul object's to say.
 */
#include "hal/chip.h"
#include "kernels/mm/inside.h"
#include "kernels/tile/product/product.h"

/* Instructions of the hart, about. */
enum {
    HART_TILE = 700,
    HART_LOAD = 400,
    HART_PRODUCTS = 330,
    HART_PIECE = 250,
    HART_COMMAND = 8,
    HART_MOVE = 100
};

enum { SLOTS = 2 /* of L0C */ };

struct flow {
    const struct epilogue_flow *f;
    uint64_t cube, fix, v, out, hart, of_hart;
    uint64_t c_free[SLOTS], ring_free[PLAN_RING], out_free[PLAN_RING];
    unsigned number; /* of pieces */
};

static uint64_t hart_of_tile(const struct epilogue_flow *f)
{
    const struct mm_tiling *t = &f->mm->tiling;
    uint32_t chunks = mm_count(f->mm->shape.k, t->k), halves = mm_count(t->n, t->columns);

    unsigned loads = t->a_stays || t->b_stays ? 1 : 2;

    return HART_TILE + chunks * (loads * HART_LOAD + halves * HART_PRODUCTS) +
           f->pieces * (HART_PIECE + f->commands * HART_COMMAND + f->moves * HART_MOVE);
}

/* What the Cube waits for in a tile, about: behind a slice of k that is shorter than the next
 * one MTE1 is not ready. */
static uint64_t unevenness(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t chunks = mm_count(mm->shape.k, t->k), halves = mm_count(t->n, t->columns);
    uint32_t lacks = mm_count(t->k, t->slice) * t->slice - t->k;
    uint64_t fractals = (uint64_t)(t->m / 16) * mm_count(t->columns, 16) * lacks;

    return chunks * halves * fractals / type_c0(mm->a.type) / 4;
}

/* A piece from L0C, where it is ready, to GM. */
static void piece(struct flow *w, uint64_t ready)
{
    const struct epilogue_flow *f = w->f;
    unsigned at = w->number++ % f->ring;
    uint64_t bytes = (uint64_t)f->rows * mm_up(f->mm->tiling.columns, 16) * MM_SUM_BYTES;

    w->fix = later(later(w->fix, ready), w->ring_free[at]);
    w->fix += chip_cost(COST_L0C_UB_FIXED) + bytes / chip_cost(COST_L0C_UB_RATE);
    w->v = later(later(w->v, w->fix), w->out_free[at]) + f->v;
    w->out = later(w->out, w->v) + f->out;
    w->out_free[at] = w->out;
    w->ring_free[at] = f->in_place ? w->out : w->v;
}

/* A tile whose columns are in one slot of L0C, or in both: the left ones are ready when the
 * last chunk of the right ones begins. */
static void tile(struct flow *w, uint32_t number, uint64_t cycles)
{
    const struct mm_tiling *t = &w->f->mm->tiling;
    unsigned halves = mm_count(t->n, t->columns), slot = halves == 1 ? number % SLOTS : 0;
    uint64_t chunk = cycles / mm_count(w->f->mm->shape.k, t->k) / halves;
    uint64_t begin = later(later(w->cube, w->c_free[slot]), w->hart),
             end = begin + cycles;

    if (halves > 1 && w->c_free[1] > begin + chunk) {
        end += w->c_free[1] - begin - chunk;
    }
    for (unsigned h = 0; h < halves; h++) {
        for (unsigned i = 0; i < w->f->pieces / halves; i++) {
            piece(w, end - (halves - 1 - h) * chunk);
        }
        w->c_free[slot + h] = w->fix;
    }
    w->cube = end;
    w->hart += w->of_hart;
}

uint64_t epilogue_span(const struct epilogue_flow *f, uint32_t tiles)
{
    enum { PERIOD = 32 }; /* of more tiles, the others are like the last of these */
    struct flow w = {.f = f, .of_hart = hart_of_tile(f)};
    uint64_t cycles = f->mm->tiling.cycles / tiles + unevenness(f->mm), half = 0;
    uint32_t first = tiles < PERIOD ? tiles : PERIOD;

    for (uint32_t i = 0; i < first; i++) {
        half = i == PERIOD / 2 ? w.out : half;
        tile(&w, i, cycles);
    }
    return w.out + (tiles > first ? (w.out - half) * (tiles - first) / (PERIOD / 2) : 0);
}
