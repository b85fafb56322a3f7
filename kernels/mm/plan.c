/* SPDX-License-Identifier: MIT
 *
 * The cheapest tiling (cost.h): sizes of tiles, of chunks and slices of k, what stays in L1.
 */
#include <stdio.h>

#include "kernels/mm/cost.h"
#include "kernels/mm/inside.h"

enum { FRACTALS = 64 /* of a side of a tile, at most */ };

/* What is more than two pieces of columns is recorded whole. */
static bool few(const struct mm_candidate *c, uint32_t slices)
{
    uint32_t pieces = mm_count(c->t.n, c->t.columns);

    return pieces <= 2 || (c->chunks == 1 && pieces * (2 * slices + 1) <= PIPE_DEPTH);
}

/* Nothing that takes so much is wanted. */
static bool too_much(const struct mm_search *s, uint64_t cycles)
{
    return cycles >= s->best || (s->any && s->found);
}

/* Keeps the candidate if it is better; its cycles. */
static uint64_t consider(struct mm_search *s, struct mm_candidate *c)
{
    uint64_t cycles = mm_cost(s, c), first = mm_first_of(c);

    if (cycles + first < s->best) {
        s->found = true;
        s->best = cycles + first;
        s->first = first;
        s->tiling = c->t;
    }
    return cycles;
}

/* With k in chunks of so much. */
static void try_chunk(struct mm_search *s, struct mm_candidate *c, uint32_t k)
{
    uint32_t unit = s->unit_k, most = c->t.slice, slices;

    c->t.k = mm_up(k, unit);
    c->chunks = mm_count(s->k, c->t.k);
    slices = mm_count(c->t.k, most);
    c->t.slice = mm_up(mm_count(c->t.k, slices), unit);
    if (slices <= PIPE_DEPTH / 2 - 1 && few(c, slices) && mm_share_l1(s, c) &&
        !too_much(s, mm_cost_least(s, c))) {
        uint64_t cycles;
        do {
            cycles = consider(s, c);
        } while (mm_fewer_slots(c) && cycles + mm_first_of(c) < s->best);
    }
    c->t.slice = most;
}

/* Chunks whose rows in GM are some powers of two of bytes, or a little more, so that k is in
 * equal pieces; or just as long as rows are fast, where the rest is less. */
static void try_chunks(struct mm_search *s, struct mm_candidate *c)
{
    uint32_t last = 0;

    for (uint32_t bytes = 2048; bytes >= 128; bytes /= 2) {
        uint32_t elements = bytes * 8 / s->bits, chunks = mm_count(s->k, elements);
        if (chunks - 1 > last && chunks < 8) {
            try_chunk(s, c, mm_count(s->k, chunks - 1));
        }
        if (chunks > last) {
            try_chunk(s, c, mm_count(s->k, chunks));
        }
        if (bytes >= s->r.row && bytes < 4 * s->r.row && s->k % elements) {
            try_chunk(s, c, elements);
        }
        last = chunks;
    }
}

/* Tiles of fm x fn units; false: L0 or L0C is too small. */
static bool size(const struct mm_search *s, struct mm_candidate *c, uint32_t fm,
                 uint32_t fn)
{
    const struct mm *mm = s->mm;
    uint32_t um = s->unit_m, un = s->unit_n, unit = s->unit_k, a, b;

    c->t = (struct mm_tiling){.m = fm * um, .n = fn * un, .columns = fn * un};
    c->mt = mm_min(c->t.m, mm->shape.m);
    c->nt = mm_min(c->t.n, mm->shape.n);
    if (2 * c->t.m * c->t.n * MM_SUM_BYTES > s->r.l0c_bytes ||
        (mm->bias && c->t.n * MM_BIAS_BYTES > mm_bt_slot(mm))) {
        c->t.columns = mm_count(fn, 2) * un;
    }
    if (c->t.m * c->t.n * MM_SUM_BYTES > s->r.l0c_bytes) { /* columns by turns */
        uint32_t most = s->r.l0c_bytes / 2 / (c->t.m * MM_SUM_BYTES) / un;
        c->t.columns = most ? mm_count(fn, mm_count(fn, most)) * un : 0;
    }
    if (c->t.columns == 0 || (mm->b.sparse && c->t.columns < c->t.n)) {
        return false;
    }
    a = mm_l0a_slot(mm) * 8 / (c->t.m * s->bits) / unit * unit;
    b = mm_l0b_slot(mm) * 8 / (mm_up(c->t.columns, 16) * s->bits) / unit * unit;
    c->t.slice = mm_min(a, b);
    return (mm_in_halves(&c->t) ? c->t.m * c->t.n : 2 * c->t.m * c->t.columns) *
                   MM_SUM_BYTES <=
               s->r.l0c_bytes &&
           (!mm->bias || c->t.columns * MM_BIAS_BYTES <= mm_bt_slot(mm)) &&
           mm_fb_bytes(mm, c->t.columns) <= mm_size(mm, NPU_MEM_FB) &&
           c->t.slice >= unit && c->t.m <= 4080 && c->t.columns <= 4080;
}

