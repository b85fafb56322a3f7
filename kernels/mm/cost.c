/* SPDX-License-Identifier: MIT
 *
 * Costs of a tiling; see cost.h. What a tile takes is what its busiest pipe takes, loads with
 * the wait for a slot of L1, or the hart that issues it; cores that load at one time share L2's
 * rate.
 */
#include "kernels/mm/cost.h"

#include "hal/contract/cost.h"
#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"

enum {
    SLACK = 32, /* of loads: what they are to have left */
    ROUNDED = 8 /* cycles of a chunk that divisions may have lost */
};

/* Instructions of the hart for a block to begin, a tile, a load, the products of a chunk; a
 * recording more. */
enum {
    HART_BLOCK = 800,
    HART_TILE = 500,
    HART_LOAD = 280,
    HART_PRODUCTS = 180,
    HART_RECORD = 450,
};

struct mm_rates mm_rates_of(const struct mm *mm)
{
    return (struct mm_rates){.floor = chip_cost(COST_ND2NZ_FLOOR),
                             .floor_rate = chip_cost(COST_ND2NZ_FLOOR_RATE),
                             .fixed = chip_cost(COST_ND2NZ_FIXED),
                             .rate = chip_cost(COST_ND2NZ_RATE),
                             .next = chip_cost(COST_ND2NZ_NEXT),
                             .copy_fixed = chip_cost(COST_GM_L1_FIXED),
                             .copy_rate = chip_cost(COST_GM_L1_RATE),
                             .row = chip_cost(COST_GM_ROW_BYTES),
                             .l0a = chip_cost(COST_L1_L0A_RATE),
                             .l0b = chip_cost(COST_L1_L0B_RATE),
                             .feed = chip_cost(COST_L1_L0_FIXED),
                             .mmad = chip_cost(COST_MMAD_NEXT),
                             .anew =
                                 chip_cost(COST_MMAD_FIRST) - chip_cost(COST_MMAD_NEXT),
                             .out = chip_cost(COST_L0C_GM_RATE),
                             .least = chip_cost(COST_L0C_GM_LEAST),
                             .l2 = chip_cost(COST_L2_READ_RATE),
                             .l1_bytes = mm_l1_size(mm),
                             .l0c_bytes = mm_size(mm, NPU_MEM_L0C)};
}

uint32_t mm_cube_cycles(const struct mm *mm)
{
    return mm->a.type == TYPE_F32 && !(mm->cube_flags & MMAD_HF32) ? 2 : 1;
}

/* Bytes of a window of an operand and cycles that it takes to load. */
static uint64_t work_of(const struct mm_search *s, const struct mm_operand *o,
                        bool copied, uint32_t rows, uint32_t columns, uint64_t *bytes)
{
    uint32_t rate = copied ? s->r.copy_rate : s->r.rate;
    uint64_t row = (uint64_t)columns * s->bits / (o->sparse ? 16 : 8);
    bool whole = o->pitch == columns && o->layout == MM_ND && !(copied && row % 32);

    *bytes = o->given ? 0 : row * rows;
    if (o->given) {
        return 0;
    }
    if (o->layout == MM_NZ) {
        row = (uint64_t)rows * 32;
        rows = mm_count(columns, s->c0);
        whole = rows == o->pitch;
    }
    return whole ? *bytes / rate : cost_gm_rows(rows, row, s->r.row, rate);
}

/* What begins a load that was waited for, above its bytes. */
static uint64_t start_of(const struct mm_rates *r, bool copied, uint64_t work)
{
    uint64_t floor = r->floor + work * r->rate / r->floor_rate, line = r->fixed + work;

    return copied ? r->copy_fixed : (floor > line ? floor : line) - work;
}

/* An operand's loads are plain copies. */
static bool is_copied(const struct mm *mm, const struct mm_candidate *c,
                      const struct mm_operand *o)
{
    return o->layout == MM_NZ || (c->t.rows && mm_may_be_rows(mm, o));
}

