/* SPDX-License-Identifier: MIT
 *
 * What a program takes that runs once. The planner says what its commands take when the hart
 * has them all; of a step of a plan it first has to look at them, and to record those of the
 * Matmul object, which finds them again if the product before it was the same. Meanwhile the
 * pipes have only what was pushed.
 */
#include "hal/chip.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "kernels/mm/room.h"
#include "kernels/tile/convolution/windows.h"
#include "kernels/tile/product/block.h"
#include "tools/graph/price/cold.h"

#include <string.h>

/* Instructions of the hart, counted in runs of single steps: to issue, and what is more of a
 * command that it does for the first time. Of products those of a chunk are one push. */
enum {
    LOAD = 300,
    LOAD_NEW = 130,
    PRODUCTS = 170,
    PRODUCTS_NEW = 950,
    SLICE_NEW = 110,
    SIZE_NEW = 300, /* of a tile of another size */
    TILE = 300,
    OUT = 300,
    OUT_NEW = 650,
    ADD = 280, /* to what a part of k before it has left */
    MOVE = 200,
    MOVE_NEW = 300,
    STORE = 110,
    STORE_NEW = 360,
    PIECE = 120,
    PIECE_NEW = 180,
    COMMAND = 8,
    COMMAND_NEW = 172,
    BLOCK_NEW = 1500,
    ROOM_NEW = 2100,   /* memory for what an object records, which is cleared; */
    ROOM_BYTES_NEW = 900, /* each MM_BLOCK_BYTES more */
};

/* The product or the convolution that a stage is; NULL: it is neither. */
static struct product *sums_of(const struct tile_plan *t)
{
    return t->kind == &product_kind || t->kind == &windows_kind ? tiles_of(t)->product
                                                                : NULL;
}

/* Cycles of a program on cores that stay besides: it begins, and all wait for its end. */
enum {
    BEGIN = 1950,
    BEGIN_PRODUCT = 1300,
    BEGIN_EPILOGUE = 2600,
    EPILOGUE = BEGIN_EPILOGUE - BEGIN_PRODUCT,
    FIRST_LOAD = 700
};

enum { LOADED = 13 /* tenths of what loads take alone, with waits for slots of L1 */ };
enum { LOAD_BYTES = 13 << 10 /* that a command brings, about */ };
enum { TILES = 64 /* looked at */, SEEN = 192 };
enum { SIZE = MM_KINDS /* what products of a size of tile have in common */ };

struct flow {
    const struct tile_plan *t;
    const struct mm *mm;
    struct mm_cursor at;
    bool recorded;
    struct mm_key seen[SEEN];
    unsigned n_seen, l0, c; /* c: slots of L0C that tiles have had */
    uint64_t mte2, bytes, loads; /* of a and b */
    uint64_t kept;               /* bytes that are recorded */
    uint64_t cube, fix, v, out, hart; /* hart: of a core's, an instruction a cycle */
    uint64_t c_free[MM_C_SLOTS], ring_free[PLAN_RING], out_free[PLAN_RING];
    uint64_t of_v, of_out; /* of a piece */
    unsigned number;       /* of pieces */
};

/* Whether the hart has not done that yet. */
static bool is_new(struct flow *w, const struct mm_key *key)
{
    for (unsigned i = 0; i < w->n_seen; i++) {
        if (memcmp(&w->seen[i], key, sizeof(*key)) == 0) {
            return false;
        }
    }
    if (w->n_seen < SEEN) {
        w->seen[w->n_seen++] = *key;
    }
    return !w->recorded;
}

/* --- the Cube --- */

static void load(struct flow *w, bool a)
{
    const struct mm_cursor *at = &w->at;
    const struct mm_operand *o = a ? &w->mm->a : &w->mm->b;
    uint32_t rows = a ? at->mt : at->nt, k = a ? mm_a_k(w->mm, at) : at->kt;
    struct mm_key key = {
        .kind = a ? MM_LOAD_A : MM_LOAD_B,
        .a = (uint16_t)(a ? mm_a_slot(w->mm, at)
                          : (at->b + at->chunk) % w->mm->tiling.b_slots),
        .mt = (uint16_t)rows,
        .kt = (uint16_t)k};
    uint64_t bytes = (uint64_t)rows * k * type_bits(o->type) / 8;

    w->hart += LOAD + (is_new(w, &key) ? LOAD_NEW : 0);
    w->bytes += bytes;
    w->loads++;
    w->mte2 += o->in_rows
                   ? chip_cost(COST_GM_L1_FIXED) + bytes / chip_cost(COST_GM_L1_RATE)
                   : chip_cost(COST_ND2NZ_NEXT) + bytes / chip_cost(COST_ND2NZ_RATE);
}