/* Whether tiles of that size can be what was asked for. */
static bool allowed(const struct mm_search *s, const struct mm_candidate *c)
{
    return s->strategy == MM_SMALL  ? c->tiles == s->mm->shape.batch
           : s->strategy == MM_TALL ? c->rows == 1 || c->cols == 1
                                    : true;
}

/* Whether a tile's panel of a can come by one load. */
static bool may_be_whole(const struct mm_search *s, const struct mm_candidate *c)
{
    const struct mm_operand *a = &s->mm->a;
    uint32_t columns = a->transposed ? c->t.m : s->k;

    return mm_may_be_rows(s->mm, a) && columns <= MM_ROW_PIXELS * type_c0(a->type);
}

/* With what stays of a tile's operands: nothing, a or b. */
static void try_stays(struct mm_search *s, struct mm_candidate *c)
{
    c->t.rows = c->t.a_whole = false;
    try_chunks(s, c);
    c->t.rows = c->rounds == 1; /* in a longer stream their start is paid too often */
    if (c->t.rows) {
        try_chunks(s, c);
    }
    c->t.a_whole = c->t.rows && !c->t.a_stays && !c->t.b_stays && !s->mm->a.given &&
                   may_be_whole(s, c);
    if (c->t.a_whole) {
        try_chunks(s, c);
        c->t.a_whole = false;
    }
}

/* Whether L1 holds the panel that stays, or all of both where columns go through L0C by turns,
 * so that k must be one chunk. */
static bool may_fit(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t all = s->r.l1_bytes;
    uint64_t a = c->a->most * (uint64_t)s->k * s->bits / 8,
             b = c->b->most * (uint64_t)s->k * s->bits / 8;

    if ((uint64_t)c->a->most * c->b->most * MM_SUM_BYTES > s->r.l0c_bytes) {
        return (c->t.a_stays ? a : 2 * a) + (c->t.b_stays ? b : 2 * b) <= all;
    }
    if (c->t.a_stays == c->t.b_stays) {
        return true;
    }
    return (c->t.a_stays ? a : b) <= all;
}

/* One of that size, of which the rest is not decided yet. */
static struct mm_candidate begin_tile(const struct mm_search *s, const struct mm_side *a,
                                      const struct mm_side *b)
{
    struct mm_candidate c;

    c.a = a;
    c.b = b;
    c.rows = a->n;
    c.cols = b->n;
    c.tiles = c.rows * c.cols * s->mm->shape.batch * s->parts;
    c.rounds = mm_count(c.tiles, s->cores);
    c.pieces = c.slices = 1;
    c.chunks = 0;
    c.t.a_stays = c.t.b_stays = c.t.rows = c.t.a_whole = true;
    return c;
}

static void try_tile(struct mm_search *s, const struct mm_side *a,
                     const struct mm_side *b)
{
    struct mm_candidate c = begin_tile(s, a, b);

    if (!may_fit(s, &c) || !allowed(s, &c) || too_much(s, mm_cost_least(s, &c)) ||
        !size(s, &c, a->units, b->units)) {
        return;
    }
    c.pieces = mm_count(c.nt, c.t.columns);
    c.slices = s->k / c.t.slice;
    for (unsigned stays = 0; stays < 3; stays++) {
        c.t.a_stays = stays == 1;
        c.t.b_stays = stays == 2;
        c.t.rows = c.t.a_whole = true;
        c.chunks = 0;
        if (s->mm->a.given || s->mm->b.given) {
            unsigned once = s->mm->a.given ? c.cols == 1 : c.rows == 1;
            if (stays != (once ? 0 : s->mm->a.given ? 1 : 2)) {
                continue;
            }
        } else if ((c.t.a_stays && (c.cols == 1 || s->strategy == MM_TALL) &&
                    c.rows > 1) ||
                   (c.t.b_stays && c.rows == 1)) {
            continue;
        }
        if (may_fit(s, &c) && !too_much(s, mm_cost_least(s, &c))) {
            try_stays(s, &c);
        }
    }
}