static void cost_loads(const struct mm_search *s, struct mm_candidate *c, uint32_t kt)
{
    const struct mm *mm = s->mm;
    const struct mm_rates *r = &s->r;
    bool a = is_copied(mm, c, &mm->a), b = is_copied(mm, c, &mm->b);

    c->a_work = mm->a.transposed ? work_of(s, &mm->a, a, kt, c->mt, &c->a_bytes)
                                 : work_of(s, &mm->a, a, c->mt, kt, &c->a_bytes);
    c->b_work = mm->b.transposed ? work_of(s, &mm->b, b, c->nt, kt, &c->b_bytes)
                                 : work_of(s, &mm->b, b, kt, c->nt, &c->b_bytes);
    if (c->t.a_whole) { /* its rows are longer */
        c->a_work = mm->a.transposed ? work_of(s, &mm->a, a, s->k, c->mt, &c->a_bytes)
                                     : work_of(s, &mm->a, a, c->mt, s->k, &c->a_bytes);
        c->a_work /= c->chunks;
        c->a_bytes /= c->chunks;
    }
    if (mm->b.sparse) { /* and its index */
        c->b_work += r->copy_fixed + cost_gm_rows(mm_count(kt, MM_SPARSE_K), c->nt * 8,
                                                  r->row, r->copy_rate);
        c->b_bytes += c->b_bytes / 4;
    }
    c->a_start = start_of(r, a, c->a_work);
    c->b_start = start_of(r, b, c->b_work);
    c->a_next = a ? r->copy_fixed : r->next;
    c->b_next = b ? r->copy_fixed : r->next;
}

/* The last chunk may be less than the others: of all of them the mean. */
static void even(const struct mm_search *s, const struct mm_candidate *c, uint64_t *of,
                 uint32_t kt)
{
    *of = *of * s->k / ((uint64_t)c->chunks * kt);
}

/* Of an operand's loads the mean, where the last chunk is less than the others. */
static void mean_load(const struct mm_search *s, const struct mm_candidate *c,
                      const struct mm_operand *o, uint64_t *work, uint64_t *bytes)
{
    bool a = o == &s->mm->a, along_k = a ? !o->transposed : o->transposed;
    uint32_t side = a ? c->mt : c->nt, last = s->k - (c->chunks - 1) * c->t.k;
    uint64_t rest, less = along_k
                              ? work_of(s, o, is_copied(s->mm, c, o), side, last, &rest)
                              : work_of(s, o, is_copied(s->mm, c, o), last, side, &rest);

    *work = (*work * (c->chunks - 1) + less) / c->chunks;
    *bytes = (*bytes * (c->chunks - 1) + rest) / c->chunks;
}

/* Fractals of a tile's rows, of some of its columns, and bytes of k. */
struct slice {
    uint32_t fm, fn, k;
};

static uint64_t product_of(const struct mm_search *s, struct slice t)
{
    return s->r.mmad + (uint64_t)t.fm * t.fn * mm_count(t.k, mm_k_step(s->mm)) *
                           mm_cube_cycles(s->mm);
}

static uint64_t feed_of(const struct mm_search *s, struct slice t)
{
    uint64_t bytes = (uint64_t)2 * t.k * s->bits; /* of 16 rows */

    return 2 * s->r.feed + t.fm * bytes / s->r.l0a +
           t.fn * mm_b_bytes(s->mm, (uint32_t)bytes) / s->r.l0b;
}

/* A slice is multiplied while the next one is fed; what is fed for longer is waited for, and
 * the product then begins anew. */
static uint64_t both(const struct mm_search *s, struct slice now, struct slice next)
{
    uint64_t product = product_of(s, now), feed = feed_of(s, next);

    return feed > product ? feed + s->r.anew : product;
}

/* Columns of a tile over a chunk of so many slices, some of which are a unit shorter. */
static void cost_columns(const struct mm_search *s, struct mm_candidate *c, uint32_t fn,
                         uint32_t kt, uint32_t slices)
{
    uint32_t units = mm_count(kt, s->unit_k), few = units / slices, more = units % slices;
    struct slice less = {mm_count(c->mt, 16), fn, few * s->unit_k}, whole = less;

    whole.k += s->unit_k;
    c->product += more * product_of(s, whole) + (slices - more) * product_of(s, less);
    c->feed += more * feed_of(s, whole) + (slices - more) * feed_of(s, less);
    if (more) {
        c->chunk += (more - 1) * both(s, whole, whole) + both(s, whole, less) +
                    both(s, less, whole);
        slices -= more + 1;
    }
    c->chunk += slices * both(s, less, less);
    c->half_out = max_u64(s->r.least, (uint64_t)c->mt * 64 * fn / s->r.out);
    c->out += c->half_out;
}