/* Those of columns from piece `first` on, of `all`: recorded by what kernels/mm/record.c does. */
static void push_products(struct flow *w, uint32_t first, uint32_t n, uint32_t all)
{
    const struct mm *mm = w->mm;
    const struct mm_cursor *at = &w->at;
    uint32_t slices = mm_count(at->kt, mm->tiling.slice), left = first == 0,
             right = first + n == all, slot = mm_in_halves(&mm->tiling) ? 0 : w->c;
    struct mm_key key = {
        .kind = MM_PRODUCTS,
        .a = (uint16_t)mm_a_slot(mm, at),
        .b = (uint16_t)((at->b + at->chunk) % mm->tiling.b_slots),
        .c = (uint8_t)((slot + first) % MM_C_SLOTS),
        .l0 = (uint8_t)(w->l0 % MM_L0_SLOTS),
        .mt = (uint16_t)at->mt,
        .nt = (uint16_t)at->nt,
        .kt = (uint16_t)at->kt,
        .a_begin = (uint16_t)mm_a_begin(mm, at),
        .first = (uint16_t)first,
        .flags = (uint16_t)((at->chunk == 0) | (at->chunk + 1 == at->chunks) << 1 |
                            (left && mm_a_first(mm, at)) << 2 |
                            (right && mm_a_last(mm, at)) << 3 |
                            (left && at->b_first) << 4 | (right && at->b_last) << 5)};
    struct mm_key size = {.kind = SIZE,
                          .mt = (uint16_t)at->mt,
                          .nt = (uint16_t)mm_min(at->nt, mm->tiling.columns)};

    if (is_new(w, &key)) {
        w->hart += PRODUCTS_NEW + SLICE_NEW * n * slices;
        w->kept += sizeof(struct mm_recording) + 3 * n * slices * sizeof(union cmd);
        w->hart += is_new(w, &size) ? SIZE_NEW : 0;
    }
    w->hart += PRODUCTS;
    w->l0 += n * slices;
}

/* A chunk; where the hart is when its first products are pushed. */
static uint64_t chunk(struct flow *w)
{
    const struct mm *mm = w->mm;
    uint32_t all = mm_columns(mm, w->at.nt), group = w->at.chunks == 1 ? mm->group : 1;
    uint64_t first = 0;

    if (w->at.a_first && (!mm->tiling.a_whole || w->at.chunk == 0)) {
        load(w, true);
    }
    if (w->at.b_first) {
        load(w, false);
    }
    for (uint32_t i = 0; i < all; i += group) {
        push_products(w, i, mm_min(group, all - i), all);
        first = first ? first : w->hart - PRODUCTS;
    }
    return first;
}

/* --- behind it --- */

/* A piece whose sums are ready, at a place of the ring. */
static void piece(struct flow *w, uint64_t ready)
{
    const struct tile_plan *t = w->t;
    const struct order *o = &tiles_of(t)->order;
    unsigned ring = tiles_of(t)->way.ring, at = w->number % ring;
    bool anew = w->number < ring;
    uint64_t bytes =
        (uint64_t)w->mm->ring.rows * mm_up(w->mm->tiling.columns, 16) * MM_SUM_BYTES;

    w->fix = later(later(w->fix, ready), w->ring_free[at]);
    w->fix += chip_cost(COST_L0C_UB_FIXED) + bytes / chip_cost(COST_L0C_UB_RATE);
    w->hart += PIECE + COMMAND * tiles_of(t)->n_body;
    w->hart += anew ? PIECE_NEW + COMMAND_NEW * tiles_of(t)->n_body : 0;
    w->v = later(later(w->v, w->fix), later(w->out_free[at], w->hart)) + w->of_v;
    w->hart += (STORE + (w->number == 0 ? STORE_NEW : 0)) * o->n_stores;
    w->out = later(later(w->out, w->v), w->hart) + w->of_out;
    w->out_free[at] = w->out;
    w->ring_free[at] = w->v;
    w->number++;
}

static unsigned pieces_of(const struct mm *mm)
{
    return mm->ring.rows ? mm_count(mm->tiling.m, mm->ring.rows) : 1;
}

/* A tile's way out; its last chunk takes `last` cycles, of which columns on the left are ready
 * before. */