/* The sizes that cut a side into equal pieces, the largest first: how many. */
static unsigned sides(const struct mm_search *s, const struct mm_operand *o,
                      uint32_t units, struct mm_side list[FRACTALS])
{
    unsigned n = 0;

    for (uint32_t f = mm_min(units, FRACTALS); f;) {
        list[n++] = mm_side_of(s, o, f);
        f = f > 1 ? mm_count(units, mm_count(units, f - 1)) : 0;
    }
    return n;
}

static void search(struct mm_search *s)
{
    const struct mm *mm = s->mm;
    struct mm_side a[FRACTALS], b[FRACTALS];
    unsigned rows = sides(s, &mm->a, mm_count(mm->shape.m, s->unit_m), a);
    unsigned cols = sides(s, &mm->b, mm_count(mm->shape.n, s->unit_n), b);
    uint32_t most = mm->tile_bytes ? mm->tile_bytes : UINT32_MAX;

    for (unsigned i = 0; i < rows; i++) {
        for (unsigned j = 0; j < cols; j++) {
            if (a[i].most * b[j].most * MM_SUM_BYTES <= most) {
                try_tile(s, &a[i], &b[j]);
            }
        }
    }
}

/* Of which nothing has been looked at yet. */
static struct mm_search search_of(const struct mm *mm, unsigned cores, uint32_t parts)
{
    struct mm_search s = {.mm = mm,
                          .r = mm_rates_of(mm),
                          .cores = cores,
                          .bits = type_bits(mm->a.type),
                          .c0 = type_c0(mm->a.type),
                          .unit_m = mm_unit_m(mm),
                          .unit_n = mm_unit_n(mm),
                          .unit_k = mm_unit_k(mm),
                          .parts = parts,
                          .best = UINT64_MAX};

    s.k = mm_min(mm->shape.k, mm_part_k(mm, parts));
    s.k_fractals = s.k / mm_k_step(mm) * mm_cube_cycles(mm);
    return s;
}

struct mm_search mm_search_for(const struct mm *mm, unsigned cores,
                               enum mm_strategy strategy, uint32_t parts, uint64_t limit,
                               enum mm_wanted wanted)
{
    struct mm_search s = search_of(mm, cores, parts);

    s.strategy = strategy;
    s.any = wanted == MM_ANY;
    s.best = limit;
    search(&s);
    s.tiling.parts = parts;
    return s;
}

/* What the tiling turned out to be. */
static enum mm_strategy name_of(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t rows = mm_pieces(mm->shape.m, mm_unit_m(mm), t->m);
    uint32_t cols = mm_pieces(mm->shape.n, mm_unit_n(mm), t->n);

    if (mm->shape.batch > 1) {
        return MM_BATCH;
    }
    if (rows * cols == 1) {
        return MM_SMALL;
    }
    return (t->b_stays && cols == 1) || (t->a_stays && rows == 1) ? MM_TALL : MM_GENERAL;
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
    return mm->shape.m == 1 && !mm->bias && !mm->scale_words && !mm->slopes &&
           !mm->ring.slots && !mm->b.sparse &&
           (strategy == MM_AUTO || strategy == MM_GEMV);
}

static const char *cannot(const struct mm *mm, enum mm_strategy strategy)
{
    switch (strategy) {
    case MM_GEMV:
        return may_turn(mm, strategy) ? NULL
                                      : "wants m = 1, no bias, no scales of columns, and "
                                        "no Vector behind it";
    case MM_SPLIT_K:
        return mm_may_split(mm) ? NULL : "wants a long k and sums as they are";
    case MM_BATCH:
        return mm->shape.batch > 1 ? NULL : "wants a batch";
    default:
        return NULL;
    }
}

/* The best tiling of the object, or of it turned. */
static struct mm_search best_of(struct mm *mm, unsigned cores, enum mm_strategy strategy)
{
    bool asks = strategy == MM_SPLIT_K || (strategy == MM_AUTO && mm->adds);
    struct mm_search s = {0}, t;
    struct mm turned = *mm;
    uint32_t parts = asks ? mm_best_parts(mm, &s) : 1;

    if (strategy == MM_SPLIT_K) {
        parts = mm_max(2, parts);
    }
    if (strategy == MM_GEMV) {
        s.found = false;
    } else if (parts != s.parts || !mm_fits_more(mm, cores, &s)) {
        s = mm_search_for(mm, cores, strategy, parts, UINT64_MAX, MM_CHEAPEST);
    }
    mm_try_fewer(mm, cores, &s);
    if (may_turn(mm, strategy)) {
        mm_turn(&turned);
        t = mm_search_for(&turned, cores, strategy, parts, s.found ? s.best : UINT64_MAX,
                          MM_CHEAPEST);
        if (t.found) {
            mm_try_fewer(&turned, cores, &t);
            *mm = turned;
            s = t;
        }
    }
    return s;
}

