/* SPDX-License-Identifier: MIT
 *
 * Which tiling: sizes of tiles, of chunks and slices of k, and what stays in L1, are tried
 * and the cheapest is taken, by the rates of the chip that runs (hal/contract/profile.md).
 * What a tile takes is what its busiest pipe takes, loads with the wait for a slot of L1;
 * cores that load at one time share L2's rate.
 */
#include <stdio.h>
#include <string.h>

#include "hal/contract/cost.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"

enum {
    SLOTS_MORE = 2 /* than two */,
    FRACTALS = 64 /* of a side of a tile, at most */,
    SLACK = 32 /* of loads: what they are to have left */
};

/* Instructions of the hart for a tile, a load, the products of a chunk; a recording more. */
enum {
    HART_TILE = 500,
    HART_LOAD = 280,
    HART_PRODUCTS = 180,
    HART_RECORD = 450,
};

/* What the chip costs. */
struct rates {
    uint32_t floor, floor_rate, fixed, rate, next, row, l1, l0a, l0b, feed, mmad, out,
        least, l2, l1_bytes, l0c_bytes;
};

/* A search: what is planned for, on how many cores, and the best so far. */
struct search {
    const struct mm *mm;
    struct rates r;
    unsigned cores;
    enum mm_strategy strategy;
    uint32_t parts, k; /* of a part */
    bool found;
    uint64_t best;
    struct mm_tiling tiling;
};

/* A candidate: its largest tile and how many there are. */
struct candidate {
    struct mm_tiling t;
    uint32_t rows, cols, tiles, rounds, chunks;
    uint32_t mt, nt;
    uint64_t product, feed, out,
        half_out;              /* cycles of a chunk on M, MTE1; of a tile on FIX */
    uint64_t a_bytes, b_bytes; /* of a chunk */
    uint64_t a_work, b_work;   /* its cycles, without a start */
    uint64_t first;            /* until the Cube begins */
};

static struct rates rates_of_the_chip(void)
{
    return (struct rates){.floor = chip_cost(COST_ND2NZ_FLOOR),
                          .floor_rate = chip_cost(COST_ND2NZ_FLOOR_RATE),
                          .fixed = chip_cost(COST_ND2NZ_FIXED),
                          .rate = chip_cost(COST_ND2NZ_RATE),
                          .next = chip_cost(COST_ND2NZ_NEXT),
                          .row = chip_cost(COST_GM_ROW_BYTES),
                          .l0a = chip_cost(COST_L1_L0A_RATE),
                          .l0b = chip_cost(COST_L1_L0B_RATE),
                          .feed = chip_cost(COST_L1_L0_FIXED),
                          .mmad = chip_cost(COST_MMAD_NEXT),
                          .out = chip_cost(COST_L0C_GM_RATE),
                          .least = chip_cost(COST_L0C_GM_LEAST),
                          .l2 = chip_cost(COST_L2_READ_RATE),
                          .l1_bytes = chip_mem(NPU_MEM_L1),
                          .l0c_bytes = chip_mem(NPU_MEM_L0C)};
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- what a candidate takes --- */

/* Bytes of a window of an operand and cycles that it takes to load. */
static uint64_t work_of(const struct rates *r, const struct mm_operand *o, uint32_t rows,
                        uint32_t columns, uint64_t *bytes)
{
    uint32_t bits = type_bits(o->type);
    uint64_t row = (uint64_t)columns * bits / 8;
    bool whole = o->pitch == columns && o->layout == MM_ND;

    *bytes = row * rows;
    if (o->layout == MM_NZ) {
        row = (uint64_t)rows * 32;
        rows = mm_count(columns, type_c0(o->type));
        whole = rows == o->pitch;
    }
    return whole ? *bytes / r->rate : cost_gm_rows(rows, row, r->row, r->rate);
}

/* What begins a load that was waited for, above its bytes. */
static uint64_t start_of(const struct rates *r, uint64_t work)
{
    uint64_t floor = r->floor + work * r->rate / r->floor_rate, line = r->fixed + work;

    return (floor > line ? floor : line) - work;
}

/* The last chunk may be less than the others: of all of them the mean. */
static void even(const struct search *s, const struct candidate *c, uint64_t *of,
                 uint32_t kt)
{
    *of = *of * s->k / ((uint64_t)c->chunks * kt);
}

static void cost_chunk(const struct search *s, struct candidate *c)
{
    const struct mm *mm = s->mm;
    const struct rates *r = &s->r;
    uint32_t es = type_bits(mm->a.type) / 8, c0 = type_c0(mm->a.type);
    uint32_t kt = mm_min(c->t.k, s->k), fm = mm_count(c->mt, 16), left = c->nt;
    uint32_t pieces = mm_count(c->nt, c->t.columns);
    uint32_t slices = mm_count(kt, c->t.slice), twice = mm->a.type == TYPE_F32 ? 2 : 1;

    twice = mm->cube_flags & MMAD_HF32 ? 1 : twice;
    c->product = c->feed = c->out = 0;
    for (; left; left -= mm_min(left, c->t.columns)) {
        uint32_t fn = mm_count(mm_min(left, c->t.columns), 16);
        c->product += slices * r->mmad + (uint64_t)fm * fn * mm_count(kt, c0) * twice;
        c->feed += slices * 2 * r->feed + (uint64_t)fm * 16 * kt * es / r->l0a +
                   (uint64_t)fn * 16 * kt * es / r->l0b;
        c->half_out = max_u64(r->least, (uint64_t)c->mt * 64 * fn / r->out);
        c->out += c->half_out;
    }
    c->a_work = mm->a.transposed ? work_of(r, &mm->a, kt, c->mt, &c->a_bytes)
                                 : work_of(r, &mm->a, c->mt, kt, &c->a_bytes);
    c->b_work = mm->b.transposed ? work_of(r, &mm->b, c->nt, kt, &c->b_bytes)
                                 : work_of(r, &mm->b, kt, c->nt, &c->b_bytes);
    c->first = start_of(r, c->a_work) + c->a_work + c->b_work + c->feed / pieces / slices;
    even(s, c, &c->product, kt);
    even(s, c, &c->feed, kt);
    even(s, c, &c->a_work, kt);
    even(s, c, &c->b_work, kt);
    even(s, c, &c->a_bytes, kt);
    even(s, c, &c->b_bytes, kt);
}

/* Tiles that follow each other on a core share a panel: how often it is loaded. */
static uint32_t panels(const struct candidate *c, bool stays, uint32_t line)
{
    return stays ? mm_count(c->rounds, mm_min(line, c->rounds)) : c->rounds;
}

static uint32_t least_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a, y = b;