static void leave(struct flow *w, uint64_t end, uint64_t last, bool first)
{
    const struct mm *mm = w->mm;
    unsigned halves = mm_columns(mm, w->at.nt);
    unsigned n = mm->ring.rows ? mm_count(w->at.mt, mm->ring.rows) : 0;

    w->hart += OUT + (first ? OUT_NEW : 0) + (w->at.part ? ADD : 0);
    if (!n) {
        w->out = w->fix =
            later(later(w->fix, end), w->hart) +
            (uint64_t)w->at.mt * w->at.nt * MM_SUM_BYTES / chip_cost(COST_L0C_GM_RATE);
        return;
    }
    w->hart += (uint64_t)(tiles_of(w->t)->order.n_loads - 1) *
               (MOVE * n * halves + (first ? MOVE_NEW : 0));
    for (unsigned i = 0; i < n * halves; i++) {
        piece(w, end - (halves - 1 - i / n) * last);
    }
}

static void tile(struct flow *w, uint64_t cycles, unsigned number)
{
    const struct mm *mm = w->mm;
    unsigned halves = mm_columns(mm, w->at.nt), slot = halves == 1 ? number % MM_C_SLOTS : 0;
    uint64_t begin = 0, last, end;

    cycles = cycles * w->at.mt / mm->tiling.m * w->at.nt / mm->tiling.n;
    last = cycles / w->at.chunks / halves;
    for (;;) {
        uint64_t pushed = chunk(w);
        begin = begin ? begin : pushed + (number == 0 ? FIRST_LOAD : 0);
        if (w->at.chunk + 1 == w->at.chunks) {
            break;
        }
        mm_step(mm, &w->at);
    }
    end = later(w->cube, later(w->c_free[slot], begin)) + cycles;
    end = later(end, w->hart + last);
    w->hart += TILE;
    leave(w, end, last, number == 0);
    w->c_free[slot] = w->fix;
    if (halves > 1) {
        w->c_free[1] = w->fix;
    }
    w->c += halves;
    w->cube = end;
}

/* What a step has to load for products, and the hart to record. */
struct loads {
    uint64_t mte2, bytes, n, kept;
};

/* All tiles of the first core, which has no fewer than another. */
static uint64_t product(const struct tile_plan *t, unsigned cores, bool recorded,
                        struct loads *loads)
{
    static struct flow w;
    uint32_t shares = mm_blocks(&sums_of(t)->mm, cores);
    uint32_t tiles = mm_count(sums_of(t)->mm.tiles, shares);
    uint32_t looked_at = tiles < TILES ? tiles : TILES;
    struct mm mm = sums_of(t)->mm;
    uint64_t pieces = (uint64_t)tiles * product_times(sums_of(t)) * pieces_of(&mm) *
                      mm_columns(&mm, mm.tiling.n);

    w = (struct flow){.t = t, .mm = &mm, .recorded = recorded};
    w.of_v = t->predicted.v / pieces;
    w.of_out = t->predicted.mte3 / pieces;
    mm.tile_end = tiles;
    mm.step = 1;
    mm_seek(&mm, &w.at, 0, 0);
    for (uint32_t i = 0; i < looked_at; i++) {
        tile(&w, mm.tiling.cycles / tiles, i);
        if (i + 1 < looked_at) {
            mm_step(&mm, &w.at);
        }
    }
    loads->mte2 += w.mte2 * tiles / looked_at * product_times(sums_of(t));
    loads->bytes += w.bytes;
    loads->n += w.loads;
    loads->kept += w.kept;
    return later(w.out, w.hart) * tiles / looked_at * product_times(sums_of(t));
}

/* --- stages --- */

/* The product whose commands the object then has; 0: none. */
static uint64_t records(const struct tile_plan *t)
{
    const struct mm *mm = &sums_of(t)->mm;

    return mm->tiles * mm_count(mm->shape.k, mm->tiling.k) <= MM_ONCE * mm->parts
               ? 0
               : mm->folded;
}

/* What the hart does for the first time for whole rows of a product, for which the pipes wait: the
 * Cube's commands, and the Vector's at each place of the ring. */
static uint64_t block_anew(const struct tile_plan *t)
{
    uint32_t pieces = mm_count(sums_of(t)->mm.shape.m, sums_of(t)->block->piece);
    unsigned places = pieces < tiles_of(t)->way.ring ? pieces : tiles_of(t)->way.ring;

    return BLOCK_NEW + places * (PIECE_NEW + (uint64_t)COMMAND_NEW * tiles_of(t)->n_body);
}

static uint64_t stage(const struct tile_plan *t, unsigned cores, struct cold_kept *kept,
                      struct loads *loads)
{
    uint64_t of = 0, span = t->predicted.span;

    if (sums_of(t) && sums_of(t)->block) {
        span += block_anew(t);
    } else if (sums_of(t)) {
        of = records(t);
        span = later(span, product(t, cores, of && of == kept->of, loads));
        kept->room += ROOM_NEW + (of ? loads->kept / MM_BLOCK_BYTES * ROOM_BYTES_NEW : 0);
    }
    kept->of = sums_of(t) ? of : kept->of;
    return span;
}