static void cost_chunk(const struct mm_search *s, struct mm_candidate *c)
{
    const struct mm *mm = s->mm;
    const struct mm_rates *r = &s->r;
    uint32_t kt = mm_min(c->t.k, s->k), left = c->nt;
    uint32_t pieces = mm_count(c->nt, c->t.columns);
    uint32_t slices = mm_count(kt, c->t.slice);
    uint64_t sharers = mm_min(c->tiles, s->cores);

    c->product = c->feed = c->chunk = c->out = 0;
    for (; left; left -= mm_min(left, c->t.columns)) {
        cost_columns(s, c, mm_count(mm_min(left, c->t.columns), 16), kt, slices);
    }
    cost_loads(s, c, kt);
    c->first =
        max_u64(c->a_work + c->b_work, (c->a_bytes + c->b_bytes) * sharers / r->l2);
    c->first += c->a_start + c->b_next + c->feed / pieces / slices;
    even(s, c, &c->product, kt);
    even(s, c, &c->chunk, kt);
    if (c->chunks * kt > s->k) {
        mean_load(s, c, &mm->b, &c->b_work, &c->b_bytes);
        if (!c->t.a_whole) {
            mean_load(s, c, &mm->a, &c->a_work, &c->a_bytes);
        }
    }
}

/* Tiles that follow each other on a core share a panel: how often it is loaded. */
static uint32_t panels(const struct mm_candidate *c, bool stays, uint32_t line)
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
static uint64_t cost_hart(const struct mm_candidate *c, uint64_t halves, uint32_t rounds,
                          uint64_t loads)
{
    uint64_t products = rounds * c->chunks * halves;
    uint64_t keys = least_multiple(least_multiple(c->t.a_slots, c->t.b_slots), 2);

    keys = 4 * keys < MM_ROOM_SLOTS / 2 ? keys : products; /* first, last, in between */
    return (uint64_t)rounds * HART_TILE + loads * HART_LOAD + products * HART_PRODUCTS +
           (keys < products ? keys : products) * HART_RECORD;
}

/* Cycles of a core that loads with `sharers` others, of `rounds` tiles. */
static uint64_t cost_rounds(const struct mm_search *s, const struct mm_candidate *c,
                            uint32_t rounds, uint32_t sharers)
{
    const struct mm_rates *r = &s->r;
    uint64_t stream = 0, chunk = c->chunk, tile, load, bytes;
    uint64_t halves = c->t.columns < c->nt ? 2 : 1;
    uint32_t slots = c->t.a_stays ? c->t.b_slots : c->t.a_slots;
    uint64_t a = panels(c, c->t.a_stays, c->cols), b = panels(c, c->t.b_stays, c->rows);

    if (!c->t.a_stays) {
        stream += c->a_work + c->a_next;
    }
    if (!c->t.b_stays) {
        stream += c->b_work + c->b_next;
    }
    stream = max_u64(stream, (stream + c->a_start / 2) / mm_max(1, slots - 1));
    chunk = c->chunks > 1 ? max_u64(chunk, stream) : chunk;
    tile = c->chunks * chunk;
    tile +=
        halves == 2 && c->half_out > c->product / 2 ? c->half_out - c->product / 2 : 0;
    tile = max_u64(tile, c->out);
    load = c->chunks * (a * (c->a_work + c->a_next) + b * (c->b_work + c->b_next)) *
           rounds / c->rounds;
    bytes = c->chunks * (a * c->a_bytes + b * c->b_bytes) * sharers * rounds / c->rounds;
    if (c->chunks == 1 && c->t.a_stays && c->t.a_slots == 1) {
        tile += (a - 1) * (c->a_work + c->a_start) / c->rounds;
    } else if (c->chunks == 1 && c->t.b_stays && c->t.b_slots == 1) {
        tile += (b - 1) * (c->b_work + c->b_start) / c->rounds;
    }
    load = max_u64(load, cost_hart(c, halves, rounds, c->chunks * (a + b)));
    return max_u64(max_u64(rounds * tile, load), bytes / r->l2) + load / SLACK;
}