    while (y) {
        uint32_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* What the hart takes for them: it issues, and records what is new. */
static uint64_t cost_hart(const struct candidate *c, uint64_t halves, uint32_t rounds,
                          uint64_t loads)
{
    uint64_t products = rounds * c->chunks * halves;
    uint64_t keys = least_multiple(least_multiple(c->t.a_slots, c->t.b_slots), 2);

    keys = 4 * keys < MM_ROOM_SLOTS / 2 ? keys : products; /* first, last, in between */
    return (uint64_t)rounds * HART_TILE + loads * HART_LOAD + products * HART_PRODUCTS +
           (keys < products ? keys : products) * HART_RECORD;
}

/* Cycles of a core that loads with `sharers` others, of `rounds` tiles. */
static uint64_t cost_rounds(const struct search *s, const struct candidate *c,
                            uint32_t rounds, uint32_t sharers)
{
    const struct rates *r = &s->r;
    uint64_t stream = 0, chunk = max_u64(c->product, c->feed), tile, load, bytes;
    uint64_t halves = c->t.columns < c->nt ? 2 : 1;
    uint32_t slots = c->t.a_stays ? c->t.b_slots : c->t.a_slots;
    uint64_t a = panels(c, c->t.a_stays, c->cols), b = panels(c, c->t.b_stays, c->rows);

    if (!c->t.a_stays) {
        stream += c->a_work + r->next;
    }
    if (!c->t.b_stays) {
        stream += c->b_work + r->next;
    }
    stream = max_u64(stream, (stream + start_of(r, c->a_work) / 2) / (slots - 1));
    chunk = c->chunks > 1 ? max_u64(chunk, stream) : chunk;
    tile = c->chunks * chunk;
    tile +=
        halves == 2 && c->half_out > c->product / 2 ? c->half_out - c->product / 2 : 0;
    tile = max_u64(tile, c->out);
    load = c->chunks * (a * (c->a_work + r->next) + b * (c->b_work + r->next)) * rounds /
           c->rounds;
    bytes = c->chunks * (a * c->a_bytes + b * c->b_bytes) * sharers * rounds / c->rounds;
    if (c->chunks == 1 && c->t.a_stays && c->t.a_slots == 1) {
        tile += (a - 1) * (c->a_work + start_of(r, c->a_work)) / c->rounds;
    } else if (c->chunks == 1 && c->t.b_stays && c->t.b_slots == 1) {
        tile += (b - 1) * (c->b_work + start_of(r, c->b_work)) / c->rounds;
    }
    load = max_u64(load, cost_hart(c, halves, rounds, c->chunks * (a + b)));
    return max_u64(max_u64(rounds * tile, load), bytes / r->l2) + load / SLACK;
}

static uint64_t cost(const struct search *s, const struct candidate *c)
{
    uint32_t full = c->tiles / s->cores, left = c->tiles % s->cores;
    uint64_t cycles = c->first + c->half_out;

    if (full) {
        cycles += cost_rounds(s, c, full, s->cores);
    }
    if (left) {
        cycles += cost_rounds(s, c, 1, left);
    }
    return cycles;
}

/* --- candidates --- */

/* Bytes of a chunk of each operand in L1. */
static uint32_t chunk_bytes(const struct mm *mm, uint32_t side, uint32_t k)
{
    uint32_t unit = mm_unit(mm, true);

    return mm_up(side, unit) * mm_up(k, unit) * (type_bits(mm->a.type) / 8);
}

static uint32_t small_bytes(const struct mm *mm, uint32_t n)
{
    uint32_t bias = mm->bias ? mm_up(n * MM_BIAS_BYTES, 64) : 0;

    return 2 * (bias + (mm->scale_words ? mm_up(n * MM_SCALE_BYTES, 64) : 0));
}

/* Gives the slots what L1 has; false: too little. */
static bool share_l1(const struct search *s, struct candidate *c)
{
    const struct mm *mm = s->mm;
    uint32_t a = chunk_bytes(mm, c->t.m, c->t.k), b = chunk_bytes(mm, c->t.n, c->t.k);
    uint32_t all = mm->l1_bytes ? mm->l1_bytes : s->r.l1_bytes - mm->l1_begin;
    uint32_t small = small_bytes(mm, c->t.n), needs;

    c->t.a_slots = (uint16_t)(c->t.a_stays ? c->chunks : 2);
    c->t.b_slots = (uint16_t)(c->t.b_stays ? c->chunks : 2);
    if (c->chunks > 255 && (c->t.a_stays || c->t.b_stays)) {
        return false;
    }
    needs = c->t.a_slots * a + c->t.b_slots * b + small;
    if (needs > all) {
        return false;
    }
    if (c->chunks == 1 && c->t.a_stays && needs + a <= all) {
        c->t.a_slots = 2; /* or each new panel would be waited for */
        needs += a;
    } else if (c->chunks == 1 && c->t.b_stays && needs + b <= all) {
        c->t.b_slots = 2;
        needs += b;
    }
    for (unsigned more = SLOTS_MORE; more; more--) { /* what streams */
        uint32_t bytes = (c->t.a_stays ? 0 : a) + (c->t.b_stays ? 0 : b);
        if (needs + more * bytes <= all) {
            c->t.a_slots = (uint16_t)(c->t.a_slots + (c->t.a_stays ? 0 : more));
            c->t.b_slots = (uint16_t)(c->t.b_slots + (c->t.b_stays ? 0 : more));
            break;
        }
    }
    return true;
}

/* What is more than two pieces of columns is recorded whole. */
static bool few(const struct candidate *c, uint32_t slices)
{
    uint32_t pieces = mm_count(c->t.n, c->t.columns);

    return pieces <= 2 || (c->chunks == 1 && pieces * (2 * slices + 1) <= PIPE_DEPTH);
}

/* With k in so many chunks. */
static void try_chunk(struct search *s, struct candidate *c, uint32_t chunks)
{
    uint32_t unit = mm_unit_k(s->mm), most = c->t.slice, slices;

    c->t.k = mm_up(mm_count(s->k, chunks), unit);
    c->chunks = mm_count(s->k, c->t.k);
    slices = mm_count(c->t.k, most);
    c->t.slice = mm_up(mm_count(c->t.k, slices), unit);
    if (slices <= PIPE_DEPTH / 2 - 1 && few(c, slices) && share_l1(s, c)) {
        uint64_t cycles;
        cost_chunk(s, c);
        cycles = cost(s, c);
        if (!s->found || cycles < s->best) {
            s->found = true;
            s->best = cycles;
            s->tiling = c->t;
        }
    }
    c->t.slice = most;
}

/* Chunks whose rows in GM are some powers of two of bytes, or a little more: k in equal
 * pieces. */
static void try_chunks(struct search *s, struct candidate *c)
{
    uint32_t es = type_bits(s->mm->a.type) / 8, last = 0;

    for (uint32_t bytes = 2048; bytes >= 128; bytes /= 2) {
        uint32_t chunks = mm_count(s->k, bytes / es);
        if (chunks - 1 > last && chunks < 8) {
            try_chunk(s, c, chunks - 1);
        }
        if (chunks > last) {
            try_chunk(s, c, chunks);
        }
        last = chunks;
    }
}

/* Tiles of fm x fn units; false: L0 or L0C is too small. */
static bool size(const struct search *s, struct candidate *c, uint32_t fm, uint32_t fn)
{
    const struct mm *mm = s->mm;
    uint32_t um = mm_unit_m(mm), un = mm_unit_n(mm), es = type_bits(mm->a.type) / 8;
    uint32_t unit = mm_unit_k(mm), a, b;

    c->t = (struct mm_tiling){.m = fm * um, .n = fn * un, .columns = fn * un};
    c->mt = mm_min(c->t.m, mm->shape.m);
    c->nt = mm_min(c->t.n, mm->shape.n);
    if (2 * c->t.m * c->t.n * MM_SUM_BYTES > s->r.l0c_bytes ||
        (mm->bias && c->t.n * MM_BIAS_BYTES > mm_bt_slot())) {
        c->t.columns = mm_count(fn, 2) * un;
    }
    if (c->t.m * c->t.n * MM_SUM_BYTES > s->r.l0c_bytes) { /* columns by turns */
        uint32_t most = s->r.l0c_bytes / 2 / (c->t.m * MM_SUM_BYTES) / un;
        c->t.columns = most ? mm_count(fn, mm_count(fn, most)) * un : 0;
    }
    if (c->t.columns == 0) {
        return false;
    }
    a = mm_l0a_slot() / (c->t.m * es) / unit * unit;
    b = mm_l0b_slot() / (mm_up(c->t.columns, 16) * es) / unit * unit;
    c->t.slice = mm_min(a, b);
    return (mm_in_halves(&c->t) ? c->t.m * c->t.n : 2 * c->t.m * c->t.columns) *
                   MM_SUM_BYTES <=
               s->r.l0c_bytes &&
           (!mm->bias || c->t.columns * MM_BIAS_BYTES <= mm_bt_slot()) &&
           (!mm->scale_words || c->t.columns * MM_SCALE_BYTES <= chip_mem(NPU_MEM_FB)) &&
           c->t.slice >= unit && c->t.m <= 4080 && c->t.columns <= 4080;
}

/* Whether tiles of that size can be what was asked for. */
static bool allowed(const struct search *s, const struct candidate *c)
{
    return s->strategy == MM_SMALL  ? c->tiles == s->mm->shape.batch
           : s->strategy == MM_TALL ? c->rows == 1 || c->cols == 1
                                    : true;
}

static void try_tile(struct search *s, uint32_t fm, uint32_t fn)
{
    const struct mm_shape *shape = &s->mm->shape;
    struct candidate c;
    uint64_t least;

    if (!size(s, &c, fm, fn)) {
        return;
    }
    c.rows = mm_pieces(shape->m, mm_unit_m(s->mm), c.t.m);
    c.cols = mm_pieces(shape->n, mm_unit_n(s->mm), c.t.n);
    c.tiles = c.rows * c.cols * shape->batch * s->parts;
    c.rounds = mm_count(c.tiles, s->cores);
    least = (uint64_t)c.rounds * mm_count(c.mt, 16) * mm_count(c.nt, 16) *
            mm_count(s->k, type_c0(s->mm->a.type));
    if (!allowed(s, &c) || (s->found && least >= s->best)) {
        return;
    }
    for (unsigned stays = 0; stays < 3; stays++) {
        c.t.a_stays = stays == 1;
        c.t.b_stays = stays == 2;
        if ((stays == 1 && (c.cols == 1 || s->strategy == MM_TALL) && c.rows > 1) ||
            (stays == 2 && c.rows == 1)) {
            continue;
        }
        try_chunks(s, &c);
    }
}

/* The next smaller size than `than`, in units, that cuts so many of them into equal pieces. */
static uint32_t next_size(uint32_t units, uint32_t than)
{
    return than > 1 ? mm_count(units, mm_count(units, than - 1)) : 0;
}

static void search(struct search *s)
{
    uint32_t um = mm_count(s->mm->shape.m, mm_unit_m(s->mm));
    uint32_t un = mm_count(s->mm->shape.n, mm_unit_n(s->mm));

    for (uint32_t fm = mm_min(um, FRACTALS); fm; fm = next_size(um, fm)) {
        for (uint32_t fn = mm_min(un, FRACTALS); fn; fn = next_size(un, fn)) {
            try_tile(s, fm, fn);
        }
    }
}

static struct search plan_for(const struct mm *mm, unsigned cores,
                              enum mm_strategy strategy)
{
    struct search s = {
        .mm = mm, .r = rates_of_the_chip(), .cores = cores, .strategy = strategy};

    s.parts = strategy == MM_SPLIT_K ? mm_k_parts(mm) : 1;
    s.k = mm_cut(mm->shape.k, mm_unit_k(mm), 1, s.parts);
    search(&s);
    return s;
}

/* What the tiling turned out to be. */
static enum mm_strategy name_of(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t rows = mm_pieces(mm->shape.m, mm_unit_m(mm), t->m);
    uint32_t cols = mm_pieces(mm->shape.n, mm_unit_n(mm), t->n);

    return mm->shape.batch > 1                                      ? MM_BATCH
           : rows * cols == 1                                       ? MM_SMALL
           : (t->b_stays && cols == 1) || (t->a_stays && rows == 1) ? MM_TALL
                                                                    : MM_GENERAL;
}

/* c as a column: a and b are each other, as columns. */
void mm_turn(struct mm *mm)
{
    struct mm_operand a = mm->a;
    uint32_t m = mm->shape.m;

    mm->a = mm->b;
    mm->b = a;
    mm->a.transposed = !mm->a.transposed;
    mm->b.transposed = !mm->b.transposed;
    mm->shape.m = mm->shape.n;
    mm->shape.n = m;
    mm->c_product = mm->c_product ? mm->c_product
                    : mm->c_pitch ? mm->c_pitch
                                  : mm->shape.m;
    mm->c_pitch = 1;
    mm->turned = true;
}

/* Whether c can be a column, and may. */
static bool may_turn(const struct mm *mm, enum mm_strategy strategy)
{
    return mm->shape.m == 1 && !mm->bias && !mm->scale_words &&
           (strategy == MM_AUTO || strategy == MM_GEMV);
}

static const char *cannot(const struct mm *mm, enum mm_strategy strategy)
{
    switch (strategy) {
    case MM_GEMV:
        return may_turn(mm, strategy) ? NULL
                                      : "wants m = 1, no bias and no scales of columns";
    case MM_SPLIT_K:
        return mm_k_parts(mm) > 1 ? NULL : "wants a k of several parts";
    case MM_BATCH:
        return mm->shape.batch > 1 ? NULL : "wants a batch";
    default:
        return NULL;
    }
}

int mm_plan(struct mm *mm, unsigned cores, enum mm_strategy strategy, char why[MM_TEXT])
{
    const char *no = cannot(mm, strategy);
    struct search s = {0};

    why[0] = 0;
    if (no) {
        snprintf(why, MM_TEXT, "strategy %s %s", mm_strategy_name(strategy), no);
        return ERR_ARG;
    }
    cores = cores ? cores : chip_cores();
    if (strategy != MM_GEMV) {
        s = plan_for(mm, cores, strategy);
    }
    if (may_turn(mm, strategy)) {
        struct mm turned = *mm;
        struct search t;
        mm_turn(&turned);
        t = plan_for(&turned, cores, strategy);
        if (t.found && (!s.found || t.best < s.best)) {
            *mm = turned;
            s = t;
        }
    }
    if (!s.found) {
        snprintf(why, MM_TEXT, "strategy %s: no tiling of %lu x %lu x %lu fits",
                 mm_strategy_name(strategy), (unsigned long)mm->shape.m,
                 (unsigned long)mm->shape.n, (unsigned long)mm->shape.k);
        return strategy == MM_AUTO ? ERR_LOCAL : ERR_ARG;
    }
    mm->tiling = s.tiling;
    mm->tiling.cycles = s.best;
    mm->tiling.strategy = mm->turned               ? MM_GEMV
                          : strategy == MM_SPLIT_K ? strategy
                                                   : name_of(mm);
    mm->tiled = true;
    return 0;
}
