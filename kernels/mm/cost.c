/* SPDX-License-Identifier: MIT
 *
 * Costs of a tiling, what they are made of: loads, feeds and products of a chunk, and the least
 * that a candidate takes; see cost.h.
 */
#include "kernels/mm/cost.h"

#include "hal/contract/cost.h"
#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"

enum {
    ROUNDED = 8, /* cycles of a chunk that divisions may have lost */
    LATER = 256  /* bytes that come a cycle later from HBM than from L2 */
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
    bool whole = o->pitch == columns && o->layout == MM_ND;

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

/* A slice is multiplied while the next one is fed. */
static uint64_t both(const struct mm_search *s, struct slice now, struct slice next)
{
    return max_u64(product_of(s, now), next.k ? feed_of(s, next) : 0);
}

/* Slices of a chunk of k, of which the first `more` are a unit longer than the others. */
struct slices {
    uint32_t n, more;
    struct slice longer, other, first;
};

static struct slices slices_of(const struct mm_search *s, const struct mm_candidate *c,
                               uint32_t fn, uint32_t kt)
{
    uint32_t n = mm_count(kt, c->t.slice), units = mm_count(kt, s->unit_k);
    struct slice other = {mm_count(c->mt, 16), fn, n ? units / n * s->unit_k : 0};
    struct slices all = {n, n ? units % n : 0, other, other, other};

    all.longer.k += s->unit_k;
    all.first = all.more ? all.longer : other;
    return all;
}

uint64_t mm_products_of(const struct mm_search *s, const struct mm_candidate *c,
                        uint32_t kt, uint32_t next, uint64_t *behind)
{
    uint32_t most = mm_count(c->t.columns, 16), left = mm_count(c->nt, 16);
    uint64_t cycles = 0, piece;
    struct slices now, then;

    *behind = 0;
    then = slices_of(s, c, mm_min(left, most), kt);
    for (uint32_t fn; left; left -= fn) {
        fn = mm_min(left, most);
        now = then;
        if (left - fn >= most) {
            then = now;
        } else if (left > fn) {
            then = slices_of(s, c, left - fn, kt);
        } else if (next != kt || fn < mm_count(c->nt, 16)) {
            then = slices_of(s, c, mm_min(mm_count(c->nt, 16), most), next);
        }
        piece = (now.n - now.more - 1) * both(s, now.other, now.other);
        piece += both(s, now.other, then.first);
        if (now.more) {
            piece += (now.more - 1) * both(s, now.longer, now.longer);
            piece += both(s, now.longer, now.other);
        }
        *behind += cycles ? piece : 0;
        cycles += piece;
    }
    return cycles;
}

uint64_t mm_first_feed(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t fn = mm_min(mm_count(c->nt, 16), mm_count(c->t.columns, 16));

    return feed_of(s, slices_of(s, c, fn, mm_min(c->t.k, s->k)).first) + s->r.anew;
}

struct mm_load mm_load_of(const struct mm_search *s, const struct mm_candidate *c,
                          const struct mm_operand *o, uint32_t kt, uint32_t sharers)
{
    const struct mm_rates *r = &s->r;
    bool a = o == &s->mm->a, along_k = a ? !o->transposed : o->transposed;
    bool copied = is_copied(s->mm, c, o);
    uint32_t side = a ? c->mt : c->nt, next = copied ? r->copy_fixed : r->next;
    uint64_t bytes, work = along_k ? work_of(s, o, copied, side, kt, &bytes)
                                   : work_of(s, o, copied, kt, side, &bytes);
    uint64_t shared = bytes * sharers / r->l2;

    if (o->given) {
        return (struct mm_load){0};
    }
    if (o->sparse) { /* and its index */
        next += r->copy_fixed + (uint32_t)work / 4;
    }
    return (struct mm_load){.start = (uint32_t)start_of(r, copied, work),
                            .next = next,
                            .alone = work,
                            .l2 = shared,
                            .shared = max_u64(work, shared)};
}

uint64_t mm_outs_of(const struct mm_search *s, const struct mm_candidate *c,
                    uint64_t *last)
{
    uint64_t all = 0;

    for (uint32_t left = c->nt; left; left -= mm_min(left, c->t.columns)) {
        uint32_t fn = mm_count(mm_min(left, c->t.columns), 16);
        *last = max_u64(s->r.least, (uint64_t)c->mt * 64 * fn / s->r.out);
        all += *last;
    }
    return all;
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

/* Of a core that has one tile, whose pipes take `tile`. */
static uint64_t least_of_one(const struct mm_search *s, const struct mm_candidate *c,
                             uint64_t tile)
{
    const struct mm_rates *r = &s->r;
    uint64_t sharers = mm_min(c->tiles, s->cores), begins = mm_begin_of(s, c, true);
    uint64_t shared = (c->a->bytes + c->b->bytes) * sharers / r->l2, load;
    bool a = c->t.rows && mm_may_be_rows(s->mm, &s->mm->a);
    bool b = c->t.rows && mm_may_be_rows(s->mm, &s->mm->b);

    load = (a ? c->a->in_rows : c->a->work) + (b ? c->b->in_rows : c->b->work);
    load = max_u64(load, shared > begins ? shared - begins : 0);
    if (c->chunks) {
        load += (a ? r->copy_fixed : r->next) * (c->t.a_whole ? 1 : c->chunks);
        load += (b ? r->copy_fixed : r->next) * c->chunks;
        tile = max_u64(load + tile * (s->k - (c->chunks - 1) * c->t.k) / s->k,
                       load / c->chunks + tile);
        tile += c->t.rows ? 0 : mm_min(r->fixed, r->copy_fixed) - r->next;
    }
    load = begins + max_u64(tile, load) + last_out(s, c) + mm_chain_of(s, c);
    return load - mm_min((uint32_t)load, ROUNDED * c->chunks);
}

/* Tiles that follow each other on a core share a panel: how often it is loaded. */
static uint32_t panels(const struct mm_candidate *c, bool stays, uint32_t line)
{
    return stays ? mm_count(c->rounds, mm_min(line, c->rounds)) : c->rounds;
}

uint64_t mm_first_loads(const struct mm_candidate *c)
{
    uint64_t a = panels(c, c->t.a_stays, c->cols) * c->a->bytes;
    uint64_t b = panels(c, c->t.b_stays, c->rows) * c->b->bytes;

    return (a + b) / LATER / MM_RUNS;
}

uint64_t mm_cost_least(const struct mm_search *s, const struct mm_candidate *c)
{
    const struct mm_rates *r = &s->r;
    const struct mm_side *a = c->a, *b = c->b;
    uint64_t fractals = (uint64_t)a->fractals * b->fractals, as, bs;
    uint64_t product = fractals * s->k_fractals, feed = c->pieces * a->feed + b->feed;
    uint64_t tile, load, bytes;

    product += (uint64_t)c->pieces * c->slices * r->mmad;
    feed += (uint64_t)c->pieces * c->slices * 2 * r->feed;
    tile = max_u64(product, feed);
    if (c->rounds == 1) {
        return mm_as_measured(s, c, least_of_one(s, c, tile));
    }
    tile = max_u64(tile, (uint64_t)a->size * 64 * b->fractals / r->out);
    as = panels(c, c->t.a_stays, c->cols);
    bs = panels(c, c->t.b_stays, c->rows);
    load = as * a->work + bs * b->work;
    bytes = (as * a->bytes + bs * b->bytes) * c->tiles / c->rounds / r->l2;
    tile = max_u64(max_u64(c->rounds * tile, bytes), load);
    return mm_as_measured(s, c,
                          mm_begin_of(s, c, true) + mm_chain_of(s, c) + tile +
                              last_out(s, c) + r->copy_fixed) +
           mm_first_loads(c);
}