/* Says so, and where the object has a part of L1, what it must have at the least. */
static int none_fits(const struct mm *mm, enum mm_strategy strategy, char why[MM_TEXT])
{
    struct mm least = *mm;
    int at = snprintf(why, MM_TEXT, "strategy %s: no tiling of %lu x %lu x %lu fits",
                      mm_strategy_name(strategy), (unsigned long)mm->shape.m,
                      (unsigned long)mm->shape.n, (unsigned long)mm->shape.k);

    least.tiling =
        (struct mm_tiling){.m = mm_unit_m(mm), .n = mm_unit_n(mm), .k = mm_unit_k(mm)};
    if (mm->l1_begin || mm->l1_bytes) {
        snprintf(why + at, MM_TEXT - (size_t)at,
                 " in %lu bytes of L1; the smallest, %lu x %lu by %lu, takes %lu",
                 (unsigned long)mm_l1_size(mm), (unsigned long)least.tiling.m,
                 (unsigned long)least.tiling.n, (unsigned long)least.tiling.k,
                 (unsigned long)mm_l1_bytes(&least));
    }
    return strategy == MM_AUTO ? ERR_LOCAL : ERR_ARG;
}

int mm_plan(struct mm *mm, unsigned cores, enum mm_strategy strategy, char why[MM_TEXT])
{
    const char *no = cannot(mm, strategy);
    struct mm_search s;

    why[0] = 0;
    if (no) {
        snprintf(why, MM_TEXT, "strategy %s %s", mm_strategy_name(strategy), no);
        return ERR_ARG;
    }
    s = best_of(mm, cores ? cores : chip_cores(), strategy);
    if (!s.found) {
        return none_fits(mm, strategy, why);
    }
    mm->tiling = s.tiling;
    mm->tiling.cycles = s.best - s.first;
    mm->tiling.strategy = mm->turned           ? MM_GEMV
                          : s.tiling.parts > 1 ? MM_SPLIT_K
                                               : name_of(mm);
    mm->tiled = true;
    return 0;
}

int mm_plan_checked(struct mm *mm, unsigned cores, enum mm_strategy strategy,
                    char why[MM_TEXT])
{
    int err = mm_check(mm, why);

    err = err ? err : mm_plan(mm, cores, strategy, why);
    return err ? err : mm_check(mm, why);
}

/* What the object's tiling takes. */
static uint64_t cycles_of(const struct mm *mm, unsigned cores)
{
    const struct mm_tiling *t = &mm->tiling;
    struct mm_search s =
        search_of(mm, t->shares ? mm_min(t->shares, cores) : cores, mm->parts);
    struct mm_side a = mm_side_of(&s, &mm->a, t->m / s.unit_m),
                   b = mm_side_of(&s, &mm->b, t->n / s.unit_n);
    struct mm_candidate c = begin_tile(&s, &a, &b);

    c.t = *t;
    c.mt = mm_min(t->m, mm->shape.m);
    c.nt = mm_min(t->n, mm->shape.n);
    c.chunks = mm_count(s.k, t->k);
    return mm_cost(&s, &c);
}

int mm_plan_as(struct mm *mm, const struct mm_tiling *tiling, unsigned cores,
               char why[MM_TEXT])
{
    const char *no = cannot(mm, tiling->strategy);
    int err = mm_check(mm, why);

    if (err || no) {
        return err ? err : (snprintf(why, MM_TEXT, "tiling: %s", no), ERR_ARG);
    } else if (tiling->strategy == MM_GEMV) {
        mm_turn(mm);
    }
    mm->tiling = *tiling;
    mm->tiled = true;
    err = mm_check(mm, why);
    if (!err && mm->parts > 1 && !mm_may_split(mm)) {
        snprintf(why, MM_TEXT, "tiling: %s", cannot(mm, MM_SPLIT_K));
        err = ERR_ARG;
    }
    if (!err) {
        mm->tiling.cycles = cycles_of(mm, cores ? cores : chip_cores());
        mm->tiling.strategy = mm->turned      ? MM_GEMV
                              : mm->parts > 1 ? MM_SPLIT_K
                                              : name_of(mm);
    }
    return err;
}