/* Whether the commands of one tile are few enough to be kept (script.h). */
static bool is_script(const struct mm_candidate *c, uint64_t pieces)
{
    uint32_t slices = mm_count(c->t.k, c->t.slice);

    return 2 * c->chunks <= MM_SCRIPT_LOADS &&
           pieces * c->chunks * (2 * slices + 1) <= MM_SCRIPT_FEEDS;
}

/* Until all cores that have a tile have begun, one after the other; parts of k are the less
 * the later (walk.h). */
static uint64_t begin_of(const struct mm_search *s, const struct mm_candidate *c)
{
    return s->parts > 2 ? 0
                        : HART_BLOCK * (uint64_t)mm_min(c->tiles, s->cores) / s->cores;
}

/* Until the last of the parts that are added one behind the other is ready: so many of them
 * are there at one time, and they are cut so that their mean is not late. */
static uint64_t chain_of(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t at_once = mm_min(s->parts, mm_count(s->cores, c->tiles / s->parts));

    return mm_chained(s->mm, s->parts) ? (uint64_t)(at_once - 1) * s->r.least / 2 : 0;
}

/* Cycles of a core that has one tile: loads one behind the other, at what the cores share,
 * and behind the last of them its products; or the products behind the first. */
static uint64_t cost_tile(const struct mm_search *s, const struct mm_candidate *c)
{
    const struct mm_rates *r = &s->r;
    uint64_t sharers = mm_min(c->tiles, s->cores), pieces = mm_count(c->nt, c->t.columns);
    uint64_t chunk = c->chunk;
    uint64_t load = c->chunks * (c->a_work + c->b_work);
    uint64_t shared = c->chunks * (c->a_bytes + c->b_bytes) * sharers / r->l2;
    uint64_t more = c->out - c->half_out, begins, cycles, hart;

    /* Not all of them load at one time: the last one begins that much later. */
    begins = begin_of(s, c);
    load = max_u64(load, shared > begins ? shared - begins : 0);
    load += c->chunks * c->b_next + (c->t.a_whole ? 1 : c->chunks) * c->a_next;
    cycles = max_u64(load + chunk, load / c->chunks + c->chunks * chunk);
    cycles += c->half_out + (more > chunk / 2 ? more - chunk / 2 : 0);
    cycles += c->a_start - mm_min((uint32_t)c->a_start, (uint32_t)c->a_next);
    hart = is_script(c, pieces) ? 0 : cost_hart(c, pieces, 1, 2 * c->chunks);
    return begins + max_u64(cycles, hart) + hart / SLACK + chain_of(s, c);
}

/* What is worked out is too much where few tiles follow each other, whose first loads and last
 * ways out are hidden in part, and too little of parts that wait for each other: the means of
 * 64 shapes on 1 to 32 cores (tools/bench-matmul sweep). Raw costs are without that. */
static uint64_t as_measured(const struct mm_search *s, const struct mm_candidate *c,
                            uint64_t cycles)
{
    return s->raw || c->rounds > 7 ? cycles
           : c->rounds > 3         ? cycles - cycles / 20
           : c->rounds > 1         ? cycles - cycles / 8
           : s->parts > 1          ? cycles + cycles / 14
                                   : cycles - cycles / 13;
}

uint64_t mm_cost(const struct mm_search *s, struct mm_candidate *c)
{
    uint32_t full = c->tiles / s->cores, left = c->tiles % s->cores;
    uint64_t cycles;

    cost_chunk(s, c);
    if (c->rounds == 1) {
        return as_measured(s, c, cost_tile(s, c));
    }
    cycles = begin_of(s, c) + c->first + c->half_out + chain_of(s, c);

    if (full) {
        cycles += cost_rounds(s, c, full, s->cores);
    }
    if (left) {
        cycles += cost_rounds(s, c, 1, left);
    }
    return as_measured(s, c, cycles);
}