const char *cold_busiest(const struct tile_plan *plan, uint64_t *cycles)
{
    struct {
        const char *name;
        uint64_t busy;
    } pipe[] = {{"V", 0}, {"MTE2", 0}, {"MTE3", 0}, {"the Cube", 0}}, *most = pipe;

    for (const struct tile_plan *t = plan; t; t = t->next) {
        pipe[0].busy += t->predicted.v;
        pipe[1].busy += t->predicted.mte2;
        pipe[2].busy += t->predicted.mte3;
        pipe[3].busy +=
            sums_of(t) ? sums_of(t)->mm.tiling.cycles * product_times(sums_of(t)) : 0;
    }
    for (unsigned i = 1; i < sizeof(pipe) / sizeof(pipe[0]); i++) {
        most = pipe[i].busy > most->busy ? &pipe[i] : most;
    }
    *cycles = most->busy;
    return most->name;
}

/* What the missing part of loads takes besides: it comes as much later as HBM answers later. */
static uint64_t cold(uint64_t bytes, const struct loads *loads)
{
    uint64_t miss = chip_cost(COST_L2_MISS),
             n = loads->n ? bytes * loads->n / loads->bytes + 1 : 0;

    return n * miss +
           bytes * miss / chip_cost(COST_GM_L1_FIXED) / chip_cost(COST_ND2NZ_RATE);
}

/* The same of a program without a product, whose commands bring LOAD_BYTES, about. */
static uint64_t cold_rows(uint64_t bytes)
{
    return (bytes + LOAD_BYTES - 1) / LOAD_BYTES * chip_cost(COST_L2_MISS);
}

/* A stage, of whose loads `missing` bytes are not in L2. */
static uint64_t stage_cold(const struct tile_plan *t, unsigned cores,
                           struct cold_kept *kept, uint64_t missing)
{
    struct loads loads = {0};
    uint64_t cycles = stage(t, cores, kept, &loads), more, miss = chip_cost(COST_L2_MISS);

    if (!sums_of(t)) {
        return cycles;
    }
    more = cold(missing, &loads);
    return later(cycles + (more < miss ? more : miss), loads.mte2 * LOADED / 10 + more);
}

/* Bytes of b, which is most of what misses L2, of a stage; 0: it is no product. */
static uint64_t bytes_of_b(const struct tile_plan *t)
{
    const struct mm *mm = sums_of(t) ? &sums_of(t)->mm : NULL;

    return mm ? (uint64_t)mm->shape.k * mm->shape.n * type_bits(mm->b.type) / 8 *
                    product_times(sums_of(t))
              : 0;
}

uint64_t cold_cycles(const struct tile_plan *plan, unsigned cores,
                     const struct cold_misses *misses, struct cold_kept *kept)
{
    const struct tile_plan *before = plan;
    unsigned shares = plan->cores ? plan->cores : 1;
    uint64_t all = 0, bytes = misses->bytes / shares, cycles;

    for (const struct tile_plan *t = plan; t; t = t->next) {
        all += bytes_of_b(t);
    }
    kept->room = 0;
    cycles = stage_cold(plan, cores, kept, all ? bytes * bytes_of_b(plan) / all : 0);
    if (sums_of(plan)) {
        cycles += sums_of(plan)->epilogue ? BEGIN_EPILOGUE : BEGIN_PRODUCT;
        cycles += misses->unaligned / shares;
    } else {
        cycles = later(cycles, later(plan->predicted.span, plan->predicted.mte2) +
                                   misses->unaligned / shares + (all ? 0 : cold_rows(bytes)));
        cycles += BEGIN + plan_look_cycles(NULL, plan);
    }
    while ((plan = plan->next) != NULL) {
        cycles += stage_cold(plan, cores, kept, all ? bytes * bytes_of_b(plan) / all : 0) +
                  PLAN_STEP_CYCLES + plan_look_cycles(before, plan);
        cycles += sums_of(plan) && sums_of(plan)->epilogue ? EPILOGUE : 0;
        before = plan;
    }
    return cycles;
}

unsigned cold_products(const struct tile_plan *plan, struct cold_product *shape,
                       unsigned most)
{
    unsigned n = 0;

    for (; plan && n < most; plan = plan->next) {
        if (sums_of(plan) && product_has_word(sums_of(plan))) {
            const struct mm_shape *s = &sums_of(plan)->mm.shape;
            shape[n++] = (struct cold_product){s->m, s->n, s->k};
        }
    }
    return n;
}