struct mm_side mm_side_of(const struct mm_search *s, const struct mm_operand *o,
                          uint32_t units)
{
    const struct mm *mm = s->mm;
    bool a = o == &mm->a, along_k = a ? !o->transposed : o->transposed;
    uint32_t unit = a ? s->unit_m : s->unit_n, all = a ? mm->shape.m : mm->shape.n;
    struct mm_side side = {.units = units, .most = units * unit};
    uint32_t rows, columns;
    uint64_t copied;

    side.size = mm_min(side.most, all);
    side.n = mm_count(mm_count(all, unit), units);
    side.fractals = mm_count(side.size, 16);
    rows = along_k ? side.size : s->k;
    columns = along_k ? s->k : side.size;
    side.work = work_of(s, o, o->layout == MM_NZ, rows, columns, &side.bytes);
    side.in_rows = side.work;
    if (mm_may_be_rows(mm, o)) {
        copied = work_of(s, o, true, rows, columns, &side.bytes);
        side.in_rows = copied < side.work ? copied : side.work;
    }
    side.feed = (uint64_t)side.fractals * 2 * s->k * s->bits / (a ? s->r.l0a : s->r.l0b);
    return side;
}

/* The way out of a tile's last columns. */
static uint64_t last_out(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t columns = c->chunks ? c->nt - (c->pieces - 1) * c->t.columns : 0;

    return max_u64(s->r.least,
                   (uint64_t)c->a->size * 64 * mm_count(columns, 16) / s->r.out);
}

/* Of a core that has one tile, whose pipes take `tile`; see cost_tile(). */
static uint64_t least_of_one(const struct mm_search *s, const struct mm_candidate *c,
                             uint64_t tile)
{
    const struct mm_rates *r = &s->r;
    uint64_t sharers = mm_min(c->tiles, s->cores), begins = begin_of(s, c);
    uint64_t shared = (c->a->bytes + c->b->bytes) * sharers / r->l2, load;
    bool a = c->t.rows && mm_may_be_rows(s->mm, &s->mm->a);
    bool b = c->t.rows && mm_may_be_rows(s->mm, &s->mm->b);

    load = (a ? c->a->in_rows : c->a->work) + (b ? c->b->in_rows : c->b->work);
    load = max_u64(load, shared > begins ? shared - begins : 0);
    if (c->chunks) {
        load += (a ? r->copy_fixed : r->next) * (c->t.a_whole ? 1 : c->chunks);
        load += (b ? r->copy_fixed : r->next) * c->chunks;
        tile = max_u64(load + tile / c->chunks, load / c->chunks + tile);
        tile += c->t.rows ? 0 : mm_min(r->fixed, r->copy_fixed) - r->next;
    }
    load = begins + max_u64(tile, load) + last_out(s, c) + chain_of(s, c);
    return load - mm_min((uint32_t)load, ROUNDED * c->chunks);
}

uint64_t mm_cost_least(const struct mm_search *s, const struct mm_candidate *c)
{
    const struct mm_rates *r = &s->r;
    const struct mm_side *a = c->a, *b = c->b;
    uint64_t fractals = (uint64_t)a->fractals * b->fractals, as, bs, chunks;
    uint64_t product = fractals * s->k_fractals, feed = c->pieces * a->feed + b->feed;
    uint64_t tile, load, bytes, hart;

    product += (uint64_t)c->pieces * c->slices * r->mmad;
    feed += (uint64_t)c->pieces * c->slices * 2 * r->feed;
    tile = max_u64(product, feed);
    if (c->rounds == 1) {
        return as_measured(s, c, least_of_one(s, c, tile));
    }
    tile = max_u64(tile, (uint64_t)a->size * 64 * b->fractals / r->out);
    chunks = c->chunks ? c->chunks : 1;
    as = panels(c, c->t.a_stays, c->cols);
    bs = panels(c, c->t.b_stays, c->rows);
    load = as * a->work + bs * b->work;
    hart = (uint64_t)c->rounds * (HART_TILE + chunks * HART_PRODUCTS) +
           (as + bs) * chunks * HART_LOAD;
    bytes = (as * a->bytes + bs * b->bytes) * c->tiles / c->rounds / r->l2;
    tile = max_u64(max_u64(c->rounds * tile, bytes), max_u64(load, hart));
    return as_measured(s, c,
                       begin_of(s, c) + chain_of(s, c) + tile + last_out(s, c) +
                           (s->mm->a.layout == MM_NZ ? r->copy_fixed : r->floor));
}
